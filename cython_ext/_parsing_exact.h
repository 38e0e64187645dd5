/* Exact inference with losses of the two counts of brackets, where bounds leave a gap.

   One of the charts with multipliers tells the highest value of a tree through each symbol and
   span: what cannot be in a tree that is better than the best one seen is left out. What is left is
   a small forest. From its leaves up, every node gets the highest w . Phi for each number of
   brackets, p, and of true ones among them, m: an entry at m (most + 1) + p. Entries that cannot be
   in a better tree are left out as well. This is tried after every chart with little room, since it
   often takes less time than another chart, and after the last one with more. If the room or the
   steps do not suffice then, the bounds stay. */

#ifndef LSSVM_PARSING_EXACT_H
#define LSSVM_PARSING_EXACT_H

#include "_parsing_bounds.h"

enum { NODES = 1 << 14, EDGES = 1 << 16, ENTRIES = 1 << 18, STEPS = 1 << 22 };
enum { FEW_EDGES = 1 << 12, FEW_ENTRIES = 1 << 14, FEW_STEPS = 1 << 16 };

typedef struct {
    int *symbol, *next, *begin, *end, *first, *count, *order; /* (NODES) */
    double *outside;                                          /* (NODES) */
    int *rule, *one, *other, *shift;                          /* (EDGES) nodes below, -1: none */
    double *add;                                              /* (EDGES) */
    int *place;                                               /* (ENTRIES) */
    double *score;                                            /* (ENTRIES) */
    int *span;                                                /* (n, n), first node, -1: none */
    double *cells;                                            /* (chain + 1, states, symbols) */
    int *names;                                               /* the same, nodes */
    double *table, *tilt;                                     /* (golds + 1, most + 1) */
    int *touched;                                             /* the same */
    long nodes, edges, entries, ordered, steps;
    long most_edges, most_entries, most_steps;
    int full;
} Forest;

/* What is fixed for a sentence, and the span that is expanded. */
typedef struct {
    const Rules *g;
    const Sentence *x;
    const double *w;
    const Room *room;
    double least; /* the lowest value, with multipliers, that is of interest */
    long row, start, width;
    Golds own;
} Pruning;

INLINE long new_node(Forest *f, long symbol, double outside) {
    if (f->nodes == NODES) {
        f->full = 1;
        return -1;
    }
    f->symbol[f->nodes] = (int)symbol;
    f->outside[f->nodes] = outside;
    f->begin[f->nodes] = f->end[f->nodes] = f->count[f->nodes] = 0;
    return f->nodes++;
}

/* The node of a symbol over some words; its outside is the highest that was given. */
INLINE long node_of(Forest *f, long n, long symbol, long start, long width, double outside) {
    int *head = f->span + (width - 1) * n + start;
    for (long k = *head; k >= 0; k = f->next[k])
        if (f->symbol[k] == symbol) {
            if (outside > f->outside[k]) f->outside[k] = outside;
            return k;
        }
    long k = new_node(f, symbol, outside);
    if (k >= 0) f->next[k] = *head, *head = (int)k;
    return k;
}

INLINE void add_edge(Forest *f, long rule, long one, long other, long shift, double add) {
    if (f->edges == f->most_edges || f->full) {
        f->full = 1;
        return;
    }
    f->rule[f->edges] = (int)rule, f->one[f->edges] = (int)one, f->other[f->edges] = (int)other;
    f->shift[f->edges] = (int)shift, f->add[f->edges++] = add;
}

INLINE void open_node(Forest *f, long node) {
    f->order[f->ordered++] = (int)node;
    f->begin[node] = (int)f->edges;
}

/* The score of a bracket without multipliers. */
INLINE double own_score(const Pruning *p, long label) {
    const Sentence *x = p->x;
    if (label < 0 || x->nodes == NULL) return 0.0;
    return x->nodes[(label * x->n + p->width - 1) * x->pitch + p->start];
}

/* Edges of a node of layer 0: a word, or rules with two children. charge : of its bracket with
   multipliers; shift, add : of it without them */
INLINE void expand_plain(const Pruning *p, Forest *f, long node, double charge, long shift,
                         double add) {
    const Rules *g = p->g;
    const Sentence *x = p->x;
    long s = f->symbol[node], start = p->start, width = p->width;
    if (s < g->tags) {
        add_edge(f, -1, -1, -1, 0, plain_of(g, x, p->room, s, 1)[start]);
        return;
    }
    for (long e = g->made[s]; e < g->made[s + 1] && !f->full; e++) {
        long j = g->by_parent[e], b = g->left[g->pair[j]], c = g->right[g->pair[j]];
        long count = splits_of(g, x, p->room, g->pair[j], width);
        double own = p->w[g->rule[j]], around = f->outside[node] + charge + own;
        for (long a = 0; a < count; a++) {
            long k = p->room->splits[a];
            double left = row_of(g, x, p->room->chart, b, k)[start];
            double right = row_of(g, x, p->room->chart, c, width - k)[start + k];
            if (!REACHED(left) || !REACHED(right) || around + left + right < p->least) continue;
            long one = node_of(f, x->n, b, start, k, around + right);
            long other = node_of(f, x->n, c, start + k, width - k, around + left);
            add_edge(f, g->rule[j], one, other, shift, add + own);
        }
    }
}

INLINE long cell_at(const Pruning *p, long u, long q, long s) {
    return (u * p->own.states + q) * p->g->symbols + s;
}

/* How a one-child rule moves a tree from a state: counts, and the score with multipliers. */
INLINE long chain_shift(const Pruning *p, long from, long to, long s) {
    return (p->g->label[s] >= 0) + (from != to ? p->row : 0);
}

INLINE double chain_charge(const Pruning *p, long from, long to, long s, long r) {
    double charge = charge_of(p->x, p->g->label[s], p->width, p->start);
    return p->w[p->g->unary[r]] + charge + (from != to ? p->x->beta : 0.0);
}

/* The best value around every layer and state of the span, from its nodes downward. */
INLINE void spread_cells(const Pruning *p, Forest *f, long head) {
    const Rules *g = p->g;
    long states = p->own.states;
    for (long k = 0; k < (g->chain + 1) * states; k++)
        for (long c = 0; c < g->cores; c++) {
            f->cells[k * g->symbols + g->core[c]] = NOWHERE;
            f->names[k * g->symbols + g->core[c]] = -1;
        }
    for (long node = head; node >= 0; node = f->next[node]) {
        long s = f->symbol[node];
        for (long k = 0; k < (g->chain + 1) * states && g->core_row[s] >= 0; k++)
            f->cells[k * g->symbols + s] = f->outside[node];
    }
    for (long u = g->chain; u > 0; u--)
        for (long q = 0; q < states; q++)
            for (long r = 0; r < g->unaries; r++) {
                long s = g->above[r], at = cell_at(p, u, q, s);
                double inside = p->room->cell[at], around = f->cells[at];
                if (!REACHED(inside) || !REACHED(around) || inside + around < p->least) continue;
                for (long from = 0; from < states; from++) {
                    if (used(&p->own, from, g->label[s]) != q) continue;
                    double *to = f->cells + cell_at(p, u - 1, from, g->below[r]);
                    double value = around + chain_charge(p, from, q, s, r);
                    *to = value > *to ? value : *to;
                }
            }
}

/* The node of a layer and state of the span, if it is of interest; -1 otherwise. */
INLINE long name_cell(const Pruning *p, Forest *f, long u, long q, long s) {
    long at = cell_at(p, u, q, s);
    double inside = p->room->cell[at];
    if (!REACHED(inside) || !REACHED(f->cells[at]) || inside + f->cells[at] < p->least) return -1;
    if (f->names[at] < 0) f->names[at] = (int)new_node(f, s, f->cells[at]);
    return f->names[at];
}

/* Edges of a node of a layer above 0. */
INLINE void expand_chain(const Pruning *p, Forest *f, long node, long u, long q) {
    const Rules *g = p->g;
    long s = f->symbol[node];
    for (long r = 0; r < g->unaries; r++) {
        if (g->above[r] != s) continue;
        for (long from = 0; from < p->own.states; from++) {
            if (used(&p->own, from, g->label[s]) != q) continue;
            double inside = p->room->cell[cell_at(p, u - 1, from, g->below[r])];
            double all = f->outside[node] + chain_charge(p, from, q, s, r) + inside;
            long below = all < p->least ? -1 : name_cell(p, f, u - 1, from, g->below[r]);
            if (below >= 0)
                add_edge(f, g->unary[r], below, -1, chain_shift(p, from, q, s),
                         p->w[g->unary[r]] + own_score(p, g->label[s]));
        }
    }
}

/* Edges of the nodes of a span, from all layers down to layer 0. */
INLINE void expand_span(Pruning *p, Forest *f) {
    const Rules *g = p->g;
    const Sentence *x = p->x;
    long head = f->span[(p->width - 1) * x->n + p->start], cores = 0;
    for (long node = head; node >= 0; node = f->next[node])
        cores |= g->core_row[f->symbol[node]] >= 0;
    if (cores) {
        golds_of(x, p->start, p->width, &p->own);
        fill_cell(g, x, p->w, p->room, &p->own, p->start, p->width);
        spread_cells(p, f, head);
    }
    for (long node = head; node >= 0; node = f->next[node]) {
        long s = f->symbol[node];
        open_node(f, node);
        if (g->core_row[s] < 0) expand_plain(p, f, node, 0.0, 0, 0.0);
        for (long u = 0; u <= g->chain && g->core_row[s] >= 0; u++)
            for (long q = 0; q < p->own.states; q++) {
                double inside = p->room->cell[cell_at(p, u, q, s)];
                if (!REACHED(inside) || inside + f->outside[node] < p->least) continue;
                long below = name_cell(p, f, u, q, s);
                if (below >= 0) add_edge(f, -1, below, -1, 0, 0.0);
            }
        f->end[node] = (int)f->edges;
    }
    for (long u = g->chain; u >= 0 && cores; u--)
        for (long q = 0; q < p->own.states; q++)
            for (long c = 0; c < g->cores && !f->full; c++) {
                long s = g->core[c], node = f->names[cell_at(p, u, q, s)];
                if (node < 0) continue;
                double charge = charge_of(x, g->label[s], p->width, p->start);
                open_node(f, node);
                if (u > 0)
                    expand_chain(p, f, node, u, q);
                else
                    expand_plain(p, f, node, charge + (q ? x->beta : 0.0),
                                 chain_shift(p, 0, q, s), own_score(p, g->label[s]));
                f->end[node] = (int)f->edges;
            }
}

/* The forest of all trees of at least p->least; node 0 is the root. */
INLINE void grow_forest(Pruning *p, Forest *f) {
    const Rules *g = p->g;
    long n = p->x->n;
    f->nodes = f->edges = f->entries = f->ordered = f->steps = 0;
    f->full = 0;
    for (long k = 0; k < n * n; k++) f->span[k] = -1;
    open_node(f, new_node(f, -1, 0.0));
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && n > 1) continue;
        double own = p->w[g->root[r]], value = row_of(g, p->x, p->room->chart, g->top[r], n)[0];
        if (!REACHED(value) || value + own < p->least) continue;
        add_edge(f, g->root[r], node_of(f, n, g->top[r], 0, n, own), -1, 0, own);
    }
    f->end[0] = (int)f->edges;
    for (p->width = n; p->width > 0; p->width--)
        for (p->start = 0; p->start + p->width <= n && !f->full; p->start++) expand_span(p, f);
}

INLINE long raise_entry(Forest *f, long touched, long at, double value, double least) {
    if (value + f->tilt[at] < least) return touched;
    if (!REACHED(f->table[at])) f->touched[touched++] = (int)at;
    if (value > f->table[at]) f->table[at] = value;
    return touched;
}

/* The entries of a node, from those of the nodes below it. */
INLINE void count_node(const Pruning *p, Forest *f, long node) {
    long touched = 0;
    double least = p->least - f->outside[node];
    for (long e = f->begin[node]; e < f->end[node]; e++) {
        long one = f->one[e], other = f->other[e], shift = f->shift[e];
        if (one < 0) {
            touched = raise_entry(f, touched, shift, f->add[e], least);
            continue;
        }
        for (long i = f->first[one]; i < f->first[one] + f->count[one]; i++) {
            long at = shift + f->place[i];
            double value = f->score[i] + f->add[e];
            if (other < 0) {
                touched = raise_entry(f, touched, at, value, least);
                continue;
            }
            for (long j = f->first[other]; j < f->first[other] + f->count[other]; j++)
                touched = raise_entry(f, touched, at + f->place[j], value + f->score[j], least);
            f->steps += f->count[other];
        }
    }
    if (f->entries + touched > f->most_entries || f->steps > f->most_steps) f->full = 1;
    f->first[node] = (int)f->entries;
    for (long k = 0; k < touched; k++) {
        long at = f->touched[k];
        if (!f->full) {
            f->place[f->entries] = (int)at;
            f->score[f->entries++] = f->table[at];
        }
        f->table[at] = NOWHERE;
    }
    f->count[node] = (int)(f->entries - f->first[node]);
}

INLINE long entry_of(const Forest *f, long node, long at) {
    for (long i = f->first[node]; i < f->first[node] + f->count[node]; i++)
        if (f->place[i] == at) return i;
    return -1;
}

/* The edge and entry below it that made an entry; the nodes below are stacked. */
INLINE void trace_entry(const Forest *f, Trace *trace, int *stack, long node, long entry) {
    for (long e = f->begin[node]; e < f->end[node]; e++) {
        long one = f->one[e], other = f->other[e], rest = f->place[entry] - f->shift[e];
        if (one < 0 && rest == 0 && f->add[e] == f->score[entry]) return;
        for (long i = one < 0 ? 0 : f->first[one]; one >= 0 && i < f->first[one] + f->count[one];
             i++) {
            double value = f->score[i] + f->add[e];
            long j = other < 0 ? 0 : entry_of(f, other, rest - f->place[i]);
            if (j < 0 || (other < 0 && f->place[i] != rest)) continue;
            if ((other < 0 ? value : value + f->score[j]) != f->score[entry]) continue;
            if (f->rule[e] >= 0) trace->rules[trace->count++] = f->rule[e];
            if (other >= 0) {
                stack[2 * trace->depth] = (int)other;
                stack[2 * trace->depth++ + 1] = (int)j;
            }
            stack[2 * trace->depth] = (int)one;
            stack[2 * trace->depth++ + 1] = (int)i;
            return;
        }
    }
}

/* The lowest value of a chart with these multipliers that a better tree than the best one has. */
INLINE double least_of(const Loss *loss, const Bound *bound, double alpha, double beta) {
    double least = -NOWHERE;
    for (long m = 0; m <= loss->golds; m++)
        for (long p = m; p <= bound->most; p++) {
            long at = m * (bound->most + 1) + p;
            double score = bound->scores[at], margin = bound->margins[at];
            double need = bound->value - margin;
            if (!REACHED(score) || margin <= 0.0) continue;
            if (augmented_of(loss, margin, score) <= bound->value) continue;
            if (loss->slack) need = (bound->value - loss->truth) / margin - 1.0 + loss->truth;
            need += alpha * (double)p + beta * (double)m;
            least = need < least ? need : least;
        }
    return least;
}

/* Counts the brackets of all trees of a chart, whose highest value is `highest`, that are worth
   `least` or more; whether they are few enough. Then the bound is exact. */
INLINE int count_trees(const Charts *c, Forest *f, double highest, double least) {
    Bound *bound = c->bound;
    Pruning p = {c->g, c->x, c->w, c->room, 0.0, bound->most + 1, 0, 0, {0, 1, {0}, {0}, {0}}};
    long size = (c->loss->golds + 1) * p.row, best = -1;
    double value = bound->value;
    p.least = least - 1e-9 * (1.0 + fabs(highest));
    for (long k = 0; k < size; k++) {
        f->table[k] = NOWHERE;
        f->tilt[k] = c->x->alpha * (double)(k % p.row) + c->x->beta * (double)(k / p.row);
    }
    grow_forest(&p, f);
    for (long k = f->ordered - 1; k >= 0 && !f->full; k--) count_node(&p, f, f->order[k]);
    if (f->full) return 0;
    for (long i = f->first[0]; i < f->first[0] + f->count[0]; i++) {
        double margin = loss_of(c->loss, f->place[i] / p.row, f->place[i] % p.row);
        double own = augmented_of(c->loss, margin, f->score[i]);
        if (own > value) value = own, bound->margin = margin, best = i;
    }
    bound->value = bound->upper = value;
    if (best < 0) return 1;
    c->trace->count = c->trace->depth = 0;
    trace_entry(f, c->trace, c->room->stack, 0, best);
    while (c->trace->depth > 0) {
        const int *item = c->room->stack + 2 * --c->trace->depth;
        trace_entry(f, c->trace, c->room->stack, item[0], item[1]);
    }
    bound->count = c->trace->count;
    memcpy(bound->best, c->trace->rules, (size_t)c->trace->count * sizeof(int));
    return 1;
}

/* Tries the last chart, with little room. */
INLINE int count_last(const Charts *c, Forest *f) {
    const Seen *seen = &c->bound->seen;
    double highest = seen->value[seen->count - 1];
    if (c->x->beta == 0.0) return 0; /* true brackets are not told apart */
    f->most_edges = FEW_EDGES, f->most_entries = FEW_ENTRIES, f->most_steps = FEW_STEPS;
    return count_trees(c, f, highest, least_of(c->loss, c->bound, c->x->alpha, c->x->beta));
}

/* Tries the chart that leaves out most, with all room. */
INLINE int count_narrowest(const Charts *c, Forest *f) {
    const Seen *seen = &c->bound->seen;
    double narrow = -NOWHERE, least = NOWHERE, highest = 0.0;
    long best = 1;
    for (long k = 1; k < seen->count; k++) {
        if (seen->beta[k] == 0.0) continue;
        double own = least_of(c->loss, c->bound, seen->alpha[k], seen->beta[k]);
        if (seen->value[k] - own >= narrow) continue;
        narrow = seen->value[k] - own, least = own, highest = seen->value[k], best = k;
    }
    if (best != seen->count - 1) {
        c->x->alpha = seen->alpha[best], c->x->beta = seen->beta[best];
        parse_best(c->g, c->x, c->w, c->room);
    }
    f->most_edges = EDGES, f->most_entries = ENTRIES, f->most_steps = STEPS;
    return count_trees(c, f, highest, least);
}

/* Loss-augmented inference: charts until their bounds meet the best tree seen, or until the trees
   that they do not exclude are few enough to count. Begins with the true derivation, `count` rules.
   f : NULL for bounds alone */
MAYBE_UNUSED static void parse_bounded(const Charts *c, Forest *f, const int *rules, long count) {
    Target target = begin_bound(c, rules, count);
    int found = 0;
    do {
        see_chart(c, &target);
        found = !has_gap(c->bound) || (f != NULL && count_last(c, f));
    } while (!found && next_chart(c, &target));
    if (!found && f != NULL) count_narrowest(c, f);
    if (c->bound->upper < c->bound->value) c->bound->upper = c->bound->value;
}

#endif
