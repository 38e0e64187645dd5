"""Fits that are written when they are done, and read in the place of being made again.

A fit is two files in a folder: NAME-KEY.npz with its arrays and NAME-KEY.json with its settings and
what was measured, which is written last. KEY is a hash of the settings, of the data, of the version
of the package and of FORMAT, so that no other fit is ever read. Delete a file to make it again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lssvm
from lssvm.output.tables import make_folder, write_json
from lssvm.output.whole import replacing

FORMAT = 1  # to be raised when fits with the same settings become others
DIGITS = 16  # of the key in the names of files


def fingerprint(paths: Iterable[str | Path]) -> str:
    """A hash of what is in files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return found.hexdigest()


class Place(NamedTuple):
    """Where a fit is: the path of both files without what they end in, and what it is keyed by."""

    stem: Path
    keyed: dict[str, Any]

    @property
    def facts(self) -> dict[str, Any] | None:
        """What was measured; None if there is no such fit yet."""
        path = Path(f"{self.stem}.json")
        if not path.exists() or not Path(f"{self.stem}.npz").exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return found["facts"] if found["keyed"] == self.keyed else None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What was learnt."""
        with np.load(f"{self.stem}.npz", allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def write(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
        """Write a fit. Raises LssvmError if that is impossible."""
        make_folder(self.stem.parent)
        with replacing(f"{self.stem}.npz", "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        write_json(Path(f"{self.stem}.json"), {"keyed": self.keyed, "facts": dict(facts)})


def place(folder: Path, name: str, settings: Mapping[str, Any], data: str) -> Place:
    """Where the fit with these settings is; settings : as JSON has them; data : a fingerprint."""
    whole = {"data": data, "version": lssvm.__version__, "format": FORMAT, "settings": settings}
    keyed = json.loads(json.dumps(whole, sort_keys=True))
    text = json.dumps(keyed, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    return Place(folder / f"{name}-{key}", keyed)
