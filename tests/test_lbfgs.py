"""L-BFGS on conditional random fields: against SciPy, against the bundle, interrupted."""

from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from lssvm.config import Config
from lssvm.oracle import DataOracle, Executor
from lssvm.solvers.bundle import Bundle
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
