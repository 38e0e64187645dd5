/* Sums over the windows of a sequence. */

#ifndef LSSVM_MOTIF_SOFT_H
#define LSSVM_MOTIF_SOFT_H

#include "lane_math.h"

/* Make scores exp((score - most) / eps); their sum, eight partial sums at a time. */
WIDE double motif_exponentials(double *scores, long count, double most, double eps) {
    double sums[8] = {0.0}, scale = lane_inverse(eps), total = 0.0;
    for (long i = 0; i < count; i++) scores[i] = lane_exp((scores[i] - most) * scale);
    for (long i = 0; i + 8 <= count; i += 8)
        for (int l = 0; l < 8; l++) sums[l] += scores[i + l];
    for (long i = count & ~7L; i < count; i++) total += scores[i];
    for (int l = 0; l < 8; l++) total += sums[l];
    return total;
}

#endif
