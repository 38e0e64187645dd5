/* The labels of the mentions of one pair, where the use of a label by any mention counts once.

   A mention takes one label or none. With scores s and what the use of a label adds, g,

       maximise  sum over mentions of s(m, h(m))  +  sum over used labels of g(l)

   Labels with g >= 0 may be used freely: each mention has a best label, and those with g > 0 are
   assigned to mentions of their own, at the price of what these lose. Labels with g < 0 are paid
   for: sets of them are tried by branch and bound. */

#ifndef LSSVM_RELATION_BAG_H
#define LSSVM_RELATION_BAG_H

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "relation_assign.h"

typedef struct {
    ptrdiff_t mentions, labels;
    const double *scores; /* mentions rows of labels + 1, the last column is none */
    const double *gains;  /* (labels,) g */
} lssvm_bag;

/* Room for bags of up to M mentions and L labels, with up to D paid labels in a set. */
typedef struct {
    double *best;    /* (D + 1, M) the best score of each mention among the labels of a set */
    int *chosen;     /* (D + 1, M) and its label */
    double *gains;   /* (D + 1, L) what further labels gain at most */
    double *sure;    /* (L,) what each paid label gains at least */
    double *weights; /* (M * L,) of the assignment */
    lssvm_assign_room assigned;     /* for M and L rows or columns */
    unsigned char *seen;            /* (L + 1,) */
    int *free_labels, *paid_labels; /* (L,) with g > 0, and g < 0 */
    int *labels;                    /* (M,) a labelling */
    ptrdiff_t free_count, paid_count;
    double highest; /* the value of the best labelling so far */
    long long left; /* sets that may still be tried */
} lssvm_bag_room;

/* The value of a labelling, mentions and used labels added in their order. */
static double lssvm_bag_value(const lssvm_bag *bag, const int *labels, unsigned char *used)
{
    const ptrdiff_t L = bag->labels;
    double value = 0.0;
    memset(used, 0, (size_t)L + 1);
    for (ptrdiff_t m = 0; m < bag->mentions; m++) {
        value += bag->scores[m * (L + 1) + labels[m]];
        used[labels[m]] = 1;
    }
    for (ptrdiff_t l = 0; l < L; l++)
        if (used[l])
            value += bag->gains[l];
    return value;
}

/* Labels with g > 0 get mentions of their own where that gains something; changes ``labels``.
   best : (mentions,) what each mention has without. */
static void lssvm_bag_match(const lssvm_bag *bag, const double *best, int *labels,
                            lssvm_bag_room *room)
{
    const ptrdiff_t M = bag->mentions, K = room->free_count, stride = bag->labels + 1;
    const int turned = K < M; /* rows are labels, of which there are fewer */
    const ptrdiff_t R = turned ? K : M, C = turned ? M : K;
    double *weights = room->weights;
    for (ptrdiff_t r = 0; r < R; r++) {
        for (ptrdiff_t c = 0; c < C; c++) {
            const ptrdiff_t m = turned ? c : r;
            const int label = room->free_labels[turned ? r : c];
            const double gain = bag->scores[m * stride + label] - best[m] + bag->gains[label];
            weights[r * C + c] = gain > 0.0 ? gain : 0.0;
        }
    }
    lssvm_assign(weights, R, C, 1, &room->assigned);
    for (ptrdiff_t c = 0; c < C; c++) {
        const ptrdiff_t r = room->assigned.match[c + 1] - 1;
        if (r >= 0 && weights[r * C + c] > 0.0)
            labels[turned ? c : r] = room->free_labels[turned ? r : c];
    }
}

/* What a paid label gains at most if it joins a set of labels that gives ``best`` to the mentions. */
static double lssvm_bag_gain(const lssvm_bag *bag, int label, const double *best)
{
    const ptrdiff_t stride = bag->labels + 1;
    double gain = bag->gains[label];
    for (ptrdiff_t m = 0; m < bag->mentions; m++) {
        const double more = bag->scores[m * stride + label] - best[m];
        gain += more > 0.0 ? more : 0.0;
    }
    return gain;
}

/* Add a paid label to a set: ``wider`` and ``others`` from ``best`` and ``chosen``, (mentions,). */
static void lssvm_bag_widen(const lssvm_bag *bag, int label, const double *best, const int *chosen,
                            double *wider, int *others)
{
    const ptrdiff_t stride = bag->labels + 1;
    for (ptrdiff_t m = 0; m < bag->mentions; m++) {
        const double score = bag->scores[m * stride + label];
        const int better = score > best[m];
        others[m] = better ? label : chosen[m];
        wider[m] = better ? score : best[m];
    }
}

/* Try the set of labels that ``best`` and ``chosen`` at this depth stand for, and all sets that
   have it and further labels from ``first`` on. More labels in a set lessen what another one gains,
   so that the sum of what each gains bounds what all of them gain. Returns 0 once there are too
   many sets; at depth 0 ``bound`` is what no set exceeds. */
static int lssvm_bag_visit(const lssvm_bag *bag, ptrdiff_t depth, ptrdiff_t first, int *found,
                           double *bound, lssvm_bag_room *room)
{
    const ptrdiff_t M = bag->mentions;
    const double *best = room->best + depth * M;
    const int *chosen = room->chosen + depth * M;
    double *gains = room->gains + depth * bag->labels;
    double rest = 0.0;
    if (--room->left < 0)
        return 0;
    for (ptrdiff_t m = 0; m < M; m++)
        room->labels[m] = chosen[m];
    if (room->free_count)
        lssvm_bag_match(bag, best, room->labels, room);
    const double value = lssvm_bag_value(bag, room->labels, room->seen);
    if (value > room->highest) {
        room->highest = value;
        for (ptrdiff_t m = 0; m < M; m++)
            found[m] = room->labels[m];
    }
    for (ptrdiff_t k = first; k < room->paid_count; k++) {
        gains[k] = lssvm_bag_gain(bag, room->paid_labels[k], best);
        rest += gains[k] > 0.0 ? gains[k] : 0.0;
    }
    *bound = value + rest;
    for (ptrdiff_t k = first; k < room->paid_count && value + rest > room->highest; k++) {
        double own;
        if (gains[k] <= 0.0)
            continue;
        lssvm_bag_widen(bag, room->paid_labels[k], best, chosen, room->best + (depth + 1) * M,
                        room->chosen + (depth + 1) * M);
        if (!lssvm_bag_visit(bag, depth + 1, k + 1, found, &own, room))
            return 0;
        rest -= gains[k];
    }
    return 1;
}

/* Keep the paid labels that may gain something, those that gain most first. Labels that gain
   something whatever the others are join every set: with all others in it, and even if each label
   with g > 0 has the mention where this one gains most. */
static void lssvm_bag_choose(const lssvm_bag *bag, lssvm_bag_room *room)
{
    const ptrdiff_t M = bag->mentions, stride = bag->labels + 1;
    double *gains = room->gains;
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < room->paid_count; k++) {
        const int label = room->paid_labels[k];
        double least = bag->gains[label], most = 0.0;
        for (ptrdiff_t m = 0; m < M; m++) {
            const double *scores = bag->scores + m * stride;
            double other = room->best[m];
            if (scores[label] <= other)
                continue;
            for (ptrdiff_t j = 0; j < room->paid_count; j++)
                if (j != k && scores[room->paid_labels[j]] > other)
                    other = scores[room->paid_labels[j]];
            if (scores[label] <= other)
                continue;
            least += scores[label] - other;
            most = scores[label] - other > most ? scores[label] - other : most;
        }
        room->sure[k] = least - (double)room->free_count * most;
    }
    for (ptrdiff_t k = 0; k < room->paid_count; k++)
        if (room->sure[k] > 0.0)
            lssvm_bag_widen(bag, room->paid_labels[k], room->best, room->chosen, room->best,
                            room->chosen);
    for (ptrdiff_t k = 0; k < room->paid_count; k++) {
        const int label = room->paid_labels[k];
        const double gain = lssvm_bag_gain(bag, label, room->best);
        if (room->sure[k] > 0.0 || gain <= 0.0)
            continue;
        ptrdiff_t at = count++;
        for (; at > 0 && gains[at - 1] < gain; at--) {
            gains[at] = gains[at - 1];
            room->paid_labels[at] = room->paid_labels[at - 1];
        }
        gains[at] = gain;
        room->paid_labels[at] = label;
    }
    room->paid_count = count;
}

/* The best labelling of a bag, (mentions,) with ``labels`` for none, in ``found``; ``value`` is its
   value. Returns 0 if more than ``room->left`` sets of paid labels would have to be tried:
   ``found`` is the best of those that were, and no labelling exceeds ``bound``.
   depth : paid labels in a set that there is room for. */
static int lssvm_bag_best(const lssvm_bag *bag, ptrdiff_t depth, int *found, double *value,
                          double *bound, lssvm_bag_room *room)
{
    const ptrdiff_t M = bag->mentions, L = bag->labels;
    room->free_count = room->paid_count = 0;
    room->highest = -DBL_MAX;
    for (ptrdiff_t m = 0; m < M; m++) {
        const double *scores = bag->scores + m * (L + 1);
        room->best[m] = scores[L];
        room->chosen[m] = (int)L;
        for (ptrdiff_t l = 0; l < L; l++) {
            if (scores[l] > room->best[m] && bag->gains[l] >= 0.0) {
                room->best[m] = scores[l];
                room->chosen[m] = (int)l;
            }
        }
        found[m] = room->chosen[m];
    }
    for (ptrdiff_t l = 0; l < L; l++) {
        if (bag->gains[l] > 0.0)
            room->free_labels[room->free_count++] = (int)l;
        if (bag->gains[l] < 0.0 && lssvm_bag_gain(bag, (int)l, room->best) > 0.0)
            room->paid_labels[room->paid_count++] = (int)l;
    }
    if (room->paid_count)
        lssvm_bag_choose(bag, room);
    if (room->paid_count > depth)
        room->left = 1;
    const int done = lssvm_bag_visit(bag, 0, 0, found, bound, room);
    *value = room->highest; /* of ``found`` */
    return done;
}

/* The best labelling that uses each of K labels, increasing, and no others; K <= mentions. */
static void lssvm_bag_complete(const lssvm_bag *bag, const int *labels, ptrdiff_t K, int *found,
                               lssvm_bag_room *room)
{
    const ptrdiff_t M = bag->mentions, L = bag->labels;
    for (ptrdiff_t m = 0; m < M; m++) {
        const double *scores = bag->scores + m * (L + 1);
        double best = scores[L];
        found[m] = (int)L;
        for (ptrdiff_t k = 0; k < K; k++) {
            if (scores[labels[k]] > best) {
                best = scores[labels[k]];
                found[m] = labels[k];
            }
        }
        for (ptrdiff_t k = 0; k < K; k++)
            room->weights[k * M + m] = scores[labels[k]] - best;
    }
    if (K == 0)
        return;
    lssvm_assign(room->weights, K, M, 0, &room->assigned);
    for (ptrdiff_t m = 0; m < M; m++)
        if (room->assigned.match[m + 1] > 0)
            found[m] = labels[room->assigned.match[m + 1] - 1];
}

#endif
