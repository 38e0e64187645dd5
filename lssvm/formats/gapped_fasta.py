"""FASTA files of sequences of any alphabet, with or without gaps.

A record is a header ``>name description`` and the symbols below it, on any number of lines:
letters of either case, ``*``, and the gaps ``-`` and ``.``. Lines that begin with ``;`` or ``#``
before the first record are comments.

Records may be rows of alignments (:func:`read_aligned_pairs`): each two that follow each other are
a pair, and aligned if they have the same number of symbols. Or they are natives, each followed by
the sequences that are compared with it (:func:`read_homologs`): a word of the description says
``role=native``, ``role=homolog``, ``role=decoy`` or, if it is not known which one is the homolog,
``role=candidate``; ``cost=NUMBER`` of a native is the cost of its example.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import Line, Owns, open_text
from lssvm.offsets import cumulated

GAP = ord("-")
NATIVE, HOMOLOG, DECOY, CANDIDATE = range(4)
ROLES = ("native", "homolog", "decoy", "candidate")
_ILLEGAL = 0
_PART = 2_000_000  # symbols of a part; a record takes as much memory as _RECORD of them
_RECORD = 100


def _symbols() -> np.ndarray:
    """Letters in upper case and the gap, by their byte; 0 for what is none."""
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ*-":
        table[ord(letter)] = table[ord(letter.lower())] = ord(letter)
    table[ord(".")] = GAP
    return table


_SYMBOLS = _symbols()


@dataclass(frozen=True)
class GappedFasta:
    """The n records of a file.

    names, descriptions : n strings; lines : (n,) int64, line of each header, from 1
    symbols : (size,) uint8, ASCII of letters in upper case, ``*`` and ``-``
    offsets : (n + 1,) int64, where each record begins
    roles : (n,) int8, of a file of homologs, else empty
    costs : (n,) float64, NaN where none is given
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    lines: np.ndarray
    symbols: np.ndarray
    offsets: np.ndarray
    roles: np.ndarray
    costs: np.ndarray

    def row(self, record: int) -> np.ndarray:
        """The symbols of a record."""
        return self.symbols[self.offsets[record] : self.offsets[record + 1]]


def read_gapped(path: str | Path, limit: Limit = DEFAULT) -> GappedFasta:
    """Read a FASTA file, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, if it is not FASTA, or if a record has no letters.
    """
    return _joined(list(_parts(path, limit, lambda count, description: False, None)))


class _Reader:
    """The records that were read since the last part."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.names: list[str] = []
        self.descriptions: list[str] = []
        self.lines: list[int] = []
        self.counts: list[int] = []
        self.pieces: list[np.ndarray] = []
        self.size = 0  # symbols

    @property
    def full(self) -> bool:
        """Whether there are enough symbols and records for a part."""
        return self.size + _RECORD * len(self.names) > _PART

    def begin(self, number: int, words: list[str]) -> None:
        """Begin a record with the words of its header. Raises DataError."""
        if not words:
            raise DataError(self.path, number, "the header has no name; expected '>name'")
        self.names.append(words[0])
        self.descriptions.append(words[1] if len(words) > 1 else "")
        self.lines.append(number)
        self.counts.append(0)

    def add(self, number: int, text: str) -> None:
        """Add a line of symbols to the last record. Raises DataError."""
        self.pieces.append(encoded(self.path, number, text))
        self.counts[-1] += len(self.pieces[-1])
        self.size += len(self.pieces[-1])

    def part(self) -> GappedFasta:
        """The records. Raises DataError for one without letters."""
        found = GappedFasta(
            tuple(self.names),
            tuple(self.descriptions),
            np.array(self.lines, dtype=np.int64),
            np.concatenate([np.empty(0, np.uint8), *self.pieces]),
            cumulated(self.counts),
            np.empty(0, np.int8),
            np.full(len(self.names), math.nan),
        )
        letters = cumulated((found.symbols != GAP).astype(np.int64))[found.offsets]
        bare = np.flatnonzero(np.diff(letters) == 0)
        if len(bare):
            message = f"record {self.names[bare[0]]!r} has no letters; expected a sequence"
            raise DataError(self.path, self.lines[bare[0]], message)
        return found


def _parts(
    path: str | Path, limit: Limit, begins: Callable[[int, str], bool], owns: Owns | None
) -> Iterator[GappedFasta]:
    """The records of a file in parts, at least one.

    begins : whether a part may begin with a record of that description, after so many others
    owns : as of :func:`lssvm.formats.text.open_blocks`
    """
    reader, number, empty, any_record = _Reader(path), 0, True, False
    with open_text(path, limit, owns=owns) as numbered:
        for number, line in numbered:
            text = line.strip()
            empty = empty and not text
            if text.startswith(">"):
                words = text[1:].split(maxsplit=1)
                if reader.full and begins(len(reader.names), " ".join(words[1:])):
                    yield reader.part()
                    reader = _Reader(path)
                reader.begin(number, words)
                any_record = True
            elif any_record and text:
                reader.add(number, text)
            elif text and text[0] not in ";#":
                message = f"{tokens.cut(text)!r} comes before the first header; expected '>name'"
                raise DataError(path, number, message)
    if not any_record:
        wrong = "the file is empty" if empty else "no records, only comments"
        raise DataError(path, None, f"{wrong}; expected FASTA records")
    yield reader.part()


def pair_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of the pair of records that has a line, as of :data:`lssvm.formats.text.Owns`."""
    headers, end = _headers(lines)
    begins = [at for at, _ in headers]
    place = (bisect_right(begins, number) - 1) // 2 * 2
    if len(begins) % 2:
        raise ValueError("cannot skip one of an odd number of records: its partner is not known")
    return _record_lines(begins, place, place + 2, end)


def native_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of a native and of what is compared with it, one of which has a line."""
    headers, end = _headers(lines)
    roles = [[word for word in words if word.startswith(b"role=")] for _, words in headers]
    known = [[f"role={role}".encode()] for role in ROLES]
    if any(own not in known for own in roles):
        raise ValueError("cannot skip a native where a record has no role: its end is not known")
    begins = [at for (at, _), own in zip(headers, roles, strict=True) if own == known[NATIVE]]
    place = bisect_right(begins, number) - 1
    return _record_lines(begins, place, place + 1, end)


def _headers(lines: Iterable[tuple[int, Line]]) -> tuple[list[tuple[int, list[Line]]], int]:
    """The numbers and words of the headers, and the number behind the last line."""
    found, end = list[tuple[int, list[Line]]](), 1
    for at, line in lines:
        end = at + 1
        if line.lstrip().startswith(b">"):
            found.append((at, list(line.split())))
    return found, end


def _record_lines(begins: Sequence[int], first: int, stop: int, end: int) -> list[range]:
    if first < 0:
        raise ValueError("cannot skip what comes before the first example")
    return [range(begins[first], begins[stop] if stop < len(begins) else end)]


def _joined(parts: Sequence[GappedFasta]) -> GappedFasta:
    """The records of all parts."""
    if len(parts) == 1:
        return parts[0]
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("lines", "symbols", "roles", "costs")
    }
    return GappedFasta(
        names=tuple(name for part in parts for name in part.names),
        descriptions=tuple(text for part in parts for text in part.descriptions),
        offsets=cumulated(np.concatenate([np.diff(part.offsets) for part in parts])),
        **arrays,
    )


def encoded(path: str | Path, number: int, text: str) -> np.ndarray:
    """The symbols of a line that is not empty, (size,) uint8. Raises DataError for others."""
    raw = np.frombuffer(text.encode("latin-1", errors="replace"), dtype=np.uint8)
    codes = _SYMBOLS[raw]
    if codes.min() == _ILLEGAL:
        wrong = next(c for c in text if ord(c) > 255 or _SYMBOLS[ord(c)] == _ILLEGAL)
        if wrong.isspace():
            wrong = " "
        message = f"{wrong!r} is no letter; expected letters, '*' and the gaps '-' and '.'"
        raise DataError(path, number, message)
    return codes


def read_aligned_pairs(path: str | Path, limit: Limit = DEFAULT) -> GappedFasta:
    """Read a file whose records are pairs of aligned rows, or of sequences to be aligned.

    Raises DataError, with the line, for a record without a partner, and for rows of different
    lengths that have gaps.
    """
    return _joined(list(aligned_pair_parts(path, limit)))


def aligned_pair_parts(path: str | Path, limit: Limit = DEFAULT) -> Iterator[GappedFasta]:
    """What :func:`read_aligned_pairs` reads, in parts of whole pairs, at least one."""
    for part in _parts(path, limit, lambda count, description: count % 2 == 0, pair_lines):
        count = len(part.names)
        if count % 2:
            name = part.names[-1]
            message = f"record {name!r} has no partner; expected an even number of records"
            raise DataError(path, int(part.lines[-1]), message)
        for record in range(0, count, 2):
            check_aligned(path, part, record, record + 1)
        yield replace(part, costs=_costs(path, part, range(0, count, 2)))


def read_homologs(path: str | Path, limit: Limit = DEFAULT) -> GappedFasta:
    """Read natives with their homologs and decoys.

    The rows of a native and of its homolog are aligned if they have the same number of symbols.
    Raises DataError, with the line, for a record without a role, a native with nothing to compare
    it with, several homologs of one native, a homolog beside candidates of unknown role, gaps of
    other records, and for rows of different lengths that have gaps.
    """
    return _joined(list(homolog_parts(path, limit)))


def homolog_parts(path: str | Path, limit: Limit = DEFAULT) -> Iterator[GappedFasta]:
    """What :func:`read_homologs` reads, in parts of natives with their candidates, at least one."""

    def begins(count: int, description: str) -> bool:
        return f"role={ROLES[NATIVE]}" in description.split()

    for part in _parts(path, limit, begins, native_lines):
        yield _with_roles(path, part)


def _with_roles(path: str | Path, found: GappedFasta) -> GappedFasta:
    """The records with their roles and costs. Raises DataError as :func:`read_homologs` does."""
    roles = np.array([_role(path, found, record) for record in range(len(found.names))], np.int8)
    if roles[0] != NATIVE:
        message = f"record {found.names[0]!r} comes before a native; expected role=native first"
        raise DataError(path, int(found.lines[0]), message)
    natives = np.flatnonzero(roles == NATIVE)
    for first, last in itertools.pairwise([*natives.tolist(), len(roles)]):
        _check_group(path, found, roles, first, last)
    return replace(found, roles=roles, costs=_costs(path, found, natives.tolist()))


def _check_group(
    path: str | Path, found: GappedFasta, roles: np.ndarray, first: int, last: int
) -> None:
    own = roles[first + 1 : last]
    native = found.names[first]
    homologs = first + 1 + np.flatnonzero(own == HOMOLOG)
    if not len(own):
        message = f"native {native!r} has nothing to be compared with; expected a homolog or decoys"
        raise DataError(path, int(found.lines[first]), message)
    if len(homologs) > 1:
        message = f"native {native!r} has a second homolog; expected one"
        raise DataError(path, int(found.lines[homologs[1]]), message)
    others = first + 1 + np.flatnonzero(own == CANDIDATE)
    if len(others) and len(others) < len(own):
        message = (
            f"native {native!r} has candidates of known and of unknown role; expected one kind"
        )
        raise DataError(path, int(found.lines[others[0]]), message)
    if not len(homologs) and not len(others):
        message = f"native {native!r} has no homolog; expected one, or role=candidate of all"
        raise DataError(path, int(found.lines[first]), message)
    for record in range(first + 1, last):
        if record not in homologs and np.any(found.row(record) == GAP):
            message = f"record {found.names[record]!r} has gaps; expected a sequence without gaps"
            raise DataError(path, int(found.lines[record]), message)
    if len(homologs):
        check_aligned(path, found, first, int(homologs[0]))
    elif np.any(found.row(first) == GAP):
        message = f"record {native!r} has gaps; expected a sequence without gaps"
        raise DataError(path, int(found.lines[first]), message)


def check_aligned(path: str | Path, found: GappedFasta, first: int, second: int) -> None:
    """Refuse two rows that have gaps, but not the same length. Raises DataError."""
    rows = found.row(first), found.row(second)
    gaps = any(np.any(row == GAP) for row in rows)
    if len(rows[0]) != len(rows[1]) and gaps:
        message = (
            f"record {found.names[second]!r} has {counted(len(rows[1]), 'symbol')}, "
            f"{found.names[first]!r} has {len(rows[0])}; expected rows of one length, or no gaps"
        )
        raise DataError(path, int(found.lines[second]), message)


def _values(found: GappedFasta, record: int, key: str) -> list[str]:
    words = (word.partition("=") for word in found.descriptions[record].split())
    return [value for name, equals, value in words if equals and name == key]


def _once(path: str | Path, found: GappedFasta, record: int, key: str) -> str | None:
    values = _values(found, record, key)
    if len(values) > 1:
        message = f"'{key}=' is given twice; expected it once"
        raise DataError(path, int(found.lines[record]), message)
    return values[0] if values else None


def _role(path: str | Path, found: GappedFasta, record: int) -> int:
    value = _once(path, found, record, "role")
    if value not in ROLES:
        wrong = "has no role" if value is None else f"has role {tokens.cut(value)!r}"
        message = f"record {found.names[record]!r} {wrong}; expected role={', '.join(ROLES)}"
        raise DataError(path, int(found.lines[record]), message)
    return ROLES.index(value)


def _costs(path: str | Path, found: GappedFasta, records: Sequence[int]) -> np.ndarray:
    costs = found.costs.copy()
    for record in records:
        value = _once(path, found, record, "cost")
        if value is None:
            continue
        try:
            costs[record] = tokens.cost(value)
        except ValueError as error:
            raise DataError(path, int(found.lines[record]), error) from None
    return costs
