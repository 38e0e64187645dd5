# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# The inputs are checked to be finite.
"""Exact inference with losses of the two counts of brackets; see _parsing_counts.h."""

import numpy as np

from _parsing_types cimport (
    Block, Counting, Grammar, Loss, Room, Sentence, Trace, fill_nodes, most_brackets,
    parse_counted, point_to_block, point_to_grammar, trace_counted,
)


def numbers(grammar, sentences, long i):
    """About how many numbers the charts of sentence i take."""
    n = int(sentences.offsets[i + 1] - sentences.offsets[i])
    golds = int(sentences.gold[sentences.gold_offsets[i]:sentences.gold_offsets[i + 1], 3].sum())
    table = (golds + 1) * (n * grammar.chain + (n - 1) * (1 + grammar.chain) + 1)
    cells = (grammar.chain + 1) * sentences.states
    return grammar.flat[2][0] * table * (3 * n * n + cells)


def search(grammar, sentences, long i, const double[::1] weights, const double[:, ::1] spans,
           const double[:, ::1] emissions, loss):
    """Value, margin and derivation of sentence i, as those of _parsing.search with BOUNDED.

    emissions : of the words of this sentence alone
    loss : its kind, whether the root is taken of it, whether it rescales the slack, and w . Phi of
        the true derivation
    """
    cdef Grammar own
    cdef Block block
    point_to_grammar(&own, grammar)
    point_to_block(&block, sentences)
    if not 0 <= i < block.n or weights.shape[0] != own.rules.highest or (
            spans.shape[0] < block.rows[block.templates] or spans.shape[1] != own.rules.labels):
        raise ValueError(f"search: sentence {i} of {block.n}, or weights do not fit")
    cdef long n = block.offsets[i + 1] - block.offsets[i], k, root = 0, place = 0
    cdef long golds = 0, symbols = own.rules.symbols, states = sentences.states
    if emissions.shape[0] and tuple(emissions.shape)[:2] != (n, own.rules.tags):
        raise ValueError(f"search: scores {tuple(emissions.shape)[:2]} of {n} words")
    cdef Sentence x
    x.n, x.pitch, x.tags = n, (n + 15) // 8 * 8, block.tags + block.offsets[i]
    x.emissions, x.nodes = NULL, NULL
    x.alpha, x.beta = 0.0, 1.0
    if emissions.shape[0]:
        x.emissions = &emissions[0, 0]
    x.golds, x.gold = block.golds[i + 1] - block.golds[i], block.gold + block.golds[i]
    for k in range(x.golds):
        golds += x.gold[k].count
    cdef double[::1] nodes = np.empty(max(1, own.rules.labels) * n * x.pitch)
    cdef double[::1] row = np.empty(max(1, own.rules.labels))
    if block.templates:
        fill_nodes(&block, &own.rules, &spans[0, 0], i, &x, &nodes[0], &row[0])
    cdef Counting c
    c.row = most_brackets(&own.rules, n) + 1
    c.table = (golds + 1) * c.row
    cdef double[::1] chart = np.empty(symbols * n * n * c.table), plain = np.empty_like(chart)
    cdef int[::1] reached = np.empty(symbols * n * n * c.table, dtype=np.int32)
    cdef int[::1] count = np.zeros(symbols * n * n, dtype=np.int32)
    cdef double[::1] cell = np.empty((own.rules.chain + 1) * states * symbols * c.table)
    c.chart, c.plain, c.reached, c.count = &chart[0], &plain[0], &reached[0], &count[0]
    c.cell = &cell[0]
    cdef Loss charged
    charged.kind, charged.root, charged.slack, charged.truth = loss
    charged.golds = golds
    cdef Room room
    cdef Trace trace
    cdef int[::1] stack = np.empty(4 * (n + 4), dtype=np.int32)
    found = np.empty(c.row + n + 1, dtype=np.int32)
    cdef int[::1] rules = found
    room.stack, trace.rules, trace.count, trace.depth = &stack[0], &rules[0], 0, 0
    cdef double value, margin = 0.0
    cdef const int* item
    with nogil:
        value = parse_counted(&own.rules, &x, &weights[0], &c, &charged, &margin, &root, &place)
        if value > -1e299:
            rules[0], trace.count = own.rules.root[root], 1
            stack[0], stack[1], stack[2], stack[3] = own.rules.top[root], 0, n, place
            trace.depth = 1
        while trace.depth > 0:
            trace.depth -= 1
            item = &stack[4 * trace.depth]
            trace_counted(&own.rules, &x, &weights[0], &room, &c, &trace, item[0], item[1],
                          item[2], item[3])
    return value, margin, found[:trace.count]
