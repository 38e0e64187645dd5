"""Belief propagation on pairwise random fields: sum-product, max-product and mixed-product.

Messages are kept as log m times the temperature eps, so that eps = 0 is max-product. From a node
that is summed, m_ij(x_j) sums over x_i; from one that is maximised to another such node it
maximises; from one that is maximised to one that is summed it sums over those x_i alone that attain
the maximum of the belief of i (mixed-product, Liu & Ihler, JMLR 14, 2013). A sweep
updates the messages along all edges in their order, then against all edges in reverse order.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log

cdef enum:
    CLAMPED = 0
    SUMMED = 1
    MAXIMISED = 2


cdef struct Graph:
    # One graph: positions of tables and beliefs count from its first table.
    Py_ssize_t nodes
    Py_ssize_t edges
    const long long* places    # where the table of each item begins
    const int* sizes           # of the tables
    const int* ends
    const unsigned char* groups
    const int* labels          # of the nodes
    const double* table
    double* belief             # of the nodes: table plus all messages to it
    double* message            # to the second node of each edge, then to its first
    const long long* inbox     # where the two messages of each edge begin
    double eps


def propagate(
    const double[::1] tables, const long long[::1] offsets, const int[::1] sizes,
    const long long[::1] nodes, const long long[::1] edges, const int[:, ::1] ends,
    const int[::1] labels, const unsigned char[::1] groups, double eps, double damping,
    double tolerance, int most_sweeps,
):
    """Beliefs of n examples, flat arrays as in _mrf.potentials.

    edges : (n + 1,) where the rows of ends begin for each example; groups : one for each node
    damping : share of the old message that is kept, 0 to below 1
    tolerance : of the largest change of a message against 1 + the largest message

    Returns shares, the probability of every entry of every table, normalised for each item; values
    (n,), the Bethe approximation of eps log sum exp(score / eps); sweeps (n,); changes (n,), the
    last largest relative change: converged if at most the tolerance.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, i, j, e, used = 0, total, most_items = 1
    cdef Py_ssize_t most_entries = 1, most_messages = 1, most_states = 1, count, messages
    for i in range(n):
        count = messages = 0
        for j in range(offsets[i], offsets[i + 1]):
            count += sizes[j]
            most_states = max(most_states, sizes[j])
        for e in range(edges[i], edges[i + 1]):
            messages += sizes[offsets[i] + ends[e, 0]] + sizes[offsets[i] + ends[e, 1]]
        most_entries, most_messages = max(most_entries, count), max(most_messages, messages)
        most_items = max(most_items, offsets[i + 1] - offsets[i])
    shares = np.zeros(tables.shape[0])
    values, changes, sweeps = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    cdef double[::1] share = shares, value = values, change = changes
    cdef long long[::1] sweep_view = sweeps
    cdef double[::1] belief = np.empty(most_entries), message = np.empty(most_messages)
    cdef double[::1] row = np.empty(most_states), cavity = np.empty(most_states)
    cdef long long[::1] places = np.empty(most_items, dtype=np.int64)
    cdef long long[::1] inbox = np.empty(2 * most_items, dtype=np.int64)
    cdef Graph g
    cdef int sweep
    g.eps = eps
    with nogil:
        for i in range(n):
            g.nodes, g.edges = nodes[i + 1] - nodes[i], edges[i + 1] - edges[i]
            g.places, g.sizes, g.inbox = &places[0], &sizes[offsets[i]], &inbox[0]
            g.ends = &ends[0, 0] + 2 * edges[i]
            g.groups, g.labels = &groups[nodes[i]], &labels[nodes[i]]
            g.table, g.belief, g.message = &tables[used], &belief[0], &message[0]
            total = 0
            for j in range(g.nodes + g.edges):
                places[j] = total
                total += g.sizes[j]
            messages = 0
            for e in range(g.edges):
                inbox[2 * e] = messages
                messages += g.sizes[g.ends[2 * e + 1]]
                inbox[2 * e + 1] = messages
                messages += g.sizes[g.ends[2 * e]]
            for j in range(messages):
                message[j] = 0.0
            change[i] = INFINITY
            for sweep in range(most_sweeps):
                _collect(&g)
                change[i] = _sweep(&g, damping, &row[0], &cavity[0])
                sweep_view[i] = sweep + 1
                if change[i] <= tolerance:
                    break
            _collect(&g)
            value[i] = _read(&g, &share[used], &row[0])
            used += total
    return shares, values, sweeps, changes


cdef inline Py_ssize_t _low(const Graph* g, Py_ssize_t node) noexcept nogil:
    return g.labels[node] if g.groups[node] == CLAMPED else 0


cdef inline Py_ssize_t _high(const Graph* g, Py_ssize_t node) noexcept nogil:
    return g.labels[node] + 1 if g.groups[node] == CLAMPED else g.sizes[node]


cdef void _collect(const Graph* g) noexcept nogil:
    """Set the beliefs of the nodes anew from tables and messages."""
    cdef Py_ssize_t j, t, e, side, node
    cdef const double* message
    for j in range(g.nodes):
        for t in range(g.sizes[j]):
            g.belief[g.places[j] + t] = g.table[g.places[j] + t]
    for e in range(g.edges):
        for side in range(2):
            node = g.ends[2 * e + 1 - side]
            message = g.message + g.inbox[2 * e + side]
            for t in range(g.sizes[node]):
                g.belief[g.places[node] + t] += message[t]


cdef double _sweep(const Graph* g, double damping, double* row, double* cavity) noexcept nogil:
    """Update every message once; the largest change against 1 + the largest message."""
    cdef Py_ssize_t e
    cdef double most = 1.0, change = 0.0
    for e in range(g.edges):
        _send(g, e, 0, damping, row, cavity, &change, &most)
    for e in range(g.edges - 1, -1, -1):
        _send(g, e, 1, damping, row, cavity, &change, &most)
    return change / most


cdef void _send(
    const Graph* g, Py_ssize_t e, Py_ssize_t side, double damping, double* row, double* cavity,
    double* change, double* most,
) noexcept nogil:
    """Update the message along edge e (side 0) or against it (1)."""
    cdef Py_ssize_t source = g.ends[2 * e + side], target = g.ends[2 * e + 1 - side], x, y
    cdef Py_ssize_t low = _low(g, source), high = _high(g, source)
    cdef Py_ssize_t across = g.sizes[target] if side == 0 else 1
    cdef Py_ssize_t along = 1 if side == 0 else g.sizes[source]
    cdef const double* table = g.table + g.places[g.nodes + e]
    cdef const double* own = g.belief + g.places[source]
    cdef const double* back = g.message + g.inbox[2 * e + 1 - side]
    cdef double* message = g.message + g.inbox[2 * e + side]
    cdef double* belief = g.belief + g.places[target]
    cdef double best = -INFINITY, top = -INFINITY, value, total, eps = g.eps
    cdef bint chosen = g.groups[source] == MAXIMISED and g.groups[target] == SUMMED
    if g.groups[target] == CLAMPED:
        return
    if g.groups[source] == MAXIMISED and g.groups[target] == MAXIMISED:
        eps = 0.0
    for x in range(low, high):
        cavity[x] = own[x] - back[x]
        best = max(best, own[x])
    for y in range(g.sizes[target]):
        value = -INFINITY
        for x in range(low, high):
            if not chosen or own[x] == best:
                value = max(value, cavity[x] + table[x * across + y * along])
        if eps > 0.0:
            total = 0.0
            for x in range(low, high):
                if not chosen or own[x] == best:
                    total += exp((cavity[x] + table[x * across + y * along] - value) / eps)
            value += eps * log(total)
        row[y] = value
        top = max(top, value)
    for y in range(g.sizes[target]):
        value = (1.0 - damping) * (row[y] - top) + damping * message[y]
        change[0] = max(change[0], fabs(value - message[y]))
        most[0] = max(most[0], 1.0 + fabs(value))
        belief[y] += value - message[y]
        message[y] = value


cdef double _read(const Graph* g, double* share, double* row) noexcept nogil:
    """Write the beliefs of all items as probabilities; returns the Bethe value."""
    cdef Py_ssize_t j, e, a, b, x, y, size
    cdef double value = 0.0
    cdef double* own
    cdef const double* table
    for j in range(g.nodes):
        own = share + g.places[j]
        for x in range(g.sizes[j]):
            own[x] = -INFINITY
        for x in range(_low(g, j), _high(g, j)):
            own[x] = g.belief[g.places[j] + x]
        value += _normalise(own, g.table + g.places[j], g.sizes[j], g.eps)
    for e in range(g.edges):
        a, b = g.ends[2 * e], g.ends[2 * e + 1]
        table, own, size = g.table + g.places[g.nodes + e], share + g.places[g.nodes + e], g.sizes[b]
        for x in range(g.sizes[a] * size):
            own[x] = -INFINITY
        for x in range(_low(g, a), _high(g, a)):
            for y in range(_low(g, b), _high(g, b)):
                own[x * size + y] = (
                    table[x * size + y]
                    + g.belief[g.places[a] + x] - g.message[g.inbox[2 * e + 1] + x]
                    + g.belief[g.places[b] + y] - g.message[g.inbox[2 * e] + y]
                )
        value += _normalise(own, table, g.sizes[g.nodes + e], g.eps)
        value -= g.eps * (_entropy(share + g.places[a], g.sizes[a])
                          + _entropy(share + g.places[b], g.sizes[b]))
    return value


cdef double _normalise(
    double* own, const double* table, Py_ssize_t size, double eps,
) noexcept nogil:
    """Make log beliefs times eps probabilities; their mean of the table plus eps times entropy.

    With eps = 0 all is on the lowest entry that attains the maximum.
    """
    cdef Py_ssize_t x, place = 0
    cdef double most = -INFINITY, total = 0.0, mean = 0.0
    for x in range(size):
        if own[x] > most:
            most, place = own[x], x
    for x in range(size):
        if eps > 0.0:
            own[x] = exp((own[x] - most) / eps)
        else:
            own[x] = 1.0 if x == place else 0.0
        total += own[x]
    for x in range(size):
        own[x] /= total
        if own[x] > 0.0:
            mean += own[x] * table[x]
    return mean + eps * _entropy(own, size)


cdef double _entropy(const double* own, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t x
    cdef double entropy = 0.0
    for x in range(size):
        if own[x] > 0.0:
            entropy -= own[x] * log(own[x])
    return entropy
