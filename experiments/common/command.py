"""The command line that all experiments share."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from experiments.common import provenance
from lssvm.cli import streams
from lssvm.errors import LssvmError
from lssvm.output.tables import make_folder


class Arguments(NamedTuple):
    """The options of an experiment.

    data : folder of the input, if the experiment has one; out : folder for the results
    quick : whether a short version is asked for; jobs : number of processes
    """

    data: Path
    out: Path
    quick: bool
    jobs: int


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
        help="number of processes (default: all cores)",
    )
    options = parser.parse_args()
    with streams.standing():
        try:
            make_folder(options.out)
            arguments = Arguments(options.data, options.out, options.quick, options.jobs)
            with provenance.recorded(arguments.out, arguments.quick, arguments.jobs, seeds):
                text = experiment(arguments)
            streams.show(text.splitlines())
            sys.stdout.flush()
        except LssvmError as error:
            streams.tell_error(error, [str(options.out), str(options.data)])
            sys.exit(2)
        except KeyboardInterrupt:
            streams.tell("interrupted")
            sys.exit(130)


def show_progress(done: int, of: int) -> None:
    """Show the number of finished tasks on standard error, only if it is a terminal."""
    if sys.stderr.isatty():
        print(
            f"\r{done} of {of} tasks", end="\n" if done == of else "", file=sys.stderr, flush=True
        )


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return value
