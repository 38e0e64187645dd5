"""The proximal bundle against planes enumerated, its QP against SciPy, and the other bundle."""

import itertools

import numpy as np
import pytest
import toy
from scipy import optimize

from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import Plane
from lssvm.solvers import proximal
from lssvm.solvers.proximal import Proximal
from lssvm.solvers.qp import SimplexQP
from lssvm.training.session import learn_on


def prepared(seed, max_planes=300, method="auto", **sizes):
    app, pairs = toy.random_problem(seed, **sizes)
    oracle = DataOracle(app, pairs, Executor(1))
    completion = app.start(pairs, np.random.default_rng(seed))
    d = app.tables.shape[-1]
    return (
        app,
        pairs,
        oracle,
        Proximal(np.zeros(d), completion, SimplexQP(method), max_planes=max_planes),
    )


def primal_at(w, oracle, completion, C):
    plane, _ = oracle.augmented(w)
    return 0.5 * w @ w + C * (plane - completion).value(w)


@pytest.mark.parametrize("method", ["auto", "osqp"])
@pytest.mark.parametrize("C", [1e-3, 1e-1, 1e1, 1e3])
@pytest.mark.parametrize("signal", [0.0, 3.0])
def test_every_bound_is_below_the_optimum_and_every_objective_above(C, signal, method):
    pytest.importorskip("clarabel")
    n = 20 if method == "auto" else 10  # OSQP takes a second for hundreds of planes
    app, pairs, oracle, solver = prepared(1, method=method, n=n, d=6, signal=signal)
    _, w = toy.convex_optimum(app, pairs, solver.completion, C)
    optimum = primal_at(w, oracle, solver.completion, C)
    seen = []

    def between(gap, goal):
        assert solver.lower <= optimum * (1 + 1e-9)
        assert solver.primal(C) >= optimum * (1 - 1e-9)
        assert gap == solver.primal(C) - solver.lower
        seen.append(gap)

    solution = solver.minimise(oracle, C, lambda primal: 1e-5 * primal, between=between)
    assert seen
    assert solution.converged
    assert solution.certified
    assert solution.lower <= optimum * (1 + 1e-9)
    assert solution.primal == pytest.approx(optimum, rel=2e-5)
    at_best = primal_at(solution.w, oracle, solver.completion, C)
    assert solution.primal == pytest.approx(at_best, rel=1e-12)
    assert (solver.osqp_calls > 0) or method == "auto"


class Watched(Proximal):
    """Compares each step with SciPy's minimiser of the model and the proximal term."""

    steps = 0

    def _proximal_point(self, C, goal):
        weight, centre, primal = self.weight, self.w, self.primal(C)
        point = super()._proximal_point(C, 1e-9)
        slopes = np.vstack([np.zeros_like(point), self.planes.gradients - self.completion.gradient])
        losses = np.concatenate([[0.0], self.planes.losses - self.completion.loss])

        def value(w):
            return 0.5 * w @ w + C * (slopes @ w + losses).max()

        found = optimize.minimize(
            lambda z: (
                0.5 * z[:-1] @ z[:-1] + C * z[-1] + weight / 2 * np.sum((z[:-1] - centre) ** 2)
            ),
            np.append(centre, (slopes @ centre + losses).max()),
            jac=lambda z: np.append(z[:-1] + weight * (z[:-1] - centre), C),
            constraints={
                "type": "ineq",
                "fun": lambda z: z[-1] - slopes @ z[:-1] - losses,
                "jac": lambda z: np.column_stack([-slopes, np.ones(len(slopes))]),
            },
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        term = weight / 2 * np.sum((point - centre) ** 2)
        assert value(point) + term == pytest.approx(found.fun, rel=1e-6, abs=1e-8)
        assert self.promised == pytest.approx(max(0.0, primal - value(point)), rel=1e-9, abs=1e-9)
        if self.promised > 1e-7:  # see the module: the model's own minimum is not far below
            _, bound = self._bound_of_the_model(C)
            assert primal - bound <= (1 + weight / 2) * self.promised + 1e-7 * primal
        self.steps += 1
        return point

    def _bound_of_the_model(self, C):
        losses = np.concatenate([[0.0], self.planes.losses - self.completion.loss])
        kept = self.beta
        self.beta = SimplexQP().solve(C * self.gram, losses, kept, 1e-10).beta
        found = self._combined(C)
        self.beta = kept
        return found


@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_the_minimiser_of_the_model_and_the_proximal_term(seed):
    app, pairs, oracle, _ = prepared(seed, n=10, d=4)
    solver = Watched(np.zeros(4), app.start(pairs, np.random.default_rng(seed)), SimplexQP())
    solver.minimise(oracle, 2.0, lambda primal: 1e-3 * primal)
    assert solver.steps > 5


@pytest.mark.parametrize("seed", range(4))
def test_the_centre_moves_with_serious_steps_alone_and_the_weight_follows(seed):
    _, _, oracle, solver = prepared(seed, n=20, d=6)
    rows = []

    def between(gap, goal):
        primal = solver.primal(1.0)
        rows.append(
            (solver.w, solver.weight, primal, solver.promised, solver.at_zero, solver.lower)
        )

    solver.minimise(oracle, 1.0, lambda primal: 1e-6 * primal, between=between)
    factors = set()
    for before, after in itertools.pairwise(rows):
        factor = after[1] / before[1]
        if before[4]:  # the first step leaves w = 0 whatever P is there, and changes no weight
            assert factor == 1.0
            continue
        moved = after[0] is not before[0]
        little = 0.0 < after[3] < proximal.LITTLE * (before[2] - after[5])
        assert factor == pytest.approx(
            proximal.AFTER_SERIOUS if moved or little else proximal.AFTER_NULL, rel=1e-12
        )
        if moved:
            assert after[2] <= before[2] - proximal.SERIOUS * after[3] * (1 - 1e-9)
        factors.add(round(factor, 3))
    assert len(factors) == 2


@pytest.mark.parametrize("seed", range(3))
def test_cuts_stay_for_another_completion_and_another_C(seed):
    app, pairs, oracle, solver = prepared(seed, n=15)
    completion = solver.completion
    for C in (0.1, 10.0):
        solver.begin_problem()
        warm = solver.minimise(oracle, C, lambda primal: 1e-6 * primal)
        cold = Proximal(np.zeros(5), completion, SimplexQP())
        known = cold.minimise(oracle, C, lambda primal: 1e-6 * primal)
        assert warm.lower <= known.primal
        assert known.lower <= warm.primal
        completion = app.completed(np.random.default_rng(seed).normal(size=5), pairs)
        solver.measure_from(completion)


def test_few_planes_are_enough_and_the_centres_own_stays():
    _, _, oracle, solver = prepared(2, max_planes=10, method="osqp", n=30, d=10)
    solution = solver.minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert solution.converged
    assert len(solver.planes) <= 10
    assert len(solver.near_qp.dual) <= 12  # one more than multipliers, that of the zero plane too
    own, _ = oracle.augmented(solver.w)
    np.testing.assert_allclose(solver.planes.gradients[solver.row], own.gradient)


@pytest.mark.parametrize("seed", range(3))
def test_hidden_values_are_learnt_to_a_certified_gap_from_the_same_start(seed):
    """Each method's last convex problem is that of its own completion, and has the lowest F."""
    app, pairs = toy.random_problem(seed, n=15, signal=3.0)
    for method in ("bundle", "proximal"):
        solver = {"method": method, "epsilon": 1e-5}
        config = Config.from_dict({"application": {"name": "multiclass"}, "solver": solver})
        model = learn_on(app, pairs, config)
        completion = app.completed(model.w, pairs)
        _, w = toy.convex_optimum(app, pairs, completion, 1.0)
        oracle = DataOracle(app, pairs, Executor(1))
        optimum = primal_at(w, oracle, completion, 1.0)
        assert model.record["certified"]
        assert model.record["converged"]
        assert model.record["objective"] == pytest.approx(
            primal_at(model.w, oracle, completion, 1.0), rel=1e-9
        )
        # F may fall by as much as the rules leave undone: the gap, and the tolerance.
        assert optimum >= model.record["objective"] - 1e-3 * len(pairs) * 1.01


class Uncertain:
    """No upper bound of what is found is known, as with approximate inference."""

    def __init__(self, oracle):
        self.oracle = oracle

    def augmented(self, w):
        plane, _ = self.oracle.augmented(w)
        return Plane(plane.gradient, plane.loss), np.inf


def test_without_an_upper_bound_nothing_is_certified_but_the_gap_is_reached():
    _, _, oracle, solver = prepared(3, n=20)
    solution = solver.minimise(Uncertain(oracle), 1.0, lambda primal: 1e-4 * primal)
    assert not solution.certified
    assert solution.converged
    exact = prepared(3, n=20)[3].minimise(oracle, 1.0, lambda primal: 1e-4 * primal)
    assert solution.lower <= exact.primal
    assert exact.lower <= solution.primal
