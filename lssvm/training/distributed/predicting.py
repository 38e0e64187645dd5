"""Predictions for examples in parts, each part by a worker of Dask."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lssvm.applications.base import Examples
from lssvm.model import Model
from lssvm.training.distributed.place import crew_of
from lssvm.training.distributed.worker import Recipe


def by_workers(
    parts: Iterable[tuple[Model, Examples]], top: int, executor: str, workers: int | None
) -> Iterator[tuple[Model, Examples, Any]]:
    """The same with what is predicted for each part, in their order.

    parts : models and examples that are ``prepared``, all models with the same weights
    executor, workers : as of the configuration; not threads

    As many parts as there are workers are in memory at a time. The parts of a lost worker go to
    others. Raises LssvmError as an application does, SchedulerLostError.
    """
    waiting = iter(parts)
    first = next(waiting, None)
    if first is None:
        return
    model, examples = first
    with crew_of(model.application, executor, workers) as crew:
        assert crew is not None
        crew.know(Recipe.of(model.application), w=model.w)
        batch = [first, *islice(waiting, crew.size - 1)]
        del first, model, examples
        while batch:
            own = [examples for _, examples in batch]
            for (model, examples), found in zip(batch, crew.predicted(own, top), strict=True):
                yield model, examples, found
            batch = list(islice(waiting, crew.size))
