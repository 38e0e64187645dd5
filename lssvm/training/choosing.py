"""The choice of a solver for ``solver.method: auto``, made once the data are known."""

from collections.abc import Sequence

from lssvm.config import Config, set_values
from lssvm.config.checks import asked_of
from lssvm.config.solver_keys import changed, uses
from lssvm.oracle import DataOracle
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
    sizes = None
    if asked.compiled and not kernel:
        sizes = _compiled_sizes(problem, oracle, C, asked.model)
    asked = asked._replace(compiled=sizes is not None)
    sizes = sizes or Sizes(problem.dimension, float(oracle.examples.sizes.sum()))
    name, why = chosen(asked, sizes, kernel=kernel, cache=first.solver.cache > 0)
    told = f"solver: {name}, because {why} (solver.method: {AUTO})"
    left_out = [f"solver.{key}" for key in changed(first.solver) if not uses(name, key)]
    if left_out:
        told += f"; it does not use {', '.join(left_out)}"
    return [set_values(config, {"solver.method": name}) for config in configs], told


def _compiled_sizes(problem: Problem, oracle: DataOracle, C: float, model: str) -> Sizes | None:
    """The sizes of the training set, which a compiled oracle by example knows more precisely.

    None if there is no such oracle.
    """
    d, n = problem.dimension, len(oracle.costs)
    found = problem.where.offer(oracle, model)
    if found is None:
        return None
    square = C * found.squares * float(oracle.costs.mean()) / n
    return Sizes(d, found.multiply_adds, square, found.exact, found.common, found.places / n)
