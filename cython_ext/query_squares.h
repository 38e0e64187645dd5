/* Sums of squares of rows: upper triangle of sum row' row. */

#ifndef LSSVM_QUERY_SQUARES_H
#define LSSVM_QUERY_SQUARES_H

#include <stddef.h>

#include "wide.h"

enum { SQUARED_ROWS = 8 }; /* that are added at a time */

/* Some lines of the sum, from the diagonal on; they share what is read of the rows. */
INLINE void squares_of_lines(const double *rows, ptrdiff_t width, ptrdiff_t a, double *out,
                             const int lines) {
    for (ptrdiff_t b = a; b < width; b++)
        for (int l = 0; l < lines; l++) {
            double sum = out[(a + l) * width + b];
            for (int r = 0; r < SQUARED_ROWS; r++)
                sum += rows[r * width + a + l] * rows[r * width + b];
            out[(a + l) * width + b] = sum;
        }
}

/* out (width, width) += rows' rows of SQUARED_ROWS rows (width), from the diagonal on. */
WIDE
static void add_squares(const double *restrict rows, ptrdiff_t width, double *restrict out) {
    ptrdiff_t a = 0;
    for (; a + 2 <= width; a += 2) squares_of_lines(rows, width, a, out, 2);
    for (; a < width; a++) squares_of_lines(rows, width, a, out, 1);
}

#endif
