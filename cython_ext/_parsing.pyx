# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Best derivations of sentences under a binary grammar; see _parsing_core.h for the charts.

Ties go to the first rule of the root, then, in preorder, to fewer one-child rules, the first such
rule, the first pair of children, and the shortest left child. Inference with a loss prefers the
true derivation, then what it saw first.
"""

import numpy as np

from _parsing_types cimport (
    EDGES, ENTRIES, NODES, Block, Bound, Bracket, Charts, Differing, Forest, Grammar, Loss, Room,
    Sentence, Trace, Tree, fill_nodes, parse_best, parse_bounded, parse_chosen, parse_complete,
    parse_measure, parse_other, parse_spans, parse_trace, parse_trace_other, plain_of,
    point_to_block, point_to_grammar, row_of, span_row,
)

TRUTH, PREDICT, ADDITIVE, ZERO_ONE, BOUNDED = range(5)
cdef double LOST = -1e299


cdef class _Scratch:
    """Room for the sentences of a block, the longest of which has ``longest`` words."""

    cdef Room room
    cdef Tree tree, truth
    cdef Trace trace
    cdef Bound bound
    cdef Forest forest
    cdef Differing differing
    cdef double* nodes
    cdef double* row
    cdef double* values
    cdef int* left
    cdef int* chosen
    cdef int* rules
    cdef long most
    cdef object kept, grown

    def __init__(self, grammar, sentences, long longest, bint nodes):
        cdef long symbols = grammar.flat[2][0], tags = grammar.tags, chain = grammar.chain
        cdef long pitch = (longest + 15) // 8 * 8, labels = max(1, grammar.labels)
        cdef long states = sentences.states, golds = sentences.most_golds
        cdef long rows = tags + (symbols - tags) * longest
        self.most = 1 + longest * chain + (longest - 1) * (1 + chain)
        cdef long truths = max(self.most, sentences.most_rules) + 1
        parts = max(1, int(grammar.parts.max()))
        uppers = max(1, grammar.flat[2][7])
        reals = [
            rows * pitch, rows * pitch, 2 * uppers * pitch, (chain + 1) * states * symbols, pitch,
            2 * (golds + 1) * (self.most + 1), 2 * truths * parts, truths * parts,
            labels * longest * pitch if nodes else 1, labels, symbols * pitch,
        ]
        integers = [grammar.flat[2][5] + 1, longest + 1, 4 * (longest + 4) + truths, golds + 1,
                    truths, truths, truths] + 14 * [truths]
        cdef double[::1] real = np.empty(sum(reals))
        cdef int[::1] integer = np.empty(sum(integers), dtype=np.int32)
        cdef unsigned char[::1] any_ = np.zeros(symbols * (longest + 1), dtype=np.uint8)
        self.kept = real, integer, any_
        cdef double* d[11]
        cdef int* n[21]
        cdef long k, at = 0
        for k in range(11):
            d[k] = &real[0] + at
            at += <long>reals[k]
        at = 0
        for k in range(21):
            n[k] = &integer[0] + at
            at += <long>integers[k]
        cdef Room* room = &self.room
        room.chart, room.plain, room.layers, room.cell, room.best = d[0], d[1], d[2], d[3], d[4]
        room.active, room.splits, room.stack, room.any = n[0], n[1], n[2], &any_[0]
        room.now = d[10]
        self.bound.scores, self.bound.margins = d[5], d[5] + (golds + 1) * (self.most + 1)
        self.bound.best, self.left, self.trace.rules = n[4], n[3], n[5]
        self.differing.here, self.differing.whole = d[6], d[6] + truths * <long>parts
        self.differing.most, self.differing.tree = parts, &self.truth
        self.values, self.nodes, self.row, self.chosen = d[7], d[8], d[9], n[6]
        _point(&self.tree, n + 7)
        _point(&self.truth, n + 14)
        self.rules = n[6]


    cdef void grow(self, grammar, sentences, long longest):
        """Make room for exact inference with losses of counts."""
        cdef long k, table = (sentences.most_golds + 1) * (self.most + 1)
        cdef long cells = (grammar.chain + 1) * sentences.states * grammar.flat[2][0]
        cdef double[::1] real = np.empty(NODES + EDGES + ENTRIES + cells + 2 * table)
        integers = 7 * [NODES] + 4 * [EDGES] + [ENTRIES, longest * longest, cells, table]
        cdef int[::1] integer = np.empty(sum(integers), dtype=np.int32)
        cdef long long[::1] at = np.cumsum([0, *integers])
        self.grown = real, integer
        cdef Forest* f = &self.forest
        f.outside, f.add = &real[0], &real[NODES]
        f.score = f.add + EDGES
        f.cells = f.score + ENTRIES
        f.table = f.cells + cells
        f.tilt = f.table + table
        f.symbol, f.next, f.begin = &integer[0], &integer[at[1]], &integer[at[2]]
        f.end, f.first, f.count = &integer[at[3]], &integer[at[4]], &integer[at[5]]
        f.order, f.rule, f.one = &integer[at[6]], &integer[at[7]], &integer[at[8]]
        f.other, f.shift, f.place = &integer[at[9]], &integer[at[10]], &integer[at[11]]
        f.span, f.names = &integer[at[12]], &integer[at[13]]
        f.touched = &integer[at[14]]


cdef void _point(Tree* tree, int** at) noexcept:
    tree.start, tree.width, tree.left, tree.first = at[0], at[1], at[2], at[3]
    tree.second, tree.layer, tree.top = at[4], at[5], at[6]


def search(grammar, sentences, const double[::1] weights, const double[:, ::1] spans,
           const double[:, ::1] emissions, int task, loss):
    """The derivation with the highest w . Phi (plus loss) of each of n sentences.

    grammar, sentences : GrammarArrays and SentenceArrays
    weights : of the rules of parts; spans : (rows, labels), of brackets by span;
    emissions : (words of these sentences, tags), scores of parts of speech; empty if they are given
    task : TRUTH, the best parts of the true derivation; PREDICT; with a loss: ADDITIVE, the number
        of brackets that are not true; ZERO_ONE; BOUNDED, any loss of the two counts of brackets
    loss : (kind, root, slack, longest) for BOUNDED: 0 wrong brackets, 1 for 1 - F1; square roots;
        slack rescaling; the longest sentence for which a bound with a gap is made exact
    Returns values, margins, uppers (n,), rules of the derivations in preorder, int32, and their
    offsets (n + 1,). Where there is no derivation, the value is -1e300 and there are no rules.
    """
    cdef Grammar own
    cdef Block block
    point_to_grammar(&own, grammar)
    point_to_block(&block, sentences)
    cdef long i, k, n = block.n, at = 0, words = block.offsets[n] - block.offsets[0]
    cdef long highest = own.rules.highest, labels = own.rules.labels
    if weights.shape[0] != highest or spans.shape[1] != labels or (
            spans.shape[0] < block.rows[block.templates]):
        raise ValueError(f"search: {weights.shape[0]} and {tuple(spans.shape)[:2]} weights do not "
                         f"fit {highest} rules and {labels} labels")
    if emissions.shape[0] and tuple(emissions.shape)[:2] != (words, own.rules.tags):
        raise ValueError(f"search: scores {tuple(emissions.shape)[:2]} of {words} words and "
                         f"{own.rules.tags} tags")
    cdef _Scratch s = _Scratch(grammar, sentences, block.longest, block.templates > 0)
    cdef Sentence x
    cdef Loss charged
    cdef bint given = emissions.shape[0] == 0
    cdef long longest = min(block.longest, <long>loss[3])
    charged.kind, charged.root, charged.slack = loss[:3]
    if task == BOUNDED_TASK and longest > 0:
        s.grow(grammar, sentences, longest)
    values, margins, uppers = np.empty(n), np.zeros(n), np.empty(n)
    counts = np.zeros(n, dtype=np.int64)
    found = np.empty(max(1, _room(sentences, grammar)), dtype=np.int32)
    cdef double[::1] value = values, margin = margins, upper = uppers
    cdef long long[::1] count = counts
    cdef int[::1] rules = found
    cdef const double* emission = NULL if given else &emissions[0, 0]
    cdef const double* span = &spans[0, 0] if spans.size else NULL
    with nogil:
        for i in range(n):
            x.n = block.offsets[i + 1] - block.offsets[i]
            x.pitch = (x.n + 15) // 8 * 8
            x.tags = block.tags + block.offsets[i]
            x.emissions = NULL
            if not given:
                x.emissions = emission + (block.offsets[i] - block.offsets[0]) * own.rules.tags
            x.nodes, x.alpha, x.beta = NULL, 0.0, 0.0
            x.golds, x.gold = block.golds[i + 1] - block.golds[i], block.gold + block.golds[i]
            if block.templates:
                fill_nodes(&block, &own.rules, span, i, &x, s.nodes, s.row)
            count[i] = _one(&own, &block, &x, &weights[0], s, task, &charged, longest, i,
                            &rules[at], &value[i], &margin[i], &upper[i])
            at += count[i]
    return values, margins, uppers, found[:at], np.concatenate([[0], np.cumsum(counts)])


def _room(sentences, grammar):
    """Rules that the derivations of a block may have, at most."""
    lengths = np.diff(sentences.offsets)
    most = 1 + lengths * grammar.chain + (lengths - 1) * (1 + grammar.chain)
    truths = np.diff(sentences.rule_offsets)
    return int(np.sum(np.maximum(most, truths)))


cdef long _one(
    const Grammar* own, const Block* block, Sentence* x, const double* w, _Scratch s, int task,
    Loss* loss, long longest, long i, int* out, double* value, double* margin, double* upper,
) noexcept nogil:
    """The derivation of sentence i into ``out``; returns how many rules it has."""
    cdef long k, brackets = 0, matched = 0, count
    cdef double truth = 0.0, other
    cdef Charts charts
    margin[0] = 0.0
    if task != PREDICT_TASK:
        s.truth.rules = block.truth + block.truths[i]
        s.truth.count = block.truths[i + 1] - block.truths[i]
        count = s.truth.count
        parse_spans(own.parent, own.left, own.right, own.rules.tags, &s.truth, s.room.stack)
        truth = parse_complete(&own.rules, &own.shapes, own.parent, own.left, own.right, x, w,
                               &s.truth, own.most, s.values)
        parse_chosen(&own.rules, &own.shapes, own.parent, own.left, own.right, x, w, &s.truth,
                     own.most, s.values, s.chosen, out)
        value[0] = upper[0] = truth
        if task == TRUTH_TASK:
            return count
    if task == BOUNDED_TASK:
        loss.truth, loss.golds = truth, 0
        for k in range(x.golds):
            loss.golds += x.gold[k].count
        charts.g, charts.shapes, charts.x, charts.w = &own.rules, &own.shapes, x, w
        charts.room, charts.loss, charts.bound = &s.room, loss, &s.bound
        charts.tree, charts.trace, charts.left = &s.tree, &s.trace, s.left
        parse_bounded(&charts, &s.forest if x.n <= longest else NULL, out, count)
        value[0], margin[0], upper[0] = s.bound.value, s.bound.margin, s.bound.upper
        for k in range(s.bound.count):
            out[k] = s.bound.best[k]
        return s.bound.count
    if task == ADDITIVE_TASK:
        x.alpha, x.beta = 1.0, -1.0
    other = parse_best(&own.rules, x, w, &s.room)
    if task == ZERO_ONE_TASK:
        other = parse_other(&own.rules, &own.shapes, x, w, &s.room, &s.differing, own.parent)
        if other < LOST or 1.0 + other <= truth:
            return count
        parse_trace_other(&own.rules, &own.shapes, x, w, &s.room, &s.differing, other, &s.trace)
        value[0] = upper[0] = 1.0 + other
        margin[0] = 1.0
    else:
        if task == ADDITIVE_TASK and not other > truth:
            return count
        value[0] = upper[0] = other
        if other < LOST:
            return 0
        parse_trace(&own.rules, x, w, &s.room, other, &s.trace)
    for k in range(s.trace.count):
        out[k] = s.trace.rules[k]
    if task == ADDITIVE_TASK:
        s.tree.count, s.tree.rules = s.trace.count, out
        parse_spans(own.shapes.parent, own.shapes.left, own.shapes.right, own.rules.tags, &s.tree,
                    s.room.stack)
        parse_measure(&own.rules, &own.shapes, x, w, &s.tree, s.left, &brackets, &matched)
        margin[0] = <double>(brackets - matched)
    return s.trace.count


cdef enum:
    TRUTH_TASK = 0
    PREDICT_TASK = 1
    ADDITIVE_TASK = 2
    ZERO_ONE_TASK = 3
    BOUNDED_TASK = 4


def spans_of(grammar, const int[::1] rules, const long long[::1] offsets):
    """Start, width and width of the left child of each rule of derivations in preorder, int32.

    rules : rules of parts; offsets : (n + 1,) where each derivation begins, from 0
    """
    cdef Grammar own
    point_to_grammar(&own, grammar)
    cdef long i, n = offsets.shape[0] - 1, longest = 1
    for i in range(n):
        longest = max(longest, offsets[i + 1] - offsets[i])
    columns = np.empty((3, max(1, rules.shape[0])), dtype=np.int32)
    cdef int[:, ::1] out = columns, room = np.empty((5, longest + 1), dtype=np.int32)
    cdef Tree tree
    for i in range(rules.shape[0]):
        if not 0 <= rules[i] < own.rules.highest:
            raise ValueError(f"spans_of: rule {rules[i]} of {own.rules.highest}")
    with nogil:
        for i in range(n):
            tree.count = offsets[i + 1] - offsets[i]
            if tree.count == 0:
                continue
            tree.rules = &rules[0] + offsets[i]
            tree.start, tree.width = &out[0, 0] + offsets[i], &out[1, 0] + offsets[i]
            tree.left = &out[2, 0] + offsets[i]
            tree.first, tree.second, tree.layer, tree.top = (
                &room[0, 0], &room[1, 0], &room[2, 0], &room[3, 0])
            parse_spans(own.shapes.parent, own.shapes.left, own.shapes.right, own.rules.tags,
                        &tree, &room[4, 0])
    return columns[:, :rules.shape[0]]


def span_rows(sentences, const long long[::1] sentence, const int[::1] starts,
              const int[::1] widths):
    """The rows of weights that each bracket has, (brackets, templates) int32, -1: none.

    sentence : which one each bracket is of
    """
    cdef Block block
    point_to_block(&block, sentences)
    cdef long k, t, i, count = sentence.shape[0]
    found = np.empty((count, block.templates), dtype=np.int32)
    cdef int[:, ::1] out = found
    for k in range(count):
        i = sentence[k]
        if not 0 <= i < block.n or starts[k] < 0 or widths[k] < 1 or (
                starts[k] + widths[k] > block.offsets[i + 1] - block.offsets[i]):
            raise ValueError(f"span_rows: bracket {k} is outside of its sentence")
        for t in range(block.templates):
            out[k, t] = span_row(&block, t, block.offsets[i],
                                 block.offsets[i + 1] - block.offsets[i], starts[k], widths[k])
    return found


def charts(grammar, sentences, long i, const double[::1] weights, const double[:, ::1] spans,
           const double[:, ::1] emissions):
    """The charts of w . Phi of sentence i: all layers, and layer 0, each (rows, pitch).

    A part of speech has one row, for one word; any other symbol one for each width. A row has the
    values by first word, below -1e299 where there is nothing. emissions : of its words alone.
    Returns also the scores of brackets by label, width and first word, (labels, n, pitch).
    """
    cdef Grammar own
    cdef Block block
    point_to_grammar(&own, grammar)
    point_to_block(&block, sentences)
    cdef long n = block.offsets[i + 1] - block.offsets[i], pitch = (n + 15) // 8 * 8, k
    if not 0 <= i < block.n or weights.shape[0] != own.rules.highest or (
            spans.shape[0] < block.rows[block.templates] or spans.shape[1] != own.rules.labels):
        raise ValueError(f"charts: sentence {i} of {block.n}, or weights do not fit")
    if emissions.shape[0] and tuple(emissions.shape)[:2] != (n, own.rules.tags):
        raise ValueError(f"charts: scores {tuple(emissions.shape)[:2]} of {n} words")
    cdef _Scratch s = _Scratch(grammar, sentences, n, block.templates > 0)
    cdef Sentence x
    x.n, x.pitch, x.tags = n, pitch, block.tags + block.offsets[i]
    x.emissions, x.nodes, x.alpha, x.beta, x.golds, x.gold = NULL, NULL, 0.0, 0.0, 0, NULL
    if emissions.shape[0]:
        x.emissions = &emissions[0, 0]
    nodes = np.zeros((max(1, own.rules.labels), n, pitch))
    cdef double[:, :, ::1] node = nodes
    if block.templates:
        fill_nodes(&block, &own.rules, &spans[0, 0], i, &x, &node[0, 0, 0], s.row)
    rows = own.rules.tags + (own.rules.symbols - own.rules.tags) * n
    whole, plain = np.full((rows, pitch), -1e300), np.full((rows, pitch), -1e300)
    cdef double[:, ::1] to = whole, below = plain
    cdef long symbol, width, row
    with nogil:
        parse_best(&own.rules, &x, &weights[0], &s.room)
        for symbol in range(own.rules.symbols):
            for width in range(1, n + 1 if symbol >= own.rules.tags else 2):
                row = row_of(&own.rules, &x, s.room.chart, symbol, width) - s.room.chart
                row = row // pitch
                for k in range(n - width + 1):
                    to[row, k] = row_of(&own.rules, &x, s.room.chart, symbol, width)[k]
                    below[row, k] = plain_of(&own.rules, &x, &s.room, symbol, width)[k]
    return whole, plain, nodes
