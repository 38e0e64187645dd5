"""What the kernels for rows and classes share: pointers to both, and the best class of a row."""

cdef extern from "row_scores.h" nogil:
    const Py_ssize_t AHEAD
    void prefetch_row(const double* row, long count)
    void add_row "lssvm_add_row"(
        double* out, double factor, const double* row, Py_ssize_t size)
    void add_rows "lssvm_add_rows"(
        double* w, const double* x, const int* indices, Py_ssize_t count, const double* factors,
        Py_ssize_t columns)
    void score_row "lssvm_score_row"(
        double* out, const double* x, const int* indices, Py_ssize_t count, const double* w,
        Py_ssize_t columns)

cdef struct Rows:
    const double* dense  # null if sparse
    const double* values
    const int* indices
    const long long* starts
    Py_ssize_t n, width, columns

cdef struct Classes:
    const int* parents  # null if there is no tree
    const int* places
    const double* margins
    Py_ssize_t columns, count, stride  # numbers from a row of margins to the next, perhaps below 0
    bint slack

cdef inline int point_to_rows(Rows* out, rows, Py_ssize_t columns) except -1:
    """Let ``out`` point to the arrays of RowArrays, which must outlive it."""
    cdef const double[:, ::1] dense = rows.dense
    cdef const double[::1] values = rows.values
    cdef const int[::1] indices = rows.indices
    cdef const long long[::1] starts = rows.starts
    out.dense, out.values, out.indices, out.starts = NULL, NULL, NULL, NULL
    out.n, out.columns, out.width = rows.n, columns, rows.width
    if starts.shape[0] == 0:
        if out.n and out.width:
            out.dense = &dense[0, 0]
        return 0
    out.starts = &starts[0]
    if values.shape[0]:
        out.values, out.indices = &values[0], &indices[0]
    return 0


cdef inline int point_to_classes(Classes* out, classes) except -1:
    """Let ``out`` point to the arrays of ClassArrays, which must outlive it."""
    cdef const int[::1] parents = classes.parents, places = classes.places
    cdef const double[:, :] margins = classes.margins
    out.stride = margins.strides[0] // <Py_ssize_t>sizeof(double)
    out.columns, out.count, out.slack = classes.columns, places.shape[0], classes.slack
    out.parents = &parents[0] if parents.shape[0] else NULL
    out.places, out.margins = &places[0], &margins[0, 0]
    return 0


cdef inline int check_range(const int[::1] numbers, Py_ssize_t stop) except -1:
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        if not 0 <= numbers[i] < stop:
            raise ValueError(f"multiclass: {numbers[i]} at {i} is not in 0..{stop - 1}")
    return 0


cdef inline void descend(const int* parents, Py_ssize_t columns, double* scores) noexcept nogil:
    """Add to the score of each node the scores of all its ancestors."""
    cdef Py_ssize_t node
    for node in range(columns):
        if parents[node] >= 0:
            scores[node] += scores[parents[node]]


cdef inline int argmax(const double* scores, const Classes* among, int y,
                 double* maximum) noexcept nogil:
    """The class of highest loss-augmented score; that score is written to maximum."""
    cdef const int* places = among.places
    cdef const double* margins = among.margins + y * among.stride
    cdef Py_ssize_t k
    cdef int best = 0
    cdef double value, highest, truth = scores[places[y]]
    if among.slack:
        highest = margins[0] * (1.0 + scores[places[0]] - truth)
        for k in range(1, among.count):
            value = margins[k] * (1.0 + scores[places[k]] - truth)
            if value > highest:
                best, highest = <int>k, value
        maximum[0] = highest + truth
        return best
    highest = margins[0] + scores[places[0]]
    for k in range(1, among.count):
        value = margins[k] + scores[places[k]]
        if value > highest:
            best, highest = <int>k, value
    maximum[0] = highest
    return best
