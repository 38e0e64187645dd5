/* The rows of alignment_core.h for one kind of vectors of alignment_lanes.h.

   Included once for each kind, with KIND its name, COUNT its lanes and TARGET what its functions
   are built for. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(KIND, t)
#define OF(operation) JOIN(KIND, operation)

TARGET INLINE void JOIN(align_row, KIND)(const AlignmentTask *task, long i, const int ends,
                                         const int marked, const int traced) {
    const long columns = task->columns;
    V open = OF(set)(task->open), extend = OF(set)(task->extend), start = OF(set)(0.0);
    V diagonal = OF(load)(task->h), best = OF(load)(task->best), place = OF(load)(task->place);
    double border = ends == GLOBAL_ENDS ? gap_score(task->open, task->extend, i) : 0.0;
    double lead = gap_score(task->open, task->extend, i), here = (double)(i * (columns + 1));
    V y = OF(set)(ends == GLOBAL_ENDS ? border + task->open : FORBIDDEN);
    V rest = OF(load)(task->rest), keep = OF(load)(task->keep);
    const int *z = task->z;
    const double *scores[COUNT], *extra = task->extra, *gap_of = task->gap_of;
    for (int l = 0; l < COUNT; l++) scores[l] = task->table + task->x[(i - 1) * COUNT + l];
    const double *gaps = task->gaps, *kept = task->kept;
    double *h = task->h, *below = task->below;
    unsigned char *trace = 0;
    if (traced) trace = task->trace + (i - 1 - task->first) * columns * TRACE_BYTES(COUNT);
    OF(store)(h, OF(set)(border));
#pragma GCC unroll 2 /* registers move less */
    for (long j = 1; j <= columns; j++, z += COUNT) {
        h += COUNT;
        below += COUNT;
        V m = OF(add)(OF(gather)(scores, z), diagonal), x = OF(load)(below);
        if (marked) m = OF(add)(m, OF(load)(extra + j * COUNT));
        V g = OF(max)(m, x), top = OF(max)(g, y);
        V opened = OF(add)(m, open), extended = OF(add)(x, extend);
        V opened_y = OF(add)(g, open), extended_y = OF(add)(y, extend);
        diagonal = OF(load)(h);
        if (ends == FREE_ENDS) start = OF(set)(larger(lead, gap_of[j]));
        OF(store)(h, ends == GLOBAL_ENDS ? top : OF(max)(top, start));
        OF(store)(below, OF(max)(opened, extended));
        if (traced) {
            unsigned bits[5] = {OF(above)(x, m), OF(above)(y, g), OF(above)(extended, opened),
                                OF(above)(extended_y, opened_y), 0};
            if (ends != GLOBAL_ENDS) bits[4] = OF(above)(top, start);
            if (COUNT > 1) {
                const int count = ends == GLOBAL_ENDS ? 4 : 5; /* of bits that are read again */
                for (int b = 0; b < count; b++) trace[b] = (unsigned char)bits[b];
            } else {
                *trace = (unsigned char)(bits[0] | bits[1] << 1 | bits[2] << 2 | bits[3] << 3 |
                                         bits[4] << 4);
            }
            trace += TRACE_BYTES(COUNT);
        }
        y = OF(max)(opened_y, extended_y);
        if (ends != GLOBAL_ENDS) {
            here = (double)(i * (columns + 1) + j);
            V total = m;
            if (ends == FREE_ENDS) {
                V gap = OF(max)(rest, OF(load)(gaps + j * COUNT));
                V both = OF(times)(keep, OF(load)(kept + j * COUNT));
                total = OF(add)(total, OF(times)(gap, both));
            }
            place = OF(choose)(OF(above)(total, best), OF(set)(here), place);
            best = OF(max)(total, best);
        }
    }
    OF(store)(task->best, best);
    OF(store)(task->place, place);
}

TARGET INLINE void JOIN(align_all, KIND)(const AlignmentTask *task, const int ends,
                                         const int marked, const int traced) {
    if (task->again) keep_row(task, task->first + 1, 1, COUNT);
    else begin_alignment(task, COUNT);
    for (long i = task->first + 1; i <= task->last; i++) {
        if (task->kept_rows && !task->again && (i - 1) % task->block == 0)
            keep_row(task, i, 0, COUNT);
        if (ends == FREE_ENDS) begin_row(task, i, COUNT);
        if (marked) mark_row(task, i - 1, 1, COUNT);
        JOIN(align_row, KIND)(task, i, ends, marked, traced);
        if (marked) mark_row(task, i - 1, 0, COUNT);
        if (ends == GLOBAL_ENDS) end_row(task, i, COUNT);
    }
}

TARGET INLINE void JOIN(align_ends, KIND)(const AlignmentTask *task, const int ends) {
    if (task->bonus && task->trace) JOIN(align_all, KIND)(task, ends, 1, 1);
    else if (task->bonus) JOIN(align_all, KIND)(task, ends, 1, 0);
    else if (task->trace) JOIN(align_all, KIND)(task, ends, 0, 1);
    else JOIN(align_all, KIND)(task, ends, 0, 0);
}

TARGET static void JOIN(align, KIND)(const AlignmentTask *task) {
    if (task->ends == GLOBAL_ENDS) JOIN(align_ends, KIND)(task, GLOBAL_ENDS);
    else if (task->ends == FREE_ENDS) JOIN(align_ends, KIND)(task, FREE_ENDS);
    else JOIN(align_ends, KIND)(task, LOCAL_ENDS);
}

#undef V
#undef OF
#undef JOIN
#undef JOIN_
#undef KIND
#undef COUNT
#undef TARGET
