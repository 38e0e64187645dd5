"""Products of tokens, and their features times weights of one or two labels."""

from _chains cimport Tokens, sequence_shared


cdef inline double token_product(const Tokens* tokens, Py_ssize_t s, Py_ssize_t t) noexcept nogil:
    """x_s · x_t."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    cdef long long p, q, p_end, q_end
    cdef int left, right
    if tokens.starts == NULL:
        for k in range(tokens.width):
            total += tokens.dense[s * tokens.width + k] * tokens.dense[t * tokens.width + k]
        return total
    p, p_end, q, q_end = (
        tokens.starts[s], tokens.starts[s + 1], tokens.starts[t], tokens.starts[t + 1])
    if not tokens.apart:
        return sequence_shared(tokens.indices + p, p_end - p, tokens.indices + q, q_end - q)
    # Without branches, which could not be predicted.
    while p < p_end and q < q_end:
        left, right = tokens.indices[p], tokens.indices[q]
        total += (left == right) * (tokens.values[p] * tokens.values[q])
        p += left <= right
        q += right <= left
    return total


cdef inline void add_two(const Tokens* tokens, long long p, long long end, double* w,
                         Py_ssize_t stride, int label, double factor, int other,
                         double other_factor) noexcept nogil:
    """Add the values p .. end - 1 times a factor to the weights of a label, and of another >= 0."""
    cdef double* row
    cdef double value
    if not tokens.apart:
        while p < end:
            row = w + tokens.indices[p] * stride
            row[label] += factor
            if other >= 0:
                row[other] += other_factor
            p += 1
        return
    while p < end:
        row, value = w + tokens.indices[p] * stride, tokens.values[p]
        row[label] += value * factor
        if other >= 0:
            row[other] += value * other_factor
        p += 1


cdef inline double pair_score(const Tokens* tokens, const double* w, Py_ssize_t stride,
                              Py_ssize_t token, int label, int other,
                              const double* factors) noexcept nogil:
    """The scores of a token for two labels, times their factors; of one if they are the same."""
    cdef const double* row
    cdef double own_score = 0.0, other_score = 0.0
    cdef Py_ssize_t k
    cdef long long p
    if tokens.starts != NULL and not tokens.apart:
        for p in range(tokens.starts[token], tokens.starts[token + 1]):
            row = w + tokens.indices[p] * stride
            own_score += row[label]
            other_score += row[other]
    elif tokens.starts != NULL:
        for p in range(tokens.starts[token], tokens.starts[token + 1]):
            row = w + tokens.indices[p] * stride
            own_score += tokens.values[p] * row[label]
            other_score += tokens.values[p] * row[other]
    else:
        for k in range(tokens.width):
            row = w + k * stride
            own_score += tokens.dense[token * tokens.width + k] * row[label]
            other_score += tokens.dense[token * tokens.width + k] * row[other]
    own_score *= factors[label]
    return own_score if label == other else own_score + factors[other] * other_score
