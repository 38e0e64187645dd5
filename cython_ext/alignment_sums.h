/* Sums over all alignments, and the shares of what they are made of.

   The recursions of alignment_core.h with log(exp a + exp b) in the place of the larger of a and b.
   On the way back the share of a state of a cell among all alignments is passed on to the states
   that it was made of. Rows are kept at the beginning of every block of rows, and the rows of one
   block at a time are computed again for the way back, so that memory grows with the root of the
   number of rows for each letter of z, or with its cube root if blocks have blocks of their own. */

#ifndef LSSVM_ALIGNMENT_SUMS_H
#define LSSVM_ALIGNMENT_SUMS_H

#include "alignment_core.h"

#define NEGLIGIBLE 1e-20 /* share of an end that is not counted */

enum { SUM_M, SUM_X, SUM_Y, SUM_G, SUM_TOP, SUM_H, SUM_KINDS };

typedef struct {
    AlignmentTask task;
    long block;          /* rows of a block */
    double *kept_rows;   /* (blocks, 2, columns + 1, lanes) h and below where each block begins */
    long inner;          /* rows of a block of a block; block itself if there are none */
    double *kept_inner;  /* (block / inner, 2, columns + 1, lanes) the same of the inner blocks */
    double *cells;       /* (inner, columns, SUM_KINDS, lanes) */
    double *starts;      /* (columns + 1) of a row: ends that x and z begin with, free ends only */
    double *masses;      /* (2, columns + 2, lanes) shares of h and of the next X */
    const double *weights; /* (lanes) of the counts */
    double *pairs;       /* (codes * stride) counts of pairs, summed over the lanes */
    double *opens, *extends; /* (lanes) counts of gaps and of their further letters */
} AlignmentSums;

INLINE double log_sum(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return high + lane_log(1.0 + lane_exp(low - high));
}

/* Whole vectors in local arrays, one operation at a time, which compilers vectorise. */
INLINE void log_sums(double *restrict out, const double *restrict a, const double *restrict b,
                     const int lanes) {
    for (int l = 0; l < lanes; l++) out[l] = log_sum(a[l], b[l]);
}

INLINE void log_sums_added(double *restrict out, const double *restrict a, double to_a,
                           const double *restrict b, double to_b, const int lanes) {
    for (int l = 0; l < lanes; l++) out[l] = log_sum(a[l] + to_a, b[l] + to_b);
}

/* out = exp(a + added - b) times shares, 0 where there is no share. */
INLINE void share_of(double *restrict out, const double *restrict shares,
                     const double *restrict a, double added, const double *restrict b,
                     const int lanes) {
    double power[LANES], grown[LANES];
    for (int l = 0; l < lanes; l++) power[l] = a[l] + added - b[l];
    for (int l = 0; l < lanes; l++) power[l] = 0.5 * (power[l] - fabs(power[l])); /* at most 0 */
    for (int l = 0; l < lanes; l++) grown[l] = lane_exp(power[l]);
    for (int l = 0; l < lanes; l++) out[l] = shares[l] * grown[l];
}

/* With free ends, the scores of all ends before and behind a row, summed over which of two gaps at
   an end is free: into starts, and into the room of the losses. */
INLINE void begin_sum_row(const AlignmentSums *sums, long i, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    if (ends != FREE_ENDS) return;
    double lead = gap_score(task->open, task->extend, i), *starts = sums->starts;
    const double *gap_of = task->gap_of;
    for (long j = 1; j <= task->columns; j++) starts[j] = log_sum(lead, gap_of[j]);
    begin_row(task, i, lanes);
    double rest[LANES], keep[LANES];
    for (int l = 0; l < lanes; l++) rest[l] = task->rest[l];
    for (int l = 0; l < lanes; l++) keep[l] = task->keep[l];
    for (long j = 1; j <= task->columns; j++) {
        double end[LANES], sum[LANES];
        for (int l = 0; l < lanes; l++) end[l] = task->gaps[j * lanes + l];
        log_sums(sum, rest, end, lanes);
        for (int l = 0; l < lanes; l++)
            task->extra[j * lanes + l] = sum[l] * keep[l] * task->kept[j * lanes + l];
    }
}

/* Row i from the one before; cells : where its numbers are kept, or NULL. Adds what ends here to
   task->best unless cells are kept. */
INLINE void sum_row(const AlignmentSums *sums, long i, double *cells, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    double open = task->open, extend = task->extend, *h = task->h, *below = task->below;
    double diagonal[LANES], y[LANES], sum[LANES], border = 0.0;
    const int *row = task->x + (i - 1) * lanes;
    if (ends == GLOBAL_ENDS) border = gap_score(open, extend, i);
    begin_sum_row(sums, i, lanes, ends);
    for (int l = 0; l < lanes; l++) {
        diagonal[l] = h[l];
        h[l] = border;
        y[l] = ends == GLOBAL_ENDS ? border + open : FORBIDDEN;
        sum[l] = task->best[l];
    }
    for (long j = 1; j <= task->columns; j++) {
        const int *z = task->z + (j - 1) * lanes;
        double m[LANES], x[LANES], g[LANES], top[LANES], all[LANES], next[LANES], ended[LANES];
        double *own_h = h + j * lanes, *own_below = below + j * lanes;
        for (int l = 0; l < lanes; l++) m[l] = task->table[row[l] + z[l]] + diagonal[l];
        for (int l = 0; l < lanes; l++) x[l] = own_below[l];
        for (int l = 0; l < lanes; l++) diagonal[l] = own_h[l];
        log_sums(g, m, x, lanes);
        log_sums(top, g, y, lanes);
        for (int l = 0; l < lanes; l++) all[l] = top[l];
        if (ends != GLOBAL_ENDS) {
            double start[LANES];
            for (int l = 0; l < lanes; l++) start[l] = ends == FREE_ENDS ? sums->starts[j] : 0.0;
            log_sums(all, top, start, lanes);
        }
        if (cells) {
            copy_row(cells + SUM_M * lanes, m, lanes);
            copy_row(cells + SUM_X * lanes, x, lanes);
            copy_row(cells + SUM_Y * lanes, y, lanes);
            copy_row(cells + SUM_G * lanes, g, lanes);
            copy_row(cells + SUM_TOP * lanes, top, lanes);
            copy_row(cells + SUM_H * lanes, all, lanes);
            cells += SUM_KINDS * lanes;
        } else if (ends != GLOBAL_ENDS) {
            for (int l = 0; l < lanes; l++)
                ended[l] = m[l] + (ends == FREE_ENDS ? task->extra[j * lanes + l] : 0.0);
            log_sums(next, sum, ended, lanes);
            for (int l = 0; l < lanes; l++) sum[l] = next[l];
        }
        log_sums_added(next, m, open, x, extend, lanes);
        for (int l = 0; l < lanes; l++) own_below[l] = next[l];
        log_sums_added(next, g, open, y, extend, lanes);
        for (int l = 0; l < lanes; l++) y[l] = next[l];
        for (int l = 0; l < lanes; l++) own_h[l] = all[l];
    }
    if (cells) return;
    for (int l = 0; l < lanes; l++) task->best[l] = sum[l];
    if (ends == GLOBAL_ENDS) end_row(task, i, lanes);
}

INLINE void sum_forward(const AlignmentSums *sums, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    long size = (task->columns + 1) * lanes;
    begin_alignment(task, lanes);
    for (long i = 1; i <= task->rows; i++) {
        if (sums->kept_rows && (i - 1) % sums->block == 0) {
            double *kept = sums->kept_rows + (i - 1) / sums->block * 2 * size;
            copy_row(kept, task->h, size);
            copy_row(kept + size, task->below, size);
        }
        sum_row(sums, i, 0, lanes, ends);
    }
}

/* Count a gap of so many letters with these shares. */
INLINE void count_gap(const AlignmentSums *sums, int l, long letters, double share) {
    if (letters <= 0) return;
    sums->opens[l] += share;
    sums->extends[l] += share * (double)(letters - 1);
}

/* Count an end of a and b letters, of which one is free. */
INLINE void count_free_end(const AlignmentSums *sums, int l, long a, long b, double share) {
    const AlignmentTask *task = &sums->task;
    if (a <= 0 || b <= 0 || share < NEGLIGIBLE) return;
    double first = gap_score(task->open, task->extend, a);
    double second = gap_score(task->open, task->extend, b), sum = log_sum(first, second);
    count_gap(sums, l, a, share * lane_exp(first - sum));
    count_gap(sums, l, b, share * lane_exp(second - sum));
}

/* Pass shares on from row i to the one before. x_next : (columns + 1, lanes) the X of row i + 1 */
INLINE void spread_row(const AlignmentSums *sums, long i, const double *cells,
                       const double *x_next, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    double open = task->open, extend = task->extend;
    long size = (task->columns + 2) * lanes, columns = task->columns;
    double *of_h = sums->masses, *of_x = sums->masses + size;
    double y_next[LANES], of_y[LANES], moved[LANES], opens[LANES], extends[LANES];
    const int *row = task->x + (i - 1) * lanes;
    begin_sum_row(sums, i, lanes, ends);
    for (int l = 0; l < lanes; l++) of_y[l] = y_next[l] = moved[l] = opens[l] = extends[l] = 0.0;
    for (long j = columns; j >= 1; j--) {
        const double *cell = cells + (j - 1) * SUM_KINDS * lanes;
        const double *m = cell + SUM_M * lanes, *x = cell + SUM_X * lanes;
        const double *y = cell + SUM_Y * lanes, *g = cell + SUM_G * lanes;
        const double *top = cell + SUM_TOP * lanes, *all = cell + SUM_H * lanes;
        const int *z = task->z + (j - 1) * lanes;
        double mass[LANES], began[LANES], ended[LANES], part[LANES], of_g[LANES], share[LANES];
        double own_x[LANES], next[LANES];
        for (int l = 0; l < lanes; l++) mass[l] = of_h[j * lanes + l];
        for (int l = 0; l < lanes; l++) own_x[l] = of_x[j * lanes + l];
        for (int l = 0; l < lanes; l++) began[l] = ended[l] = 0.0;
        if (ends != GLOBAL_ENDS) {
            double start[LANES], one[LANES];
            for (int l = 0; l < lanes; l++) {
                one[l] = 1.0;
                start[l] = ends == FREE_ENDS ? sums->starts[j] : 0.0;
                next[l] = m[l] + (ends == FREE_ENDS ? task->extra[j * lanes + l] : 0.0);
            }
            share_of(began, mass, start, 0.0, all, lanes);
            share_of(ended, one, next, 0.0, task->best, lanes);
            share_of(part, mass, top, 0.0, all, lanes);
            for (int l = 0; l < lanes; l++) mass[l] = part[l];
        } else {
            for (int l = 0; l < lanes; l++)
                mass[l] += i == task->heights[l] && j == task->widths[l] ? 1.0 : 0.0;
        }
        share_of(of_g, mass, g, 0.0, top, lanes);
        share_of(part, of_y, g, open, y_next, lanes);
        for (int l = 0; l < lanes; l++) of_g[l] += part[l];
        for (int l = 0; l < lanes; l++) opens[l] += part[l];
        share_of(part, of_y, y, extend, y_next, lanes);
        for (int l = 0; l < lanes; l++) extends[l] += part[l];
        share_of(of_y, mass, y, 0.0, top, lanes);
        for (int l = 0; l < lanes; l++) of_y[l] += part[l];
        for (int l = 0; l < lanes; l++) y_next[l] = y[l];
        share_of(share, of_g, m, 0.0, g, lanes);
        share_of(part, own_x, m, open, x_next + j * lanes, lanes);
        for (int l = 0; l < lanes; l++) share[l] += part[l] + ended[l];
        for (int l = 0; l < lanes; l++) opens[l] += part[l];
        share_of(part, own_x, x, extend, x_next + j * lanes, lanes);
        for (int l = 0; l < lanes; l++) extends[l] += part[l];
        share_of(next, of_g, x, 0.0, g, lanes);
        for (int l = 0; l < lanes; l++) of_x[j * lanes + l] = next[l] + part[l];
        /* The share of h below and to the right of here, one row up. */
        for (int l = 0; l < lanes; l++) of_h[j * lanes + l] = moved[l];
        for (int l = 0; l < lanes; l++) moved[l] = share[l];
        for (int l = 0; l < lanes; l++) {
            sums->pairs[row[l] + z[l]] += share[l] * sums->weights[l];
            if (ends == FREE_ENDS) {
                count_free_end(sums, l, i, j, began[l]);
                count_free_end(sums, l, task->heights[l] - i, task->widths[l] - j, ended[l]);
            }
        }
    }
    for (int l = 0; l < lanes; l++) {
        sums->opens[l] += opens[l];
        sums->extends[l] += extends[l];
        if (ends == GLOBAL_ENDS) {
            sums->opens[l] += of_y[l];
            count_gap(sums, l, i, of_h[l] + of_y[l]);
        }
        of_h[l] = moved[l];
    }
}

/* Pass shares on from row stop to row start, in blocks whose first rows are kept. */
INLINE void spread_blocks(const AlignmentSums *sums, const double *rows, long block, long start,
                          long stop, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    long columns = task->columns, size = (columns + 1) * lanes;
    long blocks = (stop - start + block - 1) / block, kept = columns * SUM_KINDS * lanes;
    for (long b = blocks - 1; b >= 0; b--) {
        long first = start + b * block, last = first + block;
        if (last > stop) last = stop;
        copy_row(task->h, rows + b * 2 * size, size);
        copy_row(task->below, rows + b * 2 * size + size, size);
        for (long i = first + 1; i <= last; i++)
            sum_row(sums, i, sums->cells + (i - first - 1) * kept, lanes, ends);
        for (long i = last; i > first; i--) {
            spread_row(sums, i, sums->cells + (i - first - 1) * kept, task->below, lanes, ends);
            for (long j = 1; j <= columns; j++)
                for (int l = 0; l < lanes; l++)
                    task->below[j * lanes + l] =
                        sums->cells[(i - first - 1) * kept + ((j - 1) * SUM_KINDS + SUM_X) * lanes +
                                    l];
        }
    }
}

/* The same, where the rows of a block are in blocks of their own. */
INLINE void spread_blocks_of_blocks(const AlignmentSums *sums, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    long size = (task->columns + 1) * lanes, block = sums->block;
    for (long b = (task->rows - 1) / block; b >= 0; b--) {
        long start = b * block, stop = start + block < task->rows ? start + block : task->rows;
        copy_row(task->h, sums->kept_rows + b * 2 * size, size);
        copy_row(task->below, sums->kept_rows + b * 2 * size + size, size);
        for (long i = start + 1; i <= stop; i++) {
            double *kept = sums->kept_inner + (i - 1 - start) / sums->inner * 2 * size;
            if ((i - 1 - start) % sums->inner == 0) {
                copy_row(kept, task->h, size);
                copy_row(kept + size, task->below, size);
            }
            sum_row(sums, i, sums->cells, lanes, ends);
        }
        spread_blocks(sums, sums->kept_inner, sums->inner, start, stop, lanes, ends);
    }
}

/* Counts with weights, after sum_forward. */
INLINE void sum_backward(const AlignmentSums *sums, const int deep, const int lanes, int ends) {
    const AlignmentTask *task = &sums->task;
    long columns = task->columns;
    for (long k = 0; k < 2 * (columns + 2) * lanes; k++) sums->masses[k] = 0.0;
    for (int l = 0; l < lanes; l++) sums->opens[l] = sums->extends[l] = 0.0;
    if (deep) spread_blocks_of_blocks(sums, lanes, ends);
    else spread_blocks(sums, sums->kept_rows, sums->block, 0, task->rows, lanes, ends);
    if (ends != GLOBAL_ENDS) return;
    for (long j = 0; j <= columns; j++)
        for (int l = 0; l < lanes; l++) count_gap(sums, l, j, sums->masses[j * lanes + l]);
}

INLINE void sum_lanes(const AlignmentSums *sums, const int lanes) {
    sum_forward(sums, lanes, sums->task.ends);
    if (sums->weights) sum_backward(sums, 0, lanes, sums->task.ends);
}

/* Sum over the alignments of the pairs of a task. */
WIDE void sum_alignments(const AlignmentSums *sums) { sum_lanes(sums, LANES); }

/* Counts with weights in less room and a little more time, after sum_alignments without weights:
   blocks have blocks of their own. */
WIDE void count_alignments(const AlignmentSums *sums) {
    sum_backward(sums, 1, LANES, sums->task.ends);
}

#endif
