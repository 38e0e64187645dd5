"""Labels for which a loss of the numbers of right and wrong ones, and their prices, add up to most.

The loss is that of one kind of labels, or the sum over several kinds, for each of which it is

    scale (1 - F),   1 - F = (square FN + FP) / ((1 + square) TP + square FN + FP)

with square = beta^2, and 0 without true and without chosen labels. A kind is a column: arrays are
(m, K), with a truth and a price of each of m labels of K kinds.
"""

import numpy as np

cdef extern from "float.h" nogil:
    const double DBL_MAX


cdef struct Problem:
    Py_ssize_t positives  # true labels
    double square, scale
    const double* wrong  # (count,) prices of the other labels that are not 0, increasing
    Py_ssize_t count, above, zeros  # above: how many of them are above 0; zeros: how many more are 0
    const double* cuts  # (K, 3) instead of prices, else null
    Py_ssize_t K


cdef double _loss(const Problem* of, Py_ssize_t missed, Py_ssize_t extra) noexcept nogil:
    cdef double errors = of.square * missed + extra
    if errors == 0.0:
        return 0.0
    return of.scale * (errors / ((1.0 + of.square) * (of.positives - missed) + errors))


cdef double _price(const Problem* of, Py_ssize_t place) noexcept nogil:
    """The price at a place in decreasing order."""
    if place < of.above:
        return of.wrong[of.count - 1 - place]
    return 0.0 if place < of.above + of.zeros else of.wrong[of.count - 1 + of.zeros - place]


cdef double _height(const Problem* of, Py_ssize_t missed, Py_ssize_t extra) noexcept nogil:
    """The lowest of the cuts for so many labels."""
    cdef Py_ssize_t k
    cdef double value, lowest = DBL_MAX, kept = of.positives - missed
    for k in range(of.K):
        value = of.cuts[3 * k] + of.cuts[3 * k + 1] * kept + of.cuts[3 * k + 2] * extra
        if value < lowest:
            lowest = value
    return lowest


cdef bint _gains(const Problem* of, Py_ssize_t missed, Py_ssize_t extra) noexcept nogil:
    """Whether one more label that is not true gains something."""
    cdef double more = _loss(of, missed, extra + 1)
    more = more - _loss(of, missed, extra)
    if of.cuts == NULL:
        return more > -_price(of, extra)
    return more + _height(of, missed, extra + 1) - _height(of, missed, extra) > 0.0


cdef Py_ssize_t _extra(const Problem* of, Py_ssize_t missed, Py_ssize_t low, Py_ssize_t high,
                       Py_ssize_t guess) noexcept nogil:
    """The first number from low on of which one more gains nothing, high at most.

    O(log(high - low)), and less if the guess is near.
    """
    cdef Py_ssize_t step = 1, middle
    if low >= high:
        return low
    guess = min(max(guess, low), high - 1)
    if _gains(of, missed, guess):
        low = guess + 1
        while low + step <= high and _gains(of, missed, low + step - 1):
            low, step = low + step, 2 * step
        high = min(high, low + step - 1)
    else:
        high = guess
        while high - step >= low and not _gains(of, missed, high - step):
            high, step = high - step, 2 * step
        low = max(low, high - step + 1)
    while low < high:
        middle = (low + high) // 2
        if _gains(of, missed, middle):
            low = middle + 1
        else:
            high = middle
    return low


def split(const double[:, ::1] prices, const unsigned char[:, ::1] truth):
    """The prices of each kind apart.

    Returns values (K, m), of each kind first the prices of its true labels and last those of its
    others that are not 0; (K,) where the first ones end; and (K,) where the last ones begin.
    """
    cdef Py_ssize_t i, k, m = prices.shape[0], K = prices.shape[1]
    _check(prices, truth)
    values, ends = np.empty((K, m)), np.zeros(K, dtype=np.int64)
    begins = np.full(K, m, dtype=np.int64)
    cdef double[:, ::1] view = values
    cdef long long[::1] end = ends, begin = begins
    with nogil:
        for i in range(m):
            for k in range(K):
                if truth[i, k]:
                    view[k, end[k]] = prices[i, k]
                    end[k] += 1
                elif prices[i, k] != 0.0:
                    begin[k] -= 1
                    view[k, begin[k]] = prices[i, k]
    return values, ends, begins


cdef int _check(const double[:, ::1] prices, const unsigned char[:, ::1] truth) except -1:
    if prices.shape[0] != truth.shape[0] or prices.shape[1] != truth.shape[1]:
        raise ValueError(f"multivariate: {prices.shape[0]} x {prices.shape[1]} prices do not fit "
                         f"{truth.shape[0]} x {truth.shape[1]} labels")
    return 0


def worst(const double[:, ::1] prices, const unsigned char[:, ::1] truth,
          const double[:, ::1] values, const long long[::1] ends, const long long[::1] begins,
          double square, const double[::1] scales):
    """The labels for which loss and prices add up to most, (m, K) uint8, and their sum.

    values, ends, begins : of :func:`split`, both parts of each kind sorted, increasing
    scales : (K,)

    Chosen are the labels of the highest prices, of equal ones the first. For each number of true
    labels the sum is concave in the number of others, from 1 on at least, so that a search finds the
    best: O(P log m) of each kind with P true labels. Ties go to more true labels, then to fewer
    others.
    """
    cdef Py_ssize_t i, k, m = prices.shape[0], K = prices.shape[1], kept, extra, other
    cdef Problem of
    cdef double value, total = 0.0
    _check(prices, truth)
    if not (values.shape[0] == ends.shape[0] == begins.shape[0] == scales.shape[0] == K
            and values.shape[1] == m):
        raise ValueError("worst: sorted prices and scales do not fit the labels")
    for k in range(K):
        if not 0 <= ends[k] <= begins[k] <= m:
            raise ValueError(f"worst: parts of sorted prices end at {ends[k]} and begin at "
                             f"{begins[k]} of {m}")
    chosen = np.empty((m, K), dtype=np.uint8)
    cdef unsigned char[:, ::1] found = chosen
    cdef double[:, ::1] limits = np.empty((2, K))
    cdef long long[:, ::1] ties = np.empty((2, K), dtype=np.int64)
    cdef double[::1] sums = np.empty(m + 2)
    if m == 0:
        return chosen, total
    with nogil:
        for k in range(K):
            of.positives, of.square, of.scale = ends[k], square, scales[k]
            of.wrong, of.count = &values[k, 0] + begins[k], m - begins[k]
            of.zeros, of.cuts, of.K = begins[k] - ends[k], NULL, 0
            value = _highest(&of, &values[k, 0], &sums[0], &kept, &extra)
            total = total + value
            _limit(&values[k, 0], of.positives, of.positives, 0, kept, &limits[0, k], &ties[0, k])
            _limit(of.wrong, of.count, of.above, of.zeros, extra, &limits[1, k], &ties[1, k])
        for i in range(m):
            for k in range(K):
                other = not truth[i, k]
                value = prices[i, k]
                found[i, k] = value > limits[other, k]
                if value == limits[other, k] and ties[other, k] > 0:
                    ties[other, k] -= 1
                    found[i, k] = 1
    return chosen, total


cdef double _highest(Problem* of, const double* right, double* sums, Py_ssize_t* best_right,
                     Py_ssize_t* best_wrong) noexcept nogil:
    """How many true and how many other labels are best, and the value.

    right : (positives,) prices of the true labels, increasing; sums : of all prices and two more
    """
    cdef Py_ssize_t k, missed, extra, P = of.positives, N = of.count, most = N + of.zeros
    cdef double* others = sums + P + 1
    cdef double value, highest
    sums[0], others[0] = 0.0, 0.0
    for k in range(P):
        sums[k + 1] = sums[k] + right[P - 1 - k]
    of.above = 0
    for k in range(N):
        others[k + 1] = others[k] + of.wrong[N - 1 - k]
        of.above += of.wrong[N - 1 - k] > 0.0
    highest, best_right[0], best_wrong[0], extra = sums[P], P, 0, 0
    for missed in range(P + 1):
        # without true labels the sum is concave from the first other one on
        extra = _extra(of, missed, 0 if P else min(<Py_ssize_t>1, most), most, extra)
        value = _loss(of, missed, extra) + sums[P - missed]
        if extra <= of.above:
            value = value + others[extra]
        elif extra <= of.above + of.zeros:
            value = value + others[of.above]
        else:
            value = value + others[extra - of.zeros]
        if value > highest:
            highest, best_right[0], best_wrong[0] = value, P - missed, extra
    return highest


cdef void _limit(const double* prices, Py_ssize_t count, Py_ssize_t above, Py_ssize_t zeros,
                 Py_ssize_t chosen, double* limit, long long* ties) noexcept nogil:
    """Above which price the chosen highest ones are, and how many of them are equal to it.

    prices : (count,) increasing; zeros : how many more are 0; above : how many come before those
    """
    cdef Py_ssize_t place, equal = 0
    limit[0], ties[0] = DBL_MAX, 0
    if chosen == 0:
        return
    if above < chosen <= above + zeros:
        limit[0], ties[0] = 0.0, chosen - above
        return
    place = count - chosen + (zeros if chosen > above else 0)
    limit[0] = prices[place]
    while place + equal < count and prices[place + equal] == limit[0]:
        equal += 1
    ties[0] = equal


def counts(const unsigned char[:, ::1] chosen, const unsigned char[:, ::1] truth):
    """How many labels of each kind are chosen and true, and how many are chosen, (2, K)."""
    cdef Py_ssize_t i, k, m = chosen.shape[0], K = chosen.shape[1]
    if truth.shape[0] != m or truth.shape[1] != K:
        raise ValueError(f"counts: {truth.shape[0]} x {truth.shape[1]} labels do not fit {m} x {K}")
    found = np.zeros((2, K), dtype=np.int64)
    cdef long long[:, ::1] view = found
    with nogil:
        for i in range(m):
            for k in range(K):
                view[0, k] += chosen[i, k] & truth[i, k]
                view[1, k] += chosen[i, k]
    return found.astype(np.float64)


def highest_counts(
    const double[:, ::1] cuts, Py_ssize_t positives, Py_ssize_t others, Py_ssize_t most,
    double square, double scale,
):
    """How many true and how many other labels make the loss plus the lowest of the cuts highest.

    cuts : (K, 3), of what labels score at most: a number, and what it changes by for each true and
        for each other label
    positives : how many true labels there are; others, most : how many others, and how many labels
        in all, can be chosen; square, scale : of the loss, which has one kind

    Returns both numbers and the value. O(positives K log(others)).
    """
    cdef Py_ssize_t kept, missed, low, high, extra = 0, best_kept = 0, best_extra = 0
    cdef double value, highest = -DBL_MAX
    cdef Problem of
    if cuts.shape[0] == 0 or cuts.shape[1] != 3:
        raise ValueError(f"highest_counts: cuts are {cuts.shape[0]} x {cuts.shape[1]}; expected 3 "
                         "numbers of each, and one at least")
    of.positives, of.square, of.scale = positives, square, scale
    of.cuts, of.K = &cuts[0, 0], cuts.shape[0]
    with nogil:
        for missed in range(positives + 1):
            kept = positives - missed
            low, high = 0, max(<Py_ssize_t>0, min(others, most - kept))
            if positives == 0:
                highest, low = _height(&of, 0, 0), min(<Py_ssize_t>1, high)
            extra = _extra(&of, missed, low, high, extra)
            value = _loss(&of, missed, extra) + _height(&of, missed, extra)
            if value > highest:
                highest, best_kept, best_extra = value, kept, extra
    return best_kept, best_extra, highest
