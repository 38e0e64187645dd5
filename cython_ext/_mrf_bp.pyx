# distutils: extra_compile_args = -fno-trapping-math -fno-signed-zeros
# Choices between two numbers then vectorise; infinities stay what they are.
"""Belief propagation on pairwise random fields: sum-product, max-product and mixed-product.

Messages are stored as log m times the temperature eps, so that eps = 0 is max-product. From a node
that is summed, m_ij(x_j) sums over x_i; between two nodes that are maximised it maximises; from a
maximised node to a summed one it sums only over those x_i that attain the maximum of the belief of
i (mixed-product, Liu & Ihler, JMLR 14, 2013). A sweep updates the messages along all edges in their
order, then against all edges in reverse order: one after another, or all at once from those of the
previous sweep (parallel).

Graphs of one shape are processed eight at a time, see _mrf_propagation.h; the result of each is the
same as if it were processed alone, and a graph that has converged is not changed any more.
"""

import numpy as np

from _common cimport aligned, longest

cdef extern from "_mrf_propagation.h" nogil:
    enum:
        LANES
    ctypedef struct MrfLoopy:
        long nodes
        long edges
        const int* sizes
        const int* ends
        const unsigned char* groups
        double eps
        double damping
        double tolerance
        long long* places
        long long* inbox
        int* labels
        double* table
        double* grown
        double* highest
        double* belief
        double* message
        double* heard
        double* told
        double* share
        double* entropy
        double* cavity
        double* row
        double* slow
    void mrf_propagate_one(const MrfLoopy*, int, double*, long long*, double*)
    void mrf_propagate_lanes(const MrfLoopy*, int, double*, long long*, double*)

FEW = 3  # graphs of one shape from which lanes pay that repeat one of them


def propagate(
    const double[::1] tables, graphs, const int[::1] labels, const unsigned char[::1] groups,
    const long long[::1] shapes, schedule,
):
    """Beliefs of n examples whose tables are those of _mrf.potentials.

    graphs : GraphArrays; labels, groups : one for each node
    shapes : (n,) equal numbers where states, ends and groups are equal
    schedule : Schedule

    Returns shares, the probability of every entry of every table, normalised for each item; values
    (n,), the Bethe approximation of eps log sum exp(score / eps); sweeps (n,); changes (n,), the
    last largest relative change: converged if at most the tolerance.
    """
    cdef const long long[::1] offsets = graphs.offsets, nodes = graphs.nodes, edges = graphs.edges
    cdef const int[::1] sizes = graphs.sizes
    cdef const int[:, ::1] ends = graphs.ends
    cdef int most_sweeps = schedule.most_sweeps
    cdef Py_ssize_t n = offsets.shape[0] - 1, i = 0, l, k, width, count, first, size
    cdef const long long[::1] order = np.argsort(shapes, kind="stable")
    cdef const long long[::1] begins = _begins(offsets, sizes)
    if tables.shape[0] != begins[n] or shapes.shape[0] != n:
        raise ValueError("propagate: tables and shapes do not fit the graphs")
    if min(labels.shape[0], groups.shape[0]) < nodes[n]:
        raise ValueError("propagate: labels and groups do not fit the nodes")
    shares = np.zeros(tables.shape[0])
    values, changes, sweeps = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    cdef double[::1] share = shares, value = values, change = changes
    cdef long long[::1] sweep_view = sweeps
    cdef Room room = Room(offsets, np.asarray(sizes)[offsets[0]:offsets[n]], begins, nodes, schedule.parallel)
    cdef long long rows[LANES]
    cdef double row_values[LANES]
    cdef double row_changes[LANES]
    cdef long long row_sweeps[LANES]
    cdef MrfLoopy* own = &room.loopy
    own.eps, own.damping, own.tolerance = schedule.eps, schedule.damping, schedule.tolerance
    while i < n:
        first, count = order[i], 1
        while count < LANES and i + count < n and shapes[order[i + count]] == shapes[first]:
            count += 1
        width = LANES if count >= FEW else 1
        count = min(count, width)
        with nogil:
            own.nodes, own.edges = nodes[first + 1] - nodes[first], edges[first + 1] - edges[first]
            own.sizes, own.ends = &sizes[offsets[first]], &ends[0, 0] + 2 * edges[first]
            own.groups = &groups[nodes[first]]
            size = begins[first + 1] - begins[first]
            for l in range(width):
                rows[l] = order[i + min(l, count - 1)]
                for k in range(size):
                    own.table[k * width + l] = tables[begins[rows[l]] + k]
                for k in range(own.nodes):
                    own.labels[k * width + l] = labels[nodes[rows[l]] + k]
            if width == 1:
                mrf_propagate_one(own, most_sweeps, row_values, row_sweeps, row_changes)
            else:
                mrf_propagate_lanes(own, most_sweeps, row_values, row_sweeps, row_changes)
            for l in range(count):
                value[rows[l]], change[rows[l]] = row_values[l], row_changes[l]
                sweep_view[rows[l]] = row_sweeps[l]
                for k in range(size):
                    share[begins[rows[l]] + k] = own.share[k * width + l]
        i += count
    return shares, values, sweeps, changes


def _begins(offsets, sizes):
    """Where the tables of each example begin, (n + 1,)."""
    first, last = offsets[0], offsets[len(offsets) - 1]
    total = np.concatenate([[0], np.cumsum(sizes[first:last], dtype=np.int64)])
    return total[np.asarray(offsets) - first]


cdef class Room:
    """Memory for the largest graph in all lanes."""

    cdef MrfLoopy loopy
    cdef double[::1] table, grown, highest, belief, message, heard, told, share, entropy, cavity, row, slow
    cdef long long[::1] places, inbox
    cdef int[::1] labels

    def __init__(self, const long long[::1] offsets, sizes, begins, nodes, bint parallel):
        cdef Py_ssize_t items = longest(offsets), entries = LANES * longest(begins)
        cdef Py_ssize_t most = LANES * sizes.max(initial=1)
        cdef MrfLoopy* own = &self.loopy
        self.table, self.grown, self.share = aligned(entries), aligned(entries), aligned(entries)
        self.belief, self.highest = aligned(entries), aligned(LANES * items)
        # Two messages of an edge hold A + B numbers, at most twice the A B of its table.
        self.message = aligned(2 * entries)
        self.heard = aligned(entries) if parallel else self.belief
        self.told = aligned(2 * entries) if parallel else self.message
        self.entropy = aligned(LANES * longest(nodes))
        self.cavity, self.row, self.slow = aligned(most), aligned(most), aligned(most)
        self.places = np.empty(items, dtype=np.int64)
        self.inbox = np.empty(2 * items, dtype=np.int64)
        self.labels = np.empty(LANES * longest(nodes), dtype=np.intc)
        own.table, own.grown, own.share = &self.table[0], &self.grown[0], &self.share[0]
        own.belief, own.highest = &self.belief[0], &self.highest[0]
        own.heard, own.told = &self.heard[0], &self.told[0]
        own.message, own.entropy = &self.message[0], &self.entropy[0]
        own.cavity, own.row, own.slow = &self.cavity[0], &self.row[0], &self.slow[0]
        own.places, own.inbox, own.labels = &self.places[0], &self.inbox[0], &self.labels[0]
