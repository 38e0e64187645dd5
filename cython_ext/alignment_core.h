/* Best alignments with affine gaps (Gotoh 1982), several pairs of sequences side by side.

   A cell (i, j) has the best score of an alignment of the first i letters of x and j letters of z
   that ends in a pair (M), in a letter of x alone (X) or of z alone (Y). Letters of x come before
   letters of z in a run without pairs, so Y may follow X, but X may not follow Y.

   What the pairs of sequences have in common is walked through once: each number is a vector with
   a lane for each pair. A row keeps h, the best of the three states, and below, the best score of X
   one row on; the inner loop runs along z. Lanes whose sequences are shorter go on with letters
   that no alignment can pair. No infinities: FORBIDDEN stands for them. */

#ifndef LSSVM_ALIGNMENT_CORE_H
#define LSSVM_ALIGNMENT_CORE_H

#include "alignment_lanes.h"

#define FORBIDDEN (-1e300)

enum { GLOBAL_ENDS, FREE_ENDS, LOCAL_ENDS };

/* The bits of a cell: X is better than M; Y better than both; the next X, or Y, extends a gap; the
   three states are better than an alignment that begins after the cell. With several lanes there
   is a byte for each kind of bit, else they are in one byte. */
enum { FROM_X, FROM_Y, EXTENDS_X, EXTENDS_Y, GOES_ON };
#define TRACE_BYTES(lanes) ((lanes) > 1 ? 5 : 1)

typedef struct {
    long rows, columns;           /* letters of the longest x and z */
    const long *heights, *widths; /* (lanes) letters of each x and z, 0 for a lane without a pair */
    const int *x, *z;             /* (rows, lanes) codes times stride, (columns, lanes) codes */
    const double *table;          /* scores of pairs of codes, rows of stride */
    double open, extend;          /* of the first letter of a gap, and of each other one */
    int ends;                     /* GLOBAL_ENDS, FREE_ENDS or LOCAL_ENDS */
    const int *partners;          /* (rows, lanes) the letter of z that is truly paired, or -1 */
    const double *bonus;          /* (lanes) added to pairs at most shift from a true one; or NULL */
    long shift;
    double *h, *below, *extra;    /* (columns + 1, lanes) */
    double *gap_of;               /* (columns + 1) score of a gap of so many letters */
    double *gaps, *kept;          /* (columns + 1, lanes) scores of ends of z, and 0 where nothing is left */
    double *rest, *keep;          /* (lanes) the same of x, for a row */
    long first, last;             /* the rows first + 1 to last are worked on */
    double *kept_rows;            /* NULL, or h and below before each block of rows */
    long block;                   /* rows of a block */
    int again;                    /* whether the rows go on from those that were kept */
    unsigned char *trace;         /* (last - first, columns, TRACE_BYTES), or NULL */
    double *best, *place;         /* (lanes) the best score, and i * (columns + 1) + j of its end */
} AlignmentTask;

/* Not part of functions for wide vectors, which may round a product and a sum at once. */
#if defined(__GNUC__)
__attribute__((noinline))
#elif defined(_MSC_VER)
__declspec(noinline)
#endif
static double gap_score(double open, double extend, long letters) {
    return letters ? open + (double)(letters - 1) * extend : 0.0;
}

INLINE double larger(double a, double b) { return a > b ? a : b; }

INLINE void begin_alignment(const AlignmentTask *task, const int lanes) {
    for (long j = 0; j <= task->columns; j++) {
        double gap = gap_score(task->open, task->extend, j);
        task->gap_of[j] = gap;
        if (task->ends != GLOBAL_ENDS) gap = 0.0;
        for (int l = 0; l < lanes; l++) {
            long k = j * lanes + l;
            task->h[k] = gap;
            task->below[k] = FORBIDDEN;
            task->extra[k] = 0.0;
        }
    }
    for (long j = 0; j <= task->columns && task->ends == FREE_ENDS; j++)
        for (int l = 0; l < lanes; l++) {
            long k = j * lanes + l, rest = task->widths[l] - j;
            task->kept[k] = rest > 0 ? 1.0 : 0.0;
            task->gaps[k] = rest > 0 ? task->gap_of[rest] : 0.0;
        }
    for (int l = 0; l < lanes; l++) {
        task->place[l] = task->best[l] = 0.0;
        if (task->ends == GLOBAL_ENDS)
            task->best[l] = gap_score(task->open, task->extend, task->heights[l]) +
                            gap_score(task->open, task->extend, task->widths[l]);
    }
}

INLINE void copy_row(double *to, const double *from, long size) {
    for (long k = 0; k < size; k++) to[k] = from[k];
}

/* Keep the rows h and below before row i, or go on from them. */
INLINE void keep_row(const AlignmentTask *task, long i, int again, const int lanes) {
    long size = (task->columns + 1) * lanes;
    double *kept = task->kept_rows + (i - 1) / task->block * 2 * size;
    copy_row(again ? task->h : kept, again ? kept : task->h, size);
    copy_row(again ? task->below : kept + size, again ? kept + size : task->below, size);
}

/* With free ends, the scores of what is left of x. */
INLINE void begin_row(const AlignmentTask *task, long i, const int lanes) {
    for (int l = 0; l < lanes; l++) {
        long left = task->heights[l] - i;
        task->rest[l] = left > 0 ? gap_score(task->open, task->extend, left) : 0.0;
        task->keep[l] = left > 0 ? 1.0 : 0.0;
    }
}

/* The score of a lane whose x ends with row i. */
INLINE void end_row(const AlignmentTask *task, long i, const int lanes) {
    for (int l = 0; l < lanes; l++)
        if (i == task->heights[l] && task->widths[l]) {
            task->best[l] = task->h[task->widths[l] * lanes + l];
            task->place[l] = (double)(i * (task->columns + 1) + task->widths[l]);
        }
}

/* Write into a row what is added to scores near true pairs, or 0 again. */
INLINE void mark_row(const AlignmentTask *task, long i, int marked, const int lanes) {
    for (int l = 0; l < lanes; l++) {
        long partner = task->partners[i * lanes + l];
        if (partner < 0) continue;
        long first = partner - task->shift, last = partner + task->shift;
        if (first < 0) first = 0;
        if (last >= task->widths[l]) last = task->widths[l] - 1;
        for (long j = first; j <= last; j++)
            task->extra[(j + 1) * lanes + l] = marked ? task->bonus[l] : 0.0;
    }
}

#ifdef LSSVM_X86_LANES
#define KIND wide
#define COUNT 8
#define TARGET WIDE_TARGET
#include "alignment_rows.h"

#define KIND half
#define COUNT 8
#define TARGET HALF_TARGET
#include "alignment_rows.h"
#endif

#define KIND plain
#define COUNT 8
#define TARGET
#include "alignment_rows.h"

#define KIND lone
#define COUNT 1
#define TARGET
#include "alignment_rows.h"

/* Align the pairs of a task. lanes : LANES or 1; kind : 0 the widest vectors of the machine, 1 those
   of AVX2, 2 those of any machine, for tests */
static void align_pairs(const AlignmentTask *task, int lanes, int kind) {
    if (lanes == 1) {
        align_lone(task);
        return;
    }
#ifdef LSSVM_X86_LANES
    if (kind == 0 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        align_wide(task);
        return;
    }
    if (kind <= 1 && __builtin_cpu_supports("avx2")) {
        align_half(task);
        return;
    }
#endif
    align_plain(task);
}

#endif
