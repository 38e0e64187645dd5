"""Products of a transposed sparse matrix, stored by column, with dense coefficients.

A column's sum always runs over its rows in order, so it does not depend on how the columns are
divided among threads.
"""


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

    places : (c + 1,) where the columns begin in rows and values
    values : the value of each entry; empty if all are 1
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
