"""Where a configuration wants to compute, and what cannot be computed there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lssvm.applications.base import Application
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.problem import Continuing
from lssvm.solvers.table import AUTO, CLASSES, solver_class

if TYPE_CHECKING:
    from lssvm.training.distributed.crew import Crew
    from lssvm.training.whereabouts import Whereabouts

THREADS = "threads"


@contextmanager
def crew_of(
    application: Application, executor: str, workers: int | None
) -> Iterator["Crew | None"]:
    """The workers of an executor; None for the threads of this process. Raises LssvmError.

    They have an application that has not read anything.
    """
    if executor == THREADS:
        yield None
        return
    # Imported here: most runs need none of it.
    from lssvm.training.distributed.cluster import cluster_of
    from lssvm.training.distributed.crew import Crew
    from lssvm.training.distributed.worker import Recipe

    with cluster_of(executor, workers) as cluster:
        crew = Crew(cluster, Recipe.of(application, read=False))
        try:
            yield crew
        finally:
            crew.close()


def sent_to(crew: "Crew | None", application: Application) -> "Whereabouts | None":
    """What examples that are here are asked by, if workers compute with copies of them."""
    if crew is None:
        return None
    from lssvm.training.distributed.sent import Sent

    return Sent(application, crew)


def check_application(application: Application, examples: Any | None, executor: str) -> None:
    """Raise LssvmError if an application does not add up over blocks of examples.

    examples : None before they are read, when it may not be known yet
    """
    if executor == THREADS:
        return
    continuing = False
    if examples is not None and isinstance(application, Continuing):
        continuing = application.continues(examples)
    if continuing or not application.decomposes:
        name = application.options.name
        raise LssvmError(
            f"executor: {executor}: the loss of application {name!r} with these options is that of "
            f"the whole data set; expected executor: {THREADS}, or a loss of each example"
        )


def check_solver(config: Config, executor: str) -> None:
    """Raise LssvmError if a solver asks for more than sums over the examples.

    ``auto`` is not a solver yet.
    """
    method = config.solver.method
    if executor == THREADS or method == AUTO:
        return
    if not solver_class(method).needs.sums_alone:
        able = ", ".join(each for each in CLASSES if solver_class(each).needs.sums_alone)
        raise LssvmError(
            f"solver.method: {method} has no form for executor: {executor}; expected one of {able}"
        )
    if config.solver.cache:
        raise LssvmError(
            f"solver.cache keeps planes by example, which executor: {executor} does not have; "
            "expected solver.cache: 0"
        )
