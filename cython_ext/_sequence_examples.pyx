# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Inference for one label sequence at a time, as ``_dual_coordinate`` asks for it."""

from libc.string cimport memset

import numpy as np

from _chains cimport Chain, Tokens, point_to_tokens, score_places, score_tokens
from _emissions cimport add_two, pair_score, token_product
from _examples cimport Found, Kept, Oracle, Room, capsule_of, unknown
from _searches cimport (
    Task, check_labels, point_to_task, scratch_of, sequence_score, sequence_viterbi, solve,
)

from _transitions cimport (
    differences, differing, step_products, step_scores, steps_near, unlike,
)

cdef enum:
    MANY = 8  # products of tokens, for each token, from which a vector like w is quicker

cdef double FORBIDDEN = -1e100  # added to the score of a state that a label does not have

cdef struct Single:
    Oracle oracle  # first, so that a pointer to one is a pointer to the other
    Tokens tokens
    Task task
    const int* labels
    const double* squares  # |x|^2 of each token
    Py_ssize_t count, padded, stride  # labels, and numbers that a feature's weights take
    int order, substates  # 0: nothing is hidden
    bint ends
    # Where the parts of w begin; ``summed`` are first and second order together.
    Py_ssize_t first, second, summed, begin, finish
    Py_ssize_t vector  # where room for a vector like w begins among the reals
    # Its features, if rows are sparse those of one sequence, and where room for their numbers begins.
    Py_ssize_t features, numbers


class ExampleOracle:
    """The sequences as ``_dual_coordinate`` asks for them; an output is a label for each token.

    loss : ChainLoss; tokens : TokenArrays of n sequences, rows of increasing indices
    labels : (tokens,) the truth; shape : ChainShape
    substates : hidden states of each label, which are the labels of ``shape`` then and the values
        of outputs; ``labels`` are −1 where they are not known, the loss counts wrong labels by its
        charges, and the first completion is still to be made. 0: nothing is hidden

    Weights are kept with the labels padded to a multiple of 8 where rows are dense, and with sums
    of first and second order beside them.

    truth : (tokens,) the true outputs; places : (n + 1,) where each output begins; size : of the
        weights as they are kept; capsule : what the C functions are found by
    slack : whether losses multiply differences; exact : False, there are too many outputs
    values : labels
    """

    def __init__(self, loss, tokens, const int[::1] labels, shape, int substates=0):
        memory = np.zeros(sizeof(Single), dtype=np.uint8)
        cdef unsigned char[::1] view = memory
        cdef Single* own = <Single*>&view[0]
        cdef Py_ssize_t squares, i, rows
        point_to_tokens(&own.tokens, tokens, shape.width)
        point_to_task(&own.task, loss)
        own.count, own.order, own.ends = shape.labels, shape.order, shape.ends
        own.substates = substates
        own.padded = (own.count + 7) // 8 * 8
        own.stride = own.count if own.tokens.starts != NULL else own.padded
        if not substates:
            check_labels(&own.task, labels, own.tokens.offsets[own.tokens.n], own.count,
                         own.tokens.most)
        elif own.task.charge_count * substates != own.count or (
                len(labels) and int(np.max(labels)) >= own.task.charge_count):
            raise ValueError(f"sequence: {own.task.charge_count} charges and {substates} substates "
                             f"do not fit {own.count} states or the labels")
        squares, rows = own.count * own.padded, own.tokens.offsets[own.tokens.n]
        own.first = shape.width * own.stride
        own.second = own.first + squares
        own.summed = own.second + (own.order == 2) * own.count * squares
        own.begin = own.summed + (own.order == 2) * own.count * squares
        own.finish = own.begin + own.padded
        self.size = own.finish + own.padded
        self.labels = np.array(labels[:rows], dtype=np.int32)
        self.truth = np.zeros(rows, dtype=np.int32) if substates else self.labels
        self.places = np.array(tokens.offsets)
        self.squares = np.zeros(max(1, rows))
        self.slack, self.exact, self.values = loss.slack, False, own.count
        self._held, self._shape = (loss, tokens, memory), shape
        self._parts = own.stride, own.padded, own.first, own.begin
        cdef const int[::1] known = self.labels
        cdef const long long[::1] places = self.places
        cdef double[::1] squares_view = self.squares
        for i in range(rows):
            squares_view[i] = token_product(&own.tokens, i, i)
        own.labels, own.squares = &known[0] if rows else NULL, &squares_view[0]
        own.oracle.self, own.oracle.n, own.oracle.size = own, own.tokens.n, self.size
        own.oracle.places = &places[0]
        own.vector = own.tokens.most * own.padded + own.padded + _room_of(own, own.tokens.most)
        own.numbers = own.oracle.integers = 8 * own.tokens.most + 2 * own.count + 16
        own.features = shape.width
        if own.tokens.starts != NULL:
            entries = int(np.max(np.diff(tokens.starts[tokens.offsets]), initial=0))
            own.features = min(shape.width, entries)
            own.oracle.integers += shape.width + own.features + entries
        own.oracle.reals = own.vector + self.size - (shape.width - own.features) * own.stride
        own.oracle.best, own.oracle.heights, own.oracle.inner, own.oracle.add = (
            _best_of, _heights_of, _inner_of, _add_of)
        own.oracle.solve, own.oracle.complete, own.oracle.along = NULL, NULL, _along_of
        if substates:
            own.oracle.complete = _complete_of
        self.multiply_adds = float(own.count) * (
            (tokens.starts[rows] - tokens.starts[0] if own.tokens.starts != NULL
             else rows * shape.width) + rows * own.count ** own.order)
        totals = np.concatenate([[0.0], np.cumsum(self.squares)])[self.places]
        self.square = float(np.max(np.diff(totals), initial=0.0))
        self.capsule = capsule_of(memory)

    def load(self, w):
        """Weights (d,) as they are kept."""
        stride, padded, first, begin = self._parts
        width, labels, order, ends = self._shape
        kept = np.zeros(self.size)
        at = width * labels
        kept[:first].reshape(width, stride)[:, :labels] = w[:at].reshape(width, labels)
        tables = kept[first:begin].reshape(-1, padded)[:, :labels]
        squares = w[at:at + labels * labels].reshape(labels, labels)
        tables[:labels] = squares
        at += labels * labels
        if order == 2:
            cubes = w[at:at + labels ** 3].reshape(labels, labels, labels)
            tables[labels:labels + labels ** 2] = cubes.reshape(-1, labels)
            tables[labels + labels ** 2:] = (squares + cubes).reshape(-1, labels)
            at += labels ** 3
        if ends:
            kept[begin:].reshape(2, padded)[:, :labels] = w[at:].reshape(2, labels)
        return kept

    def unload(self, kept):
        """The same the other way, (d,)."""
        stride, padded, first, begin = self._parts
        width, labels, order, ends = self._shape
        squares, cubes = labels * labels, (order == 2) * labels ** 3
        at = width * labels
        found = np.empty(at + squares + cubes + 2 * ends * labels)
        found[:at].reshape(width, labels)[:] = kept[:first].reshape(width, stride)[:, :labels]
        tables = kept[first:begin].reshape(-1, padded)[:labels + (order == 2) * squares, :labels]
        found[at:at + squares + cubes].reshape(-1, labels)[:] = tables
        if ends:
            tables = kept[begin:].reshape(2, padded)[:, :labels]
            found[at + squares + cubes:].reshape(2, labels)[:] = tables
        return found


cdef void _point_to_weights(const Single* own, const double* w, Chain* out) noexcept nogil:
    out.labels, out.padded, out.order = own.count, own.padded, own.order
    out.first, out.second, out.begin, out.finish = (
        w + own.first, w + own.summed, w + own.begin, w + own.finish)


cdef Py_ssize_t _room_of(const Single* own, Py_ssize_t length) noexcept nogil:
    cdef Chain chain
    _point_to_weights(own, own.squares, &chain)
    return scratch_of(own.task.kind, &chain, length)


cdef int _best_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                  int* output, Found* found, double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.tokens.offsets[i], length = own.tokens.offsets[i + 1] - first, k
    cdef double* scores = room.reals
    cdef Chain chain
    _point_to_weights(own, w, &chain)
    found.loss = found.height = found.score = 0.0
    if length == 0:
        return 0
    score_tokens(&own.tokens, first, length, w, &chain, scores)
    found.score = sequence_score(&chain, scores, kept.truth, length)
    for k in range(kept.count):
        products[k] = sequence_score(&chain, scores, kept.outputs + k * length, length) - found.score
    if own.substates:
        found.height = _latent(own, &chain, scores, first, length, output, &found.loss)
    else:
        found.height = solve(&own.task, &chain, scores, kept.truth, length,
                             scores + own.tokens.most * own.padded, output, &found.loss)
    found.height -= found.score
    return 0


cdef void _charge(const Single* own, double* scores, Py_ssize_t first, Py_ssize_t length,
                  bint forbid) noexcept nogil:
    """Add to the states of all labels but the true one: its charge, or what forbids them."""
    cdef Py_ssize_t t, s
    cdef int y
    for t in range(length):
        y = own.labels[first + t]
        if y < 0:
            continue
        for s in range(own.count):
            if s // own.substates != y:
                scores[t * own.padded + s] += FORBIDDEN if forbid else own.task.charges[y]


cdef double _latent(const Single* own, const Chain* chain, double* scores, Py_ssize_t first,
                    Py_ssize_t length, int* output, double* loss) noexcept nogil:
    """The best states with the loss of their labels added, the value, and the loss."""
    cdef Py_ssize_t t
    cdef double value
    _charge(own, scores, first, length, False)
    value = sequence_viterbi(chain, scores, length, scores + own.tokens.most * own.padded, output)
    for t in range(length):
        if own.labels[first + t] >= 0 and output[t] // own.substates != own.labels[first + t]:
            loss[0] += own.task.charges[own.labels[first + t]]
    return value


cdef int _complete_of(const void* self, const double* w, Py_ssize_t i, Room room, int* output,
                      double* score) noexcept nogil:
    """The best states of the true labels."""
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.tokens.offsets[i], length = own.tokens.offsets[i + 1] - first
    cdef double* scores = room.reals
    cdef Chain chain
    _point_to_weights(own, w, &chain)
    score[0] = 0.0
    if length == 0:
        return 0
    score_tokens(&own.tokens, first, length, w, &chain, scores)
    _charge(own, scores, first, length, True)
    sequence_viterbi(&chain, scores, length, scores + own.tokens.most * own.padded, output)
    score[0] = sequence_score(&chain, scores, output, length)
    return 0


cdef int _heights_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                     double* products) noexcept nogil:
    """Only tokens where an output differs from the truth are scored."""
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.tokens.offsets[i], length = own.tokens.offsets[i + 1] - first
    cdef int* places = room.integers
    cdef Py_ssize_t count = unlike(kept, NULL, length, places), k, a, t
    cdef double* scores = room.reals
    cdef const int* output
    cdef const int* truth = kept.truth
    cdef Chain chain
    _point_to_weights(own, w, &chain)
    score_places(&own.tokens, first, places, count, w, &chain, scores)
    for k in range(kept.count):
        output = kept.outputs + k * length
        products[k] = 0.0
        # Where the two are the same, 0 is added: a branch could not be predicted.
        for a in range(count):
            t = places[a]
            products[k] += scores[a * own.padded + output[t]] - scores[a * own.padded + truth[t]]
        products[k] += step_scores(&chain, output, truth, places, count, length, places + length)
    return 0


cdef int _inner_of(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k, Room room,
                   double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.tokens.offsets[i], length = own.tokens.offsets[i + 1] - first
    cdef Py_ssize_t l, a, b, s, t, mine, theirs
    cdef const int* path
    cdef const int* other
    cdef const int* y = kept.truth
    cdef int* here = room.integers
    cdef int* there = here + length
    cdef int times
    cdef double total
    if length == 0:
        for l in range(kept.count):
            products[l] = 0.0
        return 0
    for l in range(kept.count):
        if products[l] != unknown():
            continue
        # The earlier of two outputs always comes first, whichever is asked for.
        path, other = kept.outputs + min(k, l) * length, kept.outputs + max(k, l) * length
        mine = differing(path, y, length, here)
        theirs = differing(other, y, length, there)
        if mine * theirs > MANY * (mine + theirs):
            products[l] = _spread_product(self, i, path, other, y, room)
            continue
        total = 0.0
        for a in range(mine):
            s = here[a]
            for b in range(theirs):
                t = there[b]
                times = ((path[s] == other[t]) - (path[s] == y[t]) - (y[s] == other[t])
                         + (y[s] == y[t]))
                if times == 0:
                    continue
                total += times * (own.squares[first + s] if s == t else
                                  token_product(&own.tokens, first + s, first + t))
        products[l] = total + step_products(<int>own.count, own.order, own.ends, path, other, y, length, there + length)
    return 0


cdef double _spread_product(const void* self, Py_ssize_t i, const int* path, const int* other,
                            const int* y, Room room) noexcept nogil:
    """The product of two planes through a vector of their weights, which holds the first of them.

    Its time grows with the tokens, not with their square.
    """
    cdef Single own = (<const Single*>self)[0]
    cdef double* vector = room.reals + own.vector
    cdef double one = 1.0, product
    cdef Kept kept
    cdef Py_ssize_t used = own.features, left_out = own.first - own.features * own.stride
    own.first, own.second = own.first - left_out, own.second - left_out
    own.summed, own.begin = own.summed - left_out, own.begin - left_out
    own.finish -= left_out
    if own.tokens.starts != NULL:
        used = _number(&own, i, path, other, y, room.integers + own.numbers)
    memset(vector, 0, used * own.stride * sizeof(double))
    memset(vector + own.first, 0, (own.finish + own.padded - own.first) * sizeof(double))
    kept.count, kept.truth, kept.outputs = 1, y, path
    _add_of(&own, vector, i, &kept, &one, room)
    kept.outputs = other
    _heights_of(&own, vector, i, &kept, room, &product)
    return product


cdef Py_ssize_t _number(Single* own, Py_ssize_t i, const int* path, const int* other, const int* y,
                        int* room) noexcept nogil:
    """Let ``own`` have the features of the tokens where one of two paths differs, numbered from 0.

    Returns how many there are. That a feature has a number already is known from the feature at
    that number (Briggs & Torczon, 1993), so that nothing has to be cleared.
    """
    cdef Tokens* tokens = &own.tokens
    cdef Py_ssize_t first = tokens.offsets[i], t
    cdef long long p, before = tokens.starts[first]
    cdef int* number = room
    cdef int* feature = number + tokens.width
    cdef int* numbered = feature + own.features
    cdef int count = 0, f
    for t in range(tokens.offsets[i + 1] - first):
        if path[t] == y[t] and other[t] == y[t]:
            continue
        for p in range(tokens.starts[first + t], tokens.starts[first + t + 1]):
            f = tokens.indices[p]
            if not (0 <= number[f] < count and feature[number[f]] == f):
                number[f], feature[count] = count, f
                count += 1
            numbered[p - before] = number[f]
    tokens.indices = numbered - before
    return count


cdef int _add_of(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                 const double* coefficients, Room room) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t first = own.tokens.offsets[i], length = own.tokens.offsets[i + 1] - first
    cdef int* places = room.integers
    cdef int* steps = places + length
    cdef Py_ssize_t count = unlike(kept, coefficients, length, places), found, a, t, k
    cdef const int* path
    cdef const int* y = kept.truth
    cdef double* factors = room.reals
    cdef double c
    memset(factors, 0, own.padded * sizeof(double))
    for a in range(count):
        t = places[a]
        _add_at(own, w, first + t, t, length, kept, coefficients, factors, steps + length)
    for k in range(kept.count):
        c, path = coefficients[k], kept.outputs + k * length
        if c == 0.0:
            continue
        found = steps_near(path, y, places, count, length, 2, steps)
        for a in range(found):
            _add_first(own, w, path, steps[a], c)
            _add_first(own, w, y, steps[a], -c)
        if own.order == 2:
            found = steps_near(path, y, places, count, length, 3, steps)
        for a in range(found if own.order == 2 else 0):
            if steps[a] >= 2:
                _add_second(own, w, path, steps[a], c)
                _add_second(own, w, y, steps[a], -c)
        if own.ends and length:
            w[own.begin + path[0]] += c
            w[own.begin + y[0]] -= c
            w[own.finish + path[length - 1]] += c
            w[own.finish + y[length - 1]] -= c
    return 0


cdef void _add_first(const Single* own, double* w, const int* path, Py_ssize_t t,
                     double c) noexcept nogil:
    """Add c to the weight of the first-order transition of a path to its place t."""
    cdef Py_ssize_t L = own.count, P = own.padded, r
    w[own.first + path[t - 1] * P + path[t]] += c
    for r in range(L if own.order == 2 else 0):
        w[own.summed + (r * L + path[t - 1]) * P + path[t]] += c


cdef void _add_second(const Single* own, double* w, const int* path, Py_ssize_t t,
                      double c) noexcept nogil:
    """The same of the second-order transition."""
    cdef Py_ssize_t row = (path[t - 2] * own.count + path[t - 1]) * own.padded + path[t]
    w[own.second + row] += c
    w[own.summed + row] += c


cdef void _add_at(const Single* own, double* w, Py_ssize_t token, Py_ssize_t t, Py_ssize_t length,
                  const Kept* kept, const double* coefficients, double* factors,
                  int* labels) noexcept nogil:
    """Add to the emissions what outputs differ in at a token; factors are 0, and left so."""
    cdef const Tokens* tokens = &own.tokens
    cdef Py_ssize_t k, a, size = differences(t, length, kept, coefficients, factors, labels)
    cdef long long p, end
    if tokens.starts != NULL:
        p, end = tokens.starts[token], tokens.starts[token + 1]
        # Two labels at a time; nearly always there are no more.
        for a in range(0, size - 1, 2):
            add_two(tokens, p, end, w, own.stride, labels[a], factors[labels[a]], labels[a + 1],
                    factors[labels[a + 1]])
        if size % 2:
            add_two(tokens, p, end, w, own.stride, labels[size - 1], factors[labels[size - 1]], -1,
                    0.0)
    else:
        for k in range(tokens.width):
            for a in range(size):
                w[k * own.stride + labels[a]] += (
                    tokens.dense[token * tokens.width + k] * factors[labels[a]])
    for a in range(size):
        factors[labels[a]] = 0.0


cdef int _along_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept,
                   const double* coefficients, Room room, double* change) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef const Tokens* tokens = &own.tokens
    cdef Py_ssize_t first = tokens.offsets[i], length = tokens.offsets[i + 1] - first
    cdef int* places = room.integers
    cdef int* labels = places + 2 * length
    cdef Py_ssize_t count = unlike(kept, coefficients, length, places), b, t, k, a, size
    cdef double* factors = room.reals
    cdef double total = 0.0
    cdef Chain chain
    _point_to_weights(own, w, &chain)
    memset(factors, 0, own.padded * sizeof(double))
    for b in range(count):
        t = places[b]
        size = differences(t, length, kept, coefficients, factors, labels)
        # Two labels at a time, so that two sums run side by side; there are two at least.
        for a in range(0, size, 2):
            total += pair_score(tokens, w, own.stride, first + t, labels[a],
                                labels[min(a + 1, size - 1)], factors)
        for a in range(size):
            factors[labels[a]] = 0.0
    for k in range(kept.count):
        if coefficients[k] != 0.0:
            total += coefficients[k] * step_scores(
                &chain, kept.outputs + k * length, kept.truth, places, count, length,
                places + length)
    change[0] = total
    return 0
