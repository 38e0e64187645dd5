"""Planes that are kept as sparse rows, as ``_dual_coordinate`` asks for them.

For inference that is no C function of one example: a mini-batch finds rows and puts the number of
each by its example; a visit then takes that row for what loss-augmented inference has found. An
output is the number of a row, which holds the difference of two gradients, the completion's taken
away. The indices of a row rise; one whose indices follow each other without a gap is read as dense.
"""

from libc.math cimport fmax

import numpy as np

from _examples cimport Found, Kept, Oracle, Room, capsule_of, unknown
from _planes cimport Planes, drop_idle, point_to_planes

cdef struct Single:
    Oracle oracle  # first, so that a pointer to one is a pointer to the other
    const long long* begins
    const long long* ends
    const int* indices
    const double* values
    const int* answers
    const double* losses


class ExampleOracle:
    """Rows by their numbers, for n examples and weights (size,).

    capsule : what the C functions are found by; slack, exact : rows hold all there is to a plane
    """

    slack = exact = False

    def __init__(self, Py_ssize_t n, Py_ssize_t size):
        memory = np.zeros(sizeof(Single), dtype=np.uint8)
        cdef unsigned char[::1] view = memory
        cdef Single* own = <Single*>&view[0]
        self.places, self.size = np.arange(n + 1, dtype=np.int64), size
        cdef const long long[::1] places = self.places
        own.oracle.self, own.oracle.n, own.oracle.size = own, n, size
        own.oracle.places = &places[0]
        own.oracle.best, own.oracle.heights = _best_of, _heights_of
        own.oracle.inner, own.oracle.add = _inner_of, _add_of
        self._memory, self._held = memory, None
        self.capsule = capsule_of(memory)

    def point(self, rows):
        """Take the arrays of StoredRows; again whenever one of them is another one."""
        cdef unsigned char[::1] view = self._memory
        cdef Single* own = <Single*>&view[0]
        cdef const long long[::1] begins = rows.begins, ends = rows.ends
        cdef const int[::1] indices = rows.indices, answers = rows.answers
        cdef const double[::1] values = rows.values, losses = rows.answer_losses
        own.begins, own.ends, own.indices = &begins[0], &ends[0], &indices[0]
        own.values, own.answers, own.losses = &values[0], &answers[0], &losses[0]
        self._held = rows.begins, rows.ends, rows.indices, rows.values, rows.answers
        self._held += (rows.answer_losses,)

    def unload(self, w):
        """Weights as the kernel keeps them, a copy."""
        return w.copy()


cdef inline bint _dense(const Single* own, int row) noexcept nogil:
    cdef long long begin = own.begins[row], end = own.ends[row]
    return end > begin and own.indices[end - 1] - own.indices[begin] == end - begin - 1


cdef double _product(const double* a, const double* b, long long length) noexcept nogil:
    """In four sums that do not wait for each other."""
    cdef long long j = 0
    cdef double p = 0.0, q = 0.0, r = 0.0, s = 0.0
    while j + 3 < length:
        p += a[j] * b[j]
        q += a[j + 1] * b[j + 1]
        r += a[j + 2] * b[j + 2]
        s += a[j + 3] * b[j + 3]
        j += 4
    while j < length:
        p += a[j] * b[j]
        j += 1
    return (p + q) + (r + s)


cdef double _gathered(const int* indices, const double* values, long long length,
                      const double* x) noexcept nogil:
    """The sum of values_j x[indices_j], in four sums too."""
    cdef long long j = 0
    cdef double p = 0.0, q = 0.0, r = 0.0, s = 0.0
    while j + 3 < length:
        p += values[j] * x[indices[j]]
        q += values[j + 1] * x[indices[j + 1]]
        r += values[j + 2] * x[indices[j + 2]]
        s += values[j + 3] * x[indices[j + 3]]
        j += 4
    while j < length:
        p += values[j] * x[indices[j]]
        j += 1
    return (p + q) + (r + s)


cdef double _dot(const Single* own, int row, const double* w) noexcept nogil:
    cdef long long begin = own.begins[row], length = own.ends[row] - begin
    if _dense(own, row):
        return _product(own.values + begin, w + own.indices[begin], length)
    return _gathered(own.indices + begin, own.values + begin, length, w)


cdef double _inner(const Single* own, int one, int other) noexcept nogil:
    """The product of two rows, the same whichever comes first."""
    cdef long long a = own.begins[one], b = own.begins[other]
    cdef long long a_end = own.ends[one], b_end = own.ends[other]
    cdef const int* indices = own.indices
    cdef long long first, last
    cdef double total = 0.0
    if a == a_end or b == b_end:
        return 0.0
    if _dense(own, one) and _dense(own, other):
        first = max(indices[a], indices[b])
        last = min(indices[a_end - 1], indices[b_end - 1])
        return _product(own.values + a + (first - indices[a]),
                        own.values + b + (first - indices[b]), last + 1 - first)
    while a < a_end and b < b_end:
        if indices[a] == indices[b]:
            total += own.values[a] * own.values[b]
            a += 1
            b += 1
        elif indices[a] < indices[b]:
            a += 1
        else:
            b += 1
    return total


cdef int _heights_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                     double* products) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(kept.count):
        products[k] = _dot(<const Single*>self, kept.outputs[k], w)
    return 0


cdef int _best_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                  int* output, Found* found, double* products) noexcept nogil:
    """The row that stands ready for example i, or the completion where there is none."""
    cdef const Single* own = <const Single*>self
    cdef int row = own.answers[i]
    output[0] = row
    found.loss = found.height = found.score = 0.0
    if row >= 0:
        found.loss = own.losses[i]
        found.height = found.loss + _dot(own, row, w)
    return _heights_of(self, w, i, kept, room, products)


cdef int _inner_of(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k, Room room,
                   double* products) noexcept nogil:
    cdef Py_ssize_t l
    for l in range(kept.count):
        if products[l] == unknown():
            products[l] = _inner(<const Single*>self, kept.outputs[k], kept.outputs[l])
    return 0


cdef int _add_of(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                 const double* coefficients, Room room) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t k
    cdef long long j
    cdef double coefficient
    for k in range(kept.count):
        coefficient = coefficients[k]
        if coefficient == 0.0:
            continue
        for j in range(own.begins[kept.outputs[k]], own.ends[kept.outputs[k]]):
            w[own.indices[j]] += coefficient * own.values[j]
    return 0


cdef struct Table:  # a matrix of sparse rows
    const long long* starts
    const int* columns
    const double* values


cdef int _point_to_table(Table* out, table) except -1:
    """Point to the start of each row, columns and values, which must outlive ``out``."""
    cdef const long long[::1] starts = table[0]
    cdef const int[::1] columns = table[1]
    cdef const double[::1] values = table[2]
    out.starts, out.columns, out.values = &starts[0], &columns[0], &values[0]
    return 0


def store(rows, found, truth, const int[::1] owner):
    """Write found - truth[owner] behind the rows of StoredRows, entries that cancel left out.

    found, truth : starts (int64), columns (int32) and values of sparse rows, columns rising;
        k rows, and n. There must be room. Returns how many entries are used then.
    """
    cdef long long[::1] begins = rows.begins, ends = rows.ends
    cdef int[::1] indices = rows.indices
    cdef double[::1] values = rows.values, squares = rows.squares
    cdef long long at = rows.used, a, b, a_end, b_end
    cdef Py_ssize_t k, row = rows.count
    cdef Table gradients, true
    cdef double value, square
    cdef int column
    _point_to_table(&gradients, found)
    _point_to_table(&true, truth)
    with nogil:
        for k in range(owner.shape[0]):
            a, a_end = gradients.starts[k], gradients.starts[k + 1]
            b, b_end = true.starts[owner[k]], true.starts[owner[k] + 1]
            begins[row + k], square = at, 0.0
            while a < a_end or b < b_end:
                value = 0.0
                if b == b_end or (a < a_end and gradients.columns[a] <= true.columns[b]):
                    column = gradients.columns[a]
                else:
                    column = true.columns[b]
                if a < a_end and gradients.columns[a] == column:
                    value = gradients.values[a]
                    a += 1
                if b < b_end and true.columns[b] == column:
                    value = value - true.values[b]
                    b += 1
                if value != 0.0:
                    indices[at], values[at] = column, value
                    square += value * value
                    at += 1
            ends[row + k], squares[row + k] = at, square
    return at


def scores(truth, const int[::1] rows, const double[::1] w):
    """w . row of some rows of a matrix, (k,); truth : as ``store`` has it."""
    cdef Table true
    cdef Py_ssize_t k
    cdef long long begin
    found = np.empty(rows.shape[0])
    cdef double[::1] out = found
    _point_to_table(&true, truth)
    with nogil:
        for k in range(rows.shape[0]):
            begin = true.starts[rows[k]]
            out[k] = _gathered(true.columns + begin, true.values + begin,
                               true.starts[rows[k] + 1] - begin, &w[0])
    return found


cdef Single* _single(oracle) except NULL:
    cdef unsigned char[::1] view = oracle._memory
    return <Single*>&view[0]


def highest(oracle, planes, const int[::1] rows):
    """The height of the highest plane that is kept of some examples, (k,); the truth's is 0."""
    cdef Single* own = _single(oracle)
    cdef Planes kept
    cdef Py_ssize_t k, i, l
    cdef double most
    found = np.empty(rows.shape[0])
    cdef double[::1] out = found
    point_to_planes(&kept, planes)
    with nogil:
        for k in range(rows.shape[0]):
            i, most = rows[k], 0.0
            for l in range(kept.counts[i]):
                most = fmax(most, kept.losses[kept.first[i] + l]
                            + _dot(own, kept.outputs[kept.first_output[i] + l], kept.w))
            out[k] = most
    return found


def drop(oracle, planes, int age):
    """Drop the planes that have been without weight for ``age`` visits."""
    cdef Single* own = _single(oracle)
    cdef Planes kept
    cdef Py_ssize_t i
    point_to_planes(&kept, planes)
    with nogil:
        for i in range(own.oracle.n):
            drop_idle(&own.oracle, &kept, i, age)
