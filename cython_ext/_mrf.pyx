# distutils: extra_compile_args = -fno-trapping-math -fno-signed-zeros
# Choices between two numbers then vectorise; infinities stay what they are.
"""Exact inference in pairwise random fields by eliminating one variable after another.

An item is a node or an edge; its table holds a potential for every state (row after row for an
edge, the states of its second node side by side):

    table[t] = sum over features f of value[f] * w[base + f * size + t]

The elimination order is a plan, made beforehand for every distinct graph (see
lssvm/applications/mrf/plans.py). A step with temperature eps takes the sum T of all tables that
hold its variable v, for every state s of the other variables of these tables, and leaves

    m(s) = eps log sum_v exp(T(v, s) / eps),    the maximum over v where eps is 0.

The same steps backwards give the derivative of the last m by every table: the marginals of the
distribution whose conditional probabilities are exp((T - m) / eps), or the indicator of the lowest
v that attains the maximum.

Graphs with the same plan are processed eight at a time, see _mrf_elimination.h; the result of each
is the same as if it were processed alone.
"""

import numpy as np

from _common cimport aligned
from _graphs cimport (
    LANES, MrfGraphs, MrfPlan, MrfRoom, Plans, plan_at, point_to_graphs, point_to_plans,
)

cdef extern from "_mrf_elimination.h" nogil:
    enum:
        MRF_ROWS
    void mrf_infer_one(
        const MrfGraphs*, const MrfPlan*, const MrfRoom*, const long long*, const double*, double*,
        double*, double*)
    void mrf_infer_lanes(
        const MrfGraphs*, const MrfPlan*, const MrfRoom*, const long long*, const double*, double*,
        double*, double*)

cdef enum:
    FEW = 3  # graphs of one plan from which lanes pay that repeat one of them

LARGE = 1 << 21  # numbers of all lanes together above which graphs are worked on one at a time


def infer(
    const double[::1] w, graphs, const unsigned char[::1] charged, const int[::1] states, plan,
    temperatures, bint keep,
):
    """Values, expected losses, sum of c_i E[Phi] and marginals of the nodes of n examples.

    graphs : GraphArrays
    charged : one for each node, whether a state that is not the label costs 1; empty: none does
    states : one for each node, read where it is clamped
    plan : arrays, see plans.Plans
    temperatures : of the variables that go first and second
    keep : whether the marginals are wanted

    Returns values (n,), losses (n,), gradient (d,), marginals: those of all states of all nodes one
    after another, empty unless kept.
    """
    cdef MrfGraphs own
    point_to_graphs(&own, graphs, w, charged)
    cdef const double[::1] costs = graphs.costs
    cdef Py_ssize_t n = costs.shape[0], i, l, k, count, width
    cdef const long long[::1] chosen = plan.chosen, order = plan.order
    if chosen.shape[0] != n or states.shape[0] < len(graphs.labels):
        raise ValueError("infer: states and plans do not fit the graphs")
    own.states = &states[0]
    cdef const long long[::1] written = _written(graphs.offsets, graphs.nodes, graphs.sizes, keep)
    found_values, found_losses = np.zeros(n), np.zeros(n)
    gradient, marginals = np.zeros(w.shape[0]), np.zeros(written[n])
    cdef double[::1] value_view = found_values, loss_view = found_losses, out = gradient
    cdef double[::1] marginal = marginals
    cdef MrfPlan one
    cdef Room room = Room(plan)
    cdef long long rows[LANES]
    cdef double row_costs[LANES]
    cdef double row_values[LANES]
    cdef double row_losses[LANES]
    cdef const double* shares
    one.eps[0], one.eps[1] = temperatures
    i = 0
    with nogil:  # as a whole: threads that ask for the lock again and again wait for each other
        while i < n:
            room.point(&one, chosen[order[i]])
            width, count = room.width(chosen[order[i]]), 1
            while count < width and i + count < n and chosen[order[i + count]] == chosen[order[i]]:
                count += 1
            if count < FEW:
                width = count = 1
            for l in range(width):
                rows[l] = order[i + min(l, count - 1)]
                row_costs[l] = costs[rows[l]] if l < count else 0.0
            if width == 1:
                mrf_infer_one(&own, &one, &room.room, rows, row_costs, row_values, row_losses,
                              &out[0])
            else:
                mrf_infer_lanes(&own, &one, &room.room, rows, row_costs, row_values, row_losses,
                                &out[0])
            for l in range(count):
                value_view[rows[l]], loss_view[rows[l]] = row_values[l], row_losses[l]
                shares = room.room.back + l
                for k in range(written[rows[l] + 1] - written[rows[l]]):
                    marginal[written[rows[l]] + k] = shares[k * width]
            i += count
    return found_values, found_losses, gradient, marginals


def _written(offsets, nodes, sizes, keep):
    """Where the marginals of each example are written, (n + 1,)."""
    if not keep:
        return np.zeros(len(offsets), dtype=np.int64)
    total = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    first, counts = np.asarray(offsets)[:len(offsets) - 1], np.diff(nodes)
    return np.concatenate([[0], np.cumsum(total[first + counts] - total[first])])


cdef class Room:
    """The plans and the memory for one of them at a time."""

    cdef MrfRoom room
    cdef Plans plans
    cdef double[::1] table, back, kept, chunk, sums
    cdef long long[::1] places, counter, at
    cdef long long large

    def __init__(self, plan):
        cdef Py_ssize_t p, most = 1, joint = 1
        self.large = LARGE
        point_to_plans(&self.plans, plan)
        for p in range(self.plans.count):
            most = max(most, self.width(p) * self.plans.numbers[p])
            if self.keeps(p):
                joint = max(joint, self.width(p) * self.plans.joint_sizes[p])
        self.table, self.back, self.kept = aligned(most), aligned(most), aligned(joint)
        self.chunk = aligned(MRF_ROWS * LANES * max(1, plan.most_states))
        self.sums = aligned(LANES * plan.largest_item)
        self.places = np.empty(plan.most_items, dtype=np.int64)
        self.counter = np.empty(2 * max(1, plan.most_others), dtype=np.int64)
        self.at = np.empty(2 * max(1, plan.most_factors), dtype=np.int64)
        self.room.places, self.room.counter, self.room.at = (
            &self.places[0], &self.counter[0], &self.at[0])
        self.room.table, self.room.back = &self.table[0], &self.back[0]
        self.room.chunk, self.room.sums = &self.chunk[0], &self.sums[0]

    cdef bint keeps(self, Py_ssize_t p) noexcept nogil:
        """Whether the conditional probabilities of all steps are kept."""
        return self.plans.joint_sizes[p] <= self.large

    cdef Py_ssize_t width(self, Py_ssize_t p) noexcept nogil:
        """How many graphs of plan p are worked on together."""
        cdef long long numbers = 2 * self.plans.numbers[p] + self.plans.joint_sizes[p]
        return LANES if LANES * numbers <= self.large else 1

    cdef void point(self, MrfPlan* out, Py_ssize_t p) noexcept nogil:
        """Let ``out`` be plan p, and the room be as it needs it."""
        plan_at(&self.plans, p, out)
        self.room.kept = &self.kept[0] if self.keeps(p) else NULL


def potentials(const double[::1] w, graphs, const unsigned char[::1] charged):
    """The tables of all items of n examples one after another; arguments as in ``infer``."""
    cdef MrfGraphs own
    cdef Py_ssize_t n = len(graphs.costs), i, j, used = 0, total = 0, node
    point_to_graphs(&own, graphs, w, charged)
    for j in range(own.offsets[0], own.offsets[n]):
        total += own.sizes[j]
    tables = np.empty(total)
    cdef double[::1] table = tables
    with nogil:
        for i in range(n):
            for j in range(own.offsets[i], own.offsets[i + 1]):
                _score(&own, j, &table[used])
                node = own.nodes[i] + j - own.offsets[i]
                if node < own.nodes[i + 1] and own.charged != NULL and own.charged[node]:
                    _charge(own.labels[node], own.sizes[j], &table[used])
                used += own.sizes[j]
    return tables


def expected(const double[::1] shares, graphs, Py_ssize_t dimension):
    """sum of c_i E[Phi], (d,), where the entries of all tables have these probabilities."""
    cdef MrfGraphs own
    cdef Py_ssize_t n = len(graphs.costs), i, j, used = 0
    gradient = np.zeros(dimension)
    cdef double[::1] out = gradient
    point_to_graphs(&own, graphs, gradient, np.empty(0, dtype=np.uint8))
    for j in range(own.offsets[0], own.offsets[n]):
        used += own.sizes[j]
    if shares.shape[0] != used:
        raise ValueError(f"expected: {shares.shape[0]} probabilities for {used} entries")
    used = 0
    with nogil:
        for i in range(n):
            for j in range(own.offsets[i], own.offsets[i + 1]):
                _spread(&own, j, &shares[used], own.costs[i], &out[0])
                used += own.sizes[j]
    return gradient


cdef void _score(const MrfGraphs* graphs, Py_ssize_t item, double* table) noexcept nogil:
    """Write the table of an item."""
    cdef Py_ssize_t p, t, size = graphs.sizes[item]
    cdef const double* weights
    for t in range(size):
        table[t] = 0.0
    for p in range(graphs.starts[item], graphs.starts[item + 1]):
        weights = graphs.w + graphs.bases[item] + <Py_ssize_t>graphs.indices[p] * size
        for t in range(size):
            table[t] += graphs.values[p] * weights[t]


cdef void _charge(Py_ssize_t label, Py_ssize_t size, double* table) noexcept nogil:
    """Add the loss to the table of a node."""
    cdef Py_ssize_t t
    for t in range(size):
        if t != label:
            table[t] += 1.0


cdef void _spread(
    const MrfGraphs* graphs, Py_ssize_t item, const double* shares, double cost, double* out,
) noexcept nogil:
    """Add the expected features of an item, times the cost."""
    cdef Py_ssize_t p, t, size = graphs.sizes[item]
    cdef double share
    cdef double* target
    for p in range(graphs.starts[item], graphs.starts[item + 1]):
        share = cost * graphs.values[p]
        target = out + graphs.bases[item] + <Py_ssize_t>graphs.indices[p] * size
        for t in range(size):
            target[t] += share * shares[t]
