"""Build a run from the configuration: its rules, its solver, and its first weights."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from lssvm.applications.apart import Here, ReadsApart
from lssvm.applications.base import Application, FirstProblem
from lssvm.config import Config
from lssvm.oracle import DataOracle
from lssvm.oracle.block_sums import BlockSums
from lssvm.oracle.tree import total_of
from lssvm.plane import Plane
from lssvm.problem import by_example as apart_of
from lssvm.problem import compiled_by_example
from lssvm.smoothing import Smoothed
from lssvm.solvers.solver import EUCLIDEAN, Initialisation, InnerProduct, Solver
from lssvm.solvers.table import BY_ROWS, solver_class
from lssvm.training.cccp import Rules, Run


def rules_of(config: Config, n: int, hidden: bool) -> Rules:
    """When to stop. ``c_scaling: mean`` is turned into a weight of the sum here, once.

    For a solver that works on F itself to the end there is one problem, hidden values or not.
    """
    C = config.objective.C / (n if config.objective.c_scaling == "mean" else 1)
    return Rules(
        C,
        config.solver.epsilon,
        config.cccp.inexactness,
        config.cccp.tolerance,
        config.cccp.max_iterations,
        config.solver.max_passes,
        hidden and not solver_class(config.solver.method).single_problem,
    )


def new_run(
    oracle: DataOracle,
    config: Config,
    restart: int,
    w0: np.ndarray | None,
    between: Callable[[], None] = lambda: None,
    inner_product: InnerProduct = EUCLIDEAN,
) -> Run:
    """A run that stands before its first pass, but for those that gave its first weights.

    Its generator is seeded by (seed, restart), so a restart does not depend on the others.
    """
    application, examples = cast(Application, oracle.application), oracle.examples
    passes = 0.0
    rng = np.random.default_rng([config.seed, restart])
    solver = new_solver(application, examples, config, restart, inner_product)
    first = _first(oracle, config, rng) if w0 is None else w0
    # Parts are completed apart, which a first completion that is no maximum is not; weights that
    # were given or solved for are better than what steps for the parts would find.
    apart = isinstance(first, np.ndarray) or not application.hidden
    by_parts = w0 is None and application.decomposes and apart
    if isinstance(first, FirstProblem):
        first, passes = _solved(first, oracle, config, rng, between)
    completions = oracle.completions
    if solver.needs.each and not isinstance(first, np.ndarray):
        first = oracle.found(first)
    solver.initialise(oracle, Initialisation(first, application.hidden, by_parts))
    return Run(
        solver,
        config.cccp.inexactness,
        float(np.sum(examples.costs)),
        passes=passes,
        completions=oracle.completions - completions,
    )


def rehearse(oracle: DataOracle, config: Config, w0: np.ndarray | None) -> np.ndarray:
    """What a run begins with, and its first pass; the weights of that.

    Raises LssvmError as the run would.
    """
    rng = np.random.default_rng([config.seed, 0])
    by_example = solver_class(config.solver.method).needs.each
    w = np.zeros(oracle.application.dimension(oracle.examples))
    first = _first(oracle, config, rng) if w0 is None else w0
    if isinstance(first, FirstProblem):
        own = DataOracle(first.application, first.examples, oracle.executor)
        first.application.start(first.examples, rng)
        own.augmented(w)
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
    application: Application,
    examples: Any,
    config: Config,
    restart: int = 0,
    inner_product: InnerProduct = EUCLIDEAN,
) -> Solver:
    """The solver of the configuration for an application and its examples, at w = 0."""
    method, compiled = config.solver.method, True
    if method in BY_ROWS:
        found = compiled_by_example(application, examples, config.objective.model)
        compiled = found is not None
    kind = solver_class(method, compiled)
    return kind.from_config(config, application.dimension(examples), restart, inner_product)


def _first(oracle: DataOracle, config: Config, rng: np.random.Generator) -> Any:
    """What the application begins with: weights, a completion, or a problem that gives weights."""
    application, examples = oracle.application, oracle.examples
    if solver_class(config.solver.method).needs.each:
        first: Any = apart_of(application).start_each(examples, rng)
    elif isinstance(application, ReadsApart):
        first = _by_shares(application, examples, rng)
    else:
        first = application.start(examples, rng)
    if isinstance(first, Plane):
        oracle.begin(first)
    return first


def _by_shares(application: ReadsApart[Any], examples: Any, rng: np.random.Generator) -> Any:
    """The start of an application that reads files apart: the sum over all shares, if it is one."""
    found = application.start_apart(Here(application, examples), rng)
    if isinstance(found, np.ndarray):
        return found
    return total_of(found) if isinstance(found, list) else FirstProblem(found, examples)


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
    # Imported here: most runs have no such problem, and another solver.
    from lssvm.solvers.bundle import Bundle
    from lssvm.solvers.qp import SimplexQP

    summing = getattr(problem.application, "sums", BlockSums)  # where the examples are
    own = DataOracle(problem.application, problem.examples, oracle.executor, summing=summing)
    completion = problem.application.start(problem.examples, rng)
    rules = rules_of(config, len(problem.examples), hidden=False)
    section = config.solver
    chosen = solver_class(section.method)
    smoothed = chosen.needs.curved and isinstance(own.application, Smoothed)
    bundle = (chosen if smoothed and issubclass(chosen, Bundle) else Bundle)(
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
