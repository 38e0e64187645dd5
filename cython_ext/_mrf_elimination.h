/* Exact inference by variable elimination, in lanes; see _mrf.pyx for the method. */

#ifndef LSSVM_MRF_ELIMINATION_H
#define LSSVM_MRF_ELIMINATION_H

#include "_mrf_tables.h"

enum { MRF_ROWS = 32 }; /* joint states that are processed together */

/* Stand at the first joint state: at[f] is where factor f has state 0 of v. */
INLINE void mrf_begin(const MrfStep *step, const long long *places, long used, long long *counter,
                      long long *at) {
    for (long j = 0; j < step->others; j++) counter[j] = 0;
    for (long f = 0; f < step->factors; f++) {
        const long long *row = step->rows + 3 * f;
        at[f] = row[0] < 0 ? used + row[1] : places[row[0]];
    }
}

/* Go to the next joint state; the last variable changes fastest. */
INLINE void mrf_advance(const MrfStep *step, long long *counter, long long *at) {
    for (long j = step->others - 1; j >= 0; j--) {
        counter[j]++;
        for (long f = 0; f < step->factors; f++) at[f] += step->strides[f * step->others + j];
        if (counter[j] < step->sizes[j]) return;
        for (long f = 0; f < step->factors; f++)
            at[f] -= step->sizes[j] * step->strides[f * step->others + j];
        counter[j] = 0;
    }
}

/* Write T(v, s) of the next `rows` joint states s to p, and the maxima over v to most. */
INLINE void mrf_gather(const MrfStep *step, long rows, long long *counter, long long *at,
                       const double *table, double *p, double *most, const int W) {
    for (long s = 0; s < rows; s++) {
        double *row = p + s * step->states * W;
        for (long k = 0; k < step->states * W; k++) row[k] = 0.0;
        for (long f = 0; f < step->factors; f++) {
            const double *source = table + at[f] * W;
            long stride = (long)step->rows[3 * f + 2] * W;
            for (long v = 0; v < step->states; v++)
                for (int l = 0; l < W; l++) row[v * W + l] += source[v * stride + l];
        }
        for (int l = 0; l < W; l++) most[s * W + l] = row[l];
        for (long v = 1; v < step->states; v++)
            for (int l = 0; l < W; l++) {
                double value = row[v * W + l], high = most[s * W + l];
                most[s * W + l] = value > high ? value : high;
            }
        mrf_advance(step, counter, at);
    }
}

/* Write P(v | s) of the next `rows` joint states s to p, and m(s) to m. At temperature 0 the
   probability is 1 at the lowest v that attains the maximum. */
INLINE void mrf_condition(const MrfStep *step, long rows, long long *counter, long long *at,
                          const double *table, double *p, double *m, const int W) {
    double most[MRF_ROWS * LANES], sum[MRF_ROWS * LANES];
    long states = step->states;
    mrf_gather(step, rows, counter, at, table, p, most, W);
    if (step->eps == 0.0) {
        for (long s = 0; s < rows; s++) {
            double left[LANES];
            for (int l = 0; l < W; l++) left[l] = 1.0;
            for (long v = 0; v < states; v++)
                for (int l = 0; l < W; l++) {
                    double *own = p + (s * states + v) * W + l;
                    double found = *own == most[s * W + l] ? left[l] : 0.0;
                    left[l] -= found;
                    *own = found;
                }
        }
        for (long k = 0; k < rows * W; k++) m[k] = most[k];
        return;
    }
    double scale = lane_inverse(step->eps);
    for (long s = 0; s < rows; s++)
        for (long v = 0; v < states; v++)
            for (int l = 0; l < W; l++) {
                double *own = p + (s * states + v) * W + l;
                *own = (*own - most[s * W + l]) * scale;
            }
    for (long k = 0; k < rows * states * W; k++) p[k] = lane_exp(p[k]);
    for (long s = 0; s < rows; s++) {
        for (int l = 0; l < W; l++) sum[s * W + l] = p[s * states * W + l];
        for (long v = 1; v < states; v++)
            for (int l = 0; l < W; l++) sum[s * W + l] += p[(s * states + v) * W + l];
    }
    for (long k = 0; k < rows * W; k++) {
        m[k] = most[k] + step->eps * lane_log(sum[k]);
        sum[k] = 1.0 / sum[k];
    }
    for (long s = 0; s < rows; s++)
        for (long v = 0; v < states; v++)
            for (int l = 0; l < W; l++) p[(s * states + v) * W + l] *= sum[s * W + l];
}

/* Propagate the derivatives with respect to m(s), for the next `rows` joint states s, back to the
   tables from which m was computed. */
INLINE void mrf_hand_back(const MrfStep *step, long rows, long long *counter, long long *at,
                          const double *p, const double *shares, double *back, const int W) {
    for (long s = 0; s < rows; s++) {
        const double *row = p + s * step->states * W;
        double share[LANES];
        int some = 0;
        for (int l = 0; l < W; l++) some |= (share[l] = shares[s * W + l]) != 0.0;
        for (long f = 0; some && f < step->factors; f++) {
            double *target = back + at[f] * W;
            long stride = (long)step->rows[3 * f + 2] * W;
            for (long v = 0; v < step->states; v++)
                for (int l = 0; l < W; l++) target[v * stride + l] += share[l] * row[v * W + l];
        }
        mrf_advance(step, counter, at);
    }
}

/* Run all steps forward and backward: add the result to value, and fill `back`. */
INLINE void mrf_eliminate(const MrfPlan *plan, const MrfRoom *room, long used, double *value,
                          const int W) {
    double *p = room->kept, dropped[MRF_ROWS * LANES];
    for (long k = 0; k < plan->count; k++) {
        MrfStep step = mrf_step(plan, k, used);
        double *m = room->table + step.message * W;
        mrf_begin(&step, room->places, used, room->counter, room->at);
        for (long s = 0; s < step.total; s += MRF_ROWS) {
            long rows = step.total - s < MRF_ROWS ? step.total - s : MRF_ROWS;
            mrf_condition(&step, rows, room->counter, room->at, room->table,
                          room->kept ? p + s * step.states * W : room->chunk, m + s * W, W);
        }
        if (room->kept) p += step.total * step.states * W;
        for (int l = 0; step.others == 0 && l < W; l++) {
            value[l] += m[l];
            room->back[step.message * W + l] = 1.0;
        }
    }
    for (long k = plan->count - 1; k >= 0; k--) {
        MrfStep step = mrf_step(plan, k, used);
        long long *counter = room->counter + step.others, *at = room->at + step.factors;
        if (room->kept) p -= step.total * step.states * W;
        mrf_begin(&step, room->places, used, room->counter, room->at);
        mrf_begin(&step, room->places, used, counter, at);
        for (long s = 0; s < step.total; s += MRF_ROWS) {
            long rows = step.total - s < MRF_ROWS ? step.total - s : MRF_ROWS;
            double *own = room->kept ? p + s * step.states * W : room->chunk;
            if (!room->kept)
                mrf_condition(&step, rows, room->counter, room->at, room->table, own, dropped, W);
            mrf_hand_back(&step, rows, counter, at, own,
                          room->back + (step.message + s) * W, room->back, W);
        }
    }
}

/* ---- back to features ----------------------------------------------------------------------- */

/* Sums that are still to be added to the gradient, over lanes: size numbers from `target`. */
typedef struct {
    long long target;
    long size;
    double *sums;
} MrfWaiting;

INLINE void mrf_flush(MrfWaiting *waiting, double *out, const int W) {
    for (long t = 0; t < waiting->size; t++) {
        double total = 0.0;
        for (int l = 0; l < W; l++) total += waiting->sums[t * W + l];
        out[waiting->target + t] += total;
    }
    waiting->size = 0;
}

/* Add costs times the expected features of one item. */
INLINE void mrf_spread(const MrfGraphs *graphs, const long long *items, const double *costs,
                       const double *shares, MrfWaiting *waiting, double *out, const int W) {
    long size = graphs->sizes[items[0]];
    int alike = W > 1 && mrf_alike(graphs, items, W);
    for (int l = 0; l < W && !alike; l++)
        for (long long p = graphs->starts[items[l]]; p < graphs->starts[items[l] + 1]; p++) {
            double *target = out + graphs->bases[items[l]] + (long long)graphs->indices[p] * size;
            double share = costs[l] * graphs->values[p];
            for (long t = 0; t < size; t++) target[t] += share * shares[t * W + l];
        }
    if (!alike) return;
    long long start = graphs->starts[items[0]], count = graphs->starts[items[0] + 1] - start;
    for (long long p = 0; p < count; p++) {
        long long target = graphs->bases[items[0]] + (long long)graphs->indices[start + p] * size;
        double share[LANES];
        for (int l = 0; l < W; l++)
            share[l] = costs[l] * graphs->values[graphs->starts[items[l]] + p];
        if (waiting->size != size || waiting->target != target) {
            mrf_flush(waiting, out, W);
            waiting->target = target;
            waiting->size = size;
            for (long k = 0; k < size * W; k++) waiting->sums[k] = 0.0;
        }
        for (long t = 0; t < size; t++)
            for (int l = 0; l < W; l++) waiting->sums[t * W + l] += share[l] * shares[t * W + l];
    }
}

/* Values, expected losses and summed features of the W graphs `rows`, which share a plan; `back`
   is left with the probabilities of all entries of all tables. */
INLINE void mrf_infer(const MrfGraphs *graphs, const MrfPlan *plan, const MrfRoom *room,
                      const long long *rows, const double *costs, double *values, double *losses,
                      double *out, const int W) {
    long first = (long)graphs->offsets[rows[0]], used = 0;
    long count = (long)graphs->offsets[rows[0] + 1] - first;
    long nodes = (long)(graphs->nodes[rows[0] + 1] - graphs->nodes[rows[0]]);
    long long items[LANES];
    MrfWaiting waiting = {0, 0, room->sums};
    for (long j = 0; j < count; j++) {
        long size = graphs->sizes[first + j];
        double *table = room->table + used * W;
        for (int l = 0; l < W; l++) items[l] = graphs->offsets[rows[l]] + j;
        mrf_score(graphs, items, table, W);
        for (int l = 0; l < W && j < nodes && graphs->charged; l++) {
            long long node = graphs->nodes[rows[l]] + j;
            for (long t = 0; graphs->charged[node] && t < size; t++)
                table[t * W + l] += t != graphs->labels[node];
        }
        room->places[j] = used;
        used += size;
    }
    mrf_swap_all(graphs, plan, room, rows, room->table, 0, W);
    memset(room->back, 0, (size_t)(used + plan->messages) * W * sizeof(double));
    for (int l = 0; l < W; l++) values[l] = losses[l] = 0.0;
    for (long k = 0; k < plan->constant_count; k++)
        for (int l = 0; l < W; l++) {
            values[l] += room->table[room->places[plan->constants[k]] * W + l];
            room->back[room->places[plan->constants[k]] * W + l] = 1.0;
        }
    mrf_eliminate(plan, room, used, values, W);
    mrf_swap_all(graphs, plan, room, rows, room->back, 1, W);
    for (long j = 0; j < count; j++) {
        const double *shares = room->back + room->places[j] * W;
        for (int l = 0; l < W; l++) items[l] = graphs->offsets[rows[l]] + j;
        for (int l = 0; l < W && j < nodes && graphs->charged; l++) {
            long long node = graphs->nodes[rows[l]] + j;
            for (long t = 0; graphs->charged[node] && t < graphs->sizes[first + j]; t++)
                losses[l] += t != graphs->labels[node] ? shares[t * W + l] : 0.0;
        }
        mrf_spread(graphs, items, costs, shares, &waiting, out, W);
    }
    mrf_flush(&waiting, out, W);
}

WIDE void mrf_infer_one(const MrfGraphs *graphs, const MrfPlan *plan, const MrfRoom *room,
                        const long long *rows, const double *costs, double *values, double *losses,
                        double *out) {
    mrf_infer(graphs, plan, room, rows, costs, values, losses, out, 1);
}

WIDE void mrf_infer_lanes(const MrfGraphs *graphs, const MrfPlan *plan, const MrfRoom *room,
                          const long long *rows, const double *costs, double *values,
                          double *losses, double *out) {
    mrf_infer(graphs, plan, room, rows, costs, values, losses, out, LANES);
}

#endif
