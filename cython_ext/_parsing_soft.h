/* Sums over all derivations of a sentence: inside and outside, in the layout of _parsing_core.h.

   The sums of a span are divided by exp(level), level being the highest value of the span in the
   chart of maxima, which parse_best has filled: then sums are products, and no exponential or
   logarithm is in an inner loop. A symbol whose maximum is FAINT beside its span's level could
   vanish although it counts, and so could what weights beyond STEEP make; such a sentence is done
   in the log domain, which is slower and right at any scale (_parsing_logs.h). */

#ifndef LSSVM_PARSING_SOFT_H
#define LSSVM_PARSING_SOFT_H

#include "_parsing_truth.h"

#define FAINT 300.0
#define STEEP 150.0

typedef struct {
    double *sums, *plain; /* charts of all layers and of layer 0, over exp(level) */
    double *outer;        /* chart: a posterior is outer times sums */
    double *level;        /* (n + 1, pitch) by width and start */
    double *share;        /* (n + 1, pitch) of splits of one width, by left width and start */
    double *layers;       /* (chain + 1, uppers, pitch), sums by layer; 0 is not used */
    double *above;        /* (chain + 1, uppers, pitch), what is outside of them */
    double *below;        /* (symbols, pitch), what is outside of layer 0 */
    double *charges;      /* (labels, pitch), exponentials of the scores of brackets */
    double *grown;        /* (highest), exponentials of weights */
    double *pair, *around; /* (pitch) */
} Soft;

INLINE double level_of(const Sentence *x, const Soft *soft, long width, long start) {
    return soft->level[width * x->pitch + start];
}

/* Levels from the chart of maxima; whether sums may be done by products. */
INLINE int levels(const Rules *g, const Sentence *x, const double *w, const Room *room,
                  const Soft *soft) {
    for (long r = 0; r < g->highest; r++) {
        if (!(w[r] < STEEP && w[r] > -STEEP)) return 0;
        soft->grown[r] = exp(w[r]);
    }
    for (long width = 1; width <= x->n; width++)
        for (long i = 0; i < x->n - width + 1; i++) {
            double top = NOWHERE;
            for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++) {
                double value = row_of(g, x, room->chart, s, width)[i];
                top = value > top ? value : top;
            }
            soft->level[width * x->pitch + i] = top;
            for (long s = width > 1 ? g->tags : 0; REACHED(top) && s < g->symbols; s++) {
                double value = row_of(g, x, room->chart, s, width)[i];
                if (REACHED(value) && value < top - FAINT) return 0;
            }
            for (long k = 1; REACHED(top) && k < width; k++) {
                double a = level_of(x, soft, k, i), b = level_of(x, soft, width - k, i + k);
                if (REACHED(a) && REACHED(b) && (a + b) - top > FAINT) return 0;
            }
            for (long s = 0; s < g->labels; s++) {
                double charge = charge_of(x, s, width, i);
                if (!(charge < STEEP && charge > -STEEP)) return 0;
            }
        }
    return 1;
}

/* Charges of one width, and what the splits of its spans are multiplied with; 0 beyond. */
INLINE void begin_soft(const Rules *g, const Sentence *x, const Soft *soft, long width) {
    long spans = x->n - width + 1, pitch = x->pitch;
    for (long s = 0; s < g->labels; s++)
        for (long i = 0; i < pitch; i++)
            soft->charges[s * pitch + i] = i < spans ? exp(charge_of(x, s, width, i)) : 0.0;
    for (long k = 1; k < width; k++)
        for (long i = 0; i < pitch; i++) {
            double *to = soft->share + k * pitch + i;
            *to = 0.0;
            if (i >= spans) continue;
            double a = level_of(x, soft, k, i), b = level_of(x, soft, width - k, i + k);
            double own = level_of(x, soft, width, i);
            if (REACHED(a) && REACHED(b) && REACHED(own)) *to = exp((a + b) - own);
        }
}

/* The sums of layers 1 and above of all spans of a width, from layer 0. */
INLINE void sum_layers(const Rules *g, const Sentence *x, const Soft *soft, long width) {
    long pitch = x->pitch, size = g->uppers * pitch;
    for (long u = 1; u <= g->chain; u++) {
        double *to = soft->layers + u * size;
        const double *from = to - size;
        memset(to, 0, (size_t)size * sizeof(double));
        for (long r = 0; r < g->unaries; r++) {
            long s = g->below[r], upper = g->upper_row[s];
            if ((width > 1 && s < g->tags) || (u > 1 && upper < 0)) continue;
            const double *below =
                u > 1 ? from + upper * pitch : row_of(g, x, soft->plain, s, width);
            double *above = to + g->upper_row[g->above[r]] * pitch, own = soft->grown[g->unary[r]];
            for (long i = 0; i < pitch; i++) above[i] += below[i] * own;
        }
        for (long k = 0; k < g->uppers; k++) {
            long label = g->label[g->upper[k]];
            for (long i = 0; label >= 0 && i < pitch; i++)
                to[k * pitch + i] *= soft->charges[label * pitch + i];
        }
    }
}

/* pair[i] = sum over splits of share times left times right. */
INLINE void sum_pair(const Rules *g, const Sentence *x, const Room *room, const Soft *soft, long p,
                     long width, long count) {
    long pitch = x->pitch, lanes = (x->n - width + 8) & ~7L;
    const double *left = row_of(g, x, soft->sums, g->left[p], 1);
    const double *right = row_of(g, x, soft->sums, g->right[p], 1);
    for (long i = 0; i < lanes; i++) soft->pair[i] = 0.0;
    for (long j = 0; j < count; j++) {
        long k = room->splits[j];
        const double *a = left + (k - 1) * pitch, *b = right + (width - k - 1) * pitch + k;
        const double *f = soft->share + k * pitch;
        for (long i = 0; i < lanes; i++) soft->pair[i] += f[i] * a[i] * b[i];
    }
}

/* log Z, after parse_best; the sentence has a derivation. */
WIDE double parse_inside(const Rules *g, const Sentence *x, const double *w, const Room *room,
                         const Soft *soft) {
    long n = x->n, pitch = x->pitch, size = rows_of(g, n) * pitch;
    memset(soft->sums, 0, (size_t)size * sizeof(double));
    memset(soft->plain, 0, (size_t)size * sizeof(double));
    for (long width = 1; width <= n; width++) {
        long lanes = (n - width + 8) & ~7L;
        begin_soft(g, x, soft, width);
        for (long s = 0; width == 1 && s < g->tags; s++)
            for (long i = 0; i < n; i++) {
                double value = plain_of(g, x, room, s, 1)[i];
                if (REACHED(value))
                    soft->plain[s * pitch + i] = exp(value - level_of(x, soft, 1, i));
            }
        for (long p = 0; width > 1 && p < g->pairs; p++) {
            long count = splits_of(g, x, room, p, width);
            if (count == 0) continue;
            sum_pair(g, x, room, soft, p, width, count);
            for (long j = g->begin[p]; j < g->begin[p + 1]; j++) {
                double *to = row_of(g, x, soft->plain, g->parent[j], width);
                double own = soft->grown[g->rule[j]];
                for (long i = 0; i < lanes; i++) to[i] += soft->pair[i] * own;
            }
        }
        for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++) {
            double *plain = row_of(g, x, soft->plain, s, width);
            double *sums = row_of(g, x, soft->sums, s, width);
            for (long i = 0; g->label[s] >= 0 && i < pitch; i++)
                plain[i] *= soft->charges[g->label[s] * pitch + i];
            memcpy(sums, plain, (size_t)pitch * sizeof(double));
        }
        sum_layers(g, x, soft, width);
        for (long u = 1; u <= g->chain; u++)
            for (long k = 0; k < g->uppers; k++) {
                double *sums = row_of(g, x, soft->sums, g->upper[k], width);
                const double *own = soft->layers + (u * g->uppers + k) * pitch;
                for (long i = 0; i < pitch; i++) sums[i] += own[i];
            }
    }
    double total = 0.0;
    for (long r = 0; r < g->roots; r++)
        if (g->top[r] >= g->tags || n == 1)
            total += row_of(g, x, soft->sums, g->top[r], n)[0] * soft->grown[g->root[r]];
    return log(total) + level_of(x, soft, n, 0);
}

/* What is outside of all layers of the spans of a width, from what is outside of their sums.
   Adds `cost` times expected counts to rules, unless counts is NULL. */
INLINE void out_layers(const Rules *g, const Sentence *x, const Soft *soft, long width,
                       double cost, double *counts) {
    long pitch = x->pitch, size = g->uppers * pitch;
    sum_layers(g, x, soft, width);
    for (long s = width > 1 ? g->tags : 0; s < g->symbols; s++)
        memcpy(soft->below + s * pitch, row_of(g, x, soft->outer, s, width),
               (size_t)pitch * sizeof(double));
    for (long u = 1; u <= g->chain; u++)
        for (long k = 0; k < g->uppers; k++)
            memcpy(soft->above + u * size + k * pitch,
                   row_of(g, x, soft->outer, g->upper[k], width), (size_t)pitch * sizeof(double));
    for (long u = g->chain; u >= 1; u--)
        for (long r = 0; r < g->unaries; r++) {
            long s = g->below[r], upper = g->upper_row[s], a = g->upper_row[g->above[r]];
            if ((width > 1 && s < g->tags) || (u > 1 && upper < 0)) continue;
            const double *out = soft->above + u * size + a * pitch;
            const double *charge = soft->charges + g->label[g->above[r]] * pitch;
            const double *sums =
                u > 1 ? soft->layers + (u - 1) * size + upper * pitch
                      : row_of(g, x, soft->plain, s, width);
            double *to = u > 1 ? soft->above + (u - 1) * size + upper * pitch
                               : soft->below + s * pitch;
            double own = soft->grown[g->unary[r]], total = 0.0;
            for (long i = 0; i < pitch; i++) {
                double value = out[i] * own;
                if (g->label[g->above[r]] >= 0) value *= charge[i];
                to[i] += value;
                total += value * sums[i];
            }
            if (counts != NULL) counts[g->unary[r]] += cost * total;
        }
}

/* Expected brackets of one width, by label and start: nodes (labels, n, pitch) += cost E. */
INLINE void out_nodes(const Rules *g, const Sentence *x, const Soft *soft, long width, double cost,
                      double *nodes) {
    long pitch = x->pitch;
    for (long s = g->tags; s < g->symbols; s++) {
        if (g->label[s] < 0) continue;
        double *to = nodes + (g->label[s] * x->n + width - 1) * pitch;
        const double *plain = row_of(g, x, soft->plain, s, width), *out = soft->below + s * pitch;
        for (long i = 0; i < x->n - width + 1; i++) to[i] += cost * plain[i] * out[i];
        for (long u = 1; g->upper_row[s] >= 0 && u <= g->chain; u++) {
            long at = (u * g->uppers + g->upper_row[s]) * pitch;
            for (long i = 0; i < x->n - width + 1; i++)
                to[i] += cost * soft->layers[at + i] * soft->above[at + i];
        }
    }
}

/* Outside of the spans below a width, and expected counts of its rules with two children. */
INLINE void out_binaries(const Rules *g, const Sentence *x, const Room *room, const Soft *soft,
                         long width, double cost, double *counts) {
    long pitch = x->pitch, lanes = (x->n - width + 8) & ~7L;
    for (long p = 0; p < g->pairs; p++) {
        long count = splits_of(g, x, room, p, width);
        if (count == 0) continue;
        sum_pair(g, x, room, soft, p, width, count);
        for (long i = 0; i < lanes; i++) soft->around[i] = 0.0;
        for (long j = g->begin[p]; j < g->begin[p + 1]; j++) {
            long s = g->parent[j], label = g->label[s];
            const double *out = soft->below + s * pitch, *charge = soft->charges + label * pitch;
            double own = soft->grown[g->rule[j]], total = 0.0;
            for (long i = 0; i < lanes; i++) {
                double value = out[i] * own;
                if (label >= 0) value *= charge[i];
                soft->around[i] += value;
                total += value * soft->pair[i];
            }
            counts[g->rule[j]] += cost * total;
        }
        double *out_left = row_of(g, x, soft->outer, g->left[p], 1);
        double *out_right = row_of(g, x, soft->outer, g->right[p], 1);
        const double *left = row_of(g, x, soft->sums, g->left[p], 1);
        const double *right = row_of(g, x, soft->sums, g->right[p], 1);
        for (long j = 0; j < count; j++) {
            long k = room->splits[j], a = (k - 1) * pitch, b = (width - k - 1) * pitch + k;
            const double *f = soft->share + k * pitch;
            for (long i = 0; i < lanes; i++) {
                double value = f[i] * soft->around[i];
                soft->pair[i] = value * left[a + i];
                out_left[a + i] += value * right[b + i];
            }
            for (long i = 0; i < lanes; i++) out_right[b + i] += soft->pair[i];
        }
    }
}

/* Adds cost times expected counts: of rules; of brackets, (labels, n, pitch), and parts of speech,
   (n, tags), unless they are NULL. */
WIDE void parse_outside(const Rules *g, const Sentence *x, const double *w, const Room *room,
                        const Soft *soft, double logz, double cost, double *counts, double *nodes,
                        double *tags) {
    long n = x->n, pitch = x->pitch;
    memset(soft->outer, 0, (size_t)(rows_of(g, n) * pitch) * sizeof(double));
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && n > 1) continue;
        double out = exp((w[g->root[r]] + level_of(x, soft, n, 0)) - logz);
        row_of(g, x, soft->outer, g->top[r], n)[0] += out;
        counts[g->root[r]] += cost * out * row_of(g, x, soft->sums, g->top[r], n)[0];
    }
    for (long width = n; width >= 1; width--) {
        begin_soft(g, x, soft, width);
        out_layers(g, x, soft, width, cost, counts);
        if (nodes != NULL) out_nodes(g, x, soft, width, cost, nodes);
        if (width > 1) out_binaries(g, x, room, soft, width, cost, counts);
    }
    for (long s = 0; tags != NULL && s < g->tags; s++)
        for (long i = 0; i < n; i++)
            tags[i * g->tags + s] += cost * soft->below[s * pitch + i] * soft->plain[s * pitch + i];
}

#endif
