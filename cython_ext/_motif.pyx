"""Window search for motif finding: scores, argmax and summed features in one pass.

The sequences of a data set are stored one after another in flat arrays. A run is a maximal stretch
of unambiguous letters of one sequence; contexts and windows never leave it, so the inner
loops need no test of validity. A window start h of width l scores

    s(h) = sum_j psm[j, x[h + j]] - sum_{i = h .. h + l - 1} background[context of i]

which is w . psi(x, +1, h) relative to psi(x, -1) = 0. If both strands are read, the
background weight of a letter is the mean of that in its context and that of its complement in
the context on the other strand. The first sum is looked up four letters
at a time in tables of 256 entries, the second is a difference of two prefix sums. Two
neighbouring tables are stored side by side: the word at p is looked up once, for the window at p
and for the window four letters before. Windows are processed in blocks: prefix sums begin anew in
each block, so their rounding error does not grow with the sequence, and all data of the inner
loops stay in the first-level cache.

Ties go to the window that comes first: given strand before reverse, then the lower start.
"""

import numpy as np

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK
from _motif_windows cimport (
    BLOCK, PAD, WORDS, Search, Sequences, begin, begin_block, check_weights, fill_tables,
    point_to_sequences, score_block,
)

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK
PADDING = PAD


def index(const unsigned char[::1] letters, const long long[::1] offsets, int order):
    """Per-position indices that the search reads.

    letters : (size,) 0..3 for A, C, G, T and 4 for an ambiguous letter
    offsets : (n + 1,) where each sequence starts, the last one the end
    order : largest number of context letters of a background feature, 0..6

    Returns words : (size + PADDING,) uint8, the four letters from a position on, in base 4 (what
    follows the end of the run is arbitrary), and contexts : (size,) uint16, the background feature of
    a position: context and letter in base 4, after all features of shorter contexts; 0 at an
    ambiguous letter, where it is never read.
    """
    if order < 0 or order > 6:
        raise ValueError(f"index: order must be 0..6, got {order}")
    if len(offsets) == 0 or offsets[len(offsets) - 1] != len(letters):
        raise ValueError(f"index: offsets do not end at the {len(letters)} letters")
    words, contexts = np.zeros(len(letters) + PAD, np.uint8), np.zeros(len(letters), np.uint16)
    cdef unsigned char[::1] words_view = words
    cdef unsigned short[::1] contexts_view = contexts
    cdef Py_ssize_t i, p, n = len(offsets) - 1
    cdef int known, code, mask = (1 << (2 * (order + 1))) - 1
    cdef unsigned char word = 0
    with nogil:
        for p in range(letters.shape[0] - 1, -1, -1):
            word = <unsigned char>((letters[p] & 3) << 6 | word >> 2)
            words_view[p] = word
        for i in range(n):
            known = code = 0
            for p in range(offsets[i], offsets[i + 1]):
                if letters[p] > 3:
                    known = code = 0
                    continue
                code = (code << 2 | letters[p]) & mask
                contexts_view[p] = <unsigned short>(_shorter(known) + code)
                if known < order:
                    known += 1
    return words, contexts


cdef inline int _shorter(int context) noexcept nogil:
    """Number of background features whose context is shorter than ``context`` letters."""
    return ((1 << (2 * (context + 1))) - 4) // 3


def canonical(const unsigned char[::1] letters, const long long[::1] offsets):
    """Each sequence or its reverse complement, whichever comes first by its letters.

    letters, offsets : see ``index``; the complement of an ambiguous letter is ambiguous

    Returns letters (size,) uint8, and whether a sequence was turned, (n,) bool.
    """
    cdef Py_ssize_t i, p, first, last, n = len(offsets) - 1
    if n < 0 or offsets[n] != len(letters):
        raise ValueError(f"canonical: offsets do not end at the {len(letters)} letters")
    kept, turned = np.array(letters, dtype=np.uint8), np.zeros(n, dtype=np.uint8)
    cdef unsigned char[::1] out = kept, turned_view = turned
    cdef int other
    with nogil:
        for i in range(n):
            first, last = offsets[i], offsets[i + 1] - 1
            for p in range(first, last + 1):
                other = _complement(letters[first + last - p])
                if letters[p] != other:
                    turned_view[i] = letters[p] > other
                    break
            if turned_view[i]:
                for p in range(first, last + 1):
                    out[p] = <unsigned char>_complement(letters[first + last - p])
    return kept, turned.astype(bool)


cdef inline int _complement(int letter) noexcept nogil:
    return 3 - letter if letter < 4 else letter


def search(int task, sequences, const double[::1] w, int length, int top):
    """Best output of every sequence, with the summed features and losses of what was found.

    task : COMPLETE (best window of the positives), AUGMENT (loss-augmented inference, zero-one
        loss) or PREDICT (best label and window; the labels are not read)
    sequences : MotifArrays of n sequences
    w : 4 * length matrix weights, position-major, then the background weights
    top : windows to keep for each sequence, at least 1

    Returns gradient (d,) = sum c_i psi, the sum of c_i times the loss, y (n,) int8, and for the
    ``top`` best windows, best first, starts (n, top) int64 within the sequence (-1: there is no
    such window), strands (n, top) int8 (0 given, 1 reverse) and scores (n, top). Ties between
    labels go to -1. COMPLETE leaves the windows of negatives empty.
    """
    cdef Sequences own
    cdef Search plan
    cdef Py_ssize_t i
    check_weights(sequences, w.shape[0], length)
    if top < 1:
        raise ValueError(f"search: top {top}; expected 1 or more")
    point_to_sequences(&own, sequences)
    gradient, y = np.zeros(len(w)), np.full(own.n, -1, dtype=np.int8)
    starts, found = np.full((own.n, top), -1, dtype=np.int64), np.zeros((own.n, top), np.int8)
    scores = np.full((own.n, top), -np.inf)
    cdef double[::1] gradient_view = gradient, scratch = np.zeros(3 * BLOCK + length + 12)
    cdef double[::1] lookup = np.empty((2 if sequences.both else 1) * ((length + 7) // 8) * 2 * WORDS)
    cdef long long[:, ::1] starts_view = starts
    cdef signed char[:, ::1] found_view = found
    cdef signed char[::1] y_view = y
    cdef double[:, ::1] scores_view = scores
    cdef double loss = 0.0
    plan = begin(&own, length, &w[0], &lookup[0], &scratch[0])
    plan.top = top
    with nogil:
        fill_tables(&plan, &w[0])
        for i in range(own.n):
            if task != COMPLETE_TASK or own.labels[i] > 0:
                _sequence(&plan, own.offsets[i], own.runs[i + 1] - own.runs[i],
                          own.bounds + 2 * own.runs[i], &starts_view[i, 0], &found_view[i, 0],
                          &scores_view[i, 0])
                y_view[i] = _label(task, own.labels[i], starts_view[i, 0] >= 0, scores_view[i, 0])
                loss += own.costs[i] * (task == AUGMENT_TASK and y_view[i] != own.labels[i])
            if y_view[i] > 0:
                _add(&plan, own.offsets[i] + starts_view[i, 0], found_view[i, 0], own.costs[i],
                     &gradient_view[0])
    return gradient, loss, y, starts, found, scores


cdef inline signed char _label(int task, int truth, bint possible, double score) noexcept nogil:
    """The label of the best output, given the score of the best window if there is one."""
    cdef double loss = 1.0 if task == AUGMENT_TASK else 0.0
    if task == COMPLETE_TASK or not possible:
        return 1 if possible else -1
    if truth > 0:
        return 1 if score > loss else -1
    return 1 if score + loss > 0.0 else -1


def joint_features(
    sequences, const signed char[::1] y, const long long[::1] starts,
    const signed char[::1] strands, const double[::1] costs, int length, int dimension,
):
    """sum c_i psi(x_i, y_i, h_i) over the sequences with y_i = +1, (dimension,).

    starts, strands : (n,) the window of each sequence, as ``search`` gives it
    """
    cdef Sequences own
    cdef Search plan
    cdef Py_ssize_t i
    check_weights(sequences, dimension, length)
    point_to_sequences(&own, sequences)
    if not own.n == y.shape[0] == starts.shape[0] == strands.shape[0] == costs.shape[0]:
        raise ValueError("joint_features: y, starts, strands, costs and offsets do not fit")
    gradient = np.zeros(dimension)
    cdef double[::1] view = gradient
    plan.words, plan.contexts, plan.opposite = own.words, own.contexts, own.opposite
    plan.length = length
    with nogil:
        for i in range(own.n):
            if y[i] <= 0:
                continue
            if starts[i] < 0 or own.offsets[i] + starts[i] + length > own.offsets[i + 1]:
                raise ValueError(f"joint_features: window {starts[i]} leaves sequence {i}")
            _add(&plan, own.offsets[i] + starts[i], strands[i], costs[i], &view[0])
    return gradient


cdef void _add(const Search* plan, Py_ssize_t start, bint reverse, double cost,
               double* gradient) noexcept nogil:
    """Add cost times psi(x, +1, h) of one window to the gradient."""
    cdef int j, letter, length = plan.length
    for j in range(length):
        letter = plan.words[start + j] >> 6
        if reverse:
            gradient[4 * (length - 1 - j) + 3 - letter] += cost
        else:
            gradient[4 * j + letter] += cost
        if plan.opposite == NULL:
            gradient[4 * length + plan.contexts[start + j]] -= cost
        else:
            gradient[4 * length + plan.contexts[start + j]] -= 0.5 * cost
            gradient[4 * length + plan.opposite[start + j]] -= 0.5 * cost


cdef void _sequence(const Search* plan, Py_ssize_t origin, Py_ssize_t runs, const long long* bounds,
                    long long* starts, signed char* strands, double* scores) noexcept nogil:
    """List the best windows of one sequence."""
    cdef Py_ssize_t r, start, stop, count
    for r in range(runs):
        start = bounds[2 * r]
        stop = bounds[2 * r + 1] - plan.length + 1
        while start < stop:
            count = min(stop - start, <Py_ssize_t>BLOCK)
            _block(plan, start, count, origin, starts, strands, scores)
            start += count


cdef void _block(const Search* plan, Py_ssize_t start, Py_ssize_t count, Py_ssize_t origin,
                 long long* starts, signed char* strands, double* scores) noexcept nogil:
    """Score a block of windows and enter the best in the list."""
    cdef int strand
    cdef double best
    begin_block(plan, start, count)
    for strand in range(plan.strands):
        score_block(plan, start, count, strand)
        best = _highest(plan.values, count)
        _enter(plan.values, count, best, start - origin, strand, plan.top, starts, strands, scores)


cdef double _highest(const double* values, Py_ssize_t count) noexcept nogil:
    """The highest of ``count`` values; four chains, since each comparison waits for the last."""
    cdef double a = values[0], b = values[0], c = values[0], d = values[0]
    cdef Py_ssize_t i
    for i in range(0, count - 3, 4):
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
    for i in range(count & ~3, count):
        a = values[i] if values[i] > a else a
    a = b if b > a else a
    c = d if d > c else c
    return c if c > a else a


cdef void _enter(const double* values, Py_ssize_t count, double best, Py_ssize_t first,
                 int strand, int top, long long* starts, signed char* strands,
                 double* scores) noexcept nogil:
    """Insert the windows that are among the ``top`` best so far, keeping the list in order.

    best : the highest of the ``count`` values
    """
    cdef Py_ssize_t i = -1
    cdef int k, last = top - 1
    cdef double bar = best if top == 1 else scores[last]
    if not _before(best, strand, last, starts, strands, scores):
        return
    while True:
        i += 1
        while i < count and values[i] < bar:
            i += 1
        if i >= count:
            return
        if not _before(values[i], strand, last, starts, strands, scores):
            continue
        k = last
        while k > 0 and _before(values[i], strand, k - 1, starts, strands, scores):
            starts[k] = starts[k - 1]
            strands[k] = strands[k - 1]
            scores[k] = scores[k - 1]
            k -= 1
        starts[k] = first + i
        strands[k] = <signed char>strand
        scores[k] = values[i]
        if top == 1:
            return
        bar = scores[last]


cdef inline bint _before(double value, int strand, int k, const long long* starts,
                         const signed char* strands, const double* scores) noexcept nogil:
    """Whether a window found now belongs before entry k of the list."""
    return (value > scores[k] or starts[k] < 0
            or (value == scores[k] and strand < strands[k]))
