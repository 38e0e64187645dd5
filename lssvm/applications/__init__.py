"""Applications: what x, y and h are. Each registers under ``lssvm.applications``.

The scan of entry points is lazy: naming an application loads that one alone, so a
broken plug-in cannot stop another application.
"""

import difflib
from importlib.metadata import EntryPoint, entry_points

from lssvm.applications.base import Application
from lssvm.errors import LssvmError

GROUP = "lssvm.applications"


def registered() -> dict[str, EntryPoint]:
    """Every registered application by name, none of them loaded."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name)}


def load(name: str) -> type[Application]:
    """The application class called ``name``.

    Raises LssvmError if there is none of that name, or if importing it fails.
    """
    known = registered()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise LssvmError(f"unknown application {name!r}{hint} (known: {', '.join(known)})")
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        raise LssvmError(
            f"application {name!r} ({known[name].value}) cannot be loaded: {error!r}"
        ) from error
