"""SVM-light files as flat arrays: the format of svm_rank, svm_multiclass and LETOR.

A line is ``label qid:ID index:value index:value … # comment``; ``qid:ID`` may be left out, and
features that are 0 too. Labels are numbers, ``?`` where one is not known, or, where they are asked
for so, any words. Indices count from 1 and increase. Blank lines and lines that hold a comment
alone are passed over.
"""

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from operator import lt
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.text import open_text

MOST = 2**31 - 1  # highest index
UNKNOWN = "?"  # stands where a label is not known
_PREFIX = "qid:"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PAIRS = re.compile(r"(?:\s+\d{1,10}:[-+.\deE]+)*\s*", re.ASCII)
_NO_LABEL = re.compile(r"qid:|\d+:", re.ASCII)
_SHOWN = 20  # characters of a wrong token that a message quotes


@dataclass(frozen=True)
class SvmLight:
    """The n rows of a file.

    labels : (n,) float64, NaN where not known; or (n,) int32, rows of ``words``
    queries : (n,) int32, row of ``names``, -1 where a row has no qid
    names : the distinct qids, in the order in which they first occur
    offsets : (n + 1,) int64, where each row's features start, and the end
    indices : (size,) int32 from 0: feature 1 of the file is 0 here
    values : (size,) float64, finite
    comments : n strings, what follows ``#`` without the blanks around it
    lines : (n,) int64, line of each row, from 1
    words : the distinct labels as they are written, in the order in which they first occur;
        empty if labels were read as numbers
    """

    labels: np.ndarray
    queries: np.ndarray
    names: tuple[str, ...]
    offsets: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    comments: tuple[str, ...]
    lines: np.ndarray
    words: tuple[str, ...] = ()

    @property
    def dimension(self) -> int:
        """The highest feature index of the file, as the file counts."""
        return int(self.indices.max()) + 1 if len(self.indices) else 0


def read_svmlight(path: str | Path, words: bool = False) -> SvmLight:
    """Read an SVM-light file, plain or compressed, ``-`` for standard input.

    words : labels are words, not numbers: ``1``, ``1.0`` and ``+1`` are three labels

    Raises DataError, with the line, for what is not in the format, for indices that do not
    increase and for values that are not finite.
    """
    labels: array[Any] = array("i" if words else "d")
    values, indices = array("d"), array("i")
    lines, sizes, queries = array("q"), array("q"), array("i")
    names: dict[str, int] = {}
    distinct: dict[str, int] = {}
    comments: list[str] = []
    for number, body, comment in _rows(path):
        try:
            first, query, row_indices, row_values = _parsed(body)
            label = distinct.setdefault(_word(first), len(distinct)) if words else _label(first)
        except ValueError as error:
            raise DataError(path, number, error) from None
        labels.append(label)
        queries.append(-1 if query is None else names.setdefault(query, len(names)))
        indices.extend(row_indices)
        values.extend(row_values)
        sizes.append(len(row_indices))
        lines.append(number)
        comments.append(comment)
    if not comments:
        raise DataError(path, None, "no rows; expected 'label qid:ID index:value …'")
    columns = np.asarray(indices)
    columns -= 1
    return SvmLight(
        labels=np.asarray(labels),
        queries=np.asarray(queries),
        names=tuple(names),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        indices=columns,
        values=np.asarray(values),
        comments=tuple(comments),
        lines=np.asarray(lines),
        words=tuple(distinct),
    )


def _rows(path: str | Path) -> Iterator[tuple[int, str, str]]:
    """Number, body and comment of every line that has a body."""
    with open_text(path) as lines:
        for number, line in lines:
            body, _, comment = line.partition("#")
            if body and not body.isspace():
                yield number, body, comment.strip()


def _parsed(body: str) -> tuple[str, str | None, array, array]:
    """Label, qid, indices and values of a line. Raises ValueError with what is wrong."""
    first, *rest = body.split(None, 1)
    text, query = rest[0] if rest else "", None
    if text.startswith(_PREFIX):
        word, *rest = text.split(None, 1)
        text = rest[0] if rest else ""
        query = word.removeprefix(_PREFIX)
        if not query:
            raise ValueError("'qid:' names no query; expected qid:ID")
    if not _PAIRS.fullmatch(f" {text}"):
        return first, query, *_examined(text.split())
    numbers = text.replace(":", " ").split()
    try:
        indices, values = array("i", map(int, numbers[::2])), array("d", map(float, numbers[1::2]))
    except (ValueError, OverflowError):
        return first, query, *_examined(text.split())
    if not math.isfinite(sum(values)) or not _increase(indices):
        return first, query, *_examined(text.split())
    return first, query, indices, values


def _increase(indices: array) -> bool:
    return not indices or (indices[0] >= 1 and all(map(lt, indices, indices[1:])))


def _examined(pairs: list[str]) -> tuple[array, array]:
    """The numbers of a line that looks wrong; raises ValueError for the first wrong token."""
    indices, values = array("i", [0]), array("d")
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            raise ValueError(f"{_cut(pair)!r} is not a feature; expected index:value")
        if len(index) > len(str(MOST)) or not 1 <= int(index) <= MOST:
            raise ValueError(f"index {_cut(index)!r} is out of range; expected 1 to {MOST:,d}")
        if int(index) <= indices[-1]:
            raise ValueError(f"index {index} follows {indices[-1]}; expected increasing indices")
        indices.append(int(index))
        values.append(_finite(value, f"value of feature {index}"))
    return indices[1:], values


def _word(text: str) -> str:
    """A label that is a word. Raises ValueError for what looks like something else."""
    if _NO_LABEL.match(text):
        raise ValueError(f"{_cut(text)!r} is not a label; expected one before the features")
    return text


def _label(text: str) -> float:
    return math.nan if text == UNKNOWN else _finite(text, "label")


def _finite(text: str, what: str) -> float:
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError(f"{what} {text!r} is not finite; expected a finite number")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{what} {_cut(text)!r} is not a number; expected one such as 0.5")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{what} {_cut(text)!r} is too large; expected a finite number")
    return number


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
