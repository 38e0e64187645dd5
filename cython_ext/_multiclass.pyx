"""Rows of features against classes: scores, loss-augmented argmax and summed features in one pass.

The weights are (width, columns), row-major: for each feature those of all columns side by side. A
column is a class, or a node of a tree of classes; the score of a class is the sum over the node
that it stands at and all nodes above it. Rows are dense, or sparse one after another.

Dense rows are scored in tiles of 8 rows and 8 columns that stay in registers, their features are
added up for each column by itself, and only the sums go up the tree: however deep it is, a row is
read once and added once. Nothing here calls BLAS. Ties go to the lowest class.
"""

from libc.math cimport fmax
from libc.string cimport memset

import numpy as np

from _examples cimport Found, Kept, Oracle, Room, capsule_of

cdef extern from "row_scores.h" nogil:
    const Py_ssize_t TILE_ROWS "LSSVM_TILE_ROWS"
    const Py_ssize_t TILE_COLUMNS "LSSVM_TILE_COLUMNS"
    void score_tile "lssvm_score_tile"(
        const double* x, Py_ssize_t width, const double* w, double* out, Py_ssize_t out_stride)
    const Py_ssize_t AHEAD
    void prefetch_row(const double* row, long count)
    void add_row "lssvm_add_row"(
        double* out, double factor, const double* row, Py_ssize_t size)

cdef enum:
    CHUNK = 64  # rows whose scores are kept at a time; a multiple of TILE_ROWS
    FEWEST = 16  # dense rows from which it pays to lay the weights out in tiles

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
    Py_ssize_t columns, count
    bint slack

cdef struct Scratch:
    const double* w
    const double* tiles  # null unless the weights are laid out in tiles
    double* scores  # CHUNK rows of ``stride``
    const int* parents  # null if there is no tree
    Py_ssize_t stride


cdef int _rows(Rows* out, rows, Py_ssize_t columns) except -1:
    """Point to RowArrays, which must outlive ``out``."""
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


cdef int _classes(Classes* out, classes) except -1:
    """Point to ClassArrays, which must outlive ``out``."""
    cdef const int[::1] parents = classes.parents, places = classes.places
    cdef const double[:, ::1] margins = classes.margins
    out.columns, out.count, out.slack = classes.columns, places.shape[0], classes.slack
    out.parents = &parents[0] if parents.shape[0] else NULL
    out.places, out.margins = &places[0], &margins[0, 0]
    return 0


cdef int _check_weights(const Rows* rows, Py_ssize_t size) except -1:
    if rows.width * rows.columns != size:
        raise ValueError(f"multiclass: {size} weights do not fit {rows.columns} columns of "
                         f"{rows.width} features")
    return 0


def search(
    rows, const int[::1] labels, const double[::1] costs, const double[::1] w, classes, bint summed,
):
    """Loss-augmented inference for every row, with the summed features and losses if asked for.

    rows : RowArrays of n rows; classes : ClassArrays
    labels : (n,) true classes; costs : (n,) c_i
    w : (width * columns,)

    Returns gradient (width * columns,), sum c_i of the subgradients, loss, the sum of c_i L (both
    0 and None unless ``summed``), found (n,) int32, the classes, and maxima (n,).
    """
    cdef Rows own
    cdef Classes among
    cdef Scratch scratch
    cdef Py_ssize_t i, r, chunk, first
    cdef double loss = 0.0, weight, margin
    cdef int y
    _classes(&among, classes)
    _rows(&own, rows, among.columns)
    _check_weights(&own, w.shape[0])
    _check_range(labels, among.count)
    if not own.n == costs.shape[0] == labels.shape[0]:
        raise ValueError(f"search: {costs.shape[0]} costs and {labels.shape[0]} labels do not fit "
                         f"{own.n} rows")
    found, maxima = np.empty(own.n, dtype=np.int32), np.empty(own.n)
    sums = np.zeros(w.shape[0] if summed else 0)
    cdef int[::1] found_view = found
    cdef double[::1] maxima_view = maxima, sums_view = sums
    if own.n == 0 or w.shape[0] == 0:
        found[:] = labels
        maxima[:] = 0.0
        return (sums if summed else None), loss, found, maxima
    cdef double[::1] laid_out = _tiles(w, &own), room = _room(own.columns)
    _point(&scratch, w, laid_out, room, &among)
    with nogil:
        for chunk in range((own.n + CHUNK - 1) // CHUNK):
            first = chunk * CHUNK
            for r in range(_score(&own, &scratch, first)):
                i = first + r
                y = labels[i]
                found_view[i] = _argmax(scratch.scores + r * scratch.stride, &among, y,
                                        &maxima_view[i])
                if not summed:
                    continue
                weight, margin = costs[i], among.margins[y * among.count + found_view[i]]
                loss = loss + weight * margin
                if among.slack:
                    _add(&own, i, weight * (1.0 - margin), among.places[y], &sums_view[0])
                    weight = weight * margin
                _add(&own, i, weight, among.places[found_view[i]], &sums_view[0])
    return (_ascended(sums, &own, among.parents) if summed else None), loss, found, maxima


def scores(rows, const double[::1] w, classes):
    """The scores of all classes for every row, (n, classes); arguments as in :func:`search`."""
    cdef Rows own
    cdef Classes among
    cdef Scratch scratch
    cdef Py_ssize_t r, k, chunk, first
    _classes(&among, classes)
    _rows(&own, rows, among.columns)
    _check_weights(&own, w.shape[0])
    found = np.zeros((own.n, among.count))
    cdef double[:, ::1] view = found
    if own.n == 0 or w.shape[0] == 0:
        return found
    cdef double[::1] laid_out = _tiles(w, &own), room = _room(own.columns)
    _point(&scratch, w, laid_out, room, &among)
    with nogil:
        for chunk in range((own.n + CHUNK - 1) // CHUNK):
            first = chunk * CHUNK
            for r in range(_score(&own, &scratch, first)):
                for k in range(among.count):
                    view[first + r, k] = scratch.scores[r * scratch.stride + among.places[k]]
    return found


def combination(rows, const int[::1] labels, const double[::1] coefficients, classes):
    """The sum of coefficient times joint features of (row, label), (width * columns,)."""
    cdef Rows own
    cdef Classes among
    cdef Py_ssize_t i
    _classes(&among, classes)
    _rows(&own, rows, among.columns)
    _check_range(labels, among.count)
    if not own.n == labels.shape[0] == coefficients.shape[0]:
        raise ValueError(f"combination: {coefficients.shape[0]} coefficients and {labels.shape[0]} "
                         f"labels do not fit {own.n} rows")
    sums = np.zeros(own.width * own.columns)
    cdef double[::1] view = sums
    if own.n == 0 or own.width == 0:
        return sums
    with nogil:
        for i in range(own.n):
            _add(&own, i, coefficients[i], among.places[labels[i]], &view[0])
    return _ascended(sums, &own, among.parents)


def gradients(
    rows, const int[::1] labels, const int[::1] found, const long long[::1] chosen, classes,
):
    """The subgradients of chosen rows, sparse.

    found : (n,) classes that inference found; chosen : (m,) rows

    A column of both the found and the true class has the coefficient 1, whatever L is. Returns
    values, indices int32 and offsets (m + 1,) int32 as scipy's csr_array takes them.
    """
    cdef Rows own
    cdef Py_ssize_t i, k, size, deepest, m = chosen.shape[0]
    cdef long long total = 0
    cdef const int[::1] path_starts = classes.path_starts, paths = classes.paths
    cdef const double[:, ::1] margins = classes.margins
    cdef bint slack = classes.slack
    _rows(&own, rows, classes.columns)
    if not own.n == labels.shape[0] == found.shape[0] or (
            m and (np.min(chosen) < 0 or np.max(chosen) >= own.n)):
        raise ValueError(f"gradients: {found.shape[0]} classes and {m} rows do not fit {own.n} "
                         "examples")
    _check_range(labels, path_starts.shape[0] - 1)
    _check_range(found, path_starts.shape[0] - 1)
    deepest = int(np.max(np.diff(path_starts)))
    offsets = np.zeros(m + 1, dtype=np.int64)
    cdef long long[::1] offsets_view = offsets
    cdef int[::1] nodes = np.empty(2 * deepest + 1, dtype=np.int32)
    cdef double[::1] factors = np.empty(2 * deepest + 1)
    for k in range(m):
        i = chosen[k]
        size = _merged(path_starts, paths, found[i], labels[i], margins[labels[i], found[i]],
                       slack, nodes, factors)
        total += size * _count(&own, i)
        offsets_view[k + 1] = total
    if total > 2**31 - 1:
        raise ValueError(f"gradients: {total} values are too many; ask for fewer rows")
    data, columns = np.empty(total), np.empty(total, dtype=np.int32)
    cdef double[::1] data_view = data
    cdef int[::1] columns_view = columns
    cdef double* values = &data_view[0] if total else NULL
    cdef int* places = &columns_view[0] if total else NULL
    with nogil:
        for k in range(m):
            i = chosen[k]
            size = _merged(path_starts, paths, found[i], labels[i], margins[labels[i], found[i]],
                           slack, nodes, factors)
            _write(&own, i, &nodes[0], &factors[0], size, values + offsets_view[k],
                   places + offsets_view[k])
    return data, columns, offsets.astype(np.int32)


cdef void _write(const Rows* rows, Py_ssize_t i, const int* nodes, const double* factors,
                 Py_ssize_t size, double* values, int* places) noexcept nogil:
    """Write row i, what is 0 left out, times the factor of each node."""
    cdef Py_ssize_t entry, j, p, at = 0
    cdef Py_ssize_t begin = rows.starts[i] if rows.starts != NULL else 0
    cdef Py_ssize_t end = rows.starts[i + 1] if rows.starts != NULL else rows.width
    cdef double x
    for entry in range(begin, end):
        j = rows.indices[entry] if rows.starts != NULL else entry
        x = rows.values[entry] if rows.starts != NULL else rows.dense[i * rows.width + entry]
        if x == 0.0:
            continue
        for p in range(size):
            values[at] = factors[p] * x
            places[at] = <int>(j * rows.columns + nodes[p])
            at += 1


cdef int _check_range(const int[::1] numbers, Py_ssize_t stop) except -1:
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        if not 0 <= numbers[i] < stop:
            raise ValueError(f"multiclass: {numbers[i]} at {i} is not in 0..{stop - 1}")
    return 0


cdef Py_ssize_t _padded(Py_ssize_t columns) noexcept nogil:
    return (columns + TILE_COLUMNS - 1) // TILE_COLUMNS * TILE_COLUMNS


cdef double[::1] _tiles(const double[::1] w, const Rows* rows):
    """The weights by groups of TILE_COLUMNS columns, zeros behind the last; empty if not needed."""
    cdef Py_ssize_t t, j, c, columns = rows.columns, width = rows.width
    if rows.dense == NULL or rows.n < FEWEST:
        return np.empty(0)
    cdef double[::1] tiles = np.zeros(_padded(columns) * width)
    with nogil:
        for j in range(width):
            for c in range(columns):
                t = c // TILE_COLUMNS * TILE_COLUMNS
                tiles[t * width + j * TILE_COLUMNS + c - t] = w[j * columns + c]
    return tiles


cdef object _room(Py_ssize_t columns):
    return np.zeros(CHUNK * _padded(columns))


cdef void _point(Scratch* out, const double[::1] w, const double[::1] tiles, double[::1] room,
                 const Classes* classes):
    out.w, out.scores, out.stride = &w[0], &room[0], room.shape[0] // CHUNK
    out.tiles = &tiles[0] if tiles.shape[0] else NULL
    out.parents = classes.parents


cdef Py_ssize_t _score(const Rows* rows, const Scratch* scratch, Py_ssize_t first) noexcept nogil:
    """Scores of the columns for the chunk of rows from ``first`` on; how many these are."""
    cdef Py_ssize_t r, t, entry, j, c, whole = 0, columns = rows.columns, width = rows.width
    cdef Py_ssize_t count = min(<Py_ssize_t>CHUNK, rows.n - first)
    cdef double* out
    if scratch.tiles != NULL:
        whole = count // TILE_ROWS * TILE_ROWS
        for r in range(whole // TILE_ROWS):
            out = scratch.scores + r * TILE_ROWS * scratch.stride
            for t in range(scratch.stride // TILE_COLUMNS):
                score_tile(rows.dense + (first + r * TILE_ROWS) * width, width,
                           scratch.tiles + t * TILE_COLUMNS * width, out + t * TILE_COLUMNS,
                           scratch.stride)
    for r in range(whole, count):
        out = scratch.scores + r * scratch.stride
        for c in range(columns):
            out[c] = 0.0
        if rows.dense != NULL:
            for j in range(width):
                add_row(out, rows.dense[(first + r) * width + j], scratch.w + j * columns, columns)
        elif rows.starts != NULL:
            for entry in range(rows.starts[first + r], rows.starts[first + r + 1]):
                add_row(out, rows.values[entry], scratch.w + rows.indices[entry] * columns,
                        columns)
    if scratch.parents != NULL:
        for r in range(count):
            _descend(scratch.parents, columns, scratch.scores + r * scratch.stride)
    return count


cdef void _descend(const int* parents, Py_ssize_t columns, double* scores) noexcept nogil:
    """Add to the score of each node that of all nodes above it."""
    cdef Py_ssize_t node
    for node in range(columns):
        if parents[node] >= 0:
            scores[node] += scores[parents[node]]


cdef int _argmax(const double* scores, const Classes* among, int y,
                 double* maximum) noexcept nogil:
    """The class of highest augmented score, and that score."""
    cdef const int* places = among.places
    cdef const double* margins = among.margins + y * among.count
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


cdef void _add(const Rows* rows, Py_ssize_t i, double factor, Py_ssize_t column,
               double* sums) noexcept nogil:
    """Add factor times row i to the sums of a column.

    They are (columns, width) while rows are dense, so that a row is added in one run, and
    (width, columns) while they are sparse.
    """
    cdef Py_ssize_t entry
    if factor == 0.0:
        return
    if rows.dense != NULL:
        add_row(sums + column * rows.width, factor, rows.dense + i * rows.width, rows.width)
    elif rows.starts != NULL:
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            sums[rows.indices[entry] * rows.columns + column] += factor * rows.values[entry]


cdef object _ascended(object sums, const Rows* rows, const int* parents):
    """The sums laid out as weights are, those of each node added to all nodes above it."""
    cdef Py_ssize_t j, node, columns = rows.columns
    if rows.dense != NULL:
        sums = np.ascontiguousarray(sums.reshape(columns, rows.width).T).ravel()
    cdef double[::1] view = sums
    if parents != NULL:
        with nogil:
            for j in range(rows.width):
                for node in range(columns - 1, -1, -1):
                    if parents[node] >= 0:
                        view[j * columns + parents[node]] += view[j * columns + node]
    return sums


cdef Py_ssize_t _merged(const int[::1] path_starts, const int[::1] paths, int found, int truth,
                        double margin, bint slack, int[::1] nodes,
                        double[::1] factors) noexcept nogil:
    """The columns of a subgradient, increasing, and their coefficients; how many there are."""
    cdef Py_ssize_t a = path_starts[found], a_end = path_starts[found + 1]
    cdef Py_ssize_t b = path_starts[truth], b_end = path_starts[truth + 1], size = 0
    cdef bint mine, theirs
    if not slack:
        b, margin = b_end, 1.0
    while a < a_end or b < b_end:
        mine = b == b_end or (a < a_end and paths[a] <= paths[b])
        theirs = a == a_end or (b < b_end and paths[b] <= paths[a])
        nodes[size] = paths[a] if mine else paths[b]
        factors[size] = 1.0 if mine and theirs else (margin if mine else 1.0 - margin)
        size += factors[size] != 0.0
        a += mine
        b += theirs
    return size


cdef Py_ssize_t _count(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """Values of row i that are not 0."""
    cdef Py_ssize_t entry, found = 0
    if rows.dense != NULL:
        for entry in range(i * rows.width, (i + 1) * rows.width):
            found += rows.dense[entry] != 0.0
    elif rows.starts != NULL:
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            found += rows.values[entry] != 0.0
    return found


# ---- one row at a time ----------------------------------------------------------------------

cdef struct Single:
    Oracle oracle  # first, so that a pointer to one is a pointer to the other
    Rows rows
    Classes classes
    const int* labels
    const int* path_starts
    const int* paths
    const double* squares  # |x|^2 of each row


class ExampleOracle:
    """The rows as ``_dual_coordinate`` asks for them; an output is a class.

    rows : RowArrays; labels : (n,) true classes; classes : ClassArrays

    truth : (n,) the true outputs; places : (n + 1,) where each output begins; size : of the weights
    capsule : what the C functions are found by; slack : whether losses multiply differences
    exact : whether all classes are gone through at once; values : classes
    """

    def __init__(self, rows, const int[::1] labels, classes):
        cdef Py_ssize_t i, entry, columns = classes.columns
        cdef const int[::1] path_starts = classes.path_starts, paths = classes.paths
        memory = np.zeros(sizeof(Single), dtype=np.uint8)
        cdef unsigned char[::1] view = memory
        cdef Single* own = <Single*>&view[0]
        _rows(&own.rows, rows, columns)
        _classes(&own.classes, classes)
        _check_range(labels, own.classes.count)
        cdef Py_ssize_t n = own.rows.n
        if labels.shape[0] != n:
            raise ValueError(f"multiclass: {labels.shape[0]} labels do not fit {n} rows")
        self.squares, self.places = np.zeros(max(1, n)), np.arange(n + 1, dtype=np.int64)
        self.truth = np.array(labels, dtype=np.int32)
        self.size, self.slack = own.rows.width * columns, classes.slack
        self.values = own.classes.count
        self.exact = not classes.slack and own.classes.parents == NULL
        self._held = rows, classes, memory
        cdef double[::1] squares = self.squares
        cdef const long long[::1] places = self.places
        cdef const int[::1] truth = self.truth
        for i in range(n):
            squares[i] = _square(&own.rows, i)
        own.labels, own.squares = &truth[0] if n else NULL, &squares[0]
        own.path_starts, own.paths = &path_starts[0], &paths[0] if paths.shape[0] else NULL
        own.oracle.self, own.oracle.n, own.oracle.size = own, n, self.size
        own.oracle.places = &places[0]
        own.oracle.reals, own.oracle.integers = columns + 2 * own.classes.count, columns + 1
        own.oracle.best, own.oracle.heights, own.oracle.inner, own.oracle.add = (
            _best_of, _heights_of, _inner_of, _add_of)
        own.oracle.solve = NULL
        if self.exact:
            own.oracle.solve = _solve_of
        own.oracle.complete = NULL
        self.capsule = capsule_of(memory)

    def load(self, w):
        """Weights (d,) as the kernel keeps them, a copy."""
        return np.array(w, dtype=np.float64)

    def unload(self, w):
        """The same the other way."""
        return np.array(w)


cdef double _square(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """|x|^2 of row i."""
    cdef Py_ssize_t entry
    cdef double total = 0.0
    if rows.dense != NULL:
        for entry in range(i * rows.width, (i + 1) * rows.width):
            total += rows.dense[entry] * rows.dense[entry]
    elif rows.starts != NULL:
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[entry] * rows.values[entry]
    return total


cdef void _score_row(const Single* own, const double* w, Py_ssize_t i, double* out) noexcept nogil:
    """The scores of all columns for row i."""
    cdef const Rows* rows = &own.rows
    cdef Py_ssize_t entry, c, columns = rows.columns
    for c in range(columns):
        out[c] = 0.0
    if rows.dense != NULL:
        for entry in range(rows.width):
            add_row(out, rows.dense[i * rows.width + entry], w + entry * columns, columns)
    elif rows.starts != NULL:
        for entry in range(rows.starts[i], rows.starts[i + 1]):
            if entry + AHEAD < rows.starts[i + 1]:
                prefetch_row(w + rows.indices[entry + AHEAD] * columns, columns)
            add_row(out, rows.values[entry], w + rows.indices[entry] * columns, columns)
    if own.classes.parents != NULL:
        _descend(own.classes.parents, columns, out)


cdef void _move_row(const Single* own, double* w, Py_ssize_t i, const double* factors,
                    int* nodes) noexcept nogil:
    """Add row i, times the factor of each column, to the weights of that column."""
    cdef const Rows* rows = &own.rows
    cdef Py_ssize_t entry, p, size = 0, columns = rows.columns
    cdef Py_ssize_t begin = rows.starts[i] if rows.starts != NULL else 0
    cdef Py_ssize_t end = rows.starts[i + 1] if rows.starts != NULL else rows.width
    cdef double x
    cdef double* row
    for p in range(columns):
        nodes[size] = <int>p
        size += factors[p] != 0.0
    if size == 0:
        return
    for entry in range(begin, end):
        x = rows.values[entry] if rows.starts != NULL else rows.dense[i * rows.width + entry]
        row = w + columns * (rows.indices[entry] if rows.starts != NULL else entry)
        if 4 * size > columns:
            add_row(row, x, factors, columns)
        else:
            for p in range(size):
                row[nodes[p]] += x * factors[nodes[p]]


cdef void _mark(const Single* own, int label, double factor, double* sums) noexcept nogil:
    """Add the factor to the columns that a class is scored by."""
    cdef Py_ssize_t p
    for p in range(own.path_starts[label], own.path_starts[label + 1]):
        sums[own.paths[p]] += factor


cdef int _best_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                  int* output, Found* found, double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef const Classes* classes = &own.classes
    cdef double maximum
    cdef Py_ssize_t k
    _score_row(own, w, i, room.reals)
    found.score = room.reals[classes.places[own.labels[i]]]
    output[0] = _argmax(room.reals, classes, own.labels[i], &maximum)
    found.loss = classes.margins[own.labels[i] * classes.count + output[0]]
    found.height = maximum - found.score
    for k in range(kept.count):
        products[k] = room.reals[classes.places[kept.outputs[k]]] - found.score
    return 0


cdef int _heights_of(const void* self, const double* w, Py_ssize_t i, const Kept* kept, Room room,
                     double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t k
    _score_row(own, w, i, room.reals)
    for k in range(kept.count):
        products[k] = (room.reals[own.classes.places[kept.outputs[k]]]
                       - room.reals[own.classes.places[own.labels[i]]])
    return 0


cdef int _inner_of(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k, Room room,
                   double* products) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t l, p
    cdef double total, truth = 0.0
    memset(room.reals, 0, own.rows.columns * sizeof(double))
    _mark(own, kept.outputs[k], 1.0, room.reals)
    _mark(own, own.labels[i], -1.0, room.reals)
    for p in range(own.path_starts[own.labels[i]], own.path_starts[own.labels[i] + 1]):
        truth += room.reals[own.paths[p]]
    for l in range(kept.count):
        total = -truth
        for p in range(own.path_starts[kept.outputs[l]], own.path_starts[kept.outputs[l] + 1]):
            total += room.reals[own.paths[p]]
        products[l] = total * own.squares[i]
    return 0


cdef int _add_of(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                 const double* coefficients, Room room) noexcept nogil:
    cdef const Single* own = <const Single*>self
    cdef Py_ssize_t k
    memset(room.reals, 0, own.rows.columns * sizeof(double))
    for k in range(kept.count):
        if coefficients[k] != 0.0:
            _mark(own, kept.outputs[k], coefficients[k], room.reals)
            _mark(own, own.labels[i], -coefficients[k], room.reals)
    _move_row(own, w, i, room.reals, room.integers)
    return 0


cdef int _solve_of(const void* self, double* w, Py_ssize_t i, const int* truth, double limit,
                   Py_ssize_t most, int* count, int* outputs, double* losses, double* alpha,
                   Room room, double* gap, double* rise) noexcept nogil:
    """All classes at once: with the multiplier of the truth they sum to ``limit``.

    The minimum has alpha_m = max(0, B_m - b) / |x|^2, B_m = L_m + w . delta_m + alpha_m |x|^2 as they
    are now, and b so that the sum is right (Crammer & Singer, JMLR 2001; the rounds are Newton's).
    """
    cdef const Single* own = <const Single*>self
    cdef const Classes* classes = &own.classes
    cdef Py_ssize_t k, K = classes.count, active, before
    cdef double* scores = room.reals
    cdef double* high = room.reals + own.rows.columns  # L + w . delta, then the change of alpha
    cdef double* old = high + K
    cdef double square = own.squares[i], bound, total, highest = -1e300, rest = limit, change
    cdef int y = truth[0], best = 0, size = 0
    _score_row(own, w, i, scores)
    for k in range(K):
        old[k] = 0.0
    for k in range(count[0]):
        old[outputs[k]] = alpha[k]
        rest -= alpha[k]
    old[y] = fmax(0.0, rest)
    gap[0] = total = 0.0
    for k in range(K):
        high[k] = classes.margins[y * K + k] + scores[classes.places[k]] - scores[classes.places[y]]
        if high[k] > highest:
            best, highest = <int>k, high[k]
        gap[0] -= old[k] * high[k]
        total += high[k] + old[k] * square
    gap[0] += limit * highest
    rise[0] = 0.0
    bound, active = (total - square * limit) / K, K
    while True:
        total, before, active = 0.0, active, 0
        for k in range(K):
            if high[k] + old[k] * square > bound:
                total += high[k] + old[k] * square
                active += 1
        if active == 0 or active == before:
            break
        bound = (total - square * limit) / active
    for k in range(K):
        if square > 0.0:
            change = fmax(0.0, high[k] + old[k] * square - bound) / square
        else:
            change = limit if k == best else 0.0
        size += k != y and change > 0.0
        scores[k] = change
    if size > most:
        return 1
    count[0] = 0
    for k in range(K):
        change = scores[k] - old[k]
        rise[0] += change * high[k] - 0.5 * square * change * change
        if k != y and scores[k] > 0.0:
            outputs[count[0]], alpha[count[0]] = <int>k, scores[k]
            losses[count[0]] = classes.margins[y * K + k]
            count[0] += 1
        high[k] = -change
    memset(scores, 0, own.rows.columns * sizeof(double))
    for k in range(K):
        scores[classes.places[k]] = high[k]
    _move_row(own, w, i, scores, room.integers)
    return 0
