"""What the commands share: how errors end, common options, checks of paths.

Nothing heavy is imported here, so that help and completion are quick.
"""

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lssvm.errors import TRACEBACK, ApplicationCrash, Interrupted, LssvmError

if TYPE_CHECKING:
    from lssvm.config import Config

NOT_REACHED, INTERRUPTED, BROKEN_PIPE = 3, 130, 141
TRACED = 3  # the verbosity that shows tracebacks of applications too
CONTEXT = {"help_option_names": ["-h", "-?", "--help"], "max_content_width": 100}
EXIT_CODES = """\b
Exit codes: 0 done; 1 internal error, or an error in an application's code, of
which LSSVM_TRACEBACK=1 in the environment, or -v 3, shows the traceback;
2 bad usage, configuration or data, or an application whose answers cannot be
right; 3 the asked precision was not reached (the model is written and says so);
130 (Ctrl-C) and 143 (SIGTERM) interrupted, a checkpoint is written.
"""


class _Guarded:
    """The one place where errors become lines on standard error and an exit code."""

    _traced = False

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a program."""
        try:
            return super().main(*args, **kwargs)  # type: ignore[misc]
        except LssvmError as error:
            cause = error.__cause__
            if isinstance(error, ApplicationCrash) and (self._traced or os.environ.get(TRACEBACK)):
                click.echo("".join(traceback.format_exception(cause or error)), nl=False, err=True)
            for line in str(error).splitlines():
                click.echo(f"error: {line}", err=True)
            sys.exit(error.exit_code)
        except Interrupted as stop:
            click.echo(str(stop), err=True)
            sys.exit(stop.exit_code)

    def invoke(self, context: click.Context) -> Any:
        """Run inside click, which has its own ideas of these two."""
        self._traced = (context.params.get("verbosity") or 0) >= TRACED
        try:
            return super().invoke(context)  # type: ignore[misc]
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            context.exit(BROKEN_PIPE)


class Command(_Guarded, click.Command):
    """A command whose user errors end in one line and exit code 2."""


class Group(_Guarded, click.Group):
    """A group of such commands."""

    command_class = Command


def letter_option(
    letter: str, meaning: str, settings: Mapping[str, Sequence[str]]
) -> Callable[[Any], Any]:
    """An option of svm_struct and the settings that its values stand for; others are refused."""

    def check(
        context: click.Context, parameter: click.Parameter, value: str | None
    ) -> Sequence[str]:
        if value is not None and value not in settings:
            raise LssvmError(f"{letter} {value}: not available; expected {meaning}".rstrip("."))
        return settings[value] if value is not None else ()

    return click.option(letter, metavar="N", callback=check, help=meaning)


def count_option(name: str, meaning: str, default: int, least: int = 1) -> Callable[[Any], Any]:
    """An option that takes a whole number."""
    return click.option(
        name,
        type=click.IntRange(least),
        default=default,
        show_default=True,
        metavar="N",
        help=meaning,
    )


settings_option = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace one value of the configuration, such as solver.epsilon=1e-4; may be repeated.",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
threads_option = click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Threads to use. [default: all cores]"
)


def check_output(path: str, name: str, **others: str | None) -> None:
    """Refuse an output that would go to a stream or over another file of the command."""
    if path == "-":
        raise LssvmError(f"{name}: expected a file name, got '-'")
    for other, taken in others.items():
        if taken and os.path.realpath(taken) == os.path.realpath(path):
            raise LssvmError(f"{path}: is given as {name} and as {other}; expected two files")


def check_distinct(path: str, config: "Config", split: str) -> None:
    """Refuse an output that is one of the data files."""
    for source in config.sources(split):
        if os.path.realpath(source.path) == os.path.realpath(path):
            raise LssvmError(f"{path}: is a data file of {config.origin}; expected another name")
