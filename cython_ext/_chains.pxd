"""What the kernels of label sequences share: chains and the scores of tokens."""

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
        const int*, const double*, const long long*, long, const double*, long, long, double*)

cdef struct Tokens:
    const double* dense  # null if sparse
    const int* indices
    const double* values
    const long long* starts  # null if dense
    Py_ssize_t width


cdef inline int point_to_chain(Chain* out, weights) except -1:
    """The weights that an object like Weights holds, which must outlive ``out``."""
    cdef const double[:, ::1] first = weights.first
    cdef const double[:, :, ::1] second = weights.second
    cdef const double[::1] begin = weights.begin, finish = weights.finish
    out.labels, out.padded, out.order = weights.labels, first.shape[1], weights.order
    out.first, out.second, out.begin, out.finish = (
        &first[0, 0], &second[0, 0, 0], &begin[0], &finish[0])
    return 0


cdef inline int point_to_tokens(
    Tokens* out, const double[:, ::1] dense, const int[::1] indices, const double[::1] values,
    const long long[::1] starts, const long long[::1] offsets, Py_ssize_t width,
) except -1:
    """Check the arrays against each other and point to them."""
    cdef Py_ssize_t count = offsets[offsets.shape[0] - 1] if offsets.shape[0] else 0
    out.dense, out.indices, out.values, out.starts, out.width = NULL, NULL, NULL, NULL, width
    if starts.shape[0] == 0:
        if dense.shape[0] < count or dense.shape[1] != width:
            raise ValueError(f"sequence: rows {dense.shape[0]} x {dense.shape[1]} for {count} "
                             f"tokens of {width} features")
        if count and width:
            out.dense = &dense[0, 0]
        return 0
    if starts.shape[0] < count + 1 or min(indices.shape[0], values.shape[0]) < starts[count]:
        raise ValueError(f"sequence: the sparse rows do not fit {count} tokens")
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
        sequence_sparse_scores(tokens.indices, tokens.values, tokens.starts + first, count,
                               emissions, chain.labels, chain.padded, out)
    elif count:
        sequence_dense_scores(tokens.dense + first * tokens.width, count, tokens.width, emissions,
                              chain.padded, out)
