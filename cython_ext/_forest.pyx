"""Maximum spanning forests over the mentions of documents: one pass, no sorting.

A pair of mentions has a feature row, and documents have far fewer distinct rows than pairs:
each row is scored once, a pair is then one look-up. Prim's algorithm grows one tree after
another from the lowest mention that is left, so every pair is looked at exactly once and
nothing is stored per pair.

Edges are totally ordered: the heavier first, of equal ones the lower pair. So the forest is
unique, and it is that of Kruskal's algorithm with a stable sort.
"""

import numpy as np

from libc.string cimport memmove

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK, longest
from _pairs cimport add_row, check_documents, fill_bases, score_rows

cdef double NONE = -np.inf  # the weight of an edge that there is not

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


def search(
    int task, const int[::1] clusters, const long long[::1] mentions, const long long[::1] pairs,
    const int[::1] rows, const long long[::1] tables, const long long[::1] starts,
    const int[::1] indices, const double[::1] values, const double[::1] costs,
    const double[::1] w, long long reach, double penalty,
):
    """The best forest of every document, with the summed features and losses of the forests.

    task : COMPLETE (a maximum spanning tree of every true cluster), AUGMENT (loss-augmented
        inference: pairs within a cluster weigh 1 less, others ``penalty`` more) or PREDICT;
        the last two take edges of positive weight only
    clusters : true clusters of mentions, from 0 without a gap in each document (not read
        by PREDICT)
    mentions : (n + 1,) first mention of each of n documents in the flat arrays
    pairs, rows : first pair of each document, and the feature row of each pair, counted from
        the first row of its document; see ``_pairs``
    tables : (n + 1,) first feature row of each document in ``starts``
    starts, indices, values : the sparse feature rows
    costs : (n,) c_i; w : (d,)
    reach : largest j - i of a pair (i, j)

    Returns gradient (d,) = sum c_i Phi; the sum of c_i times the loss n(y) - k(y) - sum of
    the l of the forest (0 but for AUGMENT); parents (m,) int32, the mention of the same
    document that a mention hangs from, -1 at a root; roots (m,) int32, the first mention of
    its tree; scores (n,), w . Phi. m counts the mentions of these documents.
    """
    cdef Py_ssize_t i, n = costs.shape[0], origin, most = longest(mentions), count, table
    check_documents(mentions, pairs, rows, tables, starts, n)
    if mentions[n] > clusters.shape[0]:
        raise ValueError(f"search: {len(clusters)} clusters do not fit the mentions")
    origin = mentions[0]
    size = mentions[n] - origin
    gradient, scores = np.zeros(len(w)), np.zeros(n)
    parents, roots = np.full(size, -1, dtype=np.int32), np.zeros(size, dtype=np.int32)
    cdef double[::1] gradient_view = gradient, scores_view = scores
    cdef int[::1] parents_view = parents, roots_view = roots
    cdef double[::1] row_scores = np.empty(longest(tables))
    cdef double[:, ::1] keys = np.empty((2, most))
    cdef long long[::1] base = np.empty(most, dtype=np.int64)
    cdef int[:, ::1] links = np.empty((2, most), dtype=np.int32)
    cdef double loss = 0.0
    cdef Search plan
    plan.task, plan.reach, plan.penalty = task, reach, penalty
    plan.scores, plan.base = &row_scores[0], &base[0]
    plan.key, plan.weight = &keys[0, 0], &keys[1, 0]
    # Below 0 only a completion may go: the others leave edges that do not pay.
    plan.floor = NONE if task == COMPLETE_TASK else 0.0
    plan.within = -1.0 if task == AUGMENT_TASK else 0.0
    plan.across = NONE if task == COMPLETE_TASK else penalty
    plan.rest, plan.link = &links[0, 0], &links[1, 0]
    if size == 0:
        return gradient, loss, parents, roots, scores
    with nogil:
        for i in range(n):
            count = mentions[i + 1] - mentions[i]
            table = tables[i]
            if count == 0:
                continue
            plan.parents = &parents_view[mentions[i] - origin]
            plan.roots = &roots_view[mentions[i] - origin]
            plan.clusters = &clusters[mentions[i]]
            if fill_bases(&base[0], count, reach) == 0:
                _alone(&plan, count)
                continue
            plan.rows = &rows[pairs[i]]
            score_rows(&starts[table], tables[i + 1] - table, &indices[0], &values[0], &w[0],
                       &row_scores[0])
            _grow(&plan, count)
            scores_view[i] = _gather(&plan, count, &starts[table], &indices[0], &values[0],
                                     costs[i], &gradient_view[0])
            if task == AUGMENT_TASK:
                loss += costs[i] * _loss(&plan, count)
    return gradient, loss, parents, roots, scores


def joint_features(
    const long long[::1] mentions, const long long[::1] pairs, const int[::1] rows,
    const long long[::1] tables, const long long[::1] starts, const int[::1] indices,
    const double[::1] values, const double[::1] costs, const int[::1] parents,
    int dimension, long long reach,
):
    """sum c_i Phi(x_i, h_i) of forests given as parents, as ``search`` gives them, (dimension,)."""
    cdef Py_ssize_t i, v, count, n = costs.shape[0], first
    check_documents(mentions, pairs, rows, tables, starts, n)
    if parents.shape[0] != mentions[n] - mentions[0]:
        raise ValueError(f"joint_features: {len(parents)} parents do not fit the mentions")
    gradient = np.zeros(dimension)
    cdef double[::1] view = gradient
    cdef long long[::1] base = np.empty(longest(mentions), dtype=np.int64)
    cdef long long place
    with nogil:
        for i in range(n):
            count = mentions[i + 1] - mentions[i]
            first = mentions[i] - mentions[0]
            fill_bases(&base[0], count, reach)
            for v in range(count):
                if parents[first + v] >= 0:
                    place = pairs[i] + base[min(v, parents[first + v])] + max(v, parents[first + v])
                    add_row(&starts[tables[i]], rows[place], &indices[0], &values[0], costs[i],
                            &view[0])
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
    """Take entry k off the list of the mentions that are left; returns its new length."""
    cdef Py_ssize_t after = left - k - 1
    memmove(plan.rest + k, plan.rest + k + 1, after * sizeof(int))
    memmove(plan.link + k, plan.link + k + 1, after * sizeof(int))
    memmove(plan.key + k, plan.key + k + 1, after * sizeof(double))
    return left - 1


cdef inline long long _place(const Search* plan, int u, int v) noexcept nogil:
    return plan.base[u] + v if u < v else plan.base[v] + u


cdef Py_ssize_t _reach_out(const Search* plan, int v, Py_ssize_t left) noexcept nogil:
    """Let the edges of v, which joined the tree, compete; the entry to join next, -1 if none.

    Of equal edges to one mention the one from the lower mention is the lower pair.
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


cdef double _gather(const Search* plan, Py_ssize_t count, const long long* starts,
                    const int* indices, const double* values, double cost,
                    double* gradient) noexcept nogil:
    """Add cost times the features of the forest to the gradient; returns w . Phi."""
    cdef Py_ssize_t v, r
    cdef double score = 0.0
    for v in range(count):
        if plan.parents[v] >= 0:
            r = plan.rows[_place(plan, <int>v, plan.parents[v])]
            score += plan.scores[r]
            add_row(starts, r, indices, values, cost, gradient)
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
