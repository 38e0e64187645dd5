/* Graphs, plans and the tables of items, for the kernels that eliminate one variable after another;
   see _mrf.pyx for the method. W is the number of lanes. */

#ifndef LSSVM_MRF_TABLES_H
#define LSSVM_MRF_TABLES_H

#include "lane_math.h"

/* The graphs, with the arguments of infer in _mrf.pyx. */
typedef struct {
    const double *w;
    const long long *offsets, *starts, *bases, *nodes;
    const int *indices, *sizes, *labels, *states;
    const double *values, *costs;
    const unsigned char *charged; /* NULL if no node is charged */
} MrfGraphs;

/* One plan, and the temperatures of the variables that are eliminated first and second. */
typedef struct {
    const long long *steps; /* (count, 9) as in plans.Plans */
    const long long *factors, *strides, *others, *evidence, *constants;
    long count, messages, evidence_count, constant_count;
    double eps[2];
} MrfPlan;

/* Scratch for one call. Each entry of a table is a vector of W numbers. */
typedef struct {
    long long *places;  /* (items) where each table begins */
    long long *counter; /* (2, others) the joint state of the other variables */
    long long *at;      /* (2, factors) the index of that joint state in each factor */
    double *table;      /* the tables of all items, then all messages */
    double *back;       /* the derivatives of the value with respect to table */
    double *kept;       /* P(v | s) of all steps; NULL: computed again in the backward pass */
    double *chunk;      /* (MRF_ROWS, states) P(v | s) of a part of one step */
    double *sums;       /* (largest item) what is added to neighbouring entries of the gradient */
} MrfRoom;

typedef struct {
    long states, others, total, message, first, factors;
    const long long *rows, *strides, *sizes; /* of the step's factors and other variables */
    double eps;
} MrfStep;

INLINE MrfStep mrf_step(const MrfPlan *plan, long k, long used) {
    const long long *facts = plan->steps + 9 * k;
    MrfStep step;
    step.states = (long)facts[0];
    step.others = (long)facts[1];
    step.total = (long)facts[2];
    step.message = used + (long)facts[3];
    step.factors = (long)facts[5];
    step.rows = plan->factors + 3 * facts[4];
    step.sizes = plan->others + facts[6];
    step.strides = plan->strides + facts[7];
    step.eps = plan->eps[facts[8] ? 1 : 0];
    return step;
}

/* ---- from features to tables ---------------------------------------------------------------- */

/* Whether the items of all lanes have the same weights and features; the values may differ. */
INLINE int mrf_alike(const MrfGraphs *graphs, const long long *items, const int W) {
    long long start = graphs->starts[items[0]], count = graphs->starts[items[0] + 1] - start;
    for (int l = 1; l < W; l++) {
        long long own = graphs->starts[items[l]];
        if (graphs->bases[items[l]] != graphs->bases[items[0]]) return 0;
        if (graphs->starts[items[l] + 1] - own != count) return 0;
        for (long long p = 0; p < count; p++)
            if (graphs->indices[own + p] != graphs->indices[start + p]) return 0;
    }
    return 1;
}

/* The tables of one item in all lanes. */
INLINE void mrf_score(const MrfGraphs *graphs, const long long *items, double *table, const int W) {
    long size = graphs->sizes[items[0]];
    for (long k = 0; k < size * W; k++) table[k] = 0.0;
    if (mrf_alike(graphs, items, W)) {
        long long start = graphs->starts[items[0]], count = graphs->starts[items[0] + 1] - start;
        for (long long p = 0; p < count; p++) {
            const double *weights =
                graphs->w + graphs->bases[items[0]] + (long long)graphs->indices[start + p] * size;
            double value[LANES];
            for (int l = 0; l < W; l++) value[l] = graphs->values[graphs->starts[items[l]] + p];
            for (long t = 0; t < size; t++)
                for (int l = 0; l < W; l++) table[t * W + l] += value[l] * weights[t];
        }
        return;
    }
    for (int l = 0; l < W; l++)
        for (long long p = graphs->starts[items[l]]; p < graphs->starts[items[l] + 1]; p++) {
            const double *weights =
                graphs->w + graphs->bases[items[l]] + (long long)graphs->indices[p] * size;
            for (long t = 0; t < size; t++) table[t * W + l] += graphs->values[p] * weights[t];
        }
}

/* Swap the entries for the clamped states of a lane with those for state 0, so that all lanes read
   the same indices. Applied again in the reverse order of evidence, it undoes itself. */
INLINE void mrf_swap(const MrfGraphs *graphs, const long long *row, long long item, double *table,
                     long long node, long long first, const int W, int lane) {
    long size = graphs->sizes[item], stride = (long)row[2];
    long shift = graphs->states[node] * stride, period = stride * graphs->sizes[first + row[1]];
    for (long high = 0; shift && high < size; high += period)
        for (long low = high; low < high + stride; low++) {
            double held = table[low * W + lane];
            table[low * W + lane] = table[(low + shift) * W + lane];
            table[(low + shift) * W + lane] = held;
        }
}

INLINE void mrf_swap_all(const MrfGraphs *graphs, const MrfPlan *plan, const MrfRoom *room,
                         const long long *rows, double *table, int backwards, const int W) {
    for (long k = 0; k < plan->evidence_count; k++) {
        const long long *row =
            plan->evidence + 3 * (backwards ? plan->evidence_count - 1 - k : k);
        for (int l = 0; l < W; l++) {
            long long first = graphs->offsets[rows[l]];
            mrf_swap(graphs, row, first + row[0], table + room->places[row[0]] * W,
                     graphs->nodes[rows[l]] + row[1], first, W, l);
        }
    }
}

#endif
