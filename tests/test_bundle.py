"""The bundle method against every plane enumerated, for all scales of C and features."""

import numpy as np
import pytest
import toy

from lssvm.executors import DataOracle, Executor
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.qp import SimplexQP


def prepared(seed, max_planes=300, method="auto", **sizes):
    app, pairs = toy.random_problem(seed, **sizes)
    oracle = DataOracle(app, pairs, Executor(1))
    completion = app.start(pairs, np.random.default_rng(seed))
    bundle = Bundle(
        np.zeros(app.tables.shape[-1]), completion, SimplexQP(method), max_planes=max_planes
    )
    return app, pairs, oracle, bundle


def primal_at(w, oracle, completion, C):
    plane, _ = oracle.augmented(w)
    return 0.5 * w @ w + C * (plane - completion).value(w)


@pytest.mark.parametrize("C", [1e-3, 1e-1, 1e1, 1e3, 1e5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("signal", [0.0, 3.0])
def test_lower_optimum_and_primal_are_in_order_and_agree(C, scale, signal):
    pytest.importorskip("clarabel")
    app, pairs, oracle, bundle = prepared(1, n=20, d=6, scale=scale, signal=signal)
    solution = bundle.minimise(oracle, C, lambda primal: 1e-7 * primal)
    _, w = toy.convex_optimum(app, pairs, bundle.completion, C)
    optimum = primal_at(w, oracle, bundle.completion, C)
    assert solution.certified
    assert solution.gap <= 1e-6
    assert solution.lower <= optimum
    assert solution.primal == pytest.approx(optimum, rel=1e-6)
    assert solution.primal == pytest.approx(
        primal_at(solution.w, oracle, bundle.completion, C), rel=1e-12
    )


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0])
def test_almost_zero_solutions_are_certified(C):
    _, _, oracle, bundle = prepared(3, scale=1e-3)
    solution = bundle.minimise(oracle, C, lambda primal: 1e-8 * primal)
    assert solution.gap <= 1e-8
    assert 0.0 < np.linalg.norm(solution.w) <= C


def test_a_problem_whose_optimum_is_zero_has_gap_zero():
    app, pairs, _, bundle = prepared(0)
    app.losses[:] = 0.0
    oracle = DataOracle(app, pairs, Executor(1))
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-9)
    assert solution.lower == 0.0
    assert solution.primal <= 1e-9
    assert solution.converged


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_never_passes_the_primal_and_the_cuts_never_pass_the_sum(seed):
    app, pairs, oracle, bundle = prepared(seed)
    rng = np.random.default_rng(seed)
    seen = []

    def between(gap, goal):
        assert gap >= 0.0
        seen.append(bundle.lower)

    for C in (0.1, 10.0):
        bundle.minimise(oracle, C, lambda primal: 1e-6 * primal, between=between)
        for w in rng.normal(size=(10, 5)):
            plane, _ = oracle.augmented(w)
            highest = (bundle.planes.dots(w) + bundle.planes.losses).max()
            assert highest <= plane.value(w) + 1e-9 * abs(plane.value(w))
        bundle.complete(app.completed(rng.normal(size=5), pairs))
    assert len(seen) > 20


@pytest.mark.parametrize("seed", range(3))
def test_cuts_made_for_one_completion_are_exact_for_another(seed):
    app, pairs, oracle, bundle = prepared(seed, n=15)
    bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    other = app.completed(np.random.default_rng(seed).normal(size=5), pairs)
    bundle.complete(other)
    warm = bundle.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    fresh = Bundle(np.zeros(5), other, SimplexQP())
    cold = fresh.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    assert warm.primal == pytest.approx(cold.primal, rel=3e-8)
    differences = bundle.planes.gradients - other.gradient
    np.testing.assert_allclose(bundle.gram[1:, 1:], differences @ differences.T, rtol=1e-9)


def test_few_planes_are_enough_and_the_incumbents_own_stays():
    _, _, oracle, bundle = prepared(2, max_planes=8, n=30, d=10)
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert len(bundle.planes) <= 8
    assert solution.gap <= 1e-4
    own, _ = oracle.augmented(bundle.w)
    np.testing.assert_allclose(bundle.planes.gradients[bundle.row], own.gradient)


def test_a_limit_on_passes_is_kept_and_said():
    _, _, oracle, bundle = prepared(2, n=30)
    solution = bundle.minimise(oracle, 10.0, lambda primal: 1e-9 * primal, max_passes=7)
    assert bundle.asked == 7
    assert not solution.converged
    assert solution.gap > 1e-9


def test_osqp_alone_reaches_the_gap():
    _, _, oracle, bundle = prepared(4, method="osqp", n=30)
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert solution.converged
    assert bundle.qp.osqp_calls > 0


class Unbounded:
    """An oracle whose planes are valid, and that knows no upper bound."""

    def __init__(self, oracle):
        self.oracle = oracle

    def augmented(self, w):
        return self.oracle.augmented(w)[0], np.inf

    def completed(self, w):
        return self.oracle.completed(w)


def test_without_an_upper_bound_nothing_is_certified():
    _, _, oracle, bundle = prepared(0)
    solution = bundle.minimise(Unbounded(oracle), 1.0, lambda primal: 1e-3 * primal)
    assert not solution.certified
    assert np.isfinite(solution.primal)


def test_a_start_with_tied_outputs_is_left():
    _, _, oracle, bundle = prepared(0)
    solution = bundle.minimise(oracle, 1e-3, lambda primal: 0.5 * primal)
    assert np.any(solution.w)
