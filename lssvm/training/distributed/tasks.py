"""Tasks of a study that do not depend on each other, each solved by a worker of Dask."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lssvm.training.distributed.cluster import cluster_of
from lssvm.training.distributed.worker import Recipe
from lssvm.training.processes import gather, settled, tried


def run_by_workers(
    function: Callable[[Any, Any], Any],
    study: Any,
    tasks: Sequence[Any],
    told: Mapping[str, Callable[[int, Any], None]],
) -> None:
    """function(study, task) for every task, by the workers that its configuration names.

    study : a dataclass with ``applications``, which workers make again by their recipes
    told : ``progress`` and ``finished``, as of ``processes.run_tasks``

    A task whose worker is lost is solved by another one. Raises LssvmError if a task does, if no
    worker can take part, or if too many are lost; SchedulerLostError.
    """
    recipes = [Recipe.of(application) for application in study.applications]
    shared = function, replace(study, applications=[]), recipes
    if tasks:
        with cluster_of(study.config.executor, study.config.workers) as cluster:
            cluster.check_versions(recipes[0])
            answers = cluster.solved(_solved, shared, tasks)
            found = ((number, settled(*answer)) for number, answer in answers)
            gather(found, {}, len(tasks), told["progress"], told["finished"])


def _solved(
    shared: tuple[Callable[[Any, Any], Any], Any, Sequence[Recipe]], task: Any
) -> tuple[str, Any]:
    function, study, recipes = shared

    def solve(recipes: Sequence[Recipe], task: Any) -> Any:
        applications = [recipe.made() for recipe in recipes]
        return function(replace(study, applications=applications), task)

    return tried(solve, recipes, task)
