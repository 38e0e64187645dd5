"""A run before its first pass: its rules, its solver, and where the solver begins."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lssvm.applications.base import Application, FirstProblem
from lssvm.config import Config
from lssvm.config.checks import BY_EXAMPLE
from lssvm.config.sections import Solver as SolverSection
from lssvm.oracle import DataOracle
from lssvm.plane import Plane
from lssvm.problem import by_example as apart
from lssvm.solvers.bcfw import Bcfw
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.by_example import MEGABYTE, ByExample
from lssvm.solvers.gradient import Gradient
from lssvm.solvers.lbfgs import Lbfgs
from lssvm.solvers.n_slack import NSlack
from lssvm.solvers.opening import parts_of
from lssvm.solvers.plane_cache import PlaneCache
from lssvm.solvers.proximal import Proximal
from lssvm.solvers.qp import SimplexQP
from lssvm.solvers.sgd import Sgd
from lssvm.solvers.solution import Solver
from lssvm.solvers.steps import Steps
from lssvm.training.cccp import Rules, Run

Metric = tuple[np.ndarray, int]  # of the coordinates: ``gram`` and ``labels`` of ``Training``
EUCLIDEAN: Metric = (np.zeros((0, 0)), 0)


def rules_of(config: Config, n: int, hidden: bool) -> Rules:
    """When to stop. ``c_scaling: mean`` is turned into a weight of the sum here, once.

    sgd works on F itself: for it there is one problem, hidden values or not.
    """
    C = config.objective.C / (n if config.objective.c_scaling == "mean" else 1)
    return Rules(
        C,
        config.solver.epsilon,
        config.cccp.looseness,
        config.cccp.tolerance,
        config.cccp.max_iterations,
        config.solver.max_passes,
        hidden and config.solver.method != "sgd",
    )


def new_run(
    application: Application,
    examples: Any,
    oracle: DataOracle,
    config: Config,
    restart: int,
    w0: np.ndarray | None,
    between: Callable[[], None] = lambda: None,
    metric: Metric = EUCLIDEAN,
) -> Run:
    """A run that stands before its first pass, but for those that gave its first weights.

    Its generator is seeded by (seed, restart), so a restart does not depend on the others.
    """
    rng = np.random.default_rng([config.seed, restart])
    passes = 0.0
    solver = new_solver(config, application.dimension(examples), restart, metric)
    by_example = isinstance(solver, ByExample)
    start = apart(application).start_each if by_example else application.start
    first = start(examples, rng) if w0 is None else w0
    if isinstance(first, Plane):
        oracle.begin(first)
    if isinstance(solver, Bundle) and w0 is None and _opens(application, config, first):
        solver.opening = parts_of(len(examples), application.dimension(examples))
    if isinstance(first, FirstProblem):
        first, passes = _solved(first, oracle, config, rng, between)
    if isinstance(solver, Sgd) and not application.hidden:
        first = solver.w  # the truth is known run by run
    completions = oracle.completions
    _stand(solver, oracle, first, config.solver)
    if isinstance(solver, Lbfgs) and not application.hidden:
        solver.completes = False  # the truth stays
    return Run(
        solver,
        config.cccp.looseness,
        float(np.sum(examples.costs)),
        passes=passes,
        completions=oracle.completions - completions,
    )


def rehearse(
    application: Application,
    examples: Any,
    oracle: DataOracle,
    config: Config,
    w0: np.ndarray | None,
) -> np.ndarray:
    """What a run begins with, and its first pass; the weights of that.

    Raises LssvmError as the run would.
    """
    rng = np.random.default_rng([config.seed, 0])
    by_example = config.solver.method in BY_EXAMPLE
    w = np.zeros(application.dimension(examples))
    start = apart(application).start_each if by_example else application.start
    first = start(examples, rng) if w0 is None else w0
    if isinstance(first, FirstProblem):
        own = DataOracle(first.application, first.examples, oracle.executor)
        first.application.start(first.examples, rng)
        own.augmented(w)
    elif isinstance(first, Plane):
        oracle.begin(first)
    elif isinstance(first, np.ndarray):
        w = first
    if by_example:
        oracle.completed_each(w)
        oracle.augmented_each(w)
    else:
        oracle.completed(w)
        oracle.augmented(w)
    return w


def new_solver(
    config: Config, dimension: int, restart: int = 0, metric: Metric = EUCLIDEAN
) -> Solver:
    """The solver of the configuration, at w = 0."""
    section = config.solver
    room = section.max_cache_mb * MEGABYTE
    if section.method == "n-slack":
        norm = config.objective.slack_norm
        return NSlack(dimension, norm, *metric, sweeps=section.sweeps, max_bytes=room)
    if section.method == "bcfw":
        seed = config.seed + restart
        return Bcfw(dimension, seed=seed, block=section.block, max_bytes=room)
    w = np.zeros(dimension)
    if section.method == "lbfgs":
        return Lbfgs(w, Plane(w, 0.0))
    steps = Steps(section.rate, section.decay)
    if section.method == "gradient":
        return Gradient(w, Plane(w, 0.0), steps)
    if section.method == "sgd":
        seed = config.seed + restart
        return Sgd(w, steps, section.epochs, section.block, section.average, seed)
    if section.method == "proximal":
        return Proximal(w, Plane(w, 0.0), SimplexQP(section.qp), 1.0, section.max_planes)
    step = 1.0 if section.method == "cutting-plane" else section.step
    return Bundle(w, Plane(w, 0.0), SimplexQP(section.qp), step, section.max_planes)


def _opens(application: Application, config: Config, first: Any) -> bool:
    """Whether a bundle begins with steps for parts of the data, see ``opening``.

    The parts have to be completed apart, which a first completion that is no maximum is not;
    weights that were given or solved for are better than what the steps would find.
    """
    apart = isinstance(first, np.ndarray) or not application.hidden
    method = config.solver.method == "bundle" and not config.solver.cache
    return application.decomposes and apart and method


def _stand(solver: Solver, oracle: DataOracle, first: Any, section: SolverSection) -> None:
    """Put a new solver at its first completion, or at its first weights."""
    if isinstance(solver, ByExample):
        if isinstance(first, np.ndarray):
            solver.begin(oracle, first, None)
        else:
            solver.begin(oracle, np.zeros(solver.dimension), oracle.found(first))
    elif isinstance(solver, Bundle | Lbfgs | Gradient | Sgd):
        if isinstance(solver, Bundle) and section.cache:
            truth = oracle.completed_each(solver.w).gradients(np.arange(len(oracle.costs)))
            most, size = section.cache, section.max_cache_mb * MEGABYTE
            solver.cache = PlaneCache(oracle.costs, truth, most, size)
        if isinstance(first, np.ndarray):
            solver.w = first.copy()
            solver.complete(oracle)
        else:
            solver.measure_from(first)


def _solved(
    problem: FirstProblem,
    oracle: DataOracle,
    config: Config,
    rng: np.random.Generator,
    between: Callable[[], None],
) -> tuple[np.ndarray, float]:
    """The weights that solve a problem without hidden values, and the passes that it took.

    Interrupted, it is begun again by a resumed run; its time counts as the oracle's.
    """
    own = DataOracle(problem.application, problem.examples, oracle.executor)
    completion = problem.application.start(problem.examples, rng)
    rules = rules_of(config, len(problem.examples), hidden=False)
    section = config.solver
    bundle = Bundle(
        np.zeros(len(completion.gradient)), completion, SimplexQP(section.qp), section.step
    )
    solution = bundle.minimise(
        own,
        rules.C,
        lambda primal: rules.epsilon * primal,
        max_passes=rules.max_passes,
        between=lambda gap, goal: between(),
    )
    oracle.seconds += own.seconds
    return solution.w, own.passes
