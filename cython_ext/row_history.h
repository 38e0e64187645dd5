/* Products of vectors in single precision with vectors in double precision, which is also the
   precision of the sums. */

#ifndef LSSVM_ROW_HISTORY_H
#define LSSVM_ROW_HISTORY_H

#include <stddef.h>

#include "wide.h"

/* The sum of row[i] * vector[i], computed as 32 partial sums. */
WIDE
static double history_inner(const float *row, const double *vector, ptrdiff_t size) {
    double part[32] = {0.0}, sum = 0.0;
    ptrdiff_t i = 0;
    for (; i + 32 <= size; i += 32)
        for (int l = 0; l < 32; l++) part[l] += (double)row[i + l] * vector[i + l];
    for (int l = 0; i + l < size; l++) part[l] += (double)row[i + l] * vector[i + l];
    for (int l = 0; l < 32; l++) sum += part[l];
    return sum;
}

/* vector += coefficient * row; the two do not overlap */
WIDE
static void history_add(const float *__restrict row, double coefficient, ptrdiff_t size,
                        double *__restrict vector) {
    for (ptrdiff_t i = 0; i < size; i++) vector[i] += coefficient * (double)row[i];
}

#endif
