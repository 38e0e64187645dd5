/* Charts that count: the highest w . Phi of every span and symbol for each number of brackets, p,
   and of true ones among them, m. They are exact for any loss of the two counts, and large: for
   short sentences only. A table has (golds + 1) (most + 1) numbers, at m (most + 1) + p. */

#ifndef LSSVM_PARSING_COUNTS_H
#define LSSVM_PARSING_COUNTS_H

#include "_parsing_bounds.h"

typedef struct {
    long table, row; /* numbers of a table, and of one m */
    double *chart;   /* (symbols, n, n, table) by width and start */
    double *plain;   /* the same, layer 0 before the bracket of the symbol itself */
    int *reached;    /* (symbols, n, n, table), the places that are reached, */
    int *count;      /* (symbols, n, n), and how many */
    double *cell;    /* (chain + 1, states, symbols, table) */
} Counting;

INLINE long table_of(const Sentence *x, long s, long start, long width) {
    return (s * x->n + width - 1) * x->n + start;
}

INLINE double *counted_cell(const Rules *g, const Counting *c, const Golds *own, long u, long q,
                            long s) {
    return c->cell + ((u * own->states + q) * g->symbols + s) * c->table;
}

INLINE void raise_to(double *to, double value) {
    if (value > *to) *to = value;
}

/* How far a bracket moves a tree in a table, and the state behind it. */
INLINE long moved_by(const Counting *c, const Golds *own, long q, int label, long *next) {
    *next = used(own, q, label);
    return (label >= 0) + (*next != q ? c->row : 0);
}

MAYBE_UNUSED static void fill_counted(const Rules *g, const Sentence *x, const double *w,
                                      const Counting *c, const Golds *own, long start,
                                      long width) {
    long T = c->table, cells = (g->chain + 1) * own->states * g->symbols * T, next;
    for (long k = 0; k < cells; k++) c->cell[k] = NOWHERE;
    for (long s = 0; s < g->symbols; s++) {
        const double *from = c->plain + table_of(x, s, start, width) * T;
        long by = moved_by(c, own, 0, g->label[s], &next);
        double charge = charge_of(x, g->label[s], width, start);
        double *to = counted_cell(g, c, own, 0, next, s);
        for (long k = 0; k + by < T; k++)
            if (REACHED(from[k])) to[k + by] = from[k] + charge;
    }
    for (long u = 1; u <= g->chain; u++)
        for (long q = 0; q < own->states; q++)
            for (long r = 0; r < g->unaries; r++) {
                const double *from = counted_cell(g, c, own, u - 1, q, g->below[r]);
                long s = g->above[r], by = moved_by(c, own, q, g->label[s], &next);
                double *to = counted_cell(g, c, own, u, next, s);
                double charge = charge_of(x, g->label[s], width, start);
                for (long k = 0; k + by < T; k++)
                    if (REACHED(from[k])) raise_to(to + k + by, (from[k] + w[g->unary[r]]) + charge);
            }
}

MAYBE_UNUSED static void count_span(const Rules *g, const Sentence *x, const double *w,
                                    const Counting *c, long start, long width) {
    long T = c->table;
    Golds own;
    for (long s = 0; s < g->symbols; s++) {
        double *plain = c->plain + table_of(x, s, start, width) * T;
        for (long k = 0; k < T; k++) plain[k] = NOWHERE;
        if (width == 1 && s < g->tags && (x->tags[start] < 0 || x->tags[start] == s))
            plain[0] = x->emissions == NULL ? 0.0 : x->emissions[start * g->tags + s];
    }
    for (long p = 0; p < g->pairs; p++)
        for (long k = 1; k < width; k++) {
            long a = table_of(x, g->left[p], start, k);
            long b = table_of(x, g->right[p], start + k, width - k);
            for (long i = 0; i < c->count[a]; i++)
                for (long j = 0; j < c->count[b]; j++) {
                    long one = c->reached[a * T + i], other = c->reached[b * T + j];
                    double sum = c->chart[a * T + one] + c->chart[b * T + other];
                    for (long e = g->begin[p]; e < g->begin[p + 1]; e++)
                        raise_to(c->plain + table_of(x, g->parent[e], start, width) * T + one + other,
                                 sum + w[g->rule[e]]);
                }
        }
    golds_of(x, start, width, &own);
    fill_counted(g, x, w, c, &own, start, width);
    for (long s = 0; s < g->symbols; s++) {
        long at = table_of(x, s, start, width);
        double *to = c->chart + at * T;
        for (long k = 0; k < T; k++) to[k] = NOWHERE;
        for (long u = 0; u <= g->chain; u++)
            for (long q = 0; q < own.states; q++) {
                const double *from = counted_cell(g, c, &own, u, q, s);
                for (long k = 0; k < T; k++) raise_to(to + k, from[k]);
            }
        c->count[at] = 0;
        for (long k = 0; k < T; k++)
            if (REACHED(to[k])) c->reached[at * T + c->count[at]++] = (int)k;
    }
}

/* Loss-augmented inference, exactly: the value, the loss, and the root rule and place that attain
   it. beta must not be 0, so that true brackets are looked for. */
MAYBE_UNUSED static double parse_counted(const Rules *g, const Sentence *x, const double *w,
                                         const Counting *c, const Loss *loss, double *margin,
                                         long *root, long *place) {
    double best = NOWHERE;
    for (long width = 1; width <= x->n; width++)
        for (long start = 0; start + width <= x->n; start++) count_span(g, x, w, c, start, width);
    for (long r = 0; r < g->roots; r++) {
        long at = table_of(x, g->top[r], 0, x->n);
        for (long i = 0; i < c->count[at]; i++) {
            long k = c->reached[at * c->table + i];
            double own = loss_of(loss, k / c->row, k % c->row);
            double value = augmented_of(loss, own, c->chart[at * c->table + k] + w[g->root[r]]);
            if (value > best) best = value, *margin = own, *root = r, *place = k;
        }
    }
    return best;
}

INLINE void push_counted(const Room *room, Trace *trace, long symbol, long start, long width,
                         long place) {
    push(room, trace, symbol, start, width, place);
}

INLINE void split_counted(const Rules *g, const Sentence *x, const double *w, const Room *room,
                          const Counting *c, Trace *trace, long s, long start, long width,
                          long place) {
    long T = c->table;
    double value = c->plain[table_of(x, s, start, width) * T + place];
    for (long e = g->made[s]; e < g->made[s + 1]; e++) {
        long j = g->by_parent[e], p = g->pair[j];
        for (long k = 1; k < width; k++) {
            long a = table_of(x, g->left[p], start, k);
            long b = table_of(x, g->right[p], start + k, width - k);
            for (long i = 0; i < c->count[a]; i++) {
                long one = c->reached[a * T + i], other = place - one;
                if (other < 0 || other % c->row + one % c->row != place % c->row) continue;
                if (!REACHED(c->chart[b * T + other])) continue;
                if (c->chart[a * T + one] + c->chart[b * T + other] + w[g->rule[j]] != value)
                    continue;
                trace->rules[trace->count++] = g->rule[j];
                push_counted(room, trace, g->right[p], start + k, width - k, other);
                push_counted(room, trace, g->left[p], start, k, one);
                return;
            }
        }
    }
}

/* The rules of a symbol's derivation with these counts. */
MAYBE_UNUSED static void trace_counted(const Rules *g, const Sentence *x, const double *w,
                                       const Room *room, const Counting *c, Trace *trace, long s,
                                       long start, long width, long place) {
    Golds own;
    double value = c->chart[table_of(x, s, start, width) * c->table + place];
    long u = -1, q = 0, next;
    golds_of(x, start, width, &own);
    fill_counted(g, x, w, c, &own, start, width);
    for (long v = 0; v <= g->chain && u < 0; v++)
        for (long state = 0; state < own.states && u < 0; state++)
            if (counted_cell(g, c, &own, v, state, s)[place] == value) u = v, q = state;
    while (u > 0) {
        value = counted_cell(g, c, &own, u, q, s)[place];
        double charge = charge_of(x, g->label[s], width, start);
        int found = 0;
        for (long r = 0; r < g->unaries && !found; r++)
            for (long p = 0; p < own.states && !found && g->above[r] == s; p++) {
                long by = moved_by(c, &own, p, g->label[s], &next);
                if (next != q || by > place) continue;
                double from = counted_cell(g, c, &own, u - 1, p, g->below[r])[place - by];
                if (!REACHED(from) || (from + w[g->unary[r]]) + charge != value) continue;
                trace->rules[trace->count++] = g->unary[r];
                s = g->below[r], q = p, place -= by, found = 1;
            }
        if (!found) return; /* never, since the sum is done in the same way */
        u--;
    }
    if (s < g->tags) return;
    split_counted(g, x, w, room, c, trace, s, start, width,
                  place - moved_by(c, &own, 0, g->label[s], &next));
}

#endif
