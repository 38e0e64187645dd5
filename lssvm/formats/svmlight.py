"""SVM-light files as flat arrays: the format of svm_rank, svm_multiclass and LETOR.

A line is ``label qid:ID index:value index:value … # comment``; ``qid:ID`` may be left out, and
features that are 0 too. Indices count from 1 and increase. Blank lines and lines that hold
a comment alone are passed over.
"""

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.text import open_text

MOST = 2**31 - 1  # highest index
_PREFIX = "qid:"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHOWN = 20  # characters of a wrong token that a message quotes


@dataclass(frozen=True)
class SvmLight:
    """The n rows of a file.

    labels : (n,) float64
    queries : (n,) int32, row of ``names``, -1 where a row has no qid
    names : the distinct qids, in the order in which they first occur
    offsets : (n + 1,) int64, where each row's features start, and the end
    indices : (size,) int32 from 0: feature 1 of the file is 0 here
    values : (size,) float64, finite
    comments : n strings, what follows ``#`` without the blanks around it
    lines : (n,) int64, line of each row, from 1
    """

    labels: np.ndarray
    queries: np.ndarray
    names: tuple[str, ...]
    offsets: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    comments: tuple[str, ...]
    lines: np.ndarray

    @property
    def dimension(self) -> int:
        """The highest feature index of the file, as the file counts."""
        return int(self.indices.max()) + 1 if len(self.indices) else 0


def read_svmlight(path: str | Path) -> SvmLight:
    """Read an SVM-light file, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, for what is not in the format, for indices that do not
    increase and for values that are not finite.
    """
    labels, values, indices = array("d"), array("d"), array("i")
    lines, sizes, queries = array("q"), array("q"), array("i")
    names: dict[str, int] = {}
    comments: list[str] = []
    for number, body, comment in _rows(path):
        try:
            label, query, row_indices, row_values = _parsed(body)
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
    return SvmLight(
        labels=np.array(labels),
        queries=np.array(queries, dtype=np.int32),
        names=tuple(names),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        indices=np.array(indices, dtype=np.int32) - np.int32(1),
        values=np.array(values),
        comments=tuple(comments),
        lines=np.array(lines, dtype=np.int64),
    )


def _rows(path: str | Path) -> Iterator[tuple[int, str, str]]:
    """Number, body and comment of every line that has a body."""
    with open_text(path) as lines:
        for number, line in lines:
            body, _, comment = line.partition("#")
            if body and not body.isspace():
                yield number, body, comment.strip()


def _parsed(body: str) -> tuple[float, str | None, list[int], list[float]]:
    """Label, qid, indices and values of a line. Raises ValueError with what is wrong."""
    first, *pairs = body.split()
    query = None
    if pairs and pairs[0].startswith(_PREFIX):
        query = pairs.pop(0).removeprefix(_PREFIX)
        if not query:
            raise ValueError("'qid:' names no query; expected qid:ID")
    # Python's own numbers are wider than the format's: 1_000 and digits of other scripts.
    plain = body.isascii() and not ("_" in body and any("_" in each for each in (first, *pairs)))
    try:
        label = float(first)
        split = [pair.split(":") for pair in pairs]
        indices = [int(index) for index, _ in split]
        values = [float(value) for _, value in split]
    except ValueError:
        plain = False
    if not plain or not math.isfinite(label + sum(values)) or not _increase(indices):
        label, indices, values = _examined(first, pairs)
    return label, query, indices, values


def _increase(indices: list[int]) -> bool:
    if not indices:
        return True
    return indices[0] >= 1 and indices[-1] <= MOST and all(a < b for a, b in pairwise(indices))


def _examined(first: str, pairs: list[str]) -> tuple[float, list[int], list[float]]:
    """The numbers of a line that looks wrong; raises ValueError for the first wrong token."""
    label = _finite(first, "label")
    indices, values = [0], []
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
    return label, indices[1:], values


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
