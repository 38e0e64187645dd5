# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Sums over derivations: log Z and expected joint features; see _parsing_soft.h."""

import numpy as np

from _parsing_types cimport (
    Block, Grammar, Room, Sentence, Soft, Tree, fill_nodes, levels, log_complete, log_inside,
    log_outside, MaxRule, parse_best, parse_by_rules, parse_inside, parse_outside, parse_spans, point_to_block,
    point_to_grammar, span_row,
)


cdef class _Scratch:
    """Room for the sentences of a block, the longest of which has ``longest`` words."""

    cdef Room room
    cdef Soft soft
    cdef Tree tree
    cdef double* values
    cdef double* shares
    cdef double* out
    cdef double* nodes
    cdef double* node_sums
    cdef double* row
    cdef object kept

    def __init__(self, grammar, sentences, long longest):
        cdef long symbols = grammar.flat[2][0], tags = grammar.tags, chain = grammar.chain
        cdef long pitch = (longest + 15) // 8 * 8, labels = max(1, grammar.labels), k, at = 0
        cdef long rows = (tags + (symbols - tags) * longest) * pitch
        cdef long uppers = max(1, grammar.flat[2][7]) * pitch, truths = sentences.most_rules + 1
        parts, cell = int(grammar.parts.max()), (chain + 1) * symbols
        reals = [
            *(5 * [rows]), 2 * uppers, cell, pitch, (longest + 1) * pitch, (longest + 1) * pitch,
            (chain + 1) * uppers, (chain + 1) * uppers, symbols * pitch, labels * pitch,
            grammar.flat[2][4] + 1, pitch, pitch, truths * parts, truths * parts, cell,
            labels * longest * pitch, labels * longest * pitch, labels, symbols * pitch,
        ]
        integers = [grammar.flat[2][5] + 1, longest + 1, 4 * (longest + 4) + truths] + 7 * [truths]
        cdef double[::1] real = np.zeros(sum(reals))
        cdef int[::1] integer = np.zeros(sum(integers), dtype=np.int32)
        cdef unsigned char[::1] any_ = np.zeros(symbols * (longest + 1), dtype=np.uint8)
        self.kept = real, integer, any_
        cdef double* d[24]
        cdef int* n[10]
        for k in range(24):
            d[k] = &real[0] + at
            at += <long>reals[k]
        at = 0
        for k in range(10):
            n[k] = &integer[0] + at
            at += <long>integers[k]
        cdef Room* room = &self.room
        room.chart, room.plain, room.layers, room.cell, room.best = d[0], d[1], d[5], d[6], d[7]
        room.active, room.splits, room.stack, room.any = n[0], n[1], n[2], &any_[0]
        cdef Soft* soft = &self.soft
        soft.sums, soft.plain, soft.outer, soft.level, soft.share = d[2], d[3], d[4], d[8], d[9]
        soft.layers, soft.above, soft.below, soft.charges = d[10], d[11], d[12], d[13]
        soft.grown, soft.pair, soft.around = d[14], d[15], d[16]
        self.values, self.shares, self.out = d[17], d[18], d[19]
        self.nodes, self.node_sums, self.row, room.now = d[20], d[21], d[22], d[23]
        cdef Tree* tree = &self.tree
        tree.start, tree.width, tree.left, tree.first = n[3], n[4], n[5], n[6]
        tree.second, tree.layer, tree.top = n[7], n[8], n[9]


cdef enum:
    OVER_ALL, OVER_LOGS, OVER_TRUE

ALL, LOGS, TRUE = OVER_ALL, OVER_LOGS, OVER_TRUE


def expected(grammar, sentences, const double[::1] weights, const double[:, ::1] spans,
             const double[:, ::1] emissions, const double[::1] costs, int over):
    """log Z of n sentences, and the sum of c_i times expected joint features.

    over : ALL derivations, by products where they neither overflow nor vanish; all of them in the
        log domain (LOGS); or the parts of the TRUE derivation alone
    The other arguments are those of _parsing.search. Returns log Z (n,), -1e300 where there is no
    derivation; expected counts of rules of parts; of spans, (rows, labels); and of the parts of
    speech of every word, (words, tags), (0, tags) if they are given.
    """
    cdef Grammar own
    cdef Block block
    point_to_grammar(&own, grammar)
    point_to_block(&block, sentences)
    cdef long i, n = block.n, words = block.offsets[n] - block.offsets[0]
    cdef long highest = own.rules.highest, labels = own.rules.labels, T = own.rules.tags, at
    if weights.shape[0] != highest or costs.shape[0] != n or spans.shape[1] != labels or (
            spans.shape[0] < block.rows[block.templates]):
        raise ValueError(f"expected: {weights.shape[0]} weights of {highest} rules, "
                         f"{tuple(spans.shape)[:2]} of spans, {costs.shape[0]} costs of {n}")
    cdef bint given = emissions.shape[0] == 0
    if not given and tuple(emissions.shape)[:2] != (words, T):
        raise ValueError(f"expected: scores {tuple(emissions.shape)[:2]} of {words} words")
    cdef _Scratch s = _Scratch(grammar, sentences, block.longest)
    found, rule_sums = np.empty(n), np.zeros(max(1, highest))
    span_sums, tag_sums = np.zeros((spans.shape[0] + 1, labels + 1)), np.zeros((words + 1, T))
    cdef double[::1] logz = found, counts = rule_sums
    cdef double[:, ::1] span_view = span_sums, tag_view = tag_sums
    cdef const double* span = &spans[0, 0] if spans.size else NULL
    cdef double* nodes
    cdef double* tags
    cdef Sentence x
    cdef bint products
    x.alpha, x.beta, x.golds, x.gold = 0.0, 0.0, 0, NULL
    with nogil:
        for i in range(n):
            at = block.offsets[i] - block.offsets[0]
            x.n = block.offsets[i + 1] - block.offsets[i]
            x.pitch = (x.n + 15) // 8 * 8
            x.tags, x.emissions, x.nodes = block.tags + block.offsets[i], NULL, NULL
            nodes, tags = NULL, NULL
            if not given:
                x.emissions, tags = &emissions[at, 0], &tag_view[at, 0]
            if block.templates:
                fill_nodes(&block, &own.rules, span, i, &x, s.nodes, s.row)
                nodes = s.node_sums
            if over == OVER_TRUE:
                s.tree.rules = block.truth + block.truths[i]
                s.tree.count = block.truths[i + 1] - block.truths[i]
                parse_spans(own.parent, own.left, own.right, T, &s.tree, s.room.stack)
                logz[i] = log_complete(
                    &own.rules, &own.shapes, own.parent, own.left, own.right, &x, &weights[0],
                    &s.tree, own.most, costs[i], s.values, s.shares, &counts[0])
                _add_truth(&own, &block, &x, &s.tree, i, costs[i], tags, &span_view[0, 0])
                continue
            logz[i] = parse_best(&own.rules, &x, &weights[0], &s.room)
            if logz[i] < -1e299:
                continue
            _clear(nodes, labels * x.n * x.pitch)
            products = over != OVER_LOGS and levels(&own.rules, &x, &weights[0], &s.room, &s.soft)
            if products:
                logz[i] = parse_inside(&own.rules, &x, &weights[0], &s.room, &s.soft)
                parse_outside(&own.rules, &x, &weights[0], &s.room, &s.soft, logz[i], costs[i],
                              &counts[0], nodes, tags)
            else:
                logz[i] = log_inside(&own.rules, &x, &weights[0], &s.room, &s.soft)
                log_outside(&own.rules, &x, &weights[0], &s.room, &s.soft, logz[i], costs[i],
                            s.out, &counts[0], nodes, tags)
            if nodes != NULL:
                _add_nodes(&block, &x, i, labels, nodes, &span_view[0, 0])
    kept = tag_sums[:0] if given else tag_sums[:words]
    return found, rule_sums[:highest], span_sums[:-1, :-1].copy(), kept


def by_rules(grammar, sentences, const double[::1] weights, const double[:, ::1] spans,
             const double[:, ::1] emissions):
    """The tree of each of n sentences with the highest product of posteriors of rules as read.

    The arguments are those of _parsing.search. Returns values, log Z (n,), -1e300 where there is no
    derivation; rules as read in preorder, int32, and their offsets (n + 1,); there are none where
    there is no derivation, or where the sums need the log domain.
    """
    cdef Grammar own
    cdef Block block
    point_to_grammar(&own, grammar)
    point_to_block(&block, sentences)
    cdef long i, k, n = block.n, words = block.offsets[n] - block.offsets[0], at = 0
    cdef long labels = own.rules.labels, chain = own.rules.chain, T = own.rules.tags
    if weights.shape[0] != own.rules.highest or spans.shape[1] != labels or (
            spans.shape[0] < block.rows[block.templates]):
        raise ValueError(f"by_rules: {weights.shape[0]} weights of {own.rules.highest} rules, "
                         f"{tuple(spans.shape)[:2]} of spans")
    if emissions.shape[0] and tuple(emissions.shape)[:2] != (words, T):
        raise ValueError(f"by_rules: scores {tuple(emissions.shape)[:2]} of {words} words")
    cdef _Scratch s = _Scratch(grammar, sentences, block.longest)
    cdef MaxRule m
    m.symbols, m.rules = len(grammar.parts), len(grammar.parent)
    m.parent, m.left, m.right = own.parent, own.left, own.right
    cdef long pitch = (block.longest + 15) // 8 * 8
    cdef long chart = (T + (m.symbols - T) * block.longest) * pitch
    cdef double[::1] real = np.zeros(chart + (chain + 1) * m.symbols + m.rules)
    cdef int[::1] whole = np.zeros(m.rules + (chain + 3) * chart, dtype=np.int32)
    m.whole, m.layer = &real[0], &real[0] + chart
    m.share = m.layer + (chain + 1) * m.symbols
    m.touched, m.back = &whole[0], &whole[0] + m.rules
    m.split, m.chosen = m.back + (chain + 1) * chart, m.back + (chain + 2) * chart
    lengths = np.diff(sentences.offsets)
    most = int(np.sum(1 + lengths * chain + (lengths - 1) * (1 + chain)))
    values, counts = np.empty(n), np.zeros(n, dtype=np.int64)
    found, ignored = np.empty(max(1, most), dtype=np.int32), np.zeros(own.rules.highest + 1)
    cdef double[::1] value = values, counted = ignored
    cdef long long[::1] count = counts
    cdef int[::1] rules = found
    cdef const double* span = &spans[0, 0] if spans.size else NULL
    cdef Sentence x
    x.alpha, x.beta, x.golds, x.gold = 0.0, 0.0, 0, NULL
    with nogil:
        for i in range(n):
            x.n = block.offsets[i + 1] - block.offsets[i]
            x.pitch = (x.n + 15) // 8 * 8
            x.tags, x.emissions, x.nodes = block.tags + block.offsets[i], NULL, NULL
            if emissions.shape[0]:
                x.emissions = &emissions[block.offsets[i] - block.offsets[0], 0]
            if block.templates:
                fill_nodes(&block, &own.rules, span, i, &x, s.nodes, s.row)
            value[i] = parse_best(&own.rules, &x, &weights[0], &s.room)
            if value[i] < -1e299 or not levels(&own.rules, &x, &weights[0], &s.room, &s.soft):
                continue
            value[i] = parse_inside(&own.rules, &x, &weights[0], &s.room, &s.soft)
            parse_outside(&own.rules, &x, &weights[0], &s.room, &s.soft, value[i], 0.0,
                          &counted[0], NULL, NULL)
            count[i] = parse_by_rules(&own.rules, &own.shapes, &x, &weights[0], &s.room, &s.soft,
                                      &m, value[i], &rules[at])
            at += count[i]
    return values, found[:at], np.concatenate([[0], np.cumsum(counts)])


cdef void _clear(double* values, long count) noexcept nogil:
    cdef long k
    if values != NULL:
        for k in range(count):
            values[k] = 0.0


cdef void _add_nodes(
    const Block* block, const Sentence* x, long i, long labels, const double* nodes, double* out,
) noexcept nogil:
    """Expected brackets of a sentence to the rows of weights of their spans."""
    cdef long width, start, t, s, row
    for width in range(1, x.n + 1):
        for start in range(x.n - width + 1):
            for t in range(block.templates):
                row = span_row(block, t, block.offsets[i], x.n, start, width)
                if row < 0:
                    continue
                for s in range(labels):
                    out[row * (labels + 1) + s] += nodes[(s * x.n + width - 1) * x.pitch + start]


cdef void _add_truth(
    const Grammar* own, const Block* block, const Sentence* x, const Tree* tree, long i,
    double cost, double* tags, double* out,
) noexcept nogil:
    """The brackets and parts of speech of the true tree, which all of its parts have."""
    cdef long q, t, row, labels = own.rules.labels
    cdef int r, b, c, label
    for q in range(tree.count):
        r = tree.rules[q]
        b, c = own.left[r], own.right[r]
        if tags != NULL and b < own.rules.tags:
            tags[tree.start[q] * own.rules.tags + b] += cost
        if tags != NULL and 0 <= c < own.rules.tags:
            tags[(tree.start[q] + tree.left[q]) * own.rules.tags + c] += cost
        if own.parent[r] < 0:
            continue
        label = own.rules.label[own.shapes.first[own.parent[r]]]
        if label < 0:
            continue
        for t in range(block.templates):
            row = span_row(block, t, block.offsets[i], x.n, tree.start[q], tree.width[q])
            if row >= 0:
                out[row * (labels + 1) + label] += cost
