/* Derivations that are given: their spans and values, the best parts of their symbols, and the best
   derivation that differs from one.

   A derivation is the list of its rules in preorder; parts of speech are not in it, since the rules
   above say which they are. A true derivation consists of rules of the grammar as it was read,
   whose symbols may have several parts in the grammar of the charts. The rule of parts a, b, c of
   its symbols is the rule expand[rule] + (a parts(left) + b) parts(right) + c. */

#ifndef LSSVM_PARSING_TRUTH_H
#define LSSVM_PARSING_TRUTH_H

#include "_parsing_core.h"

typedef struct {
    const int *parent, *left, *right; /* by rule; right -1: one child, parent -1: the root */
    const int *whole;                 /* (weights of rules) what a rule is a part of */
    const int *expand;                /* (rules as read), its first part */
    const int *first, *parts;         /* (symbols as read) first part, and how many */
} Shapes;

typedef struct {
    long count;
    const int *rules;             /* as read, in preorder */
    int *start, *width, *left;    /* of each; left: width of its left child */
    int *first, *second;          /* places of its children, -1: a part of speech or none */
    int *layer, *top;             /* one-child rules below it over the same words; whether none above */
} Tree;

/* Spans, children and layers of the rules of a tree, whose symbols are numbered as `shapes`. */
MAYBE_UNUSED static void parse_spans(const int *parent, const int *left, const int *right,
                                     long tags, Tree *tree, int *stack) {
    long depth = 0;
    for (long q = tree->count - 1; q >= 0; q--) {
        int r = tree->rules[q];
        tree->first[q] = left[r] < tags ? -1 : stack[--depth];
        tree->left[q] = tree->first[q] < 0 ? 1 : tree->width[tree->first[q]];
        tree->width[q] = tree->left[q];
        tree->second[q] = -1;
        tree->layer[q] = 0;
        tree->top[q] = 1;
        if (right[r] >= 0) {
            tree->second[q] = right[r] < tags ? -1 : stack[--depth];
            tree->width[q] += tree->second[q] < 0 ? 1 : tree->width[tree->second[q]];
        } else if (parent[r] >= 0) {
            tree->layer[q] = 1;
            if (tree->first[q] >= 0) {
                tree->layer[q] += tree->layer[tree->first[q]];
                tree->top[tree->first[q]] = 0;
            }
        }
        stack[depth++] = (int)q;
    }
    tree->start[0] = 0;
    for (long q = 0; q < tree->count; q++) {
        if (tree->first[q] >= 0) tree->start[tree->first[q]] = tree->start[q];
        if (tree->second[q] >= 0) tree->start[tree->second[q]] = tree->start[q] + tree->left[q];
    }
}

/* w . Phi of a derivation without alpha and beta, its brackets, and how many are true ones.
   left : (golds) room */
MAYBE_UNUSED static double parse_measure(const Rules *g, const Shapes *shapes, const Sentence *x,
                                         const double *w, const Tree *tree, int *left,
                                         long *brackets, long *matched) {
    double score = 0.0;
    *brackets = *matched = 0;
    for (long k = 0; k < x->golds; k++) left[k] = x->gold[k].count;
    for (long q = 0; q < tree->count; q++) {
        int r = tree->rules[q], s = shapes->parent[r];
        int label = s < 0 ? -1 : g->label[s];
        score += w[r];
        if (x->emissions != NULL) {
            int b = shapes->left[r], c = shapes->right[r];
            if (b < g->tags) score += x->emissions[tree->start[q] * g->tags + b];
            if (c >= 0 && c < g->tags)
                score += x->emissions[(tree->start[q] + tree->left[q]) * g->tags + c];
        }
        if (label < 0) continue;
        ++*brackets;
        if (x->nodes != NULL)
            score += x->nodes[(label * x->n + tree->width[q] - 1) * x->pitch + tree->start[q]];
        for (long k = 0; k < x->golds; k++)
            if (left[k] > 0 && x->gold[k].label == label && x->gold[k].start == tree->start[q] &&
                x->gold[k].width == tree->width[q]) {
                left[k]--;
                ++*matched;
                break;
            }
    }
    return score;
}

/* ---- the best parts of the symbols of a tree ---------------------------------------------- */

INLINE double leaf_score(const Rules *g, const Sentence *x, long tag, long start) {
    return x->emissions == NULL ? 0.0 : x->emissions[start * g->tags + tag];
}

/* The values of all rules of the true derivation by part of their parent: values (count, most). */
MAYBE_UNUSED static double parse_complete(const Rules *g, const Shapes *shapes,
                                          const int *parent, const int *left, const int *right,
                                          const Sentence *x, const double *w, const Tree *tree,
                                          long most, double *values) {
    for (long q = tree->count - 1; q >= 0; q--) {
        int r = tree->rules[q], s = parent[r], b = left[r], c = right[r];
        long parts = s < 0 ? 1 : shapes->parts[s], lefts = shapes->parts[b];
        long rights = c < 0 ? 1 : shapes->parts[c];
        double charge = s < 0 ? 0.0
                              : charge_of(x, g->label[shapes->first[s]], tree->width[q],
                                          tree->start[q]);
        for (long a = 0; a < parts; a++) {
            double best = NOWHERE;
            for (long i = 0; i < lefts; i++)
                for (long j = 0; j < rights; j++) {
                    double sum = tree->first[q] < 0 ? leaf_score(g, x, b, tree->start[q])
                                                    : values[tree->first[q] * most + i];
                    if (c >= 0)
                        sum += tree->second[q] < 0
                                   ? leaf_score(g, x, c, tree->start[q] + tree->left[q])
                                   : values[tree->second[q] * most + j];
                    sum += w[shapes->expand[r] + (a * lefts + i) * rights + j];
                    best = sum > best ? sum : best;
                }
            values[q * most + a] = best + charge;
        }
    }
    return values[0];
}

/* The parts that attain these values, as rules of the charts in preorder. chosen : (count) room */
MAYBE_UNUSED static void parse_chosen(const Rules *g, const Shapes *shapes, const int *parent,
                                      const int *left, const int *right, const Sentence *x,
                                      const double *w, const Tree *tree, long most,
                                      const double *values, int *chosen, int *rules) {
    chosen[0] = 0;
    for (long q = 0; q < tree->count; q++) {
        int r = tree->rules[q], s = parent[r], b = left[r], c = right[r], found = 0;
        long lefts = shapes->parts[b], rights = c < 0 ? 1 : shapes->parts[c];
        double charge = s < 0 ? 0.0
                              : charge_of(x, g->label[shapes->first[s]], tree->width[q],
                                          tree->start[q]);
        for (long i = 0; i < lefts && !found; i++)
            for (long j = 0; j < rights && !found; j++) {
                long rule = shapes->expand[r] + (chosen[q] * lefts + i) * rights + j;
                double sum = tree->first[q] < 0 ? leaf_score(g, x, b, tree->start[q])
                                                : values[tree->first[q] * most + i];
                if (c >= 0)
                    sum += tree->second[q] < 0
                               ? leaf_score(g, x, c, tree->start[q] + tree->left[q])
                               : values[tree->second[q] * most + j];
                sum += w[rule];
                if (sum + charge != values[q * most + chosen[q]]) continue;
                found = 1;
                rules[q] = (int)rule;
                if (tree->first[q] >= 0) chosen[tree->first[q]] = (int)i;
                if (tree->second[q] >= 0) chosen[tree->second[q]] = (int)j;
            }
    }
}

/* ---- the best derivation that differs ------------------------------------------------------ */

typedef struct {
    const Tree *tree;
    long most;
    double *here;  /* (count, most) differing, ending in the layer of the rule */
    double *whole; /* (count, most) differing, any layer; of rules with `top` */
} Differing;

INLINE double differing_child(const Shapes *shapes, const Differing *d, long node, long s,
                              const int *base) {
    if (node < 0) return NOWHERE;
    return d->whole[node * d->most + (s - shapes->first[base[s]])];
}

/* The three ways to make layer 0 of a true span by a rule and a split: kind 0 where the rule or
   split is another one, 1 if the left child differs, 2 if the right child does. */
INLINE double split_value(const Rules *g, const Shapes *shapes, const Sentence *x,
                          const double *w, const Room *room, const Differing *d, long q, long j,
                          long k, int kind) {
    const Tree *tree = d->tree;
    long b = g->left[g->pair[j]], c = g->right[g->pair[j]], start = tree->start[q];
    int same = shapes->whole[g->rule[j]] == tree->rules[q] && k == tree->left[q];
    if (same != (kind > 0)) return NOWHERE;
    double left = row_of(g, x, room->chart, b, k)[start];
    double right = row_of(g, x, room->chart, c, tree->width[q] - k)[start + k];
    if (kind == 1) left = differing_child(shapes, d, tree->first[q], b, g->base);
    if (kind == 2) right = differing_child(shapes, d, tree->second[q], c, g->base);
    if (!REACHED(left) || !REACHED(right)) return NOWHERE;
    return (left + right) + w[g->rule[j]];
}

INLINE double chain_value(const Rules *g, const Shapes *shapes, const double *w,
                          const Room *room, const Golds *own, const Differing *d, long q, long r) {
    const Tree *tree = d->tree;
    long b = g->below[r];
    double from = in_cell(g, room, own, tree->layer[q] - 1, 0)[b];
    if (shapes->whole[g->unary[r]] == tree->rules[q]) {
        if (tree->first[q] < 0) return NOWHERE;
        from = d->here[tree->first[q] * d->most + (b - shapes->first[g->base[b]])];
    }
    return REACHED(from) ? from + w[g->unary[r]] : NOWHERE;
}

/* The highest w . Phi of a derivation other than the true one, after parse_best without beta. */
MAYBE_UNUSED static double parse_other(const Rules *g, const Shapes *shapes, const Sentence *x,
                                       const double *w, const Room *room, const Differing *d,
                                       const int *parent) {
    const Tree *tree = d->tree;
    Golds own = {0, 1, {0}, {0}, {0}};
    for (long q = tree->count - 1; q > 0; q--) {
        int s = parent[tree->rules[q]], core = g->core_row[shapes->first[s]] >= 0;
        if (core) fill_cell(g, x, w, room, &own, tree->start[q], tree->width[q]);
        for (long a = 0; a < shapes->parts[s]; a++) {
            long own_s = shapes->first[s] + a;
            double best = NOWHERE, value;
            if (tree->layer[q] == 0) {
                for (long e = g->made[own_s]; e < g->made[own_s + 1]; e++) {
                    long j = g->by_parent[e], p = g->pair[j];
                    long first = g->right[p] < g->tags ? tree->width[q] - 1 : 1;
                    long last = g->left[p] < g->tags ? 1 : tree->width[q] - 1;
                    for (long k = first; k <= last; k++)
                        for (int kind = 0; kind < 3; kind++) {
                            value = split_value(g, shapes, x, w, room, d, q, j, k, kind);
                            best = value > best ? value : best;
                        }
                }
            } else {
                for (long r = 0; r < g->unaries; r++)
                    if (g->above[r] == own_s) {
                        value = chain_value(g, shapes, w, room, &own, d, q, r);
                        best = value > best ? value : best;
                    }
            }
            if (REACHED(best))
                best += charge_of(x, g->label[own_s], tree->width[q], tree->start[q]);
            d->here[q * d->most + a] = best;
            for (long u = 0; u <= g->chain && tree->top[q] && core; u++)
                if (u != tree->layer[q]) {
                    value = in_cell(g, room, &own, u, 0)[own_s];
                    best = value > best ? value : best;
                }
            d->whole[q * d->most + a] = best;
        }
    }
    double best = NOWHERE;
    for (long r = 0; r < g->roots; r++) {
        long s = g->top[r];
        if (s < g->tags && x->n > 1) continue;
        double value = row_of(g, x, room->chart, s, x->n)[0];
        if (shapes->whole[g->root[r]] == tree->rules[0])
            value = differing_child(shapes, d, tree->first[0], s, g->base);
        if (REACHED(value) && value + w[g->root[r]] > best) best = value + w[g->root[r]];
    }
    return best;
}

/* The rules from a symbol of a true span down, where the derivation differs below or here. */
MAYBE_UNUSED static void descend_other(const Rules *g, const Shapes *shapes, const Sentence *x, const double *w,
                          const Room *room, const Differing *d, Trace *trace, const Golds *own,
                          long s, long q) {
    const Tree *tree = d->tree;
    long start = tree->start[q], width = tree->width[q];
    double charge = charge_of(x, g->label[s], width, start);
    double value = d->here[q * d->most + (s - shapes->first[g->base[s]])];
    for (long r = 0; tree->layer[q] > 0 && r < g->unaries; r++) {
        if (g->above[r] != s) continue;
        if (chain_value(g, shapes, w, room, own, d, q, r) + charge != value) continue;
        trace->rules[trace->count++] = g->unary[r];
        if (shapes->whole[g->unary[r]] == tree->rules[q])
            descend_other(g, shapes, x, w, room, d, trace, own, g->below[r], tree->first[q]);
        else
            descend(g, x, w, room, trace, own, g->below[r], start, width, tree->layer[q] - 1, 0);
        return;
    }
    for (long e = g->made[s]; tree->layer[q] == 0 && e < g->made[s + 1]; e++) {
        long j = g->by_parent[e], b = g->left[g->pair[j]], c = g->right[g->pair[j]];
        long first = c < g->tags ? width - 1 : 1, last = b < g->tags ? 1 : width - 1;
        for (long k = first; k <= last; k++)
            for (int kind = 0; kind < 3; kind++) {
                double sum = split_value(g, shapes, x, w, room, d, q, j, k, kind);
                if (!REACHED(sum) || sum + charge != value) continue;
                trace->rules[trace->count++] = g->rule[j];
                push(room, trace, c, start + k, width - k, kind == 2 ? tree->second[q] : -1);
                push(room, trace, b, start, k, kind == 1 ? tree->first[q] : -1);
                return;
            }
    }
}

INLINE void trace_other(const Rules *g, const Shapes *shapes, const Sentence *x, const double *w,
                        const Room *room, const Differing *d, Trace *trace, long s, long q) {
    const Tree *tree = d->tree;
    long place = q * d->most + (s - shapes->first[g->base[s]]);
    Golds own = {0, 1, {0}, {0}, {0}};
    if (g->core_row[s] >= 0) fill_cell(g, x, w, room, &own, tree->start[q], tree->width[q]);
    if (d->here[place] == d->whole[place]) {
        descend_other(g, shapes, x, w, room, d, trace, &own, s, q);
        return;
    }
    for (long u = 0; u <= g->chain; u++)
        if (u != tree->layer[q] && in_cell(g, room, &own, u, 0)[s] == d->whole[place]) {
            descend(g, x, w, room, trace, &own, s, tree->start[q], tree->width[q], u, 0);
            return;
        }
}

/* The rules of the derivation whose value parse_other gave. */
MAYBE_UNUSED static void parse_trace_other(const Rules *g, const Shapes *shapes,
                                           const Sentence *x, const double *w, const Room *room,
                                           const Differing *d, double best, Trace *trace) {
    const Tree *tree = d->tree;
    trace->count = trace->depth = 0;
    for (long r = 0; r < g->roots; r++) {
        long s = g->top[r], node = -1;
        if (s < g->tags && x->n > 1) continue;
        double value = row_of(g, x, room->chart, s, x->n)[0];
        if (shapes->whole[g->root[r]] == tree->rules[0]) {
            value = differing_child(shapes, d, tree->first[0], s, g->base);
            node = tree->first[0];
        }
        if (!REACHED(value) || value + w[g->root[r]] != best) continue;
        trace->rules[trace->count++] = g->root[r];
        push(room, trace, s, 0, x->n, node);
        break;
    }
    while (trace->depth > 0) {
        const int *item = room->stack + 4 * --trace->depth;
        int s = item[0], start = item[1], width = item[2], node = item[3];
        if (node >= 0)
            trace_other(g, shapes, x, w, room, d, trace, s, node);
        else
            trace_symbol(g, x, w, room, trace, s, start, width);
    }
}

#endif
