"""Window search for motif finding: scores, argmax and summed features in one pass.

The sequences of a data set lie one after another in flat arrays. A run is a maximal stretch
of unambiguous letters of one sequence; contexts and windows never leave it, so the inner
loops need no test of validity. A window start h of width l scores

    s(h) = sum_j psm[j, x[h + j]] - sum_{i = h .. h + l - 1} background[context of i]

which is w . psi(x, +1, h) measured from psi(x, -1) = 0. The first sum is looked up four letters
at a time in tables of 256 entries, the second is a difference of two prefix sums. Two
neighbouring tables lie side by side: the word at p is looked up once and serves the window at
p and the window four letters before. Windows are taken in blocks: prefix sums start afresh in
each, so their rounding does not grow with the sequence, and everything that the inner loops
touch stays in the first-level cache.

Ties go to the window that comes first: given strand before reverse, then the lower start.
"""

import numpy as np

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK

cdef enum:
    BLOCK = 256  # windows per block; the buffers of 512 are a page apart, 5 % slower
    WORDS = 256  # four-letter words
    PAD = 16  # words that the inner loops may read past the last letter

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK
PADDING = PAD

cdef struct Search:
    const unsigned char* words
    const unsigned short* contexts
    const double* background  # weights, by context and letter
    double* lookup  # matrix weights, by strand, pair of tables, word and table
    double* sums
    double* base
    double* values
    int length
    int pairs
    int strands
    int top


def index(const unsigned char[::1] letters, const long long[::1] offsets, int order):
    """Per-position indices that the search reads.

    letters : (size,) 0..3 for A, C, G, T and 4 for an ambiguous letter
    offsets : (n + 1,) where each sequence starts, the last one the end
    order : most letters before a position that its background feature looks at, 0..6

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


def search(
    int task, const unsigned char[::1] words, const unsigned short[::1] contexts,
    const long long[::1] offsets, const long long[::1] runs, const long long[:, ::1] bounds,
    const signed char[::1] labels, const double[::1] costs, const double[::1] w,
    int length, bint both, int top,
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
    cdef Py_ssize_t i, n = labels.shape[0], size = contexts.shape[0]
    cdef int pairs = (length + 7) // 8, strands = 2 if both else 1
    if length < 1 or top < 1 or w.shape[0] <= 4 * length or bounds.shape[1] != 2:
        raise ValueError(f"search: length {length}, top {top} and {len(w)} weights do not fit")
    if not n == len(costs) == len(offsets) - 1 == len(runs) - 1 or len(words) != size + PAD:
        raise ValueError(f"search: the arrays do not fit {n} sequences and {size} letters")
    gradient, y = np.zeros(len(w)), np.full(n, -1, dtype=np.int8)
    starts, found = np.full((n, top), -1, dtype=np.int64), np.zeros((n, top), dtype=np.int8)
    scores = np.full((n, top), -np.inf)
    cdef double[::1] gradient_view = gradient, scratch = np.zeros(3 * BLOCK + length + 12)
    cdef double[::1] lookup = np.empty(strands * pairs * 2 * WORDS)
    cdef long long[:, ::1] starts_view = starts
    cdef signed char[:, ::1] found_view = found
    cdef signed char[::1] y_view = y
    cdef double[:, ::1] scores_view = scores
    cdef double loss = 0.0
    cdef Search plan = Search(
        &words[0], &contexts[0], &w[4 * length], &lookup[0], &scratch[2 * BLOCK + 8], &scratch[0],
        &scratch[BLOCK + 4], length, pairs, strands, top,
    )
    with nogil:
        _fill(&plan, &w[0])
        for i in range(n):
            if task != COMPLETE_TASK or labels[i] > 0:
                _sequence(&plan, offsets[i], runs[i + 1] - runs[i], &bounds[runs[i], 0],
                          &starts_view[i, 0], &found_view[i, 0], &scores_view[i, 0])
                y_view[i] = _label(task, labels[i], starts_view[i, 0] >= 0, scores_view[i, 0])
                loss += costs[i] * (task == AUGMENT_TASK and y_view[i] != labels[i])
            if y_view[i] > 0:
                _add(&plan, offsets[i] + starts_view[i, 0], found_view[i, 0], costs[i],
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
    const unsigned char[::1] words, const unsigned short[::1] contexts,
    const long long[::1] offsets, const signed char[::1] y, const long long[::1] starts,
    const signed char[::1] strands, const double[::1] costs, int length, int dimension,
):
    """sum c_i psi(x_i, y_i, h_i) over the sequences with y_i = +1, (dimension,).

    starts, strands : (n,) the window of each sequence, as ``search`` gives it
    """
    cdef Py_ssize_t i, n = y.shape[0]
    if not (n == starts.shape[0] == strands.shape[0] == costs.shape[0] == offsets.shape[0] - 1):
        raise ValueError("joint_features: y, starts, strands, costs and offsets do not fit")
    gradient = np.zeros(dimension)
    cdef double[::1] view = gradient
    cdef Search plan
    plan.words = &words[0]
    plan.contexts = &contexts[0]
    plan.length = length
    with nogil:
        for i in range(n):
            if y[i] > 0:
                _add(&plan, offsets[i] + starts[i], strands[i], costs[i], &view[0])
    return gradient


cdef void _fill(const Search* plan, const double* psm) noexcept nogil:
    """Tables, two by two, of the summed matrix weights of four letters; none past the last."""
    cdef int strand, q, j, word, letter, length = plan.length
    cdef double total
    cdef double* out
    for strand in range(plan.strands):
        for q in range(2 * plan.pairs):
            out = plan.lookup + 2 * WORDS * (strand * plan.pairs + q // 2) + q % 2
            for word in range(WORDS):
                total = 0.0
                for j in range(4 * q, min(4 * q + 4, length)):
                    letter = word >> 2 * (3 - (j - 4 * q)) & 3
                    total = total + (psm[4 * (length - 1 - j) + 3 - letter] if strand
                                     else psm[4 * j + letter])
                out[2 * word] = total


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
        gradient[4 * length + plan.contexts[start + j]] -= cost


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
    cdef int strand, pair
    cdef double best
    cdef const double* base
    _prefix(plan.contexts + start, count + plan.length, plan.background, plan.sums)
    _differences(plan.sums, count, plan.length, plan.base)
    for strand in range(plan.strands):
        base = plan.base
        for pair in range(plan.pairs):
            add_two_tables(plan.words + start + 8 * pair, count,
                           plan.lookup + 2 * WORDS * (strand * plan.pairs + pair),
                           base, plan.values)
            base = plan.values
        best = _highest(plan.values, count)
        _enter(plan.values, count, best, start - origin, strand, plan.top, starts, strands, scores)


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
    """out[i] = sums[i] - sums[i + length]."""
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = sums[i] - sums[i + length]


cdef extern from *:
    """
    /* out = base + the matrix weights of eight letters, for count windows rounded up to 4.
       table holds, for each word, the weight of the word itself and that of the word four
       letters on. Both are one load of a pair of doubles, which a compiler does not find by
       itself (measured: 1.6 times the speed of the whole pass at 17 letters). The branch
       without vector types makes the same sums in the same order. */
    #if defined(__GNUC__)
    typedef double pair __attribute__((vector_size(16)));
    typedef double pair_anywhere __attribute__((vector_size(16), aligned(8)));

    static void add_two_tables(const unsigned char *words, Py_ssize_t count, const double *table,
                               const double *base, double *out) {
        const pair_anywhere *lookup = (const pair_anywhere *)table;
        pair a = lookup[words[0]], b = lookup[words[1]], c = lookup[words[2]], d = lookup[words[3]];
        for (Py_ssize_t i = 0; i < count; i += 4) {
            pair e = lookup[words[i + 4]], f = lookup[words[i + 5]];
            pair g = lookup[words[i + 6]], h = lookup[words[i + 7]];
            *(pair_anywhere *)(out + i) =
                *(const pair_anywhere *)(base + i) + ((pair){a[0], b[0]} + (pair){e[1], f[1]});
            *(pair_anywhere *)(out + i + 2) =
                *(const pair_anywhere *)(base + i + 2) + ((pair){c[0], d[0]} + (pair){g[1], h[1]});
            a = e;
            b = f;
            c = g;
            d = h;
        }
    }
    #else
    static void add_two_tables(const unsigned char *words, Py_ssize_t count, const double *table,
                               const double *base, double *out) {
        for (Py_ssize_t i = 0; i < count; i++)
            out[i] = base[i] + (table[2 * words[i]] + table[2 * words[i + 4] + 1]);
    }
    #endif
    """
    void add_two_tables(const unsigned char* words, Py_ssize_t count, const double* table,
                        const double* base, double* out) noexcept nogil


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
