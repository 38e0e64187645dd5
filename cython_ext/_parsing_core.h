/* Best derivations of a sentence under a weighted context-free grammar (CKY).

   The grammar is binary. Symbols 0 .. tags-1 are parts of speech, which cover one word each. A
   chain of one-child rules over the same words has at most `chain` rules: layer 0 of a span holds
   what a binary rule or a word makes, layer u what u one-child rules make of it, and the chart
   the best of all layers.

   A chart has one row for each symbol and width: the values of its spans by their first word, so
   that all spans of one width are done side by side. Rows of parts of speech have width 1 only.
   Binary rules are sorted by their two children: the best split is found once for all parents, in
   rows of one width that lie close together. A symbol without chains has its layer 0 in the chart.

   Scores of brackets are added where a symbol with a label is made: `nodes`, by label, width and
   first word, and the same `alpha` for all. `beta` is added for each bracket that the true tree has
   as well, at most as often as there. Such brackets are at few spans, `gold`, whose chains are done
   one by one, with what they have used up of the true brackets as a state. */

#ifndef LSSVM_PARSING_CORE_H
#define LSSVM_PARSING_CORE_H

#include <string.h>

#include "wide.h"

#define NOWHERE (-1e300) /* the value of what cannot be */
#define REACHED(x) ((x) > -1e299)
enum { OVERHANG = 7, MOST_KINDS = 16 }; /* columns behind a row; labels of one span */

typedef struct {
    long symbols, tags, labels, chain, highest; /* highest: weights, rules are below it */
    long pairs;
    const int *left, *right; /* (pairs) children */
    const int *begin;        /* (pairs + 1), the rules of each pair */
    const int *parent;       /* (binaries), sorted by pair */
    const int *rule;         /* (binaries), weight */
    const int *pair;         /* (binaries), pair */
    const int *made;         /* (symbols + 1), places in `by_parent` */
    const int *by_parent;    /* (binaries), rows of `parent` */
    long unaries;
    const int *above, *below, *unary; /* (unaries) parent, child, weight */
    long uppers;                      /* symbols that are parents of one-child rules */
    const int *upper;                 /* (uppers) */
    const int *upper_row;             /* (symbols), -1: none */
    long cores;                       /* symbols whose layers may differ: brackets and children */
    const int *core, *core_row;       /* (cores), parts of speech first; (symbols), -1: none */
    long roots;
    const int *top, *root; /* (roots) child, weight */
    const int *label;      /* (symbols), -1: no bracket */
    const int *base;       /* (symbols), what it is a part of */
} Rules;

typedef struct {
    int start, width, label, count;
} Bracket;

typedef struct {
    long n, pitch;
    const int *tags;         /* (n), -1: any */
    const double *emissions; /* (n, tags) or NULL */
    const double *nodes;     /* (labels, n, pitch) or NULL */
    double alpha, beta;
    long golds;
    const Bracket *gold; /* by width, then start, then label */
} Sentence;

typedef struct {
    double *chart, *plain; /* all layers, layer 0; see row_of and plain_of */
    double *now;           /* (symbols, pitch), layer 0 of one width */
    double *layers;        /* (2, uppers, pitch) */
    double *cell;          /* (chain + 1, states, symbols) */
    double *best;          /* (pitch) */
    int *active, *splits;  /* (pairs), (n) */
    unsigned char *any;    /* (symbols, n + 1) */
    int *stack;            /* (4 (n + 2)) */
} Room;

typedef struct {
    long kinds, states;
    int label[MOST_KINDS], count[MOST_KINDS], place[MOST_KINDS];
} Golds;

/* The row of a symbol and a width, of which a part of speech has the first only. */
INLINE double *row_of(const Rules *g, const Sentence *x, double *chart, long s, long width) {
    if (s < g->tags) return chart + s * x->pitch;
    return chart + (g->tags + (s - g->tags) * x->n + width - 1) * x->pitch;
}

/* Layer 0. */
INLINE double *plain_of(const Rules *g, const Sentence *x, const Room *room, long s, long width) {
    return row_of(g, x, g->core_row[s] < 0 ? room->chart : room->plain, s, width);
}

INLINE long rows_of(const Rules *g, long n) { return g->tags + (g->symbols - g->tags) * n; }

INLINE double charge_of(const Sentence *x, long label, long width, long start) {
    if (label < 0) return 0.0;
    if (x->nodes == NULL) return x->alpha;
    return x->alpha + x->nodes[(label * x->n + width - 1) * x->pitch + start];
}

/* The true brackets of a span, and the number of states of what is used up of them. */
INLINE void golds_of(const Sentence *x, long start, long width, Golds *own) {
    own->kinds = 0;
    own->states = 1;
    if (x->beta == 0.0) return;
    for (long k = 0; k < x->golds && own->kinds < MOST_KINDS; k++)
        if (x->gold[k].start == start && x->gold[k].width == width) {
            own->label[own->kinds] = x->gold[k].label;
            own->count[own->kinds] = x->gold[k].count;
            own->place[own->kinds++] = (int)own->states;
            own->states *= x->gold[k].count + 1;
        }
}

/* The state after another bracket; it differs if the bracket matches one that is left. */
INLINE long used(const Golds *own, long state, int label) {
    if (label < 0) return state;
    for (long k = 0; k < own->kinds; k++)
        if (own->label[k] == label) {
            long spent = state / own->place[k] % (own->count[k] + 1);
            return spent < own->count[k] ? state + own->place[k] : state;
        }
    return state;
}

INLINE double *in_cell(const Rules *g, const Room *room, const Golds *own, long u, long state) {
    return room->cell + (u * own->states + state) * g->symbols;
}

INLINE long first_core(const Rules *g, long width) {
    long c = 0;
    while (width > 1 && c < g->cores && g->core[c] < g->tags) c++;
    return c;
}

/* All layers of one span by layer, state and core, from layer 0. */
MAYBE_UNUSED static void fill_cell(const Rules *g, const Sentence *x, const double *w,
                                   const Room *room, const Golds *own, long start, long width) {
    for (long k = 0; k < (g->chain + 1) * own->states; k++)
        for (long c = 0; c < g->cores; c++) room->cell[k * g->symbols + g->core[c]] = NOWHERE;
    for (long c = first_core(g, width); c < g->cores; c++) {
        long s = g->core[c];
        double value = plain_of(g, x, room, s, width)[start];
        if (!REACHED(value)) continue;
        long state = used(own, 0, g->label[s]);
        in_cell(g, room, own, 0, state)[s] = value + (state ? x->beta : 0.0);
    }
    for (long u = 1; u <= g->chain; u++)
        for (long q = 0; q < own->states; q++) {
            const double *from = in_cell(g, room, own, u - 1, q);
            for (long r = 0; r < g->unaries; r++) {
                if (!REACHED(from[g->below[r]])) continue;
                long s = g->above[r], next = used(own, q, g->label[s]);
                double *to = in_cell(g, room, own, u, next) + s;
                double value = (from[g->below[r]] + w[g->unary[r]]) +
                               charge_of(x, g->label[s], width, start);
                if (next != q) value += x->beta;
                if (value > *to) *to = value;
            }
        }
}

INLINE void best_tile(const double *left, const double *right, const int *splits, long count,
                      long width, long pitch, double *out, const int lanes) {
    double best[32];
    for (int t = 0; t < lanes; t++) best[t] = NOWHERE;
    for (long j = 0; j < count; j++) {
        long k = splits[j];
        const double *a = left + (k - 1) * pitch, *b = right + (width - k - 1) * pitch + k;
        for (int t = 0; t < lanes; t++) {
            double value = a[t] + b[t];
            best[t] = value > best[t] ? value : best[t];
        }
    }
    for (int t = 0; t < lanes; t++) out[t] = best[t];
}

/* The widths of left children with which a pair can make a width; returns how many. */
INLINE long splits_of(const Rules *g, const Sentence *x, const Room *room, long pair, long width) {
    long b = g->left[pair], c = g->right[pair], count = 0, row = x->n + 1;
    const unsigned char *left = room->any + b * row, *right = room->any + c * row;
    long first = c < g->tags ? width - 1 : 1, last = b < g->tags ? 1 : width - 1;
    for (long k = first; k <= last; k++)
        if (left[k] & right[width - k]) room->splits[count++] = (int)k;
    return count;
}

INLINE long lanes_of(const Sentence *x, long width) { return (x->n - width + 8) & ~7L; }

/* Layer 0 of all spans of one width, at least 2, without scores of brackets. */
INLINE void best_binaries(const Rules *g, const Sentence *x, const double *w, const Room *room,
                          long actives, long width) {
    long lanes = lanes_of(x, width), pitch = x->pitch, row = x->n + 1;
    double *best = room->best;
    for (long k = g->tags * lanes; k < g->symbols * lanes; k++) room->now[k] = NOWHERE;
    for (long a = 0; a < actives; a++) {
        long p = room->active[a], count = splits_of(g, x, room, p, width), i = 0;
        if (count == 0) continue;
        const double *left = row_of(g, x, room->chart, g->left[p], 1);
        const double *right = row_of(g, x, room->chart, g->right[p], 1);
        for (; i + 32 <= lanes; i += 32)
            best_tile(left + i, right + i, room->splits, count, width, pitch, best + i, 32);
        for (; i + 16 <= lanes; i += 16)
            best_tile(left + i, right + i, room->splits, count, width, pitch, best + i, 16);
        for (; i < lanes; i += 8)
            best_tile(left + i, right + i, room->splits, count, width, pitch, best + i, 8);
        for (long j = g->begin[p]; j < g->begin[p + 1]; j++) {
            double *to = room->now + g->parent[j] * lanes, own = w[g->rule[j]];
            room->any[g->parent[j] * row + width] = 1;
            for (long t = 0; t < lanes; t++) {
                double value = best[t] + own;
                to[t] = value > to[t] ? value : to[t];
            }
        }
    }
}

/* A row of one width in the charts, from layer 0 without scores of brackets. */
INLINE void put_row(const Rules *g, const Sentence *x, const Room *room, long s, long width) {
    long spans = x->n - width + 1, size = spans + OVERHANG, label = g->label[s];
    double *plain = plain_of(g, x, room, s, width), *chart = row_of(g, x, room->chart, s, width);
    const double *now = room->now + s * lanes_of(x, width);
    if (room->any[s * (x->n + 1) + width])
        for (long i = 0; i < spans; i++) plain[i] = now[i];
    else
        for (long i = 0; i < spans; i++) plain[i] = NOWHERE;
    if (label >= 0)
        for (long i = 0; i < spans; i++) plain[i] += charge_of(x, label, width, i);
    for (long i = spans; i < size; i++) plain[i] = NOWHERE;
    if (chart != plain) memcpy(chart, plain, (size_t)size * sizeof(double));
}

/* The rows of one width, then all layers above 0 of its spans. */
INLINE void best_chains(const Rules *g, const Sentence *x, const double *w, const Room *room,
                        long width) {
    long pitch = x->pitch, spans = x->n - width + 1;
    for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++) put_row(g, x, room, s, width);
    for (long u = 1; u <= g->chain; u++) {
        double *to = room->layers + (u & 1) * g->uppers * pitch;
        const double *from = room->layers + (~u & 1) * g->uppers * pitch;
        int reached = 0;
        for (long k = 0; k < g->uppers * pitch; k++) to[k] = NOWHERE;
        for (long r = 0; r < g->unaries; r++) {
            long s = g->below[r], upper = g->upper_row[s];
            if ((width > 1 && s < g->tags) || (u > 1 && upper < 0)) continue;
            const double *below =
                u > 1 ? from + upper * pitch : plain_of(g, x, room, s, width);
            double *above = to + g->upper_row[g->above[r]] * pitch, own = w[g->unary[r]];
            for (long i = 0; i < spans; i++) {
                double value = below[i] + own;
                above[i] = value > above[i] ? value : above[i];
            }
        }
        for (long k = 0; k < g->uppers; k++) {
            long s = g->upper[k], label = g->label[s];
            double *row = to + k * pitch, *chart = row_of(g, x, room->chart, s, width);
            for (long i = 0; i < spans; i++) {
                if (!REACHED(row[i])) continue;
                reached = 1;
                if (label >= 0) row[i] += charge_of(x, label, width, i);
                chart[i] = row[i] > chart[i] ? row[i] : chart[i];
            }
        }
        if (!reached) break;
    }
}

/* Chains of the spans of true brackets, and which symbols have this width anywhere. */
INLINE void finish_width(const Rules *g, const Sentence *x, const double *w, const Room *room,
                         long width) {
    long before = -1;
    if (x->beta != 0.0)
        for (long k = 0; k < x->golds; k++) {
            long start = x->gold[k].start;
            if (x->gold[k].width != width || start == before) continue;
            Golds own;
            before = start;
            golds_of(x, start, width, &own);
            fill_cell(g, x, w, room, &own, start, width);
            for (long c = first_core(g, width); c < g->cores; c++) {
                long s = g->core[c];
                double best = NOWHERE;
                for (long u = 0; u <= g->chain; u++)
                    for (long q = 0; q < own.states; q++) {
                        double value = in_cell(g, room, &own, u, q)[s];
                        best = value > best ? value : best;
                    }
                row_of(g, x, room->chart, s, width)[start] = best;
            }
        }
    for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++) {
        unsigned char *any = room->any + s * (x->n + 1) + width;
        const double *row = row_of(g, x, room->chart, s, width);
        double best = NOWHERE;
        if (!*any && g->upper_row[s] < 0) continue;
        for (long i = 0; i < x->n - width + 1; i++) best = row[i] > best ? row[i] : best;
        *any = REACHED(best);
    }
}

/* The charts of a sentence; returns the highest w . Phi with the scores of brackets. */
WIDE double parse_best(const Rules *g, const Sentence *x, const double *w, const Room *room) {
    long n = x->n, actives = 0;
    memset(room->any, 0, (size_t)(g->symbols * (n + 1)));
    for (long s = 0; s < g->tags; s++) {
        double *now = room->now + s * lanes_of(x, 1);
        room->any[s * (n + 1) + 1] = 1;
        for (long i = 0; i < n; i++) {
            now[i] = NOWHERE;
            if (x->tags[i] < 0 || x->tags[i] == s)
                now[i] = x->emissions == NULL ? 0.0 : x->emissions[i * g->tags + s];
        }
    }
    best_chains(g, x, w, room, 1);
    finish_width(g, x, w, room, 1);
    for (long p = 0; p < g->pairs; p++) {
        long b = g->left[p], c = g->right[p], row = n + 1;
        if ((b < g->tags && !room->any[b * row + 1]) || (c < g->tags && !room->any[c * row + 1]))
            continue;
        room->active[actives++] = (int)p;
    }
    for (long width = 2; width <= n; width++) {
        best_binaries(g, x, w, room, actives, width);
        best_chains(g, x, w, room, width);
        finish_width(g, x, w, room, width);
    }
    double best = NOWHERE;
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && n > 1) continue;
        double value = row_of(g, x, room->chart, g->top[r], n)[0] + w[g->root[r]];
        best = value > best ? value : best;
    }
    return REACHED(best) ? best : NOWHERE;
}

/* ---- the best derivation ------------------------------------------------------------------ */

typedef struct {
    int *rules; /* weights of its rules in preorder */
    long count, depth;
} Trace;

INLINE void push(const Room *room, Trace *trace, long symbol, long start, long width, long node) {
    int *to = room->stack + 4 * trace->depth++;
    to[0] = (int)symbol, to[1] = (int)start, to[2] = (int)width, to[3] = (int)node;
}

/* The rule and split that made a symbol of layer 0; its children are stacked. */
INLINE void split_cell(const Rules *g, const Sentence *x, const double *w, const Room *room,
                       Trace *trace, long s, long start, long width) {
    double value = plain_of(g, x, room, s, width)[start];
    double charge = charge_of(x, g->label[s], width, start);
    for (long e = g->made[s]; e < g->made[s + 1]; e++) {
        long j = g->by_parent[e], b = g->left[g->pair[j]], c = g->right[g->pair[j]];
        long count = splits_of(g, x, room, g->pair[j], width);
        for (long a = 0; a < count; a++) {
            long k = room->splits[a];
            double sum = row_of(g, x, room->chart, b, k)[start] +
                         row_of(g, x, room->chart, c, width - k)[start + k];
            sum += w[g->rule[j]];
            if (g->label[s] >= 0) sum += charge;
            if (sum != value) continue;
            trace->rules[trace->count++] = g->rule[j];
            push(room, trace, c, start + k, width - k, -1);
            push(room, trace, b, start, k, -1);
            return;
        }
    }
}

/* The rules from a symbol of a layer and state down to layer 0; the cell is filled. */
INLINE void descend(const Rules *g, const Sentence *x, const double *w, const Room *room,
                    Trace *trace, const Golds *own, long s, long start, long width, long u,
                    long q) {
    while (u > 0) {
        double value = in_cell(g, room, own, u, q)[s];
        int found = 0;
        for (long r = 0; r < g->unaries && !found; r++) {
            if (g->above[r] != s) continue;
            for (long p = 0; p < own->states && !found; p++) {
                double from = in_cell(g, room, own, u - 1, p)[g->below[r]];
                if (!REACHED(from) || used(own, p, g->label[s]) != q) continue;
                double sum = (from + w[g->unary[r]]) + charge_of(x, g->label[s], width, start);
                if (p != q) sum += x->beta;
                if (sum != value) continue;
                trace->rules[trace->count++] = g->unary[r];
                s = g->below[r], q = p, found = 1;
            }
        }
        if (!found) return; /* never, since the sum is done in the same way */
        u--;
    }
    if (s >= g->tags) split_cell(g, x, w, room, trace, s, start, width);
}

/* The rules of the best derivation of a symbol in the chart. */
INLINE void trace_symbol(const Rules *g, const Sentence *x, const double *w, const Room *room,
                         Trace *trace, long s, long start, long width) {
    Golds own;
    if (s < g->tags && width == 1) return;
    if (g->core_row[s] < 0) {
        split_cell(g, x, w, room, trace, s, start, width);
        return;
    }
    golds_of(x, start, width, &own);
    fill_cell(g, x, w, room, &own, start, width);
    double value = row_of(g, x, room->chart, s, width)[start];
    for (long u = 0; u <= g->chain; u++)
        for (long q = 0; q < own.states; q++)
            if (in_cell(g, room, &own, u, q)[s] == value) {
                descend(g, x, w, room, trace, &own, s, start, width, u, q);
                return;
            }
}

/* The rules of the best derivation in preorder, into trace; the charts are those of parse_best. */
MAYBE_UNUSED static void parse_trace(const Rules *g, const Sentence *x, const double *w,
                                     const Room *room, double best, Trace *trace) {
    trace->count = trace->depth = 0;
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && x->n > 1) continue;
        if (row_of(g, x, room->chart, g->top[r], x->n)[0] + w[g->root[r]] != best) continue;
        trace->rules[trace->count++] = g->root[r];
        push(room, trace, g->top[r], 0, x->n, -1);
        break;
    }
    while (trace->depth > 0) {
        const int *item = room->stack + 4 * --trace->depth;
        trace_symbol(g, x, w, room, trace, item[0], item[1], item[2]);
    }
}

#endif
