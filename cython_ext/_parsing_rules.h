/* The tree whose rules, as read, have the highest product of posterior probabilities, summed over
   the parts of their symbols (max-rule; Petrov & Klein, NAACL 2007). Charts are of symbols as read,
   and begin with what _parsing_soft.h has summed. */

#ifndef LSSVM_PARSING_RULES_H
#define LSSVM_PARSING_RULES_H

#include "_parsing_logs.h"

typedef struct {
    long symbols, rules;            /* as read */
    const int *parent, *left, *right;
    double *whole;                  /* chart */
    double *layer;                  /* (chain + 1, symbols), of one span */
    double *share;                  /* (rules), 0 between uses */
    int *touched;                   /* (rules) */
    int *back, *split, *chosen;     /* (chain + 1 charts) rule; chart: left width; chart: layer */
} MaxRule;

INLINE long place_of(const Rules *g, const Sentence *x, long s, long width, long start) {
    if (s < g->tags) return s * x->pitch + start;
    return (g->tags + (s - g->tags) * x->n + width - 1) * x->pitch + start;
}

INLINE void touch(const MaxRule *m, long *count, int rule, double share) {
    if (share <= 0.0) return;
    if (m->share[rule] == 0.0) m->touched[(*count)++] = rule;
    m->share[rule] += share;
}

/* Layer 0 of a span. */
INLINE void rule_splits(const Rules *g, const Shapes *shapes, const Sentence *x, const Room *room,
                        const Soft *soft, const MaxRule *m, long start, long width) {
    for (long k = 1; k < width; k++) {
        long count = 0, row = x->n + 1;
        double f = soft->share[k * x->pitch + start];
        for (long p = 0; p < g->pairs && f > 0.0; p++) {
            long b = g->left[p], c = g->right[p];
            if ((b < g->tags && k > 1) || (c < g->tags && k < width - 1)) continue;
            if (!room->any[b * row + k] || !room->any[c * row + width - k]) continue;
            double both = f * row_of(g, x, soft->sums, b, k)[start] *
                          row_of(g, x, soft->sums, c, width - k)[start + k];
            for (long j = g->begin[p]; j < g->begin[p + 1] && both > 0.0; j++) {
                long s = g->parent[j], label = g->label[s];
                double value = both * soft->grown[g->rule[j]] * soft->below[s * x->pitch + start];
                if (label >= 0) value *= soft->charges[label * x->pitch + start];
                touch(m, &count, shapes->whole[g->rule[j]], value);
            }
        }
        for (long t = 0; t < count; t++) {
            int r = m->touched[t];
            double left = m->whole[place_of(g, x, m->left[r], k, start)];
            double right = m->whole[place_of(g, x, m->right[r], width - k, start + k)];
            double value = log(m->share[r]) + left + right;
            m->share[r] = 0.0;
            if (!(value > m->layer[m->parent[r]])) continue;
            m->layer[m->parent[r]] = value;
            m->back[place_of(g, x, m->parent[r], width, start)] = r;
            m->split[place_of(g, x, m->parent[r], width, start)] = (int)k;
        }
    }
}

/* The other layers of a span, and the best of all. */
INLINE void rule_chains(const Rules *g, const Shapes *shapes, const Sentence *x, const Soft *soft,
                        const MaxRule *m, long chart, long start, long width) {
    long pitch = x->pitch, size = g->uppers * pitch;
    for (long u = 1; u <= g->chain; u++) {
        long count = 0;
        for (long r = 0; r < g->unaries; r++) {
            long b = g->below[r], a = g->above[r], upper = g->upper_row[b];
            if ((width > 1 && b < g->tags) || (u > 1 && upper < 0)) continue;
            double below = u > 1 ? soft->layers[(u - 1) * size + upper * pitch + start]
                                 : row_of(g, x, soft->plain, b, width)[start];
            double value = below * soft->grown[g->unary[r]] *
                           soft->above[u * size + g->upper_row[a] * pitch + start];
            if (g->label[a] >= 0) value *= soft->charges[g->label[a] * pitch + start];
            touch(m, &count, shapes->whole[g->unary[r]], value);
        }
        for (long t = 0; t < count; t++) {
            int r = m->touched[t];
            double value = log(m->share[r]) + m->layer[(u - 1) * m->symbols + m->left[r]];
            double *to = m->layer + u * m->symbols + m->parent[r];
            m->share[r] = 0.0;
            if (!(value > *to)) continue;
            *to = value;
            m->back[u * chart + place_of(g, x, m->parent[r], width, start)] = r;
        }
    }
    for (long s = width > 1 ? g->tags : 0; s < m->symbols; s++)
        for (long u = 0; u <= g->chain; u++) {
            long at = place_of(g, x, s, width, start);
            if (!(m->layer[u * m->symbols + s] > m->whole[at])) continue;
            m->whole[at] = m->layer[u * m->symbols + s];
            m->chosen[at] = (int)u;
        }
}

/* The rules of the tree, as read, in preorder; returns their number, 0 if it is lost. `stack` is
   room's; after parse_outside. */
MAYBE_UNUSED static long parse_by_rules(const Rules *g, const Shapes *shapes, const Sentence *x,
                                        const double *w, const Room *room, const Soft *soft,
                                        const MaxRule *m, double logz, int *rules) {
    long n = x->n, chart = (g->tags + (m->symbols - g->tags) * n) * x->pitch, count = 0;
    Trace trace = {rules, 0, 0};
    for (long k = 0; k < chart; k++) m->whole[k] = NOWHERE;
    for (long width = 1; width <= n; width++) {
        begin_soft(g, x, soft, width);
        out_layers(g, x, soft, width, 0.0, NULL);
        for (long i = 0; i + width <= n; i++) {
            for (long k = 0; k < (g->chain + 1) * m->symbols; k++) m->layer[k] = NOWHERE;
            for (long s = 0; s < g->tags && width == 1; s++)
                if (row_of(g, x, soft->plain, s, 1)[i] > 0.0) m->layer[s] = 0.0;
            rule_splits(g, shapes, x, room, soft, m, i, width);
            rule_chains(g, shapes, x, soft, m, chart, i, width);
        }
    }
    for (long r = 0; r < g->roots; r++) {
        if (g->top[r] < g->tags && n > 1) continue;
        double sum = row_of(g, x, soft->sums, g->top[r], n)[0];
        touch(m, &count, shapes->whole[g->root[r]],
              sum * exp((w[g->root[r]] + level_of(x, soft, n, 0)) - logz));
    }
    double best = NOWHERE;
    for (long t = 0; t < count; t++) {
        int r = m->touched[t];
        double value = log(m->share[r]) + m->whole[place_of(g, x, m->left[r], n, 0)];
        m->share[r] = 0.0;
        if (value > best) best = value, rules[0] = r;
    }
    if (!REACHED(best)) return 0;
    trace.count = 1;
    push(room, &trace, m->left[rules[0]], 0, n, -1);
    while (trace.depth > 0) {
        const int *item = room->stack + 4 * --trace.depth;
        long s = item[0], start = item[1], width = item[2];
        long u = m->chosen[place_of(g, x, s, width, start)];
        for (; u > 0; u--) {
            int r = m->back[u * chart + place_of(g, x, s, width, start)];
            rules[trace.count++] = r;
            s = m->left[r];
        }
        if (s < g->tags) continue;
        int r = m->back[place_of(g, x, s, width, start)];
        long k = m->split[place_of(g, x, s, width, start)];
        rules[trace.count++] = r;
        push(room, &trace, m->right[r], start + k, width - k, -1);
        push(room, &trace, m->left[r], start, k, -1);
    }
    return trace.count;
}

#endif
