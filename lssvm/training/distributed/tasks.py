"""Tasks that do not depend on each other, each solved by a worker of Dask."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lssvm.applications.base import Application
from lssvm.training.distributed.cluster import cluster_of
from lssvm.training.distributed.worker import Recipe
from lssvm.training.processes import settled, tried


def run_by_workers(
    function: Callable[[Any, Any], Any],
    shared: Any,
    tasks: Sequence[Any],
    take: Callable[[int, Any], None],
    where: tuple[str, int | None],
) -> None:
    """take(number, function(shared, task)) for every task, in the order in which they end.

    shared : if it is a dataclass with ``applications``, workers make these again by their recipes
    where : ``executor`` and ``workers`` as of the configuration

    A task whose worker is lost is solved by another one. Raises LssvmError if a task does, if no
    worker can take part, or if too many are lost; SchedulerLostError.
    """
    if not tasks:
        return
    applications: Sequence[Application] = getattr(shared, "applications", ())
    recipes = [Recipe.of(application) for application in applications]
    if recipes:
        shared = replace(shared, applications=[])
    known = function, shared, recipes, tasks
    with cluster_of(*where) as cluster:
        cluster.check_workers(recipes[0].name if recipes else None, function)
        for number, answer in cluster.solved(_solved, known, len(tasks)):
            take(number, settled(*answer))


def _solved(
    known: tuple[Callable[[Any, Any], Any], Any, Sequence[Recipe], Sequence[Any]], number: int
) -> tuple[str, Any]:
    function, shared, recipes, tasks = known

    def solve(recipes: Sequence[Recipe], task: Any) -> Any:
        applications = [recipe.made() for recipe in recipes]
        return function(replace(shared, applications=applications) if recipes else shared, task)

    return tried(solve, recipes, tasks[number])
