/* Belief propagation, in lanes; see _mrf_bp.pyx for the method.

   A sum-product message is a matrix of exponentials times a vector of exponentials. The matrix,
   from the tables, is computed once, and the vector for each message. If underflow may have lost
   terms that matter, the message is computed again in the log domain. */

#ifndef LSSVM_MRF_PROPAGATION_H
#define LSSVM_MRF_PROPAGATION_H

#include "lane_math.h"

#define MRF_FAINT 1e-280 /* smaller sums may lack terms that matter */

enum { MRF_CLAMPED = 0, MRF_SUMMED = 1, MRF_MAXIMISED = 2 };

/* Graphs of one shape; each entry of a table, belief or message is a vector of W numbers. */
typedef struct {
    long nodes, edges;
    const int *sizes;            /* of the tables of all items, nodes first */
    const int *ends;             /* (edges, 2) */
    const unsigned char *groups; /* of the nodes */
    double eps, damping, tolerance;
    long long *places; /* (items) where each table begins */
    long long *inbox;  /* (edges, 2) where its messages to the second and the first node begin */
    int *labels;       /* (nodes) W each, read for clamped nodes only */
    double *table;
    double *grown;   /* exp((table - highest) / eps) */
    double *highest; /* (items) */
    double *belief;  /* of each node: its table plus all messages to it */
    double *message;
    double *heard, *told; /* the beliefs and messages from which the next ones are computed: belief
                             and message themselves, or copies from before the sweep */
    double *share;   /* probabilities of the entries of all tables */
    double *entropy; /* (nodes) */
    double *cavity, *row, *slow; /* (largest item) */
} MrfLoopy;

INLINE double mrf_high(double a, double b) { return a > b ? a : b; }

INLINE int mrf_allowed(const MrfLoopy *g, long node, long state, int lane, const int W) {
    return g->groups[node] != MRF_CLAMPED || g->labels[node * W + lane] == state;
}

/* Set the indices where tables and messages begin, the exponentials, and all messages to 0. */
INLINE void mrf_prepare(const MrfLoopy *g, const int W) {
    long used = 0, messages = 0;
    for (long j = 0; j < g->nodes + g->edges; j++) {
        double *table = g->table + used * W, *grown = g->grown + used * W;
        double *highest = g->highest + j * W;
        g->places[j] = used;
        for (int l = 0; l < W; l++) highest[l] = table[l];
        for (long t = 1; t < g->sizes[j]; t++)
            for (int l = 0; l < W; l++) highest[l] = mrf_high(table[t * W + l], highest[l]);
        if (g->eps > 0.0 && j >= g->nodes)
            for (long t = 0; t < g->sizes[j]; t++)
                for (int l = 0; l < W; l++)
                    grown[t * W + l] = lane_exp((table[t * W + l] - highest[l]) * lane_inverse(g->eps));
        used += g->sizes[j];
    }
    for (long e = 0; e < g->edges; e++)
        for (int side = 0; side < 2; side++) {
            g->inbox[2 * e + side] = messages;
            messages += g->sizes[g->ends[2 * e + 1 - side]];
        }
    for (long k = 0; k < messages * W; k++) g->message[k] = 0.0;
}

/* Compute the beliefs of the nodes from tables and messages. */
INLINE void mrf_collect(const MrfLoopy *g, const int W) {
    for (long j = 0; j < g->nodes; j++)
        for (long k = 0; k < g->sizes[j] * W; k++)
            g->belief[g->places[j] * W + k] = g->table[g->places[j] * W + k];
    for (long e = 0; e < g->edges; e++)
        for (int side = 0; side < 2; side++) {
            long node = g->ends[2 * e + 1 - side];
            double *belief = g->belief + g->places[node] * W;
            const double *message = g->message + g->inbox[2 * e + side] * W;
            for (long k = 0; k < g->sizes[node] * W; k++) belief[k] += message[k];
        }
}

/* Write the cavity of an edge's source: its belief without the message from the target, and minus
   infinity for states that are excluded. most: its largest entry. */
INLINE void mrf_cavity(const MrfLoopy *g, long source, long target, const double *back,
                       double *most, const int W) {
    const double *own = g->heard + g->places[source] * W;
    long size = g->sizes[source];
    double best[LANES];
    for (int l = 0; l < W; l++) best[l] = most[l] = -INFINITY;
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) {
            g->cavity[x * W + l] = own[x * W + l] - back[x * W + l];
            best[l] = mrf_high(own[x * W + l], best[l]);
        }
    if (g->groups[source] == MRF_CLAMPED)
        for (long x = 0; x < size; x++)
            for (int l = 0; l < W; l++)
                if (g->labels[source * W + l] != x) g->cavity[x * W + l] = -INFINITY;
    if (g->groups[source] == MRF_MAXIMISED && g->groups[target] == MRF_SUMMED)
        for (long x = 0; x < size; x++)
            for (int l = 0; l < W; l++)
                if (own[x * W + l] != best[l]) g->cavity[x * W + l] = -INFINITY;
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) most[l] = mrf_high(g->cavity[x * W + l], most[l]);
}

/* out(y) = max over x of cavity + table, or eps log sum over x of exp((cavity + table) / eps). */
INLINE void mrf_from_logarithms(const MrfLoopy *g, long states, const double *table, long across,
                                long along, long count, double eps, double *out, const int W) {
    for (long y = 0; y < count; y++) {
        double most[LANES], total[LANES];
        for (int l = 0; l < W; l++) most[l] = -INFINITY;
        for (long x = 0; x < states; x++)
            for (int l = 0; l < W; l++)
                most[l] = mrf_high(g->cavity[x * W + l] + table[(x * across + y * along) * W + l],
                                   most[l]);
        for (int l = 0; l < W; l++) total[l] = eps > 0.0 ? 0.0 : 1.0;
        for (long x = 0; eps > 0.0 && x < states; x++)
            for (int l = 0; l < W; l++) {
                double score = g->cavity[x * W + l] + table[(x * across + y * along) * W + l];
                total[l] += lane_exp((score - most[l]) * lane_inverse(eps));
            }
        for (int l = 0; l < W; l++) out[y * W + l] = most[l] + eps * lane_log(total[l]);
    }
}

/* The same from exponentials. most: the largest entry of the cavity; faint: 1 for lanes in which a
   sum was too small. Returns whether there is such a lane. */
INLINE int mrf_from_exponentials(const MrfLoopy *g, long states, const double *grown, long across,
                                 long along, long count, const double *most, const double *highest,
                                 double *faint, double *out, const int W) {
    double *vector = g->slow, scale = lane_inverse(g->eps), low[LANES];
    int some = 0;
    for (long x = 0; x < states; x++)
        for (int l = 0; l < W; l++)
            vector[x * W + l] = lane_exp((g->cavity[x * W + l] - most[l]) * scale);
    for (int l = 0; l < W; l++) low[l] = 1.0;
    for (long y = 0; y < count; y++) {
        double sum[LANES];
        for (int l = 0; l < W; l++) sum[l] = 0.0;
        for (long x = 0; x < states; x++)
            for (int l = 0; l < W; l++)
                sum[l] += vector[x * W + l] * grown[(x * across + y * along) * W + l];
        for (int l = 0; l < W; l++) {
            low[l] = sum[l] < low[l] ? sum[l] : low[l];
            out[y * W + l] = sum[l];
        }
    }
    for (long y = 0; y < count; y++)
        for (int l = 0; l < W; l++)
            out[y * W + l] = highest[l] + most[l] + g->eps * lane_log(out[y * W + l]);
    for (int l = 0; l < W; l++) {
        faint[l] = low[l] < MRF_FAINT ? 1.0 : 0.0;
        some |= low[l] < MRF_FAINT;
    }
    return some;
}

/* Update the message along edge e (side 0) or against it (1), in the lanes that are `active`. */
INLINE void mrf_send(const MrfLoopy *g, long e, int side, const double *active, double *change,
                     double *largest, const int W) {
    long source = g->ends[2 * e + side], target = g->ends[2 * e + 1 - side];
    long states = g->sizes[source], count = g->sizes[target];
    long across = side ? 1 : count, along = side ? states : 1, place = g->places[g->nodes + e] * W;
    double *message = g->message + g->inbox[2 * e + side] * W, *row = g->row;
    double *belief = g->belief + g->places[target] * W;
    double most[LANES], faint[LANES], top[LANES];
    if (g->groups[target] == MRF_CLAMPED) return;
    mrf_cavity(g, source, target, g->told + g->inbox[2 * e + 1 - side] * W, most, W);
    if (g->eps == 0.0 ||
        (g->groups[source] == MRF_MAXIMISED && g->groups[target] == MRF_MAXIMISED)) {
        mrf_from_logarithms(g, states, g->table + place, across, along, count, 0.0, row, W);
    } else if (mrf_from_exponentials(g, states, g->grown + place, across, along, count, most,
                                     g->highest + (g->nodes + e) * W, faint, row, W)) {
        mrf_from_logarithms(g, states, g->table + place, across, along, count, g->eps, g->slow, W);
        for (long y = 0; y < count; y++)
            for (int l = 0; l < W; l++)
                row[y * W + l] = faint[l] != 0.0 ? g->slow[y * W + l] : row[y * W + l];
    }
    for (int l = 0; l < W; l++) top[l] = row[l];
    for (long y = 1; y < count; y++)
        for (int l = 0; l < W; l++) top[l] = mrf_high(row[y * W + l], top[l]);
    for (long y = 0; y < count; y++)
        for (int l = 0; l < W; l++) {
            double old = message[y * W + l];
            double value = (1.0 - g->damping) * (row[y * W + l] - top[l]) + g->damping * old;
            value = active[l] != 0.0 ? value : old;
            change[l] = mrf_high(fabs(value - old), change[l]);
            largest[l] = mrf_high(1.0 + fabs(value), largest[l]);
            belief[y * W + l] += value - old;
            message[y * W + l] = value;
        }
}

/* Turn log-probabilities times eps into probabilities, and add to value the expectation of the
   table plus eps times the entropy. If eps = 0, the lowest entry that attains the maximum has
   probability 1. distance: scratch. */
INLINE void mrf_normalise(double *own, const double *table, long size, double eps,
                          double *distance, double *value, double *entropy, const int W) {
    double most[LANES], total[LANES], mean[LANES], turned[LANES];
    double scale = eps > 0.0 ? lane_inverse(eps) : 1.0;
    for (int l = 0; l < W; l++) {
        most[l] = -INFINITY;
        total[l] = mean[l] = turned[l] = 0.0;
    }
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) most[l] = mrf_high(own[x * W + l], most[l]);
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) distance[x * W + l] = (own[x * W + l] - most[l]) * scale;
    if (eps > 0.0)
        for (long k = 0; k < size * W; k++) own[k] = lane_exp(distance[k]);
    for (long x = 0; eps == 0.0 && x < size; x++)
        for (int l = 0; l < W; l++) {
            own[x * W + l] = distance[x * W + l] == 0.0 && turned[l] == 0.0 ? 1.0 : 0.0;
            turned[l] += own[x * W + l];
        }
    for (int l = 0; l < W; l++) turned[l] = 0.0;
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) {
            double p = own[x * W + l];
            total[l] += p;
            mean[l] += p * table[x * W + l];
            turned[l] += p > 0.0 ? p * distance[x * W + l] : 0.0;
        }
    for (int l = 0; l < W; l++) {
        double inverse = 1.0 / total[l];
        entropy[l] = lane_log(total[l]) - turned[l] * inverse;
        value[l] += mean[l] * inverse + eps * entropy[l];
        total[l] = inverse;
    }
    for (long x = 0; x < size; x++)
        for (int l = 0; l < W; l++) own[x * W + l] *= total[l];
}

/* Write the beliefs of all items as probabilities, and the Bethe value to value. */
INLINE void mrf_read(const MrfLoopy *g, double *value, const int W) {
    double entropy[LANES];
    for (int l = 0; l < W; l++) value[l] = 0.0;
    for (long j = 0; j < g->nodes; j++) {
        double *own = g->share + g->places[j] * W;
        const double *belief = g->belief + g->places[j] * W;
        for (long x = 0; x < g->sizes[j]; x++)
            for (int l = 0; l < W; l++)
                own[x * W + l] = mrf_allowed(g, j, x, l, W) ? belief[x * W + l] : -INFINITY;
        mrf_normalise(own, g->table + g->places[j] * W, g->sizes[j], g->eps, g->cavity, value,
                      g->entropy + j * W, W);
    }
    for (long e = 0; e < g->edges; e++) {
        long a = g->ends[2 * e], b = g->ends[2 * e + 1], place = g->places[g->nodes + e] * W;
        double *own = g->share + place;
        const double *first = g->message + g->inbox[2 * e + 1] * W;
        const double *second = g->message + g->inbox[2 * e] * W;
        int clamped = g->groups[a] == MRF_CLAMPED || g->groups[b] == MRF_CLAMPED;
        for (long x = 0; x < g->sizes[a]; x++)
            for (long y = 0; y < g->sizes[b]; y++) {
                double *entry = own + (x * g->sizes[b] + y) * W;
                const double *table = g->table + place + (x * g->sizes[b] + y) * W;
                for (int l = 0; l < W; l++)
                    entry[l] = table[l] + g->belief[(g->places[a] + x) * W + l] -
                               first[x * W + l] + g->belief[(g->places[b] + y) * W + l] -
                               second[y * W + l];
                for (int l = 0; clamped && l < W; l++)
                    if (!mrf_allowed(g, a, x, l, W) || !mrf_allowed(g, b, y, l, W))
                        entry[l] = -INFINITY;
            }
        mrf_normalise(own, g->table + place, g->sizes[g->nodes + e], g->eps, g->cavity, value,
                      entropy, W);
        for (int l = 0; l < W; l++)
            value[l] -= g->eps * (g->entropy[a * W + l] + g->entropy[b * W + l]);
    }
}

/* Copy the beliefs and messages before a sweep, if the sweep uses the old ones throughout. */
INLINE void mrf_set_aside(const MrfLoopy *g, const int W) {
    long last = g->edges - 1;
    if (g->heard == g->belief || last < 0) return;
    long messages = g->inbox[2 * last + 1] + g->sizes[g->ends[2 * last]];
    for (long k = 0; k < g->places[g->nodes] * W; k++) g->heard[k] = g->belief[k];
    for (long k = 0; k < messages * W; k++) g->told[k] = g->message[k];
}

/* Make sweeps until every lane has converged; a converged lane no longer changes. */
INLINE void mrf_propagate(const MrfLoopy *g, int most_sweeps, double *value, long long *sweeps,
                          double *changes, const int W) {
    double active[LANES];
    int some = 1;
    mrf_prepare(g, W);
    for (int l = 0; l < W; l++) {
        active[l] = 1.0;
        changes[l] = INFINITY;
        sweeps[l] = 0;
    }
    for (int sweep = 0; some && sweep < most_sweeps; sweep++) {
        double change[LANES], largest[LANES];
        for (int l = 0; l < W; l++) {
            change[l] = 0.0;
            largest[l] = 1.0;
        }
        mrf_collect(g, W);
        mrf_set_aside(g, W);
        for (long e = 0; e < g->edges; e++) mrf_send(g, e, 0, active, change, largest, W);
        for (long e = g->edges - 1; e >= 0; e--) mrf_send(g, e, 1, active, change, largest, W);
        some = 0;
        for (int l = 0; l < W; l++) {
            if (active[l] == 0.0) continue;
            changes[l] = change[l] / largest[l];
            sweeps[l] = sweep + 1;
            active[l] = changes[l] <= g->tolerance ? 0.0 : 1.0;
            some |= active[l] != 0.0;
        }
    }
    mrf_collect(g, W);
    mrf_read(g, value, W);
}

WIDE void mrf_propagate_one(const MrfLoopy *g, int most_sweeps, double *value, long long *sweeps,
                            double *changes) {
    mrf_propagate(g, most_sweeps, value, sweeps, changes, 1);
}

WIDE void mrf_propagate_lanes(const MrfLoopy *g, int most_sweeps, double *value,
                              long long *sweeps, double *changes) {
    mrf_propagate(g, most_sweeps, value, sweeps, changes, LANES);
}

#endif
