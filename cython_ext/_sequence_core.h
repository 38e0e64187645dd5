/* Dynamic programs over label chains, written so that compilers vectorise them.

   A chain of order 1 has a state for each label s; a chain of order 2 has a state for each pair (r,
   s) of the previous label and the label. States are stored as rows of `padded` doubles, one row
   for each r (only one row at order 1, and at the first position, which has no previous label).
   Entries beyond the labels hold finite numbers that nothing reads. The inner loops run along s and
   store no argmax; it is computed again in the backward pass. UNREACHABLE stands for minus
   infinity, which never occurs.

   If the compiler can, each function is built for several vector widths, and the widest that the
   machine has is chosen when the program is loaded. Sums run in the same order in all of them. */

#ifndef LSSVM_SEQUENCE_CORE_H
#define LSSVM_SEQUENCE_CORE_H

#include "row_scores.h"
#include "wide.h"

#define ROWS 4    /* tokens whose scores are computed together */
#define TILE 32   /* labels whose sums stay in registers */
#define NEAR_WEIGHTS 16384 /* so many weights, and no more, stay near the processor */
#define UNREACHABLE (-1e300)
#define FAINT 1e-280 /* smaller sums of exponentials may have lost terms that matter */

typedef struct {
    long labels;          /* L */
    long padded;          /* P, the next multiple of 8 */
    long order;           /* 1 or 2 */
    const double *first;  /* (L, P) weights of transitions from row to column */
    const double *second; /* (L, L, P) sum of first-order and second-order weights; order 2 only */
    const double *begin;  /* (P) weights of the first label */
    const double *finish; /* (P) weights of the last label */
} Chain;

INLINE long chain_rows(const Chain *chain, long t) {
    return chain->order == 2 && t > 0 ? chain->labels : 1;
}

INLINE long chain_states(const Chain *chain) {
    return chain->order == 2 ? chain->labels * chain->padded : chain->padded;
}

/* ---- scores of tokens ------------------------------------------------------------------- */

INLINE void dense_tile(const double *const *x, long width, const double *weights, long padded,
                       double *const *out, const int lanes) {
    double sum[ROWS][TILE];
    for (int r = 0; r < ROWS; r++)
        for (int l = 0; l < lanes; l++) sum[r][l] = 0.0;
    for (long k = 0; k < width; k++) {
        const double *row = weights + k * padded;
        for (int r = 0; r < ROWS; r++) {
            double value = x[r][k];
            for (int l = 0; l < lanes; l++) sum[r][l] += value * row[l];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int l = 0; l < lanes; l++) out[r][l] = sum[r][l];
}

/* out (count, P) = x (count, width) times weights (width, P). The last group of rows is filled up
   with copies of the last row, so that a token's sum never depends on its neighbours. */
WIDE void sequence_dense_scores(const double *x, long count, long width, const double *weights,
                                long padded, double *out) {
    for (long t = 0; t < count; t += ROWS) {
        const double *rows[ROWS];
        double *scores[ROWS];
        for (int r = 0; r < ROWS; r++) {
            long row = t + r < count ? t + r : count - 1;
            rows[r] = x + row * width;
            scores[r] = out + row * padded;
        }
        long l = 0;
        while (l < padded) {
            double *tile[ROWS];
            for (int r = 0; r < ROWS; r++) tile[r] = scores[r] + l;
            if (l + TILE <= padded) {
                dense_tile(rows, width, weights + l, padded, tile, TILE);
                l += TILE;
            } else {
                dense_tile(rows, width, weights + l, padded, tile, 8);
                l += 8;
            }
        }
    }
}

/* The same for sparse rows, with weights (width, L) without padding. starts counts from the
   beginning of indices; entry p has the value at p & apart, see Tokens. Few weights are near anyway:
   nothing is prefetched. */
WIDE void sequence_sparse_scores(const int *indices, const double *values, long long apart,
                                 const long long *starts, long count, const double *weights,
                                 long width, long labels, long padded, double *out) {
    const int far = (double)width * labels > NEAR_WEIGHTS;
    for (long t = 0; t < count; t++) {
        const long long p = starts[t];
        double *row = out + t * padded;
        for (long l = labels; l < padded; l++) row[l] = 0.0;
        lssvm_score_ahead(row, values + (p & apart), indices + p, starts[t + 1] - p,
                          far ? starts[count] - p : 0, weights, labels);
    }
}

/* The same for some of the tokens; places : (count) which of them. Nothing of them is near what was
   read before: first where their features are, then these, then their weights are prefetched. */
WIDE void sequence_sparse_scores_at(const int *indices, const double *values, long long apart,
                                    const long long *starts, const int *places, long count,
                                    const double *weights, long width, long labels, long padded,
                                    double *out) {
    const int far = (double)width * labels > NEAR_WEIGHTS;
#if defined(__GNUC__)
    for (long a = 0; a < count; a++) __builtin_prefetch(starts + places[a]);
    for (long a = 0; a < count; a++) {
        const long long p = starts[places[a]], size = starts[places[a] + 1] - p;
        if (apart) prefetch_row(values + p, size);
        prefetch_row((const double *)(indices + p), (size + 1) / 2);
    }
#endif
    for (long a = 0; a < count; a++) {
        const long long p = starts[places[a]], size = starts[places[a] + 1] - p;
        double *row = out + a * padded;
        if (far && a + 1 < count)
            for (long long q = starts[places[a + 1]]; q < starts[places[a + 1] + 1]; q++)
                prefetch_row(weights + (ptrdiff_t)labels * indices[q], labels);
        for (long l = labels; l < padded; l++) row[l] = 0.0;
        lssvm_score_ahead(row, values + (p & apart), indices + p, size, far && !a ? size : 0,
                          weights, labels);
    }
}

#if defined(__GNUC__)
enum { ABREAST = 8 };
typedef int lssvm_ints __attribute__((vector_size(32), aligned(4), may_alias));
#endif

/* How many numbers two increasing rows a (m) and b (n) share. */
WIDE MAYBE_UNUSED
static long sequence_shared(const int *a, long m, const int *b, long n) {
    long found = 0, p = 0, q = 0;
#if defined(__GNUC__)
    if (n >= ABREAST && m <= 8 * ABREAST) { /* each of a is compared with eight of b at a time */
        for (long at = 0; at < n; at += ABREAST) {
            const long first = at + ABREAST <= n ? at : n - ABREAST; /* the last ones may overlap */
            const lssvm_ints others = *(const lssvm_ints *)(b + first);
            lssvm_ints equal = {0};
            for (long i = 0; i < m; i++) equal -= others == a[i];
            for (long k = at - first; k < ABREAST; k++) found += equal[k];
        }
        return found;
    }
#endif
    while (p < m && q < n) { /* without branches, which could not be predicted */
        const int left = a[p], right = b[q];
        found += left == right;
        p += left <= right;
        q += right <= left;
    }
    return found;
}

/* Write to places where any of count paths, one behind another, differs from the truth; returns at
   how many. factors : paths whose factor is 0 are left out; NULL: none is. */
WIDE MAYBE_UNUSED
static long sequence_unlike(const int *paths, long count, const double *factors, const int *truth,
                            long length, int *places) {
    long found = 0;
    for (long t = 0; t < length; t++) places[t] = 0;
    for (long k = 0; k < count; k++) {
        const int *path = paths + k * length;
        if (factors && factors[k] == 0.0) continue;
        for (long t = 0; t < length; t++) places[t] |= path[t] ^ truth[t];
    }
    for (long t = 0; t < length; t++) {
        const int differs = places[t] != 0;
        places[found] = (int)t;
        found += differs;
    }
    return found;
}

/* out += coefficient * row */
WIDE void sequence_add(const double *row, long count, double coefficient, double *out) {
    for (long k = 0; k < count; k++) out[k] += coefficient * row[k];
}

/* ---- the best path ---------------------------------------------------------------------- */

INLINE void max_tile(const double *from, long stride, const double *matrix, long row, long labels,
                     double *out, const int lanes) {
    double best[TILE];
    for (int l = 0; l < lanes; l++) best[l] = from[0] + matrix[l];
    for (long j = 1; j < labels; j++) {
        double before = from[j * stride];
        const double *step = matrix + j * row;
        for (int l = 0; l < lanes; l++) {
            double score = before + step[l];
            best[l] = score > best[l] ? score : best[l];
        }
    }
    for (int l = 0; l < lanes; l++) out[l] = best[l];
}

INLINE void max_row(const double *from, long stride, const double *matrix, long row, long labels,
                    long padded, double *out) {
    long l = 0;
    for (; l + 32 <= padded; l += 32)
        max_tile(from, stride, matrix + l, row, labels, out + l, 32);
    for (; l + 16 <= padded; l += 16)
        max_tile(from, stride, matrix + l, row, labels, out + l, 16);
    for (; l < padded; l += 8) max_tile(from, stride, matrix + l, row, labels, out + l, 8);
}

/* out = the best score of a path into each state of position t >= 1, without its own token. */
INLINE void max_step(const Chain *chain, long t, const double *from, double *out) {
    long L = chain->labels, P = chain->padded;
    if (chain->order == 1) {
        max_row(from, 1, chain->first, P, L, P, out);
    } else if (t == 1) {
        for (long r = 0; r < L; r++)
            for (long s = 0; s < P; s++) out[r * P + s] = from[r] + chain->first[r * P + s];
    } else {
        for (long r = 0; r < L; r++)
            max_row(from + r, P, chain->second + r * P, L * P, L, P, out + r * P);
    }
}

/* The lowest label q, at position t - 2 (order 2) or t - 1 (order 1), of the best path into state
   (r, s) of position t. At order 2, t >= 2. */
INLINE long max_origin(const Chain *chain, const double *from, long r, long s) {
    long L = chain->labels, P = chain->padded, found = 0;
    long stride = chain->order == 2 ? P : 1, row = chain->order == 2 ? L * P : P;
    const double *step = chain->order == 2 ? chain->second + r * P + s : chain->first + s;
    const double *before = chain->order == 2 ? from + r : from;
    double best = before[0] + step[0];
    for (long q = 1; q < L; q++) {
        double score = before[q * stride] + step[q * row];
        if (score > best) {
            best = score;
            found = q;
        }
    }
    return found;
}

/* Find the best last state; ties go to the lowest s, then to the lowest r. Returns its score. */
INLINE double max_end(const Chain *chain, long t, const double *from, long *r, long *s) {
    long P = chain->padded, rows = chain_rows(chain, t);
    double best = from[0] + chain->finish[0];
    *r = *s = 0;
    for (long b = 0; b < chain->labels; b++)
        for (long a = 0; a < rows; a++) {
            double score = from[a * P + b] + chain->finish[b];
            if (score > best) {
                best = score;
                *r = a;
                *s = b;
            }
        }
    return best;
}

/* One step back: (r, s), the state at position t, becomes the state at t - 1. from: states of t -
   1. */
INLINE void max_back(const Chain *chain, long t, const double *from, long *r, long *s) {
    if (chain->order == 1) {
        *s = max_origin(chain, from, 0, *s);
    } else {
        long q = t >= 2 ? max_origin(chain, from, *r, *s) : 0;
        *s = *r;
        *r = q;
    }
}

INLINE void begin_row(const Chain *chain, const double *unary, double *out) {
    for (long s = 0; s < chain->padded; s++) out[s] = chain->begin[s] + unary[s];
}

INLINE void add_unary(const Chain *chain, const double *unary, double *out) {
    long P = chain->padded, rows = chain->order == 2 ? chain->labels : 1;
    for (long r = 0; r < rows; r++)
        for (long s = 0; s < P; s++) out[r * P + s] += unary[s];
}

/* Find the path of highest score; ties go to the lowest last label, then to the lowest label before
   it, and so on. unary (length, P); states (length, S) scratch; path (length). Returns the score.
   */
WIDE double sequence_viterbi(const Chain *chain, const double *unary, long length, double *states,
                             int *path) {
    long P = chain->padded, S = chain_states(chain), r, s;
    begin_row(chain, unary, states);
    for (long t = 1; t < length; t++) {
        max_step(chain, t, states + (t - 1) * S, states + t * S);
        add_unary(chain, unary + t * P, states + t * S);
    }
    double best = max_end(chain, length - 1, states + (length - 1) * S, &r, &s);
    path[length - 1] = (int)s;
    for (long t = length - 1; t > 0; t--) {
        max_back(chain, t, states + (t - 1) * S, &r, &s);
        path[t - 1] = (int)s;
    }
    return best;
}

/* new = unary + (right at the true label, wrong at all others) */
INLINE void count_mix(const Chain *chain, long rows, const double *unary, long truth,
                      const double *right, const double *wrong, double *out) {
    long P = chain->padded;
    for (long r = 0; r < rows; r++) {
        for (long s = 0; s < P; s++) out[r * P + s] = unary[s] + wrong[r * P + s];
        out[r * P + truth] = unary[truth] + right[r * P + truth];
    }
}

INLINE void fill(double *out, long count, double value) {
    for (long i = 0; i < count; i++) out[i] = value;
}

/* Find the path that maximises margins[e] + score or, if `slack`, margins[e] (1 + score - truth) +
   truth, where e is its number of errors and truth the score of the true path. Ties go to the
   fewest errors, then as in sequence_viterbi. states (length + 1, length + 2, S) scratch. Returns
   the maximum, and e in *errors. */
WIDE double sequence_counted(const Chain *chain, const double *unary, const int *truth, long length,
                             const double *margins, int slack, double *states, int *path,
                             long *errors) {
    long P = chain->padded, S = chain_states(chain), layers = (length + 2) * S, r, s;
    double *stepped = states + length * layers; /* layer e is at e + 1; the first is unreachable */
    fill(stepped, S, UNREACHABLE);
    for (long e = 0; e <= 1; e++) {
        double *out = states + e * S;
        fill(out, S, UNREACHABLE);
        for (long b = 0; b < chain->labels; b++)
            if ((b != truth[0]) == e) out[b] = chain->begin[b] + unary[b];
    }
    for (long t = 1; t < length; t++) {
        const double *from = states + (t - 1) * layers;
        for (long e = 0; e <= t; e++) max_step(chain, t, from + e * S, stepped + (e + 1) * S);
        fill(stepped + (t + 2) * S, S, UNREACHABLE);
        for (long e = 0; e <= t + 1; e++)
            count_mix(chain, chain_rows(chain, t), unary + t * P, truth[t], stepped + (e + 1) * S,
                      stepped + e * S, states + t * layers + e * S);
    }
    const double *last = states + (length - 1) * layers;
    double right = max_end(chain, length - 1, last, &r, &s), best = slack ? right : margins[0] + right;
    long end_r = r, end_s = s;
    *errors = 0;
    for (long e = 1; e <= length; e++) {
        double score = max_end(chain, length - 1, last + e * S, &r, &s);
        if (score < UNREACHABLE / 10) continue;
        double value = slack ? margins[e] * (1.0 + score - right) + right : margins[e] + score;
        if (value > best) {
            best = value;
            *errors = e;
            end_r = r;
            end_s = s;
        }
    }
    r = end_r;
    s = end_s;
    path[length - 1] = (int)s;
    long e = *errors;
    for (long t = length - 1; t > 0; t--) {
        e -= s != truth[t];
        max_back(chain, t, states + (t - 1) * layers + e * S, &r, &s);
        path[t - 1] = (int)s;
    }
    return best;
}

/* Find the best path with at least one error; ties as in sequence_viterbi. states (length + 1, 2,
   S) scratch: scores of all paths, and of paths with an error. Returns the score, UNREACHABLE if
   there is no such path. */
WIDE double sequence_other(const Chain *chain, const double *unary, const int *truth, long length,
                           double *states, int *path) {
    long P = chain->padded, S = chain_states(chain), r, s;
    double *stepped = states + length * 2 * S;
    begin_row(chain, unary, states);
    begin_row(chain, unary, states + S);
    states[S + truth[0]] = UNREACHABLE;
    for (long t = 1; t < length; t++) {
        double *from = states + (t - 1) * 2 * S, *to = states + t * 2 * S;
        max_step(chain, t, from, stepped);
        max_step(chain, t, from + S, stepped + S);
        count_mix(chain, chain_rows(chain, t), unary + t * P, truth[t], stepped, stepped, to);
        count_mix(chain, chain_rows(chain, t), unary + t * P, truth[t], stepped + S, stepped,
                  to + S);
    }
    double best = max_end(chain, length - 1, states + (length - 1) * 2 * S + S, &r, &s);
    if (best < UNREACHABLE / 10) return UNREACHABLE;
    path[length - 1] = (int)s;
    long wrong = 0;
    for (long t = length - 1; t > 0; t--) {
        wrong |= s != truth[t];
        max_back(chain, t, states + (t - 1) * 2 * S + (wrong ? 0 : S), &r, &s);
        path[t - 1] = (int)s;
    }
    return best;
}

/* The score of a given path. */
INLINE double sequence_score(const Chain *chain, const double *unary, const int *path,
                             long length) {
    long L = chain->labels, P = chain->padded;
    double score = chain->begin[path[0]] + unary[path[0]];
    for (long t = 1; t < length; t++) {
        const double *step = chain->first + path[t - 1] * P;
        if (chain->order == 2 && t >= 2) step = chain->second + (path[t - 2] * L + path[t - 1]) * P;
        score = score + step[path[t]] + unary[t * P + path[t]];
    }
    return score + chain->finish[path[length - 1]];
}

#endif
