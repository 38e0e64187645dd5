"""How results were made: a file beside them with the seconds, the commit and the seeds."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lssvm.errors import LssvmError
from lssvm.output.tables import write_json
from lssvm.training.distributed.place import THREADS

ROOT = Path(__file__).parents[2]
FILE = "run.json"


@contextmanager
def recorded(folder: Path, settings: Mapping[str, Any]) -> Iterator[None]:
    """Write FILE when the block ends without an exception.

    settings : what the results are made with, in plain values

    The file of an earlier run is removed first, so that results are never shown with what is true
    of others. Raises LssvmError if it cannot be written.
    """
    path = folder / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise LssvmError(f"{path}: cannot be removed: {error.strerror}") from None
    began, spent = time.perf_counter(), _processor_seconds()
    commit, changed = commit_of(ROOT)
    yield
    write_json(
        path,
        {
            "seconds": round(time.perf_counter() - began, 1),
            "processor_seconds": round(_processor_seconds() - spent, 1),
            "commit": commit,
            "changed": changed,
            **settings,
        },
    )


def placed(run: Mapping[str, Any]) -> str:
    """Where tasks were run, as ``make`` is told it; empty for processes of this machine.

    CPU seconds are those of this machine. Files of earlier versions know processes alone.
    """
    executor = run.get("executor", THREADS)
    return "" if executor == THREADS else f"EXECUTOR={executor}"


def _processor_seconds() -> float:
    """What this process and those that it waited for have taken, user and system."""
    return sum(os.times()[:4])


def commit_of(folder: Path) -> tuple[str | None, bool]:
    """The commit of a working tree, and whether its files differ from it; (None, False) if none."""
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "--short=8", "HEAD"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None, False
    return commit, bool(changes)
