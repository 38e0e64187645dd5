"""Correlation clustering of the mentions of documents: greedy, then local search.

The score of a clustering is the sum of the weights of the pairs that it joins. Its maximisation
is NP-hard. Here mentions are taken in order, each into the cluster with the highest sum of its
weights, or into a new one if no sum is positive; then single mentions are moved as long as a
move increases the score. Ties go to the current cluster, then to the cluster with the lowest
number; a cluster has the number of one of its mentions.

The weights of a document and their sums by mention and cluster are two square tables, 16 n²
bytes for n mentions: a move costs n additions, a visit of a mention n comparisons.
"""

import numpy as np

from _common cimport AUGMENT_TASK, COMPLETE_TASK, PREDICT_TASK
from _pairs cimport (
    Documents, add_row, check_clusters, check_weights, fill_bases, point_to_documents, score_rows,
)

COMPLETE = COMPLETE_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK

cdef double ROUNDING = 1e-12  # a move must gain more than this

cdef struct Search:
    int task
    int sweeps
    Py_ssize_t reach
    Py_ssize_t count
    double unit  # loss of one wrong pair
    const int* rows
    const int* clusters
    const long long* base
    const double* scores
    double* weights  # by mention and mention
    double* sums  # of the weights of each mention, by cluster
    long long* times  # how often a clustering uses each row


def search(int task, const int[::1] clusters, documents, const double[::1] w, int sweeps):
    """A good clustering of every document, with the summed features and losses.

    task : COMPLETE (the true clustering, as nothing is hidden), AUGMENT (loss-augmented
        inference; the better of the searches from the greedy and from the true clustering)
        or PREDICT
    sweeps : maximum number of rounds of moves
    The other arguments are those of ``_forest.search``. The loss is the share of the pairs
    that are wrongly joined or separated, in percent.

    Returns gradient (d,) = sum c_i Phi; the sum of c_i times the loss; labels (m,) int32, the
    first mention of each mention's cluster; scores (n,), w . Phi.
    """
    cdef Documents own
    cdef Py_ssize_t i, origin, places, entries
    cdef Search plan
    cdef int* found
    point_to_documents(&own, documents)
    check_clusters(&own, clusters)
    check_weights(documents, w)
    origin = own.mentions[0]
    size = own.mentions[own.n] - origin
    entries = 1 if task == COMPLETE_TASK else own.most * own.most
    gradient, scores, labels = np.zeros(len(w)), np.zeros(own.n), np.zeros(size, dtype=np.int32)
    cdef double[::1] gradient_view = gradient, scores_view = scores
    cdef double[::1] row_scores = np.empty(own.most_rows)
    cdef double[:, ::1] tables_view = np.empty((2, entries))
    cdef int[::1] labels_view = labels, other = np.empty(own.most, dtype=np.int32)
    cdef long long[::1] base = np.empty(own.most, dtype=np.int64)
    cdef long long[::1] times = np.zeros(own.most_rows, dtype=np.int64)
    cdef double loss = 0.0
    plan.task, plan.sweeps, plan.reach = task, sweeps, own.reach
    plan.scores, plan.base, plan.times = &row_scores[0], &base[0], &times[0]
    plan.weights, plan.sums = &tables_view[0, 0], &tables_view[1, 0]
    if size == 0:
        return gradient, loss, labels, scores
    with nogil:
        for i in range(own.n):
            plan.count = own.mentions[i + 1] - own.mentions[i]
            if plan.count == 0:
                continue
            found = &labels_view[own.mentions[i] - origin]
            plan.clusters = &clusters[own.mentions[i]]
            places = fill_bases(&base[0], plan.count, own.reach)
            if places == 0:
                _apart(&plan, found)
                continue
            plan.rows = own.rows + own.pairs[i]
            plan.unit = 100.0 / places if task == AUGMENT_TASK else 0.0
            score_rows(&own, i, &w[0], &row_scores[0])
            _solve(&plan, found, &other[0])
            loss += own.costs[i] * plan.unit * _wrong(&plan, found)
            scores_view[i] = _gather(&plan, found, &own, i, &gradient_view[0])
    return gradient, loss, labels, scores


cdef void _apart(const Search* plan, int* labels) noexcept nogil:
    """Every mention is a cluster of its own."""
    cdef Py_ssize_t i
    for i in range(plan.count):
        labels[i] = <int>i


cdef void _solve(const Search* plan, int* labels, int* other) noexcept nogil:
    """Fill labels with the clustering that the task asks for; ``other`` is scratch."""
    cdef Py_ssize_t i
    cdef double value
    if plan.task == COMPLETE_TASK:
        _true(plan, labels)
        return
    _weigh(plan)
    _greedy(plan, labels)
    value = _improve(plan, labels)
    if plan.task == AUGMENT_TASK:
        _true(plan, other)
        if _improve(plan, other) > value:
            for i in range(plan.count):
                labels[i] = other[i]
    _number(plan.count, labels, other)


cdef void _true(const Search* plan, int* labels) noexcept nogil:
    """The true clustering, each cluster numbered by its first mention."""
    cdef Py_ssize_t i, j
    for i in range(plan.count):
        labels[i] = <int>i
        for j in range(i):
            if plan.clusters[j] == plan.clusters[i]:
                labels[i] = <int>j
                break


cdef void _number(Py_ssize_t count, int* labels, int* first) noexcept nogil:
    """Number each cluster by its first mention."""
    cdef Py_ssize_t i
    for i in range(count):
        first[i] = -1
    for i in range(count):
        if first[labels[i]] < 0:
            first[labels[i]] = <int>i
        labels[i] = first[labels[i]]


cdef void _weigh(const Search* plan) noexcept nogil:
    """Fill in the weight of joining each pair; the loss of the truth is left out."""
    cdef Py_ssize_t i, j, n = plan.count
    cdef double weight
    for i in range(n):
        plan.weights[i * n + i] = 0.0
        for j in range(i + 1, n):
            weight = 0.0
            if j - i <= plan.reach:
                weight = plan.scores[plan.rows[plan.base[i] + j]]
                if plan.task == AUGMENT_TASK:
                    weight += -plan.unit if plan.clusters[i] == plan.clusters[j] else plan.unit
            plan.weights[i * n + j] = weight
            plan.weights[j * n + i] = weight


cdef void _greedy(const Search* plan, int* labels) noexcept nogil:
    cdef Py_ssize_t i, j, n = plan.count
    cdef double* sums = plan.sums
    cdef double top
    for i in range(n):
        for j in range(i):
            sums[j] = 0.0
        for j in range(i):
            sums[labels[j]] += plan.weights[i * n + j]
        top = max(_highest(sums, i), 0.0)
        labels[i] = <int>(_first(sums, i, top) if top > 0.0 else i)


cdef double _improve(const Search* plan, int* labels) noexcept nogil:
    """Move single mentions, to other clusters or to one of their own, while a move gains.

    Returns the sum of the weights of the pairs that are together.
    """
    cdef Py_ssize_t i, j, best, sweep, n = plan.count
    cdef double stay, top, total = 0.0
    cdef double* sums
    cdef bint moved = True
    for i in range(n):
        sums = plan.sums + i * n
        for j in range(n):
            sums[j] = 0.0
        for j in range(n):
            sums[labels[j]] += plan.weights[i * n + j]
    for sweep in range(plan.sweeps):
        if not moved:
            break
        moved = False
        for i in range(n):
            sums = plan.sums + i * n
            stay, top = sums[labels[i]], max(_highest(sums, n), 0.0)
            if top <= stay + ROUNDING:
                continue
            best = _first(sums, n, top) if top > ROUNDING else _free(plan, labels, i)
            _move(plan, i, labels[i], best)
            labels[i] = <int>best
            moved = True
    for i in range(n):
        total += plan.sums[i * n + labels[i]]
    return total / 2.0


cdef inline void _move(const Search* plan, Py_ssize_t i, Py_ssize_t old,
                       Py_ssize_t new) noexcept nogil:
    """Update the sums when mention i moves from one cluster to another."""
    cdef Py_ssize_t j, n = plan.count
    cdef double weight
    for j in range(n):
        weight = plan.weights[i * n + j]
        plan.sums[j * n + old] -= weight
        plan.sums[j * n + new] += weight


cdef inline double _highest(const double* values, Py_ssize_t count) noexcept nogil:
    """The highest value, 0 if there is none; four chains, since each comparison waits."""
    if count == 0:
        return 0.0
    cdef double a = values[0], b = values[0], c = values[0], d = values[0]
    cdef Py_ssize_t i = 0
    while i + 4 <= count:
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
        i += 4
    while i < count:
        a = values[i] if values[i] > a else a
        i += 1
    return max(max(a, b), max(c, d))


cdef inline Py_ssize_t _first(const double* values, Py_ssize_t count, double value) noexcept nogil:
    """The first place with this value."""
    cdef Py_ssize_t i = 0
    while i < count - 1 and values[i] != value:
        i += 1
    return i


cdef Py_ssize_t _free(const Search* plan, const int* labels, Py_ssize_t i) noexcept nogil:
    """A number that no other mention has: at most n - 1 of n numbers are in use."""
    cdef Py_ssize_t j, number
    cdef bint taken
    for number in range(plan.count):
        taken = False
        for j in range(plan.count):
            if j != i and labels[j] == number:
                taken = True
                break
        if not taken:
            return number
    return labels[i]


cdef long long _wrong(const Search* plan, const int* labels) noexcept nogil:
    """The number of wrongly joined or separated pairs."""
    cdef Py_ssize_t i, j
    cdef long long wrong = 0
    if plan.task != AUGMENT_TASK:
        return 0
    for i in range(plan.count):
        for j in range(i + 1, min(plan.count, i + plan.reach + 1)):
            wrong += (labels[i] == labels[j]) != (plan.clusters[i] == plan.clusters[j])
    return wrong


cdef double _gather(const Search* plan, const int* labels, const Documents* documents,
                    Py_ssize_t document, double* gradient) noexcept nogil:
    """Add c_i times the features of the clustering to the gradient; returns w . Phi."""
    cdef Py_ssize_t i, j, r
    cdef Py_ssize_t row_count = documents.tables[document + 1] - documents.tables[document]
    cdef double score = 0.0
    for r in range(row_count):
        plan.times[r] = 0
    for i in range(plan.count):
        for j in range(i + 1, min(plan.count, i + plan.reach + 1)):
            if labels[i] == labels[j]:
                plan.times[plan.rows[plan.base[i] + j]] += 1
    for r in range(row_count):
        if plan.times[r]:
            score += plan.times[r] * plan.scores[r]
            add_row(documents, document, r, documents.costs[document] * plan.times[r], gradient)
    return score
