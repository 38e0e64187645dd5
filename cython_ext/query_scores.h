/* Scores and sums of a query's documents, whose values are stored feature by feature.

   A document's sum runs over the features in order, whichever documents are computed with it. */

#ifndef LSSVM_QUERY_SCORES_H
#define LSSVM_QUERY_SCORES_H

#include <stddef.h>
#include <stdlib.h>

#include "wide.h"

INLINE void query_tile(const double *block, ptrdiff_t documents, ptrdiff_t features,
                       const double *w, double *out, const int lanes) {
    double sum[32];
    for (int l = 0; l < lanes; l++) sum[l] = 0.0;
    for (ptrdiff_t j = 0; j < features; j++) {
        const double *values = block + j * documents;
        double weight = w[j];
        for (int l = 0; l < lanes; l++) sum[l] += weight * values[l];
    }
    for (int l = 0; l < lanes; l++) out[l] = sum[l];
}

/* out (documents) = w (features) times block (features, documents) */
WIDE
static void query_scores(const double *block, ptrdiff_t documents, ptrdiff_t features,
                         const double *w, double *out) {
    ptrdiff_t p = 0;
    for (; p + 32 <= documents; p += 32)
        query_tile(block + p, documents, features, w, out + p, 32);
    for (; p + 8 <= documents; p += 8)
        query_tile(block + p, documents, features, w, out + p, 8);
    for (; p < documents; p++) query_tile(block + p, documents, features, w, out + p, 1);
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
