"""Batches of examples that are visited at one w, by several threads; w changes between them.

What threads do with the examples of a batch depends on w at its beginning and on what is kept of
the example alone; then w takes what each asked for, in the order of the examples. So the threads
change no bit.
"""

from _examples cimport Oracle
from _planes cimport Planes, prefetch
from _visits cimport Work, examine, finish, make_room_for_one, rest

cdef extern from "team.h" nogil:
    void team_publish(long long* team, long long count)
    long team_take(long long* team)
    void team_done(long long* team)
    void team_wait(long long* team)
    long team_next(long long* team)
    void team_end(long long* team)

cdef struct Batch:
    int size  # examples at most
    int count
    Py_ssize_t next  # the place in the order behind it
    int cached  # read by the others once there are items
    int* examples
    int* found  # (size,) what ``examine`` returned
    double* gaps  # (size,)
    double* ascents  # (size, 2) slopes and curvatures
    double* reals  # (size, 3 widest) room for planes
    int* outputs  # (size, longest)
    Py_ssize_t widest, longest
    long long* team


cdef inline int point_to_batch(Batch* out, planes) except -1:
    """Point to room that ``planes`` has for a batch, see ``ExamplePlanes.hold``."""
    cdef double[::1] reals = planes.batch_reals
    cdef int[::1] integers = planes.batch_integers
    cdef long long[::1] team = planes.team
    cdef int size = planes.batch
    out.size, out.count, out.widest, out.longest = size, 0, planes.widest, planes.longest
    out.gaps, out.ascents, out.reals = &reals[0], &reals[size], &reals[3 * size]
    out.examples, out.found, out.outputs = &integers[0], &integers[size], &integers[2 * size]
    out.team = &team[0]
    return 0


cdef inline int gather(const Oracle* oracle, Planes* planes, const int* order, Py_ssize_t place,
                       Py_ssize_t stop, Batch* batch) noexcept nogil:
    """The next examples that do not rest, with room for what they may find.

    Returns 1, and has let no example rest less, where the arena is full.
    """
    cdef Py_ssize_t at = place, p
    cdef int i, k
    batch.count = 0
    while at < stop and batch.count < batch.size:
        i = order[at]
        at += 1
        if planes.limits[i] <= 0.0:
            continue
        if planes.counts[i] > 0 if batch.cached else planes.rests[i] == 0:
            batch.examples[batch.count] = i
            batch.count += 1
            prefetch(oracle, planes, i)
    batch.next = at
    if batch.cached:
        return 0
    for k in range(batch.count):
        if make_room_for_one(oracle, planes, batch.examples[k]):
            return 1
    for p in range(place, at):
        if planes.limits[order[p]] > 0.0 and planes.rests[order[p]] > 0:
            planes.rests[order[p]] -= 1
    return 0


cdef inline void point_to_slot(const Batch* batch, long slot, Work* work) noexcept nogil:
    work.heights = batch.reals + slot * 3 * batch.widest
    work.moves = work.heights + batch.widest
    work.found = batch.outputs + slot * batch.longest


cdef inline void visit(const Oracle* oracle, Planes* planes, const int* truth, Batch* batch,
                       long slot, Work* work) noexcept nogil:
    """The part of an example's visit that leaves w alone."""
    point_to_slot(batch, slot, work)
    batch.found[slot] = examine(oracle, planes, truth, batch.examples[slot], batch.cached, work)
    batch.gaps[slot] = work.gap
    batch.ascents[2 * slot], batch.ascents[2 * slot + 1] = work.slope, work.curvature


cdef inline int visit_all(const Oracle* oracle, Planes* planes, const int* truth, Batch* batch,
                          bint helped, double small, Work* work, double* gaps) noexcept nogil:
    """Visit the examples of a batch, then change w. Returns 0 or what an oracle gave up with.

    helped : whether other threads look for items; gaps : the sum of those seen is added
    """
    cdef int slot, i, status = 0
    cdef bint late = False
    if helped and batch.count > 1:
        team_publish(batch.team, batch.count)
        slot = <int>team_take(batch.team)
        while slot >= 0:
            visit(oracle, planes, truth, batch, slot, work)
            team_done(batch.team)
            slot = <int>team_take(batch.team)
        team_wait(batch.team)
    else:
        for slot in range(batch.count):
            visit(oracle, planes, truth, batch, slot, work)
    for slot in range(batch.count):
        i, status = batch.examples[slot], batch.found[slot]
        if status >= 0:
            point_to_slot(batch, slot, work)
            work.slope, work.curvature = batch.ascents[2 * slot], batch.ascents[2 * slot + 1]
            status = finish(oracle, planes, truth, i, batch.cached, status == 1, late, work)
            late = late or batch.found[slot] == 1
        if status < 0:
            batch.examples[0] = i
            return status
        gaps[0] += batch.gaps[slot]
        if not batch.cached:
            rest(planes, i, small)
    return 0


cdef inline void follow(const Oracle* oracle, Planes* planes, const int* truth, Batch* batch,
                        Work* work) noexcept nogil:
    """Help with the batches of another thread until it ends."""
    cdef int slot = <int>team_next(batch.team)
    while slot >= 0:
        visit(oracle, planes, truth, batch, slot, work)
        team_done(batch.team)
        slot = <int>team_next(batch.team)
