"""Training data that workers read themselves: the driver learns of them, and never holds them."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lssvm.applications.apart import ReadsApart, shares
from lssvm.applications.base import Application
from lssvm.applications.parts import InParts
from lssvm.applications.reading import Source
from lssvm.config import Config
from lssvm.errors import counted
from lssvm.training.distributed.held import Reading
from lssvm.training.distributed.spread import AtWorkers, Owners, Spread
from lssvm.training.distributed.worker import Recipe

if TYPE_CHECKING:
    from lssvm.training.distributed.crew import Crew


def read_by_workers(
    crew: "Crew", application: Application, config: Config, noted: Callable[[str], None]
) -> Spread | None:
    """The training data of a configuration, once the workers have read them.

    None where they have to be read in one place: ``noted`` is told why. Raises LssvmError, with
    the name of the worker for a file that it cannot open.
    """
    sources = _files(application, config)
    why = _why_here(crew, application, config, sources)
    if why or not isinstance(application, ReadsApart):
        noted(f"data.train is read here and sent to the workers: {why}")
        return None
    told = dict(
        crew.gathered(
            "taught",
            range(len(sources)),
            Owners(crew, len(sources)),
            lambda numbers: ([(number, sources[number]) for number in numbers],),
        )
    )
    taught = [told[number] for number in range(len(sources))]
    plan = application.learn_from(sources, taught)
    counts = [each.examples for each in taught]
    edges = shares(counts)
    before = np.cumsum([0, *counts])[edges[:-1]].tolist()
    reading = Reading(sources, edges, before, plan)
    crew.know(Recipe.of(application), reading)
    return AtWorkers(crew, application, len(edges) - 1).spread(reading)


def _files(application: Application, config: Config) -> list[Source]:
    """The files of data.train, so that workers in another folder find them."""
    sources: list[Source] = []
    for source in config.sources("train"):
        own = source if source.is_stdin else replace(source, path=os.path.abspath(source.path))
        sources += application.files_of(own) if isinstance(application, ReadsApart) else [own]
    return sources


def _why_here(crew: "Crew", application: Application, config: Config, sources: list[Source]) -> str:
    """Why the files have to be read in one place; empty if each worker can read some of them."""
    if not isinstance(application, ReadsApart) or not isinstance(application, InParts):
        return f"application {application.options.name!r} reads all files together"
    if config.data.skip_bad:
        return "data.skip_bad counts the bad examples of all files"
    if config.kernel.type != "linear":
        return f"kernel.type: {config.kernel.type} looks at all rows"
    together = application.why_together()
    if together:
        return f"{together} looks at all examples"
    if any(source.is_stdin for source in sources):
        return "standard input is here alone"
    if len(sources) < crew.size:
        files, workers = counted(len(sources), "file"), counted(crew.size, "worker")
        return f"it has {files} for {workers}; expected at least as many"
    return ""
