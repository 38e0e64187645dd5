"""Inner products and sums of vectors in single precision with vectors in double precision."""


cdef extern from "row_history.h" nogil:
    double history_inner(const float*, const double*, ptrdiff_t)
    void history_add(const float*, double, ptrdiff_t, double*)


def inner(const float[::1] row, const double[::1] vector):
    """The inner product row . vector, summed in double precision."""
    _check(row.shape[0], vector.shape[0])
    cdef double found = 0.0
    if row.shape[0]:
        with nogil:
            found = history_inner(&row[0], &vector[0], row.shape[0])
    return found


def add(const float[::1] row, double coefficient, double[::1] vector):
    """Add coefficient * row to vector, in place."""
    _check(row.shape[0], vector.shape[0])
    if row.shape[0]:
        with nogil:
            history_add(&row[0], coefficient, row.shape[0], &vector[0])


cdef int _check(Py_ssize_t row, Py_ssize_t vector) except -1:
    if row != vector:
        raise ValueError(f"history: a row of {row} does not fit a vector of {vector}")
    return 0
