"""SVM-light files as flat arrays: the format of svm_rank, svm_multiclass and LETOR.

A line is ``label qid:ID index:value index:value … # comment``; ``qid:ID`` may be left out, and so
may features that are 0. Labels are numbers, or ``?`` if not known, or any words if the caller asks
for words. Indices count from 1 and increase. Blank lines and lines with only a comment are skipped.
"""

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text
from lssvm.offsets import cumulated

MOST = 2**31 - 1  # highest index
UNKNOWN = "?"  # an unknown label
_PREFIX = "qid:"
_NO_LABEL = re.compile(r"qid:|\d+:", re.ASCII)


@dataclass(frozen=True)
class SvmLight:
    """The n rows of a file.

    labels : (n,) float64, NaN if not known; or (n,) int32, rows of ``words``
    queries : (n,) int32, row of ``names``, -1 if a row has no qid
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

    @property
    def widest_line(self) -> int:
        """The first line with that index; for files with features."""
        row = np.searchsorted(self.offsets, np.argmax(self.indices), side="right") - 1
        return int(self.lines[row])


def read_svmlight(path: str | Path, words: bool = False, limit: Limit = DEFAULT) -> SvmLight:
    """Read an SVM-light file, plain or compressed, ``-`` for standard input.

    words : labels are words, not numbers: ``1``, ``1.0`` and ``+1`` are three labels

    Raises DataError, with the line, for lines that are not in the format, indices that do not
    increase and values that are not finite.
    """
    labels: array[Any] = array("i" if words else "d")
    values, indices = array("d"), array("i")
    lines, sizes, queries = array("q"), array("q"), array("i")
    names: dict[str, int] = {}
    distinct: dict[str, int] = {}
    comments: list[str] = []
    for number, body, comment in _rows(path, limit):
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
        offsets=cumulated(sizes),
        indices=columns,
        values=np.asarray(values),
        comments=tuple(comments),
        lines=np.asarray(lines),
        words=tuple(distinct),
    )


def _rows(path: str | Path, limit: Limit) -> Iterator[tuple[int, str, str]]:
    """Number, body and comment of every line that has a body."""
    with open_text(path, limit) as lines:
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
    return first, query, *tokens.features(text, MOST)


def _word(text: str) -> str:
    """A label that is a word. Raises ValueError for what looks like something else."""
    if _NO_LABEL.match(text):
        raise ValueError(f"{tokens.cut(text)!r} is not a label; expected one before the features")
    return text


def _label(text: str) -> float:
    return math.nan if text == UNKNOWN else tokens.finite(text, "label")
