"""Correlation clustering of the mentions of documents: greedy, then local search.

A clustering scores the sum of the weights of the pairs that it puts together. To maximise
that is NP-hard. Here mentions are taken in order, each to the cluster where its weights
sum highest, or to a new one if no sum is positive; then single mentions are moved as long as
a move gains. Ties go to the cluster with the lowest number, a cluster being numbered by a
mention of it, and to staying.
"""

import numpy as np

from _pairs cimport add_row, fill_bases, score_rows

cdef enum:
    TRUTH_TASK = 0
    AUGMENT_TASK = 1
    PREDICT_TASK = 2

TRUTH = TRUTH_TASK
AUGMENT = AUGMENT_TASK
PREDICT = PREDICT_TASK

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
    double* sums  # of a mention's weights, by cluster
    long long* times  # how often a clustering uses each row


def search(
    int task, const long long[::1] mentions, const int[::1] clusters, const long long[::1] pairs,
    const int[::1] rows, const long long[::1] tables, const long long[::1] starts,
    const int[::1] indices, const double[::1] values, const double[::1] costs,
    const double[::1] w, long long reach, int sweeps,
):
    """A good clustering of every document, with the summed features and losses.

    task : TRUTH (the true clustering), AUGMENT (loss-augmented inference; the better of the
        searches from the greedy and from the true clustering) or PREDICT
    sweeps : most rounds of moves
    The other arguments are those of ``_forest.search``. The loss is the share of the pairs
    that are put together or apart wrongly, in percent.

    Returns gradient (d,) = sum c_i Phi; the sum of c_i times the loss; labels (m,) int32, the
    first mention of each mention's cluster; scores (n,), w . Phi.
    """
    cdef Py_ssize_t i, n = costs.shape[0], origin, most = 1, most_rows = 1, table, places
    if not n + 1 == len(mentions) == len(pairs) == len(tables):
        raise ValueError(f"search: the offsets do not fit {n} documents")
    origin = mentions[0] if n else 0
    for i in range(n):
        most = max(most, mentions[i + 1] - mentions[i])
        most_rows = max(most_rows, tables[i + 1] - tables[i])
    if n and (mentions[n] > len(clusters) or pairs[n] > len(rows) or tables[n] >= len(starts)):
        raise ValueError("search: the offsets end behind the arrays")
    size = mentions[n] - origin if n else 0
    gradient, scores, labels = np.zeros(len(w)), np.zeros(n), np.zeros(size, dtype=np.int32)
    cdef double[::1] gradient_view = gradient, scores_view = scores
    cdef double[::1] row_scores = np.empty(most_rows), sums = np.zeros(most)
    cdef int[::1] labels_view = labels, other = np.empty(most, dtype=np.int32)
    cdef long long[::1] base = np.empty(most, dtype=np.int64)
    cdef long long[::1] times = np.zeros(most_rows, dtype=np.int64)
    cdef double loss = 0.0
    cdef Search plan
    plan.task, plan.sweeps, plan.reach = task, sweeps, reach
    plan.scores, plan.sums, plan.base = &row_scores[0], &sums[0], &base[0]
    plan.times = &times[0]
    if size == 0:
        return gradient, loss, labels, scores
    with nogil:
        for i in range(n):
            plan.count = mentions[i + 1] - mentions[i]
            table = tables[i]
            if plan.count == 0:
                continue
            plan.clusters = &clusters[mentions[i]]
            places = fill_bases(&base[0], plan.count, reach)
            if places == 0:
                _apart(&plan, &labels_view[mentions[i] - origin])
                continue
            plan.rows = &rows[pairs[i]]
            plan.unit = 100.0 / places if task == AUGMENT_TASK else 0.0
            score_rows(&starts[table], tables[i + 1] - table, &indices[0], &values[0], &w[0],
                       &row_scores[0])
            _solve(&plan, &labels_view[mentions[i] - origin], &other[0])
            loss += costs[i] * plan.unit * _wrong(&plan, &labels_view[mentions[i] - origin])
            scores_view[i] = _gather(&plan, &labels_view[mentions[i] - origin],
                                     tables[i + 1] - table, &starts[table], &indices[0],
                                     &values[0], costs[i], &gradient_view[0])
    return gradient, loss, labels, scores


cdef void _apart(const Search* plan, int* labels) noexcept nogil:
    """Every mention is a cluster of its own."""
    cdef Py_ssize_t i
    for i in range(plan.count):
        labels[i] = <int>i


cdef void _solve(const Search* plan, int* labels, int* other) noexcept nogil:
    """Fill labels with the clustering that the task asks for; ``other`` is scratch."""
    cdef Py_ssize_t i
    if plan.task == TRUTH_TASK:
        _true(plan, labels)
        return
    _greedy(plan, labels)
    _improve(plan, labels)
    if plan.task == AUGMENT_TASK:
        _true(plan, other)
        _improve(plan, other)
        if _value(plan, other) > _value(plan, labels):
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


cdef inline double _weight(const Search* plan, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """What the pair i < j adds where it is put together; the loss of the truth is left out."""
    cdef double score = plan.scores[plan.rows[plan.base[i] + j]]
    if plan.task == AUGMENT_TASK:
        score += -plan.unit if plan.clusters[i] == plan.clusters[j] else plan.unit
    return score


cdef Py_ssize_t _summed(const Search* plan, const int* labels, Py_ssize_t i,
                        Py_ssize_t stop) noexcept nogil:
    """Sums of the weights of mention i with those before ``stop``, by cluster.

    Returns the cluster with the highest sum above 0, or -1. Entries of ``sums`` that no
    mention within reach belongs to are left as they are.
    """
    cdef Py_ssize_t j, first = max(0, i - plan.reach), best = -1
    cdef double top = 0.0
    stop = min(stop, i + plan.reach + 1)
    for j in range(first, stop):
        plan.sums[labels[j]] = 0.0
    for j in range(first, i):
        plan.sums[labels[j]] += _weight(plan, j, i)
    for j in range(i + 1, stop):
        plan.sums[labels[j]] += _weight(plan, i, j)
    for j in range(first, stop):
        if j != i and (plan.sums[labels[j]] > top or (
            best >= 0 and plan.sums[labels[j]] == top and labels[j] < best
        )):
            best = labels[j]
            top = plan.sums[best]
    return best


cdef void _greedy(const Search* plan, int* labels) noexcept nogil:
    cdef Py_ssize_t i, best
    for i in range(plan.count):
        labels[i] = <int>i
        best = _summed(plan, labels, i, i)
        if best >= 0:
            labels[i] = <int>best


cdef void _improve(const Search* plan, int* labels) noexcept nogil:
    """Move single mentions, to other clusters or to one of their own, while a move gains."""
    cdef Py_ssize_t i, j, best, sweep
    cdef double stay, move
    cdef bint moved = True
    for sweep in range(plan.sweeps):
        if not moved:
            return
        moved = False
        for i in range(plan.count):
            best = _summed(plan, labels, i, plan.count)
            stay = plan.sums[labels[i]]
            move = plan.sums[best] if best >= 0 else 0.0
            if best == labels[i] or move <= stay:
                continue
            if best < 0:
                best = _free(plan, labels, i)
            labels[i] = <int>best
            moved = True


cdef Py_ssize_t _free(const Search* plan, const int* labels, Py_ssize_t i) noexcept nogil:
    """The lowest number that no cluster bears once mention i has left its own."""
    cdef Py_ssize_t j, number = 0
    cdef bint taken = True
    while taken:
        taken = False
        for j in range(plan.count):
            if j != i and labels[j] == number:
                taken = True
                number += 1
                break
    return number


cdef double _value(const Search* plan, const int* labels) noexcept nogil:
    """The sum of the weights of the pairs that are together."""
    cdef Py_ssize_t i, j
    cdef double total = 0.0
    for i in range(plan.count):
        for j in range(i + 1, min(plan.count, i + plan.reach + 1)):
            if labels[i] == labels[j]:
                total += _weight(plan, i, j)
    return total


cdef long long _wrong(const Search* plan, const int* labels) noexcept nogil:
    """Pairs that are together and should not be, or the other way round."""
    cdef Py_ssize_t i, j
    cdef long long wrong = 0
    if plan.task != AUGMENT_TASK:
        return 0
    for i in range(plan.count):
        for j in range(i + 1, min(plan.count, i + plan.reach + 1)):
            wrong += (labels[i] == labels[j]) != (plan.clusters[i] == plan.clusters[j])
    return wrong


cdef double _gather(const Search* plan, const int* labels, Py_ssize_t row_count,
                    const long long* starts, const int* indices, const double* values,
                    double cost, double* gradient) noexcept nogil:
    """Add cost times the features of the clustering to the gradient; returns w . Phi."""
    cdef Py_ssize_t i, j, r
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
            add_row(starts, r, indices, values, cost * plan.times[r], gradient)
    return score
