/* Exponentials and logarithms that compilers vectorise, in loops along lanes.

   Some kernels solve several problems of the same shape together: each number becomes a vector with
   one lane for each problem, and loops over what the problems have in common run only once. There
   are LANES lanes, or one lane for a problem that is alone; the sums of a lane run in the same
   order in both cases. */

#ifndef LSSVM_LANE_MATH_H
#define LSSVM_LANE_MATH_H

#include <stdint.h>
#include <string.h>

#include "wide.h"

enum { LANES = 8 };

#define LANE_LN2_HIGH 0x1.62e42feep-1 /* its products with whole numbers of 20 bits are exact */
#define LANE_LN2_LOW 0x1.a39ef35793c76p-33
#define LANE_SHIFT 0x1.8p52

INLINE double lane_from_bits(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE int64_t lane_bits(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 1 / eps for a temperature eps > 0; finite even for the smallest eps. */
INLINE double lane_inverse(double eps) {
    double inverse = 1.0 / eps;
    return inverse < 1e300 ? inverse : 1e300;
}

/* exp(x) for x <= 0, and 0 for x < -708: 2^k exp(r), |r| <= ln(2) / 2, where exp(r) is its series
   to the 13th power; the remainder is below 5e-18. */
INLINE double lane_exp(double x) {
    double y = x < -708.0 ? -708.0 : x;
    double shifted = y * 0x1.71547652b82fep+0 + LANE_SHIFT;
    double k = shifted - LANE_SHIFT;
    double r = (y - k * LANE_LN2_HIGH) - k * LANE_LN2_LOW;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    double grown = sum * lane_from_bits((int64_t)((uint64_t)lane_bits(shifted) << 52) +
                                       ((int64_t)1023 << 52));
    return x < -708.0 ? 0.0 : grown;
}

/* log(x) for normal x > 0: x = 2^k m, m in [1/sqrt 2, sqrt 2), and log m = 2 artanh(s) for
   s = (m - 1) / (m + 1), where artanh is its series to the 23rd power. */
INLINE double lane_log(double x) {
    int64_t bits = lane_bits(x), mantissa = bits & 0xfffffffffffffLL;
    /* Subtracting the mantissa of sqrt 2 borrows from the exponent if m would be too small. */
    int64_t above = (mantissa - 0x6a09e667f3bcdLL) >> 63;
    double m = lane_from_bits(mantissa | ((int64_t)(1022 - above) << 52));
    uint64_t power = (uint64_t)(bits >> 52) + 1 + (uint64_t)above;
    double k = lane_from_bits((int64_t)(power | 0x4330000000000000ULL)) - (0x1p52 + 1023.0);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = 1.0 / 23.0;
    sum = sum * z + 1.0 / 21.0;
    sum = sum * z + 1.0 / 19.0;
    sum = sum * z + 1.0 / 17.0;
    sum = sum * z + 1.0 / 15.0;
    sum = sum * z + 1.0 / 13.0;
    sum = sum * z + 1.0 / 11.0;
    sum = sum * z + 1.0 / 9.0;
    sum = sum * z + 1.0 / 7.0;
    sum = sum * z + 1.0 / 5.0;
    sum = sum * z + 1.0 / 3.0;
    return k * LANE_LN2_HIGH + (2.0 * s + (2.0 * s * z * sum + k * LANE_LN2_LOW));
}

#endif
