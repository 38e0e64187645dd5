"""Smoothed selection of the best k documents of every query: values, slopes and curvature.

Loss-augmented inference of a query with keys u_j = w . x_j - [relevant] is a linear program over the
shares p_j of its documents, 0 <= p_j <= 1, that sum to k. Smoothed to the width t it is

    max_p  sum_j p_j u_j + t / 2 sum_j p_j (1 - p_j),    p_j = 1/2 + (u_j - b) / t  within 0 and 1

with b so that the sum is k (Nesterov, Mathematical Programming 2005, with a quadratic term). Shares
are means of choices of k documents: their plane bounds the sum of the maxima from below at every w.
Only documents whose share is neither 0 nor 1, those near the k-th, have a part in the curvature.
"""

from libc.math cimport fabs, fmax, fmin, sqrt
from libc.string cimport memmove, memset

import numpy as np

from _queries cimport (
    Queries, add_documents, count_relevant, kth_highest, point_to_queries, score_documents,
)

cdef extern from "query_squares.h" nogil:
    enum: SQUARED_ROWS
    void add_squares(const double*, ptrdiff_t, double*)

cdef enum:
    ROUNDS = 100  # to find b; a few do

cdef double ROUNDING = 1e-14

cdef struct Part:
    int count  # documents with a share
    int inside  # of these, those with one below 1
    double slack  # exact maximum minus sum p u
    double bulge  # t / 2 sum p (1 - p)


def smoothed(queries, const unsigned char[::1] relevant, const double[::1] costs,
             const double[::1] w, int k, double width):
    """Smoothed loss-augmented inference for all queries.

    queries, relevant, costs, w, k : as in ``_ranking.search``, which leaves out the same queries;
    width : t > 0

    Returns the gradient (d,) and the loss of the plane of all shares, by how much the sum of the
    exact maxima is above it at w, by how much the smoothed sum is, and the second derivatives of
    the smoothed sum, (d, d).
    """
    cdef Queries own
    cdef Part part
    cdef Py_ssize_t i, m, n, first, d, positives, kept = 0
    point_to_queries(&own, queries, w.shape[0])
    n, d = own.n, own.d
    if k < 1 or not width > 0.0 or costs.shape[0] != n or relevant.shape[0] < own.offsets[n]:
        raise ValueError(f"smoothed: k = {k}, width {width}, {len(costs)} costs and {n} queries do "
                         "not fit")
    gradient, curvature = np.zeros(d), np.zeros((d, d))
    cdef double[::1] gradient_view = gradient, scores = np.empty(own.most)
    cdef double[:, ::1] curvature_view = curvature
    cdef double[::1] keys = np.empty(own.most), shares = np.empty(own.most)
    cdef int[::1] places = np.empty(own.most, dtype=np.int32)
    cdef double[:, ::1] rows = np.zeros((own.most + SQUARED_ROWS, d))
    cdef double loss = 0.0, slack = 0.0, bulge = 0.0, hits
    with nogil:
        for i in range(n):
            first, m = own.offsets[i], own.offsets[i + 1] - own.offsets[i]
            positives = count_relevant(&relevant[0] + first, m)
            if positives == 0 or positives == m or m <= k:
                continue
            score_documents(&own, first, m, &w[0], &scores[0])
            part = _share(&scores[0], &relevant[first], m, k, width, &keys[0], &places[0],
                          &shares[0])
            hits = _hits(&relevant[first], &places[0], &shares[0], part.count)
            loss = loss + costs[i] * (min(<Py_ssize_t>k, positives) - hits) / k
            slack = slack + costs[i] * part.slack / k
            bulge = bulge + costs[i] * part.bulge / k
            _add_shares(&own, first, m, &places[0], &shares[0], part.count, costs[i] / k,
                        &gradient_view[0])
            if part.inside > 1:
                _copy_rows(&own, first, m, &places[0], part.inside, &rows[kept, 0])
                _centre(&rows[kept, 0], part.inside, d, sqrt(costs[i] / (k * width)))
                kept = _squared(&rows[0, 0], kept + part.inside, d, &curvature_view[0, 0])
        _finish(&rows[0, 0], kept, d, &curvature_view[0, 0])
    return gradient, loss, slack, bulge, curvature


def hinges(queries, const signed char[::1] signs, const double[::1] costs, const double[::1] w,
           double width):
    """Smoothed hinge losses max(0, 1 - y w . x) of all documents, each query's mean.

    queries : QueryArrays of n queries; signs : (documents,) y, 1 or -1, for all documents of the
    arrays; costs : (n,) c_i; width : t > 0

    A document's share of its plane is p = 1/2 + (1 - y w . x) / t within 0 and 1. Returns the same
    as ``smoothed``.
    """
    cdef Queries own
    cdef Py_ssize_t i, p, m, n, first, d, kept = 0
    cdef double key, share, weight
    cdef int inside
    point_to_queries(&own, queries, w.shape[0])
    n, d = own.n, own.d
    if not width > 0.0 or costs.shape[0] != n or signs.shape[0] < own.offsets[n]:
        raise ValueError(f"hinges: width {width}, {len(costs)} costs and {n} queries do not fit")
    gradient, curvature = np.zeros(d), np.zeros((d, d))
    cdef double[::1] gradient_view = gradient, scores = np.empty(own.most)
    cdef double[:, ::1] curvature_view = curvature
    cdef int[::1] places = np.empty(own.most, dtype=np.int32)
    cdef double[:, ::1] rows = np.zeros((own.most + SQUARED_ROWS, d))
    cdef double loss = 0.0, slack = 0.0, bulge = 0.0
    with nogil:
        for i in range(n):
            first, m = own.offsets[i], own.offsets[i + 1] - own.offsets[i]
            if m == 0:
                continue
            score_documents(&own, first, m, &w[0], &scores[0])
            weight, inside = costs[i] / m, 0
            for p in range(m):
                key = 1.0 - signs[first + p] * scores[p]
                share = fmin(1.0, fmax(0.0, 0.5 + key / width))
                loss = loss + weight * share
                slack = slack + weight * (fmax(0.0, key) - share * key)
                scores[p] = -signs[first + p] * weight * share
                if 0.0 < share < 1.0:
                    bulge = bulge + weight * 0.5 * width * share * (1.0 - share)
                    places[inside] = <int>p
                    inside += 1
            add_documents(&own, first, m, &scores[0], &gradient_view[0])
            _copy_rows(&own, first, m, &places[0], inside, &rows[kept, 0])
            _scale(&rows[kept, 0], inside * d, sqrt(weight / width))
            kept = _squared(&rows[0, 0], kept + inside, d, &curvature_view[0, 0])
        _finish(&rows[0, 0], kept, d, &curvature_view[0, 0])
    return gradient, loss, slack, bulge, curvature


cdef Part _share(const double* scores, const unsigned char* relevant, Py_ssize_t m, int k,
                 double width, double* keys, int* places, double* shares) noexcept nogil:
    """Documents with a share, those inside first, and their shares."""
    cdef Part part
    cdef Py_ssize_t p
    cdef double bar, level, low, high, excess, total = 0.0, key
    cdef int inside = 0, above = 0, ones, between, round_
    for p in range(m):
        keys[p] = scores[p] - relevant[p]
    bar = kth_highest(keys, m, k)
    part.slack = part.bulge = 0.0
    # Near the k-th are those that may have a share between 0 and 1; the others above it have 1.
    for p in range(m):
        key = (scores[p] - relevant[p]) - bar
        if key > 0.0:
            part.slack += key
        if fabs(key) < width:
            keys[inside], places[inside] = key, <int>p
            inside += 1
        else:
            above += key > 0.0
    # The exact maximum is k bar + sum of the keys above it: all is measured from bar here.
    low, high = -0.5 * width, 0.5 * width
    level = 0.0
    for round_ in range(ROUNDS):
        total, between = above, 0
        for p in range(inside):
            key = 0.5 + (keys[p] - level) / width
            shares[p] = fmin(1.0, fmax(0.0, key))
            total = total + shares[p]
            between += 0.0 < key < 1.0
        excess = total - k
        if fabs(excess) <= ROUNDING * k:
            break
        if excess > 0.0:
            low = level
        else:
            high = level
        if between:
            level = level + excess * width / between
        if not between or not low < level < high:
            level = 0.5 * (low + high)
    return _sorted(part, scores, relevant, m, bar, width, inside, keys, places, shares)


cdef Part _sorted(Part part, const double* scores, const unsigned char* relevant, Py_ssize_t m,
                  double bar, double width, int near, double* keys, int* places,
                  double* shares) noexcept nogil:
    """Documents inside to the front, those with share 1 behind them."""
    cdef int at, p, place
    cdef double share, key
    part.inside = 0
    for p in range(near):
        share, key, place = shares[p], keys[p], places[p]
        if 0.0 < share < 1.0:
            # What was there has been seen: it has share 0 or 1.
            at = part.inside
            shares[p], keys[p], places[p] = shares[at], keys[at], places[at]
            shares[at], keys[at], places[at] = share, key, place
            part.inside += 1
            part.bulge += 0.5 * width * share * (1.0 - share)
    at = part.inside
    for p in range(part.inside, near):
        if shares[p] >= 1.0:
            places[at], keys[at], shares[at] = places[p], keys[p], 1.0
            at += 1
    for p in range(at):
        part.slack -= shares[p] * keys[p]
    for p in range(m):
        key = (scores[p] - relevant[p]) - bar
        if key >= width:
            places[at], shares[at] = p, 1.0
            part.slack -= key
            at += 1
    part.slack = fmax(0.0, part.slack)
    part.count = at
    return part


cdef double _hits(const unsigned char* relevant, const int* places, const double* shares,
                  int count) noexcept nogil:
    """The shares of the relevant documents."""
    cdef double total = 0.0
    cdef int p
    for p in range(count):
        total = total + shares[p] * relevant[places[p]]
    return total


cdef void _add_shares(const Queries* own, Py_ssize_t first, Py_ssize_t m, const int* places,
                      const double* shares, int count, double cost,
                      double* gradient) noexcept nogil:
    """Add cost times the shares of rows."""
    cdef Py_ssize_t j, row
    cdef int p
    cdef double total
    cdef const double* column
    if own.starts != NULL:
        for p in range(count):
            row = first + places[p]
            for j in range(own.starts[row], own.starts[row + 1]):
                gradient[own.indices[j]] += cost * shares[p] * own.values[j]
        return
    column = own.dense + first * own.d
    for j in range(own.d):
        total = 0.0
        for p in range(count):
            total = total + shares[p] * column[places[p]]
        gradient[j] += cost * total
        column += m


cdef void _copy_rows(const Queries* own, Py_ssize_t first, Py_ssize_t m, const int* places,
                     int count, double* rows) noexcept nogil:
    """Some documents of a query as dense rows, (count, d)."""
    cdef Py_ssize_t j, row, d = own.d
    cdef int p
    cdef const double* column
    if own.starts != NULL:
        memset(rows, 0, count * d * sizeof(double))
        for p in range(count):
            row = first + places[p]
            for j in range(own.starts[row], own.starts[row + 1]):
                rows[p * d + own.indices[j]] += own.values[j]
        return
    column = own.dense + first * d
    for j in range(d):
        for p in range(count):
            rows[p * d + j] = column[places[p]]
        column += m


cdef void _scale(double* rows, Py_ssize_t size, double factor) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(size):
        rows[j] = factor * rows[j]


cdef void _centre(double* rows, int count, Py_ssize_t d, double factor) noexcept nogil:
    """Rows less their mean, times the factor."""
    cdef Py_ssize_t j
    cdef int p
    cdef double mean
    for j in range(d):
        mean = 0.0
        for p in range(count):
            mean = mean + rows[p * d + j]
        mean = mean / count
        for p in range(count):
            rows[p * d + j] = factor * (rows[p * d + j] - mean)


cdef Py_ssize_t _squared(double* rows, Py_ssize_t count, Py_ssize_t d,
                         double* curvature) noexcept nogil:
    """Add the squares of as many rows as are added at a time; how many are left, at the front."""
    cdef Py_ssize_t done = 0
    while count - done >= SQUARED_ROWS:
        add_squares(rows + done * d, d, curvature)
        done += SQUARED_ROWS
    if done:
        memmove(rows, rows + done * d, (count - done) * d * sizeof(double))
    return count - done


cdef void _finish(double* rows, Py_ssize_t count, Py_ssize_t d, double* curvature) noexcept nogil:
    """Add the squares of the rows that are left, and fill in the lower triangle."""
    cdef Py_ssize_t a, b
    memset(rows + count * d, 0, (SQUARED_ROWS - count) * d * sizeof(double))
    add_squares(rows, d, curvature)
    for a in range(d):
        for b in range(a):
            curvature[a * d + b] = curvature[b * d + a]
