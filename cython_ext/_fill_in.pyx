"""Orders of elimination by minimal fill-in, in time that grows like the graph and its filled edges.

The next node is the one whose neighbours lack the fewest edges among them, of those the one with
the fewest neighbours, then the lowest. What each node's neighbours lack is counted once and kept up
to date: a filled edge and an eliminated node change it by what can be read from the neighbours of
their ends. Eliminated nodes stay in the lists of their neighbours until these are half empty, so
that a node with many neighbours loses each of them at once.
"""

import numpy as np

from libc.string cimport memcpy, memmove

cdef int NOWHERE = -1


cdef class Elimination:
    """A graph from which nodes are eliminated, and the heap of those that may be next."""

    cdef int count
    cdef int[::1] pool  # lists of neighbours, increasing; eliminated ones among them
    cdef long long[::1] begins  # where the list of each node is in the pool
    cdef long long used  # of the pool
    cdef int[::1] lengths, rooms, degrees, heap, places, shared
    cdef long long[::1] lacking
    cdef unsigned char[::1] gone
    cdef int waiting

    def __init__(self, const long long[::1] starts, int[::1] neighbours):
        self.count = <int>(starts.shape[0] - 1)
        self.used = neighbours.shape[0]
        self.pool = np.append(neighbours, np.zeros(self.used + 16, dtype=np.int32))
        self.begins = np.array(starts)
        self.lengths = np.diff(starts).astype(np.int32)
        self.rooms, self.degrees = np.array(self.lengths), np.array(self.lengths)
        self.heap, self.shared = np.empty((2, self.count + 1), dtype=np.int32)
        self.places = np.full(self.count + 1, NOWHERE, dtype=np.int32)
        self.lacking = np.zeros(self.count + 1, dtype=np.int64)
        self.gone = np.zeros(self.count + 1, dtype=np.uint8)
        self.waiting = 0

    cdef int* row(self, int node) noexcept nogil:
        """The list of a node, until the next edge is added."""
        return &self.pool[self.begins[node]]

    cdef bint before(self, int a, int b) noexcept nogil:
        """Whether a is eliminated before b."""
        if self.lacking[a] != self.lacking[b]:
            return self.lacking[a] < self.lacking[b]
        if self.degrees[a] != self.degrees[b]:
            return self.degrees[a] < self.degrees[b]
        return a < b

    cdef void settle(self, int node) noexcept nogil:
        """Put a node of the heap where it belongs, once its rank has changed."""
        cdef int place = self.places[node], other, below
        if place == NOWHERE:
            return
        while place > 0 and self.before(node, self.heap[(place - 1) // 2]):
            other = self.heap[(place - 1) // 2]
            self.heap[place], self.places[other] = other, place
            place = (place - 1) // 2
        while True:
            below = 2 * place + 1
            if below >= self.waiting:
                break
            if below + 1 < self.waiting and self.before(self.heap[below + 1], self.heap[below]):
                below += 1
            other = self.heap[below]
            if not self.before(other, node):
                break
            self.heap[place], self.places[other] = other, place
            place = below
        self.heap[place], self.places[node] = node, place

    cdef void push(self, int node) noexcept nogil:
        self.heap[self.waiting], self.places[node] = node, self.waiting
        self.waiting += 1
        self.settle(node)

    cdef int pop(self) noexcept nogil:
        cdef int node = self.heap[0], last
        self.waiting -= 1
        last = self.heap[self.waiting]
        self.places[node] = NOWHERE
        if self.waiting:
            self.heap[0], self.places[last] = last, 0
            self.settle(last)
        return node

    cdef int place_of(self, int node, int other) noexcept nogil:
        """The place of ``other`` in the list of ``node``, or where it would stand."""
        cdef int low = 0, high = self.lengths[node], middle
        cdef int* row = self.row(node)
        while low < high:
            middle = (low + high) // 2
            if row[middle] < other:
                low = middle + 1
            else:
                high = middle
        return low

    cdef bint joined(self, int a, int b) noexcept nogil:
        """Whether there is an edge."""
        cdef int node = a if self.lengths[a] < self.lengths[b] else b, other = a + b - node
        cdef int place = self.place_of(node, other)
        return place < self.lengths[node] and self.row(node)[place] == other

    cdef int common(self, int a, int b) noexcept nogil:
        """The neighbours that both have, in ``shared``; how many."""
        cdef int few = a if self.lengths[a] < self.lengths[b] else b, many = a + b - few
        cdef int found = 0, i, other
        for i in range(self.lengths[few]):
            other = self.row(few)[i]
            if not self.gone[other] and other != many and self.joined(other, many):
                self.shared[found] = other
                found += 1
        return found

    cdef int insert(self, int node, int other) except -1 nogil:
        cdef int place, length = self.lengths[node], room
        cdef int* row
        if length == self.rooms[node]:
            room = 2 * length + 4
            if self.used + room > self.pool.shape[0]:
                with gil:
                    self.pool = np.append(self.pool, np.zeros(self.used + room, dtype=np.int32))
            memcpy(&self.pool[self.used], self.row(node), length * sizeof(int))
            self.begins[node], self.rooms[node] = self.used, room
            self.used += room
        place = self.place_of(node, other)
        row = self.row(node)
        memmove(row + place + 1, row + place, (length - place) * sizeof(int))
        row[place] = other
        self.lengths[node] += 1
        return 0

    cdef void tidy(self, int node) noexcept nogil:
        """Leave eliminated nodes out of a list."""
        cdef int i, kept = 0
        cdef int* row = self.row(node)
        for i in range(self.lengths[node]):
            if not self.gone[row[i]]:
                row[kept] = row[i]
                kept += 1
        self.lengths[node] = kept

    cdef void count_lacking(self) noexcept nogil:
        """Edges that the neighbours of each node lack among them."""
        cdef int a, b, i, j, found
        for a in range(self.count):
            self.lacking[a] += <long long>self.degrees[a] * (self.degrees[a] - 1) // 2
            for i in range(self.lengths[a]):
                b = self.row(a)[i]
                if b > a:
                    found = self.common(a, b)
                    for j in range(found):
                        self.lacking[self.shared[j]] -= 1

    cdef int join(self, int a, int b) except -1 nogil:
        """Add an edge that is not there."""
        cdef int found = self.common(a, b), i
        for i in range(found):
            self.lacking[self.shared[i]] -= 1
            self.settle(self.shared[i])
        self.lacking[a] += self.degrees[a] - found
        self.lacking[b] += self.degrees[b] - found
        self.insert(a, b)
        self.insert(b, a)
        self.degrees[a] += 1
        self.degrees[b] += 1
        self.settle(a)
        self.settle(b)
        return 0

    cdef int eliminate(self, int node) except -1 nogil:
        """Join the neighbours of a node, whose list is tidy, and leave it out."""
        cdef int i, j, one, other, size = self.lengths[node]
        for i in range(size):
            for j in range(i + 1, size):
                one, other = self.row(node)[i], self.row(node)[j]
                if not self.joined(one, other):
                    self.join(one, other)
        self.gone[node] = 1
        for i in range(size):
            other = self.row(node)[i]
            self.lacking[other] -= self.degrees[other] - size
            self.degrees[other] -= 1
            if 2 * self.degrees[other] < self.lengths[other]:
                self.tidy(other)
            self.settle(other)
        return 0


def ordered(
    const long long[::1] starts,
    int[::1] neighbours,
    const unsigned char[::1] groups,
    const long long[::1] sizes,
    long long limit,
):
    """The order of the nodes of group 1, then of those of group 2; others are left out.

    starts : (n + 1,), neighbours : of each of the n nodes, increasing, without those left out
    groups : (n,); sizes : (n,) states of each node
    limit : the most joint states of a node and its neighbours when it is eliminated

    Returns order (k,) int32, the neighbours of each node when it is eliminated, one after another
    and increasing, int32, where they begin (k + 1,) int64, and whether all nodes were eliminated:
    if not, the last node of the order exceeded the limit.
    """
    cdef Elimination graph = Elimination(starts, neighbours)
    cdef int n = graph.count, node, i, group, done = 0
    cdef long long states, used = 0
    cdef bint fits = True
    order = np.empty(n, dtype=np.int32)
    offsets = np.zeros(n + 1, dtype=np.int64)
    others = np.empty(max(16, 4 * neighbours.shape[0]), dtype=np.int32)
    cdef int[::1] order_view = order, other_view = others
    cdef long long[::1] offset_view = offsets
    with nogil:
        graph.count_lacking()
        for group in range(1, 3):
            for node in range(n):
                if groups[node] == group:
                    graph.push(node)
            while fits and graph.waiting:
                node = graph.pop()
                graph.tidy(node)
                if used + graph.lengths[node] > other_view.shape[0]:
                    with gil:
                        others = np.append(others, np.empty(used + graph.lengths[node], np.int32))
                        other_view = others
                states = sizes[node]
                for i in range(graph.lengths[node]):
                    other_view[used + i] = graph.row(node)[i]
                    if states <= limit:
                        states *= sizes[graph.row(node)[i]]
                used += graph.lengths[node]
                order_view[done] = node
                done += 1
                offset_view[done] = used
                fits = states <= limit
                if fits:
                    graph.eliminate(node)
    return order[:done], others[:used], offsets[: done + 1], fits
