"""Scores and inner products of the transitions and ends in which two label paths differ."""

from _chains cimport Chain, sequence_unlike
from _examples cimport Kept


cdef inline Py_ssize_t unlike(const Kept* kept, const double* coefficients, Py_ssize_t length,
                              int* places) noexcept nogil:
    """Write where outputs differ from the truth, in order; at how many places.

    coefficients : outputs whose coefficient is 0 are left out; null: none is
    """
    return sequence_unlike(kept.outputs, kept.count, coefficients, kept.truth, length, places)


cdef inline Py_ssize_t steps_near(const int* path, const int* truth, const int* places,
                                  Py_ssize_t count, Py_ssize_t length, int reach,
                                  int* out) noexcept nogil:
    """Write the positions t > 0 such that paths differ at one of t - reach + 1 .. t, in order.

    places : of ``unlike``, to which every difference belongs. Returns how many positions
    """
    cdef Py_ssize_t a, t, found = 0, behind = 1
    for a in range(count):
        t = places[a]
        if path[t] == truth[t]:
            continue
        behind, t = max(behind, t), min(t + reach, length)
        while behind < t:
            out[found] = <int>behind
            found += 1
            behind += 1
    return found


cdef inline double step_scores(const Chain* chain, const int* path, const int* truth,
                               const int* places, Py_ssize_t count, Py_ssize_t length,
                               int* room) noexcept nogil:
    """The weights of a path's transitions and ends minus those of the truth, where they differ.

    places : of ``unlike``; room : (length,)
    """
    cdef Py_ssize_t a, t, L = chain.labels, P = chain.padded
    cdef Py_ssize_t steps = steps_near(path, truth, places, count, length, <int>chain.order + 1, room)
    cdef double own = 0.0, other = 0.0
    if length == 0:
        return 0.0
    if path[0] != truth[0]:
        own += chain.begin[path[0]]
        other += chain.begin[truth[0]]
    if path[length - 1] != truth[length - 1]:
        own += chain.finish[path[length - 1]]
        other += chain.finish[truth[length - 1]]
    for a in range(steps):
        t = room[a]
        if chain.order == 2 and t >= 2:
            own += chain.second[(path[t - 2] * L + path[t - 1]) * P + path[t]]
            other += chain.second[(truth[t - 2] * L + truth[t - 1]) * P + truth[t]]
        else:
            own += chain.first[path[t - 1] * P + path[t]]
            other += chain.first[truth[t - 1] * P + truth[t]]
    return own - other


cdef inline Py_ssize_t steps_of(const int* path, const int* y, Py_ssize_t length, int labels,
                          int* out) noexcept nogil:
    """Write the transitions in which a path and the truth y differ; return how many numbers.

    A transition of the path is a number above 0, and the one of y after it a number below 0.
    """
    cdef Py_ssize_t t
    cdef Py_ssize_t count = 0
    for t in range(1, length):
        if path[t] != y[t] or path[t - 1] != y[t - 1]:
            out[count] = path[t - 1] * labels + path[t] + 1
            out[count + 1] = -(y[t - 1] * labels + y[t] + 1)
            count += 2
    return count


cdef inline double step_products(int labels, int order, bint ends, const int* path, const int* other, const int* y,
                           Py_ssize_t length, int* room) noexcept nogil:
    """The part of the inner product of two paths' planes from transitions and ends.

    It is a whole number. room : scratch
    """
    cdef Py_ssize_t a, b, mine, theirs
    cdef int* there
    cdef long total = 0
    mine = steps_of(path, y, length, labels, room)
    there = room + mine
    theirs = steps_of(other, y, length, labels, there)
    for a in range(mine):
        for b in range(theirs):
            if room[a] == there[b]:
                total += 1
            elif room[a] == -there[b]:
                total -= 1
    if ends:
        total += (path[0] == other[0]) - (path[0] == y[0]) - (y[0] == other[0]) + 1
        a = length - 1
        total += (path[a] == other[a]) - (path[a] == y[a]) - (y[a] == other[a]) + 1
    if order == 2:
        total += triples(path, other, y, length)
    return total


cdef inline bint triple_is(const int* a, Py_ssize_t s, const int* b, Py_ssize_t t) noexcept nogil:
    return a[s] == b[t] and a[s - 1] == b[t - 1] and a[s - 2] == b[t - 2]


cdef inline long triples(const int* path, const int* other, const int* y,
                   Py_ssize_t length) noexcept nogil:
    """The part of the inner product from second-order transitions."""
    cdef Py_ssize_t s, t
    cdef long total = 0
    for s in range(2, length):
        if triple_is(path, s, y, s):
            continue
        for t in range(2, length):
            if not triple_is(other, t, y, t):
                total += (triple_is(path, s, other, t) - triple_is(path, s, y, t)
                          - triple_is(y, s, other, t) + triple_is(y, s, y, t))
    return total


cdef inline Py_ssize_t differences(Py_ssize_t t, Py_ssize_t length, const Kept* kept,
                            const double* coefficients, double* factors,
                            int* labels) noexcept nogil:
    """The labels whose emissions at one token the outputs change, and by how much; their number."""
    cdef Py_ssize_t k, a, size = 0
    cdef int label, y = kept.truth[t]
    for k in range(kept.count):
        label = kept.outputs[k * length + t]
        if label == y or coefficients[k] == 0.0:
            continue
        if size == 0:
            labels[0], size = y, 1
        factors[y] -= coefficients[k]
        for a in range(1, size):
            if labels[a] == label:
                break
        else:
            labels[size] = label
            size += 1
        factors[label] += coefficients[k]
    return size


cdef inline Py_ssize_t differing(const int* path, const int* truth, Py_ssize_t length,
                                 int* out) noexcept nogil:
    """Where two paths differ; at how many places."""
    cdef Py_ssize_t t, count = 0
    for t in range(length):
        out[count] = <int>t
        count += path[t] != truth[t]
    return count
