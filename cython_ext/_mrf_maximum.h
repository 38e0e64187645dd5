/* The best states of one graph: the steps of _mrf_elimination.h, where every temperature is 0. */

#ifndef LSSVM_MRF_MAXIMUM_H
#define LSSVM_MRF_MAXIMUM_H

#include "_mrf_tables.h"

/* Write the tables of all items of a graph one after another, and where each begins; their size. */
WIDE long mrf_tables(const MrfGraphs *graphs, const MrfRoom *room, long long row) {
    long long first = graphs->offsets[row];
    long used = 0;
    for (long long item = first; item < graphs->offsets[row + 1]; item++) {
        room->places[item - first] = used;
        mrf_score(graphs, &item, room->table + used, 1);
        used += graphs->sizes[item];
    }
    return used;
}

/* How a factor runs along the last of the other variables of its step: `rest` of them come before,
   and the `length` joint states of those that follow lie `stride` apart. */
typedef struct {
    long rest, length;
    long long stride;
} MrfRun;

INLINE MrfRun mrf_run(const MrfStep *step, const long long *strides) {
    MrfRun run = {step->others, 1, 0};
    while (run.rest > 0) {
        long long stride = strides[run.rest - 1];
        if (run.length > 1 && stride != run.stride * run.length) break;
        if (run.length == 1) run.stride = stride;
        run.length *= (long)step->sizes[--run.rest];
    }
    return run;
}

/* sums[s] += what a factor holds for the state v and the joint states s. */
INLINE void mrf_add_factor(const MrfStep *step, long f, const double *source, const MrfRun *run,
                           long long *counter, double *sums) {
    const long long *strides = step->strides + f * step->others;
    for (long j = 0; j < run->rest; j++) counter[j] = 0;
    for (long s = 0; s < step->total; s += run->length) {
        double *own = sums + s;
        if (run->stride == 0) {
            double value = *source;
            for (long k = 0; k < run->length; k++) own[k] += value;
        } else if (run->stride == 1) {
            for (long k = 0; k < run->length; k++) own[k] += source[k];
        } else {
            for (long k = 0; k < run->length; k++) own[k] += source[k * run->stride];
        }
        for (long j = run->rest - 1; j >= 0; j--) {
            source += strides[j];
            if (++counter[j] < step->sizes[j]) break;
            source -= step->sizes[j] * strides[j];
            counter[j] = 0;
        }
    }
}

/* All steps: messages, and of each number of them the lowest v that attains it. */
WIDE void mrf_maximise(const MrfPlan *plan, const MrfRoom *room, long used, int *lowest) {
    double *sums = room->chunk;
    MrfRun *runs = (MrfRun *)room->at;
    for (long k = 0; k < plan->count; k++) {
        MrfStep step = mrf_step(plan, k, 0);
        int *found = lowest + step.message;
        double *m = room->table + used + step.message;
        for (long f = 0; f < step.factors; f++)
            runs[f] = mrf_run(&step, step.strides + f * step.others);
        for (long v = 0; v < step.states; v++) {
            double *own = v ? sums : m;
            for (long s = 0; s < step.total; s++) own[s] = 0.0;
            for (long f = 0; f < step.factors; f++) {
                const long long *row = step.rows + 3 * f;
                long long first = row[0] < 0 ? used + row[1] : room->places[row[0]];
                mrf_add_factor(&step, f, room->table + first + v * row[2], runs + f, room->counter,
                               own);
            }
            for (long s = 0; s < step.total && v == 0; s++) found[s] = 0;
            for (long s = 0; s < step.total && v > 0; s++) {
                found[s] = sums[s] > m[s] ? (int)v : found[s];
                m[s] = sums[s] > m[s] ? sums[s] : m[s];
            }
        }
    }
}

/* The steps backwards: the states that the messages were made of. `entry` says, where the message
   of a step begins, which of its numbers was read. The table of a node is in the step of its own
   variable alone. */
static void mrf_states(const MrfPlan *plan, const MrfRoom *room, const int *lowest, int *entry,
                       long nodes, int *states) {
    for (long k = plan->count - 1; k >= 0; k--) {
        MrfStep step = mrf_step(plan, k, 0);
        long rest = step.others ? entry[step.message] : 0;
        int v = lowest[step.message + rest];
        for (long j = step.others - 1; j >= 0; j--) {
            room->counter[j] = rest % step.sizes[j];
            rest /= step.sizes[j];
        }
        for (long f = 0; f < step.factors; f++) {
            const long long *row = step.rows + 3 * f, *strides = step.strides + f * step.others;
            if (row[0] >= 0) {
                if (row[0] < nodes) states[row[0]] = v;
                continue;
            }
            long long at = v * row[2];
            for (long j = 0; j < step.others; j++) at += room->counter[j] * strides[j];
            entry[row[1]] = (int)at;
        }
    }
}

#endif
