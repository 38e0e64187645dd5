# distutils: extra_compile_args = -fno-trapping-math -fno-signed-zeros
# Choices between two numbers then vectorise; infinities stay what they are.
"""Sums over the windows of sequences: values at two temperatures and expected features.

Layout and scores are as in _motif.pyx. There are two passes over a sequence: the first stores the
scores of all its windows; in the second, each window adds its probability to counts of four-letter
words, one for each table, from which the expected features of the matrix follow. Those of the
background follow from the probability that a window covers a letter.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK, longest
from _motif_windows cimport (
    BLOCK, WORDS, Search, Sequences, begin, begin_block, check_weights, fill_tables,
    point_to_sequences, score_block,
)

cdef extern from * nogil:
    """
    #include "lane_math.h"

    /* Make scores exp((score - most) / eps); their sum, eight partial sums at a time. */
    WIDE static double motif_exponentials(double *scores, long count, double most, double eps) {
        double sums[8] = {0.0}, scale = lane_inverse(eps), total = 0.0;
        for (long i = 0; i < count; i++) scores[i] = lane_exp((scores[i] - most) * scale);
        for (long i = 0; i + 8 <= count; i += 8)
            for (int l = 0; l < 8; l++) sums[l] += scores[i + l];
        for (long i = count & ~7L; i < count; i++) total += scores[i];
        for (int l = 0; l < 8; l++) total += sums[l];
        return total;
    }
    """
    double motif_exponentials(double* scores, long count, double most, double eps)


def expectations(
    int task, sequences, const double[::1] w, int length, bint charged, double epsilon_y,
    double epsilon_h,
):
    """Values at two temperatures and expected features; arguments as in ``_motif.search``.

    With z(+1) = epsilon_h log sum_h exp(s(h) / epsilon_h), the maximum where epsilon_h is 0, and
    z(-1) = 0, the value of a sequence is z(+1) of a positive and 0 of a negative (COMPLETE), or
    epsilon_y log sum_y exp((z(y) + loss) / epsilon_y) (AUGMENT), or z(+1) of each (PREDICT).

    charged : whether a wrong label has loss 1

    Returns gradient (d,) = sum c_i E[psi], none for PREDICT, and values (n,). Ties of maxima as in
    ``_motif.search``.
    """
    cdef Sequences own
    cdef Search plan
    cdef Py_ssize_t i, size, tables
    check_weights(sequences, w.shape[0], length)
    point_to_sequences(&own, sequences)
    tables = (2 if sequences.both else 1) * ((length + 7) // 8) * 2 * WORDS
    gradient, values = np.zeros(len(w)), np.zeros(own.n)
    cdef double[::1] gradient_view = gradient, value_view = values
    cdef double[::1] scratch = np.zeros(3 * BLOCK + length + 12)
    cdef double[::1] lookup = np.empty(tables), counts = np.zeros(tables)
    cdef double[::1] scores = np.empty((2 if sequences.both else 1) * longest(sequences.offsets))
    cdef double value, share
    plan = begin(&own, length, &w[0], &lookup[0], &scratch[0])
    with nogil:
        fill_tables(&plan, &w[0])
        for i in range(own.n):
            if task == COMPLETE_TASK and own.labels[i] < 0:
                continue
            size = own.offsets[i + 1] - own.offsets[i]
            value = _windows(&plan, own.offsets[i], size, own.runs[i + 1] - own.runs[i],
                             own.bounds + 2 * own.runs[i], epsilon_h, &scores[0])
            share = 1.0
            if task == AUGMENT_TASK:
                value = _labels(value, own.labels[i], charged, epsilon_y, &share)
            value_view[i] = value
            if task != PREDICT_TASK and share * own.costs[i] > 0.0:
                _count(&plan, own.offsets[i], size, own.costs[i] * share, &scores[0], &counts[0],
                       &gradient_view[0])
        _unfold(&plan, &counts[0], &gradient_view[0])
    return gradient, values


cdef double _windows(const Search* plan, Py_ssize_t origin, Py_ssize_t size, Py_ssize_t runs,
                     const long long* bounds, double eps, double* scores) noexcept nogil:
    """z(+1), minus infinity without a window; the scores become the probabilities of windows.

    scores : (strands, size) by start, 0 where there is no window
    """
    cdef Py_ssize_t r, i, start, stop, count, windows = size * plan.strands
    cdef int strand
    cdef double most = -INFINITY, total
    for i in range(windows):
        scores[i] = -INFINITY
    for r in range(runs):
        start, stop = bounds[2 * r], bounds[2 * r + 1] - plan.length + 1
        while start < stop:
            count = min(stop - start, <Py_ssize_t>BLOCK)
            begin_block(plan, start, count)
            for strand in range(plan.strands):
                score_block(plan, start, count, strand)
                for i in range(count):
                    scores[strand * size + start - origin + i] = plan.values[i]
            start += count
    for i in range(windows):
        most = scores[i] if scores[i] > most else most
    if most == -INFINITY:
        return most
    if eps > 0.0:
        total = motif_exponentials(scores, windows, most, eps)
        for i in range(windows):
            scores[i] /= total
        return most + eps * log(total)
    total = 1.0
    for i in range(windows):
        scores[i], total = (total, 0.0) if scores[i] == most else (0.0, total)
    return most


cdef double _labels(double present, signed char truth, bint charged, double eps,
                    double* share) noexcept nogil:
    """The value over both labels, given z(+1); share is the probability of +1."""
    cdef double absent = 0.0, most, total
    if charged:
        if truth > 0:
            absent = 1.0
        else:
            present += 1.0
    if eps > 0.0:
        most = max(present, absent)
        share[0] = exp((present - most) / eps)
        total = share[0] + exp((absent - most) / eps)
        share[0] /= total
        return most + eps * log(total)
    share[0] = 1.0 if present > absent else 0.0
    return max(present, absent)


cdef void _count(const Search* plan, Py_ssize_t origin, Py_ssize_t size, double cost,
                 const double* shares, double* counts, double* gradient) noexcept nogil:
    """Add the features of the windows of one sequence, by their probabilities times the cost.

    counts : as plan.lookup, of words; the background goes to the gradient itself
    """
    cdef Py_ssize_t i
    cdef int strand, q
    cdef double share, covering = 0.0
    cdef double* into
    for strand in range(plan.strands):
        into = counts + 2 * WORDS * strand * plan.pairs
        for i in range(size):
            share = cost * shares[strand * size + i]
            if share > 0.0:
                for q in range((plan.length + 3) // 4):
                    into[2 * WORDS * (q // 2) + 2 * plan.words[origin + i + 4 * q] + q % 2] += share
    for i in range(size):
        covering = 0.0 if i == 0 else covering
        for strand in range(plan.strands):
            covering += shares[strand * size + i]
            if i >= plan.length:
                covering -= shares[strand * size + i - plan.length]
        share = cost * max(covering, 0.0)
        if plan.opposite == NULL:
            gradient[4 * plan.length + plan.contexts[origin + i]] -= share
        else:
            gradient[4 * plan.length + plan.contexts[origin + i]] -= 0.5 * share
            gradient[4 * plan.length + plan.opposite[origin + i]] -= 0.5 * share


cdef void _unfold(const Search* plan, const double* counts, double* gradient) noexcept nogil:
    """Add the letters of all counted words to the matrix part."""
    cdef int strand, q, j, word, letter, length = plan.length
    cdef const double* own
    for strand in range(plan.strands):
        for q in range(2 * plan.pairs):
            own = counts + 2 * WORDS * (strand * plan.pairs + q // 2) + q % 2
            for word in range(WORDS):
                for j in range(4 * q, min(4 * q + 4, length)):
                    letter = word >> 2 * (3 - (j - 4 * q)) & 3
                    if strand:
                        gradient[4 * (length - 1 - j) + 3 - letter] += own[2 * word]
                    else:
                        gradient[4 * j + letter] += own[2 * word]
