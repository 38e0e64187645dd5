"""Tasks that do not depend on each other, shared out to processes or to workers of Dask."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from lssvm.training.distributed.place import THREADS
from lssvm.training.processes import run_by_processes

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Shared, Item], Result],
    shared: Shared,
    tasks: Sequence[Item],
    *,
    jobs: int = 1,
    executor: str = THREADS,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    finished: Callable[[int, Result], None] = lambda number, result: None,
) -> list[Result]:
    """function(shared, task) for every task, in their order, by ``jobs`` processes or by workers.

    ``function`` is a module's top-level function; each process and worker is sent it and ``shared``
    once. What it finds must not depend on where it runs.

    executor, workers : as of the configuration; workers take the place of processes
    progress : told how many of how many tasks are done
    finished : told the number of each task and its result as soon as there is one

    An interrupt or a failing task ends all processes before the exception goes on.
    Raises LssvmError if a task does, or if a process is ended from outside; as ``run_by_workers``.
    """
    results: dict[int, Result] = {}

    def take(number: int, result: Result) -> None:
        results[number] = result
        finished(number, result)
        progress(len(results), len(tasks))

    if executor == THREADS:
        run_by_processes(function, shared, tasks, jobs, take)
    else:
        # Imported here: most runs need none of it.
        from lssvm.training.distributed.tasks import run_by_workers

        run_by_workers(function, shared, tasks, take, (executor, workers))
    return [results[number] for number in range(len(tasks))]
