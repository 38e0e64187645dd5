"""Products, steps and rounds over planes kept by example, against the definitions."""

import numpy as np
import pytest
from scipy import sparse

from lssvm.kernels import _sweep
from lssvm.kernels.dual_arrays import PlaneArrays
from lssvm.solvers.working_sets import WorkingSets


def random_sets(rng, n=4, each=3, d=6, labels=0):
    """All numbers multiples of 1/8; with labels a kernel over two rows."""
    gram = np.zeros((0, 0))
    if labels:
        rows = rng.integers(-8, 9, (2, 3)) / 8
        gram = rows @ rows.T
    sets = WorkingSets(rng.integers(1, 9, n) / 8, d, 1, gram, labels)
    for _ in range(each):
        planes = rng.integers(-8, 9, (n, d)) / 8 * (rng.random((n, d)) < 0.6)
        sets.append(np.arange(n), sparse.csr_array(planes), rng.integers(0, 17, n) / 8)
    return sets


def test_products_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sets = random_sets(rng, d=int(rng.integers(1, 12)))
        rows = sets.matrix(np.arange(len(sets))).toarray()
        planes = rng.integers(0, len(sets), rng.integers(0, 20))
        vector, coefficients = (rng.integers(-8, 9, k) / 8 for k in (rows.shape[1], len(planes)))
        np.testing.assert_array_equal(sets.dots(planes, vector), rows[planes] @ vector)
        np.testing.assert_array_equal(
            sets.combined(planes, coefficients), coefficients @ rows[planes]
        )


def test_products_refuse_arrays_that_do_not_fit():
    sets = random_sets(np.random.default_rng(0))
    arena = PlaneArrays(sets.indices, sets.values, sets.column("begins"), sets.column("ends"))
    planes = np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match="planes and their products"):
        _sweep.dots(planes, arena, np.zeros(6), np.zeros(3))
    with pytest.raises(ValueError, match="planes and their coefficients"):
        _sweep.combine(planes, arena, np.zeros(3), np.zeros(6))
    with pytest.raises(ValueError, match="no plane 99"):
        _sweep.dots(np.array([0, 99], dtype=np.int32), arena, np.zeros(6), np.zeros(2))


def test_rounds_end_at_the_goal_or_at_their_number():
    sets = random_sets(np.random.default_rng(2), n=20, each=6)
    sets.settle(1, 0.0)
    first = sets.gap()
    assert first > 1e-6
    sets.settle(1000, 1e-9 * sets.dual())
    assert sets.gap() <= 1e-9 * sets.dual() < first


def test_planes_are_counted_as_they_come_whatever_is_dropped():
    sets = random_sets(np.random.default_rng(3))
    sets.sweep(np.arange(4), 2)
    sets.evict(1)
    assert len(sets) < sets.added == 12
    other = WorkingSets(sets.limits, 6)
    other.restore(sets.state())
    assert other.added == 12
