/* Products of rows with columns of weights, for any vector width of the processor.

   A score is summed in the order of the features, so that it does not depend on which rows are
   computed together with it. */

#ifndef LSSVM_ROW_SCORES_H
#define LSSVM_ROW_SCORES_H

#include <stddef.h>

#include "wide.h"

enum { LSSVM_TILE_ROWS = 8, LSSVM_TILE_COLUMNS = 8 };

#if defined(__GNUC__)
typedef double lssvm_vector
    __attribute__((vector_size(64), aligned(8), may_alias)); /* one row of a tile */

/* out[r * out_stride + c] = sum over j of x[r * width + j] * w[8 * j + c], r and c from 0 to 7 */
WIDE MAYBE_UNUSED
static void lssvm_score_tile(const double *x, ptrdiff_t width, const double *w, double *out,
                             ptrdiff_t out_stride)
{
    lssvm_vector a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, a4 = {0}, a5 = {0}, a6 = {0}, a7 = {0};
    for (ptrdiff_t j = 0; j < width; j++) {
        const lssvm_vector v = *(const lssvm_vector *)(w + LSSVM_TILE_COLUMNS * j);
        a0 += x[j] * v;
        a1 += x[width + j] * v;
        a2 += x[2 * width + j] * v;
        a3 += x[3 * width + j] * v;
        a4 += x[4 * width + j] * v;
        a5 += x[5 * width + j] * v;
        a6 += x[6 * width + j] * v;
        a7 += x[7 * width + j] * v;
    }
    *(lssvm_vector *)(out) = a0;
    *(lssvm_vector *)(out + out_stride) = a1;
    *(lssvm_vector *)(out + 2 * out_stride) = a2;
    *(lssvm_vector *)(out + 3 * out_stride) = a3;
    *(lssvm_vector *)(out + 4 * out_stride) = a4;
    *(lssvm_vector *)(out + 5 * out_stride) = a5;
    *(lssvm_vector *)(out + 6 * out_stride) = a6;
    *(lssvm_vector *)(out + 7 * out_stride) = a7;
}
#else
MAYBE_UNUSED static void lssvm_score_tile(const double *x, ptrdiff_t width, const double *w, double *out,
                             ptrdiff_t out_stride)
{
    for (ptrdiff_t r = 0; r < LSSVM_TILE_ROWS; r++) {
        double a[LSSVM_TILE_COLUMNS] = {0};
        for (ptrdiff_t j = 0; j < width; j++)
            for (ptrdiff_t c = 0; c < LSSVM_TILE_COLUMNS; c++)
                a[c] += x[r * width + j] * w[LSSVM_TILE_COLUMNS * j + c];
        for (ptrdiff_t c = 0; c < LSSVM_TILE_COLUMNS; c++)
            out[r * out_stride + c] = a[c];
    }
}
#endif

/* out[c] += factor * row[c]; the two do not overlap */
WIDE MAYBE_UNUSED
static void lssvm_add_row(double *__restrict out, double factor, const double *__restrict row,
                          ptrdiff_t size)
{
    for (ptrdiff_t c = 0; c < size; c++)
        out[c] += factor * row[c];
}

#endif
