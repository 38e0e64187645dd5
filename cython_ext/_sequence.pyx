# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Best label sequences: scores, Viterbi and summed joint features in one pass over the tokens.

The tokens of a data set are stored sequence after sequence, each with a row of features, dense or
sparse.
w holds, one after another: emissions (width, L), first-order transitions (L, L) from row to
column, second-order ones (L, L, L) if the order is 2, and weights of the first and of the last
label (L each) if ``ends``. The dynamic programs are in _sequence_core.h.

The tokens of several sequences are scored at a time; then each sequence is solved and its joint
features are added up while its rows are still in the cache. Summed emissions of dense rows are
kept label by label, so that adding a row runs along it.
"""

import numpy as np

from _chains cimport Chain, Tokens, point_to_chain, point_to_tokens, score_tokens
from _searches cimport (
    COUNTED_TASK, HAMMING_TASK, PREDICT_TASK, TRUTH_TASK, ZERO_ONE_TASK, Task, check_labels,
    point_to_task, scratch_of, solve,
)

cdef extern from "_sequence_core.h" nogil:
    void sequence_add(const double*, long, double, double*)

cdef enum:
    CHUNK = 128  # tokens scored at a time, at least

PREDICT = PREDICT_TASK
TRUTH = TRUTH_TASK
HAMMING = HAMMING_TASK
COUNTED = COUNTED_TASK
ZERO_ONE = ZERO_ONE_TASK

cdef struct Sums:
    double* emissions  # (L, width) if the rows are dense, (width, L) if sparse
    double* first  # (L, L)
    double* second  # (L, L, L)
    double* begin  # (L)
    double* finish  # (L)


def dimension(Py_ssize_t width, Py_ssize_t labels, int order, bint ends):
    """Length of w."""
    cdef Py_ssize_t squares = labels * labels
    return width * labels + squares + (order == 2) * squares * labels + 2 * ends * labels


class Weights:
    """w as the kernels read it: labels padded to a multiple of 8, second order with the first.

    shape : ChainShape; sparse : whether the rows of the tokens are
    """

    def __init__(self, w, shape, bint sparse):
        cdef Py_ssize_t width = shape.width, labels = shape.labels
        cdef int order = shape.order
        cdef bint ends = shape.ends
        if labels < 1 or order not in (1, 2) or len(w) != dimension(width, labels, order, ends):
            raise ValueError(f"sequence: {len(w)} weights do not fit {width} features, {labels} "
                             f"labels and order {order}")
        cdef Py_ssize_t padded = (labels + 7) // 8 * 8
        at = width * labels
        self.labels, self.width, self.order, self.ends = labels, width, order, ends
        emissions = w[:at].reshape(width, labels)
        self.emissions = emissions if sparse else _padded(emissions, padded)
        first = w[at:at + labels * labels].reshape(labels, labels)
        self.first = _padded(first, padded)
        at += labels * labels
        self.second = np.zeros((1, 1, padded))
        if order == 2:
            second = w[at:at + labels ** 3].reshape(labels, labels, labels)
            self.second = _padded(first + second, padded)
            at += labels ** 3
        self.begin, self.finish = np.zeros(padded), np.zeros(padded)
        if ends:
            self.begin[:labels], self.finish[:labels] = w[at:at + labels], w[at + labels:]


def _padded(array, Py_ssize_t padded):
    rows = array.reshape(-1, len(array.T))
    found = np.zeros((len(rows), padded))
    found[:, :len(rows.T)] = rows
    return found.reshape((*array.T.shape[:0:-1], padded))


cdef void _add_token(
    const Tokens* tokens, Py_ssize_t t, Py_ssize_t label, Py_ssize_t labels, double coefficient,
    double* emissions,
) noexcept nogil:
    cdef long long p
    if coefficient == 0.0:
        return
    if tokens.starts == NULL:
        sequence_add(tokens.dense + t * tokens.width, tokens.width, coefficient,
                     emissions + label * tokens.width)
        return
    for p in range(tokens.starts[t], tokens.starts[t + 1]):
        emissions[tokens.indices[p] * labels + label] += coefficient * tokens.values[p & tokens.apart]


cdef void _add_path(
    const Tokens* tokens, Py_ssize_t first, Py_ssize_t length, const int* path,
    const Chain* chain, double coefficient, Sums* sums,
) noexcept nogil:
    """Add coefficient * Phi(x, path)."""
    cdef Py_ssize_t t, labels = chain.labels
    for t in range(length):
        _add_token(tokens, first + t, path[t], labels, coefficient, sums.emissions)
        if t:
            sums.first[path[t - 1] * labels + path[t]] += coefficient
        if t > 1 and chain.order == 2:
            sums.second[(path[t - 2] * labels + path[t - 1]) * labels + path[t]] += coefficient
    sums.begin[path[0]] += coefficient
    sums.finish[path[length - 1]] += coefficient


cdef void _add_between(
    const Tokens* tokens, Py_ssize_t first, Py_ssize_t length, const int* path, const int* truth,
    const Chain* chain, double cost, double share, Sums* sums,
) noexcept nogil:
    """Add cost * (share Phi(x, path) + (1 - share) Phi(x, truth)), exactly where the two agree."""
    cdef Py_ssize_t t, labels = chain.labels
    cdef double a = cost * share, b = cost * (1.0 - share)
    for t in range(length):
        if path[t] == truth[t]:
            _add_token(tokens, first + t, path[t], labels, cost, sums.emissions)
        else:
            _add_token(tokens, first + t, path[t], labels, a, sums.emissions)
            _add_token(tokens, first + t, truth[t], labels, b, sums.emissions)
        if t:
            _split(sums.first, path[t - 1] * labels + path[t],
                   truth[t - 1] * labels + truth[t], cost, a, b)
        if t > 1 and chain.order == 2:
            _split(sums.second, (path[t - 2] * labels + path[t - 1]) * labels + path[t],
                   (truth[t - 2] * labels + truth[t - 1]) * labels + truth[t], cost, a, b)
    _split(sums.begin, path[0], truth[0], cost, a, b)
    _split(sums.finish, path[length - 1], truth[length - 1], cost, a, b)


cdef inline void _split(
    double* sums, Py_ssize_t found, Py_ssize_t truth, double cost, double a, double b,
) noexcept nogil:
    if found == truth:
        sums[found] += cost
    else:
        sums[found] += a
        sums[truth] += b


class Gradient:
    """Partial sums of joint features, in the order of w; emissions of dense rows are apart."""

    def __init__(self, weights, bint sparse):
        labels, width, order, ends = weights.labels, weights.width, weights.order, weights.ends
        self.whole = np.zeros(dimension(width, labels, order, ends))
        at = width * labels
        self.emissions = self.whole[:at].reshape(width, labels)
        if not sparse:
            self.emissions = np.zeros((labels, width))
        self.first = self.whole[at:at + labels ** 2].reshape(labels, labels)
        at += labels ** 2
        self.second = np.zeros((0, 0, 0))
        if order == 2:
            self.second = self.whole[at:at + labels ** 3].reshape(labels, labels, labels)
            at += labels ** 3
        self.begin = self.whole[at:at + labels] if ends else np.zeros(labels)
        self.finish = self.whole[at + labels:] if ends else np.zeros(labels)
        self.sparse = sparse

    def vector(self):
        """The sums in the order of w, (d,)."""
        if not self.sparse:
            self.whole[:self.emissions.size].reshape(self.emissions.T.shape)[:] = self.emissions.T
        return self.whole


cdef int _sums(Sums* out, gradient) except -1:
    cdef double[:, ::1] emissions = gradient.emissions, first = gradient.first
    cdef double[:, :, ::1] second = gradient.second
    cdef double[::1] begin = gradient.begin, finish = gradient.finish
    out.emissions = &emissions[0, 0] if emissions.size else NULL
    out.first, out.begin, out.finish = &first[0, 0], &begin[0], &finish[0]
    out.second = &second[0, 0, 0] if second.size else NULL
    return 0


def search(
    loss, tokens, const int[::1] labels, const double[::1] costs, weights, bint summed,
):
    """The label sequence that a task asks for, for each of n examples.

    loss : ChainLoss, with charges (L,), margins (longest + 1,) for COUNTED, slack, and the task:
        PREDICT, highest score; TRUTH, the given labels; HAMMING, highest score with
        charges[y_t] added for each wrong label; COUNTED, highest margins[e] + score or, with
        ``slack``, margins[e] (1 + score - score of the truth) + score of the truth, e wrong
        labels; ZERO_ONE, highest score with 1 added if any label is wrong
    tokens : TokenArrays of n sequences; labels : (tokens,) the truth; costs : (n,)
    weights : see Weights
    summed : whether to sum the joint features

    Ties: the lowest last label, then the lowest before it, and so on; COUNTED and ZERO_ONE prefer
    fewer errors (none) before that.

    Returns gradient (d,) = sum c_i Phi(x_i, found), or with ``slack`` sum c_i (L Phi(x_i, found) +
    (1 - L) Phi(x_i, truth)), or None; best (n,) the maxima; margins (n,) their L; found (tokens,).
    """
    cdef Chain chain
    cdef Tokens own
    cdef Task task
    cdef Sums sums
    point_to_chain(&chain, weights)
    point_to_tokens(&own, tokens, weights.width)
    point_to_task(&task, loss)
    cdef Py_ssize_t n = own.n, i, j, k, first, length
    if costs.shape[0] != n:
        raise ValueError(f"sequence: {costs.shape[0]} costs do not fit {n} sequences")
    check_labels(&task, labels, own.offsets[n], chain.labels, own.most)
    gradient = Gradient(weights, own.starts != NULL) if summed else None
    if summed:
        _sums(&sums, gradient)
    best, losses = np.zeros(n), np.zeros(n)
    found = np.zeros(labels.shape[0], dtype=np.int32)
    if n == 0 or own.offsets[n] == 0:
        return (gradient.vector() if summed else None), best, losses, found
    cdef const double[:, ::1] emissions = weights.emissions
    cdef const double* emission = &emissions[0, 0] if emissions.size else NULL
    cdef double[::1] best_view = best, loss_view = losses
    cdef int[::1] path = found
    # One array: of two, the memory may go back after every call, and be zeroed for the next one.
    cdef Py_ssize_t scored = (CHUNK + own.most) * chain.padded
    cdef double[::1] scratch = np.empty(scored + scratch_of(task.kind, &chain, own.most))
    cdef double* scores = &scratch[0]
    cdef double* states = scores + scored
    with nogil:
        i = 0
        while i < n:
            j = i + 1
            while j < n and own.offsets[j] - own.offsets[i] < CHUNK:
                j = j + 1
            score_tokens(&own, own.offsets[i], own.offsets[j] - own.offsets[i], emission, &chain,
                         scores)
            for k in range(i, j):
                first, length = own.offsets[k], own.offsets[k + 1] - own.offsets[k]
                if length == 0:
                    continue
                best_view[k] = solve(
                    &task, &chain, scores + (first - own.offsets[i]) * chain.padded,
                    &labels[first], length, states, &path[first], &loss_view[k])
                if summed and task.slack:
                    _add_between(&own, first, length, &path[first], &labels[first], &chain,
                                 costs[k], loss_view[k], &sums)
                elif summed:
                    _add_path(&own, first, length, &path[first], &chain, costs[k], &sums)
            i = j
    return (gradient.vector() if summed else None), best, losses, found


def gradients(
    tokens, const int[::1] found, const int[::1] truth, const double[::1] shares,
    const long long[::1] rows, shape,
):
    """shares_i Phi(x_i, found) + (1 - shares_i) Phi(x_i, truth) for chosen examples, sparse.

    rows : which of the n examples; shares : (n,), all 1 for Phi(x_i, found) alone
    shape : ChainShape

    Every coordinate is summed in the order of the tokens, so that equal sets of tokens give equal
    sums. Returns starts (len(rows) + 1,), indices and values, indices not sorted.
    """
    cdef Tokens own
    cdef Touched out
    cdef Py_ssize_t i, k, place, d, room = 0, labels = shape.labels
    cdef int order = shape.order
    cdef bint ends = shape.ends
    d = dimension(shape.width, labels, order, ends)
    point_to_tokens(&own, tokens, shape.width)
    for k in range(rows.shape[0]):
        i = rows[k]
        if i < 0 or i >= min(own.n, shares.shape[0]):
            raise ValueError(f"gradients: there is no example {i}")
        _check_path(&own, i, found, labels)
        _check_path(&own, i, truth, labels)
        room += 2 * _entries(&own, own.offsets[i], own.offsets[i + 1])
    sums, marks = np.zeros(d), np.zeros(d, dtype=np.uint8)
    where, what = np.empty(room, dtype=np.int64), np.empty(room)
    edges = np.zeros(rows.shape[0] + 1, dtype=np.int64)
    cdef double[::1] sum_view = sums, what_view = what
    cdef unsigned char[::1] mark_view = marks
    cdef long long[::1] where_view = where, edge_view = edges
    if room == 0:
        return edges, where, what
    out.sums, out.marks, out.found, out.count = &sum_view[0], &mark_view[0], &where_view[0], 0
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            _touch_example(&own, own.offsets[i], own.offsets[i + 1], &found[0], &truth[0],
                           shares[i], labels, order, ends, &out)
            for place in range(edge_view[k], out.count):
                what_view[place] = out.sums[out.found[place]]
                out.sums[out.found[place]] = 0.0
                out.marks[out.found[place]] = 0
            edge_view[k + 1] = out.count
    return edges, where[:out.count].copy(), what[:out.count].copy()


cdef int _check_path(const Tokens* tokens, Py_ssize_t i, const int[::1] path,
                     Py_ssize_t labels) except -1:
    """Refuse a path of example i that ends too early or has labels that there are not."""
    cdef Py_ssize_t t
    if tokens.offsets[i + 1] > path.shape[0]:
        raise ValueError(f"gradients: there is no example {i}")
    for t in range(tokens.offsets[i], tokens.offsets[i + 1]):
        if path[t] < 0 or path[t] >= labels:
            raise ValueError(f"gradients: label {path[t]} is not one of {labels}")
    return 0


cdef struct Touched:
    double* sums
    unsigned char* marks
    long long* found  # coordinates, each example's apart
    Py_ssize_t count


cdef Py_ssize_t _entries(const Tokens* tokens, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Most coordinates that a path of these tokens can touch."""
    if tokens.starts == NULL:
        return (last - first) * (tokens.width + 2) + 2
    return tokens.starts[last] - tokens.starts[first] + (last - first) * 2 + 2


cdef void _touch(Touched* out, Py_ssize_t place, double value) noexcept nogil:
    if not out.marks[place]:
        out.marks[place] = 1
        out.found[out.count] = place
        out.count += 1
    out.sums[place] += value


cdef void _touch_both(
    Touched* out, Py_ssize_t found, Py_ssize_t truth, double share
) noexcept nogil:
    if found == truth:
        _touch(out, found, 1.0)
        return
    if share != 0.0:
        _touch(out, found, share)
    if share != 1.0:
        _touch(out, truth, 1.0 - share)


cdef void _touch_token(
    const Tokens* tokens, Py_ssize_t t, Py_ssize_t label, Py_ssize_t labels, double coefficient,
    Touched* out,
) noexcept nogil:
    cdef Py_ssize_t k
    cdef long long p
    if coefficient == 0.0:
        return
    if tokens.starts == NULL:
        for k in range(tokens.width):
            if tokens.dense[t * tokens.width + k] != 0.0:
                _touch(out, k * labels + label, coefficient * tokens.dense[t * tokens.width + k])
        return
    for p in range(tokens.starts[t], tokens.starts[t + 1]):
        _touch(out, tokens.indices[p] * labels + label, coefficient * tokens.values[p & tokens.apart])


cdef void _touch_example(
    const Tokens* tokens, Py_ssize_t first, Py_ssize_t last, const int* path, const int* truth,
    double share, Py_ssize_t labels, int order, bint ends, Touched* out,
) noexcept nogil:
    cdef Py_ssize_t t, L = labels, base = tokens.width * labels, squares = labels * labels
    for t in range(first, last):
        if path[t] == truth[t]:
            _touch_token(tokens, t, path[t], L, 1.0, out)
        else:
            _touch_token(tokens, t, path[t], L, share, out)
            _touch_token(tokens, t, truth[t], L, 1.0 - share, out)
        if t > first:
            _touch_both(out, base + path[t - 1] * L + path[t],
                        base + truth[t - 1] * L + truth[t], share)
        if order == 2 and t > first + 1:
            _touch_both(out, base + squares + (path[t - 2] * L + path[t - 1]) * L + path[t],
                        base + squares + (truth[t - 2] * L + truth[t - 1]) * L + truth[t], share)
    if ends and last > first:
        base += squares + (order == 2) * squares * L
        _touch_both(out, base + path[first], base + truth[first], share)
        _touch_both(out, base + L + path[last - 1], base + L + truth[last - 1], share)
