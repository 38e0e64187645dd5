"""FASTA files of DNA as flat arrays.

A record is a header ``>name description`` and the letters below it, on any number of lines and in
upper or lower case; U counts as T. Besides the ambiguity codes of IUPAC, X and ``.`` stand for any
letter, as in the DNA alphabet of the MEME suite. The gap ``-`` of alignments is refused, because
the letters of a site must be neighbours. Lines that begin with ``;`` or ``#`` before the first
record are comments.

A description is free text, in which the words ``label=+1``, ``label=-1`` and ``cost=NUMBER`` have a
meaning. Other words with such a beginning, ``label=enhancer`` or ``cost=high``, are part of the
text; but if the label comes from the header itself, its cost has to be a number.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.blocks import append, each_block, read_blocks
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.skipping import at_header
from lssvm.formats.text import decoded
from lssvm.kernels._text import letters as encoded
from lssvm.kernels.text_arrays import DistinctWords
from lssvm.offsets import cumulated

LETTERS = "ACGT"
AMBIGUOUS = 4
UNKNOWN = "?"  # an unknown label
_ILLEGAL = 255
_LINE_FEED = 10
_ROOM = 1 << 18  # letters that are read at a time
_PART = 2_000_000  # letters of a part; a record takes as much memory as _RECORD of them
_RECORD = 100
_IUPAC = "RYSWKMBDHVN"
_AMBIGUOUS = _IUPAC + _IUPAC.lower() + "Xx."  # the last ones are wildcards of the MEME suite
_LABELS = ("+1", "1", "-1")


def _codes() -> np.ndarray:
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for code, letters in enumerate(["Aa", "Cc", "Gg", "TtUu", _AMBIGUOUS]):
        table[np.frombuffer(letters.encode(), dtype=np.uint8)] = code
    return table


_CODES = _codes()


@dataclass(frozen=True)
class Fasta:
    """The n records of a file.

    names : (n,) object, first word of each header
    descriptions : n strings, the rest of each header
    lines : (n,) int64, line of each header, from 1
    letters : (size,) uint8, all letters one after another: 0..3 for A, C, G, T (and U), 4 for
        an ambiguous letter
    offsets : (n + 1,) int64, where each record starts in ``letters``, and the end
    labels : (n,) int8, +1 or -1 as the header says, 0 where it says nothing
    unread : (n,) object, other text after ``label=`` in a header without a label, or ""
    costs : (n,) float64, NaN where the header says nothing
    """

    names: np.ndarray
    descriptions: tuple[str, ...]
    lines: np.ndarray
    letters: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    unread: np.ndarray
    costs: np.ndarray


@dataclass
class _Record:
    line: int
    name: str
    description: str
    label: int
    unread: str
    cost: float


def read_fasta(
    path: str | Path, limit: Limit = DEFAULT, *, given: bool = False, empty: bool = False
) -> Fasta:
    """Read a FASTA file, plain or compressed, ``-`` for standard input.

    given : whether the labels are given by the configuration, so that headers need none
    empty : whether records without letters are accepted

    Raises DataError, with the line, if it is not FASTA of DNA with distinct names.
    """
    reader = _Reader(path, given)
    read_blocks(path, limit, reader.block, reader.line, longest=None, owns=at_header)
    return reader.file(empty)


def letters_of(text: str) -> np.ndarray:
    """The letters of a sequence without blanks, (size,) uint8. Raises ValueError for others."""
    codes = _CODES[np.frombuffer(text.encode("latin-1", errors="replace"), dtype=np.uint8)]
    if len(codes) and codes.max() == _ILLEGAL:
        raise ValueError(
            _illegal(next(c for c in text if ord(c) > 255 or _CODES[ord(c)] == _ILLEGAL))
        )
    return codes


def fasta_parts(
    path: str | Path, limit: Limit = DEFAULT, *, given: bool = False, empty: bool = False
) -> Iterator[Fasta]:
    """A FASTA file in parts of whole records, in order, as :func:`read_fasta` reads it.

    Of the records of other parts only names and lines are kept.
    """
    reader, others = _Reader(path, given), _OtherNames(path)
    for _ in each_block(path, limit, reader.block, reader.line, longest=None):
        if reader.full:
            part = reader.begun_anew(empty)
            others.add(part)
            if not reader.broken:
                yield part
    part = reader.file(empty)
    others.add(part)
    yield part


class _Reader:
    """The records so far, and their letters in one array."""

    def __init__(self, path: str | Path, given: bool) -> None:
        self.path, self.given = path, given
        self.records: list[_Record] = []
        self.starts, self.letters = array("q"), array("B")
        self._first: dict[str, int] = {}  # line of each name
        self._fault: DataError | None = None  # of the first illegal letter, raised at the end
        self._bare: DataError | None = None  # of the first record without letters, likewise
        self._buffer = np.empty(_ROOM, dtype=np.uint8)
        self._headers = np.empty((_ROOM >> 4, 4), dtype=np.int32)
        self._empty, self._within = True, False  # the file; whether the place is within a line

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read letters of a block, see :data:`lssvm.formats.blocks.Compiled`."""
        lines, full = 0, bool(self.records)
        while full:
            place, before = len(self.letters), lines
            at, size, count, more = encoded(block, at, _CODES, self._buffer, self._headers)
            append(self.letters, self._buffer[:size])
            for letters, begin, end, line in self._headers[:count].tolist():
                own = number + before + line
                text = decoded(self.path, own, block[begin:end]).rstrip()
                self._begin(_header(self.path, own, text, self.given), place + letters)
            full = size == len(self._buffer) or count == len(self._headers)
            lines += more
        self._within = 0 < at < len(block) and block[at - 1] != _LINE_FEED
        return at, lines

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises DataError."""
        text = text.rstrip()
        self._empty = self._empty and not text
        if text.startswith(">") and not self._within:
            self._begin(_header(self.path, number, text, self.given), len(self.letters))
        elif self.records and text:
            self._take(number, text)
        elif text and text[0] not in ";#":
            shown = text if len(text) <= 20 else text[:20] + "…"
            message = f"{shown!r} comes before the first header; expected '>name'"
            raise DataError(self.path, number, message)

    def _begin(self, record: _Record, start: int) -> None:
        first = self._first.setdefault(record.name, record.line)
        if first != record.line:
            raise _repeated(self.path, record.name, first, record.line)
        self.records.append(record)
        self.starts.append(start)

    def _take(self, number: int, text: str) -> None:
        """Add letters that compiled code left to Python."""
        raw = text.encode("latin-1", errors="replace")
        codes = _CODES[np.frombuffer(raw, dtype=np.uint8)]
        append(self.letters, codes)
        if self._fault is None and codes.max() == _ILLEGAL:
            letter = next(c for c in text if ord(c) > 255 or _CODES[ord(c)] == _ILLEGAL)
            self._fault = DataError(self.path, number, _illegal(letter))

    @property
    def full(self) -> bool:
        """Whether there is enough for a part, and a record that has ended."""
        size = len(self.letters) + _RECORD * len(self.records)
        return size > _PART and len(self.records) > 1

    @property
    def broken(self) -> bool:
        """Whether there is an error that is raised at the end of the file."""
        return self._bare is not None or self._fault is not None

    def begun_anew(self, empty: bool) -> Fasta:
        """The records but for the last one, with which the reader begins anew."""
        last, start = self.records.pop(), self.starts.pop()
        letters = self.letters[start:]
        del self.letters[start:]
        found = self._records(empty)
        self.records, self.starts, self.letters = [last], array("q", [0]), letters
        self._first = {last.name: last.line}
        return found

    def file(self, empty: bool) -> Fasta:
        """All that was read. empty : whether records without letters are accepted."""
        if not self.records:
            wrong = "the file is empty" if self._empty else "no records, only comments"
            raise DataError(self.path, None, f"{wrong}; expected FASTA records")
        found = self._records(empty)
        for error in (self._bare, self._fault):
            if error is not None:
                raise error
        return found

    def _records(self, empty: bool) -> Fasta:
        records = self.records
        offsets = np.array([*self.starts, len(self.letters)], dtype=np.int64)
        bare = np.flatnonzero(np.diff(offsets) == 0)
        if len(bare) and not empty and self._bare is None:
            name, line = records[bare[0]].name, records[bare[0]].line
            message = f"record {name!r} has no letters; expected a sequence below its header"
            self._bare = DataError(self.path, line, message)
        return Fasta(
            names=np.array([record.name for record in records], dtype=object),
            descriptions=tuple(record.description for record in records),
            lines=np.array([record.line for record in records], dtype=np.int64),
            letters=np.asarray(self.letters),
            offsets=offsets,
            labels=np.array([record.label for record in records], dtype=np.int8),
            unread=np.array([record.unread for record in records], dtype=object),
            costs=np.array([record.cost for record in records]),
        )


class _OtherNames:
    """Names and lines of the records of parts."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._names, self._lines = path, DistinctWords(), array("q")

    def add(self, part: Fasta) -> None:
        """Add those of a part. Raises DataError for a name that another part has."""
        before = len(self._names)
        words = [name.encode() for name in part.names]
        ends = cumulated([len(word) for word in words]).astype(np.int32)
        codes = self._names.codes(b"".join(words), np.column_stack([ends[:-1], ends[1:]]))
        again = np.flatnonzero(codes < before)
        if len(again):
            row = again[0]
            first = self._lines[codes[row]]
            raise _repeated(self._path, part.names[row], first, int(part.lines[row]))
        append(self._lines, part.lines)


def _repeated(path: str | Path, name: str, first: int, line: int) -> DataError:
    message = f"name {name!r} is given twice, first on line {first}; expected distinct names"
    return DataError(path, line, message)


def _header(path: str | Path, number: int, line: str, given: bool) -> _Record:
    words = line[1:].split(maxsplit=1)
    if not words:
        raise DataError(path, number, "the header has no name; expected '>name'")
    description = words[1] if len(words) > 1 else ""
    label, unread, cost = 0, "", math.nan
    if "label=" in description or "cost=" in description:
        labels, others = _values(description, "label", _is_label)
        label = int(_once(path, number, "label", labels) or 0)
        texts = [text for text in others if text != UNKNOWN]
        unread = texts[0] if texts and not label else ""
        costs, others = _values(description, "cost", _is_number)
        if others and label and not given:
            message = f"cost {others[0]!r} is not a number; expected one >= 0"
            raise DataError(path, number, message)
        cost = _cost(path, number, _once(path, number, "cost", costs))
    return _Record(number, words[0], description, label, unread, cost)


def _values(description: str, key: str, fits: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """The texts after ``key=`` in a description: those that fit, and those that are free text."""
    pairs = [word.partition("=") for word in description.split()]
    values = [value for name, equals, value in pairs if equals and name == key]
    return [value for value in values if fits(value)], [v for v in values if not fits(v)]


def _is_label(value: str) -> bool:
    return value in _LABELS


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _once(path: str | Path, number: int, key: str, values: Sequence[str]) -> str | None:
    if len(values) > 1:
        raise DataError(path, number, f"'{key}=' is given twice; expected it once")
    return values[0] if values else None


def _cost(path: str | Path, number: int, value: str | None) -> float:
    if value is None:
        return math.nan
    cost = float(value)
    if not 0 <= cost < math.inf:
        raise DataError(
            path, number, f"cost {value!r} is out of range; expected a finite number >= 0"
        )
    return cost


def _illegal(letter: str) -> str:
    if letter == "-":
        return "'-' is a gap; expected sequences without gaps, not an alignment"
    return f"illegal letter {letter!r}; expected A, C, G, T, U or an IUPAC code"
