"""The base of packed data sets: selection of examples, fingerprints, and errors with file and line.

The parts of examples are stored in flat arrays, one example after another. Offsets, (n + 1,)
int64, give the start of each example, and the end of the last one.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.errors import DataError

_EACH = ("costs", "identifiers", "lines", "files")
_AT_ONCE = 1 << 13  # numbers that are hashed at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class Packed:
    """n examples in flat arrays.

    costs : (n,) float64, the costs c_i
    identifiers : (n,) object, the names of the examples
    lines : (n,) int64, the line of its file where each example begins
    files : (n,) int32, the index of its file in ``paths``
    paths : the files
    labelled : whether every example has its true output

    Subclasses add fields, and define the word for an example in messages (KIND), which fields are
    offsets (OFFSETS), and which of the added fields have one entry for each example (EACH). A block
    made by ``slice`` shares all arrays; its offsets count from the start of the whole data set.
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
        """The names of the examples."""
        return list(self.identifiers)

    def __len__(self) -> int:
        return len(self.costs)

    def slice(self, start: int, stop: int) -> Self:
        """The examples from start to stop - 1, as views of the same arrays."""
        offsets = {name: getattr(self, name)[start : stop + 1] for name in self.OFFSETS}
        each = {name: getattr(self, name)[start:stop] for name in (*_EACH, *self.EACH)}
        return replace(self, **offsets, **each)

    def each(self, rows: np.ndarray) -> dict[str, Any]:
        """The fields that have one entry for each example, by name, for the examples ``rows``."""
        return {name: getattr(self, name)[rows] for name in (*_EACH, *self.EACH)}

    def error(self, row: int | None, message: str) -> DataError:
        """An error with the name, file and line of an example; without ``row``, the first file."""
        if row is None:
            return DataError(self.paths[0], None, message)
        named = f"{self.KIND} {self.identifiers[row]!r} {message}"
        return DataError(self.paths[self.files[row]], int(self.lines[row]), named)


def digest(*parts: np.ndarray | int) -> str:
    """The SHA-256 of the bytes of arrays and the digits of whole numbers, in hexadecimal."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, int):
            found.update(str(part).encode())
        elif part.strides == (0,):  # one number for all
            for first in range(0, len(part), _AT_ONCE):
                found.update(np.ascontiguousarray(part[first : first + _AT_ONCE]).data)
        else:
            found.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)  # no copy
    return found.hexdigest()
