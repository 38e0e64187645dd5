/* Losses that depend on two counts of a tree: its brackets, p, and those that are true ones, m.

   Let S(m, p) be the highest w . Phi of a tree with these counts, L(m, p) its loss. For any
   multipliers, S(m, p) <= V - alpha p - beta m with V the highest w . Phi + alpha p + beta m of all
   trees, which is exact in the chart. The least of these bounds over several multipliers bounds
   L + S (or L (1 + S - score of the truth)) for each pair of counts, and the highest over all pairs
   bounds loss-augmented inference. Each chart also gives a tree; the best one that was seen is what
   inference returns. New multipliers lower the bound of the pair that is highest, by a plane search
   over the trees seen: V is the highest of their linear functions of alpha and beta, and more. */

#ifndef LSSVM_PARSING_BOUNDS_H
#define LSSVM_PARSING_BOUNDS_H

#include <math.h>

#include "_parsing_truth.h"

enum { WRONG = 0, F1 = 1, MOST_CHARTS = 12 };

typedef struct {
    int kind, root, slack; /* WRONG or F1; whether L is the square root of the loss */
    double truth;          /* w . Phi of the true derivation */
    long golds;            /* true brackets */
} Loss;

INLINE double loss_of(const Loss *loss, long matched, long brackets) {
    double found;
    if (loss->kind == WRONG)
        found = (double)(brackets - matched);
    else if (loss->golds + brackets == 0)
        found = 0.0;
    else
        found = 1.0 - 2.0 * (double)matched / (double)(loss->golds + brackets);
    return loss->root ? sqrt(found) : found;
}

INLINE double augmented_of(const Loss *loss, double margin, double score) {
    if (loss->slack) return margin * (1.0 + (score - loss->truth)) + loss->truth;
    return margin + score;
}

/* Trees, the true one first; behind it one of each chart, with its multipliers and its value. */
typedef struct {
    long count;
    double score[MOST_CHARTS + 1], alpha[MOST_CHARTS + 1], beta[MOST_CHARTS + 1];
    double value[MOST_CHARTS + 1];
    long brackets[MOST_CHARTS + 1], matched[MOST_CHARTS + 1];
} Seen;

/* The highest function of the trees seen, for a pair of counts. */
INLINE double highest_seen(const Seen *seen, long matched, long brackets, double alpha,
                           double beta) {
    double most = NOWHERE;
    for (long k = 0; k < seen->count; k++) {
        double value = seen->score[k] + alpha * (double)(seen->brackets[k] - brackets) +
                       beta * (double)(seen->matched[k] - matched);
        most = value > most ? value : most;
    }
    return most;
}

/* Where a alpha + b beta = c and d alpha + e beta = f; whether there is such a place in reach. */
INLINE int crossing(double a, double b, double c, double d, double e, double f, double reach,
                    double *alpha, double *beta) {
    double area = a * e - b * d;
    if (area == 0.0) return 0;
    *alpha = (c * e - b * f) / area;
    *beta = (a * f - c * d) / area;
    return *alpha >= -reach && *alpha <= reach && *beta >= -reach && *beta <= reach;
}

/* Multipliers within reach with the least bound of a pair of counts, as far as the trees seen tell:
   a vertex, where three of their functions are equal, or two at the end of the reach. */
INLINE double next_multipliers(const Seen *seen, long matched, long brackets, double reach,
                               double *alpha, double *beta) {
    double best = -NOWHERE, a = 0.0, b = 0.0;
    for (long i = 0; i < seen->count; i++)
        for (long j = i + 1; j < seen->count; j++) {
            double x = (double)(seen->brackets[i] - seen->brackets[j]);
            double y = (double)(seen->matched[i] - seen->matched[j]);
            double z = seen->score[j] - seen->score[i];
            for (long k = j + 1; k < seen->count + 4; k++) {
                long end = k - seen->count;
                double u = 0.0, v = 0.0, t = end & 1 ? reach : -reach;
                if (end < 0) {
                    u = (double)(seen->brackets[i] - seen->brackets[k]);
                    v = (double)(seen->matched[i] - seen->matched[k]);
                    t = seen->score[k] - seen->score[i];
                } else if (end < 2) {
                    u = 1.0;
                } else {
                    v = 1.0;
                }
                if (!crossing(x, y, z, u, v, t, reach, &a, &b)) continue;
                double value = highest_seen(seen, matched, brackets, a, b);
                if (value < best) best = value, *alpha = a, *beta = b;
            }
        }
    for (int end = 0; end < 4; end++) {
        a = end & 1 ? reach : -reach, b = end & 2 ? reach : -reach;
        double value = highest_seen(seen, matched, brackets, a, b);
        if (value < best) best = value, *alpha = a, *beta = b;
    }
    return best;
}

/* Multipliers that the slopes of the loss at a pair of counts suggest: then the bounds of pairs near
   it fall as well. Whether there are any. score : bound of the pair */
INLINE int slopes(const Loss *loss, long matched, long brackets, double score, double *alpha,
                  double *beta) {
    double total = (double)(loss->golds + brackets), margin = loss_of(loss, matched, brackets);
    double scale = loss->root ? 0.5 / margin : 1.0;
    if (margin <= 0.0 || total <= 0.0) return 0;
    if (loss->slack) scale *= (1.0 + (score - loss->truth)) / margin;
    *beta = scale * (loss->kind == F1 ? -2.0 / total : -1.0);
    *alpha = scale * (loss->kind == F1 ? 2.0 * (double)matched / (total * total) : 1.0);
    return 1;
}

typedef struct {
    double *scores;  /* (golds + 1, most + 1), bounds of S */
    double *margins; /* the same, L */
    int *best;       /* rules of the best tree seen */
    long most;       /* brackets that a tree can have */
    long count;      /* rules in best */
    double value, margin, upper;
    Seen seen;
} Bound;

/* A sentence and what its charts share. The sentence's alpha and beta change.
   tree : room for a derivation, whose rules are trace's; left : (golds) room */
typedef struct {
    const Rules *g;
    const Shapes *shapes;
    Sentence *x;
    const double *w;
    const Room *room;
    const Loss *loss;
    Tree *tree;
    Trace *trace;
    int *left;
    Bound *bound;
} Charts;

/* The pair of counts whose bound is the highest, the last pair whose slopes were taken, and how far
   multipliers may reach. */
typedef struct {
    long matched, brackets, last_matched, last_brackets;
    double range;
} Target;

INLINE long most_brackets(const Rules *g, long n) {
    return n * g->chain + (n - 1) * (1 + g->chain);
}

/* The highest bound of all pairs, and the pair. */
INLINE double highest_pair(const Loss *loss, const Bound *bound, long *matched, long *brackets) {
    double top = NOWHERE;
    for (long m = 0; m <= loss->golds; m++)
        for (long p = m; p <= bound->most; p++) {
            long at = m * (bound->most + 1) + p;
            if (!REACHED(bound->scores[at])) continue;
            double value = augmented_of(loss, bound->margins[at], bound->scores[at]);
            if (value > top) top = value, *matched = m, *brackets = p;
        }
    return top;
}

/* Begins with the true derivation, `count` rules, as the best one. The first multipliers are the
   slopes of the loss where a tree has as many brackets as the true one, half of them true ones. */
INLINE Target begin_bound(const Charts *c, const int *rules, long count) {
    const Loss *loss = c->loss;
    Bound *bound = c->bound;
    Target target = {0, 0, -1, -1, 1.0};
    bound->most = most_brackets(c->g, c->x->n);
    for (long m = 0; m <= loss->golds; m++)
        for (long p = m; p <= bound->most; p++) {
            bound->margins[m * (bound->most + 1) + p] = loss_of(loss, m, p);
            bound->scores[m * (bound->most + 1) + p] = -NOWHERE;
        }
    memcpy(bound->best, rules, (size_t)count * sizeof(int));
    bound->count = count;
    bound->margin = 0.0;
    bound->value = loss->truth;
    bound->seen.count = 1;
    bound->seen.score[0] = loss->truth;
    bound->seen.brackets[0] = bound->seen.matched[0] = loss->golds;
    c->x->alpha = 1.0, c->x->beta = -2.0;
    slopes(loss, loss->golds / 2, loss->golds, loss->truth, &c->x->alpha, &c->x->beta);
    return target;
}

/* The chart of the sentence's multipliers, its tree, and what it tells of the bounds. */
INLINE void see_chart(const Charts *c, Target *target) {
    Bound *bound = c->bound;
    Seen *seen = &bound->seen;
    double alpha = c->x->alpha, beta = c->x->beta;
    double value = parse_best(c->g, c->x, c->w, c->room);
    parse_trace(c->g, c->x, c->w, c->room, value, c->trace);
    c->tree->count = c->trace->count;
    c->tree->rules = c->trace->rules;
    parse_spans(c->shapes->parent, c->shapes->left, c->shapes->right, c->g->tags, c->tree,
                c->room->stack);
    long at = seen->count++;
    seen->alpha[at] = alpha, seen->beta[at] = beta, seen->value[at] = value;
    seen->score[at] = parse_measure(c->g, c->shapes, c->x, c->w, c->tree, c->left,
                                    &seen->brackets[at], &seen->matched[at]);
    double margin = loss_of(c->loss, seen->matched[at], seen->brackets[at]);
    double own = augmented_of(c->loss, margin, seen->score[at]);
    if (own > bound->value) {
        bound->value = own;
        bound->margin = margin;
        bound->count = c->trace->count;
        memcpy(bound->best, c->trace->rules, (size_t)c->trace->count * sizeof(int));
    }
    for (long m = 0; m <= c->loss->golds; m++)
        for (long p = m; p <= bound->most; p++) {
            double most = value - alpha * (double)p - beta * (double)m;
            double *to = bound->scores + m * (bound->most + 1) + p;
            *to = most < *to ? most : *to;
        }
    bound->upper = highest_pair(c->loss, bound, &target->matched, &target->brackets);
}

INLINE int has_gap(const Bound *bound) {
    return bound->upper > bound->value + 1e-12 * (1.0 + fabs(bound->upper));
}

/* The multipliers of the next chart; whether there are any that may lower the highest bound. */
INLINE int next_chart(const Charts *c, Target *target) {
    const Bound *bound = c->bound;
    const Seen *seen = &bound->seen;
    long m = target->matched, p = target->brackets;
    double now = bound->scores[m * (bound->most + 1) + p];
    if (seen->count > MOST_CHARTS) return 0;
    target->range += fabs(now - seen->score[seen->count - 1]);
    if ((seen->count & 1) == 0 && (m != target->last_matched || p != target->last_brackets) &&
        slopes(c->loss, m, p, now, &c->x->alpha, &c->x->beta)) {
        target->last_matched = m, target->last_brackets = p;
        return 1;
    }
    double least = next_multipliers(seen, m, p, 4.0 * target->range, &c->x->alpha, &c->x->beta);
    return least < now - 1e-7 * (1.0 + fabs(now));
}

#endif
