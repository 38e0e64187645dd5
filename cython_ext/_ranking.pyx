"""Selection of the best k documents of every query: scores, argmax and summed features in one pass.

The documents of a data set lie query after query. Features are either dense, each query a block
with one feature's values of all its documents side by side, so that the inner loop runs along the
documents and vectorises without reordering any document's sum; or sparse, rows one after another.

The k best of m documents are found by selection, in O(m) on average: the k-th highest key first
(three-way partition, so equal keys cost nothing), then one pass that takes the higher keys and as
many equal ones as are still needed. Ties go to the document that comes first.
"""

import numpy as np

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK, longest

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK

cdef extern from "query_scores.h" nogil:
    ctypedef struct Placed:
        pass
    void query_scores(const double*, ptrdiff_t, ptrdiff_t, const double*, double*)
    void query_sums(const double*, ptrdiff_t, ptrdiff_t, const double*, double*)
    void query_order(const double*, ptrdiff_t, Placed*, long long*)

cdef struct Queries:
    const double* dense  # null if sparse
    const int* indices
    const double* values
    const long long* starts
    const long long* offsets
    Py_ssize_t n, d
    Py_ssize_t most  # documents of a query, 1 at least


cdef int _queries(Queries* out, queries, Py_ssize_t d) except -1:
    """Point to QueryArrays, which must outlive ``out`` and fit d weights."""
    cdef const double[::1] dense = queries.dense, values = queries.values
    cdef const int[::1] indices = queries.indices
    cdef const long long[::1] starts = queries.starts, offsets = queries.offsets
    out.dense, out.indices, out.values, out.starts = NULL, NULL, NULL, NULL
    out.offsets, out.n, out.most = &offsets[0], offsets.shape[0] - 1, longest(offsets)
    out.d = queries.width
    if d != out.d:
        raise ValueError(f"ranking: {d} weights do not fit {out.d} features")
    if starts.shape[0] == 0:
        if dense.shape[0]:
            out.dense = &dense[0]
        return 0
    out.starts = &starts[0]
    if values.shape[0]:
        out.indices, out.values = &indices[0], &values[0]
    return 0


def search(
    int task, queries, const unsigned char[::1] relevant, const double[::1] costs,
    const double[::1] w, int k,
):
    """The best k documents of every query, with the summed features and losses of what was found.

    task : COMPLETE (the best of the orderings that rank as many relevant documents as there can
        be), AUGMENT (loss-augmented inference) or PREDICT (highest scores; no sums)
    queries : QueryArrays of n queries
    relevant : (documents,) 1 if relevant, for all documents of the arrays
    costs : (n,) c_i
    w : (d,)

    Returns gradient (d,) = sum c_i (1 / k) sum of the rows found, the sum of c_i times the loss, and
    chosen (n, k or the most documents of a query) int32, the documents found, by their place in the
    query and increasing; -1 where there are fewer. COMPLETE and AUGMENT leave out the queries for
    which every ordering has loss 0: no relevant document, no other, or at most k documents.
    """
    cdef Queries own
    cdef Py_ssize_t i, m, n, first, count, positives
    _queries(&own, queries, w.shape[0])
    n = own.n
    if k < 1 or costs.shape[0] != n or relevant.shape[0] < own.offsets[n]:
        raise ValueError(f"search: k = {k}, {len(costs)} costs and {n} queries do not fit")
    gradient = np.zeros(len(w))
    chosen = np.full((n, min(<Py_ssize_t>k, own.most)), -1, dtype=np.int32)
    cdef double[::1] gradient_view = gradient
    cdef int[:, ::1] chosen_view = chosen
    cdef double[::1] scores = np.empty(own.most), keys = np.empty(2 * own.most)
    cdef int[::1] places = np.empty(own.most, dtype=np.int32)
    cdef double loss = 0.0
    if n == 0:
        return gradient, loss, chosen
    with nogil:
        for i in range(n):
            first, m = own.offsets[i], own.offsets[i + 1] - own.offsets[i]
            if m == 0:
                continue
            positives = _count(&relevant[first], m)
            if task != PREDICT_TASK and (positives == 0 or positives == m or m <= k):
                continue
            _score(&own, first, m, &w[0], &scores[0])
            count = _best(task, &scores[0], &relevant[first], m, positives, k, &keys[0],
                          &places[0], &chosen_view[i, 0])
            if task != PREDICT_TASK:
                _add(&own, first, m, &chosen_view[i, 0], count, costs[i], &gradient_view[0])
            if task == AUGMENT_TASK:
                loss = loss + costs[i] * (min(<Py_ssize_t>k, positives)
                                          - _hits(&relevant[first], &chosen_view[i, 0], count))
        for i in range(w.shape[0]):
            gradient_view[i] = gradient_view[i] / k
    return gradient, loss / k, chosen


def scores(queries, const double[::1] w):
    """w . x for the documents of all queries, (offsets[n] - offsets[0],)."""
    cdef Queries own
    cdef Py_ssize_t i, m, first
    _queries(&own, queries, w.shape[0])
    first = own.offsets[0]
    found = np.empty(own.offsets[own.n] - first)
    cdef double[::1] view = found
    with nogil:
        for i in range(own.n):
            m = own.offsets[i + 1] - own.offsets[i]
            if m:
                _score(&own, own.offsets[i], m, &w[0], &view[own.offsets[i] - first])
    return found


def combination(queries, const double[::1] coefficients):
    """The sum over the documents of coefficient times row, (d,)."""
    cdef Queries own
    cdef Py_ssize_t i, m, first
    _queries(&own, queries, queries.width)
    first = own.offsets[0]
    if coefficients.shape[0] != own.offsets[own.n] - first:
        raise ValueError(f"combination: {len(coefficients)} coefficients do not fit the documents")
    found = np.zeros(own.d)
    cdef double[::1] view = found
    with nogil:
        for i in range(own.n):
            m = own.offsets[i + 1] - own.offsets[i]
            if m:
                _combine(&own, own.offsets[i], m, &coefficients[own.offsets[i] - first], &view[0])
    return found


cdef void _score(const Queries* features, Py_ssize_t first, Py_ssize_t m, const double* w,
                 double* out) noexcept nogil:
    """out[p] = w . x of the p-th document of a query."""
    cdef Py_ssize_t p, j, d = features.d
    cdef double total
    if features.starts != NULL:
        for p in range(m):
            total = 0.0
            for j in range(features.starts[first + p], features.starts[first + p + 1]):
                total = total + w[features.indices[j]] * features.values[j]
            out[p] = total
        return
    query_scores(features.dense + first * d, m, d, w, out)


cdef Py_ssize_t _best(int task, const double* scores, const unsigned char* relevant, Py_ssize_t m,
                      Py_ssize_t positives, int k, double* keys, int* places,
                      int* chosen) noexcept nogil:
    """List the documents that the task asks for, by increasing place; returns how many."""
    cdef Py_ssize_t p, size = 0, taken = 0
    if task == COMPLETE_TASK:
        # Relevant documents alone if there are k, else all of them and the best others.
        for p in range(m):
            if relevant[p] == (positives >= k):
                keys[size] = scores[p]
                places[size] = <int>p
                size += 1
        if positives >= k:
            return _select(keys, places, size, k, chosen)
        taken = _select(keys, places, size, k - positives, chosen)
        return _merge(relevant, m, chosen, taken, k)
    for p in range(m):
        keys[p] = scores[p] - (relevant[p] if task == AUGMENT_TASK else 0)
        places[p] = <int>p
    return _select(keys, places, m, k, chosen)


cdef Py_ssize_t _merge(const unsigned char* relevant, Py_ssize_t m, int* chosen, Py_ssize_t taken,
                       int k) noexcept nogil:
    """Add all relevant documents to the ``taken`` others, in order; from the back, in place."""
    cdef Py_ssize_t p, last = taken - 1, out = taken - 1
    for p in range(m):
        out += relevant[p]
    taken = out + 1
    for p in range(m - 1, -1, -1):
        if relevant[p]:
            chosen[out] = <int>p
            out -= 1
        elif last >= 0 and chosen[last] == p:
            chosen[out] = <int>p
            last -= 1
            out -= 1
    return taken


cdef Py_ssize_t _select(double* keys, const int* places, Py_ssize_t size, Py_ssize_t k,
                        int* chosen) noexcept nogil:
    """The places of the k highest keys (all, if there are fewer), in order; ties to the first.

    keys has room for twice ``size``: the second half is scratch.
    """
    cdef Py_ssize_t p, above = 0, taken = 0
    cdef double bar
    if k >= size:
        for p in range(size):
            chosen[p] = places[p]
        return size
    for p in range(size):
        keys[size + p] = keys[p]
    bar = _kth_highest(keys + size, size, k)
    for p in range(size):
        above += keys[p] > bar
    k -= above
    for p in range(size):
        if keys[p] > bar or (keys[p] == bar and k > 0):
            k -= keys[p] == bar
            chosen[taken] = places[p]
            taken += 1
    return taken


cdef double _kth_highest(double* keys, Py_ssize_t size, Py_ssize_t k) noexcept nogil:
    """The k-th highest of the keys, which it reorders."""
    cdef Py_ssize_t low = 0, high = size - 1, lower, upper, i
    cdef double pivot, key
    while True:
        pivot = _median(keys[low], keys[(low + high) // 2], keys[high])
        lower, upper, i = low, high, low
        while i <= upper:
            key = keys[i]
            if key > pivot:
                keys[i] = keys[lower]
                keys[lower] = key
                lower += 1
                i += 1
            elif key < pivot:
                keys[i] = keys[upper]
                keys[upper] = key
                upper -= 1
            else:
                i += 1
        if k - 1 < lower:
            high = lower - 1
        elif k - 1 > upper:
            low = upper + 1
        else:
            return pivot


cdef inline double _median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef Py_ssize_t _count(const unsigned char* relevant, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t p, found = 0
    for p in range(m):
        found += relevant[p]
    return found


cdef Py_ssize_t _hits(const unsigned char* relevant, const int* chosen,
                      Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t p, found = 0
    for p in range(count):
        found += relevant[chosen[p]]
    return found


cdef void _add(const Queries* features, Py_ssize_t first, Py_ssize_t m, const int* chosen,
               Py_ssize_t count, double cost, double* gradient) noexcept nogil:
    """Add cost times the rows of the chosen documents."""
    cdef Py_ssize_t p, j, row
    cdef double total
    cdef const double* column
    if features.starts != NULL:
        for p in range(count):
            row = first + chosen[p]
            for j in range(features.starts[row], features.starts[row + 1]):
                gradient[features.indices[j]] += cost * features.values[j]
        return
    column = features.dense + first * features.d
    for j in range(features.d):
        total = 0.0
        for p in range(count):
            total = total + column[chosen[p]]
        gradient[j] += cost * total
        column += m


def pairs(queries, const int[::1] levels, const double[::1] costs, const double[::1] w):
    """Hinge losses of all pairs of a query's documents of different levels, each query's mean.

    queries : QueryArrays of n queries
    levels : (documents,) from 0, the higher the better, of the documents of these queries
    costs : (n,) c_i

    A pair counts if the better document is not ahead by 1. Returns the gradient (d,) of the sum of
    c_i times the mean, and the loss that belongs to it. Queries without a pair count nothing.
    O(levels * documents), and a sort.
    """
    cdef Queries own
    cdef Py_ssize_t i, p, m, first, start
    cdef Py_ssize_t height = 1
    cdef double loss = 0.0, weight
    cdef long long total, violated
    _queries(&own, queries, w.shape[0])
    start = own.offsets[0]
    if costs.shape[0] != own.n or levels.shape[0] != own.offsets[own.n] - start:
        raise ValueError(f"pairs: {len(costs)} costs, {len(levels)} levels and {own.n} queries "
                         "do not fit")
    for p in range(levels.shape[0]):
        height = max(height, <Py_ssize_t>levels[p] + 1)
    gradient = np.zeros(own.d)
    cdef double[::1] gradient_view = gradient, scores = np.empty(own.most)
    cdef double[::1] coefficients = np.empty(own.most)
    cdef long long[::1] seen = np.empty(height, dtype=np.int64)
    cdef long long[::1] order = np.empty(own.most, dtype=np.int64)
    cdef unsigned char[::1] placed = np.empty(own.most * sizeof(Placed), dtype=np.uint8)
    with nogil:
        for i in range(own.n):
            first, m = own.offsets[i], own.offsets[i + 1] - own.offsets[i]
            if m == 0:
                continue
            total = _pair_count(&levels[first - start], 0, m, &seen[0], height)
            if total == 0:
                continue
            weight = costs[i] / total
            _score(&own, first, m, &w[0], &scores[0])
            query_order(&scores[0], m, <Placed*>&placed[0], &order[0])
            for p in range(m):
                coefficients[p] = 0.0
            violated = _violated(&levels[first - start], &scores[0], &order[0], 0, m, &seen[0], height,
                                 &coefficients[0])
            loss = loss + weight * violated
            for p in range(m):
                coefficients[p] = coefficients[p] * weight
            _combine(&own, first, m, &coefficients[0], &gradient_view[0])
    return gradient, loss


cdef void _combine(const Queries* features, Py_ssize_t first, Py_ssize_t m,
                   const double* coefficients, double* gradient) noexcept nogil:
    """Add coefficients times the rows of a query's documents."""
    cdef Py_ssize_t p, j
    if features.starts == NULL:
        query_sums(features.dense + first * features.d, m, features.d, coefficients, gradient)
        return
    for p in range(m):
        for j in range(features.starts[first + p], features.starts[first + p + 1]):
            gradient[features.indices[j]] += coefficients[p] * features.values[j]


cdef long long _pair_count(const int* levels, Py_ssize_t first, Py_ssize_t last, long long* seen,
                           Py_ssize_t height) noexcept nogil:
    """Pairs of documents of different levels."""
    cdef Py_ssize_t p, level
    cdef long long below = 0, total = 0
    for level in range(height):
        seen[level] = 0
    for p in range(first, last):
        seen[levels[p]] += 1
    for level in range(height):
        total += below * seen[level]
        below += seen[level]
    return total


cdef long long _violated(const int* levels, const double* scores, const long long* order,
                         Py_ssize_t first, Py_ssize_t last, long long* seen, Py_ssize_t height,
                         double* coefficients) noexcept nogil:
    """Count the violated pairs: up for the worse document of each, down for the better one.

    The set of documents with which a document is compared only grows as the scores fall or rise, so
    each is entered once.
    """
    cdef Py_ssize_t at, next_, level, a, b
    cdef long long found, total = 0
    for level in range(height):
        seen[level] = 0
    next_ = first
    for at in range(first, last):
        a = order[at]
        while next_ < last and scores[a] - scores[order[next_]] < 1.0:
            seen[levels[order[next_]]] += 1
            next_ += 1
        found = 0
        for level in range(levels[a]):
            found += seen[level]
        coefficients[a] -= found
        total += found
    for level in range(height):
        seen[level] = 0
    next_ = last - 1
    for at in range(last - 1, first - 1, -1):
        b = order[at]
        while next_ >= first and scores[order[next_]] - scores[b] < 1.0:
            seen[levels[order[next_]]] += 1
            next_ -= 1
        for level in range(levels[b] + 1, height):
            coefficients[b] += seen[level]
    return total
