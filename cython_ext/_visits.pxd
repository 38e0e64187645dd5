"""The visit of one example: all but the change of w needs nothing but w and what is kept of it."""

from libc.math cimport fmax, fmin
from libc.string cimport memmove

from _examples cimport Found, Kept, Oracle, Room, unknown
from _planes cimport Planes, drop_idle, kept_of, make_room, output_size

cdef enum:
    STEPS = 5  # pairwise, at each visit
    AGE = 8  # visits by inference without weight, after which an output is dropped
    LONGEST_REST = 4  # epochs that an example with a small gap is left out for


cdef inline double rounding() noexcept nogil:
    """The share of a height that is no more than that."""
    return 1e-12


cdef struct Work:
    Room room
    double* heights
    double* moves
    int* found
    double gap  # of the example, over what is kept
    # The dual along what ``moves`` do, without what depends on w: its slope and curvature.
    double slope, curvature


cdef inline int know(const Oracle* oracle, Planes* planes, const Kept* kept, Py_ssize_t i, int k,
               Work* work) noexcept nogil:
    """Make sure that the products of plane k with all planes of example i are known."""
    cdef double* products = planes.products + planes.first_product[i]
    cdef int room = planes.rooms[i], count = planes.counts[i], l, status
    cdef double scale
    cdef bint known = True
    for l in range(count):
        known = known and products[k * room + l] != unknown()
    if known:
        return 0
    for l in range(count):
        work.moves[l] = products[k * room + l]
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


cdef inline int steps(const Oracle* oracle, Planes* planes, const Kept* kept, Py_ssize_t i,
                Work* work) noexcept nogil:
    """Pairwise steps of example i from the heights of its planes, without w.

    Returns 1 if the multipliers moved; ``work.moves`` is then what to add to w.
    """
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
        if planes.norm == 1 and rest <= rounding() * limit:
            down, bottom = -2, 1e300
        for k in range(count):
            high = heights[k] - share
            if high > top:
                up, top = k, high
            if alpha[k] > 0.0 and high < bottom:
                down, bottom = k, high
        if down == -2 or up == down or top - bottom <= rounding() * (1.0 + fmax(top, -bottom)):
            break
        if up >= 0:
            status = know(oracle, planes, kept, i, up, work)
            if status < 0:
                return status
        if down >= 0:
            status = know(oracle, planes, kept, i, down, work)
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
    ascent(planes, i, work)
    for k in range(count):
        work.moves[k] = before[k] - alpha[k]
        if planes.slack:
            work.moves[k] *= losses[k]
    return 1


cdef inline void ascent(const Planes* planes, Py_ssize_t i, Work* work) noexcept nogil:
    """Slope and curvature of the dual from the multipliers before to those now."""
    cdef int count = planes.counts[i], room = planes.rooms[i], k, l
    cdef const double* alpha = planes.alpha + planes.first[i]
    cdef const double* losses = planes.losses + planes.first[i]
    cdef const double* products = planes.products + planes.first_product[i]
    cdef const double* before = work.moves + room
    cdef double change, total = 0.0, sum_of_changes = 0.0
    work.slope = work.curvature = 0.0
    for k in range(count):
        change = alpha[k] - before[k]
        if change == 0.0:
            continue
        total += before[k]
        sum_of_changes += change
        work.slope += change * losses[k]
        for l in range(count):
            if alpha[l] != before[l]:
                work.curvature += change * (alpha[l] - before[l]) * products[k * room + l]
    if planes.norm == 2:
        for k in range(count):
            total += before[k] if alpha[k] == before[k] else 0.0
        work.slope -= total * sum_of_changes / planes.limits[i]
        work.curvature += sum_of_changes * sum_of_changes / planes.limits[i]


cdef inline double gap(const Planes* planes, Py_ssize_t i, const double* heights,
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


cdef inline double top(const Planes* planes, const double* heights, Py_ssize_t i) noexcept nogil:
    """The height of the highest plane that is kept of example i, the truth's 0 at least."""
    cdef double highest = 0.0
    cdef int k
    for k in range(planes.counts[i]):
        highest = fmax(highest, heights[k])
    return highest


cdef inline void rise(const Planes* planes, double* heights, Py_ssize_t i) noexcept nogil:
    """Make heights of products."""
    cdef const double* losses = planes.losses + planes.first[i]
    cdef int k
    for k in range(planes.counts[i]):
        heights[k] = losses[k] * (1.0 + heights[k]) if planes.slack else losses[k] + heights[k]


cdef inline int make_room_for_one(const Oracle* oracle, Planes* planes, Py_ssize_t i) noexcept nogil:
    """Make room for one more plane of example i; 1 if the arena is full."""
    if planes.counts[i] == planes.rooms[i]:
        drop_idle(oracle, planes, i, 1)
        if planes.counts[i] == planes.rooms[i]:
            return not make_room(oracle, planes, i, planes.counts[i] + 1)
    return 0


cdef inline int examine(const Oracle* oracle, Planes* planes, const int* truth, Py_ssize_t i,
                        bint cached, Work* work) noexcept nogil:
    """A visit of example i but for w, over what is kept if ``cached``; there is room for a plane.

    Returns 1 if ``work.moves`` are to be added to w, 0 if not.
    """
    cdef Kept kept
    cdef Found found
    cdef int status
    cdef double highest
    kept_of(oracle, planes, truth, i, &kept)
    if cached:
        status = oracle.heights(oracle.self, planes.w, i, &kept, work.room, work.heights)
    else:
        status = oracle.best(oracle.self, planes.w, i, &kept, work.room, work.found, &found,
                             work.heights)
    if status < 0:
        return status
    rise(planes, work.heights, i)
    highest = top(planes, work.heights, i)
    if not cached and found.height > highest + rounding() * (1.0 + found.height):
        highest = work.heights[kept.count] = found.height
        keep(oracle, planes, i, work.found, found.loss)
        kept.count += 1
    work.gap = gap(planes, i, work.heights, highest)
    if not cached:
        planes.gaps[i] = work.gap
    return steps(oracle, planes, &kept, i, work)


cdef inline void keep(const Oracle* oracle, Planes* planes, Py_ssize_t i, const int* output,
                      double loss) noexcept nogil:
    """One more plane of example i, without weight."""
    cdef int count = planes.counts[i], room = planes.rooms[i], k
    cdef long long first = planes.first[i] + count
    cdef Py_ssize_t size = output_size(oracle, i)
    planes.alpha[first], planes.losses[first], planes.idle[first] = 0.0, loss, 0
    memmove(planes.outputs + planes.first_output[i] + count * size, output, size * sizeof(int))
    for k in range(count + 1):
        planes.products[planes.first_product[i] + count * room + k] = unknown()
        planes.products[planes.first_product[i] + k * room + count] = unknown()
    planes.counts[i] = count + 1


cdef inline int finish(const Oracle* oracle, Planes* planes, const int* truth, Py_ssize_t i,
                       bint cached, bint moved, bint late, Work* work) noexcept nogil:
    """Add to w what ``examine`` asked for, and drop planes that have long had no weight.

    late : whether w has changed since; the step is then as long as is best at w as it is now
    """
    cdef Kept kept
    cdef long long first = planes.first[i]
    cdef int status = 0, k
    if moved:
        kept_of(oracle, planes, truth, i, &kept)
        if late:
            status = shorten(oracle, planes, &kept, i, work)
            if status < 0:
                return status
        status = oracle.add(oracle.self, planes.w, i, &kept, work.moves, work.room)
    if cached:
        return status
    for k in range(planes.counts[i]):
        planes.idle[first + k] = 0 if planes.alpha[first + k] > 0.0 else planes.idle[first + k] + 1
    drop_idle(oracle, planes, i, AGE)
    return status


cdef inline int shorten(const Oracle* oracle, Planes* planes, const Kept* kept, Py_ssize_t i,
                        Work* work) noexcept nogil:
    """The share of the step, at most 1, that raises the dual most; multipliers go along."""
    cdef double* alpha = planes.alpha + planes.first[i]
    cdef const double* before = work.moves + planes.rooms[i]
    cdef double change = 0.0, slope, share
    cdef int status, k
    if oracle.along != NULL:
        status = oracle.along(oracle.self, planes.w, i, kept, work.moves, work.room, &change)
    else:
        status = oracle.heights(oracle.self, planes.w, i, kept, work.room, work.heights)
        for k in range(kept.count):
            change += work.moves[k] * work.heights[k]
    if status < 0:
        return status
    slope = work.slope - change
    if slope >= work.curvature:
        return 0
    share = slope / work.curvature if slope > 0.0 else 0.0
    for k in range(kept.count):
        alpha[k] = before[k] + share * (alpha[k] - before[k])
        work.moves[k] *= share
    return 0


cdef inline void rest(Planes* planes, Py_ssize_t i, double small) noexcept nogil:
    """Leave an example out for a while if its gap is small, longer each time."""
    planes.streaks[i] = min(planes.streaks[i] + 1, LONGEST_REST) if planes.gaps[i] < small else 0
    planes.rests[i] = planes.streaks[i]
