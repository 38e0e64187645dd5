/* Sums over all paths of a chain, and the best few paths; see _sequence_core.h for the layout.

   The forward and backward probabilities are scaled to sum 1 at every position (Rabiner,
   Proceedings of the IEEE 77, 1989, section V.A). This needs one exponential for each score of a
   token, and otherwise products. As long as all scales are within REACH, underflow loses nothing
   that matters. If a scale is not, the sequence is computed in the log domain.

   There, log-sum-exps are sums of products exp(score - highest) exp(weight - highest), so that a
   step needs 2 L exponentials and logarithms instead of L^2. If such a sum is below FAINT, terms
   that matter may have been lost, and it is computed again from the logarithms, which is correct at
   any scale. */

#ifndef LSSVM_SEQUENCE_SOFT_H
#define LSSVM_SEQUENCE_SOFT_H

#include "_sequence_core.h"
#include "lane_math.h"

#define STEEP 600.0 /* products of exponentials are not used for larger exponents */
/* Numbers of at most 1 lose less than 1e-308 to underflow. This loss is divided by a scale and
   multiplied by a number of at most 1e100, so that the loss in a result is below 1e-100. */
#define REACH 1e-100

typedef struct {
    const double *first;  /* (L, P) exp(weight - first_shift), 0 beyond the labels */
    const double *turned; /* (L, P) the same from column to row */
    const double *second; /* (L, L, P) */
    const double *begin;  /* (P) */
    const double *finish; /* (P) */
    double first_shift, second_shift, begin_shift, finish_shift;
} Exponentials;

INLINE double highest(const double *values, long count, long stride) {
    double best = values[0];
    for (long i = 1; i < count; i++)
        if (values[i * stride] > best) best = values[i * stride];
    return best;
}

/* ---- scaled probabilities ----------------------------------------------------------------- */

INLINE void mix_tile(const double *from, long stride, const double *matrix, long row, long labels,
                     double *out, const int lanes) {
    double even[TILE], odd[TILE]; /* two sums, which the processor computes at the same time */
    for (int l = 0; l < lanes; l++) even[l] = odd[l] = 0.0;
    long q = 0;
    for (; q + 2 <= labels; q += 2) {
        double a = from[q * stride], b = from[(q + 1) * stride];
        const double *x = matrix + q * row, *y = x + row;
        for (int l = 0; l < lanes; l++) {
            even[l] += a * x[l];
            odd[l] += b * y[l];
        }
    }
    if (q < labels)
        for (int l = 0; l < lanes; l++) even[l] += from[q * stride] * matrix[q * row + l];
    for (int l = 0; l < lanes; l++) out[l] = even[l] + odd[l];
}

/* out[s] = sum_q from[q * stride] matrix[q * row + s] */
INLINE void mix_row(const double *from, long stride, const double *matrix, long row, long labels,
                    long padded, double *out) {
    long l = 0;
    for (; l + 32 <= padded; l += 32)
        mix_tile(from, stride, matrix + l, row, labels, out + l, 32);
    for (; l + 16 <= padded; l += 16)
        mix_tile(from, stride, matrix + l, row, labels, out + l, 16);
    for (; l < padded; l += 8) mix_tile(from, stride, matrix + l, row, labels, out + l, 8);
}

INLINE double sum_8(const double *part) {
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

/* The inner product of a and b; count is a multiple of 8. */
INLINE double inner_8(const double *a, const double *b, long count) {
    double part[8] = {0.0};
    for (long s = 0; s < count; s += 8)
        for (int l = 0; l < 8; l++) part[l] += a[s + l] * b[s + l];
    return sum_8(part);
}

/* Multiply states by the factors of their token, and divide them by their sum. Returns the sum. */
INLINE double scale_states(double *states, long rows, const double *factor, long padded) {
    double part[8] = {0.0};
    for (long r = 0; r < rows; r++)
        for (long s = 0; s < padded; s += 8)
            for (int l = 0; l < 8; l++)
                part[l] += states[r * padded + s + l] *= factor[s + l];
    double sum = sum_8(part);
    if (sum < REACH) return sum;
    double inverse = 1.0 / sum;
    for (long s = 0; s < rows * padded; s++) states[s] *= inverse;
    return sum;
}

/* Compute the forward probabilities alpha (length, S), which sum to 1 at each position, and their
   scales (length + 1), the last for the end. factors (length, S): the first row of each position
   becomes exp(score - highest) of its token. Returns log Z, or UNREACHABLE if a scale is below
   REACH. */
WIDE double sequence_scaled_forward(const Chain *chain, const Exponentials *grown,
                                    const double *unary, long length, double *alpha,
                                    double *factors, double *scales) {
    long L = chain->labels, P = chain->padded, S = chain_states(chain);
    double logz = grown->begin_shift + grown->finish_shift;
    for (long t = 0; t < length; t++) {
        const double *own = unary + t * P;
        double *factor = factors + t * S, *to = alpha + t * S, *from = to - S;
        double top = highest(own, L, 1);
        long rows = chain_rows(chain, t);
        for (long s = 0; s < P; s++) {
            double below = lane_exp(own[s] < top ? own[s] - top : 0.0);
            factor[s] = s < L ? below : 0.0;
        }
        if (t == 0) {
            for (long s = 0; s < P; s++) to[s] = grown->begin[s];
        } else if (chain->order == 1) {
            mix_row(from, 1, grown->first, P, L, P, to);
            logz += grown->first_shift;
        } else if (t == 1) {
            for (long r = 0; r < L; r++)
                for (long s = 0; s < P; s++) to[r * P + s] = from[r] * grown->first[r * P + s];
            logz += grown->first_shift;
        } else {
            for (long r = 0; r < L; r++)
                mix_row(from + r, P, grown->second + r * P, L * P, L, P, to + r * P);
            logz += grown->second_shift;
        }
        scales[t] = scale_states(to, rows, factor, P);
        if (scales[t] < REACH) return UNREACHABLE;
        logz += top + lane_log(scales[t]);
    }
    double end = 0.0;
    for (long r = 0; r < chain_rows(chain, length - 1); r++)
        end += inner_8(alpha + (length - 1) * S + r * P, grown->finish, P);
    scales[length] = end;
    return end < REACH ? UNREACHABLE : logz + lane_log(end);
}

/* Compute beta of position t - 1 from ahead of position t. Returns the highest entry of beta. */
INLINE double scaled_back(const Chain *chain, const Exponentials *grown, long t,
                          const double *ahead, double *beta) {
    long L = chain->labels, P = chain->padded;
    double top = 0.0;
    if (chain->order == 1) {
        mix_row(ahead, 1, grown->turned, P, L, P, beta);
        for (long s = 0; s < P; s++) top = beta[s] > top ? beta[s] : top;
        return top;
    }
    for (long q = 0; q < (t >= 2 ? L : 1); q++)
        for (long r = 0; r < L; r++) {
            const double *step =
                t >= 2 ? grown->second + (q * L + r) * P : grown->first + r * P;
            beta[q * P + r] = inner_8(step, ahead + r * P, P);
            top = beta[q * P + r] > top ? beta[q * P + r] : top;
        }
    return top;
}

/* Compute the marginal probabilities of labels, marginals (length, P), from the results of
   sequence_scaled_forward. factors (length, S) become ahead: factor times beta, divided by the
   scale of the position. beta (S) scratch, 0 at first. Returns whether all entries of beta are at
   most 1 / REACH. */
WIDE int sequence_scaled_backward(const Chain *chain, const Exponentials *grown, long length,
                                  const double *alpha, double *factors, const double *scales,
                                  double *beta, double *marginals) {
    long P = chain->padded, S = chain_states(chain);
    for (long r = 0; r < chain_rows(chain, length - 1); r++)
        for (long s = 0; s < P; s++) beta[r * P + s] = grown->finish[s] / scales[length];
    for (long t = length - 1; t >= 0; t--) {
        const double *own = alpha + t * S;
        double *marginal = marginals + t * P, *ahead = factors + t * S;
        long rows = chain_rows(chain, t);
        for (long s = 0; s < P; s++) marginal[s] = own[s] * beta[s];
        for (long r = 1; r < rows; r++)
            for (long s = 0; s < P; s++) marginal[s] += own[r * P + s] * beta[r * P + s];
        if (t == 0) return 1;
        double inverse = 1.0 / scales[t];
        for (long r = rows - 1; r >= 0; r--) /* the first row last: it holds the factors */
            for (long s = 0; s < P; s++) ahead[r * P + s] = ahead[s] * inverse * beta[r * P + s];
        if (scaled_back(chain, grown, t, ahead, beta) > 1.0 / REACH) return 0;
    }
    return 1;
}

INLINE void count_tile(const double *from, long stride, const double *ahead, long step, long steps,
                       double cost, double *sums, const int lanes) {
    double even[TILE], odd[TILE];
    for (int l = 0; l < lanes; l++) even[l] = odd[l] = 0.0;
    long t = 0;
    for (; t + 2 <= steps; t += 2) {
        double a = from[t * stride], b = from[(t + 1) * stride];
        const double *x = ahead + t * step, *y = x + step;
        for (int l = 0; l < lanes; l++) {
            even[l] += a * x[l];
            odd[l] += b * y[l];
        }
    }
    if (t < steps)
        for (int l = 0; l < lanes; l++) even[l] += from[t * stride] * ahead[t * step + l];
    for (int l = 0; l < lanes; l++) sums[l] += cost * (even[l] + odd[l]);
}

/* sums (P) += cost times the sum over steps of from[t * stride] ahead[t * step ..] */
INLINE void count_row(const double *from, long stride, const double *ahead, long step, long steps,
                      double cost, long padded, double *sums) {
    long l = 0;
    for (; l + 32 <= padded; l += 32)
        count_tile(from, stride, ahead + l, step, steps, cost, sums + l, 32);
    for (; l + 16 <= padded; l += 16)
        count_tile(from, stride, ahead + l, step, steps, cost, sums + l, 16);
    for (; l < padded; l += 8) count_tile(from, stride, ahead + l, step, steps, cost, sums + l, 8);
}

/* Add cost times the expected counts of transitions, each divided by exp(weight - shift), to first
   (L, P) and second (L, L, P), from the results of sequence_scaled_backward. */
WIDE void sequence_scaled_counts(const Chain *chain, long length, const double *alpha,
                                 const double *ahead, double cost, double *first, double *second) {
    long L = chain->labels, P = chain->padded, S = chain_states(chain);
    if (chain->order == 1) {
        for (long q = 0; q < L; q++)
            count_row(alpha + q, S, ahead + S, S, length - 1, cost, P, first + q * P);
        return;
    }
    for (long r = 0; length > 1 && r < L; r++)
        count_row(alpha + r, S, ahead + S + r * P, S, 1, cost, P, first + r * P);
    for (long q = 0; length > 2 && q < L; q++)
        for (long r = 0; r < L; r++)
            count_row(alpha + S + q * P + r, S, ahead + 2 * S + r * P, S, length - 2, cost, P,
                      second + (q * L + r) * P);
}

/* ---- the log domain ----------------------------------------------------------------------- */

/* log sum_i exp(a[i * a_stride] + b[i * b_stride]) */
static double log_sum(const double *a, long a_stride, const double *b, long b_stride, long count) {
    double best = a[0] + b[0], sum = 0.0;
    for (long i = 1; i < count; i++) {
        double value = a[i * a_stride] + b[i * b_stride];
        if (value > best) best = value;
    }
    for (long i = 0; i < count; i++) sum += exp(a[i * a_stride] + b[i * b_stride] - best);
    return best + log(sum);
}

/* out[s] = log sum_q exp(from[q * stride] + matrix[q * row + s]); grown = exp(matrix - shift) */
INLINE void soft_row(const double *from, long stride, const double *matrix, const double *grown,
                     double shift, long row, long labels, long padded, double *sum, double *out) {
    double top = highest(from, labels, stride);
    fill(sum, padded, 0.0);
    for (long q = 0; q < labels; q++) {
        double value = exp(from[q * stride] - top);
        const double *factor = grown + q * row;
        for (long s = 0; s < padded; s++) sum[s] += value * factor[s];
    }
    for (long s = 0; s < labels; s++)
        out[s] = sum[s] >= FAINT ? top + shift + log(sum[s])
                                 : log_sum(from, stride, matrix + s, row, labels);
    for (long s = labels; s < padded; s++) out[s] = 0.0;
}

/* Compute alpha (length, S): the log-sum-exp of the scores of all paths into a state, its token
   included. sum (P) scratch. Returns log Z. */
WIDE double sequence_forward(const Chain *chain, const Exponentials *grown, const double *unary,
                             long length, double *alpha, double *sum) {
    long L = chain->labels, P = chain->padded, S = chain_states(chain);
    begin_row(chain, unary, alpha);
    for (long t = 1; t < length; t++) {
        const double *from = alpha + (t - 1) * S;
        double *to = alpha + t * S;
        if (chain->order == 1)
            soft_row(from, 1, chain->first, grown->first, grown->first_shift, P, L, P, sum, to);
        else if (t == 1)
            max_step(chain, t, from, to); /* only one path leads into each state */
        else
            for (long r = 0; r < L; r++)
                soft_row(from + r, P, chain->second + r * P, grown->second + r * P,
                         grown->second_shift, L * P, L, P, sum, to + r * P);
        add_unary(chain, unary + t * P, to);
    }
    const double *last = alpha + (length - 1) * S;
    long rows = chain_rows(chain, length - 1);
    for (long r = 0; r < rows; r++) sum[r] = log_sum(last + r * P, 1, chain->finish, 1, L);
    if (rows == 1) return sum[0];
    double top = highest(sum, rows, 1), total = 0.0;
    for (long r = 0; r < rows; r++) total += exp(sum[r] - top);
    return top + log(total);
}

INLINE double soft_column(const double *row, const double *factor, double shift, const double *ahead,
                          const double *grown, double top, long labels, long padded) {
    double part[8] = {0.0}, sum = 0.0;
    for (long s = 0; s < padded; s += 8)
        for (int l = 0; l < 8; l++) part[l] += factor[s + l] * grown[s + l];
    for (int l = 0; l < 8; l++) sum += part[l];
    return sum >= FAINT ? top + shift + log(sum) : log_sum(row, 1, ahead, 1, labels);
}

/* Write exp(ahead - top) of the states of a position, and 0 beyond the labels; returns top. */
INLINE double grow_states(const Chain *chain, long t, const double *values, double *grown) {
    long L = chain->labels, P = chain->padded, rows = chain_rows(chain, t);
    double top = values[0];
    for (long r = 0; r < rows; r++) {
        double best = highest(values + r * P, L, 1);
        if (best > top) top = best;
    }
    for (long r = 0; r < rows; r++)
        for (long s = 0; s < P; s++) grown[r * P + s] = s < L ? exp(values[r * P + s] - top) : 0.0;
    return top;
}

/* Compute beta of position t - 1 from ahead (S), the token's score plus beta at position t. */
INLINE void soft_back(const Chain *chain, const Exponentials *grown, long t, const double *ahead,
                      const double *growing, double top, double *beta) {
    long L = chain->labels, P = chain->padded;
    if (chain->order == 2 && t >= 2) {
        for (long q = 0; q < L; q++)
            for (long r = 0; r < L; r++)
                beta[q * P + r] = soft_column(
                    chain->second + (q * L + r) * P, grown->second + (q * L + r) * P,
                    grown->second_shift, ahead + r * P, growing + r * P, top, L, P);
    } else {
        long own = chain->order == 2 ? P : 0;
        for (long r = 0; r < L; r++)
            beta[r] = soft_column(chain->first + r * P, grown->first + r * P, grown->first_shift,
                                  ahead + r * own, growing + r * own, top, L, P);
    }
}

/* sums += cost times the probability of each step from L states to the L states of a row. */
INLINE void add_pairs(const double *from, long stride, const double *behind, const double *matrix,
                      const double *factor, long row, const double *ahead, const double *growing,
                      double exponent, double logz, double cost, long labels, long padded,
                      double *sums) {
    double scale = exponent < STEEP ? cost * exp(exponent) : 0.0;
    for (long q = 0; q < labels; q++) {
        if (exponent < STEEP) {
            double value = scale * behind[q * stride];
            for (long s = 0; s < padded; s++)
                sums[q * row + s] += value * factor[q * row + s] * growing[s];
        } else {
            for (long s = 0; s < labels; s++)
                sums[q * row + s] +=
                    cost * exp(from[q * stride] + matrix[q * row + s] + ahead[s] - logz);
        }
    }
}

/* Compute the marginal probabilities of labels, marginals (length, P), and add cost times the
   expected counts of transitions to first (L, P) and second (L, L, P); a step counted in second is
   not counted in first. alpha is the result of sequence_forward; scratch (4, S): beta, ahead and
   two rows of exponentials. */
WIDE void sequence_backward(const Chain *chain, const Exponentials *grown, const double *unary,
                            long length, const double *alpha, double logz, double cost,
                            double *scratch, double *marginals, double *first, double *second) {
    long L = chain->labels, P = chain->padded, S = chain_states(chain);
    double *beta = scratch, *ahead = scratch + S, *growing = scratch + 2 * S;
    double *behind = scratch + 3 * S;
    for (long r = 0; r < chain_rows(chain, length - 1); r++)
        for (long s = 0; s < P; s++) beta[r * P + s] = chain->finish[s];
    for (long t = length - 1; t >= 0; t--) {
        double *marginal = marginals + t * P;
        long rows = chain_rows(chain, t);
        fill(marginal, P, 0.0);
        for (long r = 0; r < rows; r++)
            for (long s = 0; s < L; s++)
                marginal[s] += exp(alpha[t * S + r * P + s] + beta[r * P + s] - logz);
        if (t == 0) return;
        const double *from = alpha + (t - 1) * S;
        for (long r = 0; r < rows; r++)
            for (long s = 0; s < P; s++) ahead[r * P + s] = beta[r * P + s] + unary[t * P + s];
        double top = grow_states(chain, t, ahead, growing);
        double before = grow_states(chain, t - 1, from, behind) + top - logz;
        if (chain->order == 1) {
            add_pairs(from, 1, behind, chain->first, grown->first, P, ahead, growing,
                      before + grown->first_shift, logz, cost, L, P, first);
        } else if (t == 1) {
            for (long r = 0; r < L; r++)
                for (long s = 0; s < L; s++)
                    first[r * P + s] +=
                        cost * exp(from[r] + chain->first[r * P + s] + ahead[r * P + s] - logz);
        } else {
            for (long r = 0; r < L; r++)
                add_pairs(from + r, P, behind + r, chain->second + r * P, grown->second + r * P,
                          L * P, ahead + r * P, growing + r * P, before + grown->second_shift, logz,
                          cost, L, P, second + r * P);
        }
        soft_back(chain, grown, t, ahead, growing, top, beta);
    }
}

/* out (width, P) += row (width) times coefficients (P) */
WIDE void sequence_outer(const double *row, long width, const double *coefficients, long padded,
                         double *out) {
    for (long k = 0; k < width; k++) {
        double value = row[k];
        if (value == 0.0) continue;
        for (long s = 0; s < padded; s++) out[k * padded + s] += value * coefficients[s];
    }
}

/* ---- the best few paths --------------------------------------------------------------------- */

/* Where a path that ends in a state comes from. */
typedef struct {
    double score;
    int label; /* q as in max_origin */
    int rank;  /* its index among the paths kept for the previous state */
} Origin;

/* Insert a path into a list of at most `most` paths by falling score, after paths of equal score.
   Returns the new length. */
INLINE long put(Origin *list, long count, long most, double score, int label, int rank) {
    if (count == most && score <= list[most - 1].score) return count;
    long place = count < most ? count : most - 1;
    while (place > 0 && list[place - 1].score < score) {
        list[place] = list[place - 1];
        place--;
    }
    list[place].score = score;
    list[place].label = label;
    list[place].rank = rank;
    return count < most ? count + 1 : most;
}

/* Find the paths of highest score, best first; paths of equal score are ordered by the rule for
   ties of sequence_viterbi. lists (length + 1, S, most) and counts (length, S) scratch. The k-th
   path is column k of paths (length, most); scores (most). Returns how many paths there are. */
static long sequence_best(const Chain *chain, const double *unary, long length, long most,
                          Origin *lists, long *counts, int *paths, double *scores) {
    long L = chain->labels, P = chain->padded, S = chain_states(chain), second = chain->order == 2;
    for (long t = 0; t < length; t++)
        for (long r = 0; r < chain_rows(chain, t); r++)
            for (long s = 0; s < L; s++) {
                long state = r * P + s, count = 0;
                Origin *list = lists + (t * S + state) * most;
                if (t == 0) count = put(list, 0, most, chain->begin[s] + unary[s], 0, 0);
                for (long q = 0; t > 0 && q < (second && t == 1 ? 1 : L); q++) {
                    long before = second ? (t == 1 ? r : q * P + r) : q;
                    double step = second && t > 1 ? chain->second[(q * L + r) * P + s]
                                  : chain->first[(second ? r : q) * P + s];
                    const Origin *from = lists + ((t - 1) * S + before) * most;
                    for (long k = 0; k < counts[(t - 1) * S + before]; k++)
                        count = put(list, count, most, from[k].score + step + unary[t * P + s],
                                    (int)q, (int)k);
                }
                counts[t * S + state] = count;
            }
    Origin *ends = lists + length * S * most;
    long found = 0, last = length - 1;
    for (long s = 0; s < L; s++)
        for (long r = 0; r < chain_rows(chain, last); r++)
            for (long k = 0; k < counts[last * S + r * P + s]; k++)
                found = put(ends, found, most,
                            lists[(last * S + r * P + s) * most + k].score + chain->finish[s],
                            (int)(r * P + s), (int)k);
    for (long k = 0; k < found; k++) {
        long state = ends[k].label, rank = ends[k].rank;
        scores[k] = ends[k].score;
        for (long t = last; t >= 0; t--) {
            const Origin *own = lists + (t * S + state) * most + rank;
            paths[t * most + k] = (int)(state % P);
            long r = state / P;
            state = second ? (t >= 2 ? own->label * P + r : r) : own->label;
            rank = own->rank;
        }
    }
    return found;
}

#endif
