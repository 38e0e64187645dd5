"""The command line that all experiments share."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from experiments.common import provenance
from lssvm.cli import streams
from lssvm.config.config import PLACES, is_place
from lssvm.errors import LssvmError
from lssvm.output.tables import make_folder
from lssvm.training.distributed.cluster import DASK
from lssvm.training.distributed.place import THREADS
from lssvm.training.tasks import run_tasks

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Arguments(NamedTuple):
    """The options of an experiment.

    data : folder of the input, if the experiment has one; out : folder for the results
    quick : whether a short version is asked for; jobs : number of processes
    executor : where tasks are run, as of the configuration
    """

    data: Path
    out: Path
    quick: bool
    jobs: int
    executor: str = THREADS

    @property
    def place(self) -> dict[str, Any]:
        """Where tasks are run and who is told of them, as ``run_tasks`` takes it."""
        return {
            "jobs": self.jobs,
            "executor": self.executor,
            "workers": self.jobs if self.executor == DASK else None,
            "progress": show_progress,
        }

    def solved(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        tasks: Sequence[Item],
        finished: Callable[[int, Result], None] = lambda number, result: None,
    ) -> list[Result]:
        """function(shared, task) for every task, in their order; see ``run_tasks``."""
        alone = partial(_on_one_thread, function)
        return run_tasks(alone, shared, tasks, finished=finished, **self.place)


def _on_one_thread(
    function: Callable[[Shared, Item], Result], shared: Shared, item: Item
) -> Result:
    """function(shared, item), while BLAS has one thread: its threads would wait for each other.

    They do so busily, and tasks run side by side already.
    """
    with threadpool_limits(1):
        return function(shared, item)


def main(
    description: str,
    data: str | None,
    quick: str,
    experiment: Callable[[Arguments], str],
    seeds: Mapping[str, int],
) -> None:
    """Parse the arguments, run the experiment and print its table; errors end with exit code 2.

    data, quick : what --data is and what --quick runs, for the help; if data is None, the
        experiment makes its own data and has no option --data
    seeds : the seeds of random numbers, by what is drawn

    Beside the results stands a file that says how they were made, see ``provenance``.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.set_defaults(data=Path())
    if data is not None:
        parser.add_argument("--data", type=Path, required=True, help=data)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--quick", action="store_true", help=f"a short run: {quick}")
    parser.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        help="number of processes, or of workers for --executor dask (default: all cores)",
    )
    parser.add_argument(
        "--executor",
        type=_place,
        default=THREADS,
        metavar="WHERE",
        help="where the tasks are run: dask, by workers on this machine; dask:ADDRESS, by those of "
        "a scheduler of Dask, which see the same files and can import the experiments",
    )
    options = parser.parse_args()
    with streams.standing():
        try:
            make_folder(options.out)
            arguments = Arguments(**vars(options))
            if arguments.executor != THREADS:
                experiment = _importable(experiment)
                arguments = arguments._replace(
                    data=arguments.data.absolute(), out=arguments.out.absolute()
                )
            settings = {key: getattr(arguments, key) for key in ("quick", "jobs", "executor")}
            with provenance.recorded(arguments.out, {**settings, "seeds": dict(seeds)}):
                text = experiment(arguments)
            streams.show(text.splitlines())
            sys.stdout.flush()
        except LssvmError as error:
            streams.tell_error(error, [str(options.out), str(options.data)])
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            streams.tell("interrupted")
            sys.exit(130)


def show_progress(done: int, of: int) -> None:
    """Show the number of finished tasks on standard error, only if it is a terminal."""
    if sys.stderr.isatty():
        print(
            f"\r{done} of {of} tasks", end="\n" if done == of else "", file=sys.stderr, flush=True
        )


def _importable(
    experiment: Callable[[Arguments], str],
) -> Callable[[Arguments], str]:
    """The same function of a module that workers can import by its name.

    What is defined in ``__main__`` is another module's to them.
    """
    spec = sys.modules["__main__"].__spec__
    if experiment.__module__ != "__main__" or spec is None:
        return experiment
    own: Callable[[Arguments], str] = getattr(import_module(spec.name), experiment.__name__)
    return own


def _place(text: str) -> str:
    if not is_place(text):
        raise argparse.ArgumentTypeError(f"expected {PLACES}, got {text}")
    return text


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return value
