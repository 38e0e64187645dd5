/* The sums of _parsing_soft.h in the log domain, span by span: slow, and right at any scale. Also
   sums over the parts of the symbols of a given tree. */

#ifndef LSSVM_PARSING_LOGS_H
#define LSSVM_PARSING_LOGS_H

#include "_parsing_soft.h"

INLINE double log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return REACHED(low) ? high + log1p(exp(low - high)) : high;
}

INLINE double log_sum(double a, double b) { return REACHED(a) && REACHED(b) ? a + b : NOWHERE; }

/* All layers of a span by layer and symbol, logarithms, from layer 0. */
INLINE void log_cell(const Rules *g, const Sentence *x, const double *w, const Room *room,
                     const Soft *soft, long start, long width) {
    long S = g->symbols;
    for (long k = 0; k < (g->chain + 1) * S; k++) room->cell[k] = NOWHERE;
    for (long s = width > 1 ? g->tags : 0; s < S; s++)
        room->cell[s] = row_of(g, x, soft->plain, s, width)[start];
    for (long u = 1; u <= g->chain; u++)
        for (long r = 0; r < g->unaries; r++) {
            double *to = room->cell + u * S + g->above[r];
            double charge = charge_of(x, g->label[g->above[r]], width, start);
            *to = log_add(*to, log_sum(room->cell[(u - 1) * S + g->below[r]],
                                       w[g->unary[r]] + charge));
        }
}

MAYBE_UNUSED static double log_inside(const Rules *g, const Sentence *x, const double *w,
                                      const Room *room, const Soft *soft) {
    long n = x->n, size = rows_of(g, n) * x->pitch;
    for (long k = 0; k < size; k++) soft->plain[k] = soft->sums[k] = NOWHERE;
    for (long width = 1; width <= n; width++)
        for (long i = 0; i + width <= n; i++) {
            for (long s = 0; width == 1 && s < g->tags; s++)
                row_of(g, x, soft->plain, s, 1)[i] = plain_of(g, x, room, s, 1)[i];
            for (long j = 0, p = 0; p < g->pairs && width > 1; p++) {
                double sum = NOWHERE;
                long count = splits_of(g, x, room, p, width);
                for (long q = 0; q < count; q++) {
                    long k = room->splits[q];
                    double left = row_of(g, x, soft->sums, g->left[p], k)[i];
                    double right = row_of(g, x, soft->sums, g->right[p], width - k)[i + k];
                    sum = log_add(sum, log_sum(left, right));
                }
                for (j = g->begin[p]; j < g->begin[p + 1] && REACHED(sum); j++) {
                    long s = g->parent[j];
                    double *to = row_of(g, x, soft->plain, s, width) + i;
                    double charge = charge_of(x, g->label[s], width, i);
                    *to = log_add(*to, sum + w[g->rule[j]] + charge);
                }
            }
            log_cell(g, x, w, room, soft, i, width);
            for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++) {
                double sum = NOWHERE;
                for (long u = 0; u <= g->chain; u++)
                    sum = log_add(sum, room->cell[u * g->symbols + s]);
                row_of(g, x, soft->sums, s, width)[i] = sum;
            }
        }
    double total = NOWHERE;
    for (long r = 0; r < g->roots; r++)
        if (g->top[r] >= g->tags || n == 1)
            total = log_add(total, log_sum(row_of(g, x, soft->sums, g->top[r], n)[0],
                                           w[g->root[r]]));
    return total;
}

/* out : (chain + 1, symbols) room */
INLINE void log_span(const Rules *g, const Sentence *x, const double *w, const Room *room,
                     const Soft *soft, long start, long width, double logz, double cost,
                     double *out, double *counts, double *nodes, double *tags) {
    long S = g->symbols, n = x->n;
    log_cell(g, x, w, room, soft, start, width);
    for (long s = 0; s < S; s++)
        for (long u = 0; u <= g->chain; u++)
            out[u * S + s] = s >= g->tags || width == 1
                                 ? row_of(g, x, soft->outer, s, width)[start] : NOWHERE;
    for (long u = g->chain; u >= 1; u--)
        for (long r = 0; r < g->unaries; r++) {
            double value = log_sum(out[u * S + g->above[r]],
                                   w[g->unary[r]] +
                                       charge_of(x, g->label[g->above[r]], width, start));
            double *to = out + (u - 1) * S + g->below[r];
            *to = log_add(*to, value);
            value = log_sum(value, room->cell[(u - 1) * S + g->below[r]]);
            if (REACHED(value)) counts[g->unary[r]] += cost * exp(value - logz);
        }
    for (long s = 0; s < S; s++)
        for (long u = 0; u <= g->chain; u++) {
            double value = log_sum(out[u * S + s], room->cell[u * S + s]);
            if (!REACHED(value)) continue;
            if (g->label[s] >= 0 && nodes != NULL)
                nodes[(g->label[s] * n + width - 1) * x->pitch + start] += cost * exp(value - logz);
            if (s < g->tags && tags != NULL) tags[start * g->tags + s] += cost * exp(value - logz);
        }
    for (long p = 0; p < g->pairs && width > 1; p++) {
        double around = NOWHERE;
        long count = splits_of(g, x, room, p, width);
        for (long j = g->begin[p]; j < g->begin[p + 1] && count; j++) {
            long s = g->parent[j];
            double charge = charge_of(x, g->label[s], width, start);
            around = log_add(around, log_sum(out[s], w[g->rule[j]] + charge));
        }
        for (long q = 0; q < count && REACHED(around); q++) {
            long k = room->splits[q];
            double left = row_of(g, x, soft->sums, g->left[p], k)[start];
            double right = row_of(g, x, soft->sums, g->right[p], width - k)[start + k];
            double *to = row_of(g, x, soft->outer, g->left[p], k) + start;
            *to = log_add(*to, log_sum(around, right));
            to = row_of(g, x, soft->outer, g->right[p], width - k) + start + k;
            *to = log_add(*to, log_sum(around, left));
            double both = log_sum(left, right);
            for (long j = g->begin[p]; j < g->begin[p + 1] && REACHED(both); j++) {
                long s = g->parent[j];
                double charge = charge_of(x, g->label[s], width, start);
                double value = log_sum(log_sum(out[s], w[g->rule[j]] + charge), both);
                if (REACHED(value)) counts[g->rule[j]] += cost * exp(value - logz);
            }
        }
    }
}

MAYBE_UNUSED static void log_outside(const Rules *g, const Sentence *x, const double *w,
                                     const Room *room, const Soft *soft, double logz, double cost,
                                     double *out, double *counts, double *nodes, double *tags) {
    long n = x->n, size = rows_of(g, n) * x->pitch;
    for (long k = 0; k < size; k++) soft->outer[k] = NOWHERE;
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && n > 1) continue;
        double *to = row_of(g, x, soft->outer, g->top[r], n);
        double value = log_sum(row_of(g, x, soft->sums, g->top[r], n)[0], w[g->root[r]]);
        *to = log_add(*to, w[g->root[r]]);
        if (REACHED(value)) counts[g->root[r]] += cost * exp(value - logz);
    }
    for (long width = n; width >= 1; width--)
        for (long i = 0; i + width <= n; i++)
            log_span(g, x, w, room, soft, i, width, logz, cost, out, counts, nodes, tags);
}

/* ---- the parts of a given tree ------------------------------------------------------------- */

INLINE double part_score(const Rules *g, const Shapes *shapes, const Sentence *x, const double *w,
                         const Tree *tree, const int *left, const int *right, long most,
                         const double *values, long q, long a, long i, long j) {
    int r = tree->rules[q], b = left[r], c = right[r];
    long rights = c < 0 ? 1 : shapes->parts[c];
    double sum = tree->first[q] < 0 ? leaf_score(g, x, b, tree->start[q])
                                    : values[tree->first[q] * most + i];
    if (c >= 0)
        sum += tree->second[q] < 0 ? leaf_score(g, x, c, tree->start[q] + tree->left[q])
                                   : values[tree->second[q] * most + j];
    return sum + w[shapes->expand[r] + (a * shapes->parts[b] + i) * rights + j];
}

/* log of the sum over the parts of a tree's symbols; adds cost times expected counts of rules.
   values, shares : (count, most) room */
MAYBE_UNUSED static double log_complete(const Rules *g, const Shapes *shapes, const int *parent,
                                        const int *left, const int *right, const Sentence *x,
                                        const double *w, const Tree *tree, long most, double cost,
                                        double *values, double *shares, double *counts) {
    for (long pass = 0; pass < 2; pass++)
        for (long t = 0; t < tree->count; t++) {
            long q = pass ? t : tree->count - 1 - t;
            int r = tree->rules[q], s = parent[r], b = left[r], c = right[r];
            long parts = s < 0 ? 1 : shapes->parts[s], rights = c < 0 ? 1 : shapes->parts[c];
            double charge = s < 0 ? 0.0
                                  : charge_of(x, g->label[shapes->first[s]], tree->width[q],
                                              tree->start[q]);
            if (pass && q == 0) shares[0] = 1.0;
            for (long a = 0; a < parts; a++) {
                double sum = NOWHERE;
                for (long i = 0; i < shapes->parts[b]; i++)
                    for (long j = 0; j < rights; j++) {
                        double value = part_score(g, shapes, x, w, tree, left, right, most, values,
                                                  q, a, i, j) + charge;
                        if (!pass) {
                            sum = log_add(sum, value);
                            continue;
                        }
                        double share = shares[q * most + a] * exp(value - values[q * most + a]);
                        counts[shapes->expand[r] + (a * shapes->parts[b] + i) * rights + j] +=
                            cost * share;
                        if (tree->first[q] >= 0) shares[tree->first[q] * most + i] += share;
                        if (tree->second[q] >= 0) shares[tree->second[q] * most + j] += share;
                    }
                if (!pass) values[q * most + a] = sum, shares[q * most + a] = 0.0;
            }
        }
    return values[0];
}

#endif
