"""Inference for one row at a time, as ``_dual_coordinate`` asks for it."""

from libc.math cimport fmax, fmin
from libc.string cimport memset

import numpy as np

from _examples cimport Found, Kept, Oracle, Room, capsule_of
from _rows cimport (
    Classes, Rows, add_rows, argmax, check_range, descend, point_to_classes, point_to_rows,
    score_row,
)

cdef enum:
    WIDE_STEP = 8  # columns that change in the time of one that is picked out
    TREE_STEPS = 16  # pairwise, at each visit

cdef double ROUNDING = 1e-14
cdef double LEFT = 0.1  # of the difference of the heights at a visit, which its steps may leave

cdef struct Single:
    Oracle oracle  # first, so that a pointer to one is a pointer to the other
    Rows rows
    Classes classes
    const int* labels
    const int* path_starts
    const int* paths
    const double* squares  # |x|^2 of each row


class ExampleOracle:
    """The rows as ``_dual_coordinate`` asks for them; an output is a class.

    rows : RowArrays; labels : (n,) true classes; classes : ClassArrays

    truth : (n,) the true outputs; places : (n + 1,) where each output begins; size : of the weights
    capsule : what the C functions are found by; slack : whether losses multiply differences
    exact : whether steps go over all classes, not over those that are kept; values : classes
    """

    def __init__(self, rows, const int[::1] labels, classes):
        cdef Py_ssize_t i, columns = classes.columns
        cdef const int[::1] path_starts = classes.path_starts, paths = classes.paths
        memory = np.zeros(sizeof(Single), dtype=np.uint8)
        cdef unsigned char[::1] view = memory
        cdef Single* own = <Single*>&view[0]
        point_to_rows(&own.rows, rows, columns)
        point_to_classes(&own.classes, classes)
        check_range(labels, own.classes.count)
        cdef Py_ssize_t n = own.rows.n
        if labels.shape[0] != n:
            raise ValueError(f"multiclass: {labels.shape[0]} labels do not fit {n} rows")
        self.squares, self.places = np.zeros(max(1, n)), np.arange(n + 1, dtype=np.int64)
        self.truth = np.array(labels, dtype=np.int32)
        self.size, self.slack = own.rows.width * columns, classes.slack
        self.values = own.classes.count
        self.exact = not classes.slack
        self._held = rows, classes, memory
        cdef double[::1] squares = self.squares
        cdef const long long[::1] places = self.places
        cdef const int[::1] truth = self.truth
        for i in range(n):
            squares[i] = _square(&own.rows, i)
        own.labels, own.squares = &truth[0] if n else NULL, &squares[0]
        own.path_starts, own.paths = &path_starts[0], &paths[0] if paths.shape[0] else NULL
        own.oracle.self, own.oracle.n, own.oracle.size = own, n, self.size
        own.oracle.places = &places[0]
        own.oracle.reals, own.oracle.integers = 2 * columns + 3 * own.classes.count, columns + 1
        own.oracle.best, own.oracle.heights, own.oracle.inner, own.oracle.add = (
            _best_of, _heights_of, _inner_of, _add_of)
        own.oracle.solve = NULL
        if self.exact:
            own.oracle.solve = _solve_of if own.classes.parents == NULL else _solve_tree_of
        own.oracle.complete, own.oracle.along = NULL, NULL
        self.multiply_adds = float(columns) * (
            len(rows.values) if own.rows.starts != NULL else n * own.rows.width)
        self.square = float(np.max(self.squares))
        self.capsule = capsule_of(memory)

    def load(self, w):
        """Weights (d,) as the kernel keeps them, a copy."""
        return np.array(w, dtype=np.float64)

    def unload(self, w):
        """The same the other way."""
        return np.array(w)


cdef double _square(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """|x|^2 of row i."""
    cdef Py_ssize_t entry
    cdef double total = 0.0
    if rows.dense != NULL:
        for entry in range(i * rows.width, (i + 1) * rows.width):
            total += rows.dense[entry] * rows.dense[entry]
    elif rows.starts != NULL:
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[entry] * rows.values[entry]
    return total


cdef void _score_row(const Single* own, const double* w, Py_ssize_t i, double* out) noexcept nogil:
    """The scores of all columns for row i."""
    cdef const Rows* rows = &own.rows
    cdef Py_ssize_t begin
    if rows.starts != NULL:
        begin = rows.starts[i]
        score_row(out, rows.values + begin, rows.indices + begin, rows.starts[i + 1] - begin, w,
                  rows.columns)
    else:
        score_row(out, rows.dense + i * rows.width, NULL, rows.width, w, rows.columns)
    if own.classes.parents != NULL:
        descend(own.classes.parents, rows.columns, out)


cdef void _move_row(const Single* own, double* w, Py_ssize_t i, const double* factors,
                    int* nodes) noexcept nogil:
    """Add row i, times the factor of each column, to the weights of that column."""
    cdef const Rows* rows = &own.rows
    cdef Py_ssize_t j, p, size = 0, columns = rows.columns, count = rows.width
    cdef const double* x = rows.dense + i * rows.width
    cdef const int* indices = NULL
    cdef double* row
    if rows.starts != NULL:
        x, indices = rows.values + rows.starts[i], rows.indices + rows.starts[i]
        count = rows.starts[i + 1] - rows.starts[i]
    for p in range(columns):
        nodes[size] = <int>p
        size += factors[p] != 0.0
    if WIDE_STEP * size >= columns:
        add_rows(w, x, indices, count, factors, columns)
        return
    for j in range(count if size else 0):
        row = w + columns * (indices[j] if indices != NULL else j)
        for p in range(size):
            row[nodes[p]] += x[j] * factors[nodes[p]]


cdef void _mark(const Single* own, int label, double factor, double* sums) noexcept nogil:
    """Add the factor to the columns that a class is scored by."""
    cdef Py_ssize_t p
    for p in range(own.path_starts[label], own.path_starts[label + 1]):
        sums[own.paths[p]] += factor


cdef int _best_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                  int* output, Found* found, double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef const Classes* classes = &own.classes
    cdef double maximum
    cdef Py_ssize_t k
    _score_row(own, w, i, room.reals)
    found.score = room.reals[classes.places[own.labels[i]]]
    output[0] = argmax(room.reals, classes, own.labels[i], &maximum)
    found.loss = classes.margins[own.labels[i] * classes.stride + output[0]]
    found.height = maximum - found.score
    for k in range(kept.count):
        products[k] = room.reals[classes.places[kept.outputs[k]]] - found.score
    return 0


cdef int _heights_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                     double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t k
    _score_row(own, w, i, room.reals)
    for k in range(kept.count):
        products[k] = (room.reals[own.classes.places[kept.outputs[k]]]
                       - room.reals[own.classes.places[own.labels[i]]])
    return 0


cdef int _inner_of(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k, Room room,
                   double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t l, p
    cdef double total, truth = 0.0
    memset(room.reals, 0, own.rows.columns * sizeof(double))
    _mark(own, kept.outputs[k], 1.0, room.reals)
    _mark(own, own.labels[i], -1.0, room.reals)
    for p in range(own.path_starts[own.labels[i]], own.path_starts[own.labels[i] + 1]):
        truth += room.reals[own.paths[p]]
    for l in range(kept.count):
        total = -truth
        for p in range(own.path_starts[kept.outputs[l]], own.path_starts[kept.outputs[l] + 1]):
            total += room.reals[own.paths[p]]
        products[l] = total * own.squares[i]
    return 0


cdef int _add_of(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                 const double* coefficients, Room room) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t k
    memset(room.reals, 0, own.rows.columns * sizeof(double))
    for k in range(kept.count):
        if coefficients[k] != 0.0:
            _mark(own, kept.outputs[k], coefficients[k], room.reals)
            _mark(own, own.labels[i], -coefficients[k], room.reals)
    _move_row(own, w, i, room.reals, room.integers)
    return 0


cdef int _solve_of(const void* self, double* w, Py_ssize_t i, const int* truth, double limit,
                   Py_ssize_t most, int* count, int* outputs, double* losses, double* alpha,
                   Room room, double* gap) noexcept nogil:
    """All classes at once: with the multiplier of the truth they sum to ``limit``.

    The minimum has alpha_m = max(0, B_m - b) / |x|^2, B_m = L_m + w . delta_m + alpha_m |x|^2 as they
    are now, and b so that the sum is right (Crammer & Singer, JMLR 2001; the rounds are Newton's).
    """
    cdef const Single* own = <const Single*>self
    cdef const Classes* classes = &own.classes
    cdef Py_ssize_t k, K = classes.count, active, before
    cdef const double* margins = classes.margins + truth[0] * classes.stride
    cdef double* scores = room.reals
    cdef double* high = room.reals + own.rows.columns  # L + w . delta, then the change of alpha
    cdef double* old = high + K
    cdef double* bare = old + K  # B
    cdef double square = own.squares[i], bound, total, highest = -1e300, rest = limit, change
    cdef int y = truth[0], best = 0, size = 0
    _score_row(own, w, i, scores)
    for k in range(K):
        old[k] = 0.0
    for k in range(count[0]):
        old[outputs[k]] = alpha[k]
        rest -= alpha[k]
    old[y] = fmax(0.0, rest)
    gap[0] = total = 0.0
    active = 0
    for k in range(K):
        high[k] = margins[k] + scores[classes.places[k]] - scores[classes.places[y]]
        if high[k] > highest:
            best, highest = <int>k, high[k]
        bare[k] = high[k] + old[k] * square
        if old[k] > 0.0:
            gap[0] -= old[k] * high[k]
            total += bare[k]
            active += 1
    gap[0] = fmax(0.0, gap[0] + limit * highest)  # below 0 by rounding alone
    if gap[0] <= ROUNDING * limit * (1.0 + highest):
        return 0
    if old[best] == 0.0:
        total += bare[best]
        active += 1
    # The bound of any set of classes is at most the right one, and those beyond it become fewer.
    # Where they do not, rounding is the limit.
    bound, before = (total - square * limit) / active, K + 1
    while True:
        total, active = 0.0, 0
        for k in range(K):
            if bare[k] > bound:
                total += bare[k]
                active += 1
        if active == 0 or active >= before:
            break
        bound, before = (total - square * limit) / active, active
    for k in range(K):
        if square > 0.0 and active:
            change = fmax(0.0, bare[k] - bound) / square
        else:
            change = limit if k == best else 0.0
        size += k != y and change > 0.0
        scores[k] = change
    if size > most:
        return 1
    count[0] = 0
    for k in range(K):
        change = scores[k] - old[k]
        if k != y and scores[k] > 0.0:
            outputs[count[0]], alpha[count[0]] = <int>k, scores[k]
            losses[count[0]] = margins[k]
            count[0] += 1
        high[k] = -change
    memset(scores, 0, own.rows.columns * sizeof(double))
    for k in range(K):
        scores[classes.places[k]] = high[k]
    _move_row(own, w, i, scores, room.integers)
    return 0


cdef int _solve_tree_of(const void* self, double* w, Py_ssize_t i, const int* truth, double limit,
                        Py_ssize_t most, int* count, int* outputs, double* losses, double* alpha,
                        Room room, double* gap) noexcept nogil:
    """The same for classes of a tree: pairwise steps over all of them.

    A step goes from the lowest class with weight to the highest one. What it changes of each class's
    score is |x|^2 times the nodes that the class shares with the one, less those with the other.
    """
    cdef const Single* own = <const Single*>self
    cdef const Classes* classes = &own.classes
    cdef Py_ssize_t k, step, K = classes.count, columns = own.rows.columns
    cdef const double* margins = classes.margins + truth[0] * classes.stride
    cdef double* scores = room.reals  # then the change of each node's weights, over x
    cdef double* shared = scores + columns
    cdef double* high = shared + columns  # L + w . delta
    cdef double* now = high + K  # alpha, that of the truth included
    cdef double square = own.squares[i], rest = limit, difference, first = 0.0, move
    cdef int y = truth[0], up, down, size = 0
    _score_row(own, w, i, scores)
    memset(now, 0, K * sizeof(double))
    for k in range(count[0]):
        now[outputs[k]] = alpha[k]
        rest -= alpha[k]
    now[y] = fmax(0.0, rest)
    gap[0] = 0.0
    for k in range(K):
        high[k] = margins[k] + scores[classes.places[k]] - scores[classes.places[y]]
        gap[0] -= now[k] * high[k]
    memset(scores, 0, columns * sizeof(double))
    for step in range(TREE_STEPS):
        up = down = -1
        for k in range(K):
            if up < 0 or high[k] > high[up]:
                up = <int>k
            if now[k] > 0.0 and (down < 0 or high[k] < high[down]):
                down = <int>k
        if step == 0:
            gap[0] = fmax(0.0, gap[0] + limit * high[up])  # below 0 by rounding alone
            if gap[0] <= ROUNDING * limit * (1.0 + high[up]):
                return 0
            first = high[up] - high[down]
        difference = high[up] - high[down]
        if up == down or difference <= LEFT * first * (step > 0):
            break
        move = now[down]
        memset(shared, 0, columns * sizeof(double))
        _mark(own, up, 1.0, shared)
        _mark(own, down, -1.0, shared)
        descend(classes.parents, columns, shared)
        rest = square * (shared[classes.places[up]] - shared[classes.places[down]])
        if rest > 0.0:
            move = fmin(move, difference / rest)
        _mark(own, up, -move, scores)
        _mark(own, down, move, scores)
        now[up] += move
        now[down] = now[down] - move if move < now[down] else 0.0
        for k in range(K):
            high[k] -= move * square * shared[classes.places[k]]
    for k in range(K):
        size += k != y and now[k] > 0.0
    if size > most:
        return 1
    count[0] = 0
    for k in range(K):
        if k != y and now[k] > 0.0:
            outputs[count[0]], alpha[count[0]] = <int>k, now[k]
            losses[count[0]] = margins[k]
            count[0] += 1
    _move_row(own, w, i, scores, room.integers)
    return 0
