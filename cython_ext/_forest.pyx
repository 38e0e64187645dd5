"""Maximum spanning forests over the mentions of documents: one pass, no sorting.

A pair of mentions has a feature row, and documents have far fewer distinct rows than pairs:
each row is scored once, and a pair is then one look-up. Prim's algorithm grows one tree after
another from the lowest remaining mention, so every pair is visited exactly once and nothing is
stored per pair.

Edges are totally ordered: the heavier edge first, then the lower pair. So the forest is unique,
and it is the same as that of Kruskal's algorithm with a stable sort.
"""

import numpy as np

from libc.string cimport memmove

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK
from _pairs cimport (
    Documents, add_row, check_clusters, check_weights, fill_bases, point_to_documents, score_rows,
)

cdef double NONE = -np.inf  # the weight of an edge that does not exist

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK

cdef struct Search:
    int task
    Py_ssize_t reach
    double penalty
    double floor  # edges must weigh more
    double within  # added to the weight of an edge within a true cluster
    double across  # and to that of any other
    const int* rows  # of the document's pairs
    const int* clusters  # of its mentions
    const long long* base
    const double* scores  # of its feature rows
    int* rest  # mentions that are in no tree yet, increasing
    double* weight  # of their edges to the mention that joined last
    double* key  # for each of them the weight of its best edge into the tree
    int* link  # and the mention at its other end, -1 if there is none
    int* parents
    int* roots


def search(int task, const int[::1] clusters, documents, const double[::1] w, double penalty):
    """The best forest of every document, with the summed features and losses of the forests.

    task : COMPLETE (a maximum spanning tree of every true cluster), AUGMENT (loss-augmented
        inference: pairs within a cluster weigh 1 less, others ``penalty`` more) or PREDICT;
        the last two take edges of positive weight only
    clusters : true clusters of mentions, from 0 without a gap in each document (not read
        by PREDICT)
    documents : MentionArrays of n documents; w : (d,)

    Returns gradient (d,) = sum c_i Phi; the sum of c_i times the loss n(y) - k(y) - sum of
    the l of the forest (0 but for AUGMENT); parents (m,) int32, the mention of the same
    document that is the parent of a mention, -1 at a root; roots (m,) int32, the first mention of
    its tree; scores (n,), w . Phi. m counts the mentions of these documents.
    """
    cdef Documents own
    cdef Py_ssize_t i, origin, count
    cdef Search plan
    point_to_documents(&own, documents)
    check_clusters(&own, clusters)
    check_weights(documents, w)
    origin = own.mentions[0]
    size = own.mentions[own.n] - origin
    gradient, scores = np.zeros(len(w)), np.zeros(own.n)
    parents, roots = np.full(size, -1, dtype=np.int32), np.zeros(size, dtype=np.int32)
    cdef double[::1] gradient_view = gradient, scores_view = scores
    cdef int[::1] parents_view = parents, roots_view = roots
    cdef double[::1] row_scores = np.empty(own.most_rows)
    cdef double[:, ::1] keys = np.empty((2, own.most))
    cdef long long[::1] base = np.empty(own.most, dtype=np.int64)
    cdef int[:, ::1] links = np.empty((2, own.most), dtype=np.int32)
    cdef double loss = 0.0
    _aim(&plan, task, penalty)
    plan.reach, plan.scores, plan.base = own.reach, &row_scores[0], &base[0]
    plan.key, plan.weight = &keys[0, 0], &keys[1, 0]
    plan.rest, plan.link = &links[0, 0], &links[1, 0]
    if size == 0:
        return gradient, loss, parents, roots, scores
    with nogil:
        for i in range(own.n):
            count = own.mentions[i + 1] - own.mentions[i]
            if count == 0:
                continue
            plan.parents = &parents_view[own.mentions[i] - origin]
            plan.roots = &roots_view[own.mentions[i] - origin]
            plan.clusters = &clusters[own.mentions[i]]
            if fill_bases(&base[0], count, own.reach) == 0:
                _alone(&plan, count)
                continue
            plan.rows = own.rows + own.pairs[i]
            score_rows(&own, i, &w[0], &row_scores[0])
            _grow(&plan, count)
            scores_view[i] = _gather(&plan, count, &own, i, &gradient_view[0])
            if task == AUGMENT_TASK:
                loss += own.costs[i] * _loss(&plan, count)
    return gradient, loss, parents, roots, scores


cdef void _aim(Search* plan, int task, double penalty) noexcept:
    """The weights of edges in a task besides those of their features."""
    plan.task, plan.penalty = task, penalty
    # Only a completion may use edges below 0: the others leave them out.
    plan.floor = NONE if task == COMPLETE_TASK else 0.0
    plan.within = -1.0 if task == AUGMENT_TASK else 0.0
    plan.across = NONE if task == COMPLETE_TASK else penalty


def joint_features(documents, const int[::1] parents, int dimension):
    """sum c_i Phi(x_i, h_i) of forests given as parents, as ``search`` gives them, (dimension,)."""
    cdef Documents own
    cdef Py_ssize_t i, v, count, first
    point_to_documents(&own, documents)
    if parents.shape[0] != own.mentions[own.n] - own.mentions[0]:
        raise ValueError(f"joint_features: {len(parents)} parents do not fit the mentions")
    gradient = np.zeros(dimension)
    cdef double[::1] view = gradient
    cdef long long[::1] base = np.empty(own.most, dtype=np.int64)
    cdef long long place
    check_weights(documents, view)
    with nogil:
        for i in range(own.n):
            count = own.mentions[i + 1] - own.mentions[i]
            first = own.mentions[i] - own.mentions[0]
            fill_bases(&base[0], count, own.reach)
            for v in range(count):
                if parents[first + v] >= 0:
                    place = own.pairs[i] + base[min(v, parents[first + v])]
                    place = place + max(v, parents[first + v])
                    add_row(&own, i, own.rows[place], own.costs[i], &view[0])
    return gradient


cdef void _alone(const Search* plan, Py_ssize_t count) noexcept nogil:
    """Every mention is a tree of its own."""
    cdef Py_ssize_t v
    for v in range(count):
        plan.roots[v] = <int>v


cdef void _grow(const Search* plan, Py_ssize_t count) noexcept nogil:
    """Fill parents and roots with the forest of one document."""
    cdef Py_ssize_t k, left = count, best
    cdef int v
    for k in range(count):
        plan.rest[k] = <int>k
    while left:
        for k in range(left):
            plan.key[k] = plan.floor
            plan.link[k] = -1
        v = plan.rest[0]
        plan.parents[v] = -1
        plan.roots[v] = v
        left = _remove(plan, 0, left)
        best = _reach_out(plan, v, left)
        while best >= 0:
            v = plan.rest[best]
            plan.parents[v] = plan.link[best]
            plan.roots[v] = plan.roots[plan.link[best]]
            left = _remove(plan, best, left)
            best = _reach_out(plan, v, left)


cdef inline Py_ssize_t _remove(const Search* plan, Py_ssize_t k, Py_ssize_t left) noexcept nogil:
    """Remove entry k from the list of the remaining mentions; returns the new length."""
    cdef Py_ssize_t after = left - k - 1
    memmove(plan.rest + k, plan.rest + k + 1, after * sizeof(int))
    memmove(plan.link + k, plan.link + k + 1, after * sizeof(int))
    memmove(plan.key + k, plan.key + k + 1, after * sizeof(double))
    return left - 1


cdef inline long long _place(const Search* plan, int u, int v) noexcept nogil:
    return plan.base[u] + v if u < v else plan.base[v] + u


cdef Py_ssize_t _reach_out(const Search* plan, int v, Py_ssize_t left) noexcept nogil:
    """Let the edges of v, which joined the tree, compete; the entry to join next, -1 if none.

    Of two equal edges to one mention, that from the lower mention is the lower pair.
    """
    cdef Py_ssize_t k, best = -1
    cdef int u
    cdef double top = plan.floor
    _weigh(plan, v, left)
    for k in range(left):
        if plan.weight[k] > plan.key[k] or (
            plan.weight[k] == plan.key[k] and v < plan.link[k]
        ):
            plan.key[k] = plan.weight[k]
            plan.link[k] = v
        top = plan.key[k] if plan.key[k] > top else top
    if top == plan.floor:
        return -1
    for k in range(left):
        if plan.key[k] == top:
            u = plan.rest[k]
            if best < 0 or (
                _place(plan, u, plan.link[k])
                < _place(plan, plan.rest[best], plan.link[best])
            ):
                best = k
    return best


cdef inline void _weigh(const Search* plan, int v, Py_ssize_t left) noexcept nogil:
    """The weights of the edges between v and every mention left; the floor if there is none."""
    cdef Py_ssize_t k, low = 0
    cdef int u, cluster = plan.clusters[v]
    cdef const int* rows = plan.rows + plan.base[v]
    cdef double within = plan.within, across = plan.across
    for k in range(left):
        u = plan.rest[k]
        if u > v:
            break
        plan.weight[k] = plan.scores[plan.rows[plan.base[u] + v]] if v - u <= plan.reach else NONE
        low = k + 1
    for k in range(low, left):
        u = plan.rest[k]
        plan.weight[k] = plan.scores[rows[u]] if u - v <= plan.reach else NONE
    if plan.task != PREDICT_TASK:
        for k in range(left):
            plan.weight[k] += within if plan.clusters[plan.rest[k]] == cluster else across


cdef double _gather(const Search* plan, Py_ssize_t count, const Documents* documents,
                    Py_ssize_t i, double* gradient) noexcept nogil:
    """Add c_i times the features of the forest of document i to the gradient; returns w . Phi."""
    cdef Py_ssize_t v, r
    cdef double score = 0.0
    for v in range(count):
        if plan.parents[v] >= 0:
            r = plan.rows[_place(plan, <int>v, plan.parents[v])]
            score += plan.scores[r]
            add_row(documents, i, r, documents.costs[i], gradient)
    return score


cdef double _loss(const Search* plan, Py_ssize_t count) noexcept nogil:
    """n(y) - k(y) less 1 for every edge within a cluster, plus ``penalty`` for every other."""
    cdef Py_ssize_t v, within = 0, across = 0
    cdef int last = -1
    for v in range(count):
        last = max(last, plan.clusters[v])
        if plan.parents[v] >= 0:
            if plan.clusters[v] == plan.clusters[plan.parents[v]]:
                within += 1
            else:
                across += 1
    return count - (last + 1) - within + plan.penalty * across
