# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Sums over all label sequences (conditional random fields), and the best few of them.

Layout of tokens and weights as in _sequence.pyx; dynamic programs in _sequence_soft.h. Forward and
backward recursions give log Z and expectations at any scale of the weights: with scaled
probabilities, or in the log domain for a sequence where these could underflow.
"""

import numpy as np

from _chains cimport (
    Chain, Tokens, UNREACHABLE, chain_states, point_to_chain, point_to_tokens, score_tokens,
)

cdef extern from "_sequence_soft.h" nogil:
    ctypedef struct Exponentials:
        const double* first
        const double* turned
        const double* second
        const double* begin
        const double* finish
        double first_shift
        double second_shift
        double begin_shift
        double finish_shift
    ctypedef struct Origin:
        double score
        int label
        int rank
    double sequence_scaled_forward(
        const Chain*, const Exponentials*, const double*, long, double*, double*, double*)
    int sequence_scaled_backward(
        const Chain*, const Exponentials*, long, const double*, double*, const double*, double*,
        double*)
    void sequence_scaled_counts(
        const Chain*, long, const double*, const double*, double, double*, double*)
    double sequence_forward(
        const Chain*, const Exponentials*, const double*, long, double*, double*)
    void sequence_backward(
        const Chain*, const Exponentials*, const double*, long, const double*, double, double,
        double*, double*, double*, double*)
    void sequence_outer(const double*, long, const double*, long, double*)
    long sequence_best(
        const Chain*, const double*, long, long, Origin*, long*, int*, double*)


cdef class _Grown:
    """exp(weight - shift) of a chain's weights, 0 beyond the labels, and the arrays behind it."""

    cdef Exponentials numbers
    cdef object first, second

    def __init__(self, weights):
        cdef Py_ssize_t L = weights.labels
        first, self.numbers.first_shift = _grown(weights.first, L)
        self.second, self.numbers.second_shift = _grown(weights.second, L)
        turned = np.zeros_like(first)
        turned[:, :L] = first[:, :L].T
        begin, self.numbers.begin_shift = _grown(weights.begin[None], L)
        finish, self.numbers.finish_shift = _grown(weights.finish[None], L)
        self.first = np.concatenate([first, turned, begin, finish])
        cdef double[:, ::1] rows = self.first
        cdef double[:, :, ::1] second = self.second
        self.numbers.first, self.numbers.turned = &rows[0, 0], &rows[L, 0]
        self.numbers.begin, self.numbers.finish = &rows[2 * L, 0], &rows[2 * L + 1, 0]
        self.numbers.second = &second[0, 0, 0]


def _grown(matrix, Py_ssize_t labels):
    """exp(matrix - shift), 0 beyond the labels, and shift, the highest weight."""
    shift = float(matrix[..., :labels].max())
    found = np.zeros_like(matrix)
    found[..., :labels] = np.exp(matrix[..., :labels] - shift)
    return found, shift


def moments(tokens, const double[::1] costs, weights):
    """log Z of n examples under exp(w . Phi) / Z, and what their expected features are made of.

    tokens : TokenArrays. Returns marginals (tokens, L), the probability of each label of a token,
    log Z (n,), and the part of sum c_i E[Phi(x_i, y)] that is not of the tokens' features: expected
    counts of transitions, of first and of last labels, in the order of w.
    """
    cdef Py_ssize_t i, t, s, first, length
    cdef Chain chain
    cdef Tokens own
    point_to_chain(&chain, weights)
    point_to_tokens(&own, tokens, weights.width)
    cdef Py_ssize_t n = own.n, most = own.most
    cdef const long long* offsets = own.offsets
    cdef Py_ssize_t L = chain.labels, P = chain.padded, S = chain_states(&chain)
    if costs.shape[0] != n:
        raise ValueError(f"moments: {costs.shape[0]} costs do not fit {n} sequences")
    cdef _Grown grown = _Grown(weights)
    # Of each the sums in the log domain, and those of scaled probabilities.
    pairs, triples = np.zeros((2, L, P)), np.zeros((2, *weights.second.shape))
    ends, logz, marginals = np.zeros((2, L)), np.zeros(n), np.empty((offsets[n], L))
    cdef const double[:, ::1] emissions = weights.emissions
    cdef const double* emission = &emissions[0, 0] if emissions.size else NULL
    cdef double[:, ::1] end_view = ends, marginal = marginals
    cdef double[:, :, ::1] pair_view = pairs
    cdef double[:, :, :, ::1] triple_view = triples
    cdef double[::1] logz_view = logz
    cdef double[::1] unary = np.empty(most * P), alpha = np.empty(most * S)
    cdef double[::1] factors = np.empty(most * S), scales = np.empty(most + 1)
    cdef double[::1] scratch = np.zeros(4 * S), row = np.empty(P), shares = np.empty(most * P)
    with nogil:
        for i in range(n):
            first, length = offsets[i], offsets[i + 1] - offsets[i]
            if length == 0:
                continue
            score_tokens(&own, first, length, emission, &chain, &unary[0])
            logz_view[i] = sequence_scaled_forward(
                &chain, &grown.numbers, &unary[0], length, &alpha[0], &factors[0], &scales[0])
            if logz_view[i] > UNREACHABLE and sequence_scaled_backward(
                    &chain, &grown.numbers, length, &alpha[0], &factors[0], &scales[0],
                    &scratch[0], &shares[0]):
                sequence_scaled_counts(&chain, length, &alpha[0], &factors[0], costs[i],
                                       &pair_view[1, 0, 0], &triple_view[1, 0, 0, 0])
            else:
                logz_view[i] = sequence_forward(
                    &chain, &grown.numbers, &unary[0], length, &alpha[0], &row[0])
                sequence_backward(
                    &chain, &grown.numbers, &unary[0], length, &alpha[0], logz_view[i], costs[i],
                    &scratch[0], &shares[0], &pair_view[0, 0, 0], &triple_view[0, 0, 0, 0])
            for t in range(length):
                for s in range(L):
                    marginal[first + t, s] = shares[t * P + s]
            for s in range(L):
                end_view[0, s] += costs[i] * shares[s]
                end_view[1, s] += costs[i] * shares[(length - 1) * P + s]
    pairs = pairs[0] + pairs[1] * grown.first[:L]
    triples = triples[0] + triples[1] * grown.second
    firsts = pairs[:, :L] + (triples[..., :L].sum(axis=0) if chain.order == 2 else 0.0)
    parts = [firsts.ravel()]
    if chain.order == 2:
        parts.append(triples[..., :L].ravel())
    if weights.ends:
        parts.append(ends.ravel())
    return marginals, logz, np.concatenate(parts)


def expected_rows(tokens, const double[::1] costs, const double[:, ::1] marginals):
    """The sum over n sequences of c_i and over their tokens of features times marginals, (m, L)."""
    cdef Py_ssize_t i, t, s, L = marginals.shape[1], P = (L + 7) // 8 * 8
    cdef Tokens own
    point_to_tokens(&own, tokens, tokens.width)
    cdef Py_ssize_t n = own.n
    if costs.shape[0] != n or marginals.shape[0] != own.offsets[n]:
        raise ValueError(f"expected_rows: {marginals.shape[0]} tokens and {costs.shape[0]} costs "
                         f"do not fit {n} sequences of {own.offsets[n]} tokens")
    summed = np.zeros((own.width, L if own.starts != NULL else P))
    cdef double[:, ::1] sums = summed
    cdef double[::1] row = np.zeros(P)
    cdef double* out = &sums[0, 0] if summed.size else NULL
    with nogil:
        for i in range(n):
            for t in range(own.offsets[i], own.offsets[i + 1]):
                for s in range(L):
                    row[s] = costs[i] * marginals[t, s]
                _add_expected(&own, t, &row[0], L, P, out)
    return summed[:, :L]


def expectations(tokens, const double[::1] costs, weights):
    """Expected joint features, sum c_i E[Phi(x_i, y)] (d,), log Z (n,) and marginals; see moments."""
    marginals, logz, others = moments(tokens, costs, weights)
    rows = expected_rows(tokens, costs, marginals)
    return np.concatenate([rows.ravel(), others]), logz, marginals


cdef void _add_expected(
    const Tokens* tokens, Py_ssize_t t, const double* row, Py_ssize_t labels, Py_ssize_t padded,
    double* out,
) noexcept nogil:
    """Add the features of token t to all labels, times the coefficients in ``row``."""
    cdef long long p
    cdef Py_ssize_t s
    cdef double* to
    if tokens.starts == NULL:
        sequence_outer(tokens.dense + t * tokens.width, tokens.width, row, padded, out)
        return
    for p in range(tokens.starts[t], tokens.starts[t + 1]):
        to = out + <Py_ssize_t>tokens.indices[p] * labels
        for s in range(labels):
            to[s] += tokens.values[p & tokens.apart] * row[s]


def best_paths(tokens, weights, int top):
    """The ``top`` label sequences of highest w . Phi of each of n examples, best first.

    Equal ones: the lowest last label first, then the lowest before it, and so on. Returns labels
    (tokens, top) int32, those of the k-th path in column k, and scores (n, top); -1 and -inf where
    there are fewer.
    """
    cdef Py_ssize_t i, first, length, count
    cdef Chain chain
    cdef Tokens own
    point_to_chain(&chain, weights)
    point_to_tokens(&own, tokens, weights.width)
    cdef Py_ssize_t n = own.n, most = own.most
    cdef const long long* offsets = own.offsets
    cdef Py_ssize_t S = chain_states(&chain)
    labels = np.full((max(1, offsets[n]), top), -1, dtype=np.int32)
    scores = np.zeros((n, top))
    kept = np.ones(n, dtype=np.int64)
    cdef const double[:, ::1] emissions = weights.emissions
    cdef const double* emission = &emissions[0, 0] if emissions.size else NULL
    cdef int[:, ::1] label_view = labels
    cdef double[:, ::1] score_view = scores
    cdef long long[::1] kept_view = kept
    cdef double[::1] unary = np.empty(most * chain.padded)
    cdef unsigned char[::1] lists = np.empty(
        (most + 1) * S * top * sizeof(Origin), dtype=np.uint8)
    cdef long[::1] counts = np.empty(most * S, dtype=np.dtype("l"))
    with nogil:
        for i in range(n):
            first, length = offsets[i], offsets[i + 1] - offsets[i]
            if length == 0:
                continue
            score_tokens(&own, first, length, emission, &chain, &unary[0])
            count = sequence_best(&chain, &unary[0], length, top, <Origin*>&lists[0], &counts[0],
                                  &label_view[first, 0], &score_view[i, 0])
            kept_view[i] = count
    scores[np.arange(top) >= kept[:, None]] = -np.inf
    return labels[:offsets[n]], scores
