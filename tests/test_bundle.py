"""The bundle method against every plane enumerated, for all scales of C and features."""

import numpy as np
import pytest
import toy

from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import Plane
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
    assert solution.lower <= optimum * (1 + 1e-12)
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
        bundle.measure_from(app.completed(rng.normal(size=5), pairs))
    assert len(seen) > 20


@pytest.mark.parametrize("seed", range(3))
def test_cuts_made_for_one_completion_are_exact_for_another(seed):
    app, pairs, oracle, bundle = prepared(seed, n=15)
    bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    other = app.completed(np.random.default_rng(seed).normal(size=5), pairs)
    bundle.measure_from(other)
    warm = bundle.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    fresh = Bundle(np.zeros(5), other, SimplexQP())
    cold = fresh.minimise(oracle, 1.0, lambda primal: 1e-8 * primal)
    assert warm.primal == pytest.approx(cold.primal, rel=3e-8)
    differences = bundle.planes.gradients - other.gradient
    np.testing.assert_allclose(bundle.gram[1:, 1:], differences @ differences.T, rtol=1e-9)


def test_few_planes_are_enough_and_the_incumbents_own_stays():
    _, _, oracle, bundle = prepared(2, max_planes=10, n=30, d=10)
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert len(bundle.planes) <= 10
    assert solution.gap <= 1e-4
    own, _ = oracle.augmented(bundle.w)
    np.testing.assert_allclose(bundle.planes.gradients[bundle.row], own.gradient)


def test_a_limit_on_passes_is_kept_and_said():
    _, _, oracle, bundle = prepared(2, n=30)
    solution = bundle.minimise(oracle, 10.0, lambda primal: 1e-9 * primal, max_passes=7)
    assert bundle.problem_passes == 7
    assert not solution.converged
    assert solution.gap > 1e-9


def test_osqp_alone_reaches_the_gap():
    _, _, oracle, bundle = prepared(4, method="osqp", n=30)
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert solution.converged
    assert bundle.qp.osqp_calls > 0


class Approximate:
    """Planes made at a point beside w: valid, lower than the sum, with an upper bound or none."""

    def __init__(self, oracle, bounded):
        self.oracle, self.bounded, self.rng = oracle, bounded, np.random.default_rng(0)

    def look(self, w):
        self.oracle.look(w)

    def augmented(self, w):
        beside = w * (1.0 + 0.1 * self.rng.normal(size=w.shape))
        plane, _ = self.oracle.augmented(beside)
        upper = self.oracle.augmented(w)[1]
        return plane, upper + 0.01 if self.bounded else np.inf

    def completed(self, w):
        return self.oracle.completed(w)


@pytest.mark.parametrize("seed", range(5))
def test_an_upper_bound_makes_approximate_inference_certified(seed):
    _, _, exact, bundle = prepared(seed)
    solution = bundle.minimise(
        Approximate(exact, True), 1.0, lambda primal: 0.02 * primal, max_passes=300
    )
    truth = primal_at(solution.w, exact, bundle.completion, 1.0)
    assert solution.certified
    assert solution.lower <= truth <= solution.primal - 0.009


@pytest.mark.parametrize("seed", range(5))
def test_without_an_upper_bound_nothing_is_certified(seed):
    _, _, exact, bundle = prepared(seed)
    solution = bundle.minimise(
        Approximate(exact, False), 1.0, lambda primal: 1e-3 * primal, max_passes=300
    )
    assert not solution.certified
    assert solution.gap >= 0.0
    truth = primal_at(solution.w, exact, bundle.completion, 1.0)
    assert solution.primal <= truth * (1 + 1e-12)
    assert solution.primal == pytest.approx(truth, rel=0.1)


def test_the_loss_of_a_completion_counts():
    _, _, oracle, bundle = prepared(0)
    plain = bundle.minimise(oracle, 1.0, lambda primal: 1e-6 * primal)
    shifted = Bundle(
        np.zeros(5), Plane(bundle.completion.gradient, -2.0), SimplexQP()
    )  # a plane that lies 2 below the completed sum
    solution = shifted.minimise(oracle, 1.0, lambda primal: 1e-6 * primal)
    assert solution.primal == pytest.approx(plain.primal + 2.0, rel=1e-5)
    assert solution.lower == pytest.approx(plain.lower + 2.0, rel=1e-5)


def test_inference_that_is_no_maximum_is_refused():
    _, _, oracle, bundle = prepared(0)

    class Wrong:
        def augmented(self, w):
            plane = oracle.augmented(-w)[0]
            return plane, plane.value(w)

        look, refuse = oracle.look, oracle.refuse

    with pytest.raises(LssvmError, match=r"loss-augmented inference is not a maximum: .* below"):
        bundle.minimise(Wrong(), 10.0, lambda primal: 1e-6 * primal)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_with_few_planes_and_another_completion(seed):
    app, pairs, oracle, bundle = prepared(seed, max_planes=10, n=20, d=8)
    rng = np.random.default_rng(seed)
    for C in (0.3, 3.0):
        solution = bundle.minimise(oracle, C, lambda primal: 1e-3 * primal, max_passes=400)
        assert len(bundle.planes) <= 10
        _, w = toy.convex_optimum(app, pairs, bundle.completion, C)
        optimum = primal_at(w, oracle, bundle.completion, C)
        assert solution.lower <= optimum * (1 + 1e-9)
        assert optimum <= solution.primal * (1 + 1e-9)
        bundle.measure_from(app.completed(rng.normal(size=8), pairs))


def test_a_start_with_tied_outputs_is_left():
    _, _, oracle, bundle = prepared(0)
    solution = bundle.minimise(oracle, 1e-3, lambda primal: 0.5 * primal)
    assert np.any(solution.w)
