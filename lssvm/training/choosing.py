"""The choice of a solver for ``solver.method: auto``, made once the data are known."""

from collections.abc import Sequence
from typing import Any

from lssvm.config import Config, set_values
from lssvm.config.checks import asked_of
from lssvm.config.solver_keys import changed, uses
from lssvm.oracle import DataOracle
from lssvm.problem import CompiledByExample, compiled_by_example
from lssvm.solvers.choice import Sizes, chosen
from lssvm.solvers.table import AUTO
from lssvm.training.problem import Problem


def with_solver(
    configs: Sequence[Config], problem: Problem, oracle: DataOracle
) -> tuple[list[Config], str]:
    """The configurations of a path, all with the same solver, and a sentence that names it.

    The sentence is empty if the configuration itself names a solver.
    """
    first = configs[0]
    if first.solver.method != AUTO:
        return list(configs), ""
    objective, application = first.objective.model_dump(), problem.data.application
    options = first.application.model_dump()
    asked = asked_of(type(application), first.application.name, objective, options)
    kernel = first.kernel.type != "linear" and not first.kernel.explicit
    C = max(config.objective.C for config in configs)
    C /= len(problem.data.examples) if first.objective.c_scaling == "mean" else 1
    offering = None
    if asked.compiled and not kernel:
        offering = compiled_by_example(oracle.application, oracle.examples, asked.model)
    asked = asked._replace(compiled=offering is not None)
    sizes = _sizes(problem.dimension, oracle, C, offering)
    name, why = chosen(asked, sizes, kernel=kernel, cache=first.solver.cache > 0)
    told = f"solver: {name}, because {why} (solver.method: {AUTO})"
    left_out = [f"solver.{key}" for key in changed(first.solver) if not uses(name, key)]
    if left_out:
        told += f"; it does not use {', '.join(left_out)}"
    return [set_values(config, {"solver.method": name}) for config in configs], told


def _sizes(
    dimension: int, oracle: DataOracle, C: float, offering: CompiledByExample[Any] | None
) -> Sizes:
    """The sizes of the training set; a compiled oracle by example knows them more precisely."""
    if offering is not None:
        kernel = oracle.compiled
        square = C * float(kernel.squares.sum()) * float(oracle.costs.mean()) / len(oracle.costs)
        common = offering.common_share(oracle.examples, float(kernel.squares.sum()))
        places = float(kernel.places[-1]) / len(oracle.costs)
        return Sizes(dimension, kernel.multiply_adds, square, kernel.exact, common, places)
    return Sizes(dimension, float(oracle.examples.sizes.sum()))
