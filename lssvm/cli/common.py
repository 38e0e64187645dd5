"""What the commands share: how errors end, common options, checks of paths.

Nothing heavy is imported here, so that help and completion are quick.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from lssvm.cli import streams
from lssvm.cli.usage import of_value
from lssvm.errors import (
    TRACEBACK,
    ApplicationCrashError,
    LssvmError,
    StoppedError,
    likest,
)
from lssvm.output import stopping

BAD_USAGE, NOT_REACHED, INTERRUPTED, BROKEN_PIPE = 2, 3, 130, 141
TRACED = 3  # the verbosity that shows tracebacks of applications too
CONTEXT = {"help_option_names": ["-h", "-?", "--help"], "max_content_width": 100}
EXIT_CODES = """\b
Exit codes: 0 done; 1 internal error, or an error in an application's code, of
which LSSVM_TRACEBACK=1 in the environment, or -v 3, shows the traceback;
2 bad usage, configuration or data, an application whose answers cannot be
right, or a result that cannot be written; 3 the requested precision was not
reached (the model is written and says so); 130 (Ctrl-C) and 143 (SIGTERM)
interrupted: standard error says how to continue; 141 the reader of standard
output has closed it.
"""


class _Guarded:
    """The one place where errors become lines on standard error and an exit code."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the whole of a program: signals end it at once."""
        stopping.arm()
        try:
            return self.main(*args, **kwargs)
        finally:
            stopping.finish()

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a program."""
        run = super().main  # type: ignore[misc]
        with streams.standing():
            code = _exit_code(lambda: run(*args, **{**kwargs, "standalone_mode": False}))
            code = code or _exit_code(sys.stdout.flush)
        sys.exit(code)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; click would end an interrupt here with exit code 1."""
        try:
            return super().make_context(*args, **kwargs)  # type: ignore[misc]
        except KeyboardInterrupt:
            raise StoppedError(signal.SIGINT, stopping.line(signal.SIGINT, "")) from None

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Read the arguments. Raises LssvmError for a value that is no number, or no such word."""
        given = list(arguments)
        try:
            return super().parse_args(context, arguments)  # type: ignore[misc]
        except click.BadParameter as error:
            raise of_value(error, context, given) from None

    def invoke(self, context: click.Context) -> Any:
        """Run inside click, which has its own ideas of these.

        The commands themselves end with ``context.exit``: a SystemExit is somebody else's.
        """
        try:
            return super().invoke(context)  # type: ignore[misc]
        except LssvmError as error:
            error.files = (*error.files, *_files(context))
            error.traced |= (context.params.get("verbosity") or 0) >= TRACED
            raise
        except KeyboardInterrupt:
            streams.tell("interrupted")
            context.exit(INTERRUPTED)
        except BrokenPipeError:
            raise streams.PipeClosedError from None
        except SystemExit as error:
            from lssvm.applications import of_exit

            raise LssvmError(of_exit(error)) from None


def _exit_code(run: Callable[[], Any]) -> int:
    """Run it, tell what went wrong, and say with which code the program ends."""
    try:
        code = run()
        return code if isinstance(code, int) else 0
    except LssvmError as error:
        if isinstance(error, streams.OutputError):
            streams.abandon_output()
        if isinstance(error, ApplicationCrashError) and (error.traced or os.environ.get(TRACEBACK)):
            import traceback  # rarely used, and slow for a help text

            click.echo("".join(traceback.format_exception(error.__cause__ or error)), err=True)
        streams.tell_error(error)
        return error.exit_code
    except StoppedError as stop:
        streams.tell(str(stop))
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_USAGE
    except click.ClickException as error:
        streams.tell_error(LssvmError(_usage(error)))
        return BAD_USAGE
    except (click.Abort, KeyboardInterrupt) as stop:
        if isinstance(stop.__cause__, EOFError):  # which click takes for an end of typing
            raise stop.__cause__ from None
        streams.tell("interrupted")
        return INTERRUPTED
    except streams.PipeClosedError:
        streams.abandon_output()
        return BROKEN_PIPE


def _usage(error: click.ClickException) -> str:
    """What is wrong with the arguments, and where the right ones stand."""
    context = getattr(error, "ctx", None)
    told = error.format_message().rstrip(".")
    return f"{told}; see '{context.command_path} --help'" if context else told


def _files(context: click.Context) -> list[str]:
    """The names of files among the arguments of a command."""
    paths = [each.name for each in context.command.params if isinstance(each.type, click.Path)]
    given = [context.params.get(name) for name in paths if name]
    return [path for path in given if isinstance(path, str)]


class Command(_Guarded, click.Command):
    """A command whose user errors end in one line and exit code 2."""


class Group(_Guarded, click.Group):
    """A group of such commands; one that it does not have is answered with the nearest.

    elsewhere : programs by the names of commands under which they may be looked for
    """

    command_class = Command
    elsewhere: Mapping[str, str] = {}

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names. Raises LssvmError if there is none."""
        name = arguments[0]
        if self.get_command(context, name) or name.startswith("-") or context.resilient_parsing:
            return super().resolve_command(context, arguments)
        near = likest(name, [*self.list_commands(context), *self.elsewhere])
        program = self.elsewhere.get(near or "")
        meant = f"the program {program}" if program else repr(near)
        hint = f"; did you mean {meant}?" if near else ""
        raise LssvmError(f"no command {name!r}{hint}; see '{context.command_path} --help'")


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
    "--threads", type=click.IntRange(1), metavar="N", help="Number of threads. [default: all cores]"
)
executor_option = click.option(
    "--executor",
    metavar="WHERE",
    help="threads; dask: processes of this machine; or dask:ADDRESS: the workers of a scheduler "
    "of Dask, by its address or its scheduler file. The model is the same.  [default: the key "
    "executor of the configuration]",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Number of workers for --executor dask.  [default: the key workers, or all cores]",
)


def check_workers(workers: int | None, executor: str, other: str = "") -> None:
    """Refuse ``--workers`` where there are none. Raises LssvmError.

    other : the option that says how much is done at once without them
    """
    if workers is not None and executor == "threads":
        expected = f"--executor dask, or {other}" if other else "--executor dask"
        raise LssvmError(
            f"--workers {workers}: executor threads has no workers; expected {expected}"
        )


def places(options: Mapping[str, Any]) -> list[str]:
    """The settings that ``--executor`` and ``--workers`` stand for."""
    names = ("executor", "workers")
    return [f"{name}={options[name]}" for name in names if options[name] is not None]
