"""Files read in blocks by compiled code, which leaves lines of unusual form to Python."""

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.limit import Limit
from lssvm.formats.text import LONGEST, Owns, decoded, open_blocks

# Reads a block from a place on, whose line has that number. Returns the place of the first line
# that it leaves to Python, and the number of lines that it read.
Compiled = Callable[[bytearray, int, int], tuple[int, int]]


def read_blocks(
    path: str | Path,
    limit: Limit,
    compiled: Compiled,
    line: Callable[[int, str], None],
    longest: int | None = LONGEST,
    owns: Owns | None = None,
) -> None:
    """Read a text file, plain or compressed, ``-`` for standard input. See :func:`each_block`."""
    for _ in each_block(path, limit, compiled, line, longest, owns):
        pass


def each_block(
    path: str | Path,
    limit: Limit,
    compiled: Compiled,
    line: Callable[[int, str], None],
    longest: int | None = LONGEST,
    owns: Owns | None = None,
) -> Iterator[None]:
    """Read a text file block after block.

    compiled : reads most lines; each one ends in LF
    line : reads a line that ``compiled`` did not understand, given its number and its text without
        the end, from where ``compiled`` stopped; raises ValueError with what is wrong
    longest : largest number of bytes of a line; None if lines may have any length
    owns : which lines an example has, for files whose bad examples can be left out

    Raises DataError, with the line for what ``line`` refuses.
    """
    with open_blocks(path, limit, longest, owns) as blocks:
        for number, block in blocks:
            _read(path, number, block, compiled, line)
            yield


def _read(
    path: str | Path,
    number: int,
    block: bytearray,
    compiled: Compiled,
    line: Callable[[int, str], None],
) -> None:
    if not block.endswith(b"\n"):
        block += b"\n"
    at = 0
    while at < len(block):
        at, count = compiled(block, at, number)
        number += count
        if at < len(block):
            end = block.index(b"\n", at)
            text = decoded(path, number, block[at:end]).rstrip("\r\n")
            try:
                line(number, text)
            except ValueError as error:
                raise DataError(path, number, error) from None
            at, number = end + 1, number + 1


def append(whole: array, part: np.ndarray) -> None:
    """Append numbers to a growing array, converted to its type."""
    whole.frombytes(part.astype(whole.typecode, copy=False).view(np.uint8).data)


def shifted(places: np.ndarray, start: int) -> np.ndarray:
    """Places counted from ``start``, int64."""
    return np.add(places, start, dtype=np.int64)


class Utf8:
    """Whether a block is UTF-8; each block is examined only once."""

    def __init__(self) -> None:
        self._block: bytearray | None = None
        self._is = False

    def __call__(self, block: bytearray) -> bool:
        """The answer for a block."""
        if block is not self._block:
            self._block, self._is = block, block.isascii() or _decodes(block)
        return self._is


def _decodes(block: bytearray) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
