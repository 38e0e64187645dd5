# distutils: extra_compile_args = -fno-trapping-math -fno-signed-zeros -ffinite-math-only
"""Alignments of pairs of sequences: the best ones, and sums over all.

A score is the sum of the scores of pairs of letters and of gaps; the first letter of a gap scores
``open`` and every other one ``extend``. In a run without pairs the letters of x come before those
of z, and each is a gap of its own, so that an alignment is a set of pairs. What comes before the
first pair and after the last one depends on the ends:

    GLOBAL  gaps like any other
    FREE    of two gaps at one end, the better one is free; a single one is free
    LOCAL   nothing; an alignment without pairs scores 0

Without pairs, an alignment scores both gaps (GLOBAL) or 0. Pairs of sequences are worked on eight
at a time, in the order given; no result depends on which ones go together. Ties go to the
alignment that ends first (by x, then z; one without pairs before all others), and, from its end
backwards, to one that begins, then to a pair, then to a letter of x.
"""

import numpy as np

from libc.math cimport cbrt, ceil, sqrt

from _common cimport aligned

cdef extern from "alignment_sums.h" nogil:
    enum:
        GLOBAL_ENDS, FREE_ENDS, LOCAL_ENDS
        FROM_X, FROM_Y, EXTENDS_X, EXTENDS_Y, GOES_ON
        LANES
        SUM_KINDS

    ctypedef struct AlignmentTask:
        long rows, columns
        const long* heights
        const long* widths
        const int* x
        const int* z
        const double* table
        double open, extend
        int ends
        const int* partners
        const double* bonus
        long shift
        double* h
        double* below
        double* extra
        double* gap_of
        double* gaps
        double* kept
        double* rest
        double* keep
        long first, last
        double* kept_rows
        long block
        int again
        unsigned char* trace
        double* best
        double* place

    ctypedef struct AlignmentSums:
        AlignmentTask task
        long block, inner
        double* kept_rows
        double* kept_inner
        double* cells
        double* starts
        double* masses
        const double* weights
        double* pairs
        double* opens
        double* extends

    void align_pairs(const AlignmentTask* task, int lanes, int kind)
    void sum_alignments(const AlignmentSums* sums)
    void count_alignments(const AlignmentSums* sums)

GLOBAL = GLOBAL_ENDS
FREE = FREE_ENDS
LOCAL = LOCAL_ENDS
MOST_TRACE = 1 << 27  # bytes of the trace of pairs that are worked on together without blocks
MOST_SUMS = 1 << 27  # bytes of the sums of such pairs without blocks of blocks
cdef enum:
    IN_M, IN_X, IN_Y, COMES, COMES_IN_X  # the last two: the bits of the cell are not read yet


cdef class _Group:
    """Pairs of sequences side by side: their letters and all rows of numbers."""

    cdef AlignmentTask task
    cdef int lanes
    cdef const int* codes
    cdef const long long* places
    cdef const int* truth
    cdef const double* bonuses
    cdef const long long* xs
    cdef const long long* zs
    cdef object kept_alive
    cdef double[::1] table, numbers, bonus
    cdef long[::1] heights, widths
    cdef int[::1] x, z, partners
    cdef unsigned char[::1] trace
    cdef long long at[24]  # i, j and state of the end of each lane that is not followed yet
    cdef int stride

    def __init__(self, arrays, scores, model, losses, Py_ssize_t rows, Py_ssize_t columns):
        # Room for pairs of at most so many letters. losses : (truth, bonuses, shift), or None
        cdef const int[::1] codes = arrays.codes
        cdef const long long[::1] places = arrays.places, xs = arrays.x, zs = arrays.z
        cdef const double[:, ::1] given = scores
        cdef const int[::1] truth
        cdef const double[::1] bonuses
        cdef Py_ssize_t a, b
        self.kept_alive = (arrays, losses)
        self.codes, self.places = &codes[0], &places[0]
        self.xs, self.zs = &xs[0], &zs[0]
        self.truth, self.bonuses = NULL, NULL
        if losses is not None:
            truth, bonuses = losses[0], losses[1]
            if truth.shape[0] != codes.shape[0] or bonuses.shape[0] != xs.shape[0]:
                raise ValueError("alignment: losses do not fit the letters and pairs")
            self.truth, self.bonuses = &truth[0], &bonuses[0]
            self.task.shift = losses[2]
        if given.shape[0] != given.shape[1] or given.shape[0] < arrays.width:
            raise ValueError(f"alignment: {given.shape[0]} x {given.shape[1]} scores of "
                             f"{arrays.width} codes")
        self.stride = given.shape[0] + 1  # the last code is that of lanes that are too short
        self.table = np.full(self.stride * self.stride, -1e300)
        for a in range(given.shape[0]):
            for b in range(given.shape[0]):
                self.table[a * self.stride + b] = given[a, b]
        self.heights, self.widths = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        self.x, self.z = np.zeros(rows * LANES, np.int32), np.zeros(columns * LANES, np.int32)
        self.partners = np.zeros(rows * LANES if losses is not None else 1, np.int32)
        self.numbers, self.bonus = aligned((6 * (columns + 1) + 4) * LANES), np.zeros(LANES)
        self.trace = np.empty(1, np.uint8)
        self.task.open, self.task.extend, self.task.ends = model

    cdef void point(self, Py_ssize_t count, const long long* members, int lanes):
        """Let the task be of these pairs."""
        cdef Py_ssize_t l, k, rows = 1, columns = 1, n, first
        cdef int last = self.stride - 1
        self.lanes = lanes
        for l in range(lanes):
            self.heights[l] = self.widths[l] = 0
            if l < count:
                self.heights[l] = self.size(self.xs[members[l]])
                self.widths[l] = self.size(self.zs[members[l]])
            rows, columns = max(rows, self.heights[l]), max(columns, self.widths[l])
        for l in range(lanes):
            n, first = self.heights[l], self.places[self.xs[members[l]]] if l < count else 0
            for k in range(rows):
                self.x[k * lanes + l] = (self.codes[first + k] if k < n else last) * self.stride
                if self.truth != NULL:
                    self.partners[k * lanes + l] = self.truth[first + k] if k < n else -1
            if self.truth != NULL:
                self.bonus[l] = self.bonuses[members[l]] if l < count else 0.0
            n, first = self.widths[l], self.places[self.zs[members[l]]] if l < count else 0
            for k in range(columns):
                self.z[k * lanes + l] = self.codes[first + k] if k < n else last
        self.task.rows, self.task.columns = rows, columns
        self.task.heights, self.task.widths = &self.heights[0], &self.widths[0]
        self.task.x, self.task.z, self.task.table = &self.x[0], &self.z[0], &self.table[0]
        self.task.partners = &self.partners[0]
        self.task.bonus = &self.bonus[0] if self.truth != NULL else NULL
        cdef Py_ssize_t row = (columns + 1) * lanes
        self.task.h, self.task.below = &self.numbers[0], &self.numbers[row]
        self.task.extra, self.task.gaps = &self.numbers[2 * row], &self.numbers[3 * row]
        self.task.kept, self.task.rest = &self.numbers[4 * row], &self.numbers[5 * row]
        self.task.gap_of = self.task.rest
        self.task.rest += columns + LANES - columns % LANES
        self.task.keep = self.task.rest + lanes
        self.task.best, self.task.place = self.task.keep + lanes, self.task.keep + 2 * lanes
        self.task.first, self.task.last, self.task.again = 0, rows, 0
        self.task.kept_rows, self.task.trace = NULL, NULL

    cdef inline Py_ssize_t size(self, Py_ssize_t sequence) noexcept nogil:
        return self.places[sequence + 1] - self.places[sequence]

    cdef bint bit(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t lane, int kind) noexcept nogil:
        """A bit of the cell of the first i and j letters."""
        cdef Py_ssize_t cell = (i - 1 - self.task.first) * self.task.columns + j - 1
        if self.lanes == 1:
            return self.trace[cell] >> kind & 1
        return self.trace[5 * cell + kind] >> lane & 1

    cdef void end(self, Py_ssize_t lane, int* partners) noexcept nogil:
        """Where the best alignment of a lane ends; its letters of x have no partners so far."""
        cdef Py_ssize_t k, wide = self.task.columns + 1, place = <Py_ssize_t>self.task.place[lane]
        for k in range(self.heights[lane]):
            partners[k] = -1
        self.at[lane], self.at[LANES + lane] = place // wide, place % wide
        self.at[2 * LANES + lane] = COMES if self.task.ends == GLOBAL_ENDS else IN_M

    cdef void follow(self, Py_ssize_t lane, int* partners) noexcept nogil:
        """Write the partner of each letter of x in the best alignment of a lane, in these rows."""
        cdef Py_ssize_t i = self.at[lane], j = self.at[LANES + lane], first = self.task.first
        cdef int state = <int>self.at[2 * LANES + lane]
        while i > first and j > 0:
            if state == COMES:
                if self.task.ends != GLOBAL_ENDS and not self.bit(i, j, lane, GOES_ON):
                    i = 0
                    break
                state = self.state(i, j, lane)
            elif state == COMES_IN_X:
                state = IN_X if self.bit(i, j, lane, EXTENDS_X) else IN_M
            elif state == IN_M:
                partners[i - 1] = <int>(j - 1)
                i, j, state = i - 1, j - 1, COMES
            elif state == IN_X:
                i, state = i - 1, COMES_IN_X
            else:
                j -= 1
                if j > 0 and not self.bit(i, j, lane, EXTENDS_Y):
                    state = IN_X if self.bit(i, j, lane, FROM_X) else IN_M
        self.at[lane], self.at[LANES + lane], self.at[2 * LANES + lane] = i, j, state

    cdef int state(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t lane) noexcept nogil:
        """The best state of a cell."""
        if self.bit(i, j, lane, FROM_Y):
            return IN_Y
        return IN_X if self.bit(i, j, lane, FROM_X) else IN_M


def best(arrays, const double[:, ::1] scores, model, losses=None, bint traced=True, int kind=0):
    """The best alignment of each pair of sequences.

    arrays : AlignmentArrays of p pairs; scores : (A, A) of a code of x and one of z
    model : scores of the first and of each other letter of a gap, and the ends
    losses : None, or (truth, bonuses, shift): the true partner of each letter of the sequences that
        are an x, (letters,) int32, -1 without; what a pair at most ``shift`` letters of z from a
        true one scores besides, (p,); and that shift
    traced : whether partners are found; kind : of the vectors, 0 the widest, 1 AVX2, 2 any

    Returns the scores (p,), and the partner of each letter of each x, one pair of sequences after
    another, int32, -1 without partner; empty unless traced.
    """
    cdef const long long[::1] order = arrays.order
    cdef Py_ssize_t p = order.shape[0], first = 0, k, count, cells
    cdef long long[::1] starts = arrays.starts
    values, found = np.zeros(p), np.empty(int(arrays.starts[p]) if traced else 0, np.int32)
    cdef double[::1] values_view = values
    cdef int[::1] found_view = found
    if p == 0:
        return values, found
    cdef _Group group = _Group(arrays, scores, model, losses, *arrays.longest)
    cdef int lanes
    cdef Py_ssize_t block, blocks, b, row
    cdef double[::1] kept = np.zeros(1)
    while first < p:
        count = min(<Py_ssize_t>LANES, p - first)
        lanes = LANES if count > 1 else 1
        group.point(count, &order[first], lanes)
        row = group.task.columns * (5 if lanes > 1 else 1)
        block = group.task.rows
        if block * row > <Py_ssize_t>MOST_TRACE:  # what is least with the rows that are kept
            block = min(block, <Py_ssize_t>ceil(sqrt(16.0 * block * lanes / (5 if lanes > 1 else 1))))
        blocks = (group.task.rows + block - 1) // block
        if traced and group.trace.shape[0] < block * row:
            group.trace = np.empty(block * row, np.uint8)
        if traced and blocks > 1:
            kept = _room(kept, 2 * blocks * (group.task.columns + 1) * lanes)
            group.task.kept_rows, group.task.block = &kept[0], block
        elif traced:
            group.task.trace = &group.trace[0]
        with nogil:
            align_pairs(&group.task, lanes, kind)
            for k in range(count):
                values_view[order[first + k]] = group.task.best[k]
                if traced:
                    group.end(k, &found_view[starts[order[first + k]]])
            group.task.again, group.task.trace = blocks > 1, &group.trace[0]
            for b in range(blocks - 1 if traced else -1, -1, -1):
                group.task.first = b * block
                group.task.last = min(group.task.first + block, group.task.rows)
                if blocks > 1:
                    align_pairs(&group.task, lanes, kind)
                for k in range(count):
                    group.follow(k, &found_view[starts[order[first + k]]])
        first += count
    return values, found


def sums(arrays, const double[:, ::1] scores, model, weights=None):
    """Log of the sum over all alignments of exp(score), for each pair of sequences.

    weights : (p,), of the expected features that are summed, or None
    With free ends both choices of the gap that is free count, where there are two gaps.

    Returns the values (p,), the expected numbers of pairs of codes (A, A), and those of gaps and of
    their further letters (2,); both are 0 without weights.
    """
    cdef const long long[::1] order = arrays.order
    cdef Py_ssize_t p = order.shape[0], first = 0, k, l, count, a, b
    cdef Py_ssize_t codes = scores.shape[0]
    values, pairs, gaps = np.zeros(p), np.zeros((codes, codes)), np.zeros(2)
    cdef double[::1] values_view = values, gaps_view = gaps, own
    cdef double[:, ::1] pairs_view = pairs
    if p == 0:
        return values, pairs, gaps
    if weights is not None:
        own = weights
        if own.shape[0] != p:
            raise ValueError(f"sums: {own.shape[0]} weights of {p} pairs")
    cdef _Group group = _Group(arrays, scores, model, None, *arrays.longest)
    cdef double[::1] counts = np.zeros(group.stride * group.stride), lane_weights = np.zeros(LANES)
    cdef double[::1] opens = np.zeros(LANES), extends = np.zeros(LANES), starts = np.zeros(1)
    cdef double[::1] masses = np.zeros(1), kept = np.zeros(1), cells = np.zeros(1)
    cdef double[::1] inner = np.zeros(1)
    cdef AlignmentSums task
    cdef Py_ssize_t sizes[3]
    cdef int lanes = LANES
    while first < p:
        count = min(<Py_ssize_t>LANES, p - first)
        group.point(count, &order[first], lanes)
        task.task = group.task
        _blocks(&task, MOST_SUMS, sizes)
        task.weights, task.kept_rows = NULL, NULL
        if starts.shape[0] < group.task.columns + 1:
            starts = np.zeros(group.task.columns + 1)
        if weights is not None:
            kept = _room(kept, sizes[0])
            inner = _room(inner, sizes[1])
            cells = _room(cells, sizes[2])
            masses = _room(masses, 2 * (group.task.columns + 2) * lanes)
            for l in range(lanes):
                lane_weights[l] = own[order[first + l]] if l < count else 0.0
            task.weights, task.kept_rows = &lane_weights[0], &kept[0]
            task.kept_inner = &inner[0]
        task.cells, task.starts, task.masses = &cells[0], &starts[0], &masses[0]
        task.pairs, task.opens, task.extends = &counts[0], &opens[0], &extends[0]
        with nogil:
            if task.weights != NULL and task.inner < task.block:
                task.weights = NULL
                sum_alignments(&task)
                task.weights = &lane_weights[0]
                count_alignments(&task)
            else:
                sum_alignments(&task)
            for k in range(count):
                values_view[order[first + k]] = task.task.best[k]
                if task.weights != NULL:
                    gaps_view[0] += lane_weights[k] * opens[k]
                    gaps_view[1] += lane_weights[k] * extends[k]
        first += count
    for a in range(codes):
        for b in range(codes):
            pairs_view[a, b] = counts[a * group.stride + b]
    return values, pairs, gaps


cdef void _blocks(AlignmentSums* sums, Py_ssize_t most, Py_ssize_t* sizes):
    """Choose blocks that need the least room; sizes : of kept_rows, kept_inner and cells."""
    cdef double rows = sums.task.rows
    cdef Py_ssize_t row = (sums.task.columns + 1) * LANES
    sums.inner = sums.block = <long>ceil(sqrt(2.0 * rows / SUM_KINDS))
    sizes[0], sizes[1] = 2 * (<Py_ssize_t>ceil(rows / sums.block)) * row, 0
    sizes[2] = sums.inner * SUM_KINDS * row
    if 8 * (sizes[0] + sizes[2]) > most:  # three equal shares
        sums.inner = <long>ceil(cbrt(rows * 4.0 / (SUM_KINDS * SUM_KINDS)))
        sums.block = sums.inner * <long>ceil(sums.inner * SUM_KINDS / 2.0)
        sizes[0] = 2 * (<Py_ssize_t>ceil(rows / sums.block)) * row
        sizes[1], sizes[2] = 2 * (sums.block // sums.inner) * row, sums.inner * SUM_KINDS * row


cdef double[::1] _room(double[::1] given, Py_ssize_t size):
    """The given numbers, or others if they are too few."""
    return given if given.shape[0] >= size else aligned(size)
