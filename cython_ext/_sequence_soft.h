/* Sums over all paths of a chain, and the best few paths; see _sequence_core.h for the layout.

   Log-sum-exps are sums of products exp(score - highest) exp(weight - highest), so that there are
   2 L exponentials and logarithms a step and not L^2. Where such a sum is FAINT, terms that count
   may have vanished, and it is done again from the logarithms themselves: right at any scale. */

#ifndef LSSVM_SEQUENCE_SOFT_H
#define LSSVM_SEQUENCE_SOFT_H

#include "_sequence_core.h"

#define STEEP 600.0 /* exponent beyond which products are not trusted */

typedef struct {
    const double *first;  /* (L, P) exp(weight - first_shift), 0 beyond the labels */
    const double *second; /* (L, L, P) */
    double first_shift, second_shift;
} Exponentials;

INLINE double highest(const double *values, long count, long stride) {
    double best = values[0];
    for (long i = 1; i < count; i++)
        if (values[i * stride] > best) best = values[i * stride];
    return best;
}

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

/* alpha (length, S): log of the summed exponentials of all paths up to a state, its token
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
            max_step(chain, t, from, to); /* one way into each state */
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

/* exp(ahead - top) of the states of a position, 0 beyond the labels; returns top. */
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

/* beta of position t - 1 from ahead = token + beta of position t, (S). */
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

/* sums += cost P(this step), for the states (L) of one row against those of another. */
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

/* Probabilities of labels, marginals (length, P), and the expected counts of transitions times
   cost, added to first (L, P) and second (L, L, P, without what counts in first too). alpha as
   sequence_forward leaves it; scratch (4, S): beta, ahead and two rows of exponentials. */
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
    int rank;  /* among the paths kept of the state before */
} Origin;

/* Put a path into a falling list of at most `most`, behind equal ones. Returns the new length. */
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

/* The paths of highest score, best first; equal ones in the order of sequence_viterbi's ties.
   lists (length + 1, S, most), counts (length, S) scratch; paths: the k-th is in column k of
   (length, most), scores (most). Returns how many there are. */
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
