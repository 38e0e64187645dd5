"""Dual coordinate steps over planes kept by example (n-slack and block-coordinate Frank-Wolfe).

Plane p belongs to example i, has the gradient δ_p (its output's minus the truth's), the loss L_p
and a multiplier α_p ≥ 0. The steps raise the dual

    D(α) = Σ_p α_p L_p − ½‖w‖² − [norm 2] Σ_i (Σ_{p of i} α_p)² / (2 u_i),     w = −Σ_p α_p δ_p

by exact line searches within the planes of one example at a time. u_i = C c_i; with norm 1
Σ_{p of i} α_p ≤ u_i, and what is left of u_i is the multiplier of the zero plane.

Sparse rows have increasing indices. With a kernel the first R · K coordinates are unit vectors of R
rows × K labels, whose inner products are those of the rows: (r, k) · (s, l) = [k = l] gram[r, s].
Then ``w`` are the coefficients, and ``scores`` their images: the products of w with every unit
vector, label after label for the first R · K. Without a kernel ``scores`` is ``w`` itself.
"""

import numpy as np

cdef double ROUNDING = 1e-12

cdef struct Space:
    const int* indices
    const double* values
    const long long* begins
    const long long* ends
    double* w
    double* scores
    const double* gram
    Py_ssize_t d
    int R
    int K


cdef int _space(
    Space* out, const int[::1] indices, const double[::1] values, const long long[::1] begins,
    const long long[::1] ends, double[::1] w, double[::1] scores, const double[:, ::1] gram,
    int labels,
) except -1:
    """Point to the arrays, which must fit."""
    if begins.shape[0] != ends.shape[0] or indices.shape[0] != values.shape[0]:
        raise ValueError("sweep: the arrays of the planes do not fit each other")
    if scores.shape[0] != w.shape[0] or gram.shape[0] != gram.shape[1]:
        raise ValueError("sweep: scores, weights and Gram matrix do not fit each other")
    if gram.shape[0] * labels > w.shape[0]:
        raise ValueError("sweep: more rows than weights")
    out.indices = &indices[0] if indices.shape[0] else NULL
    out.values = &values[0] if values.shape[0] else NULL
    out.begins = &begins[0] if begins.shape[0] else NULL
    out.ends = &ends[0] if ends.shape[0] else NULL
    out.w = &w[0]
    out.scores = &scores[0]
    out.gram = &gram[0, 0] if gram.shape[0] else NULL
    out.d, out.R, out.K = w.shape[0], <int>gram.shape[0], labels
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
            rest = 0.0  # else steps from the zero plane would move rounding and nothing else
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


def sweep(
    const int[::1] rows, const int[:, ::1] slots, const int[::1] counts,
    const int[::1] indices, const double[::1] values, const long long[::1] begins,
    const long long[::1] ends, const double[::1] losses, const double[::1] squares,
    double[::1] alpha, const double[::1] limits, double[::1] w, double[::1] scores,
    const double[:, ::1] gram, int labels, int norm, int steps, double[::1] gaps,
):
    """Visit the examples ``rows`` in their order and step within the planes of each.

    slots, counts : (n, most) and (n,), the planes of each example
    indices, values, begins, ends : sparse rows δ_p
    losses, squares, alpha : (m,) L_p, ‖δ_p‖², α_p (changed)
    limits : (n,) u_i
    w, scores : (d,) see the module (changed); the same array without a kernel
    gram, labels : (R, R) and K; R = 0 without a kernel
    norm : 0, 1 or 2, of the slacks
    steps : most steps at each visit
    gaps : (n,) written for each visited example: what the step could gain at most (norm 1), or
        its steepest slope (norm 2 and 0), before it
    """
    cdef Space space
    cdef Py_ssize_t v, i
    cdef double[::1] heights
    cdef const int* own
    cdef double curb
    if not (slots.shape[0] == counts.shape[0] == limits.shape[0] == gaps.shape[0]):
        raise ValueError("sweep: the arrays of the examples do not fit each other")
    if not (losses.shape[0] == squares.shape[0] == alpha.shape[0] == begins.shape[0]):
        raise ValueError("sweep: the arrays of the planes do not fit each other")
    if slots.shape[1] == 0 or rows.shape[0] == 0 or losses.shape[0] == 0:
        return
    _space(&space, indices, values, begins, ends, w, scores, gram, labels)
    heights = np.empty(max(slots.shape[1], 1))
    with nogil:
        for v in range(rows.shape[0]):
            i = rows[v]
            gaps[i] = 0.0
            if counts[i] == 0:
                continue
            own = &slots[i, 0]
            if norm == 1:
                gaps[i] = _step_linear(
                    &space, own, counts[i], &losses[0], &squares[0], &alpha[0], limits[i],
                    &heights[0], steps,
                )
            else:
                curb = 1.0 / limits[i] if norm == 2 else 0.0
                gaps[i] = _step_free(
                    &space, own, counts[i], &losses[0], &squares[0], &alpha[0], curb,
                    &heights[0], steps,
                )


cdef double _frank_wolfe(
    Space* s, int plane, const int* own, int count, const double* losses, double* alpha,
    double limit, double* moves, double* direction,
) noexcept nogil:
    """α ← (1 − γ) α + γ limit e_plane with the best γ in 0..1; returns the gap before."""
    cdef int c
    cdef double gap, high = 0.0, used = 0.0, curve, share
    for c in range(count):
        used += alpha[own[c]] * (losses[own[c]] + _dot(s, own[c]))
        moves[c] = (limit if own[c] == plane else 0.0) - alpha[own[c]]
    if plane >= 0:
        high = losses[plane] + _dot(s, plane)
    gap = limit * high - used
    if gap <= 0.0:
        return 0.0
    curve = _kernel_square(s, own, count, moves) if s.R else _square(s, own, count, moves, direction)
    share = 1.0 if curve <= gap else gap / curve
    for c in range(count):
        if moves[c] != 0.0:
            if share == 1.0:
                alpha[own[c]] = limit if own[c] == plane else 0.0
            else:
                alpha[own[c]] += share * moves[c]
            _add(s, own[c], -share * moves[c])
    return gap


cdef double _square(
    Space* s, const int* own, int count, const double* moves, double* direction,
) noexcept nogil:
    """‖v‖², v = Σ_c moves_c δ_c; ``direction``, (d,), is 0 before and after."""
    cdef int c
    cdef long long j
    cdef double total = 0.0
    for c in range(count):
        if moves[c] != 0.0:
            for j in range(s.begins[own[c]], s.ends[own[c]]):
                direction[s.indices[j]] += moves[c] * s.values[j]
    for c in range(count):
        if moves[c] != 0.0:
            total += moves[c] * _product(
                s.indices, s.values, s.begins[own[c]], s.ends[own[c]], direction
            )
    for c in range(count):
        for j in range(s.begins[own[c]], s.ends[own[c]]):
            direction[s.indices[j]] = 0.0
    return total


cdef double _kernel_square(
    Space* s, const int* own, int count, const double* moves,
) noexcept nogil:
    """The same with a kernel."""
    cdef int a, c
    cdef double total = 0.0
    for c in range(count):
        for a in range(count):
            if moves[c] != 0.0 and moves[a] != 0.0:
                total += moves[c] * moves[a] * _inner(s, own[c], own[a])
    return total


def frank_wolfe(
    const int[::1] rows, const int[::1] planes, const int[:, ::1] slots, const int[::1] counts,
    const int[::1] indices, const double[::1] values, const long long[::1] begins,
    const long long[::1] ends, const double[::1] losses, double[::1] alpha,
    const double[::1] limits, double[::1] w, double[::1] scores, const double[:, ::1] gram,
    int labels, double[::1] gaps,
):
    """Move each example of ``rows`` towards a plane of its own by an exact line search (norm 1).

    The step of Lacoste-Julien et al. (ICML 2013, Algorithm 3). planes : (k,) -1 being the zero
    plane; gaps : (n,) what each step could gain at most before it. The rest as in ``sweep``.
    """
    cdef Space space
    cdef Py_ssize_t v, i
    cdef double[::1] moves = np.empty(max(slots.shape[1], 1))
    cdef double[::1] direction = np.zeros(w.shape[0])
    if rows.shape[0] != planes.shape[0] or slots.shape[0] != counts.shape[0]:
        raise ValueError("sweep: the arrays of the examples do not fit each other")
    if rows.shape[0] == 0 or slots.shape[1] == 0 or losses.shape[0] == 0:
        return
    _space(&space, indices, values, begins, ends, w, scores, gram, labels)
    with nogil:
        for v in range(rows.shape[0]):
            i = rows[v]
            gaps[i] = _frank_wolfe(
                &space, planes[v], &slots[i, 0], counts[i], &losses[0], &alpha[0], limits[i],
                &moves[0], &direction[0],
            )


def highest(
    const int[::1] rows, const int[:, ::1] slots, const int[::1] counts,
    const int[::1] indices, const double[::1] values, const long long[::1] begins,
    const long long[::1] ends, const double[::1] losses, double[::1] w, double[::1] scores,
    const double[:, ::1] gram, int labels, int[::1] planes, double[::1] heights,
):
    """The highest plane of each example of ``rows`` at w into ``planes`` and ``heights``, (k,).

    -1 and 0 where none is above 0; ties to the first. The rest as in ``sweep``.
    """
    cdef Space space
    cdef Py_ssize_t v
    cdef int c, p
    cdef double height
    if rows.shape[0] == 0 or slots.shape[1] == 0 or losses.shape[0] == 0:
        return
    _space(&space, indices, values, begins, ends, w, scores, gram, labels)
    with nogil:
        for v in range(rows.shape[0]):
            for c in range(counts[rows[v]]):
                p = slots[rows[v], c]
                height = losses[p] + _dot(&space, p)
                if height > heights[v]:
                    planes[v], heights[v] = p, height


def dots(
    const int[::1] planes, const int[::1] indices, const double[::1] values,
    const long long[::1] begins, const long long[::1] ends, const double[::1] vector,
    double[::1] out,
):
    """δ_p · vector for each p of ``planes`` into ``out``, (k,); vector : (d,)."""
    cdef Py_ssize_t k
    if planes.shape[0] != out.shape[0]:
        raise ValueError("sweep: the planes and their products do not fit each other")
    if planes.shape[0] == 0 or indices.shape[0] == 0:
        out[:] = 0.0
        return
    with nogil:
        for k in range(planes.shape[0]):
            out[k] = _product(
                &indices[0], &values[0], begins[planes[k]], ends[planes[k]], &vector[0]
            )


def combine(
    const int[::1] planes, const int[::1] indices, const double[::1] values,
    const long long[::1] begins, const long long[::1] ends, const double[::1] coefficients,
    double[::1] out,
):
    """Σ_k coefficients_k δ_{planes_k} into ``out``, (d,), added in the order of ``planes``."""
    cdef Py_ssize_t k
    cdef long long j
    cdef double factor
    if planes.shape[0] != coefficients.shape[0]:
        raise ValueError("sweep: the planes and their coefficients do not fit each other")
    out[:] = 0.0
    with nogil:
        for k in range(planes.shape[0]):
            factor = coefficients[k]
            if factor == 0.0:
                continue
            for j in range(begins[planes[k]], ends[planes[k]]):
                out[indices[j]] += factor * values[j]


def squared_norms(
    const int[::1] indices, const double[::1] values, const long long[::1] begins,
    const long long[::1] ends, const double[:, ::1] gram, int labels, double[::1] out,
):
    """‖δ_p‖² of every plane into ``out``, (m,)."""
    cdef Space space
    cdef Py_ssize_t p
    cdef double[::1] nothing = np.zeros(gram.shape[0] * labels + 1)
    _space(&space, indices, values, begins, ends, nothing, nothing, gram, labels)
    with nogil:
        for p in range(out.shape[0]):
            out[p] = _inner(&space, p, p)

