"""Sums of rows by column: what rows of coefficients give the columns of a sparse matrix.

A column's sum runs over its rows in order, whoever asks for it: it does not depend on how the
columns are shared out.
"""


def columns(
    const long long[::1] starts, const int[::1] indices, const double[::1] values,
    long long[::1] places, int[::1] rows, double[::1] turned,
):
    """Write a sparse matrix of n rows by column.

    starts : (n + 1,) where the rows begin in indices and values
    places : (m,) where the columns begin in rows (entries,) and turned, their values, or empty;
        becomes where they end
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


def gather(
    const long long[::1] places, const int[::1] rows, const double[::1] values,
    const double[:, ::1] coefficients, double[:, ::1] out,
):
    """out (c, K) = the sums of coefficients (n, K) over the rows of c columns, times values.

    places : (c + 1,) where the columns begin in rows and values; no values are ones
    """
    cdef Py_ssize_t column, k, K = coefficients.shape[1]
    cdef long long at
    cdef const double* row
    cdef double* to
    cdef bint valued = values.shape[0] > 0
    if out.shape[0] != places.shape[0] - 1 or out.shape[1] != K:
        raise ValueError(f"gather: {out.shape[0]} x {out.shape[1]} sums do not fit "
                         f"{places.shape[0] - 1} columns of {K} coefficients")
    if K == 0:
        return
    with nogil:
        for column in range(out.shape[0]):
            to = &out[column, 0]
            for k in range(K):
                to[k] = 0.0
            for at in range(places[column], places[column + 1]):
                row = &coefficients[rows[at], 0]
                if valued:
                    for k in range(K):
                        to[k] += values[at] * row[k]
                else:
                    for k in range(K):
                        to[k] += row[k]
