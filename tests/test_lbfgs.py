"""L-BFGS on conditional random fields: against SciPy, against the bundle, interrupted."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import Plane
from lssvm.solvers import lbfgs
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.history import History
from lssvm.solvers.lbfgs import Lbfgs
from lssvm.solvers.qp import SimplexQP
from lssvm.training.session import learn

DATA = Path(__file__).parents[1] / "data" / "sequence"


@pytest.fixture(scope="module")
def config():
    values = {
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": "train.conll"},
        "objective": {"model": "crf", "C": 1.0},
        "solver": {"method": "lbfgs", "epsilon": 1e-6},
    }
    return Config.from_dict(values, base=DATA)


@pytest.fixture(scope="module")
def problem(config):
    application = config.create_application()
    examples = application.read(config.sources("train")).slice(0, 40)
    return application, examples, DataOracle(application, examples, Executor(1))


def solved(problem, C, epsilon):
    application, examples, oracle = problem
    w = np.zeros(application.dimension(examples))
    solver = Lbfgs(w, application.start(examples, None))
    return solver, solver.minimise(oracle, C, lambda primal: epsilon * primal)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_optimum_is_that_of_scipy_and_lies_between_the_bounds(problem, C):
    application, examples, oracle = problem
    completion = application.start(examples, None)

    def objective(w):
        plane = oracle.augmented(w)[0] - completion
        return 0.5 * w @ w + C * plane.value(w), w + C * plane.gradient

    options = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-9}
    w0 = np.zeros(len(completion.gradient))
    known = optimize.minimize(objective, w0, jac=True, method="L-BFGS-B", options=options)
    _, solution = solved(problem, C, 1e-6)
    assert solution.converged
    assert solution.certified
    assert solution.lower <= known.fun * (1 + 1e-9)
    assert known.fun <= solution.primal * (1 + 1e-9)
    assert solution.primal <= known.fun * (1 + 2e-6)


def test_the_bundle_method_agrees(problem):
    application, examples, oracle = problem
    completion = application.start(examples, None)
    bundle = Bundle(np.zeros(len(completion.gradient)), completion, SimplexQP())
    cut = bundle.minimise(oracle, 1.0, lambda primal: 1e-3 * primal)
    _, smooth = solved(problem, 1.0, 1e-3)
    assert cut.lower <= smooth.primal
    assert smooth.lower <= cut.primal


def test_the_objective_falls_and_the_bound_rises_at_every_step(problem):
    application, examples, oracle = problem
    w = np.zeros(application.dimension(examples))
    solver = Lbfgs(w, application.start(examples, None))
    seen = []
    solver.minimise(
        oracle,
        1.0,
        lambda primal: 1e-5 * primal,
        between=lambda gap, goal: seen.append((solver.primal(1.0), solver.lower)),
    )
    primals, lowers = np.array(seen).T
    assert np.all(np.diff(primals) < 0.0)
    assert np.all(np.diff(lowers) >= 0.0)
    assert len(seen) > 5


def test_a_model_is_trained_through_the_configuration(config):
    model = learn(config)
    assert model.record["converged"]
    assert model.record["gap"] <= 1e-6
    assert model.record["training"]["error"] < 50.0


def dense_inverse(pairs, scale):
    """The inverse Hessian by its definition (Nocedal, Mathematics of Computation 35, 1980)."""
    step, change = pairs[-1]
    found = np.diag((step @ change) / (change @ (change / scale)) / scale)
    for step, change in pairs:
        turn = np.eye(len(step)) - np.outer(change, step) / (step @ change)
        found = turn.T @ found @ turn + np.outer(step, step) / (step @ change)
    return found


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_the_direction_is_that_of_the_matrix_of_the_last_pairs(count, scaled):
    rng = np.random.default_rng([count, scaled])
    square = rng.normal(size=(6, 6))
    hessian = square @ square.T + np.eye(6)
    scale = rng.random(6) + 0.5 if scaled else np.ones(1)
    history, pairs = History(4, 6), []
    for k in range(count):
        step = 10.0 ** (30 * (-1) ** k) * rng.normal(size=6)
        pairs.append((step, hessian @ step))
        history.add(step, hessian @ step)
        history.add(step, -hessian @ step)  # not convex: left out
    assert len(history) == min(count, 4)
    slope = rng.normal(size=6)
    expected = -dense_inverse(pairs[-4:], np.broadcast_to(scale, 6)) @ slope
    np.testing.assert_allclose(history.direction(slope, scale), expected, rtol=1e-4, atol=1e-5)


def test_a_direction_without_pairs_is_descent_of_length_one_at_most():
    slope = np.array([3.0, -4.0])
    np.testing.assert_allclose(History(3, 2).direction(slope, np.ones(1)), -slope / 5)
    np.testing.assert_allclose(History(3, 2).direction(slope / 10, np.ones(1)), -slope / 10)


def test_knowing_the_curvature_saves_passes(problem, monkeypatch):
    oracle = problem[2]
    before = oracle.passes
    _, scaled = solved(problem, 1.0, 1e-4)
    passes = oracle.passes - before
    monkeypatch.setattr(oracle, "curvature", lambda w: None)
    before = oracle.passes
    _, plain = solved(problem, 1.0, 1e-4)
    assert passes < oracle.passes - before
    assert scaled.lower <= plain.primal
    assert plain.lower <= scaled.primal


class LogCosh:
    """The oracle of Σ log cosh(w − t), which takes little memory itself."""

    seconds = 0.0

    def look(self, w):
        """Nothing is wrong."""

    def __init__(self, dimension):
        self.target = 3.0 * np.random.default_rng(0).normal(size=dimension)

    def augmented(self, w):
        gradient = w - self.target
        value = 0.0
        for first in range(0, len(w), 1000):
            part = gradient[first : first + 1000]
            value += float(np.sum(np.logaddexp(part, -part))) - len(part) * np.log(2.0)
        np.tanh(gradient, out=gradient)
        return Plane(gradient, value - float(gradient @ w)), value

    def curvature(self, w):
        found = w - self.target
        np.tanh(found, out=found)
        found *= found
        return np.subtract(1.0, found, out=found)


def test_a_step_takes_room_for_a_few_vectors(monkeypatch):
    dimension = 200_000
    oracle = LogCosh(dimension)
    monkeypatch.setattr(lbfgs, "RESCALED", 9)
    tracemalloc.start()
    try:
        solver = Lbfgs(np.zeros(dimension), Plane(np.zeros(dimension), 0.0))
        solver.minimise(oracle, 1.0, lambda primal: 0.0, max_passes=15)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(solver.history) == solver.memory
    pairs = solver.memory  # two vectors of single precision each
    standing, stepping = 4.5, 3  # w, truth, plane, mean, scale; direction, w and plane of a trial
    assert peak <= 8 * dimension * (pairs + standing + stepping + 0.5)
