/* Scores of a query's documents, whose values lie feature by feature.

   A document's sum runs over the features in order, whatever documents stand beside it. */

#ifndef LSSVM_QUERY_SCORES_H
#define LSSVM_QUERY_SCORES_H

#include <stddef.h>

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

#endif
