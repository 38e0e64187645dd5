# What the kernels on mention pairs share: where a pair lies, and the scores of feature rows.
#
# The pairs (i, j), i < j <= i + reach, of a document with n mentions lie one after another,
# ordered by i, then by j. base[i] + j is the place of the pair (i, j).


cdef inline int check_documents(
    const long long[::1] mentions, const long long[::1] pairs, const int[::1] rows,
    const long long[::1] tables, const long long[::1] starts, Py_ssize_t n,
) except -1:
    """Raise ValueError if the offsets do not fit n documents, or end behind the arrays."""
    if not n + 1 == mentions.shape[0] == pairs.shape[0] == tables.shape[0]:
        raise ValueError(f"pairs: the offsets do not fit {n} documents")
    if n and (pairs[n] > rows.shape[0] or tables[n] >= starts.shape[0]):
        raise ValueError("pairs: the offsets end behind the arrays")
    return 0


cdef inline Py_ssize_t fill_bases(long long* base, Py_ssize_t n, Py_ssize_t reach) noexcept nogil:
    """Fill base for a document of n mentions; returns the number of its pairs."""
    cdef Py_ssize_t i, place = 0
    for i in range(n):
        base[i] = place - i - 1
        place += min(reach, n - 1 - i)
    return place


cdef inline void score_rows(const long long* starts, Py_ssize_t count, const int* indices,
                            const double* values, const double* w, double* scores) noexcept nogil:
    """scores[r] = w . (feature row r) for ``count`` sparse rows."""
    cdef Py_ssize_t r, k
    cdef double total
    for r in range(count):
        total = 0.0
        for k in range(starts[r], starts[r + 1]):
            total = total + w[indices[k]] * values[k]
        scores[r] = total


cdef inline void add_row(const long long* starts, Py_ssize_t r, const int* indices,
                         const double* values, double factor, double* gradient) noexcept nogil:
    """Add factor times feature row r to the gradient."""
    cdef Py_ssize_t k
    for k in range(starts[r], starts[r + 1]):
        gradient[indices[k]] += factor * values[k]
