"""Exact inference in pairwise random fields by eliminating one variable after another.

An item is a node or an edge; its table holds a potential for every state (row after row for an
edge, the states of its second node side by side):

    table[t] = sum over features f of value[f] * w[base + f * size + t]

What is eliminated in which order is a plan, made beforehand for every distinct graph (see
lssvm/applications/mrf/plans.py). A step with temperature eps takes the sum T of all tables that
hold its variable v, for every state s of the other variables of these tables, and leaves

    m(s) = eps log sum_v exp(T(v, s) / eps),    the maximum over v where eps is 0.

The same steps backwards give the derivative of the last m by every table: the marginals of the
distribution whose conditional probabilities are exp((T - m) / eps), or the indicator of the lowest
v that attains the maximum.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log


cdef struct Step:
    # One step for the example at hand: positions count from its first table.
    Py_ssize_t states     # of the variable that is eliminated
    Py_ssize_t others     # how many other variables there are
    Py_ssize_t total      # their joint states
    Py_ssize_t message    # where m begins
    Py_ssize_t factors
    Py_ssize_t first      # of the factors in the plan
    Py_ssize_t columns    # where the strides of the first factor begin
    double eps


def infer(
    const double[::1] w, const long long[::1] offsets,
    const long long[::1] starts, const int[::1] indices, const double[::1] values,
    const long long[::1] bases, const int[::1] sizes,
    const int[::1] labels, const long long[::1] nodes, const unsigned char[::1] charged,
    const double[::1] costs, const int[::1] states, plan, const long long[::1] chosen,
    double first_eps, double second_eps, bint keep,
):
    """Values, expected losses, sum of c_i E[Phi] and marginals of the nodes of n examples.

    offsets : (n + 1,) where the items of each example begin, its nodes before its edges
    starts (items + 1,), indices, values : features of the items, sparse
    bases, sizes : (items,) first weight and table size of each item
    nodes : (n + 1,) where the nodes of each example begin; labels : one for each node
    states : one for each node, read where it is clamped
    charged : one for each node, whether a state that is not the label costs 1; empty: none does
    plan : arrays, see plans.Plans; chosen : (n,) the plan of each example
    first_eps, second_eps : temperatures of the variables that go first and second
    keep : whether the marginals are wanted

    Returns values (n,), losses (n,), gradient (d,), marginals: those of all states of all nodes one
    after another, empty unless kept.
    """
    cdef const long long[::1] step_starts = plan.step_starts, message_sizes = plan.message_sizes
    cdef const long long[::1] evidence_starts = plan.evidence_starts
    cdef const long long[:, ::1] evidence = plan.evidence
    cdef const long long[::1] constant_starts = plan.constant_starts, constants = plan.constants
    cdef const long long[:, ::1] steps = plan.steps
    cdef const long long[::1] other_states = plan.other_states
    cdef const long long[:, ::1] factors = plan.factors
    cdef const long long[::1] strides = plan.strides
    cdef Py_ssize_t n = costs.shape[0], i, j, k, t, p, g, first, count, node_count, size, used
    cdef Py_ssize_t most_items = 1, most_tables = 1, written = 0, label
    if offsets.shape[0] != n + 1 or nodes.shape[0] != n + 1 or chosen.shape[0] != n:
        raise ValueError("infer: offsets, nodes, costs and plans do not fit")
    for i in range(n):
        count = offsets[i + 1] - offsets[i]
        used = message_sizes[chosen[i]]
        for j in range(offsets[i], offsets[i + 1]):
            used += sizes[j]
        most_items, most_tables = max(most_items, count), max(most_tables, used)
        if keep:
            for j in range(offsets[i], offsets[i] + nodes[i + 1] - nodes[i]):
                written += sizes[j]
    found_values, found_losses = np.zeros(n), np.zeros(n)
    gradient, marginals = np.zeros(w.shape[0]), np.zeros(written)
    cdef double[::1] value_view = found_values, loss_view = found_losses, out = gradient
    cdef double[::1] marginal = marginals
    cdef double[::1] table = np.empty(most_tables), back = np.empty(most_tables)
    cdef long long[::1] places = np.empty(most_items, dtype=np.int64)
    cdef long long[::1] position = np.empty(most_items, dtype=np.int64)
    cdef long long[::1] counter = np.empty(max(1, plan.most_others), dtype=np.int64)
    cdef long long[::1] at = np.empty(max(1, plan.most_factors), dtype=np.int64)
    cdef double[::1] row = np.empty(max(1, plan.most_states))
    cdef Step step
    cdef double value
    written = 0
    with nogil:
        for i in range(n):
            first, count = offsets[i], offsets[i + 1] - offsets[i]
            node_count, g = nodes[i + 1] - nodes[i], chosen[i]
            used = 0
            for j in range(count):
                places[j] = position[j] = used
                size = sizes[first + j]
                _score(&w[0], bases[first + j], size, starts[first + j], starts[first + j + 1],
                       &indices[0], &values[0], &table[used])
                if j < node_count and charged.shape[0] and charged[nodes[i] + j]:
                    _charge(labels[nodes[i] + j], size, &table[used])
                used += size
            for t in range(used + message_sizes[g]):
                back[t] = 0.0
            for p in range(evidence_starts[g], evidence_starts[g + 1]):
                position[evidence[p, 0]] += states[nodes[i] + evidence[p, 1]] * evidence[p, 2]
            value = 0.0
            for p in range(constant_starts[g], constant_starts[g + 1]):
                value += table[position[constants[p]]]
                back[position[constants[p]]] = 1.0
            for k in range(step_starts[g], step_starts[g + 1]):
                _point(&step, &steps[k, 0], used, first_eps, second_eps)
                _forward(&step, &factors[step.first, 0], &strides[0] + step.columns,
                         &other_states[0] + steps[k, 6], &position[0], used, &counter[0], &at[0],
                         &row[0], &table[0])
                if step.others == 0:
                    value += table[step.message]
                    back[step.message] = 1.0
            for k in range(step_starts[g + 1] - 1, step_starts[g] - 1, -1):
                _point(&step, &steps[k, 0], used, first_eps, second_eps)
                _backward(&step, &factors[step.first, 0], &strides[0] + step.columns,
                          &other_states[0] + steps[k, 6], &position[0], used, &counter[0], &at[0],
                          &row[0], &table[0], &back[0])
            value_view[i] = value
            for j in range(count):
                size = sizes[first + j]
                if j < node_count and charged.shape[0] and charged[nodes[i] + j]:
                    label = labels[nodes[i] + j]
                    for t in range(size):
                        if t != label:
                            loss_view[i] += back[places[j] + t]
                _spread(&back[places[j]], bases[first + j], size, starts[first + j],
                        starts[first + j + 1], &indices[0], &values[0], costs[i], &out[0])
                if keep and j < node_count:
                    for t in range(size):
                        marginal[written + t] = back[places[j] + t]
                    written += size
    return found_values, found_losses, gradient, marginals


def potentials(
    const double[::1] w, const long long[::1] offsets,
    const long long[::1] starts, const int[::1] indices, const double[::1] values,
    const long long[::1] bases, const int[::1] sizes,
    const int[::1] labels, const long long[::1] nodes, const unsigned char[::1] charged,
):
    """The tables of all items of n examples one after another; arguments as in ``infer``."""
    cdef Py_ssize_t n = offsets.shape[0] - 1, i, j, used = 0, total = 0, node
    for j in range(offsets[0], offsets[n]):
        total += sizes[j]
    tables = np.empty(total)
    cdef double[::1] table = tables
    with nogil:
        for i in range(n):
            for j in range(offsets[i], offsets[i + 1]):
                _score(&w[0], bases[j], sizes[j], starts[j], starts[j + 1], &indices[0],
                       &values[0], &table[used])
                node = nodes[i] + j - offsets[i]
                if node < nodes[i + 1] and charged.shape[0] and charged[node]:
                    _charge(labels[node], sizes[j], &table[used])
                used += sizes[j]
    return tables


def expected(
    const double[::1] shares, Py_ssize_t dimension, const long long[::1] offsets,
    const long long[::1] starts, const int[::1] indices, const double[::1] values,
    const long long[::1] bases, const int[::1] sizes, const double[::1] costs,
):
    """sum of c_i E[Phi], (d,), where the entries of all tables have these probabilities."""
    cdef Py_ssize_t n = offsets.shape[0] - 1, i, j, used = 0
    gradient = np.zeros(dimension)
    cdef double[::1] out = gradient
    with nogil:
        for i in range(n):
            for j in range(offsets[i], offsets[i + 1]):
                _spread(&shares[used], bases[j], sizes[j], starts[j], starts[j + 1], &indices[0],
                        &values[0], costs[i], &out[0])
                used += sizes[j]
    return gradient


cdef void _score(
    const double* w, Py_ssize_t base, Py_ssize_t size, Py_ssize_t start, Py_ssize_t stop,
    const int* indices, const double* values, double* table,
) noexcept nogil:
    """Write the table of an item."""
    cdef Py_ssize_t p, t
    cdef const double* weights
    for t in range(size):
        table[t] = 0.0
    for p in range(start, stop):
        weights = w + base + <Py_ssize_t>indices[p] * size
        for t in range(size):
            table[t] += values[p] * weights[t]


cdef void _charge(Py_ssize_t label, Py_ssize_t size, double* table) noexcept nogil:
    """Add the loss to the table of a node."""
    cdef Py_ssize_t t
    for t in range(size):
        if t != label:
            table[t] += 1.0


cdef void _spread(
    const double* shares, Py_ssize_t base, Py_ssize_t size, Py_ssize_t start, Py_ssize_t stop,
    const int* indices, const double* values, double cost, double* out,
) noexcept nogil:
    """Add the expected features of an item, times the cost."""
    cdef Py_ssize_t p, t
    cdef double share
    cdef double* target
    for p in range(start, stop):
        share, target = cost * values[p], out + base + <Py_ssize_t>indices[p] * size
        for t in range(size):
            target[t] += share * shares[t]


cdef void _point(
    Step* step, const long long* facts, Py_ssize_t used, double first_eps, double second_eps,
) noexcept nogil:
    """Read a step: its states, other variables, their joint states, m, factors and group."""
    step.states, step.others, step.total = facts[0], facts[1], facts[2]
    step.message, step.first, step.factors = used + facts[3], facts[4], facts[5]
    step.columns = facts[7]
    step.eps = second_eps if facts[8] else first_eps


cdef void _begin(
    const Step* step, const long long* factors, const long long* position, Py_ssize_t used,
    long long* counter, long long* at,
) noexcept nogil:
    """Stand at the first joint state: at[f] is where factor f has state 0 of v."""
    cdef Py_ssize_t f, j
    for j in range(step.others):
        counter[j] = 0
    for f in range(step.factors):
        at[f] = used + factors[3 * f + 1] if factors[3 * f] < 0 else position[factors[3 * f]]


cdef void _advance(
    const Step* step, const long long* strides, const long long* states, long long* counter,
    long long* at,
) noexcept nogil:
    """Go to the next joint state, the last variable running fastest."""
    cdef Py_ssize_t j = step.others - 1, f
    while j >= 0:
        counter[j] += 1
        for f in range(step.factors):
            at[f] += strides[f * step.others + j]
        if counter[j] < states[j]:
            return
        for f in range(step.factors):
            at[f] -= states[j] * strides[f * step.others + j]
        counter[j] = 0
        j -= 1


cdef double _gather(
    const Step* step, const long long* factors, const long long* at, const double* table,
    double* row,
) noexcept nogil:
    """T(v, s) for all v at the joint state at hand; returns the maximum."""
    cdef Py_ssize_t v, f
    cdef long long stride
    cdef const double* source
    cdef double most = -INFINITY
    for v in range(step.states):
        row[v] = 0.0
    for f in range(step.factors):
        stride, source = factors[3 * f + 2], table + at[f]
        for v in range(step.states):
            row[v] += source[v * stride]
    for v in range(step.states):
        if row[v] > most:
            most = row[v]
    return most


cdef void _forward(
    const Step* step, const long long* factors, const long long* strides, const long long* states,
    const long long* position, Py_ssize_t used, long long* counter, long long* at, double* row,
    double* table,
) noexcept nogil:
    """Write m."""
    cdef Py_ssize_t s, v
    cdef double most, total
    _begin(step, factors, position, used, counter, at)
    for s in range(step.total):
        most = _gather(step, factors, at, table, row)
        if step.eps > 0.0:
            total = 0.0
            for v in range(step.states):
                total += exp((row[v] - most) / step.eps)
            most += step.eps * log(total)
        table[step.message + s] = most
        _advance(step, strides, states, counter, at)


cdef void _backward(
    const Step* step, const long long* factors, const long long* strides, const long long* states,
    const long long* position, Py_ssize_t used, long long* counter, long long* at, double* row,
    const double* table, double* back,
) noexcept nogil:
    """Hand the derivative by m on to the tables that it was made of."""
    cdef Py_ssize_t s, v, f
    cdef long long stride
    cdef double most, share, total
    cdef double* target
    _begin(step, factors, position, used, counter, at)
    for s in range(step.total):
        share = back[step.message + s]
        if share != 0.0:
            most = _gather(step, factors, at, table, row)
            if step.eps > 0.0:
                # Normalised anew: m is rounded, and at large values that would show.
                total = 0.0
                for v in range(step.states):
                    row[v] = exp((row[v] - most) / step.eps)
                    total += row[v]
                for v in range(step.states):
                    row[v] *= share / total
            else:
                for v in range(step.states):
                    if row[v] == most:
                        row[v], most, share = share, INFINITY, 0.0
                    else:
                        row[v] = 0.0
            for f in range(step.factors):
                stride, target = factors[3 * f + 2], back + at[f]
                for v in range(step.states):
                    target[v * stride] += row[v]
        _advance(step, strides, states, counter, at)
