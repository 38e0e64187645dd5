# Common parts of the kernels on mention pairs: the place of a pair, and the scores of rows.
#
# The pairs (i, j), i < j <= i + reach, of a document with n mentions lie one after another,
# ordered by i, then by j. base[i] + j is the place of the pair (i, j).

from _common cimport longest

cdef struct Documents:
    Py_ssize_t n
    const long long* mentions
    const long long* pairs
    const long long* tables
    const long long* starts
    const int* rows
    const int* indices
    const double* values
    const double* costs
    Py_ssize_t reach
    Py_ssize_t most, most_rows  # mentions and rows of a document, 1 at least


cdef inline int point_to_documents(Documents* out, documents) except -1:
    """Point to MentionArrays, which must outlive ``out``."""
    cdef const long long[::1] mentions = documents.mentions, pairs = documents.pairs
    cdef const long long[::1] tables = documents.tables, starts = documents.starts
    cdef const int[::1] rows = documents.rows, indices = documents.indices
    cdef const double[::1] values = documents.values, costs = documents.costs
    out.n, out.reach = costs.shape[0], documents.reach
    out.mentions, out.pairs, out.tables, out.starts = (
        &mentions[0], &pairs[0], &tables[0], &starts[0])
    out.rows, out.indices, out.values, out.costs = &rows[0], &indices[0], &values[0], &costs[0]
    out.most, out.most_rows = longest(mentions), longest(tables)
    return 0


cdef inline int check_weights(documents, const double[::1] w) except -1:
    """Refuse fewer weights than the documents have features."""
    if w.shape[0] < documents.width:
        raise ValueError(f"pairs: {w.shape[0]} weights; expected {documents.width} or more")
    return 0


cdef inline int check_clusters(const Documents* documents, const int[::1] clusters) except -1:
    """Refuse clusters that do not fit the mentions."""
    if documents.mentions[documents.n] > clusters.shape[0]:
        raise ValueError(f"pairs: {clusters.shape[0]} clusters do not fit the mentions")
    return 0


cdef inline Py_ssize_t fill_bases(long long* base, Py_ssize_t n, Py_ssize_t reach) noexcept nogil:
    """Fill base for a document of n mentions; returns the number of its pairs."""
    cdef Py_ssize_t i, place = 0
    for i in range(n):
        base[i] = place - i - 1
        place += min(reach, n - 1 - i)
    return place


cdef inline void score_rows(const Documents* documents, Py_ssize_t i, const double* w,
                            double* scores) noexcept nogil:
    """scores[r] = w . (feature row r) for all rows of document i."""
    cdef Py_ssize_t r, k
    cdef double total
    cdef const long long* starts = documents.starts + documents.tables[i]
    cdef const int* indices = documents.indices
    cdef const double* values = documents.values
    for r in range(documents.tables[i + 1] - documents.tables[i]):
        total = 0.0
        for k in range(starts[r], starts[r + 1]):
            total = total + w[indices[k]] * values[k]
        scores[r] = total


cdef inline void add_row(const Documents* documents, Py_ssize_t i, Py_ssize_t r, double factor,
                         double* gradient) noexcept nogil:
    """Add factor times feature row r of document i to the gradient."""
    cdef Py_ssize_t k
    cdef const long long* starts = documents.starts + documents.tables[i]
    for k in range(starts[r], starts[r + 1]):
        gradient[documents.indices[k]] += factor * documents.values[k]
