"""Bags of mentions: the best labels where each label that is used counts once, and the worst F.

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
    cdef Py_ssize_t i, k, m, first, count, L = bags.labels
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
            bag.mentions, bag.labels = places[i + 1] - places[i], L
            values[i] = 0.0
            if bag.mentions == 0:
                continue
            bag.scores, bag.gains = &scores[places[i], 0], NULL
            complete_labels(&bag, &truth[first] if count else NULL, count, &labels[places[i]],
                            &room)
            for m in range(bag.mentions):
                values[i] += bag.scores[m * (L + 1) + labels[places[i] + m]]


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


cdef double _loss(double scale, double square, Py_ssize_t positives, Py_ssize_t missed,
                  Py_ssize_t extra) noexcept nogil:
    """scale (1 - F): square is beta^2."""
    cdef double errors = square * missed + extra
    if errors == 0.0:
        return 0.0
    return scale * (errors / ((1.0 + square) * (positives - missed) + errors))


cdef double _prefix(const double* sums, Py_ssize_t above, Py_ssize_t zeros,
                    Py_ssize_t count) noexcept nogil:
    """The sum of the ``count`` largest of numbers whose zeros are not stored."""
    if count <= above:
        return sums[count]
    return sums[above] if count <= above + zeros else sums[count - zeros]


cdef double _price(const double[::1] wrong, Py_ssize_t above, Py_ssize_t zeros,
                   Py_ssize_t place) noexcept nogil:
    """The price at a place, zeros included."""
    if place < above:
        return wrong[place]
    return 0.0 if place < above + zeros else wrong[place - zeros]


def highest_loss(
    const double[::1] right, const double[::1] wrong, Py_ssize_t zeros, double square, double scale,
):
    """How many true and how many other labels to choose so that loss and prices are highest.

    right : (P,) prices of the true labels, decreasing
    wrong : (N,) those of all others that are not 0, decreasing; zeros : how many are 0
    square : beta^2; scale : what 1 - F is multiplied by

    Chosen are the labels of the highest prices. For each number of true labels the sum is concave
    in the number of others, from 1 on at least, so bisection finds the best: O(P log(N + zeros)).
    Returns both numbers and the value. Ties go to more true labels, then to fewer others.
    """
    cdef Py_ssize_t P = right.shape[0], N = wrong.shape[0], most = N + zeros
    cdef Py_ssize_t k, kept, missed, low, high, middle, above = 0, best_right = P, best_wrong = 0
    cdef double value, highest
    sums = np.concatenate([[0.0], np.cumsum(right)])
    others = np.concatenate([[0.0], np.cumsum(wrong)])
    cdef double[::1] right_sums = sums, wrong_sums = others
    while above < N and wrong[above] > 0.0:
        above += 1
    highest = right_sums[P]
    with nogil:
        for missed in range(P + 1):
            kept = P - missed
            low = 0 if kept or P else min(<Py_ssize_t>1, most)
            high = most
            # the first number of others from which one more gains nothing
            while low < high:
                middle = (low + high) // 2
                value = _loss(scale, square, P, missed, middle + 1)
                value = value - _loss(scale, square, P, missed, middle)
                if value > -_price(wrong, above, zeros, middle):
                    low = middle + 1
                else:
                    high = middle
            value = (_loss(scale, square, P, missed, low) + right_sums[kept]
                     + _prefix(&wrong_sums[0], above, zeros, low))
            if value > highest:
                highest, best_right, best_wrong = value, kept, low
    return best_right, best_wrong, highest


cdef double _height(const double[:, ::1] cuts, double kept, double extra) noexcept nogil:
    """The lowest of the cuts for so many true and other labels."""
    cdef Py_ssize_t k
    cdef double value, lowest = DBL_MAX
    for k in range(cuts.shape[0]):
        value = cuts[k, 0] + cuts[k, 1] * kept + cuts[k, 2] * extra
        if value < lowest:
            lowest = value
    return lowest


def highest_counts(
    const double[:, ::1] cuts, Py_ssize_t positives, Py_ssize_t others, Py_ssize_t most,
    double square, double scale,
):
    """How many true and how many other labels make the loss plus the lowest of the cuts highest.

    cuts : (K, 3), of what labels score at most: a number, and what it changes by for each true and
        for each other label
    positives : how many true labels there are; others, most : how many others, and how many labels
        in all, can be chosen; square, scale : as in :func:`highest_loss`

    Returns both numbers and the value. O(positives K log(others)).
    """
    cdef Py_ssize_t kept, missed, low, high, middle, best_kept = 0, best_extra = 0
    cdef double value, highest = -DBL_MAX
    if cuts.shape[1] != 3:
        raise ValueError(f"highest_counts: cuts have {cuts.shape[1]} numbers; expected 3")
    with nogil:
        for missed in range(positives + 1):
            kept = positives - missed
            low, high = 0, max(<Py_ssize_t>0, min(others, most - kept))
            if positives == 0:
                highest, low = _height(cuts, 0.0, 0.0), min(<Py_ssize_t>1, high)
            while low < high:
                middle = (low + high) // 2
                value = _loss(scale, square, positives, missed, middle + 1)
                value = value - _loss(scale, square, positives, missed, middle)
                value = value + _height(cuts, kept, middle + 1) - _height(cuts, kept, middle)
                if value > 0.0:
                    low = middle + 1
                else:
                    high = middle
            value = _loss(scale, square, positives, missed, low) + _height(cuts, kept, low)
            if value > highest:
                highest, best_kept, best_extra = value, kept, low
    return best_kept, best_extra, highest
