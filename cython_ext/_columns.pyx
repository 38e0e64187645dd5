"""Products of a transposed sparse matrix, stored by column, with dense coefficients.

A column's sum always runs over its rows in order, so it does not depend on how the columns are
divided among threads.
"""

import numpy as np

cdef extern from "row_scores.h" nogil:
    void lssvm_add_row(double* out, double factor, const double* row, Py_ssize_t size)

cdef enum:
    NEAR = 32768  # numbers that stay near the processor
    MANY = 4  # entries of a column among so many numbers, from which they are read together


def columns(
    const long long[::1] starts, const int[::1] indices, const double[::1] values,
    long long[::1] places, int[::1] rows, double[::1] turned,
):
    """Convert a sparse matrix of n rows from storage by row to storage by column.

    starts : (n + 1,) where the rows begin in indices and values
    places : (m,) where the columns begin in rows and turned; on return, where they end
    rows : (entries,) to write the row of each entry to
    turned : (entries,) to write the values to; empty, as ``values`` may be, if they are not needed
    """
    cdef Py_ssize_t row, n = starts.shape[0] - 1
    cdef long long at, to
    cdef bint valued = turned.shape[0] > 0
    with nogil:
        for row in range(n):
            for at in range(starts[row], starts[row + 1]):
                to = places[indices[at]]
                places[indices[at]] += 1
                rows[to] = <int>row
                if valued:
                    turned[to] = values[at]


def total(const int[::1] indices, const double[::1] values, double[::1] out):
    """Add to out (m,) the sum of each column of a sparse matrix, stored by row.

    values : the value of each entry, in the order of indices; empty if all are 1
    """
    cdef Py_ssize_t at
    cdef bint valued = values.shape[0] > 0
    if valued and values.shape[0] != indices.shape[0]:
        raise ValueError(f"total: {values.shape[0]} values, {indices.shape[0]} indices")
    with nogil:
        for at in range(indices.shape[0]):
            out[indices[at]] += values[at] if valued else 1.0


def gather(
    const long long[::1] places, const int[::1] rows, const double[::1] values,
    const double[:, ::1] coefficients, double[:, ::1] out,
):
    """Write to out (c, K), for c columns, the sum over rows of value times coefficients (n, K).

    places : (c + 1,) where the columns begin in rows and values; rows increase in each column
    values : the value of each entry; empty if all are 1

    If the columns have many entries, a few rows at a time are read for all of them.
    """
    cdef Py_ssize_t n = coefficients.shape[0], K = coefficients.shape[1], c = out.shape[0]
    cdef Py_ssize_t column, k, near, last = 0
    if c != places.shape[0] - 1 or out.shape[1] != K:
        raise ValueError(f"gather: {c} x {out.shape[1]} sums do not fit "
                         f"{places.shape[0] - 1} columns of {K} coefficients")
    if K == 0 or c == 0:
        return
    near = max(1, NEAR // K)
    if c == 1 or places[c] - places[0] < MANY * c * (n // near + 1):
        near = n
    cdef long long[::1] at = np.array(places[:c])
    with nogil:
        for column in range(c):
            for k in range(K):
                out[column, k] = 0.0
        while last < n:
            last = min(n, last + near)
            for column in range(c):
                at[column] = _gather(rows, values, coefficients, at[column], places[column + 1],
                                     last, &out[column, 0])


cdef inline long long _gather(
    const int[::1] rows, const double[::1] values, const double[:, ::1] coefficients, long long at,
    long long end, Py_ssize_t last, double* to,
) noexcept nogil:
    """Add the entries of a column from ``at`` on whose row is below ``last``; the next entry."""
    cdef Py_ssize_t k, K = coefficients.shape[1]
    cdef const double* row
    if values.shape[0]:
        while at < end and rows[at] < last:
            row = &coefficients[rows[at], 0]
            for k in range(K):
                to[k] += values[at] * row[k]
            at += 1
    else:
        while at < end and rows[at] < last:
            lssvm_add_row(to, 1.0, &coefficients[rows[at], 0], K)
            at += 1
    return at
