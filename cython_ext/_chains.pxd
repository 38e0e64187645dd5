"""Common parts of the kernels of label sequences: chains and the scores of tokens."""

from _common cimport longest

cdef extern from "_sequence_core.h" nogil:
    ctypedef struct Chain:
        long labels
        long padded
        long order
        const double* first
        const double* second
        const double* begin
        const double* finish
    const double UNREACHABLE
    long chain_states(const Chain*)
    void sequence_dense_scores(const double*, long, long, const double*, long, double*)
    void sequence_sparse_scores(
        const int*, const double*, long long, const long long*, long, const double*, long, long,
        long, double*)
    void sequence_sparse_scores_at(
        const int*, const double*, long long, const long long*, const int*, long, const double*,
        long, long, long, double*)
    long sequence_shared(const int*, long, const int*, long)
    long sequence_unlike(const int*, long, const double*, const int*, long, int*)

cdef struct Tokens:
    const double* dense  # null if sparse
    const int* indices
    const double* values  # entry p has the value at p & apart
    long long apart  # all bits set; 0 if all values are 1, as many as the longest row has
    const long long* starts  # null if dense
    const long long* offsets
    Py_ssize_t width
    Py_ssize_t n
    Py_ssize_t most  # tokens of a sequence, 1 at least


cdef inline int point_to_chain(Chain* out, weights) except -1:
    """The weights that an object like Weights holds, which must outlive ``out``."""
    cdef const double[:, ::1] first = weights.first
    cdef const double[:, :, ::1] second = weights.second
    cdef const double[::1] begin = weights.begin, finish = weights.finish
    out.labels, out.padded, out.order = weights.labels, first.shape[1], weights.order
    out.first, out.second, out.begin, out.finish = (
        &first[0, 0], &second[0, 0, 0], &begin[0], &finish[0])
    return 0


cdef inline int point_to_tokens(Tokens* out, tokens, Py_ssize_t width) except -1:
    """Point to TokenArrays, which must outlive ``out`` and have ``width`` features."""
    cdef const double[:, ::1] dense = tokens.dense
    cdef const int[::1] indices = tokens.indices
    cdef const double[::1] values = tokens.values
    cdef const long long[::1] starts = tokens.starts, offsets = tokens.offsets
    out.dense, out.indices, out.values, out.starts, out.width = NULL, NULL, NULL, NULL, width
    out.apart = 0 if tokens.alike else -1
    out.offsets, out.n, out.most = &offsets[0], offsets.shape[0] - 1, longest(offsets)
    if tokens.width != width:
        raise ValueError(f"sequence: tokens of {tokens.width} features; expected {width}")
    if starts.shape[0] == 0:
        if dense.shape[0] and width:
            out.dense = &dense[0, 0]
        return 0
    out.starts = &starts[0]
    if indices.shape[0]:
        out.indices, out.values = &indices[0], &values[0]
    return 0


cdef inline void score_tokens(
    const Tokens* tokens, Py_ssize_t first, Py_ssize_t count, const double* emissions,
    const Chain* chain, double* out,
) noexcept nogil:
    """Scores of tokens first .. first + count - 1, (count, P)."""
    if tokens.starts != NULL:
        sequence_sparse_scores(tokens.indices, tokens.values, tokens.apart, tokens.starts + first,
                               count, emissions, tokens.width, chain.labels, chain.padded, out)
    elif count:
        sequence_dense_scores(tokens.dense + first * tokens.width, count, tokens.width, emissions,
                              chain.padded, out)


cdef inline void score_places(
    const Tokens* tokens, Py_ssize_t first, const int* places, Py_ssize_t count,
    const double* emissions, const Chain* chain, double* out,
) noexcept nogil:
    """Scores of the tokens first + places_a, (count, P)."""
    cdef Py_ssize_t a
    if tokens.starts != NULL:
        sequence_sparse_scores_at(tokens.indices, tokens.values, tokens.apart, tokens.starts + first,
                                  places, count, emissions, tokens.width, chain.labels,
                                  chain.padded, out)
        return
    for a in range(count):
        score_tokens(tokens, first + places[a], 1, emissions, chain, out + a * chain.padded)
