"""The outputs that are kept of each example, in blocks of arenas (arrays with spare room)."""

from libc.string cimport memmove

from _examples cimport Kept, Oracle

cdef extern from "wide.h" nogil:
    void prefetch_row(const double* row, long count)

cdef enum:
    ROOMIER = 2  # a new block has this many times the room of the old one

cdef struct Planes:
    # One entry for each example: where its block begins among planes, outputs and products, how
    # many planes it has and has room for, and the numbers that its visits use.
    long long* first
    long long* first_output
    long long* first_product
    int* counts
    int* rooms
    int* rests
    int* streaks
    const double* limits
    double* gaps
    # One entry for each plane, except outputs and products.
    double* alpha
    double* losses
    int* idle
    int* outputs
    double* products  # of the planes of one example with each other; see ``unknown``
    long long* used  # how much of the arenas of planes, outputs and products is in use
    long long plane_room, output_room, product_room
    int widest  # planes of one example for which there is scratch room
    double* w
    int norm
    bint slack, exact


cdef inline int point_to_planes(Planes* out, planes) except -1:
    """Let ``out`` point to the arrays of ExamplePlanes, which must outlive it."""
    cdef long long[::1] first = planes.first, first_output = planes.first_output
    cdef long long[::1] first_product = planes.first_product, used = planes.used
    cdef int[::1] counts = planes.counts, rooms = planes.rooms, rests = planes.rests
    cdef int[::1] streaks = planes.streaks, idle = planes.idle, outputs = planes.outputs
    cdef const double[::1] limits = planes.limits
    cdef double[::1] gaps = planes.gaps, alpha = planes.alpha, losses = planes.losses
    cdef double[::1] products = planes.products, w = planes.w
    out.first, out.first_output, out.first_product = (
        &first[0], &first_output[0], &first_product[0])
    out.counts, out.rooms, out.rests, out.streaks = (
        &counts[0], &rooms[0], &rests[0], &streaks[0])
    out.limits, out.gaps = &limits[0], &gaps[0]
    out.alpha, out.losses, out.idle, out.outputs = &alpha[0], &losses[0], &idle[0], &outputs[0]
    out.products, out.used, out.w = &products[0], &used[0], &w[0]
    out.plane_room, out.output_room, out.product_room = (
        alpha.shape[0], outputs.shape[0], products.shape[0])
    out.norm, out.slack, out.exact = planes.norm, planes.slack, planes.exact
    out.widest = planes.widest
    return 0


cdef inline Py_ssize_t output_size(const Oracle* oracle, Py_ssize_t i) noexcept nogil:
    return oracle.places[i + 1] - oracle.places[i]


cdef inline void kept_of(const Oracle* oracle, const Planes* planes, const int* truth, Py_ssize_t i,
                Kept* out) noexcept nogil:
    out.count = planes.counts[i]
    out.truth = truth + oracle.places[i]
    out.outputs = planes.outputs + planes.first_output[i]


cdef inline void prefetch(const Oracle* oracle, const Planes* planes, Py_ssize_t i) noexcept nogil:
    """Let the processor fetch the block of example i, which is not near that of the one before."""
    cdef long count = planes.counts[i]
    prefetch_row(planes.alpha + planes.first[i], count)
    prefetch_row(planes.losses + planes.first[i], count)
    prefetch_row(<const double*>(planes.outputs + planes.first_output[i]),
                 count * output_size(oracle, i) // 2)
    if not planes.exact:
        prefetch_row(planes.products + planes.first_product[i], count * planes.rooms[i])


cdef inline bint make_room(const Oracle* oracle, Planes* planes, Py_ssize_t i,
                     int least) noexcept nogil:
    """Give example i a block for at least ``least`` planes; return False if an arena is full."""
    cdef int before = planes.rooms[i], count = planes.counts[i], room = before, k, l
    cdef Py_ssize_t size = output_size(oracle, i)
    cdef long long plane = planes.used[0], output = planes.used[1], product = planes.used[2]
    cdef long long old
    if least <= before:
        return True
    while room < least:
        room = max(2, ROOMIER * room)
    if (room > planes.widest or plane + room > planes.plane_room or output + room * size > planes.output_room or (
            not planes.exact and product + <long long>room * room > planes.product_room)):
        return False
    old = planes.first[i]
    for k in range(count):
        planes.alpha[plane + k] = planes.alpha[old + k]
        planes.losses[plane + k] = planes.losses[old + k]
        planes.idle[plane + k] = planes.idle[old + k]
    memmove(planes.outputs + output, planes.outputs + planes.first_output[i],
            count * size * sizeof(int))
    if not planes.exact:
        for k in range(count):
            for l in range(count):
                planes.products[product + k * room + l] = (
                    planes.products[planes.first_product[i] + k * before + l])
        planes.used[2] += <long long>room * room
    planes.first[i], planes.first_output[i], planes.first_product[i] = plane, output, product
    planes.used[0] += room
    planes.used[1] += room * size
    planes.rooms[i] = room
    return True


cdef inline void drop_idle(const Oracle* oracle, Planes* planes, Py_ssize_t i, int age) noexcept nogil:
    """Drop the planes of example i whose multiplier has been 0 for ``age`` visits."""
    cdef int count = planes.counts[i], room = planes.rooms[i], left = 0, k, l, m
    cdef Py_ssize_t size = output_size(oracle, i)
    cdef long long first = planes.first[i]
    cdef int* outputs = planes.outputs + planes.first_output[i]
    cdef double* products = planes.products + planes.first_product[i]
    for k in range(count):
        if planes.alpha[first + k] == 0.0 and planes.idle[first + k] >= age:
            continue
        if left < k:
            planes.alpha[first + left] = planes.alpha[first + k]
            planes.losses[first + left] = planes.losses[first + k]
            planes.idle[first + left] = planes.idle[first + k]
            memmove(outputs + left * size, outputs + k * size, size * sizeof(int))
            if not planes.exact:
                for l in range(count):
                    products[left * room + l] = products[k * room + l]
                for m in range(count):
                    products[m * room + left] = products[m * room + k]
        left += 1
    planes.counts[i] = left
