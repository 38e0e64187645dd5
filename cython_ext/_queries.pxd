# The queries of a data set in C, their scores, and the selection of the best k documents of one.

from _common cimport AUGMENT_TASK, COMPLETE_TASK, longest

cdef extern from "query_scores.h" nogil:
    ctypedef struct Placed:
        pass
    void query_scores(const double*, ptrdiff_t, ptrdiff_t, const double*, double*)
    void query_sums(const double*, ptrdiff_t, ptrdiff_t, const double*, double*)
    void query_order(const double*, ptrdiff_t, Placed*, long long*)

cdef struct Queries:
    const double* dense  # null if sparse
    const int* indices
    const double* values
    const long long* starts
    const long long* offsets
    Py_ssize_t n, d
    Py_ssize_t most  # documents of a query, 1 at least


cdef inline int point_to_queries(Queries* out, queries, Py_ssize_t d) except -1:
    """Point to QueryArrays, which must outlive ``out`` and fit d weights."""
    cdef const double[::1] dense = queries.dense, values = queries.values
    cdef const int[::1] indices = queries.indices
    cdef const long long[::1] starts = queries.starts, offsets = queries.offsets
    out.dense, out.indices, out.values, out.starts = NULL, NULL, NULL, NULL
    out.offsets, out.n, out.most = &offsets[0], offsets.shape[0] - 1, longest(offsets)
    out.d = queries.width
    if d != out.d:
        raise ValueError(f"ranking: {d} weights do not fit {out.d} features")
    if starts.shape[0] == 0:
        if dense.shape[0]:
            out.dense = &dense[0]
        return 0
    out.starts = &starts[0]
    if values.shape[0]:
        out.indices, out.values = &indices[0], &values[0]
    return 0


cdef inline void score_documents(const Queries* features, Py_ssize_t first, Py_ssize_t m,
                                 const double* w, double* out) noexcept nogil:
    """out[p] = w . x of the p-th document of a query."""
    cdef Py_ssize_t p, j, d = features.d
    cdef double total
    if features.starts != NULL:
        for p in range(m):
            total = 0.0
            for j in range(features.starts[first + p], features.starts[first + p + 1]):
                total = total + w[features.indices[j]] * features.values[j]
            out[p] = total
        return
    query_scores(features.dense + first * d, m, d, w, out)


cdef inline void add_documents(const Queries* features, Py_ssize_t first, Py_ssize_t m,
                               const double* coefficients, double* gradient) noexcept nogil:
    """Add coefficients times the rows of a query's documents."""
    cdef Py_ssize_t p, j
    if features.starts == NULL:
        query_sums(features.dense + first * features.d, m, features.d, coefficients, gradient)
        return
    for p in range(m):
        for j in range(features.starts[first + p], features.starts[first + p + 1]):
            gradient[features.indices[j]] += coefficients[p] * features.values[j]


cdef inline Py_ssize_t count_relevant(const unsigned char* relevant, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t p, found = 0
    for p in range(m):
        found += relevant[p]
    return found


cdef inline Py_ssize_t count_hits(const unsigned char* relevant, const int* chosen,
                                  Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t p, found = 0
    for p in range(count):
        found += relevant[chosen[p]]
    return found


cdef inline double median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline double kth_highest(double* keys, Py_ssize_t size, Py_ssize_t k) noexcept nogil:
    """The k-th highest of the keys, which it reorders."""
    cdef Py_ssize_t low = 0, high = size - 1, lower, upper, i
    cdef double pivot, key
    while True:
        pivot = median(keys[low], keys[(low + high) // 2], keys[high])
        lower, upper, i = low, high, low
        while i <= upper:
            key = keys[i]
            if key > pivot:
                keys[i] = keys[lower]
                keys[lower] = key
                lower += 1
                i += 1
            elif key < pivot:
                keys[i] = keys[upper]
                keys[upper] = key
                upper -= 1
            else:
                i += 1
        if k - 1 < lower:
            high = lower - 1
        elif k - 1 > upper:
            low = upper + 1
        else:
            return pivot


cdef inline Py_ssize_t select_highest(double* keys, const int* places, Py_ssize_t size,
                                      Py_ssize_t k, int* chosen) noexcept nogil:
    """The places of the k highest keys (all, if there are fewer), in order; ties to the first.

    keys has room for twice ``size``: the second half is scratch.
    """
    cdef Py_ssize_t p, above = 0, taken = 0
    cdef double bar
    if k >= size:
        for p in range(size):
            chosen[p] = places[p]
        return size
    for p in range(size):
        keys[size + p] = keys[p]
    bar = kth_highest(keys + size, size, k)
    for p in range(size):
        above += keys[p] > bar
    k -= above
    for p in range(size):
        if keys[p] > bar or (keys[p] == bar and k > 0):
            k -= keys[p] == bar
            chosen[taken] = places[p]
            taken += 1
    return taken


cdef inline Py_ssize_t merge_relevant(const unsigned char* relevant, Py_ssize_t m, int* chosen,
                                      Py_ssize_t taken, int k) noexcept nogil:
    """Add all relevant documents to the ``taken`` others, in order; from the back, in place."""
    cdef Py_ssize_t p, last = taken - 1, out = taken - 1
    for p in range(m):
        out += relevant[p]
    taken = out + 1
    for p in range(m - 1, -1, -1):
        if relevant[p]:
            chosen[out] = <int>p
            out -= 1
        elif last >= 0 and chosen[last] == p:
            chosen[out] = <int>p
            last -= 1
            out -= 1
    return taken


cdef inline Py_ssize_t best_documents(int task, const double* scores,
                                      const unsigned char* relevant, Py_ssize_t m,
                                      Py_ssize_t positives, int k, double* keys, int* places,
                                      int* chosen) noexcept nogil:
    """List the documents that the task asks for, by increasing place; returns how many."""
    cdef Py_ssize_t p, size = 0, taken = 0
    if task == COMPLETE_TASK:
        # Relevant documents alone if there are k, else all of them and the best others.
        for p in range(m):
            if relevant[p] == (positives >= k):
                keys[size] = scores[p]
                places[size] = <int>p
                size += 1
        if positives >= k:
            return select_highest(keys, places, size, k, chosen)
        taken = select_highest(keys, places, size, k - positives, chosen)
        return merge_relevant(relevant, m, chosen, taken, k)
    for p in range(m):
        keys[p] = scores[p] - (relevant[p] if task == AUGMENT_TASK else 0)
        places[p] = <int>p
    return select_highest(keys, places, m, k, chosen)
