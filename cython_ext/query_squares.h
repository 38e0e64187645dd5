/* Sums of squares of rows: upper triangle of sum row' row. */

#ifndef LSSVM_QUERY_SQUARES_H
#define LSSVM_QUERY_SQUARES_H

#include <stddef.h>

#include "wide.h"

enum { SQUARED_ROWS = 8 }; /* that are added at a time */

/* out (width, width), its upper triangle alone, += rows' rows of SQUARED_ROWS rows (width) */
WIDE
static void add_squares(const double *rows, ptrdiff_t width, double *out) {
    const double *r0 = rows, *r1 = r0 + width, *r2 = r1 + width, *r3 = r2 + width;
    const double *r4 = r3 + width, *r5 = r4 + width, *r6 = r5 + width, *r7 = r6 + width;
    for (ptrdiff_t a = 0; a < width; a++) {
        double *line = out + a * width;
        double f0 = r0[a], f1 = r1[a], f2 = r2[a], f3 = r3[a];
        double f4 = r4[a], f5 = r5[a], f6 = r6[a], f7 = r7[a];
        for (ptrdiff_t b = a; b < width; b++)
            line[b] += ((f0 * r0[b] + f1 * r1[b]) + (f2 * r2[b] + f3 * r3[b])) +
                       ((f4 * r4[b] + f5 * r5[b]) + (f6 * r6[b] + f7 * r7[b]));
    }
}

#endif
