/* WIDE: the compiler, if it can, builds the function for several vector widths; the widest that the
   machine has is chosen when the program is loaded. INLINE: the function becomes part of a WIDE
   one. */

#ifndef LSSVM_WIDE_H
#define LSSVM_WIDE_H

#include <math.h>

#if defined(WIDE) /* defined by the build, possibly as empty */
#elif defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__clang__)
#if __clang_major__ >= 14
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#elif defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__)
#if __GNUC__ >= 12
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif __GNUC__ >= 8
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef WIDE
#define WIDE
#endif

#if defined(__GNUC__)
#define MAYBE_UNUSED __attribute__((unused))
#define INLINE static inline __attribute__((always_inline))
#else
#define MAYBE_UNUSED
#define INLINE static __forceinline
#endif

/* Prefetch doubles that will be read soon; does nothing if the compiler has no way to. */
INLINE void prefetch_row(const double *row, long count) {
#if defined(__GNUC__)
    for (long k = 0; k < count; k += 8) __builtin_prefetch(row + k);
    if (count > 0) __builtin_prefetch(row + count - 1);
#endif
}

enum { AHEAD = 8 }; /* how many rows ahead are prefetched */

#endif
