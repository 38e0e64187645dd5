"""What a long search has finished, kept so that a killed one goes on from there.

A file of JSON lines: the first says what it is and whose, each other one is an entry. Entries
are added at the end, so writing takes time in proportion to what is added; a line that was cut
by the end of its program is left out.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import lssvm
from lssvm.errors import LssvmError, ModelError
from lssvm.output.whole import explaining, replacing

FORMAT = "lssvm-journal"
FORMAT_VERSION = 1


class Journal:
    """The entries of ``path``; with ``resume`` those that are there, else none.

    identity : a hash of everything that decides the entries
    Raises ModelError if the file is no journal, damaged, or that of another search, LssvmError
    if it cannot be written.
    """

    def __init__(self, path: Path, identity: str, *, resume: bool = False) -> None:
        self.path = path
        lines = _read(path, identity) if resume else []
        self.entries: list[Any] = [entry for _, entry in lines]
        head = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "lssvm_version": lssvm.__version__,
            "identity": identity,
        }
        with replacing(path) as file:
            file.write(json.dumps(head) + "\n" + "".join(line + "\n" for line, _ in lines))

    def add(self, entry: Any) -> Any:
        """Add plain JSON values; returns them as they will be read."""
        text = json.dumps(entry, default=_scalar)
        with explaining(self.path), open(self.path, "ab", buffering=0) as file:
            data = memoryview(text.encode() + b"\n")
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        return json.loads(text)


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is not a plain value")


def _read(path: Path, identity: str) -> list[tuple[str, Any]]:
    """The lines of a journal's entries and what they say."""
    try:
        text = path.read_bytes().decode()
        lines = text.split("\n")[:-1]  # what follows the last line break was cut
        head = json.loads(lines[0]) if lines else None
        entries = [(line, json.loads(line)) for line in lines[1:]]
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not a checkpoint of lssvm cv, or damaged") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ModelError(f"{path}: not a checkpoint of lssvm cv")
    if head.get("format_version") != FORMAT_VERSION:
        made = str(head.get("lssvm_version"))[:40]
        raise ModelError(f"{path}: was written by another version of lssvm ({made!r})")
    if head.get("identity") != identity:
        raise ModelError(
            f"{path}: belongs to another configuration or other data; run without --resume, "
            "or with those that it was made with"
        )
    return entries


def remove(path: Path) -> None:
    """The search has ended and its results are safe."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise LssvmError(f"{path}: cannot be removed: {error.strerror}") from None
