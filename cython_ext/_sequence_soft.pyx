# distutils: extra_compile_args = -ffinite-math-only -fno-signed-zeros
# Maxima then vectorise; the inputs are checked to be finite.
"""Sums over all label sequences (conditional random fields), and the best few of them.

Layout of tokens and weights as in _sequence.pyx; dynamic programs in _sequence_soft.h. Forward and
backward recursions give log Z and expectations at any scale of the weights.
"""

import numpy as np

from _chains cimport (
    Chain, Tokens, chain_states, point_to_chain, point_to_tokens, score_tokens,
)

cdef extern from "_sequence_soft.h" nogil:
    ctypedef struct Exponentials:
        const double* first
        const double* second
        double first_shift
        double second_shift
    ctypedef struct Origin:
        double score
        int label
        int rank
    double sequence_forward(
        const Chain*, const Exponentials*, const double*, long, double*, double*)
    void sequence_backward(
        const Chain*, const Exponentials*, const double*, long, const double*, double, double,
        double*, double*, double*, double*)
    void sequence_outer(const double*, long, const double*, long, double*)
    long sequence_best(
        const Chain*, const double*, long, long, Origin*, long*, int*, double*)


def _grown(matrix, Py_ssize_t labels):
    """exp(matrix - shift), 0 beyond the labels, and shift, the highest weight."""
    shift = float(matrix[..., :labels].max())
    found = np.zeros_like(matrix)
    found[..., :labels] = np.exp(matrix[..., :labels] - shift)
    return found, shift


def expectations(tokens, const double[::1] costs, weights):
    """log Z and expected joint features of n examples under exp(w . Phi) / Z.

    tokens : TokenArrays. Returns gradient (d,) = sum c_i E[Phi(x_i, y)], log Z (n,), and
    marginals (tokens, L), the probability of each label of a token.
    """
    cdef Py_ssize_t i, t, s, first, length
    cdef Chain chain
    cdef Tokens own
    cdef Exponentials grown
    point_to_chain(&chain, weights)
    point_to_tokens(&own, tokens, weights.width)
    cdef Py_ssize_t n = own.n, most = own.most
    cdef const long long* offsets = own.offsets
    cdef Py_ssize_t L = chain.labels, P = chain.padded, S = chain_states(&chain)
    cdef bint sparse = own.starts != NULL
    if costs.shape[0] != n:
        raise ValueError(f"expectations: {costs.shape[0]} costs do not fit {n} sequences")
    first_grown, grown.first_shift = _grown(weights.first, L)
    second_grown, grown.second_shift = _grown(weights.second, L)
    cdef double[:, ::1] first_view = first_grown
    cdef double[:, :, ::1] second_view = second_grown
    grown.first, grown.second = &first_view[0, 0], &second_view[0, 0, 0]
    summed = np.zeros((weights.width, L if sparse else P))
    pairs, triples = np.zeros((L, P)), np.zeros(weights.second.shape)
    ends = np.zeros((2, P))
    logz, marginals = np.zeros(n), np.zeros((max(1, offsets[n]), P))
    cdef const double[:, ::1] emissions = weights.emissions
    cdef const double* emission = &emissions[0, 0] if emissions.size else NULL
    cdef double[:, ::1] sums = summed, pair_view = pairs, end_view = ends, marginal = marginals
    cdef double[:, :, ::1] triple_view = triples
    cdef double[::1] logz_view = logz
    cdef double[::1] unary = np.empty(most * P), alpha = np.empty(most * S)
    cdef double[::1] scratch = np.empty(4 * S), row = np.empty(P)
    cdef double* out = &sums[0, 0] if summed.size else NULL
    with nogil:
        for i in range(n):
            first, length = offsets[i], offsets[i + 1] - offsets[i]
            if length == 0:
                continue
            score_tokens(&own, first, length, emission, &chain, &unary[0])
            logz_view[i] = sequence_forward(&chain, &grown, &unary[0], length, &alpha[0], &row[0])
            sequence_backward(&chain, &grown, &unary[0], length, &alpha[0], logz_view[i],
                              costs[i], &scratch[0], &marginal[first, 0], &pair_view[0, 0],
                              &triple_view[0, 0, 0])
            for t in range(first, first + length):
                for s in range(P):
                    row[s] = costs[i] * marginal[t, s]
                _add_expected(&own, t, &row[0], L, P, out)
                for s in range(L):
                    if t == first:
                        end_view[0, s] += row[s]
                    if t == first + length - 1:
                        end_view[1, s] += row[s]
    firsts = pairs[:, :L] + (triples[..., :L].sum(axis=0) if chain.order == 2 else 0.0)
    parts = [summed[:, :L].ravel(), firsts.ravel()]
    if chain.order == 2:
        parts.append(triples[..., :L].ravel())
    if weights.ends:
        parts.append(ends[:, :L].ravel())
    return np.concatenate(parts), logz, marginals[:offsets[n], :L]


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
            to[s] += tokens.values[p] * row[s]


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
