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

/* The same for every row: w[row(j) * columns + c] += x[j] * factors[c], row(j) = j or indices[j] */
WIDE MAYBE_UNUSED
static void lssvm_add_rows(double *__restrict w, const double *__restrict x, const int *indices,
                           ptrdiff_t count, const double *__restrict factors, ptrdiff_t columns)
{
    for (ptrdiff_t j = 0; j < count; j++) {
        double *row = w + columns * (indices ? indices[j] : j);
        ptrdiff_t c = 0;
#if defined(__GNUC__)
        /* The last vector ends with the last column; it is read before what it overlaps changes. */
        const ptrdiff_t last = columns - LSSVM_TILE_COLUMNS;
        if (last >= 0) {
            const lssvm_vector end = *(const lssvm_vector *)(row + last)
                                     + x[j] * *(const lssvm_vector *)(factors + last);
            for (; c < last; c += LSSVM_TILE_COLUMNS)
                *(lssvm_vector *)(row + c) += x[j] * *(const lssvm_vector *)(factors + c);
            *(lssvm_vector *)(row + last) = end;
            continue;
        }
#endif
        for (; c < columns; c++)
            row[c] += x[j] * factors[c];
    }
}

#if defined(__GNUC__)
enum { LSSVM_TAIL = 1 }; /* columns behind the last whole vector that are summed one by one */

/* Sums for some vectors of columns, then for ``tail`` columns one by one. With no such columns, the
   last vector ends with the last column and may overlap. */
INLINE void lssvm_score_vectors(double *out, const double *x, const int *indices, ptrdiff_t count,
                                ptrdiff_t known, const double *w, ptrdiff_t columns,
                                ptrdiff_t first, const int vectors, const int tail)
{
    ptrdiff_t at[4] = {0};
    lssvm_vector sums[4] = {{0}};
    double rest[LSSVM_TAIL] = {0};
    const ptrdiff_t behind = first + vectors * LSSVM_TILE_COLUMNS;
    for (int v = 0; v < vectors; v++) {
        ptrdiff_t begin = first + v * LSSVM_TILE_COLUMNS, last = columns - LSSVM_TILE_COLUMNS;
        at[v] = begin < last ? begin : last;
    }
    for (ptrdiff_t j = 0; j < count; j++) {
        const double *row = w + columns * (indices ? indices[j] : j);
        if (indices && j + AHEAD < known) {
            const double *next = w + columns * indices[j + AHEAD];
            for (int v = 0; v < vectors; v++)
                __builtin_prefetch(next + at[v]);
            __builtin_prefetch(next + (tail ? behind + tail : at[vectors - 1] + LSSVM_TILE_COLUMNS)
                               - 1);
        }
        for (int v = 0; v < vectors; v++)
            sums[v] += x[j] * *(const lssvm_vector *)(row + at[v]);
        for (int c = 0; c < tail; c++)
            rest[c] += x[j] * row[behind + c];
    }
    for (int v = 0; v < vectors; v++)
        *(lssvm_vector *)(out + at[v]) = sums[v];
    for (int c = 0; c < tail; c++)
        out[behind + c] = rest[c];
}
#endif

/* out[c] = sum over j of x[j] * w[row(j) * columns + c], row(j) = j or indices[j]; ``known``
   indices may be read ahead, those of rows that follow among them. */
INLINE void lssvm_score_ahead(double *out, const double *x, const int *indices, ptrdiff_t count,
                              ptrdiff_t known, const double *w, ptrdiff_t columns)
{
#if defined(__GNUC__)
    if (columns == LSSVM_TILE_COLUMNS + 1) { /* labels of four kinds of names, as in CoNLL */
        lssvm_score_vectors(out, x, indices, count, known, w, columns, 0, 1, 1);
        return;
    }
    if (columns >= LSSVM_TILE_COLUMNS) {
        for (ptrdiff_t c = 0; c < columns; c += 4 * LSSVM_TILE_COLUMNS) {
            ptrdiff_t left = (columns - c + LSSVM_TILE_COLUMNS - 1) / LSSVM_TILE_COLUMNS;
            if (left >= 4)
                lssvm_score_vectors(out, x, indices, count, known, w, columns, c, 4, 0);
            else if (left == 3)
                lssvm_score_vectors(out, x, indices, count, known, w, columns, c, 3, 0);
            else if (left == 2)
                lssvm_score_vectors(out, x, indices, count, known, w, columns, c, 2, 0);
            else
                lssvm_score_vectors(out, x, indices, count, known, w, columns, c, 1, 0);
        }
        return;
    }
#endif
    for (ptrdiff_t c = 0; c < columns; c++)
        out[c] = 0.0;
    for (ptrdiff_t j = 0; j < count; j++) {
        const double *row = w + columns * (indices ? indices[j] : j);
        if (indices && j + AHEAD < known)
            prefetch_row(w + columns * indices[j + AHEAD], columns);
        for (ptrdiff_t c = 0; c < columns; c++)
            out[c] += x[j] * row[c];
    }
}

/* The same of one row alone. */
WIDE MAYBE_UNUSED
static void lssvm_score_row(double *out, const double *x, const int *indices, ptrdiff_t count,
                            const double *w, ptrdiff_t columns)
{
    lssvm_score_ahead(out, x, indices, count, count, w, columns);
}

#endif
