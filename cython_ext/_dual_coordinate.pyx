"""Dual coordinate ascent over outputs that are kept by example, compiled from visit to visit.

Output p of example i has the plane δ_p = Φ(x_i, p) − Φ(x_i, y_i), the loss L_p and a multiplier
α_p ≥ 0. With s_p = 1, or L_p with slack rescaling, the visits raise

    D(α) = Σ_p α_p L_p − ½‖w‖² − [norm 2] Σ_i (Σ_{p of i} α_p)² / (2 u_i),   w = −Σ_p α_p s_p δ_p

u_i = C c_i; with norm 1 Σ_{p of i} α_p ≤ u_i, and what is left of u_i is the multiplier of the
truth, whose plane is 0. A visit asks the oracle for the loss-augmented output of its example, keeps
it if it is higher than those kept, and makes a few exact pairwise steps: from the lowest plane that
has weight to the highest one (Lacoste-Julien & Jaggi, NIPS 2015; Osokin et al., ICML 2016). A sweep
does the same over what is kept alone. Inner products of the planes of one example are remembered.
Batches of examples may be visited at one w, by several threads; see ``_batches``.

Nothing is allocated here. An example's outputs lie in a block of an arena; one that is full moves to
a larger block at the arena's end, and where the arena itself is full the run returns to ask for more
room. Between two batches the state is whole: it consists of arrays.
"""

from libc.time cimport clock, CLOCKS_PER_SEC

from cpython.pycapsule cimport PyCapsule_GetPointer

from _batches cimport Batch, follow, gather, point_to_batch, team_end, visit_all
from _examples cimport Found, Kept, Oracle, unknown
from _planes cimport Planes, kept_of, make_room, output_size, point_to_planes
from _visits cimport Work, rest

cdef enum:
    BETWEEN_CLOCKS = 16  # visits
    LONG = 64  # places of an output from which the clock is read after every visit

DONE, PAUSED, FULL = 0, 1, 2

cdef Oracle* _oracle(capsule) except NULL:
    return <Oracle*>PyCapsule_GetPointer(capsule, "lssvm.example_oracle")


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


cdef int _point_work(Work* out, const Oracle* oracle, planes) except -1:
    """Point to room for the planes of one example, as many as ``widest``, and for the oracle."""
    cdef Py_ssize_t widest = planes.widest, longest = planes.longest
    reals, integers = planes.scratch(oracle.reals + 3 * widest, oracle.integers + longest)
    cdef double[::1] numbers = reals
    cdef int[::1] whole = integers
    out.heights, out.moves = &numbers[0], &numbers[widest]
    out.room.reals = &numbers[3 * widest] if oracle.reals else NULL
    out.found = &whole[0]
    out.room.integers = &whole[longest] if oracle.integers else NULL
    out.gap = 0.0
    return 0


cdef struct Course:
    const int* order
    Py_ssize_t place, stop, visited
    double small, gaps
    double until  # on the processor's clock
    Py_ssize_t unclocked  # visits since the last look at it


cdef bint _late(Course* course, int visits, Py_ssize_t longest) noexcept nogil:
    """Whether to pause after so many more visits, to outputs no longer than that."""
    course.visited += visits
    course.unclocked += visits
    if course.unclocked < BETWEEN_CLOCKS and longest < LONG:
        return False
    course.unclocked = 0
    return clock() > course.until


cdef int _solve_each(const Oracle* oracle, Planes* planes, const int* truth, Course* course,
                     Work* work) noexcept nogil:
    """The minimum over all outputs of one example after another; 1 if the arena is full."""
    cdef int i, status
    while course.place < course.stop:
        i = course.order[course.place]
        if planes.limits[i] > 0.0 and planes.rests[i] == 0:
            status = _solve(oracle, planes, truth, i, work)
            if status:
                return status
            rest(planes, i, course.small)
            course.place += 1
            if _late(course, 1, output_size(oracle, i)):
                return 0
            continue
        if planes.limits[i] > 0.0:
            planes.rests[i] -= 1
        course.place += 1
    return 0


cdef int _visit_batches(const Oracle* oracle, Planes* planes, const int* truth, Course* course,
                        Batch* batch, bint helped, Work* work) noexcept nogil:
    """One batch after another; 1 if the arena is full."""
    cdef int status, k
    cdef Py_ssize_t longest
    while course.place < course.stop:
        if gather(oracle, planes, course.order, course.place, course.stop, batch):
            return 1
        status = visit_all(oracle, planes, truth, batch, helped, course.small, work, &course.gaps)
        if status < 0:
            return status
        course.place = batch.next
        longest = 0
        for k in range(batch.count):
            longest = max(longest, output_size(oracle, batch.examples[k]))
        if _late(course, batch.count, longest):
            return 0
    return 0


def epoch(capsule, planes, const int[::1] order, Py_ssize_t place, double small, double seconds,
          bint cached):
    """Visit the examples of ``order`` from ``place`` on, with the oracle or over what is kept.

    planes : ExamplePlanes, ``helped`` if other threads call ``help_out``, which ``let_go`` ends
    small : an example with a smaller gap is left out for a while
    seconds : of the processor's time, after which to pause
    cached : whether to leave the oracle alone

    Returns DONE, PAUSED or FULL, the place that was reached, how many were visited, and the sum
    of their gaps over what is kept. Raises ValueError where the oracle cannot answer.
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Batch batch
    cdef Course course
    cdef int status
    cdef bint helped = planes.helped
    cdef const int[::1] truth = planes.truth
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    point_to_batch(&batch, planes)
    batch.cached = cached
    course.order, course.place, course.stop = &order[0], place, order.shape[0]
    course.small, course.gaps, course.visited, course.unclocked = small, 0.0, 0, 0
    course.until = clock() + seconds * CLOCKS_PER_SEC
    with nogil:
        if own.exact and not cached:
            status = _solve_each(oracle, &own, &truth[0], &course, &work)
        else:
            status = _visit_batches(oracle, &own, &truth[0], &course, &batch, helped, &work)
    if status < 0:
        example = batch.examples[0] if cached or not own.exact else order[course.place]
        raise ValueError(f"example {example}: the oracle gave up with {status}")
    found = FULL if status == 1 else DONE if course.place == course.stop else PAUSED
    return found, course.place, course.visited, course.gaps


def help_out(capsule, planes, bint cached):
    """Visit examples of the batches of an ``epoch`` in another thread until ``let_go``."""
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Batch batch
    cdef const int[::1] truth = planes.truth
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    point_to_batch(&batch, planes)
    batch.cached = cached
    with nogil:
        follow(oracle, &own, &truth[0], &batch, &work)


def let_go(long long[::1] team):
    """End ``help_out`` in all threads."""
    team_end(&team[0])


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


def completed(capsule, planes, const double[::1] w, Py_ssize_t first, Py_ssize_t last,
              int[::1] out, double[::1] scores):
    """The best outputs at w that agree with what is known of examples first .. last - 1.

    out : the outputs of all examples; scores : (n,); both written at the places of these
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Work work
    cdef int status = 0
    cdef Py_ssize_t i
    _point_work(&work, oracle, planes)
    with nogil:
        for i in range(first, last):
            status = oracle.complete(oracle.self, &w[0], i, work.room, &out[0] + oracle.places[i],
                                     &scores[i])
            if status < 0:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def combine(capsule, planes, const int[::1] truth, const double[::1] coefficients,
            const int[::1] examples, const long long[::1] first, double[::1] w):
    """w += the sum of coefficient * s * delta over the planes of some examples, in their order.

    coefficients : (m,) one for each plane; those of example i begin at place first_i
    """
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Kept kept
    cdef int status = 0, k
    cdef Py_ssize_t i, e
    cdef bint some
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        for e in range(examples.shape[0]):
            i, some = examples[e], False
            for k in range(own.counts[i]):
                work.moves[k] = coefficients[first[i] + k]
                some = some or work.moves[k] != 0.0
                if own.slack:
                    work.moves[k] *= own.losses[own.first[i] + k]
            if not some:
                continue
            kept_of(oracle, &own, &truth[0], i, &kept)
            status = oracle.add(oracle.self, &w[0], i, &kept, work.moves, work.room)
            if status < 0:
                break
    if status < 0:
        raise ValueError(f"example {i}: the oracle gave up with {status}")


def dots(capsule, planes, const int[::1] truth, const double[::1] w, const int[::1] examples,
         const long long[::1] first, double[::1] out):
    """s * delta . w of all planes of some examples, written from place first_i of ``out`` on."""
    cdef Oracle* oracle = _oracle(capsule)
    cdef Planes own
    cdef Work work
    cdef Kept kept
    cdef int status = 0, k
    cdef Py_ssize_t i, e
    point_to_planes(&own, planes)
    _point_work(&work, oracle, planes)
    with nogil:
        for e in range(examples.shape[0]):
            i = examples[e]
            if own.counts[i] == 0:
                continue
            kept_of(oracle, &own, &truth[0], i, &kept)
            status = oracle.heights(oracle.self, &w[0], i, &kept, work.room, work.heights)
            if status < 0:
                break
            for k in range(own.counts[i]):
                out[first[i] + k] = work.heights[k]
                if own.slack:
                    out[first[i] + k] *= own.losses[own.first[i] + k]
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
