"""Bags of mentions: the best labels where each label that is used counts once.

Mentions of a bag lie one after another, each with a row of scores: one for every label, and in the
last column that of none.
"""

import numpy as np

cdef extern from "relation_bag.h" nogil:
    ctypedef struct AssignRoom "lssvm_assign_room":
        double* rows
        double* columns
        double* open
        double* least
        int* match
        int* way
        int* tree
        int* unmatched
    ctypedef struct Bag "lssvm_bag":
        Py_ssize_t mentions, labels
        const double* scores
        const double* gains
    ctypedef struct Room "lssvm_bag_room":
        double* best
        int* chosen
        double* gains
        double* sure
        double* weights
        AssignRoom assigned
        unsigned char* seen
        int* free_labels
        int* paid_labels
        int* labels
        long long left
    bint best_labels "lssvm_bag_best"(
        const Bag* bag, Py_ssize_t depth, int* found, double* value, double* bound, Room* room)
    void complete_labels "lssvm_bag_complete"(
        const Bag* bag, const int* labels, Py_ssize_t count, int* found, Room* room)
    double labels_value "lssvm_bag_value"(
        const Bag* bag, const int* labels, unsigned char* used)

cdef extern from "float.h" nogil:
    const double DBL_MAX

cdef enum:
    DEPTH = 64  # paid labels in a set


cdef object _room(Room* out, Py_ssize_t mentions, Py_ssize_t labels, Py_ssize_t depth):
    """Let ``out`` point to new arrays, which are returned and must outlive it."""
    cdef Py_ssize_t longer = max(mentions, labels) + 1
    cdef double[::1] reals = np.empty(
        (depth + 1) * (mentions + labels) + mentions * labels + labels + 4 * longer)
    cdef int[::1] ints = np.empty(
        (depth + 1) * mentions + 2 * labels + mentions + 4 * longer, dtype=np.int32)
    cdef unsigned char[::1] seen = np.empty(labels + 1, dtype=np.uint8)
    out.best = &reals[0]
    out.gains = out.best + (depth + 1) * mentions
    out.sure = out.gains + (depth + 1) * labels
    out.weights = out.sure + labels
    out.chosen = &ints[0]
    out.free_labels = out.chosen + (depth + 1) * mentions
    out.paid_labels = out.free_labels + labels
    out.labels = out.paid_labels + labels
    out.seen = &seen[0]
    _point(&out.assigned, out.weights + mentions * labels, out.labels + mentions, longer)
    return reals, ints, seen


cdef void _point(AssignRoom* out, double* reals, int* ints, Py_ssize_t size) noexcept:
    out.rows, out.columns = reals, reals + size
    out.open, out.least = reals + 2 * size, reals + 3 * size
    out.match, out.way = ints, ints + size
    out.tree, out.unmatched = ints + 2 * size, ints + 3 * size


cdef int _check(const double[:, ::1] scores, const long long[::1] places,
                const long long[::1] chosen, Py_ssize_t labels, Py_ssize_t values) except -1:
    cdef Py_ssize_t i, n = places.shape[0] - 1
    if labels != scores.shape[0] or values != n:
        raise ValueError(f"relation: {labels} labels and {values} values do not fit "
                         f"{scores.shape[0]} mentions of {n} bags")
    for i in range(chosen.shape[0]):
        if not 0 <= chosen[i] < n:
            raise ValueError(f"relation: bag {chosen[i]} is not in 0..{n - 1}")
    return 0


def best(
    bags, const double[:, ::1] gains, const long long[::1] chosen, long long most,
    int[::1] labels, double[::1] values, double[::1] excess,
):
    """The best labels of the mentions of chosen bags, where labels that are used gain or cost.

    bags : BagArrays of n bags; gains : (n, L) what the use of each label adds, once for a bag
    most : sets of labels with gains below 0 that are tried for a bag
    labels : (mentions,) to write the label of each mention to, L for none; values : (n,) to write
        scores and gains to; excess : (n,) to write to what a better choice can have more at most

    Returns the chosen bags for which there are more such sets: what is written is the best of those
    that were tried. Mentions that may have several labels take none, else the lowest one.
    """
    cdef const double[:, ::1] scores = bags.scores
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, k, count = 0, L = bags.labels, n = places.shape[0] - 1
    cdef Py_ssize_t depth = min(<Py_ssize_t>DEPTH, L)
    cdef Bag bag
    cdef Room room
    cdef double bound
    _check(scores, places, chosen, labels.shape[0], values.shape[0])
    if excess.shape[0] != n:
        raise ValueError(f"best: {excess.shape[0]} excesses do not fit {n} bags")
    if gains.shape[0] != n or gains.shape[1] != L:
        raise ValueError(f"best: gains {gains.shape[0]} x {gains.shape[1]} do not fit {n} bags of "
                         f"{L} labels")
    held = _room(&room, bags.longest, L, depth)
    rest = np.empty(chosen.shape[0], dtype=np.int64)
    cdef long long[::1] rest_view = rest
    with nogil:
        for k in range(chosen.shape[0]):
            i = chosen[k]
            values[i], excess[i] = 0.0, 0.0
            bag.mentions, bag.labels = places[i + 1] - places[i], L
            if bag.mentions == 0:
                continue
            bag.scores = &scores[places[i], 0]
            bag.gains = &gains[i, 0] if L else NULL
            room.left = most
            if not best_labels(&bag, depth, &labels[places[i]], &values[i], &bound, &room):
                excess[i] = max(0.0, bound - values[i])
                rest_view[count] = i
                count += 1
    return rest[:count]


def complete(
    bags, const long long[::1] chosen, const long long[::1] label_places, const int[::1] truth,
    int[::1] labels, double[::1] values,
):
    """The best labels of the mentions of chosen bags that use exactly the labels of each bag.

    label_places : (n + 1,) where the labels of each bag begin in ``truth``, each bag's different
    labels, values : as in :func:`best`

    Bags with fewer mentions than labels are refused.
    """
    cdef const double[:, ::1] scores = bags.scores
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, k, first, count, L = bags.labels
    cdef Bag bag
    cdef Room room
    _check(scores, places, chosen, labels.shape[0], values.shape[0])
    if label_places.shape[0] != places.shape[0] or label_places[0] < 0 or (
            np.any(np.diff(label_places) < 0) or label_places[places.shape[0] - 1] > truth.shape[0]):
        raise ValueError("complete: places of labels do not fit the bags")
    for k in range(truth.shape[0]):
        if not 0 <= truth[k] < L:
            raise ValueError(f"complete: label {truth[k]} is not in 0..{L - 1}")
    for k in range(chosen.shape[0]):
        i = chosen[k]
        if label_places[i + 1] - label_places[i] > places[i + 1] - places[i]:
            raise ValueError(f"complete: bag {i} has fewer mentions than labels")
    held = _room(&room, bags.longest, L, 0)
    with nogil:
        for k in range(chosen.shape[0]):
            i, first = chosen[k], label_places[chosen[k]]
            count = label_places[i + 1] - first
            values[i] = _complete(&bag, scores, places, i, &truth[first] if count else NULL, count,
                                  labels, &room)


def complete_chosen(
    bags, const unsigned char[:, ::1] sets, const long long[::1] chosen, int[::1] labels,
    double[::1] values,
):
    """As :func:`complete`, with the labels of each bag as (n, L) 0 or 1.

    Returns those of the chosen bags that have fewer mentions than labels, for which nothing is
    written.
    """
    cdef const double[:, ::1] scores = bags.scores
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, k, l, count, left = 0, L = bags.labels
    cdef Bag bag
    cdef Room room
    _check(scores, places, chosen, labels.shape[0], values.shape[0])
    _check_sets(sets, places.shape[0] - 1, L)
    held = _room(&room, bags.longest, L, 0)
    rest = np.empty(chosen.shape[0], dtype=np.int64)
    cdef long long[::1] rest_view = rest
    with nogil:
        for k in range(chosen.shape[0]):
            i, count = chosen[k], 0
            for l in range(L):
                if sets[i, l]:
                    room.paid_labels[count] = <int>l
                    count += 1
            if count > places[i + 1] - places[i]:
                rest_view[left] = i
                left += 1
                continue
            values[i] = _complete(&bag, scores, places, i, room.paid_labels, count, labels, &room)
    return rest[:left]


cdef int _check_sets(const unsigned char[:, ::1] sets, Py_ssize_t n, Py_ssize_t L) except -1:
    if sets.shape[0] != n or sets.shape[1] != L:
        raise ValueError(f"relation: sets {sets.shape[0]} x {sets.shape[1]} do not fit {n} bags of "
                         f"{L} labels")
    return 0


cdef double _complete(
    Bag* bag, const double[:, ::1] scores, const long long[::1] places, Py_ssize_t i,
    const int* own, Py_ssize_t count, int[::1] labels, Room* room,
) noexcept nogil:
    """Write the labels of bag i that use exactly these ones; the scores of its mentions."""
    cdef Py_ssize_t m, L = scores.shape[1] - 1
    cdef double value = 0.0
    bag.mentions, bag.labels = places[i + 1] - places[i], L
    if bag.mentions == 0:
        return value
    bag.scores, bag.gains = &scores[places[i], 0], NULL
    complete_labels(bag, own, count, &labels[places[i]], room)
    for m in range(bag.mentions):
        value += bag.scores[m * (L + 1) + labels[places[i] + m]]
    return value


def evidence(bags, const int[::1] labels, double[:, ::1] margins, int[:, ::1] mentions):
    """By how much the best labels that use a label exceed the best ones that do not.

    labels : (mentions,) the best label of each, L for none
    margins : (n, L) to write them to; 0 or more for labels that are used, 0 or less for others,
        which lack that much; the lowest number in a bag without mentions
    mentions : (n, L) to write the mention to that says most, counted in its bag
    """
    cdef const double[:, ::1] scores = bags.scores
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, m, l, L = bags.labels, n = places.shape[0] - 1
    cdef int own
    cdef double second, margin
    cdef double[::1] most = np.empty(L + 1)
    if labels.shape[0] != scores.shape[0] or not (
            margins.shape[0] == mentions.shape[0] == n and margins.shape[1] == mentions.shape[1] == L):
        raise ValueError("evidence: labels, margins and mentions do not fit the bags")
    if labels.shape[0] and (np.min(labels) < 0 or np.max(labels) > L):
        raise ValueError(f"evidence: labels are not all in 0..{L}")
    with nogil:
        for i in range(n):
            for l in range(L + 1):
                most[l] = -DBL_MAX
            for l in range(L):
                margins[i, l], mentions[i, l] = -DBL_MAX, 0
            for m in range(places[i], places[i + 1]):
                own, second = labels[m], -DBL_MAX
                if own == L:
                    continue
                for l in range(L + 1):
                    if l != own and scores[m, l] > second:
                        second = scores[m, l]
                margin = scores[m, own] - second
                margins[i, own] = margin + (margins[i, own] if most[own] > -DBL_MAX else 0.0)
                if margin > most[own]:
                    most[own], mentions[i, own] = margin, <int>(m - places[i])
            for m in range(places[i], places[i + 1]):
                for l in range(L):
                    margin = scores[m, l] - scores[m, labels[m]]
                    if most[l] == -DBL_MAX and margin > margins[i, l]:
                        margins[i, l], mentions[i, l] = margin, <int>(m - places[i])


def used(bags, const int[::1] labels):
    """Whether a mention of each bag has each label, (n, L) uint8; labels (mentions,), L for none."""
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, m, L = bags.labels, n = places.shape[0] - 1
    if labels.shape[0] != bags.scores.shape[0]:
        raise ValueError(f"used: {labels.shape[0]} labels do not fit the mentions")
    found = np.zeros((n, L), dtype=np.uint8)
    cdef unsigned char[:, ::1] view = found
    with nogil:
        for i in range(n):
            for m in range(places[i], places[i + 1]):
                if 0 <= labels[m] < L:
                    view[i, labels[m]] = 1
    return found


def sums(bags, const int[::1] labels, const unsigned char[:, ::1] truth):
    """Of each bag the scores of its labels, and how many of those used are true and how many not.

    labels : as for :func:`used`; truth : (n, L)

    Returns (n, 3).
    """
    cdef const double[:, ::1] scores = bags.scores
    cdef const long long[::1] places = bags.places
    cdef Py_ssize_t i, m, l, L = bags.labels, n = places.shape[0] - 1
    _check_sets(truth, n, L)
    if labels.shape[0] != scores.shape[0]:
        raise ValueError(f"sums: {labels.shape[0]} labels do not fit the mentions")
    if labels.shape[0] and (np.min(labels) < 0 or np.max(labels) > L):
        raise ValueError(f"sums: labels are not all in 0..{L}")
    found = np.zeros((n, 3))
    cdef double[:, ::1] view = found
    cdef long long[::1] last = np.full(L + 1, -1, dtype=np.int64)  # bag that used a label last
    with nogil:
        for i in range(n):
            for m in range(places[i], places[i + 1]):
                l = labels[m]
                view[i, 0] += scores[m, l]
                if l < L and last[l] != i:
                    last[l] = i
                    view[i, 1 if truth[i, l] else 2] += 1.0
    return found
