"""Dual coordinate ascent over outputs that are kept by example, compiled from visit to visit.

Output p of example i has the plane δ_p = Φ(x_i, p) − Φ(x_i, y_i), the loss L_p and a multiplier
α_p ≥ 0. With s_p = 1, or L_p with slack rescaling, the visits raise

    D(α) = Σ_p α_p L_p − ½‖w‖² − [norm 2] Σ_i (Σ_{p of i} α_p)² / (2 u_i),   w = −Σ_p α_p s_p δ_p

u_i = C c_i; with norm 1 Σ_{p of i} α_p ≤ u_i, and what is left of u_i is the multiplier of the
truth, whose plane is 0. A visit asks the oracle for the loss-augmented output of its example, keeps
it if it is higher than those kept, and makes a few exact pairwise steps: from the lowest plane that
has weight to the highest one (Lacoste-Julien & Jaggi, NIPS 2015; Osokin et al., ICML 2016). A sweep
does the same over what is kept alone. Inner products of the planes of one example are remembered.

Nothing is allocated here. An example's outputs lie in a block of an arena; one that is full moves to
a larger block at the arena's end, and where the arena itself is full the run returns to ask for more
room. Between two visits the state is whole: it consists of arrays.
"""

from libc.math cimport fmax, fmin
from libc.string cimport memmove
from libc.time cimport clock, CLOCKS_PER_SEC

from cpython.pycapsule cimport PyCapsule_GetPointer

from _examples cimport Found, Kept, Oracle, Room, unknown
from _planes cimport Planes, drop_idle, kept_of, make_room, output_size, point_to_planes

cdef enum:
    STEPS = 5  # pairwise, at each visit
    AGE = 8  # visits by inference without weight, after which an output is dropped
    LONGEST_REST = 4  # epochs that an example with a small gap is left out for
    BETWEEN_CLOCKS = 16  # visits

DONE, PAUSED, FULL = 0, 1, 2

cdef double ROUNDING = 1e-12

cdef struct Work:
    Room room
    double* heights
    double* moves
    int* found
    double gaps


cdef Oracle* _oracle(capsule) except NULL:
    return <Oracle*>PyCapsule_GetPointer(capsule, "lssvm.example_oracle")


cdef int _know(const Oracle* oracle, Planes* planes, const Kept* kept, Py_ssize_t i, int k,
               Work* work) noexcept nogil:
    """Make sure that the products of plane k with all planes of example i are known."""
    cdef double* products = planes.products + planes.first_product[i]
    cdef int room = planes.rooms[i], count = planes.counts[i], l, status
    cdef double scale
    cdef bint known = True
    for l in range(count):
        work.moves[l] = products[k * room + l]
        known = known and work.moves[l] != unknown()
    if known:
        return 0
    status = oracle.inner(oracle.self, i, kept, k, work.room, work.moves)
    if status < 0:
        return status
    for l in range(count):
        if products[k * room + l] != unknown():
            continue
        scale = 1.0
        if planes.slack:
            scale = planes.losses[planes.first[i] + k] * planes.losses[planes.first[i] + l]
        products[k * room + l] = products[l * room + k] = scale * work.moves[l]
    return 0


cdef int _steps(const Oracle* oracle, Planes* planes, const Kept* kept, Py_ssize_t i,
                Work* work) noexcept nogil:
    """Pairwise steps of example i from the heights of its planes; w moves along."""
    cdef int count = planes.counts[i], room = planes.rooms[i], step, k, up, down, status
    cdef double* alpha = planes.alpha + planes.first[i]
    cdef double* losses = planes.losses + planes.first[i]
    cdef double* products = planes.products + planes.first_product[i]
    cdef double* heights = work.heights
    cdef double* before = work.moves + planes.rooms[i]
    cdef double limit = planes.limits[i], total = 0.0, share, top, bottom, square, size, move
    cdef double high, rest
    cdef bint moved = False
    for k in range(count):
        before[k] = alpha[k]
        total += alpha[k]
    for step in range(STEPS):
        share = total / limit if planes.norm == 2 else 0.0
        rest = limit - total
        # The truth is plane −1, of height 0.
        up, top = -1, 0.0
        down, bottom = -1, 0.0
        if planes.norm == 1 and rest <= ROUNDING * limit:
            down, bottom = -2, 1e300
        for k in range(count):
            high = heights[k] - share
            if high > top:
                up, top = k, high
            if alpha[k] > 0.0 and high < bottom:
                down, bottom = k, high
        if down == -2 or up == down or top - bottom <= ROUNDING * (1.0 + fmax(top, -bottom)):
            break
        if up >= 0:
            status = _know(oracle, planes, kept, i, up, work)
            if status < 0:
                return status
        if down >= 0:
            status = _know(oracle, planes, kept, i, down, work)
            if status < 0:
                return status
        square = 0.0
        if up >= 0:
            square += products[up * room + up]
        if down >= 0:
            square += products[down * room + down]
        if up >= 0 and down >= 0:
            square -= 2.0 * products[up * room + down]
        elif planes.norm == 2:
            square += 1.0 / limit
        size = alpha[down] if down >= 0 else (rest if planes.norm == 1 else 1e300)
        move = size
        if square > 0.0:
            move = fmin(size, (top - bottom) / square)
        if not move > 0.0:
            break
        moved = True
        if up >= 0:
            alpha[up] += move
        else:
            total -= move
        if down >= 0:
            alpha[down] = alpha[down] - move if move < size else 0.0
        else:
            total += move
        for k in range(count):
            if up >= 0:
                heights[k] -= move * products[up * room + k]
            if down >= 0:
                heights[k] += move * products[down * room + k]
    if not moved:
        return 0
    for k in range(count):
        work.moves[k] = before[k] - alpha[k]
        if planes.slack:
            work.moves[k] *= losses[k]
    return oracle.add(oracle.self, planes.w, i, kept, work.moves, work.room)


cdef double _gap(const Planes* planes, Py_ssize_t i, const double* heights,
                 double highest) noexcept nogil:
    """What example i adds to P − D where its planes have these heights, the highest one this."""
    cdef const double* alpha = planes.alpha + planes.first[i]
    cdef double limit = planes.limits[i], gap = 0.0, total = 0.0
    cdef int k
    for k in range(planes.counts[i]):
        gap -= alpha[k] * heights[k]
        total += alpha[k]
    if planes.norm == 1:
        return fmax(0.0, gap + limit * highest)  # below 0 by rounding alone
    return fmax(0.0, gap + 0.5 * limit * highest * highest + 0.5 * total * total / limit)


cdef double _top(const Planes* planes, const double* heights, Py_ssize_t i) noexcept nogil:
    """The height of the highest plane that is kept of example i, the truth's 0 at least."""
    cdef double highest = 0.0
    cdef int k
    for k in range(planes.counts[i]):
        highest = fmax(highest, heights[k])
    return highest


cdef void _rise(const Planes* planes, double* heights, Py_ssize_t i) noexcept nogil:
    """Make heights of products."""
    cdef const double* losses = planes.losses + planes.first[i]
    cdef int k
    for k in range(planes.counts[i]):
        heights[k] = losses[k] * (1.0 + heights[k]) if planes.slack else losses[k] + heights[k]


cdef int _visit(const Oracle* oracle, Planes* planes, const int* truth, Py_ssize_t i,
                Work* work) noexcept nogil:
    """One oracle call for example i, and steps over what is kept; 1 if the arena is full."""
    cdef Kept kept
    cdef Found found
    cdef int count = planes.counts[i], room, status, k
    cdef long long first
    cdef double highest
    if count == planes.rooms[i]:
        drop_idle(oracle, planes, i, 1)
        count = planes.counts[i]
        if count == planes.rooms[i] and not make_room(oracle, planes, i, count + 1):
            return 1
    kept_of(oracle, planes, truth, i, &kept)
    status = oracle.best(oracle.self, planes.w, i, &kept, work.room, work.found, &found,
                         work.heights)
    if status < 0:
        return status
    first, room = planes.first[i], planes.rooms[i]
    _rise(planes, work.heights, i)
    highest = _top(planes, work.heights, i)
    if found.height > highest + ROUNDING * (1.0 + found.height):
        highest = work.heights[count] = found.height
        planes.alpha[first + count], planes.idle[first + count] = 0.0, 0
        planes.losses[first + count] = found.loss
        memmove(planes.outputs + planes.first_output[i] + count * output_size(oracle, i), work.found,
                output_size(oracle, i) * sizeof(int))
        for k in range(count + 1):
            planes.products[planes.first_product[i] + count * room + k] = unknown()
            planes.products[planes.first_product[i] + k * room + count] = unknown()
        planes.counts[i] = kept.count = count + 1
    planes.gaps[i] = _gap(planes, i, work.heights, highest)
    status = _steps(oracle, planes, &kept, i, work)
    if status < 0:
        return status
    for k in range(planes.counts[i]):
        planes.idle[first + k] = 0 if planes.alpha[first + k] > 0.0 else planes.idle[first + k] + 1
    drop_idle(oracle, planes, i, AGE)
    return 0


cdef int _solve(const Oracle* oracle, Planes* planes, const int* truth, Py_ssize_t i,
                Work* work) noexcept nogil:
    """The exact minimum over all outputs of example i; 1 if the arena is full."""
    cdef int status = 1
    while status == 1:
        status = oracle.solve(
            oracle.self, planes.w, i, truth + oracle.places[i], planes.limits[i], planes.rooms[i],
            &planes.counts[i], planes.outputs + planes.first_output[i],
            planes.losses + planes.first[i], planes.alpha + planes.first[i], work.room,
            &planes.gaps[i])
        if status == 1 and not make_room(oracle, planes, i, planes.rooms[i] + 1):
            return 1
    return status


cdef int _sweep(const Oracle* oracle, Planes* planes, const int* truth, Py_ssize_t i,
                Work* work) noexcept nogil:
    """Steps over what is kept of example i."""
    cdef Kept kept
    cdef int status
    if planes.counts[i] == 0:
        return 0
    kept_of(oracle, planes, truth, i, &kept)
    status = oracle.heights(oracle.self, planes.w, i, &kept, work.room, work.heights)
    if status < 0:
        return status
    _rise(planes, work.heights, i)
    work.gaps += _gap(planes, i, work.heights, _top(planes, work.heights, i))
    return _steps(oracle, planes, &kept, i, work)


cdef int _rest(Planes* planes, Py_ssize_t i, double small) noexcept nogil:
    """Leave an example out for a while if its gap is small, longer each time."""
    if planes.gaps[i] >= small:
        planes.streaks[i] = 0
        return 0
    planes.streaks[i] = min(planes.streaks[i] + 1, LONGEST_REST)
    planes.rests[i] = planes.streaks[i]
    return 0


cdef int _point_work(Work* out, const Oracle* oracle, planes) except -1:
    """Point to room for the planes of one example, as many as ``widest``, and for the oracle."""
    cdef Py_ssize_t widest = planes.widest
    cdef Py_ssize_t longest = planes.longest
    reals, integers = planes.scratch(oracle.reals + 3 * widest, oracle.integers + longest)
    cdef double[::1] numbers = reals
    cdef int[::1] whole = integers
    out.heights, out.moves = &numbers[0], &numbers[widest]
    out.room.reals = &numbers[3 * widest] if oracle.reals else NULL
    out.found = &whole[0]
    out.room.integers = &whole[longest] if oracle.integers else NULL
    out.gaps = 0.0
    return 0


def epoch(capsule, planes, const int[::1] order, Py_ssize_t place, double small, double seconds,
          bint cached):
    """Visit the examples of ``order`` from ``place`` on, with the oracle or over what is kept.

    planes : ExamplePlanes; small : an example with a smaller gap is left out for a while; seconds :
        of the processor's time, after which to pause; cached : whether to leave the oracle alone

    Returns DONE, PAUSED or FULL, the place that was reached, how many were visited, and the sum
    of their gaps over what is kept if ``cached``. Raises ValueError where the
    oracle cannot answer.
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef int status = 0
    cdef Py_ssize_t i, visited = 0, stop = order.shape[0]
    cdef double began = clock()
    cdef const int[::1] truth = planes.truth
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        while place < stop:
            i = order[place]
            if own.limits[i] <= 0.0:
                place += 1
                continue
            if cached:
                status = _sweep(oracle, &own, &truth[0], i, &work)
            elif own.rests[i] > 0:
                own.rests[i] -= 1
                place += 1
                continue
            elif own.exact:
                status = _solve(oracle, &own, &truth[0], i, &work)
            else:
                status = _visit(oracle, &own, &truth[0], i, &work)
            if status:
                break
            if not cached:
                _rest(&own, i, small)
            visited += 1
            place += 1
            if visited % BETWEEN_CLOCKS == 0 and clock() - began > seconds * CLOCKS_PER_SEC:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")
    found = FULL if status == 1 else DONE if place == stop else PAUSED
    return found, place, visited, work.gaps


def heights(capsule, planes, const int[::1] truth, const double[::1] w, Py_ssize_t first,
            Py_ssize_t last, double[:, ::1] out):
    """Loss-augmented inference at w for examples first .. last - 1, nothing kept.

    w : as the kernel keeps weights; out : (2, n) heights above the truth and the truth's own score,
        written at the places of these examples
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Work work
    cdef Kept kept
    cdef Found found
    cdef int status = 0
    cdef Py_ssize_t i
    _point_work(&work, oracle, planes)
    kept.count, kept.outputs = 0, NULL
    with nogil:
        for i in range(first, last):
            kept.truth = &truth[0] + oracle.places[i]
            status = oracle.best(oracle.self, &w[0], i, &kept, work.room, work.found, &found,
                                 work.heights)
            if status < 0:
                break
            out[0, i], out[1, i] = found.height, found.score
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def completed(capsule, planes, const double[::1] w, int[::1] out, double[::1] scores):
    """The best outputs at w that agree with what is known, and their scores (n,)."""
    cdef Oracle* oracle = _oracle(capsule)
    cdef Work work
    cdef int status = 0
    cdef Py_ssize_t i
    _point_work(&work, oracle, planes)
    with nogil:
        for i in range(oracle.n):
            status = oracle.complete(oracle.self, &w[0], i, work.room, &out[0] + oracle.places[i],
                                     &scores[i])
            if status < 0:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def combine(capsule, planes, const int[::1] truth, const double[::1] coefficients, double[::1] w):
    """w += the sum of coefficient * s * delta over all planes, in the order of the examples.

    coefficients : (m,) one for each plane, those of an example one after another
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Kept kept
    cdef int status = 0, k
    cdef Py_ssize_t i, at = 0
    cdef bint some
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        for i in range(oracle.n):
            some = False
            for k in range(own.counts[i]):
                work.moves[k] = coefficients[at + k]
                some = some or work.moves[k] != 0.0
                if own.slack:
                    work.moves[k] *= own.losses[own.first[i] + k]
            at += own.counts[i]
            if not some:
                continue
            kept_of(oracle, &own, &truth[0], i, &kept)
            status = oracle.add(oracle.self, &w[0], i, &kept, work.moves, work.room)
            if status < 0:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def dots(capsule, planes, const int[::1] truth, const double[::1] w, double[::1] out):
    """s * delta . w of all planes, (m,), in the order of the examples."""
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Kept kept
    cdef int status = 0, k
    cdef Py_ssize_t i, at = 0
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        for i in range(oracle.n):
            if own.counts[i] == 0:
                continue
            kept_of(oracle, &own, &truth[0], i, &kept)
            status = oracle.heights(oracle.self, &w[0], i, &kept, work.room, work.heights)
            if status < 0:
                break
            for k in range(own.counts[i]):
                out[at + k] = work.heights[k]
                if own.slack:
                    out[at + k] *= own.losses[own.first[i] + k]
            at += own.counts[i]
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def shift(capsule, planes, const int[::1] before, const int[::1] after):
    """Take ``after`` for the truth in the place of ``before``: w moves, the planes stay.

    Their products are not known any more where the truth is another one.
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Kept kept
    cdef int status = 0, k
    cdef Py_ssize_t i, j
    cdef double scale
    cdef bint same
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        for i in range(oracle.n):
            same = True
            for j in range(oracle.places[i], oracle.places[i + 1]):
                same = same and before[j] == after[j]
            if same:
                continue
            scale = 0.0
            for k in range(own.counts[i]):
                scale = scale + own.alpha[own.first[i] + k] * (
                    own.losses[own.first[i] + k] if own.slack else 1.0)
            for k in range(own.rooms[i] * own.rooms[i] if not own.exact else 0):
                own.products[own.first_product[i] + k] = unknown()
            kept.count, kept.truth = 1, &before[0] + oracle.places[i]
            kept.outputs = &after[0] + oracle.places[i]
            status = oracle.add(oracle.self, own.w, i, &kept, &scale, work.room)
            if status < 0:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def shuffle(int[::1] order, unsigned long long[::1] state):
    """Put ``order`` into a new random order; state : (1,) of the generator.

    Splitmix64 (Steele, Lea & Flood, OOPSLA 2014); an order drawn with it is uneven by 2^-32.
    """
    cdef Py_ssize_t i, j
    cdef unsigned long long z
    cdef int kept
    with nogil:
        for i in range(order.shape[0] - 1, 0, -1):
            state[0] += <unsigned long long>0x9E3779B97F4A7C15
            z = state[0]
            z = (z ^ (z >> 30)) * <unsigned long long>0xBF58476D1CE4E5B9
            z = (z ^ (z >> 27)) * <unsigned long long>0x94D049BB133111EB
            z = z ^ (z >> 31)
            j = <Py_ssize_t>(((z >> 32) * <unsigned long long>(i + 1)) >> 32)
            kept = order[i]
            order[i] = order[j]
            order[j] = kept
