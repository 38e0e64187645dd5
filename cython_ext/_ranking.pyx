"""Selection of the best k documents of every query: scores, argmax and summed features in one pass.

The documents of a data set lie query after query. Features are either dense, each query a block
with one feature's values of all its documents side by side, so that the inner loop runs along the
documents and vectorises without reordering any document's sum; or sparse, rows one after another.

The k best of m documents are found by selection, in O(m) on average: the k-th highest key first
(three-way partition, so equal keys cost nothing), then one pass that takes the higher keys and as
many equal ones as are still needed. Ties go to the document that comes first.
"""

import numpy as np

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK
from _queries cimport (
    Placed, Queries, add_documents, best_documents, count_hits, count_relevant, point_to_queries,
    query_order, score_documents,
)

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK


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
    point_to_queries(&own, queries, w.shape[0])
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
            positives = count_relevant(&relevant[first], m)
            if task != PREDICT_TASK and (positives == 0 or positives == m or m <= k):
                continue
            score_documents(&own, first, m, &w[0], &scores[0])
            count = best_documents(task, &scores[0], &relevant[first], m, positives, k, &keys[0],
                                   &places[0], &chosen_view[i, 0])
            if task != PREDICT_TASK:
                _add(&own, first, m, &chosen_view[i, 0], count, costs[i], &gradient_view[0])
            if task == AUGMENT_TASK:
                loss = loss + costs[i] * (min(<Py_ssize_t>k, positives)
                                          - count_hits(&relevant[first], &chosen_view[i, 0], count))
        for i in range(w.shape[0]):
            gradient_view[i] = gradient_view[i] / k
    return gradient, loss / k, chosen


def scores(queries, const double[::1] w):
    """w . x for the documents of all queries, (offsets[n] - offsets[0],)."""
    cdef Queries own
    cdef Py_ssize_t i, m, first
    point_to_queries(&own, queries, w.shape[0])
    first = own.offsets[0]
    found = np.empty(own.offsets[own.n] - first)
    cdef double[::1] view = found
    with nogil:
        for i in range(own.n):
            m = own.offsets[i + 1] - own.offsets[i]
            if m:
                score_documents(&own, own.offsets[i], m, &w[0], &view[own.offsets[i] - first])
    return found


def combination(queries, const double[::1] coefficients):
    """The sum over the documents of coefficient times row, (d,)."""
    cdef Queries own
    cdef Py_ssize_t i, m, first
    point_to_queries(&own, queries, queries.width)
    first = own.offsets[0]
    if coefficients.shape[0] != own.offsets[own.n] - first:
        raise ValueError(f"combination: {len(coefficients)} coefficients do not fit the documents")
    found = np.zeros(own.d)
    cdef double[::1] view = found
    with nogil:
        for i in range(own.n):
            m = own.offsets[i + 1] - own.offsets[i]
            if m:
                add_documents(&own, own.offsets[i], m, &coefficients[own.offsets[i] - first], &view[0])
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
    point_to_queries(&own, queries, w.shape[0])
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
            score_documents(&own, first, m, &w[0], &scores[0])
            query_order(&scores[0], m, <Placed*>&placed[0], &order[0])
            for p in range(m):
                coefficients[p] = 0.0
            violated = _violated(&levels[first - start], &scores[0], &order[0], 0, m, &seen[0], height,
                                 &coefficients[0])
            loss = loss + weight * violated
            for p in range(m):
                coefficients[p] = coefficients[p] * weight
            add_documents(&own, first, m, &coefficients[0], &gradient_view[0])
    return gradient, loss


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
