"""The base of packed data sets: selection of examples, fingerprints, errors with their place.

The parts of examples are stored in flat arrays, example after example. Offsets, (n + 1,) int64,
give the start of each example, and the end of the last one.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.errors import DataError

_EACH = ("costs", "identifiers", "lines", "files")


@dataclass(frozen=True, eq=False, kw_only=True)
class Packed:
    """n examples in flat arrays.

    costs : (n,) float64, c_i
    identifiers : (n,) object, names
    lines : (n,) int64, line of the file where each example begins
    files : (n,) int32, row of ``paths``
    paths : the files
    labelled : whether every example has its true output

    Subclasses add fields, and define how an example is called (KIND) and which fields are offsets
    (OFFSETS) or have one entry for each example (EACH, without those above). A block made by
    ``slice`` shares all arrays; its positions are those of the whole.
    """

    KIND: ClassVar[str]
    OFFSETS: ClassVar[tuple[str, ...]]
    EACH: ClassVar[tuple[str, ...]] = ()

    costs: np.ndarray
    identifiers: np.ndarray
    lines: np.ndarray
    files: np.ndarray
    paths: tuple[str, ...]
    labelled: bool

    @property
    def names(self) -> list[str]:
        """Names of the examples."""
        return list(self.identifiers)

    def __len__(self) -> int:
        return len(self.costs)

    def slice(self, start: int, stop: int) -> Self:
        """Examples start..stop-1 as views of the same arrays."""
        offsets = {name: getattr(self, name)[start : stop + 1] for name in self.OFFSETS}
        each = {name: getattr(self, name)[start:stop] for name in (*_EACH, *self.EACH)}
        return replace(self, **offsets, **each)

    def each(self, rows: np.ndarray) -> dict[str, Any]:
        """The fields with one entry for each example after ``take``, by name."""
        return {name: getattr(self, name)[rows] for name in (*_EACH, *self.EACH)}

    def error(self, row: int | None, message: str) -> DataError:
        """An error that names an example and its place, or the first file."""
        if row is None:
            return DataError(self.paths[0], None, message)
        named = f"{self.KIND} {self.identifiers[row]!r} {message}"
        return DataError(self.paths[self.files[row]], int(self.lines[row]), named)


def digest(*parts: np.ndarray | int) -> str:
    """SHA-256 of the bytes of arrays and of the digits of whole numbers, in hexadecimal."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, int):
            found.update(str(part).encode())
        else:
            found.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)  # no copy
    return found.hexdigest()
