"""Pairs of entities with mentions and relations: the text format of distant supervision.

Numbers alone, as in the public files of Riedel, Yao & McCallum (ECML 2010) for Haffari, Nagesh &
Ramakrishnan (NAACL 2015):

    2                    number of pairs
    51                   number of relations
    1                    first pair: how many relations it has; 0: none; ?: not known
    7                    these relations, one per line, 1 to 51
    2                    its mentions: how many
    3 1:1.0 8:2.0 9:1.0  one line per mention: how many features, then index:value …
    1 4:1.0
    0                    second pair …

Words are separated by tabs or blanks, indices count from 0 or 1 and increase, features that are 0
may be left out. Blank lines and everything behind ``#`` are skipped.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.bag_file import BagFile
from lssvm.formats.blocks import append, shifted
from lssvm.formats.text import Line
from lssvm.kernels._text import LABELS_ARE_WORDS
from lssvm.kernels._text import rows as tokenised
from lssvm.kernels.text_arrays import RowBuffers
from lssvm.offsets import cumulated, gathered

MOST = 2**31 - 1  # highest index of a feature, and largest count
MOST_RELATIONS = 10_000
UNKNOWN = "?"  # for the number of relations
_NOT_KNOWN, _WRONG = -1, -2  # numbers of lines
_DIGITS = 10  # of the largest count


class NumberedBags:
    """The pairs of a text file so far. left_out : pairs that are counted there, but not read"""

    def __init__(self, path: str | Path, left_out: int = 0) -> None:
        self._path, self._left_out = path, left_out
        self._buffers = RowBuffers()
        self.count = self.relations = -1  # of lines 1 and 2, which are not yet known
        self._done = self._last = 0
        self._forget()

    def _forget(self) -> None:
        self.numbers, self.sizes = array("q"), array("q")
        self.lines, self.indices, self.values = array("q"), array("i"), array("d")

    @property
    def held(self) -> int:
        """How many numbers are held."""
        return len(self.values) + len(self.numbers)

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read lines of a block, see :data:`lssvm.formats.blocks.Compiled`."""
        found = self._buffers
        found.fit(len(block))
        at, rows, size, lines = tokenised(block, at, LABELS_ARE_WORDS, False, 0, MOST, found)
        spans = found.spans[:rows]
        numbers = _whole_numbers(block, spans[:, :2])
        wrong = np.flatnonzero((numbers == _WRONG) | (spans[:, 2] >= 0))
        for row in wrong:
            line = number + int(found.lines[row])
            numbers[row] = self._examined(block, spans[row].tolist(), line)
        append(self.numbers, numbers)
        append(self.sizes, found.sizes[:rows])
        append(self.lines, shifted(found.lines[:rows], number))
        append(self.indices, found.indices[:size])
        append(self.values, found.values[:size])
        return at, lines

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises ValueError that says what is wrong."""
        body = text.partition("#")[0]
        if not body or body.isspace():
            return
        first, *rest = body.split(None, 1)
        self.numbers.append(_count(first))
        indices, values = tokens.features(rest[0] if rest else "", MOST, 0)
        self.indices.extend(indices)
        self.values.extend(values)
        self.sizes.append(len(indices))
        self.lines.append(number)

    def _examined(self, block: bytearray, span: list[int], line: int) -> int:
        """The count of a line that looks wrong. Raises DataError."""
        begin, end, query, query_end = span[:4]
        try:
            count = _count(block[begin:end].decode())
            if query >= 0:
                raise ValueError(
                    f"{tokens.cut(block[end:query_end].decode().strip())!r} is no "
                    "feature; expected index:value"
                )
        except ValueError as error:
            raise DataError(self._path, line, error) from None
        return count

    def pairs(self, *, ended: bool) -> BagFile:
        """The whole pairs so far, see :class:`BagReader`."""
        rows = _Rows(*map(np.asarray, (self.numbers, self.sizes, self.lines)))
        begin = self._header(rows, ended)
        walk = _walked(rows, begin, self.count - self._done)
        fault = walk.first_fault(rows, self.relations)
        if ended and fault is None:
            fault = self._end_fault(rows, walk)
        if fault is not None:
            raise DataError(self._path, *fault)
        found = self._packed(rows, walk)
        self._keep(walk.stop)
        self._done += len(found)
        return found

    def _header(self, rows: "_Rows", ended: bool) -> int:
        """The row of the first pair, once both numbers of the header are read. Raises DataError."""
        if self.count >= 0:
            return 0
        whats = ("the number of pairs", "the number of relations")
        for row, (what, most) in enumerate(zip(whats, (MOST, MOST_RELATIONS), strict=True)):
            if len(rows.numbers) <= row:
                if ended:
                    message = f"the file ends before {what}; expected 1 to {most:,d}"
                    raise DataError(self._path, int(rows.lines[-1]), message)
                return 0
            if rows.sizes[row]:
                wrong = f"features in the line of {what}; expected a whole number alone"
                raise DataError(self._path, int(rows.lines[row]), wrong)
            number = int(rows.numbers[row])
            if not 1 <= number <= most:
                given = UNKNOWN if number == _NOT_KNOWN else f"{number:,d}"
                message = f"{what} is {given}; expected 1 to {most:,d}"
                raise DataError(self._path, int(rows.lines[row]), message)
        self.count, self.relations = rows.numbers[:2].tolist()
        self.count -= self._left_out
        if self.count < 1:
            raise DataError(self._path, None, "no pair is left; expected one at least")
        return 2

    def _end_fault(self, rows: "_Rows", walk: "_Walk") -> tuple[int, str] | None:
        """The line and what is wrong with the end of the file, or None."""
        done = self._done + len(walk.firsts)
        if done < self.count:
            line = int(rows.lines[-1]) if len(rows.lines) else self._last
            found = f"the file ends within pair {done + 1:,d}"
            return line, f"{found}; expected {counted(self.count, 'pair')}, as its first line says"
        if walk.stop < len(rows.numbers):
            line = int(rows.lines[walk.stop])
            return line, f"a line behind the last pair; expected {counted(self.count, 'pair')}"
        return None

    def _packed(self, rows: "_Rows", walk: "_Walk") -> BagFile:
        labels, label_places = walk.labels(rows)
        mentions, places = walk.mentions()
        starts = cumulated(rows.sizes[mentions])
        size = int(starts[-1])  # all other rows have no features
        return BagFile(
            lines=rows.lines[walk.firsts],
            known=rows.numbers[walk.firsts] != _NOT_KNOWN,
            label_places=label_places,
            labels=labels,
            relations=tuple(map(str, range(1, self.relations + 1))),
            places=places,
            starts=starts,
            indices=np.array(self.indices[:size], dtype=np.int32),
            values=np.array(self.values[:size]),
            features=None,
            names=None,
            entities=None,
            mention_names=None,
            costs=np.full(len(walk.firsts), np.nan),
        )

    def _keep(self, stop: int) -> None:
        """Forget the rows before ``stop``."""
        size = sum(self.sizes[:stop])
        self._last = self.lines[-1] if self.lines else self._last
        for name, first in (
            ("numbers", stop),
            ("sizes", stop),
            ("lines", stop),
            ("indices", size),
            ("values", size),
        ):
            setattr(self, name, getattr(self, name)[first:])


def numbered_pair(lines: Sequence[tuple[int, Sequence[Line]]], number: int) -> range:
    """The lines of the pair that has a line, if the counts of the whole file fit together.

    lines : numbers and words of those that are not empty

    Raises ValueError that says why the pair cannot be told.
    """
    why = "cannot skip a pair where counts are wrong: its end is not known"
    found, at = list[range](), 2  # the header has two lines
    try:
        while at < len(lines):
            begin = lines[at][0]
            for least in (0, 1):  # of its relations, then of its mentions
                (word,) = lines[at][1]
                count = 0 if word == UNKNOWN.encode() else int(word)
                at += 1 + (count if count >= least else len(lines))
            end = lines[at] if at < len(lines) else (lines[at - 1][0] + 1, ())
            found.append(range(begin, end[0]))
        fits = int(lines[0][1][0]) == len(found)
    except (ValueError, IndexError):
        fits = False
    if not fits:
        raise ValueError(why)
    own = next((pair for pair in found if number in pair), None)
    if own is None:
        raise ValueError("cannot skip lines that are not of a pair")
    return own


@dataclass(frozen=True)
class _Rows:
    """Lines: the number that each begins with, how many features follow, and their own numbers."""

    numbers: np.ndarray
    sizes: np.ndarray
    lines: np.ndarray


@dataclass(frozen=True)
class _Walk:
    """Whole pairs: the rows where they begin, and what the counts in them are.

    stop : the first row that is not of these pairs
    fault : the row where the walk was stopped by an impossible count, and what is wrong; or None
    """

    firsts: np.ndarray
    label_counts: np.ndarray
    mention_counts: np.ndarray
    stop: int
    fault: tuple[int, str] | None

    def _label_rows(self) -> tuple[np.ndarray, np.ndarray]:
        return _ranges(self.firsts + 1, self.label_counts)

    def mentions(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the mentions, and the places of those of each pair."""
        return _ranges(self.firsts + self.label_counts + 2, self.mention_counts)

    def labels(self, rows: _Rows) -> tuple[np.ndarray, np.ndarray]:
        """The relations of the pairs from 0, increasing in each pair, and their places."""
        own, places = self._label_rows()
        pair = np.repeat(np.arange(len(self.firsts)), self.label_counts)
        found = rows.numbers[own]
        return (found[np.lexsort((found, pair))] - 1).astype(np.int32), places

    def first_fault(self, rows: _Rows, relations: int) -> tuple[int, str] | None:
        """The line of the first fault, and what is wrong; or None."""
        faults = [] if self.fault is None else [self.fault]
        own, _ = self._label_rows()
        numbers = rows.numbers[own]
        wrong = np.flatnonzero((numbers < 1) | (numbers > relations) | (rows.sizes[own] > 0))
        if len(wrong):
            faults.append((int(own[wrong[0]]), f"not a relation; expected 1 to {relations:,d}"))
        pair = np.repeat(np.arange(len(self.firsts)), self.label_counts)
        order = np.lexsort((own, numbers, pair))
        again = (np.diff(numbers[order]) == 0) & (np.diff(pair[order]) == 0)
        if again.any():
            row = int(own[order[1:][again]].min())
            message = f"relation {rows.numbers[row]} again; expected each relation once"
            faults.append((row, message))
        own, _ = self.mentions()
        wrong = np.flatnonzero(rows.numbers[own] != rows.sizes[own])
        if len(wrong):
            row = int(own[wrong[0]])
            given = UNKNOWN if rows.numbers[row] < 0 else f"{rows.numbers[row]:,d}"
            follow = f"expected {rows.sizes[row]:,d}, as many as follow"
            message = f"{given} as the number of features; {follow}"
            faults.append((row, message))
        if not faults:
            return None
        row, message = min(faults)
        return int(rows.lines[row]), message


def _walked(rows: _Rows, begin: int, most: int) -> _Walk:
    """The whole pairs from row ``begin`` on, at most so many."""
    numbers, sizes, at = rows.numbers.tolist(), rows.sizes.tolist(), begin
    counts = array("q"), array("q"), array("q")  # first rows, relations, mentions
    fault = None
    while len(counts[0]) < most and at < len(numbers):
        labels = max(0, numbers[at])
        if sizes[at]:
            fault = at, "features in a line that begins a pair; expected its number of relations"
            break
        middle = at + 1 + labels
        if middle >= len(numbers):
            break
        mentions = numbers[middle]
        if sizes[middle] or mentions < 1:
            given = "features" if sizes[middle] else UNKNOWN if mentions < 0 else "0"
            fault = middle, f"{given} in place of the number of mentions; expected at least 1"
            break
        if middle + 1 + mentions > len(numbers):
            break
        for array_of, count in zip(counts, (at, labels, mentions), strict=True):
            array_of.append(count)
        at = middle + 1 + mentions
    firsts, label_counts, mention_counts = map(np.asarray, counts)
    return _Walk(firsts, label_counts, mention_counts, at, fault)


def _ranges(firsts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows from each of the first ones on, and the places of each range among them."""
    ends = firsts + counts
    bounds = np.ravel(np.column_stack([firsts, ends]))
    found, places = gathered(bounds, np.arange(0, len(bounds), 2))
    return found, places


def _whole_numbers(block: bytearray, spans: np.ndarray) -> np.ndarray:
    """The whole numbers of words, (n,) int64; -1 for ``?``, -2 for what is none or too large.

    spans : (n, 2) where each word begins and ends
    """
    letters = np.frombuffer(block, np.uint8)
    begins, lengths = spans[:, 0].astype(np.int64), spans[:, 1] - spans[:, 0]
    found = np.zeros(len(spans), dtype=np.int64)
    good = lengths <= _DIGITS
    for place in range(min(_DIGITS, int(lengths.max(initial=0)))):
        inside = lengths > place
        digit = letters[np.minimum(begins + place, len(letters) - 1)].astype(np.int64) - ord("0")
        good &= ~inside | ((digit >= 0) & (digit <= 9))
        found = np.where(inside, 10 * found + digit, found)
    found[~good | (found > MOST)] = _WRONG
    found[(lengths == 1) & (letters[begins] == ord(UNKNOWN))] = _NOT_KNOWN
    return found


def _count(word: str) -> int:
    """The count that a line begins with. Raises ValueError if it is none."""
    return _NOT_KNOWN if word == UNKNOWN else tokens.whole(word, "number", 0, MOST)
