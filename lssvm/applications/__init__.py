"""Applications: what x, y and h are. Each registers under ``lssvm.applications``.

Entry points are loaded lazily: only the application that is named is loaded, so a broken plug-in
cannot stop another application.
"""

import functools
import sys
import traceback
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points

from lssvm.applications.base import Application
from lssvm.errors import LssvmError, nearest

GROUP = "lssvm.applications"
LONGEST = 60  # characters of an unknown name that a message quotes


def registered() -> dict[str, EntryPoint]:
    """Every registered application by name, none of them loaded."""
    return {entry.name: entry for entry in _entries()}


@functools.cache
def _entries() -> list[EntryPoint]:
    """Entry points in the order of their names; the search takes milliseconds."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def entry_of(name: str) -> EntryPoint | None:
    """Where the application called ``name`` is registered, None if it is not.

    The built-in ones come first: to search all installed distributions takes as long as to import
    an application.
    """
    return _built_in().get(name) or registered().get(name)


@functools.cache
def _built_in() -> dict[str, EntryPoint]:
    try:
        entries = distribution("lssvm").entry_points.select(group=GROUP)
    except PackageNotFoundError:  # run from a folder without being installed
        return {}
    return {entry.name: entry for entry in entries}


def load(name: str) -> type[Application]:
    """The application class called ``name``.

    Raises LssvmError if there is none of that name, or if importing it fails.
    """
    entry = entry_of(name)
    if entry is None:
        known = registered()
        quoted = name[:LONGEST] + "…" * (len(name) > LONGEST)
        hint = nearest(name, known)
        raise LssvmError(f"unknown application {quoted!r}{hint} (known: {', '.join(known)})")
    try:
        kind = entry.load()
    except (Exception, SystemExit) as error:
        why = f"it called {_exit_call(error)}" if isinstance(error, SystemExit) else repr(error)
        raise LssvmError(f"application {name!r} ({entry.value}) cannot be loaded: {why}") from error
    missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    if missing:
        raise LssvmError(
            f"application {name!r} ({entry.value}) lacks {missing}; expected these methods"
        )
    return kind


def of_exit(error: SystemExit) -> str:
    """Who called ``sys.exit``, and where: no application may end a run, even with success."""
    owners = {entry.module.partition(".")[0]: name for name, entry in registered().items()}
    whose, place = "", "something"
    for frame, line in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in sys.stdlib_module_names or package == __name__.partition(".")[0]:
            continue
        place = f"{frame.f_code.co_filename}:{line}"
        if package in owners:
            whose = f"application {owners[package]!r}: "
    return f"{whose}{place} called {_exit_call(error)}; expected an exception"


def _exit_call(error: SystemExit) -> str:
    return f"sys.exit({repr(error.code)[:40]})"
