"""Rows of features against classes: scores, loss-augmented argmax and summed features in one pass.

The weights are (width, columns), row-major: for each feature those of all columns side by side. A
column is a class, or a node of a tree of classes; the score of a class is the sum over the node
that it stands at and all nodes above it. Rows are dense, or sparse one after another.

Dense rows are scored in tiles of 8 rows and 8 columns that stay in registers, their features are
summed for each column separately, and only the sums are added up the tree: a row is read once and
added once, at any depth of the tree. Nothing here calls BLAS. Ties go to the lowest class.
"""

import numpy as np

from _rows cimport (
    Classes, Rows, add_row, argmax, check_range, descend, point_to_classes, point_to_rows,
)

cdef extern from "row_scores.h" nogil:
    const Py_ssize_t TILE_ROWS "LSSVM_TILE_ROWS"
    const Py_ssize_t TILE_COLUMNS "LSSVM_TILE_COLUMNS"
    void score_tile "lssvm_score_tile"(
        const double* x, Py_ssize_t width, const double* w, double* out, Py_ssize_t out_stride)

cdef enum:
    CHUNK = 64  # rows whose scores are kept at a time; a multiple of TILE_ROWS
    FEWEST = 16  # dense rows from which it pays to lay the weights out in tiles

cdef struct Scratch:
    const double* w
    const double* tiles  # null unless the weights are laid out in tiles
    double* scores  # CHUNK rows of ``stride``
    const int* parents  # null if there is no tree
    Py_ssize_t stride


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
    point_to_classes(&among, classes)
    point_to_rows(&own, rows, among.columns)
    _check_weights(&own, w.shape[0])
    check_range(labels, among.count)
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
                found_view[i] = argmax(scratch.scores + r * scratch.stride, &among, y,
                                        &maxima_view[i])
                if not summed:
                    continue
                weight, margin = costs[i], among.margins[y * among.stride + found_view[i]]
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
    point_to_classes(&among, classes)
    point_to_rows(&own, rows, among.columns)
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
    point_to_classes(&among, classes)
    point_to_rows(&own, rows, among.columns)
    check_range(labels, among.count)
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
    cdef const double[:, :] margins = classes.margins
    cdef bint slack = classes.slack
    point_to_rows(&own, rows, classes.columns)
    if not own.n == labels.shape[0] == found.shape[0] or (
            m and (np.min(chosen) < 0 or np.max(chosen) >= own.n)):
        raise ValueError(f"gradients: {found.shape[0]} classes and {m} rows do not fit {own.n} "
                         "examples")
    check_range(labels, path_starts.shape[0] - 1)
    check_range(found, path_starts.shape[0] - 1)
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
            descend(scratch.parents, columns, scratch.scores + r * scratch.stride)
    return count


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
