"""Window search for motif finding: scores, argmax and summed features in one pass.

The sequences of a data set lie one after another in flat arrays. A run is a maximal stretch
of unambiguous letters of one sequence; contexts and windows never leave it, so the inner
loops need no test of validity. A window start h of width l scores

    s(h) = sum_j psm[j, x[h + j]] - sum_{i = h .. h + l - 1} background[context of i]

which is w . psi(x, +1, h) measured from psi(x, -1) = 0. The first sum is looked up four letters
at a time in tables of 256 entries; the second is a difference of two prefix sums. Windows are
taken in blocks: prefix sums start afresh in each, so their rounding does not grow with the
sequence, and everything that the inner loops touch stays in the first-level cache.

Ties go to the window that comes first: given strand before reverse, then the lower start.
"""

import numpy as np

cdef enum:
    BLOCK = 512  # windows per block
    WORDS = 256  # four-letter words
    COMPLETE_TASK = 0
    AUGMENT_TASK = 1
    PREDICT_TASK = 2

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK

cdef struct Search:
    const unsigned char* words
    const unsigned short* contexts
    const double* background
    const double* lookup
    double* sums
    double* scratch
    int length
    int tables
    int strands
    int top


def index(const unsigned char[::1] letters, const long long[::1] offsets, int order):
    """Per-position indices that the search reads.

    letters : (size,) 0..3 for A, C, G, T and 4 for an ambiguous letter
    offsets : (n + 1,) where each sequence starts, the last one the end
    order : most letters before a position that its background feature looks at, 0..6

    Returns words : (size,) uint8, the four letters from a position on, in base 4 (what follows
    the end of the run is arbitrary), and contexts : (size,) uint16, the background feature of
    a position: context and letter in base 4, after all features of shorter contexts; 0 at an
    ambiguous letter, where it is never read.
    """
    if order < 0 or order > 6:
        raise ValueError(f"index: order must be 0..6, got {order}")
    if len(offsets) == 0 or offsets[len(offsets) - 1] != len(letters):
        raise ValueError(f"index: offsets do not end at the {len(letters)} letters")
    words_array = np.zeros(len(letters), dtype=np.uint8)
    contexts_array = np.zeros(len(letters), dtype=np.uint16)
    cdef unsigned char[::1] words = words_array
    cdef unsigned short[::1] contexts = contexts_array
    cdef Py_ssize_t i, p, n = len(offsets) - 1
    cdef int known, code, mask = (1 << (2 * (order + 1))) - 1
    cdef unsigned char word = 0
    with nogil:
        for p in range(letters.shape[0] - 1, -1, -1):
            word = <unsigned char>((letters[p] & 3) << 6 | word >> 2)
            words[p] = word
        for i in range(n):
            known = code = 0
            for p in range(offsets[i], offsets[i + 1]):
                if letters[p] > 3:
                    known = code = 0
                    continue
                code = (code << 2 | letters[p]) & mask
                contexts[p] = <unsigned short>(_shorter(known) + code)
                if known < order:
                    known += 1
    return words_array, contexts_array


cdef inline int _shorter(int context) noexcept nogil:
    """Number of background features whose context is shorter than ``context`` letters."""
    return ((1 << (2 * (context + 1))) - 4) // 3


def search(
    int task,
    const unsigned char[::1] words,
    const unsigned short[::1] contexts,
    const long long[::1] offsets,
    const long long[::1] runs,
    const long long[:, ::1] bounds,
    const signed char[::1] labels,
    const double[::1] costs,
    const double[::1] w,
    int length,
    bint both,
    int top,
):
    """Best output of every sequence, with the summed features and losses of what was found.

    task : COMPLETE (best window of the positives), AUGMENT (loss-augmented inference, zero-one
        loss) or PREDICT (best label and window)
    words, contexts : see ``index``
    offsets : (n + 1,) starts of the n sequences in the flat arrays
    runs : (n + 1,) first row of each sequence in ``bounds``
    bounds : (m, 2) start and end of each run in the flat arrays
    labels, costs : (n,) +1 or -1 (not read by PREDICT), and c_i
    w : 4 * length matrix weights, position-major, then the background weights
    both : whether windows are read on the reverse strand too
    top : windows to keep for each sequence, at least 1

    Returns gradient (d,) = sum c_i psi, the sum of c_i times the loss, y (n,) int8, and for the
    ``top`` best windows, best first, starts (n, top) int64 within the sequence (-1: there is no
    such window), strands (n, top) int8 (0 given, 1 reverse) and scores (n, top). Ties between
    labels go to -1. COMPLETE leaves the windows of negatives empty.
    """
    cdef Py_ssize_t n = labels.shape[0], d = w.shape[0]
    cdef int tables = (length + 3) // 4, strands = 2 if both else 1
    if length < 1 or top < 1 or d <= 4 * length:
        raise ValueError(f"search: length {length}, top {top} and {d} weights do not fit")
    if not (n == costs.shape[0] == offsets.shape[0] - 1 == runs.shape[0] - 1):
        raise ValueError("search: labels, costs, offsets and runs do not fit")
    if words.shape[0] != contexts.shape[0] or bounds.shape[1] != 2:
        raise ValueError("search: words, contexts and bounds do not fit")
    gradient_array = np.zeros(d)
    y_array = np.full(n, -1, dtype=np.int8)
    starts_array = np.full((n, top), -1, dtype=np.int64)
    strands_array = np.zeros((n, top), dtype=np.int8)
    scores_array = np.full((n, top), -np.inf)
    if n == 0 or words.shape[0] == 0:
        return gradient_array, 0.0, y_array, starts_array, strands_array, scores_array
    cdef double[::1] gradient = gradient_array, lookup = np.empty(strands * tables * WORDS)
    cdef double[::1] sums = np.empty(BLOCK + length + 4), scratch = np.empty(2 * BLOCK)
    cdef signed char[::1] y = y_array
    cdef long long[:, ::1] starts = starts_array
    cdef signed char[:, ::1] found = strands_array
    cdef double[:, ::1] scores = scores_array
    cdef double loss = 0.0, gain, alternative
    cdef Py_ssize_t i, r
    cdef Search plan
    plan.words = &words[0]
    plan.contexts = &contexts[0]
    plan.background = &w[4 * length]
    plan.lookup = &lookup[0]
    plan.sums = &sums[0]
    plan.scratch = &scratch[0]
    plan.length = length
    plan.tables = tables
    plan.strands = strands
    plan.top = top
    with nogil:
        _fill(&w[0], length, tables, False, &lookup[0])
        if both:
            _fill(&w[0], length, tables, True, &lookup[tables * WORDS])
        for i in range(n):
            if task == COMPLETE_TASK and labels[i] < 0:
                continue
            for r in range(runs[i], runs[i + 1]):
                _run(&plan, bounds[r, 0], bounds[r, 1], offsets[i],
                     &starts[i, 0], &found[i, 0], &scores[i, 0])
            if starts[i, 0] < 0:
                if task == AUGMENT_TASK and labels[i] > 0:
                    loss += costs[i]
                continue
            gain = 1.0 if task == AUGMENT_TASK and labels[i] < 0 else 0.0
            alternative = 1.0 if task == AUGMENT_TASK and labels[i] > 0 else 0.0
            if task == COMPLETE_TASK or scores[i, 0] + gain > alternative:
                y[i] = 1
                loss += costs[i] * gain
                _add(&words[0], &contexts[0], offsets[i] + starts[i, 0], length, found[i, 0],
                     costs[i], &gradient[0])
            else:
                loss += costs[i] * alternative
    return gradient_array, loss, y_array, starts_array, strands_array, scores_array


def joint_features(
    const unsigned char[::1] words,
    const unsigned short[::1] contexts,
    const long long[::1] offsets,
    const signed char[::1] y,
    const long long[::1] starts,
    const signed char[::1] strands,
    const double[::1] costs,
    int length,
    int dimension,
):
    """sum c_i psi(x_i, y_i, h_i) over the sequences with y_i = +1, (dimension,).

    starts, strands : (n,) the window of each sequence, as ``search`` gives it
    """
    cdef Py_ssize_t i, n = y.shape[0]
    if not (n == starts.shape[0] == strands.shape[0] == costs.shape[0] == offsets.shape[0] - 1):
        raise ValueError("joint_features: y, starts, strands, costs and offsets do not fit")
    gradient_array = np.zeros(dimension)
    cdef double[::1] gradient = gradient_array
    with nogil:
        for i in range(n):
            if y[i] > 0:
                _add(&words[0], &contexts[0], offsets[i] + starts[i], length, strands[i],
                     costs[i], &gradient[0])
    return gradient_array


cdef void _fill(const double* psm, int length, int tables, bint reverse, double* lookup) noexcept nogil:
    """Tables of the summed matrix weights of four letters at a time; none past the last."""
    cdef int q, j, word, letter
    cdef double total
    for q in range(tables):
        for word in range(WORDS):
            total = 0.0
            for j in range(4 * q, min(4 * q + 4, length)):
                letter = word >> 2 * (3 - (j - 4 * q)) & 3
                total = total + (psm[4 * (length - 1 - j) + 3 - letter] if reverse
                                 else psm[4 * j + letter])
            lookup[q * WORDS + word] = total


cdef void _add(const unsigned char* words, const unsigned short* contexts, Py_ssize_t start,
               int length, bint reverse, double cost, double* gradient) noexcept nogil:
    """Add cost times psi(x, +1, h) of one window to the gradient."""
    cdef int j, letter
    for j in range(length):
        letter = words[start + j] >> 6
        if reverse:
            gradient[4 * (length - 1 - j) + 3 - letter] += cost
        else:
            gradient[4 * j + letter] += cost
        gradient[4 * length + contexts[start + j]] -= cost


cdef void _run(Search* task, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t origin,
               long long* starts, signed char* strands, double* scores) noexcept nogil:
    """Enter the windows of one run in the list of the best windows of its sequence."""
    cdef Py_ssize_t start = begin, stop = end - task.length + 1, count
    cdef int strand
    cdef double best
    cdef double* background = task.scratch
    cdef double* values = task.scratch + BLOCK
    while start < stop:
        count = min(stop - start, <Py_ssize_t>BLOCK)
        _prefix(task.contexts + start, count + task.length, task.background, task.sums)
        _differences(task.sums, count, task.length, background)
        for strand in range(task.strands):
            best = _score(task.words + start, count, task.tables,
                          task.lookup + strand * task.tables * WORDS, background, values)
            _enter(values, count, best, start - origin, strand, task.top, starts, strands, scores)
        start += count


cdef void _prefix(const unsigned short* contexts, Py_ssize_t count, const double* background,
                  double* sums) noexcept nogil:
    """sums[i] = sum of the first i background weights, for i < count."""
    cdef Py_ssize_t i = 0
    cdef double total = 0.0, a, b, c, e, ab
    # Four at a time, so that one addition and not four is on the critical path.
    while i + 4 <= count - 1:
        a = background[contexts[i]]
        b = background[contexts[i + 1]]
        c = background[contexts[i + 2]]
        e = background[contexts[i + 3]]
        ab = a + b
        sums[i] = total
        sums[i + 1] = total + a
        sums[i + 2] = total + ab
        sums[i + 3] = total + (ab + c)
        total = total + (ab + (c + e))
        i += 4
    while i < count:
        sums[i] = total
        if i < count - 1:
            total = total + background[contexts[i]]
        i += 1


cdef void _differences(const double* sums, Py_ssize_t count, int length,
                       double* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = sums[i] - sums[i + length]


cdef double _score(const unsigned char* words, Py_ssize_t count, int tables, const double* lookup,
                   const double* background, double* values) noexcept nogil:
    """Scores of ``count`` windows; returns the highest."""
    cdef Py_ssize_t i
    cdef int q = 0
    cdef const double* source = background
    cdef double best, other, third, fourth
    while tables - q >= 4:
        _four(words + 4 * q, count, lookup + q * WORDS, source, values)
        source = values
        q += 4
    if tables - q == 3:
        _three(words + 4 * q, count, lookup + q * WORDS, source, values)
    elif tables - q == 2:
        _two(words + 4 * q, count, lookup + q * WORDS, source, values)
    elif tables - q == 1:
        _one(words + 4 * q, count, lookup + q * WORDS, source, values)
    best = other = third = fourth = values[0]
    i = 0
    while i + 4 <= count:
        best = values[i] if values[i] > best else best
        other = values[i + 1] if values[i + 1] > other else other
        third = values[i + 2] if values[i + 2] > third else third
        fourth = values[i + 3] if values[i + 3] > fourth else fourth
        i += 4
    while i < count:
        best = values[i] if values[i] > best else best
        i += 1
    best = other if other > best else best
    third = fourth if fourth > third else third
    return third if third > best else best


cdef inline void _four(const unsigned char* words, Py_ssize_t count, const double* lookup,
                       const double* source, double* values) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        values[i] = source[i] + ((lookup[words[i]] + lookup[256 + words[i + 4]])
                                 + (lookup[512 + words[i + 8]] + lookup[768 + words[i + 12]]))


cdef inline void _three(const unsigned char* words, Py_ssize_t count, const double* lookup,
                        const double* source, double* values) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        values[i] = ((source[i] + lookup[words[i]])
                     + (lookup[256 + words[i + 4]] + lookup[512 + words[i + 8]]))


cdef inline void _two(const unsigned char* words, Py_ssize_t count, const double* lookup,
                      const double* source, double* values) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        values[i] = source[i] + (lookup[words[i]] + lookup[256 + words[i + 4]])


cdef inline void _one(const unsigned char* words, Py_ssize_t count, const double* lookup,
                      const double* source, double* values) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        values[i] = source[i] + lookup[words[i]]


cdef void _enter(const double* values, Py_ssize_t count, double best, Py_ssize_t first,
                 int strand, int top, long long* starts, signed char* strands,
                 double* scores) noexcept nogil:
    """Insert the windows that are among the ``top`` best so far, keeping the list in order."""
    cdef Py_ssize_t i
    cdef int k
    if not _before(best, strand, top - 1, starts, strands, scores):
        return
    for i in range(count):
        if not _before(values[i], strand, top - 1, starts, strands, scores):
            continue
        k = top - 1
        while k > 0 and _before(values[i], strand, k - 1, starts, strands, scores):
            starts[k] = starts[k - 1]
            strands[k] = strands[k - 1]
            scores[k] = scores[k - 1]
            k -= 1
        starts[k] = first + i
        strands[k] = <signed char>strand
        scores[k] = values[i]


cdef inline bint _before(double value, int strand, int k, const long long* starts,
                         const signed char* strands, const double* scores) noexcept nogil:
    """Whether a window found now belongs before entry k of the list."""
    return (value > scores[k] or starts[k] < 0
            or (value == scores[k] and strand < strands[k]))
