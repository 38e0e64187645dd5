/* Vectors of one number for each pair of sequences, as alignment_rows.h works with them.

   A kind of vector has a name, which its functions begin with: `wide` is eight doubles of AVX-512,
   `half` two times four of AVX2, `plain` eight for any compiler, `lone` a single one. Comparisons
   give a bit for each lane. All compute the same numbers. */

#ifndef LSSVM_ALIGNMENT_LANES_H
#define LSSVM_ALIGNMENT_LANES_H

#include "lane_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(LSSVM_PLAIN_LANES)
#define LSSVM_X86_LANES
#include <immintrin.h>

#define WIDE_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define HALF_TARGET __attribute__((target("avx2")))
#define INLINE_WIDE WIDE_TARGET INLINE
#define INLINE_HALF HALF_TARGET INLINE

typedef __m512d wide_t;
INLINE_WIDE wide_t wide_set(double x) { return _mm512_set1_pd(x); }
INLINE_WIDE wide_t wide_load(const double *p) { return _mm512_loadu_pd(p); }
INLINE_WIDE void wide_store(double *p, wide_t a) { _mm512_storeu_pd(p, a); }
INLINE_WIDE wide_t wide_add(wide_t a, wide_t b) { return _mm512_add_pd(a, b); }
INLINE_WIDE wide_t wide_times(wide_t a, wide_t b) { return _mm512_mul_pd(a, b); }
INLINE_WIDE wide_t wide_max(wide_t a, wide_t b) { return _mm512_max_pd(a, b); }
INLINE_WIDE unsigned wide_above(wide_t a, wide_t b) {
    return (unsigned)_mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}
INLINE_WIDE wide_t wide_choose(unsigned bits, wide_t a, wide_t b) {
    return _mm512_mask_mov_pd(b, (__mmask8)bits, a);
}
/* Eight loads take less time than the instruction that gathers them. */
INLINE_WIDE wide_t wide_gather(const double *const *rows, const int *z) {
    __m128d a = _mm_loadh_pd(_mm_load_sd(rows[0] + z[0]), rows[1] + z[1]);
    __m128d b = _mm_loadh_pd(_mm_load_sd(rows[2] + z[2]), rows[3] + z[3]);
    __m128d c = _mm_loadh_pd(_mm_load_sd(rows[4] + z[4]), rows[5] + z[5]);
    __m128d d = _mm_loadh_pd(_mm_load_sd(rows[6] + z[6]), rows[7] + z[7]);
    __m256d low = _mm256_insertf128_pd(_mm256_castpd128_pd256(a), b, 1);
    __m256d high = _mm256_insertf128_pd(_mm256_castpd128_pd256(c), d, 1);
    return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
}

typedef struct {
    __m256d low, high;
} half_t;
INLINE_HALF half_t half_set(double x) {
    half_t found = {_mm256_set1_pd(x), _mm256_set1_pd(x)};
    return found;
}
INLINE_HALF half_t half_load(const double *p) {
    half_t found = {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
    return found;
}
INLINE_HALF void half_store(double *p, half_t a) {
    _mm256_storeu_pd(p, a.low);
    _mm256_storeu_pd(p + 4, a.high);
}
INLINE_HALF half_t half_add(half_t a, half_t b) {
    half_t found = {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)};
    return found;
}
INLINE_HALF half_t half_times(half_t a, half_t b) {
    half_t found = {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
    return found;
}
INLINE_HALF half_t half_max(half_t a, half_t b) {
    half_t found = {_mm256_max_pd(a.low, b.low), _mm256_max_pd(a.high, b.high)};
    return found;
}
INLINE_HALF unsigned half_above(half_t a, half_t b) {
    int low = _mm256_movemask_pd(_mm256_cmp_pd(a.low, b.low, _CMP_GT_OQ));
    int high = _mm256_movemask_pd(_mm256_cmp_pd(a.high, b.high, _CMP_GT_OQ));
    return (unsigned)(low | high << 4);
}
INLINE_HALF half_t half_choose(unsigned bits, half_t a, half_t b) {
    double x[8], y[8];
    half_store(x, a);
    half_store(y, b);
    for (int l = 0; l < 8; l++) y[l] = bits >> l & 1 ? x[l] : y[l];
    return half_load(y);
}
INLINE_HALF half_t half_gather(const double *const *rows, const int *z) {
    double found[8];
    for (int l = 0; l < 8; l++) found[l] = rows[l][z[l]];
    return half_load(found);
}
#endif

typedef struct {
    double lane[LANES];
} plain_t;
#define EVERY for (int l = 0; l < LANES; l++)
INLINE plain_t plain_set(double x) {
    plain_t found;
    EVERY found.lane[l] = x;
    return found;
}
INLINE plain_t plain_load(const double *p) {
    plain_t found;
    EVERY found.lane[l] = p[l];
    return found;
}
INLINE void plain_store(double *p, plain_t a) { EVERY p[l] = a.lane[l]; }
INLINE plain_t plain_add(plain_t a, plain_t b) {
    EVERY a.lane[l] += b.lane[l];
    return a;
}
INLINE plain_t plain_times(plain_t a, plain_t b) {
    EVERY a.lane[l] *= b.lane[l];
    return a;
}
INLINE plain_t plain_max(plain_t a, plain_t b) {
    EVERY a.lane[l] = a.lane[l] > b.lane[l] ? a.lane[l] : b.lane[l];
    return a;
}
INLINE unsigned plain_above(plain_t a, plain_t b) {
    unsigned bits = 0;
    EVERY bits |= (unsigned)(a.lane[l] > b.lane[l]) << l;
    return bits;
}
INLINE plain_t plain_choose(unsigned bits, plain_t a, plain_t b) {
    EVERY b.lane[l] = bits >> l & 1 ? a.lane[l] : b.lane[l];
    return b;
}
INLINE plain_t plain_gather(const double *const *rows, const int *z) {
    plain_t found;
    EVERY found.lane[l] = rows[l][z[l]];
    return found;
}

typedef double lone_t;
INLINE lone_t lone_set(double x) { return x; }
INLINE lone_t lone_load(const double *p) { return *p; }
INLINE void lone_store(double *p, lone_t a) { *p = a; }
INLINE lone_t lone_add(lone_t a, lone_t b) { return a + b; }
INLINE lone_t lone_times(lone_t a, lone_t b) { return a * b; }
INLINE lone_t lone_max(lone_t a, lone_t b) { return a > b ? a : b; }
INLINE unsigned lone_above(lone_t a, lone_t b) { return a > b; }
INLINE lone_t lone_choose(unsigned bits, lone_t a, lone_t b) { return bits ? a : b; }
INLINE lone_t lone_gather(const double *const *rows, const int *z) { return rows[0][*z]; }

#endif
