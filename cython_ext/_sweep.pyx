"""Dual coordinate steps over planes kept by example (n-slack).

Plane p belongs to example i, has the gradient δ_p (its output's minus the truth's), the loss L_p
and a multiplier α_p ≥ 0. The steps increase the dual

    D(α) = Σ_p α_p L_p − ½‖w‖² − [norm 2] Σ_i (Σ_{p of i} α_p)² / (2 u_i),     w = −Σ_p α_p δ_p

by exact line searches within the planes of one example at a time. u_i = C c_i; with norm 1
Σ_{p of i} α_p ≤ u_i, and what is left of u_i is the multiplier of the zero plane.

Sparse rows have increasing indices. With a kernel the first R · K coordinates are unit vectors of R
rows × K labels, whose inner products are those of the rows: (r, k) · (s, l) = [k = l] gram[r, s].
Then ``w`` are the coefficients, and ``scores`` the products of w with every unit vector, label
after label for the first R · K. Without a kernel ``scores`` is ``w`` itself.
"""

import numpy as np

cdef double ROUNDING = 1e-12

cdef struct Space:
    const int* indices
    const double* values
    const long long* begins
    const long long* ends
    Py_ssize_t room, count  # entries and planes
    double* w
    double* scores
    const double* gram
    Py_ssize_t d
    int R
    int K

cdef struct Dual:
    const double* losses
    const double* squares
    double* alpha
    const int* slots
    const int* counts
    const double* limits
    double* gaps
    Py_ssize_t n, most


cdef int _planes(Space* out, planes) except -1:
    """Point to the rows of PlaneArrays, and to no vector."""
    cdef const int[::1] indices = planes.indices
    cdef const double[::1] values = planes.values
    cdef const long long[::1] begins = planes.begins, ends = planes.ends
    out.room, out.count = indices.shape[0], begins.shape[0]
    out.indices = &indices[0] if out.room else NULL
    out.values = &values[0] if out.room else NULL
    out.begins = &begins[0] if out.count else NULL
    out.ends = &ends[0] if out.count else NULL
    out.w, out.scores, out.gram, out.d, out.R, out.K = NULL, NULL, NULL, 0, 0, 0
    return 0


cdef int _space(Space* out, planes, space) except -1:
    """Point to PlaneArrays and SpaceArrays."""
    cdef double[::1] w = space.w, scores = space.scores
    cdef const double[:, ::1] gram = space.gram
    _planes(out, planes)
    out.w = &w[0]
    out.scores = &scores[0]
    out.gram = &gram[0, 0] if gram.shape[0] else NULL
    out.d, out.R, out.K = w.shape[0], <int>gram.shape[0], space.labels
    return 0


cdef int _dual(Space* space, Dual* out, dual) except -1:
    """Point to DualArrays; False where there is no plane."""
    cdef const double[::1] losses = dual.losses, squares = dual.squares, limits = dual.limits
    cdef double[::1] alpha = dual.alpha, gaps = dual.gaps
    cdef const int[:, ::1] slots = dual.slots
    cdef const int[::1] counts = dual.counts
    out.n, out.most = slots.shape[0], slots.shape[1]
    if out.n == 0 or out.most == 0 or losses.shape[0] == 0:
        return False
    _space(space, dual.planes, dual.space)
    out.losses, out.squares, out.alpha = &losses[0], &squares[0], &alpha[0]
    out.slots, out.counts = &slots[0, 0], &counts[0]
    out.limits, out.gaps = &limits[0], &gaps[0]
    return True


cdef int _check_planes(const Space* s, const int* planes, Py_ssize_t count) except -1 nogil:
    """Refuse numbers of planes, and places of their rows, that there are not."""
    cdef Py_ssize_t c
    cdef int p
    for c in range(count):
        p = planes[c]
        if p < 0 or p >= s.count:
            raise ValueError(f"sweep: there is no plane {p} of {s.count}")
        if s.begins[p] < 0 or s.ends[p] > s.room:
            raise ValueError(f"sweep: plane {p} is not within the {s.room} entries")
    return 0


cdef int _check_rows(const Space* s, const Dual* dual, const int[::1] rows) except -1 nogil:
    """Refuse examples that there are not, or whose planes do not fit."""
    cdef Py_ssize_t v
    for v in range(rows.shape[0]):
        if rows[v] < 0 or rows[v] >= dual.n:
            raise ValueError(f"sweep: there is no example {rows[v]} of {dual.n}")
        if dual.counts[rows[v]] < 0 or dual.counts[rows[v]] > dual.most:
            raise ValueError(f"sweep: example {rows[v]} has {dual.counts[rows[v]]} planes")
        _check_planes(s, dual.slots + rows[v] * dual.most, dual.counts[rows[v]])
    return 0


cdef double _product(
    const int* indices, const double* values, long long begin, long long end, const double* x,
) noexcept nogil:
    """Σ_j values_j x[indices_j] over begin..end-1, in four sums that do not wait for each other."""
    cdef long long j = begin
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    while j + 3 < end:
        a += values[j] * x[indices[j]]
        b += values[j + 1] * x[indices[j + 1]]
        c += values[j + 2] * x[indices[j + 2]]
        d += values[j + 3] * x[indices[j + 3]]
        j += 4
    while j < end:
        a += values[j] * x[indices[j]]
        j += 1
    return (a + b) + (c + d)


cdef double _dot(Space* s, Py_ssize_t p) noexcept nogil:
    """δ_p · w."""
    cdef long long j
    cdef int at
    cdef double total = 0.0
    if s.R == 0:
        return _product(s.indices, s.values, s.begins[p], s.ends[p], s.w)
    for j in range(s.begins[p], s.ends[p]):
        at = s.indices[j]
        if at < s.R * s.K:
            at = (at % s.K) * s.R + at // s.K
        total += s.values[j] * s.scores[at]
    return total


cdef void _add(Space* s, Py_ssize_t p, double factor) noexcept nogil:
    """w += factor δ_p."""
    cdef long long j
    cdef int at, r
    cdef double move
    cdef const double* row
    cdef double* image
    for j in range(s.begins[p], s.ends[p]):
        at, move = s.indices[j], factor * s.values[j]
        s.w[at] += move
        if s.R and at < s.R * s.K:
            row = s.gram + <Py_ssize_t>(at // s.K) * s.R
            image = s.scores + <Py_ssize_t>(at % s.K) * s.R
            for r in range(s.R):
                image[r] += move * row[r]
        elif s.R:
            s.scores[at] += move


cdef double _inner(Space* s, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
    """δ_p · δ_q."""
    cdef long long i = s.begins[p], j = s.begins[q]
    cdef double total = 0.0
    if s.R:
        return _kernel_inner(s, p, q)
    while i < s.ends[p] and j < s.ends[q]:
        if s.indices[i] < s.indices[j]:
            i += 1
        elif s.indices[i] > s.indices[j]:
            j += 1
        else:
            total += s.values[i] * s.values[j]
            i += 1
            j += 1
    return total


cdef double _kernel_inner(Space* s, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
    cdef long long i, j
    cdef int a, b, bound = s.R * s.K
    cdef double total = 0.0
    for i in range(s.begins[p], s.ends[p]):
        a = s.indices[i]
        for j in range(s.begins[q], s.ends[q]):
            b = s.indices[j]
            if a < bound and b < bound:
                if a % s.K == b % s.K:
                    total += (s.values[i] * s.values[j]
                              * s.gram[<Py_ssize_t>(a // s.K) * s.R + b // s.K])
            elif a == b:
                total += s.values[i] * s.values[j]
    return total


cdef double _step_linear(
    Space* s, const int* own, int count, const double* losses, const double* squares,
    double* alpha, double limit, double* heights, int steps,
) noexcept nogil:
    """Pairwise steps of one example with norm 1; returns its gap before them.

    Weight moves to the highest plane from the lowest that has some; ties to the first. The zero
    plane, number -1, has height 0.
    """
    cdef int c, up, down, turn
    cdef double rest, gap = 0.0, used, high, low, curve, move, most
    for turn in range(steps):
        used = 0.0
        up, down, high, low = -1, -1, 0.0, 0.0
        rest = limit
        for c in range(count):
            heights[c] = losses[own[c]] + _dot(s, own[c])
            rest -= alpha[own[c]]
            used += alpha[own[c]] * heights[c]
            if heights[c] > high:
                up, high = c, heights[c]
        if rest < ROUNDING * limit:
            rest = 0.0  # otherwise steps from the zero plane would only move rounding errors
        if turn == 0:
            gap = limit * high - used
        low = 0.0 if rest > 0.0 else high
        for c in range(count):
            if alpha[own[c]] > 0.0 and heights[c] < low:
                down, low = c, heights[c]
        if high - low <= 0.0 or up == down:
            break
        most = alpha[own[down]] if down >= 0 else rest
        curve = _curvature(s, own, squares, up, down)
        move = most if curve * most <= high - low else (high - low) / curve
        if move <= 0.0:
            break
        if up >= 0:
            alpha[own[up]] += move
            _add(s, own[up], -move)
        if down >= 0:
            alpha[own[down]] = 0.0 if move == most else alpha[own[down]] - move
            _add(s, own[down], move)
    return gap


cdef double _curvature(
    Space* s, const int* own, const double* squares, int up, int down,
) noexcept nogil:
    """‖δ_up − δ_down‖², −1 being the zero plane."""
    cdef double total = 0.0
    if up >= 0:
        total += squares[own[up]]
    if down >= 0:
        total += squares[own[down]]
    if up >= 0 and down >= 0:
        total -= 2.0 * _inner(s, own[up], own[down])
    return total


cdef double _step_free(
    Space* s, const int* own, int count, const double* losses, const double* squares,
    double* alpha, double curb, double* heights, int steps,
) noexcept nogil:
    """Steps of single multipliers of one example without their bound u_i (norm 2 and 0).

    curb : 1 / u_i with norm 2, 0 with norm 0. Returns the largest slope that a step could
    follow, before the steps.
    """
    cdef int c, best, turn
    cdef double used, slope, steepest, first = 0.0, move
    for turn in range(steps):
        used = 0.0
        for c in range(count):
            used += alpha[own[c]]
        best, steepest = -1, 0.0
        for c in range(count):
            slope = losses[own[c]] + _dot(s, own[c]) - curb * used
            if slope < 0.0 and alpha[own[c]] == 0.0:
                slope = 0.0
            heights[c] = slope
            if (slope if slope > 0.0 else -slope) > steepest:
                best, steepest = c, (slope if slope > 0.0 else -slope)
        if turn == 0:
            first = steepest
        if best < 0 or squares[own[best]] + curb <= 0.0:
            break
        move = heights[best] / (squares[own[best]] + curb)
        if alpha[own[best]] + move <= 0.0:
            move = -alpha[own[best]]
            alpha[own[best]] = 0.0
        else:
            alpha[own[best]] += move
        _add(s, own[best], -move)
    return first


def sweep(const int[::1] rows, dual, int norm, int steps):
    """Visit the examples ``rows`` in their order and step within the planes of each.

    dual : DualArrays, of which alpha, w and scores are changed, and gaps written for each visited
        example: what the step could gain at most (norm 1), or its steepest slope (norm 2 and 0),
        before it
    norm : 0, 1 or 2, of the slacks; steps : most steps at each visit
    """
    cdef Space space
    cdef Dual own
    cdef Py_ssize_t v, i
    cdef double[::1] heights
    cdef const int* slots
    if not _dual(&space, &own, dual):
        return
    heights = np.empty(own.most)
    with nogil:
        _check_rows(&space, &own, rows)
        for v in range(rows.shape[0]):
            i = rows[v]
            own.gaps[i] = 0.0
            if own.counts[i] == 0:
                continue
            slots = own.slots + i * own.most
            if norm == 1:
                own.gaps[i] = _step_linear(
                    &space, slots, own.counts[i], own.losses, own.squares, own.alpha,
                    own.limits[i], &heights[0], steps,
                )
            else:
                own.gaps[i] = _step_free(
                    &space, slots, own.counts[i], own.losses, own.squares, own.alpha,
                    1.0 / own.limits[i] if norm == 2 else 0.0, &heights[0], steps,
                )


def highest(const int[::1] rows, dual, int[::1] planes, double[::1] heights):
    """The highest plane of each example of ``rows`` at w into ``planes`` and ``heights``, (k,).

    -1 and 0 where none is above 0; ties to the first. The rest as in ``sweep``.
    """
    cdef Space space
    cdef Dual own
    cdef Py_ssize_t v
    cdef int c, p
    cdef double height
    if not rows.shape[0] == planes.shape[0] == heights.shape[0]:
        raise ValueError("sweep: the planes and their heights do not fit the examples")
    if not _dual(&space, &own, dual):
        return
    with nogil:
        _check_rows(&space, &own, rows)
        for v in range(rows.shape[0]):
            for c in range(own.counts[rows[v]]):
                p = own.slots[rows[v] * own.most + c]
                height = own.losses[p] + _dot(&space, p)
                if height > heights[v]:
                    planes[v], heights[v] = p, height


def dots(const int[::1] chosen, planes, const double[::1] vector, double[::1] out):
    """δ_p · vector for each p of ``chosen`` into ``out``, (k,); planes : PlaneArrays;
    vector : (d,)."""
    cdef Space space
    cdef Py_ssize_t k
    if chosen.shape[0] != out.shape[0]:
        raise ValueError("sweep: the planes and their products do not fit each other")
    _planes(&space, planes)
    if chosen.shape[0] == 0 or space.room == 0:
        out[:] = 0.0
        return
    with nogil:
        _check_planes(&space, &chosen[0], chosen.shape[0])
        for k in range(chosen.shape[0]):
            out[k] = _product(space.indices, space.values, space.begins[chosen[k]],
                              space.ends[chosen[k]], &vector[0])


def combine(const int[::1] chosen, planes, const double[::1] coefficients, double[::1] out):
    """Σ_k coefficients_k δ_{chosen_k} into ``out``, (d,), added in the order of ``chosen``."""
    cdef Space space
    cdef Py_ssize_t k
    cdef long long j
    cdef double factor
    if chosen.shape[0] != coefficients.shape[0]:
        raise ValueError("sweep: the planes and their coefficients do not fit each other")
    out[:] = 0.0
    if chosen.shape[0] == 0:
        return
    _planes(&space, planes)
    with nogil:
        _check_planes(&space, &chosen[0], chosen.shape[0])
        for k in range(chosen.shape[0]):
            factor = coefficients[k]
            if factor == 0.0:
                continue
            for j in range(space.begins[chosen[k]], space.ends[chosen[k]]):
                out[space.indices[j]] += factor * space.values[j]


def squared_norms(planes, space, double[::1] out):
    """‖δ_p‖² of every plane into ``out``, (m,)."""
    cdef Space own
    cdef int p
    _space(&own, planes, space)
    if out.shape[0] != own.count:
        raise ValueError("sweep: the planes and their lengths do not fit each other")
    with nogil:
        for p in range(own.count):
            _check_planes(&own, &p, 1)
            out[p] = _inner(&own, p, p)
