"""Exact and coordinate-wise steps for a concave quadratic over the unit simplex.

    maximise  o · β − ½ β' G β   over  β ≥ 0, Σ β = 1

with G symmetric and positive semidefinite. The residual r = o − G β is the gradient; the
gap max(r) − β · r bounds how far β is from the maximum. Ties go to the lowest index.
"""

from libc.math cimport sqrt


def residual(const double[:, ::1] gram, const double[::1] offsets, const double[::1] beta,
             double[::1] r):
    """Write r = o − G β into r; return the gap max(r) − β · r."""
    _check(gram, offsets, beta, r)
    cdef double gap
    with nogil:
        gap = _residual(gram, offsets, beta, r)
    return gap


def pairwise(const double[:, ::1] gram, const double[::1] offsets, double[::1] beta,
             double[::1] r, double tolerance, Py_ssize_t max_steps):
    """Pairwise coordinate ascent: move mass from one multiplier to another, in place.

    The receiving index has the largest residual, the giving one the largest gain. Stops
    when the gap is at most ``tolerance`` or after ``max_steps``; r is left consistent
    with beta. Returns the gap.
    """
    _check(gram, offsets, beta, r)
    cdef Py_ssize_t k = beta.shape[0], step, i, j, t
    cdef double gap, best, gain, slope, curvature, move
    with nogil:
        gap = _residual(gram, offsets, beta, r)
        for step in range(max_steps):
            if gap <= tolerance:
                break
            i = 0
            for t in range(1, k):
                if r[t] > r[i]:
                    i = t
            j = -1
            best = 0.0
            for t in range(k):
                if beta[t] > 0.0 and t != i:
                    slope = r[i] - r[t]
                    curvature = gram[i, i] + gram[t, t] - 2.0 * gram[i, t]
                    if slope > 0.0:
                        if slope < curvature * beta[t]:
                            gain = 0.5 * slope * slope / curvature
                        else:
                            gain = beta[t] * (slope - 0.5 * curvature * beta[t])
                        if gain > best:
                            best = gain
                            j = t
            if j < 0:
                break
            slope = r[i] - r[j]
            curvature = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
            if slope < curvature * beta[j]:
                move = slope / curvature
                beta[j] -= move
            else:
                move = beta[j]
                beta[j] = 0.0
            beta[i] += move
            gap = 0.0
            for t in range(k):
                r[t] -= move * (gram[i, t] - gram[j, t])
                gap -= beta[t] * r[t]
            gap += _largest(r)
        gap = _residual(gram, offsets, beta, r)
    return gap


def active_set(const double[:, ::1] gram, const double[::1] offsets, double[::1] beta,
               double[::1] r, double tolerance, Py_ssize_t max_steps):
    """Maximise exactly by an active-set method, in place, starting from beta.

    The support is one reference index p (the largest multiplier) and a set S. The Hessian
    of the differences from p over S is kept as a Cholesky factor, updated as indices enter
    and leave. An index whose difference depends on those of S is exchanged for one of them
    along the null direction. Measuring from the largest multiplier keeps the small ones
    exact in relative terms even where they are 1e-12 of it. Returns the gap, with r
    consistent with beta.
    """
    _check(gram, offsets, beta, r)
    cdef _Support support = _Support(gram, offsets, beta, r)
    cdef double gap
    with nogil:
        gap = support.maximise(tolerance, max_steps)
    return gap


def _check(gram, offsets, beta, r):
    k = beta.shape[0]
    if k == 0 or gram.shape[0] != k or gram.shape[1] != k or offsets.shape[0] != k or r.shape[0] != k:
        raise ValueError(
            f"Gram matrix {tuple(gram.shape)[:2]}, offsets ({offsets.shape[0]},), multipliers ({k},) "
            f"and residual ({r.shape[0]},) do not fit; expected (k, k), (k,), (k,), (k,) with k > 0"
        )


cdef double _residual(const double[:, ::1] gram, const double[::1] offsets,
                      const double[::1] beta, double[::1] r) noexcept nogil:
    cdef Py_ssize_t k = beta.shape[0], i, j
    cdef double mean = 0.0
    for i in range(k):
        r[i] = offsets[i]
    for j in range(k):
        if beta[j] != 0.0:
            for i in range(k):
                r[i] -= beta[j] * gram[j, i]
    for i in range(k):
        mean += beta[i] * r[i]
    return _largest(r) - mean


cdef double _largest(const double[::1] r) noexcept nogil:
    cdef Py_ssize_t i
    cdef double largest = r[0]
    for i in range(1, r.shape[0]):
        if r[i] > largest:
            largest = r[i]
    return largest


cdef class _Support:
    """The support of beta, its reference index and the factor of its Hessian."""

    cdef const double[:, ::1] gram
    cdef const double[::1] offsets
    cdef double[::1] beta
    cdef double[::1] r
    cdef double[:, ::1] factor    # lower triangular, (count, count)
    cdef double[::1] column       # L⁻¹ h of the entering index
    cdef double[::1] direction    # over the support S
    cdef Py_ssize_t[::1] members  # S, in the order of the factor
    cdef Py_ssize_t[::1] where    # place of an index in S, or -1
    cdef Py_ssize_t count
    cdef Py_ssize_t reference

    def __init__(self, gram, offsets, beta, r):
        from array import array

        k = beta.shape[0]
        self.gram, self.offsets, self.beta, self.r = gram, offsets, beta, r
        self.factor = memoryview(bytearray(8 * k * k)).cast("d", (k, k))
        self.column = array("d", bytes(8 * k))
        self.direction = array("d", bytes(8 * k))
        integer = "q" if sizeof(Py_ssize_t) == 8 else "i"
        self.members = array(integer, bytes(sizeof(Py_ssize_t) * k))
        self.where = array(integer, [-1]) * k
        self.count = 0
        self.reference = 0

    cdef double maximise(self, double tolerance, Py_ssize_t max_steps) noexcept nogil:
        cdef Py_ssize_t step, entering, k = self.beta.shape[0], i
        cdef double gap
        gap = _residual(self.gram, self.offsets, self.beta, self.r)
        self.refer()
        for step in range(max_steps):
            self.climb()
            gap = _residual(self.gram, self.offsets, self.beta, self.r)
            if gap <= tolerance:
                break
            entering = -1
            for i in range(k):
                if i != self.reference and self.where[i] < 0:
                    if entering < 0 or self.r[i] > self.r[entering]:
                        entering = i
            if entering < 0 or self.r[entering] <= self.r[self.reference]:
                break  # only rounding is left
            self.enter(entering)
        return gap

    cdef inline double hessian(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t p = self.reference
        return (self.gram[i, j] - self.gram[i, p]) - (self.gram[p, j] - self.gram[p, p])

    cdef void refer(self) noexcept nogil:
        """Measure from the largest multiplier and factor the rest of the support anew."""
        cdef Py_ssize_t i, k = self.beta.shape[0]
        cdef double rest
        self.reference = 0
        for i in range(1, k):
            if self.beta[i] > self.beta[self.reference]:
                self.reference = i
        self.count = 0
        for i in range(k):
            self.where[i] = -1
        for i in range(k):
            # An exchange may have made all of this anew, with another reference.
            if self.beta[i] > 0.0 and i != self.reference and self.where[i] < 0:
                self.enter(i)
        rest = 1.0
        for i in range(k):
            if i != self.reference:
                rest -= self.beta[i]
        self.beta[self.reference] = rest

    cdef double project(self, Py_ssize_t entering) noexcept nogil:
        """Fill column with L⁻¹ h; return the pivot that the entering index would have."""
        cdef Py_ssize_t a, b
        cdef double pivot = self.hessian(entering, entering), value
        for a in range(self.count):
            value = self.hessian(self.members[a], entering)
            for b in range(a):
                value -= self.factor[a, b] * self.column[b]
            self.column[a] = value / self.factor[a, a]
            pivot -= self.column[a] * self.column[a]
        return pivot

    cdef void enter(self, Py_ssize_t entering) noexcept nogil:
        """Add an index to S, or exchange it for one of S where it depends on them."""
        cdef double pivot = self.project(entering)
        cdef Py_ssize_t a
        # Each exchange takes one index out of the support, so this ends.
        while pivot <= 1e-13 * self.hessian(entering, entering):
            if not self.exchange(entering):
                return
            pivot = self.project(entering)
        for a in range(self.count):
            self.factor[self.count, a] = self.column[a]
        self.factor[self.count, self.count] = sqrt(pivot)
        self.members[self.count] = entering
        self.where[entering] = self.count
        self.count += 1

    cdef bint exchange(self, Py_ssize_t entering) noexcept nogil:
        """Move along the null direction to the boundary; False if the entering index left."""
        cdef Py_ssize_t a, b, blocking = -1, p = self.reference
        cdef double value, slope, sign, reach, at_reference = -1.0, length = -1.0
        for a in range(self.count - 1, -1, -1):
            value = -self.column[a]
            for b in range(a + 1, self.count):
                value -= self.factor[b, a] * self.direction[b]
            self.direction[a] = value / self.factor[a, a]
        slope = self.r[entering] - self.r[p]
        for a in range(self.count):
            slope += self.direction[a] * (self.r[self.members[a]] - self.r[p])
            at_reference -= self.direction[a]
        sign = 1.0 if slope >= 0.0 or self.beta[entering] == 0.0 else -1.0
        for a in range(self.count):
            if sign * self.direction[a] < 0.0:
                reach = self.beta[self.members[a]] / -(sign * self.direction[a])
                if length < 0.0 or reach < length:
                    length = reach
                    blocking = self.members[a]
        if sign * at_reference < 0.0:
            reach = self.beta[p] / -(sign * at_reference)
            if length < 0.0 or reach < length:
                length = reach
                blocking = p
        if sign < 0.0 and (length < 0.0 or self.beta[entering] < length):
            length = self.beta[entering]
            blocking = entering
        if blocking < 0:
            return False
        for a in range(self.count):
            self.beta[self.members[a]] += sign * length * self.direction[a]
        self.beta[p] += sign * length * at_reference
        self.beta[entering] += sign * length
        self.beta[blocking] = 0.0
        _residual(self.gram, self.offsets, self.beta, self.r)
        if blocking == entering:
            return False
        self.leave(blocking)
        return self.where[entering] < 0 and entering != self.reference

    cdef void leave(self, Py_ssize_t index) noexcept nogil:
        """Take an index out of the support, keeping the factor triangular by rotations."""
        cdef Py_ssize_t place, a, b
        cdef double c, s, x, y, norm
        if index == self.reference:
            self.refer()
            return
        place = self.where[index]
        self.where[index] = -1
        for a in range(place, self.count - 1):
            self.members[a] = self.members[a + 1]
            self.where[self.members[a]] = a
            for b in range(a + 2):
                self.factor[a, b] = self.factor[a + 1, b]
        self.count -= 1
        for a in range(place, self.count):
            x = self.factor[a, a]
            y = self.factor[a, a + 1]
            norm = sqrt(x * x + y * y)
            c = x / norm
            s = y / norm
            for b in range(a, self.count):
                x = self.factor[b, a]
                y = self.factor[b, a + 1]
                self.factor[b, a] = c * x + s * y
                self.factor[b, a + 1] = c * y - s * x

    cdef void climb(self) noexcept nogil:
        """Newton steps on the support until its maximum is interior or nothing is left."""
        cdef Py_ssize_t a, b, blocking, p, refinements = 0
        cdef double value, at_reference, length, reach
        while self.count > 0:
            p = self.reference
            for a in range(self.count):
                value = self.r[self.members[a]] - self.r[p]
                for b in range(a):
                    value -= self.factor[a, b] * self.direction[b]
                self.direction[a] = value / self.factor[a, a]
            at_reference = 0.0
            for a in range(self.count - 1, -1, -1):
                value = self.direction[a]
                for b in range(a + 1, self.count):
                    value -= self.factor[b, a] * self.direction[b]
                self.direction[a] = value / self.factor[a, a]
                at_reference -= self.direction[a]
            length = 1.0
            blocking = -1
            for a in range(self.count):
                if self.direction[a] < 0.0:
                    reach = self.beta[self.members[a]] / -self.direction[a]
                    if reach < length:
                        length = reach
                        blocking = self.members[a]
            if at_reference < 0.0:
                reach = self.beta[p] / -at_reference
                if reach < length:
                    length = reach
                    blocking = p
            value = 0.0
            for a in range(self.count):
                self.beta[self.members[a]] += length * self.direction[a]
                value += self.beta[self.members[a]]
            self.beta[p] = 1.0 - value
            if blocking >= 0:
                self.beta[blocking] = 0.0
                if self.beta[p] < 0.0:
                    self.beta[p] = 0.0
                _residual(self.gram, self.offsets, self.beta, self.r)
                self.leave(blocking)
                continue
            _residual(self.gram, self.offsets, self.beta, self.r)
            refinements += 1
            if refinements == 2:
                break
