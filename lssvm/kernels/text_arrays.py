"""Arrays that the tokeniser writes to, large enough for any block of text."""

from itertools import pairwise

import numpy as np

from lssvm.kernels._codes import intern, relabel, renumber, scatter, spread
from lssvm.kernels.arrays import INTEGER, REAL

_FIELDS = 6  # of the spans of a row
_SHORTEST_ROW, _SHORTEST_FEATURE = 2, 4  # bytes: "1\n", " 1:1"


class RowBuffers:
    """Rows of labels and features, as ``_text.rows`` writes them.

    indices : int32, as they are written; values : float64, features of the rows one after another
    labels : (rows,) float64, NaN if unknown or a word
    sizes : (rows,) int32, number of features of each row
    lines : (rows,) int32, line of each row in the lines that were read, from 0
    spans : (rows, 6) int32, where label, query and comment begin and end in the block, -1 where
        there is none
    """

    def __init__(self) -> None:
        self._length = -1
        self.fit(0)

    def fit(self, length: int) -> None:
        """Make room for a block of ``length`` bytes."""
        if length <= self._length:
            return
        rows, features = length // _SHORTEST_ROW + 1, length // _SHORTEST_FEATURE + 1
        self.indices, self.values = np.empty(features, INTEGER), np.empty(features, REAL)
        self.labels, self.sizes = np.empty(rows, REAL), np.empty(rows, INTEGER)
        self.lines = np.empty(rows, INTEGER)
        self.spans = np.empty((rows, _FIELDS), INTEGER)
        self._length = length

    def check(self, length: int) -> None:
        """Raise ValueError if the arrays may be too small for a block of ``length`` bytes."""
        if length > self._length:
            raise ValueError(f"RowBuffers: room for {self._length} bytes; asked for {length}")


class CellBuffers:
    """Lines of values, as ``_text.cells`` writes them.

    spans : (cells, 2) int32, where each value begins and ends in the block, line after line
    lines : (lines,) int32, number of each line among all that were read, from 0
    text : uint8, the lines without their ends, one after another; ends : int32, where each one ends
    breaks : int32, number of lines of values before each end of a sentence
    """

    def __init__(self) -> None:
        self._length = -1
        self.fit(0)

    def fit(self, length: int) -> None:
        """Make room for a block of ``length`` bytes."""
        if length <= self._length:
            return
        cells = length // _SHORTEST_ROW + 2
        self.spans, self.text = np.empty((cells, 2), INTEGER), np.empty(length, np.uint8)
        self.lines, self.ends, self.breaks = (np.empty(cells, INTEGER) for _ in range(3))
        self._length = length

    def check(self, length: int) -> None:
        """Raise ValueError if the arrays may be too small for a block of ``length`` bytes."""
        if length > self._length:
            raise ValueError(f"CellBuffers: room for {self._length} bytes; asked for {length}")


class DistinctWords:
    """Different words and their numbers, as ``_codes.intern`` finds and adds them.

    pool : uint8, the words one after another; ends : int64, where each one ends in it
    hashes : uint32, of each word
    table : int32, a power of two of places, more than twice the words: numbers of words, or -1
    counts : (1,) int64, the number of words
    """

    def __init__(self) -> None:
        self.pool = np.empty(256, np.uint8)
        self.ends, self.hashes = np.empty(32, np.int64), np.empty(32, np.uint32)
        self.table = np.full(64, -1, INTEGER)
        self.counts = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.counts[0])

    def codes(self, block: bytes | bytearray, spans: np.ndarray) -> np.ndarray:
        """The numbers of words of a block, (n,) int32, -1 if there is none.

        spans : (n, 2) int32, where each word begins and ends
        """
        found = np.empty(len(spans), INTEGER)
        done = intern(block, spans, 0, found, self)
        while done < len(spans):
            self._grow(int(spans[done, 1] - spans[done, 0]))
            done = intern(block, spans, done, found, self)
        return found

    def code(self, word: str) -> int:
        """The number of one word."""
        block = word.encode()
        return int(self.codes(block, np.array([[0, len(block)]], INTEGER))[0])

    def texts(self, first: int = 0) -> tuple[str, ...]:
        """The words from number ``first`` on, in order. They must be UTF-8."""
        start = int(self.ends[first - 1]) if first else 0
        ends = (self.ends[first : len(self)] - start).tolist()
        pool = self.pool[start : start + ends[-1] if ends else start].tobytes()
        if pool.isascii():
            text = pool.decode()
            return tuple(text[a:b] for a, b in pairwise([0, *ends]))
        return tuple(pool[a:b].decode() for a, b in pairwise([0, *ends]))

    def _grow(self, length: int) -> None:
        """Make room for twice as much, and for a word of ``length`` bytes."""
        self.pool = _longer(self.pool, 2 * len(self.pool) + length)
        self.ends = _longer(self.ends, 2 * len(self.ends))
        self.hashes = _longer(self.hashes, 2 * len(self.hashes))
        self.table = np.full(2 * len(self.table), -1, INTEGER)
        spread(self.hashes, len(self), self.table)


class GrowingCodes:
    """Different codes by number, as ``_codes.renumber`` finds and adds them.

    codes : (room,) int64; counts : (1,) int64, their number
    """

    def __init__(self) -> None:
        self.codes, self.counts = np.empty(256, np.int64), np.zeros(1, np.int64)

    @property
    def known(self) -> np.ndarray:
        """The codes so far."""
        return self.codes[: self.counts[0]]


def renumbered(codes: np.ndarray, stop: int) -> np.ndarray:
    """Renumber codes by first occurrence, in place; negative codes stay.

    codes : (n,) int32, all below ``stop``

    Returns the codes by number, int64.
    """
    number, firsts = np.full(stop, -1, INTEGER), np.empty(stop, np.int64)
    return firsts[: relabel(codes, number, firsts)]


def paired(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number pairs of codes by first occurrence, written to ``first``; -1 if either is negative.

    first, second : (n,) int32

    Returns first and second code by number, int64.
    """
    distinct, table = GrowingCodes(), np.full(512, -1, INTEGER)
    done = renumber(first, second, 0, first, distinct, table)
    while done < len(first):
        distinct.codes = _longer(distinct.codes, 4 * len(distinct.codes))
        table = np.full(4 * len(table), -1, INTEGER)
        scatter(distinct.known, table)
        done = renumber(first, second, done, first, distinct, table)
    return distinct.known >> 32, distinct.known & (2**32 - 1)


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    found = np.empty(length, array.dtype)
    found[: len(array)] = array
    return found
