"""What the kernels of parsing share: the structures of their headers, and pointers to arrays."""

cdef extern from "_parsing_core.h" nogil:
    ctypedef struct Rules:
        long symbols, tags, labels, chain, highest, pairs, unaries, uppers, cores, roots
        const int* left
        const int* right
        const int* begin
        const int* parent
        const int* rule
        const int* pair
        const int* made
        const int* by_parent
        const int* above
        const int* below
        const int* unary
        const int* upper
        const int* upper_row
        const int* core
        const int* core_row
        const int* top
        const int* root
        const int* label
        const int* base
    ctypedef struct Bracket:
        int start, width, label, count
    ctypedef struct Sentence:
        long n, pitch, golds
        const int* tags
        const double* emissions
        const double* nodes
        double alpha, beta
        const Bracket* gold
    ctypedef struct Room:
        double* chart
        double* plain
        double* now
        double* layers
        double* cell
        double* best
        int* active
        int* splits
        int* stack
        unsigned char* any
    ctypedef struct Trace:
        int* rules
        long count, depth
    double* row_of(const Rules*, const Sentence*, double*, long, long)
    double* plain_of(const Rules*, const Sentence*, const Room*, long, long)
    double parse_best(const Rules*, const Sentence*, const double*, const Room*)
    void parse_trace(
        const Rules*, const Sentence*, const double*, const Room*, double, Trace*)

cdef extern from "_parsing_truth.h" nogil:
    ctypedef struct Shapes:
        const int* parent
        const int* left
        const int* right
        const int* whole
        const int* expand
        const int* first
        const int* parts
    ctypedef struct Tree:
        long count
        const int* rules
        int* start
        int* width
        int* left
        int* first
        int* second
        int* layer
        int* top
    ctypedef struct Differing:
        const Tree* tree
        long most
        double* here
        double* whole
    void parse_spans(const int*, const int*, const int*, long, Tree*, int*)
    double parse_measure(
        const Rules*, const Shapes*, const Sentence*, const double*, const Tree*, int*, long*,
        long*)
    double parse_complete(
        const Rules*, const Shapes*, const int*, const int*, const int*, const Sentence*,
        const double*, const Tree*, long, double*)
    void parse_chosen(
        const Rules*, const Shapes*, const int*, const int*, const int*, const Sentence*,
        const double*, const Tree*, long, const double*, int*, int*)
    double parse_other(
        const Rules*, const Shapes*, const Sentence*, const double*, const Room*,
        const Differing*, const int*)
    void parse_trace_other(
        const Rules*, const Shapes*, const Sentence*, const double*, const Room*,
        const Differing*, double, Trace*)

cdef extern from "_parsing_bounds.h" nogil:
    ctypedef struct Loss:
        int kind, root, slack
        double truth
        long golds
    ctypedef struct Bound:
        double* scores
        double* margins
        int* best
        long most, count
        double value, margin, upper
    ctypedef struct Charts:
        const Rules* g
        const Shapes* shapes
        Sentence* x
        const double* w
        const Room* room
        const Loss* loss
        Tree* tree
        Trace* trace
        int* left
        Bound* bound
    long most_brackets(const Rules*, long)


cdef extern from "_parsing_exact.h" nogil:
    enum:
        NODES
        EDGES
        ENTRIES
    ctypedef struct Forest:
        int* symbol
        int* next
        int* begin
        int* end
        int* first
        int* count
        int* order
        double* outside
        int* rule
        int* one
        int* other
        int* shift
        double* add
        int* place
        double* score
        int* span
        double* cells
        int* names
        double* table
        double* tilt
        int* touched
    void parse_bounded(const Charts*, Forest*, const int*, long)

cdef extern from "_parsing_logs.h" nogil:
    ctypedef struct Soft:
        double* sums
        double* plain
        double* outer
        double* level
        double* share
        double* layers
        double* above
        double* below
        double* charges
        double* grown
        double* pair
        double* around
    int levels(const Rules*, const Sentence*, const double*, const Room*, const Soft*)
    double parse_inside(
        const Rules*, const Sentence*, const double*, const Room*, const Soft*)
    void parse_outside(
        const Rules*, const Sentence*, const double*, const Room*, const Soft*, double, double,
        double*, double*, double*)
    double log_inside(const Rules*, const Sentence*, const double*, const Room*, const Soft*)
    void log_outside(
        const Rules*, const Sentence*, const double*, const Room*, const Soft*, double, double,
        double*, double*, double*, double*)
    double log_complete(
        const Rules*, const Shapes*, const int*, const int*, const int*, const Sentence*,
        const double*, const Tree*, long, double, double*, double*, double*)

cdef extern from "_parsing_rules.h" nogil:
    ctypedef struct MaxRule:
        long symbols, rules
        const int* parent
        const int* left
        const int* right
        double* whole
        double* layer
        double* share
        int* touched
        int* back
        int* split
        int* chosen
    long parse_by_rules(
        const Rules*, const Shapes*, const Sentence*, const double*, const Room*, const Soft*,
        const MaxRule*, double, int*)

cdef struct Grammar:
    Rules rules
    Shapes shapes
    const int* parent  # of rules as read, like left and right
    const int* left
    const int* right
    long most  # parts of a symbol

cdef struct Block:
    long n
    long longest
    long templates
    const long long* offsets
    const int* tags
    const long long* golds
    const Bracket* gold
    const long long* truths
    const int* truth
    const int* kinds
    const int* rows
    const int* codes
    const int* buckets
    long words  # of a row of codes


cdef inline int point_to_grammar(Grammar* out, grammar) except -1:
    """The rules of GrammarArrays, which must outlive ``out``."""
    flat, places, counts = grammar.flat
    cdef const int[::1] view = flat
    cdef const int* at[29]
    cdef const int* begin = &view[0]
    cdef long k, place
    for k in range(29):
        place = places[k]
        at[k] = begin + place
    cdef Rules* g = &out.rules
    g.symbols, g.tags, g.labels, g.chain, g.highest = counts[:5]
    g.pairs, g.unaries, g.uppers, g.roots, out.most = counts[5:]
    g.left, g.right, g.begin, g.parent, g.rule, g.pair = at[0], at[1], at[2], at[3], at[4], at[5]
    g.made, g.by_parent, g.above, g.below, g.unary = at[6], at[7], at[8], at[9], at[10]
    g.upper, g.upper_row, g.top, g.root = at[11], at[12], at[13], at[14]
    g.label, g.base = at[15], at[16]
    cdef Shapes* s = &out.shapes
    s.parent, s.left, s.right, s.whole = at[17], at[18], at[19], at[20]
    s.expand, s.first, s.parts = at[21], at[22], at[23]
    out.parent, out.left, out.right = at[24], at[25], at[26]
    g.core, g.core_row, g.cores = at[27], at[28], places[28] - places[27]
    return 0


cdef inline int point_to_block(Block* out, sentences) except -1:
    """The sentences of SentenceArrays, which must outlive ``out``."""
    cdef const long long[::1] offsets = sentences.offsets, golds = sentences.gold_offsets
    cdef const long long[::1] truths = sentences.rule_offsets
    cdef const int[::1] tags = sentences.tags, truth = sentences.rules, kinds = sentences.kinds
    cdef const int[:, ::1] gold = sentences.gold, codes = sentences.codes
    cdef const int[::1] rows = sentences.rows, buckets = sentences.buckets
    out.n, out.offsets = offsets.shape[0] - 1, &offsets[0]
    out.golds, out.truths, out.tags = &golds[0], &truths[0], &tags[0]
    out.gold, out.truth = <const Bracket*>&gold[0, 0], &truth[0]
    out.templates, out.kinds, out.rows, out.codes = (
        kinds.shape[0], &kinds[0], &rows[0], &codes[0, 0])
    out.words, out.buckets = codes.shape[1], &buckets[0]
    out.longest = 1
    cdef long i
    for i in range(out.n):
        out.longest = max(out.longest, offsets[i + 1] - offsets[i])
    return 0


cdef inline void fill_nodes(
    const Block* block, const Rules* g, const double* spans, long i, Sentence* x, double* nodes,
    double* row,
) noexcept nogil:
    """Scores of the brackets of sentence i from the weights ``spans``, (rows, labels)."""
    cdef long width, start, t, s, code, n = x.n, at = block.offsets[i]
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            for s in range(g.labels):
                row[s] = 0.0
            for t in range(block.templates):
                code = span_row(block, t, at, n, start, width)
                if code >= 0:
                    for s in range(g.labels):
                        row[s] += spans[code * g.labels + s]
            for s in range(g.labels):
                nodes[(s * n + width - 1) * x.pitch + start] = row[s]
    x.nodes = nodes


cdef inline long span_row(
    const Block* block, long t, long at, long n, long start, long width,
) noexcept nogil:
    """The row of weights of a template for a span of a sentence whose words begin ``at``."""
    cdef long place = -1, code
    cdef int kind = block.kinds[t]
    if kind == 0:
        code = block.buckets[min(width, 64)]
    else:
        if kind == 1:
            place = start
        elif kind == 2:
            place = start + width - 1
        elif kind == 3:
            place = start - 1
        else:
            place = start + width
        if place < 0 or place >= n:
            code = block.rows[t + 1] - block.rows[t] - 1
        else:
            code = block.codes[t * block.words + at + place]
    return block.rows[t] + code if code >= 0 else -1
