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

/* All steps: messages, and of each number of them the lowest v that attains it. */
WIDE void mrf_maximise(const MrfPlan *plan, const MrfRoom *room, long used, int *lowest) {
    double most[MRF_ROWS];
    for (long k = 0; k < plan->count; k++) {
        MrfStep step = mrf_step(plan, k, 0);
        int *found = lowest + step.message;
        double *m = room->table + used + step.message;
        mrf_begin(&step, room->places, used, room->counter, room->at);
        for (long s = 0; s < step.total; s++) {
            long here = s % MRF_ROWS, rows = step.total - s;
            if (here == 0) {
                rows = rows < MRF_ROWS ? rows : MRF_ROWS;
                mrf_gather(&step, rows, room->counter, room->at, room->table, room->chunk, most, 1);
            }
            const double *p = room->chunk + here * step.states;
            int best = 0;
            for (long v = step.states - 1; v >= 0; v--) best = p[v] == most[here] ? (int)v : best;
            found[s] = best;
            m[s] = most[here];
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
