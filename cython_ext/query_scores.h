/* Scores and sums of a query's documents, whose values are stored feature by feature.

   A document's sum runs over the features in order with one rounding a term, so that documents with
   the same features have the same score, wherever they stand in their query. */

#ifndef LSSVM_QUERY_SCORES_H
#define LSSVM_QUERY_SCORES_H

#include <stddef.h>
#include <stdlib.h>

#include "wide.h"

/* out (documents) += w times ``rows`` features; each document's terms are added in their order. */
INLINE void query_strip(const double *restrict block, ptrdiff_t documents, const double *w,
                        double *restrict out, const int rows) {
    for (ptrdiff_t p = 0; p < documents; p++) {
        double sum = out[p];
        for (int j = 0; j < rows; j++) sum += w[j] * block[j * documents + p];
        out[p] = sum;
    }
}

/* out (documents) = w (features) times block (features, documents)

   The block is read once from its beginning to its end, eight features side by side, which the
   processor foresees; the sums stay in the nearest cache. */
WIDE
static void query_scores(const double *block, ptrdiff_t documents, ptrdiff_t features,
                         const double *w, double *out) {
    ptrdiff_t j = 0;
    for (ptrdiff_t p = 0; p < documents; p++) out[p] = 0.0;
    for (; j + 8 <= features; j += 8) query_strip(block + j * documents, documents, w + j, out, 8);
    for (; j + 2 <= features; j += 2) query_strip(block + j * documents, documents, w + j, out, 2);
    if (j < features) query_strip(block + j * documents, documents, w + j, out, 1);
}

/* out (features) += block (features, documents) times coefficients (documents) */
WIDE
static void query_sums(const double *block, ptrdiff_t documents, ptrdiff_t features,
                       const double *coefficients, double *out) {
    for (ptrdiff_t j = 0; j < features; j++, block += documents) {
        double part[8] = {0.0};
        ptrdiff_t p = 0;
        for (; p + 8 <= documents; p += 8)
            for (int l = 0; l < 8; l++) part[l] += coefficients[p + l] * block[p + l];
        for (int l = 0; p + l < documents; l++) part[l] += coefficients[p + l] * block[p + l];
        out[j] += ((part[0] + part[4]) + (part[2] + part[6])) +
                  ((part[1] + part[5]) + (part[3] + part[7]));
    }
}

typedef struct {
    double score;
    long long place;
} Placed;

static int query_before(const void *a, const void *b) {
    const Placed *one = (const Placed *)a, *other = (const Placed *)b;
    if (one->score != other->score) return one->score > other->score ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

/* order (documents) = indices by falling score, equal scores in their order; placed: scratch */
MAYBE_UNUSED static void query_order(const double *scores, ptrdiff_t documents, Placed *placed,
                                     long long *order) {
    for (ptrdiff_t p = 0; p < documents; p++) {
        placed[p].score = scores[p];
        placed[p].place = p;
    }
    qsort(placed, (size_t)documents, sizeof *placed, query_before);
    for (ptrdiff_t p = 0; p < documents; p++) order[p] = placed[p].place;
}

#endif
