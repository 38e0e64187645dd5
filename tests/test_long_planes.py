"""Sparse stacks of planes: the same answers as dense ones, without copies when they grow."""

import json

import numpy as np
import pytest
from toy import random_problem

from lssvm.errors import ModelError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import Plane, Planes
from lssvm.solvers import long_planes
from lssvm.solvers.bundle import Bundle, CuttingPlane
from lssvm.solvers.long_planes import LongPlanes
from lssvm.solvers.proximal import Proximal
from lssvm.solvers.qp import SimplexQP

D = 40


def stacks(seed, count=7):
    """The same planes in both stacks; some differ from the origin in few coordinates."""
    rng = np.random.default_rng(seed)
    origin = rng.integers(-8, 8, size=D) / 8
    long, dense = LongPlanes(origin), Planes(D)
    for k in range(count):
        gradient = origin + (rng.random(D) < (0.1, 0.5, 1.0)[k % 3]) * rng.integers(-8, 9, size=D)
        plane = Plane(gradient, float(rng.integers(0, 9)))
        long.append(plane)
        dense.append(plane)
    return long, dense, rng


@pytest.mark.parametrize("seed", range(5))
def test_both_stacks_answer_alike(seed):
    long, dense, rng = stacks(seed)
    for kept in (np.arange(7), np.array([0, 2, 3, 6])):
        long.keep(kept)
        dense.keep(kept)
        other = rng.integers(-8, 8, size=D) / 8
        w = rng.integers(-8, 8, size=D) / 8
        some = np.array([len(kept) - 1, 0])
        np.testing.assert_array_equal(long.losses, dense.losses)
        np.testing.assert_array_equal(long.dots(w), dense.dots(w))
        np.testing.assert_array_equal(long.dots(w, some), dense.dots(w, some))
        np.testing.assert_array_equal(long.dots_above(other, w), dense.dots_above(other, w))
        np.testing.assert_array_equal(long.gram(other), dense.gram(other))
        for row in range(len(kept)):
            np.testing.assert_array_equal(long.plane(row).gradient, dense.plane(row).gradient)
            assert long.plane(row).loss == dense.plane(row).loss
        coefficients = rng.integers(-8, 8, size=len(kept)) / 8
        ours, theirs = long.combine(coefficients), dense.combine(coefficients)
        np.testing.assert_array_equal(ours.gradient, theirs.gradient)
        assert ours.loss == theirs.loss


def test_a_row_takes_the_memory_of_what_differs():
    origin = np.ones(100_000)
    stack = LongPlanes(origin)
    empty = stack.nbytes
    gradient = origin.copy()
    gradient[:100] = 3.0
    stack.append(Plane(gradient, 1.0))
    assert stack.nbytes - empty == 8 + 100 * 12
    stack.append(Plane(2.0 * origin, 1.0))
    assert stack.nbytes - empty == 16 + 100 * 12 + origin.nbytes


@pytest.mark.parametrize("kind", [Bundle, CuttingPlane, Proximal])
@pytest.mark.parametrize("seed", range(3))
def test_a_bundle_on_a_sparse_stack_reaches_the_same_optimum(kind, seed, monkeypatch):
    found = []
    for long in (1, 10**9):
        monkeypatch.setattr(long_planes, "LONG", long)
        application, examples = random_problem(seed, n=20, d=6)
        oracle = DataOracle(application, examples, Executor())
        completion = application.completed(np.zeros(6), examples)
        bundle = kind(np.zeros(6), completion, SimplexQP(), max_planes=12)
        bundle.measure_from(completion)
        first = bundle.minimise(oracle, 1.0, lambda primal: 1e-7 * primal)
        other = np.random.default_rng(seed).normal(size=6)
        bundle.measure_from(application.completed(other, examples))
        second = bundle.minimise(oracle, 1.0, lambda primal: 1e-7 * primal)
        assert isinstance(bundle.planes, LongPlanes) == (long == 1)
        np.testing.assert_allclose(
            bundle.gram[1:, 1:], bundle.planes.gram(bundle.completion.gradient), atol=1e-9
        )
        found.append((first, second))
    for ours, theirs in zip(*found, strict=True):
        assert ours.primal == pytest.approx(theirs.primal, rel=2e-7)
        assert ours.gap <= 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_a_stored_stack_is_the_same(seed):
    long, _, rng = stacks(seed)
    again = LongPlanes.restored(long.state(), D)
    w, other = rng.normal(size=D), rng.normal(size=D)
    np.testing.assert_array_equal(again.dots_above(other, w), long.dots_above(other, w))
    np.testing.assert_array_equal(again.gram(other), long.gram(other))
    for name, array in long.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


WRONG = {
    "a row that is longer than its values": ("row_sizes", lambda a: a + (a == a.max())),
    "an index beyond the weights": ("indices", lambda a: np.where(a == a.max(), D, a)),
    "an index twice": ("indices", lambda a: np.r_[a[1], a[1:]].astype(np.int32)),
    "a value too few": ("gradients", lambda a: a[:-1]),
    "an infinite value": ("gradients", lambda a: np.r_[np.inf, a[1:]]),
    "an origin of another length": ("origin", lambda a: a[:-1]),
    "indices of another type": ("indices", lambda a: a.astype(np.int64)),
}


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_stored_stack_that_cannot_be_is_refused(wrong):
    name, damage = WRONG[wrong]
    state = stacks(0)[0].state()
    with pytest.raises(ModelError):
        LongPlanes.restored({**state, name: damage(state[name])}, D)


class _StoppedError(Exception):
    """The run stops here."""


@pytest.mark.parametrize("kind", [Bundle, Proximal])
def test_a_bundle_that_is_stored_on_the_way_ends_in_the_same_bits(kind, monkeypatch):
    monkeypatch.setattr(long_planes, "LONG", 1)
    application, examples = random_problem(3, n=20, d=6)
    oracle = DataOracle(application, examples, Executor())
    completion = application.completed(np.zeros(6), examples)

    def new():
        return kind(np.zeros(6), completion, SimplexQP(), max_planes=12)

    whole, parted = new(), new()
    whole.measure_from(completion)
    expected = whole.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    parted.measure_from(completion)
    asked = 0

    def between(gap, goal):
        nonlocal asked
        asked += 1
        if asked == 9:
            raise _StoppedError

    with pytest.raises(_StoppedError):
        parted.minimise(oracle, 1.0, lambda primal: 1e-8 * primal, between=between)
    values, arrays = parted.state()
    again = new()
    again.restore(json.loads(json.dumps(values, default=float)), arrays)
    found = again.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    np.testing.assert_array_equal(found.w, expected.w)
    assert (found.primal, found.lower) == (expected.primal, expected.lower)
