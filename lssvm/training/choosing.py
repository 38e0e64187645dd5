"""The solver that a configuration leaves open, chosen once the data are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.config import Config, set_values
from lssvm.config.checks import asked_of
from lssvm.oracle import DataOracle
from lssvm.solvers.choice import Sizes, chosen
from lssvm.solvers.table import AUTO
from lssvm.training.problem import Problem


def with_solver(
    configs: Sequence[Config], problem: Problem, oracle: DataOracle
) -> tuple[list[Config], str]:
    """The configurations of a path with a solver, the same for all, and a sentence about it.

    The sentence is empty where the configuration names a solver.
    """
    first = configs[0]
    if first.solver.method != AUTO:
        return list(configs), ""
    objective, application = first.objective.model_dump(), problem.data.application
    asked = asked_of(type(application), first.application.name, objective)
    kernel = first.kernel.type != "linear" and not first.kernel.explicit
    C = max(config.objective.C for config in configs)
    C /= len(problem.data.examples) if first.objective.c_scaling == "mean" else 1
    compiled = asked.compiled and not kernel
    sizes = _sizes(problem.dimension, oracle, C, compiled=compiled)
    name, why = chosen(asked, sizes, kernel=kernel, cache=first.solver.cache > 0)
    told = f"solver: {name}, because {why} (solver.method: {AUTO})"
    return [set_values(config, {"solver.method": name}) for config in configs], told


def _sizes(dimension: int, oracle: DataOracle, C: float, compiled: bool) -> Sizes:
    """Counts of the data; the oracle by example knows them best."""
    if compiled:
        kernel = oracle.compiled
        square = C * float(kernel.squares.sum()) * float(oracle.costs.mean()) / len(oracle.costs)
        common = _common(oracle.examples, float(kernel.squares.sum()))
        return Sizes(dimension, kernel.multiply_adds, square, kernel.exact, common)
    return Sizes(dimension, float(oracle.examples.sizes.sum()))


def _common(examples: Any, squares: float) -> float:
    """The share of Σ ‖x‖² = ``squares`` in the mean of the rows; 0 if all rows are 0."""
    mean = np.asarray(examples.inputs.mean(axis=0)).ravel()
    return examples.inputs.shape[0] * float(mean @ mean) / squares if squares > 0.0 else 0.0
