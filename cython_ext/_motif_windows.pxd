# Common parts of the kernels of motif finding: the windows of a sequence and their scores.

cdef enum:
    BLOCK = 256  # windows per block; the buffers of 512 are a page apart, 5 % slower
    WORDS = 256  # four-letter words
    PAD = 16  # words that the inner loops may read past the last letter

cdef struct Search:
    const unsigned char* words
    const unsigned short* contexts
    const unsigned short* opposite  # contexts on the other strand, or NULL
    const double* background  # weights, by context and letter
    double* lookup  # matrix weights, by strand, pair of tables, word and table
    double* sums
    double* base
    double* values
    int length
    int pairs
    int strands
    int top


cdef struct Sequences:
    Py_ssize_t n
    const unsigned char* words
    const unsigned short* contexts
    const unsigned short* opposite  # contexts on the other strand, or NULL
    const long long* offsets
    const long long* runs
    const long long* bounds  # two a run
    const signed char* labels
    const double* costs


cdef inline int point_to_sequences(Sequences* out, sequences) except -1:
    """Point to MotifArrays, which must outlive ``out``."""
    cdef const unsigned char[::1] words = sequences.words
    cdef const unsigned short[::1] contexts = sequences.contexts, opposite = sequences.opposite
    cdef const long long[::1] offsets = sequences.offsets, runs = sequences.runs
    cdef const long long[:, ::1] bounds = sequences.bounds
    cdef const signed char[::1] labels = sequences.labels
    cdef const double[::1] costs = sequences.costs
    if words.shape[0] != contexts.shape[0] + PAD:
        raise ValueError(f"motif: {words.shape[0]} words do not fit {contexts.shape[0]} letters")
    out.n, out.words, out.contexts = labels.shape[0], &words[0], &contexts[0]
    out.opposite = &opposite[0] if sequences.both else NULL
    out.offsets, out.runs, out.bounds = &offsets[0], &runs[0], &bounds[0, 0]
    out.labels, out.costs = &labels[0], &costs[0]
    return 0


cdef inline int check_weights(sequences, Py_ssize_t weights, int length) except -1:
    """Refuse weights that are fewer than a matrix and a background need."""
    if length < 1 or weights < 4 * length + sequences.width:
        raise ValueError(f"motif: length {length} and {weights} weights do not fit")
    return 0


cdef inline Search begin(
    const Sequences* own, int length, const double* w, double* lookup, double* scratch,
) noexcept:
    """What the search for windows of a length needs, but for its tables.

    lookup : (strands * pairs * 2 * WORDS,); scratch : (3 * BLOCK + length + 12,)
    """
    return Search(
        own.words, own.contexts, own.opposite, w + 4 * length, lookup, scratch + 2 * BLOCK + 8,
        scratch, scratch + BLOCK + 4, length, (length + 7) // 8, 1 if own.opposite == NULL else 2, 1,
    )


cdef inline void fill_tables(const Search* plan, const double* psm) noexcept nogil:
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


cdef inline void _prefix(
    const unsigned short* contexts, Py_ssize_t count, const double* background, double* sums,
) noexcept nogil:
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


cdef inline void _differences(
    const double* sums, Py_ssize_t count, int length, double* out,
) noexcept nogil:
    """out[i] = sums[i] - sums[i + length]."""
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = sums[i] - sums[i + length]


cdef inline void _mean_differences(
    const double* sums, Py_ssize_t count, int length, double* out,
) noexcept nogil:
    """The mean of what is there and of these differences."""
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = 0.5 * (out[i] + (sums[i] - sums[i + length]))


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


cdef inline void begin_block(
    const Search* plan, Py_ssize_t start, Py_ssize_t count,
) noexcept nogil:
    """The background's part of the scores of a block of windows."""
    _prefix(plan.contexts + start, count + plan.length, plan.background, plan.sums)
    _differences(plan.sums, count, plan.length, plan.base)
    if plan.opposite != NULL:
        _prefix(plan.opposite + start, count + plan.length, plan.background, plan.sums)
        _mean_differences(plan.sums, count, plan.length, plan.base)


cdef inline void score_block(
    const Search* plan, Py_ssize_t start, Py_ssize_t count, int strand,
) noexcept nogil:
    """The scores of a block that has begun, on one strand."""
    cdef int pair
    cdef const double* base = plan.base
    for pair in range(plan.pairs):
        add_two_tables(plan.words + start + 8 * pair, count,
                       plan.lookup + 2 * WORDS * (strand * plan.pairs + pair), base, plan.values)
        base = plan.values
