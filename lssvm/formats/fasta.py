"""FASTA files of DNA as flat arrays.

A record is a header ``>name description`` and the letters below it, on any number of lines
and in either case; U counts as T. Words ``label=+1`` and ``cost=0.5`` of a description are
read. Lines that begin with ``;`` or ``#`` before the first record are comments.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.text import open_text

LETTERS = "ACGT"
AMBIGUOUS = 4
UNKNOWN = "?"  # stands where the label is not known
_ILLEGAL = 255
_IUPAC = "RYSWKMBDHVN"


def _codes() -> np.ndarray:
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for code, letters in enumerate(["Aa", "Cc", "Gg", "TtUu", _IUPAC + _IUPAC.lower()]):
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
        the ambiguity codes of IUPAC
    offsets : (n + 1,) int64, where each record starts in ``letters``, and the end
    labels : (n,) int8, +1 or -1 as the header says, 0 where it says nothing
    costs : (n,) float64, NaN where the header says nothing
    """

    names: np.ndarray
    descriptions: tuple[str, ...]
    lines: np.ndarray
    letters: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    costs: np.ndarray


@dataclass
class _Record:
    line: int
    name: str
    description: str
    label: int
    cost: float
    pieces: list[tuple[int, str]]


def read_fasta(path: str | Path) -> Fasta:
    """Read a FASTA file, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, if it is not FASTA of DNA with distinct names.
    """
    records = _records(path)
    for record in records:
        if not record.pieces:
            message = f"record {record.name!r} has no letters; expected a sequence below its header"
            raise DataError(path, record.line, message)
    letters = [_encoded(path, record.pieces) for record in records]
    return Fasta(
        names=np.array([record.name for record in records], dtype=object),
        descriptions=tuple(record.description for record in records),
        lines=np.array([record.line for record in records], dtype=np.int64),
        letters=np.concatenate(letters),
        offsets=np.cumsum([0, *map(len, letters)], dtype=np.int64),
        labels=np.array([record.label for record in records], dtype=np.int8),
        costs=np.array([record.cost for record in records]),
    )


def _records(path: str | Path) -> list[_Record]:
    records: list[_Record] = []
    first: dict[str, int] = {}
    empty = True
    with open_text(path) as lines:
        for number, line in lines:
            text = line.rstrip()
            empty = empty and not text
            if text.startswith(">"):
                record = _header(path, number, text)
                if record.name in first:
                    message = (
                        f"name {record.name!r} is given twice, first on line "
                        f"{first[record.name]}; expected distinct names"
                    )
                    raise DataError(path, number, message)
                first[record.name] = number
                records.append(record)
            elif records and text:
                records[-1].pieces.append((number, text))
            elif text and text[0] not in ";#":
                shown = text if len(text) <= 20 else text[:20] + "…"
                message = f"{shown!r} stands before the first header; expected '>name'"
                raise DataError(path, number, message)
    if not records:
        wrong = "the file is empty" if empty else "no records, only comments"
        raise DataError(path, None, f"{wrong}; expected FASTA records")
    return records


def _header(path: str | Path, number: int, line: str) -> _Record:
    words = line[1:].split(maxsplit=1)
    if not words or line[1].isspace():
        raise DataError(path, number, "the header has no name; expected '>name'")
    description = words[1] if len(words) > 1 else ""
    fields: dict[str, str] = {}
    for word in description.split():
        key, equals, value = word.partition("=")
        if equals and key in ("label", "cost"):
            if key in fields:
                raise DataError(path, number, f"'{key}=' is given twice; expected it once")
            fields[key] = value
    label = _label(path, number, fields["label"]) if "label" in fields else 0
    cost = _cost(path, number, fields["cost"]) if "cost" in fields else math.nan
    return _Record(number, words[0], description, label, cost, [])


def _label(path: str | Path, number: int, value: str) -> int:
    if value == UNKNOWN:
        return 0
    if value not in ("+1", "1", "-1"):
        raise DataError(path, number, f"label {value!r} is not known; expected +1 or -1")
    return int(value)


def _cost(path: str | Path, number: int, value: str) -> float:
    try:
        cost = float(value)
    except ValueError:
        raise DataError(
            path, number, f"cost {value!r} is not a number; expected one >= 0"
        ) from None
    if not 0 <= cost < math.inf:
        raise DataError(
            path, number, f"cost {value!r} is out of range; expected a finite number >= 0"
        )
    return cost


def _encoded(path: str | Path, pieces: Sequence[tuple[int, str]]) -> np.ndarray:
    """The codes of one record's letters."""
    raw = "".join([text for _, text in pieces]).encode("latin-1", errors="replace")
    codes = _CODES[np.frombuffer(raw, dtype=np.uint8)]
    if codes.max() == _ILLEGAL:
        for number, text in pieces:
            for letter in text:
                if ord(letter) > 255 or _CODES[ord(letter)] == _ILLEGAL:
                    message = f"illegal letter {letter!r}; expected A, C, G, T, U or an IUPAC code"
                    raise DataError(path, number, message)
    return codes
