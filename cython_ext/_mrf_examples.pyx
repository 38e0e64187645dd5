# distutils: extra_compile_args = -fno-trapping-math -fno-signed-zeros
# Choices between two numbers then vectorise; infinities stay what they are.
"""Inference for one random field at a time, as ``_dual_coordinate`` asks for it.

An output is a state for each node of a graph, hidden ones included. The entry of an output at an
item is the place in the item's table, see ``_mrf.pyx``, that its states select.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy

import numpy as np

from _examples cimport Found, Kept, Oracle, Room, capsule_of, unknown
from _graphs cimport (
    MrfGraphs, MrfPlan, MrfRoom, Plans, plan_at, point_to_graphs, point_to_plans,
)

cdef extern from "_mrf_maximum.h" nogil:
    long mrf_tables(const MrfGraphs*, const MrfRoom*, long long)
    void mrf_maximise(const MrfPlan*, const MrfRoom*, long, int*)
    void mrf_states(const MrfPlan*, const MrfRoom*, const int*, int*, long, int*)
    void mrf_swap_all(
        const MrfGraphs*, const MrfPlan*, const MrfRoom*, const long long*, double*, int, int)

cdef struct Single:
    Oracle oracle  # first, so that a pointer to one is a pointer to the other
    MrfGraphs graphs
    const long long* edges  # (n + 1,) where those of each graph begin
    const int* ends  # (edges, 2) nodes within the graph
    Plans augmented, completed
    # Where the parts of the room begin: of the real numbers, and of the whole ones.
    Py_ssize_t places, counter, at, chunk, factors, spare, vector, entry


class ExampleOracle:
    """The graphs as ``_dual_coordinate`` asks for them; an output is a state for each node.

    graphs : GraphArrays; size : d
    known : for each node whether its label is known: another state costs 1, and completion keeps it
    augmented : plans.Plans of all nodes; completed : of those that are not known, or None if all
        are; the first completion is still to be made otherwise

    truth : (nodes,) the true outputs; places : (n + 1,) where each output begins; size : of the
        weights; capsule : what the C functions are found by
    squares : (items,) |x|^2; square : of the longest example, as if all its features of one class
        were added up
    slack, exact : False; values : the states of a node are fewer
    """

    def __init__(self, graphs, Py_ssize_t size, const unsigned char[::1] known, augmented,
                 completed=None):
        memory = np.zeros(sizeof(Single), dtype=np.uint8)
        cdef unsigned char[::1] view = memory
        cdef Single* own = <Single*>&view[0]
        cdef const long long[::1] edges = graphs.edges
        cdef const int[:, ::1] ends = graphs.ends
        cdef const int[::1] labels = graphs.labels
        cdef Py_ssize_t n = len(graphs.costs)
        point_to_graphs(&own.graphs, graphs, np.zeros(size), known)
        own.edges, own.ends = &edges[0], &ends[0, 0]
        own.graphs.w, own.graphs.states = NULL, own.graphs.labels
        self.places, self.size, self.slack, self.exact = np.array(graphs.nodes), size, False, False
        self.truth = np.where(np.asarray(known) != 0, graphs.labels, 0).astype(np.int32)
        self._held = graphs, known, augmented, completed, memory
        cdef const long long[::1] places = self.places
        own.oracle.self, own.oracle.n, own.oracle.size = own, n, size
        own.oracle.places = &places[0]
        own.oracle.best, own.oracle.heights, own.oracle.inner, own.oracle.add = (
            _best_of, _heights_of, _inner_of, _add_of)
        own.oracle.solve, own.oracle.complete = NULL, NULL
        point_to_plans(&own.augmented, augmented)
        plans = [augmented]
        if completed is not None:
            plans.append(completed)
            own.oracle.complete = _complete_of
            point_to_plans(&own.completed, completed)
        _lay_out(own, plans)
        self._measure(graphs, n)
        # Elimination goes through all joint states of the variables of every step.
        self.multiply_adds += float(augmented.joint_sizes[augmented.chosen].sum())
        self.capsule = capsule_of(memory)

    def _measure(self, graphs, Py_ssize_t n):
        """What the choice of a solver reads."""
        cdef const long long[::1] offsets = graphs.offsets, starts = graphs.starts
        cdef const long long[::1] nodes = graphs.nodes
        cdef const int[::1] sizes = graphs.sizes
        cdef const double[::1] values = graphs.values
        cdef Py_ssize_t i, j, first = offsets[0], values_seen = 0
        cdef long long p
        self.squares = np.zeros(max(1, offsets[n] - first))
        cdef double[::1] squares = self.squares
        cdef double length, longest = 0.0, work = 0.0
        self.values = 1
        for i in range(n):
            length = 0.0
            for j in range(offsets[i], offsets[i + 1]):
                for p in range(starts[j], starts[j + 1]):
                    squares[j - first] += values[p] * values[p]
                length += sqrt(squares[j - first])
                work += (starts[j + 1] - starts[j]) * <double>sizes[j]
                if j - offsets[i] < nodes[i + 1] - nodes[i]:
                    values_seen = max(values_seen, <Py_ssize_t>sizes[j])
            longest = max(longest, length * length)
        self.square, self.values = longest, values_seen
        self.multiply_adds = work

    def load(self, w):
        """Weights (d,) as the kernel keeps them, a copy."""
        return np.array(w, dtype=np.float64)

    def unload(self, w):
        """The same the other way."""
        return np.array(w)


cdef int _lay_out(Single* own, list plans) except -1:
    """Share out the room that these plans need.

    Real numbers: tables and messages, then whole numbers of 64 bits.
    """
    cdef Py_ssize_t numbers = max(int(plan.numbers.max(initial=0)) for plan in plans)
    cdef Py_ssize_t messages = max(int(plan.message_sizes.max(initial=0)) for plan in plans)
    own.places = numbers
    own.counter = own.places + max(plan.most_items for plan in plans)
    own.at = own.counter + max(plan.most_others for plan in plans)
    own.chunk = own.at + 3 * max(plan.most_factors for plan in plans)
    own.factors = own.chunk + max(int(plan.steps[:, 2].max(initial=1)) for plan in plans)
    own.spare = own.factors + max(plan.largest_item for plan in plans)
    own.vector = own.spare + numbers
    own.oracle.reals = own.vector + own.oracle.size
    # What outputs select of one table shares the places of what maxima select.
    own.entry = messages
    own.oracle.integers = max(2 * messages, max(plan.largest_item for plan in plans))
    return 0


cdef void _point_to_room(const Single* own, Room room, MrfRoom* out) noexcept nogil:
    out.table, out.chunk = room.reals, room.reals + own.chunk
    out.places = <long long*>(room.reals + own.places)
    out.counter = <long long*>(room.reals + own.counter)
    out.at = <long long*>(room.reals + own.at)
    out.back = out.kept = out.sums = NULL


cdef inline Py_ssize_t _entry(const Single* own, Py_ssize_t i, Py_ssize_t j,
                              const int* output) noexcept nogil:
    """Which entry of the table of the j-th item of a graph the states select."""
    cdef Py_ssize_t nodes = own.graphs.nodes[i + 1] - own.graphs.nodes[i]
    cdef const int* ends
    if j < nodes:
        return output[j]
    ends = own.ends + 2 * (own.edges[i] + j - nodes)
    return (<Py_ssize_t>output[ends[0]] * own.graphs.sizes[own.graphs.offsets[i] + ends[1]]
            + output[ends[1]])


cdef inline Py_ssize_t _items(const Single* own, Py_ssize_t i) noexcept nogil:
    return own.graphs.offsets[i + 1] - own.graphs.offsets[i]


cdef double _score(const Single* own, Py_ssize_t i, const MrfRoom* room,
                   const int* output) noexcept nogil:
    """w . Phi by the tables of all items."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(_items(own, i)):
        total += room.table[room.places[j] + _entry(own, i, j, output)]
    return total


cdef double _rise(const Single* own, Py_ssize_t i, const MrfRoom* room, const int* output,
                  const int* truth) noexcept nogil:
    """w . delta by the tables of all items, summed over those that differ."""
    cdef Py_ssize_t j, mine, theirs
    cdef double total = 0.0
    cdef const double* table
    for j in range(_items(own, i)):
        mine, theirs = _entry(own, i, j, output), _entry(own, i, j, truth)
        if mine != theirs:
            table = room.table + room.places[j]
            total += table[mine] - table[theirs]
    return total


cdef void _find(const Single* own, Py_ssize_t i, const Plans* plans, const MrfRoom* room, long used,
                Room whole, int* output) noexcept nogil:
    """The best states of the nodes that the plan of example i eliminates; the others stay."""
    cdef MrfPlan plan
    plan_at(plans, plans.chosen[i], &plan)
    mrf_maximise(&plan, room, used, whole.integers)
    mrf_states(&plan, room, whole.integers, whole.integers + own.entry,
               own.graphs.nodes[i + 1] - own.graphs.nodes[i], output)


cdef int _best_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                  int* output, Found* found, double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef MrfGraphs graphs = own.graphs
    cdef MrfRoom memory
    cdef Py_ssize_t first = graphs.nodes[i], nodes = graphs.nodes[i + 1] - first, k, j, s
    cdef size_t size
    cdef long used
    graphs.w = w
    _point_to_room(own, room, &memory)
    used = mrf_tables(&graphs, &memory, i)
    found.score = _score(own, i, &memory, kept.truth)
    for k in range(kept.count):
        products[k] = _rise(own, i, &memory, kept.outputs + k * nodes, kept.truth)
    # The tables of the nodes are the first ones; without the loss they are needed again.
    size = sizeof(double) * (memory.places[nodes] if nodes < _items(own, i) else used)
    memcpy(room.reals + own.spare, memory.table, size)
    for j in range(nodes):
        if graphs.charged[first + j]:
            for s in range(graphs.sizes[graphs.offsets[i] + j]):
                memory.table[memory.places[j] + s] += s != graphs.labels[first + j]
    _find(own, i, &own.augmented, &memory, used, room, output)
    memcpy(memory.table, room.reals + own.spare, size)
    found.loss = 0.0
    for j in range(nodes):
        if graphs.charged[first + j] and output[j] != graphs.labels[first + j]:
            found.loss += 1.0
    found.height = found.loss + _rise(own, i, &memory, output, kept.truth)
    return 0


cdef int _complete_of(const void* self, const double* w, Py_ssize_t i, Room room, int* output,
                      double* score) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef MrfGraphs graphs = own.graphs
    cdef MrfRoom memory
    cdef MrfPlan plan
    cdef Py_ssize_t j, first = graphs.nodes[i]
    cdef long long row = i
    cdef long used
    graphs.w = w
    _point_to_room(own, room, &memory)
    used = mrf_tables(&graphs, &memory, i)
    for j in range(graphs.nodes[i + 1] - first):
        output[j] = graphs.labels[first + j]
    plan_at(&own.completed, own.completed.chosen[i], &plan)
    mrf_swap_all(&graphs, &plan, &memory, &row, memory.table, 0, 1)
    _find(own, i, &own.completed, &memory, used, room, output)
    mrf_swap_all(&graphs, &plan, &memory, &row, memory.table, 1, 1)
    score[0] = _score(own, i, &memory, output)
    return 0


cdef double _entry_score(const Single* own, const double* w, Py_ssize_t item,
                         Py_ssize_t entry) noexcept nogil:
    """One entry of the table of an item."""
    cdef const MrfGraphs* graphs = &own.graphs
    cdef const double* weights = w + graphs.bases[item] + entry
    cdef Py_ssize_t size = graphs.sizes[item]
    cdef long long p
    cdef double total = 0.0
    for p in range(graphs.starts[item], graphs.starts[item + 1]):
        total += graphs.values[p] * weights[graphs.indices[p] * size]
    return total


cdef int _heights_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                     double* products) noexcept nogil:
    """Only entries that an output does not share with the truth are scored."""
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.graphs.offsets[i], nodes = own.graphs.nodes[i + 1], j, k
    cdef Py_ssize_t mine, theirs, last
    cdef double score = 0.0, found = 0.0
    nodes -= own.graphs.nodes[i]
    for k in range(kept.count):
        products[k] = 0.0
    for j in range(_items(own, i)):
        theirs, last = _entry(own, i, j, kept.truth), -1
        for k in range(kept.count):
            mine = _entry(own, i, j, kept.outputs + k * nodes)
            if mine == theirs:
                continue
            if last < 0:
                score = _entry_score(own, w, first + j, theirs)
            if mine != last:
                found = _entry_score(own, w, first + j, mine)
                last = mine
            products[k] += found - score
    return 0


cdef void _spread(const Single* own, double* w, Py_ssize_t i, const int* output, const int* truth,
                  bint clear) noexcept nogil:
    """Add delta to a vector like w, or make 0 what delta touches."""
    cdef const MrfGraphs* graphs = &own.graphs
    cdef Py_ssize_t j, mine, theirs, item, size
    cdef long long p
    cdef double* row
    for j in range(_items(own, i)):
        mine, theirs = _entry(own, i, j, output), _entry(own, i, j, truth)
        if mine == theirs:
            continue
        item = graphs.offsets[i] + j
        size = graphs.sizes[item]
        for p in range(graphs.starts[item], graphs.starts[item + 1]):
            row = w + graphs.bases[item] + graphs.indices[p] * size
            row[mine] = 0.0 if clear else row[mine] + graphs.values[p]
            row[theirs] = 0.0 if clear else row[theirs] - graphs.values[p]


cdef int _inner_of(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k, Room room,
                   double* products) noexcept nogil:
    """Through a vector like w that holds the later of two planes, whichever is asked for.

    The time is linear in what differs, although weights are tied. Only what is read is made 0.
    """
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t nodes = own.graphs.nodes[i + 1] - own.graphs.nodes[i], l
    cdef double* vector = room.reals + own.vector
    cdef const int* mine = kept.outputs + k * nodes
    cdef Kept one
    one.count, one.truth = 1, kept.truth
    for l in range(k + 1):
        if products[l] == unknown():
            _spread(own, vector, i, kept.outputs + l * nodes, kept.truth, True)
    _spread(own, vector, i, mine, kept.truth, True)
    _spread(own, vector, i, mine, kept.truth, False)
    for l in range(k + 1):
        if products[l] == unknown():
            one.outputs = kept.outputs + l * nodes
            _heights_of(self, vector, i, &one, room, products + l)
    one.outputs = mine
    for l in range(k + 1, kept.count):
        if products[l] == unknown():
            _spread(own, vector, i, mine, kept.truth, True)
            _spread(own, vector, i, kept.outputs + l * nodes, kept.truth, True)
            _spread(own, vector, i, kept.outputs + l * nodes, kept.truth, False)
            _heights_of(self, vector, i, &one, room, products + l)
    return 0


cdef int _add_of(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                 const double* coefficients, Room room) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef const MrfGraphs* graphs = &own.graphs
    cdef Py_ssize_t j, a, count, item
    cdef double* factors = room.reals + own.factors
    cdef int* entries = room.integers
    cdef long long p
    cdef double* row
    for j in range(_items(own, i)):
        count = _gather(own, i, j, kept, coefficients, factors, entries)
        if count == 0:
            continue
        item = graphs.offsets[i] + j
        for p in range(graphs.starts[item], graphs.starts[item + 1]):
            row = w + graphs.bases[item] + <Py_ssize_t>graphs.indices[p] * graphs.sizes[item]
            for a in range(count):
                row[entries[a]] += graphs.values[p] * factors[entries[a]]
    return 0


cdef Py_ssize_t _gather(const Single* own, Py_ssize_t i, Py_ssize_t j, const Kept* kept,
                        const double* coefficients, double* factors, int* entries) noexcept nogil:
    """Entries of an item where outputs differ from the truth, how many, and their factors."""
    cdef Py_ssize_t nodes = own.graphs.nodes[i + 1] - own.graphs.nodes[i], k, a, count = 0
    cdef Py_ssize_t theirs = _entry(own, i, j, kept.truth), mine
    for k in range(kept.count):
        if coefficients[k] == 0.0:
            continue
        mine = _entry(own, i, j, kept.outputs + k * nodes)
        if mine == theirs:
            continue
        if count == 0:
            entries[0], count = <int>theirs, 1
            factors[theirs] = 0.0
        for a in range(1, count):
            if entries[a] == mine:
                break
        else:
            entries[count] = <int>mine
            factors[mine] = 0.0
            count += 1
        factors[mine] += coefficients[k]
        factors[theirs] -= coefficients[k]
    return count
