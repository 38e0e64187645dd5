"""SVM-light files as flat arrays: the format of svm_rank, svm_multiclass and LETOR.

A line is ``label qid:ID index:value index:value … # comment``; ``qid:ID`` may be left out, and so
may features that are 0. Labels are numbers, or ``?`` if not known, or any words if the caller asks
for words. Indices count from 1 and increase; in some files they count from 0, see ``base`` of
:func:`read_svmlight`. Blank lines and lines with only a comment are skipped.
"""

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.blocks import Utf8, append, each_block, read_blocks, shifted
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.skipping import every_line, same_qid
from lssvm.kernels._text import LABELS_ARE_NUMBERS, LABELS_ARE_WORDS
from lssvm.kernels._text import rows as tokenised
from lssvm.kernels.text_arrays import DistinctWords, RowBuffers
from lssvm.offsets import cumulated

MOST = 2**31 - 1  # highest index
UNKNOWN = "?"  # an unknown label
_PREFIX = "qid:"
_NO_ROWS = "no rows; expected 'label qid:ID index:value …'"
_PART = 1_000_000  # numbers of a part
_NO_LABEL = re.compile(r"qid:|\d+:", re.ASCII)


@dataclass(frozen=True)
class SvmLight:
    """The n rows of a file.

    labels : (n,) float64, NaN if not known; or (n,) int32, rows of ``words``
    queries : (n,) int32, row of ``names``, -1 if a row has no qid
    names : the distinct qids, in the order in which they first occur
    offsets : (n + 1,) int64, where each row's features start, and the end
    indices : (size,) int32 from 0: the first feature of the file is 0 here
    values : (size,) float64, finite
    comments : n strings, what follows ``#`` without the blanks around it
    lines : (n,) int64, line of each row, from 1
    words : the distinct labels as they are written, in the order in which they first occur;
        empty if labels were read as numbers
    base : the first index that the file can have, 0 or 1
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
    base: int = 1

    @property
    def dimension(self) -> int:
        """The columns up to the highest index of the file."""
        return int(self.indices.max()) + 1 if len(self.indices) else 0

    @property
    def highest(self) -> int:
        """The highest feature index, as written in the file."""
        return self.dimension - 1 + self.base

    def counted_from(self, base: int) -> "SvmLight":
        """The same file with another base. The array of indices is changed in place."""
        if base != self.base:
            np.add(self.indices, self.base - base, out=self.indices)
        return replace(self, base=base)

    @property
    def widest_line(self) -> int:
        """The first line with that index; for files with features."""
        row = np.searchsorted(self.offsets, np.argmax(self.indices), side="right") - 1
        return int(self.lines[row])


def read_svmlight(
    path: str | Path,
    words: bool = False,
    limit: Limit = DEFAULT,
    base: int | None = 1,
    why: str = "",
) -> SvmLight:
    """Read an SVM-light file, plain or compressed, ``-`` for standard input.

    words : labels are words, not numbers: ``1``, ``1.0`` and ``+1`` are three labels
    base : the first index that may occur; None: 0 if an index 0 occurs, otherwise 1
    why : the reason in the message that refuses an index 0

    Raises DataError, with the line, for lines that are not in the format, indices that do not
    increase and values that are not finite.
    """
    reader = _Reader(words, base, why)
    # Rows with a number for a label are documents of queries, and the queries are the examples.
    owns = every_line if words else same_qid
    read_blocks(path, limit, reader.block, reader.line, owns=owns)
    if not reader.lines:
        raise DataError(path, None, _NO_ROWS)
    return reader.rows(base)


def svmlight_parts(
    path: str | Path, words: bool, limit: Limit, base: int, why: str
) -> Iterator[SvmLight]:
    """An SVM-light file in parts of some megabytes, in order, as :func:`read_svmlight` reads it."""
    reader, parts = _Reader(words, base, why), 0
    for _ in each_block(path, limit, reader.block, reader.line):
        if len(reader.values) + len(reader.lines) > _PART:
            yield reader.rows(base)
            reader.clear()
            parts += 1
    if reader.lines:
        yield reader.rows(base)
    elif not parts:
        raise DataError(path, None, _NO_ROWS)


class _Reader:
    """The rows so far, in flat arrays."""

    def __init__(self, words: bool, base: int | None, why: str) -> None:
        self.form = LABELS_ARE_WORDS if words else LABELS_ARE_NUMBERS
        self.least, self.why = base or 0, why
        self._buffers, self._is_utf8 = RowBuffers(), Utf8()
        self.clear()

    def clear(self) -> None:
        """Forget the rows so far."""
        self.labels: array[Any] = array("i" if self.form == LABELS_ARE_WORDS else "d")
        self.values, self.indices = array("d"), array("i")
        self.lines, self.sizes, self.queries = array("q"), array("q"), array("i")
        self.names, self.words = DistinctWords(), DistinctWords()
        self.comments: list[str] = []

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read rows of a block, see :data:`lssvm.formats.blocks.Compiled`."""
        found = self._buffers
        found.fit(len(block))
        at, rows, size, lines = tokenised(
            block, at, self.form, self._is_utf8(block), self.least, MOST, found
        )
        spans = found.spans[:rows]
        if self.form == LABELS_ARE_WORDS:
            labels = self.words.codes(block, spans[:, :2])
        else:
            labels = found.labels[:rows]
        append(self.labels, labels)
        append(self.queries, self.names.codes(block, spans[:, 2:4]))
        append(self.indices, found.indices[:size])
        append(self.values, found.values[:size])
        append(self.sizes, found.sizes[:rows])
        append(self.lines, shifted(found.lines[:rows], number))
        self.comments += _comments(block, spans[:, 4:])
        return at, lines

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises ValueError that says what is wrong."""
        body, _, comment = text.partition("#")
        if not body or body.isspace():
            return
        first, query, indices, values = _parsed(body, self.least, self.why)
        if self.form == LABELS_ARE_WORDS:
            self.labels.append(self.words.code(_word(first)))
        else:
            self.labels.append(_label(first))
        self.queries.append(-1 if query is None else self.names.code(query))
        self.indices.extend(indices)
        self.values.extend(values)
        self.sizes.append(len(indices))
        self.lines.append(number)
        self.comments.append(comment.strip())

    def rows(self, base: int | None) -> SvmLight:
        """All that was read. base : as for :func:`read_svmlight`"""
        columns = np.asarray(self.indices)
        if base is None:
            base = int(columns.min(initial=1) > 0)
        columns -= base
        return SvmLight(
            labels=np.asarray(self.labels),
            queries=np.asarray(self.queries),
            names=self.names.texts(),
            offsets=cumulated(self.sizes),
            indices=columns,
            values=np.asarray(self.values),
            comments=tuple(self.comments),
            lines=np.asarray(self.lines),
            words=self.words.texts(),
            base=base,
        )


def _comments(block: bytearray, spans: np.ndarray) -> list[str]:
    """The comments of rows, empty if there is none. spans : (rows, 2), their begin and end."""
    if not len(spans) or spans.max() < 0:
        return [""] * len(spans)
    return [block[a:b].decode().strip() if a >= 0 else "" for a, b in spans.tolist()]


def _parsed(body: str, least: int, why: str) -> tuple[str, str | None, array, array]:
    """Label, qid, indices and values of a line. Raises ValueError with what is wrong."""
    first, *rest = body.split(None, 1)
    text, query = rest[0] if rest else "", None
    if text.startswith(_PREFIX):
        word, *rest = text.split(None, 1)
        text = rest[0] if rest else ""
        query = word.removeprefix(_PREFIX)
        if not query:
            raise ValueError("'qid:' names no query; expected qid:ID")
    return first, query, *tokens.features(text, MOST, least, why)


def _word(text: str) -> str:
    """A label that is a word. Raises ValueError for what looks like something else."""
    if _NO_LABEL.match(text):
        raise ValueError(f"{tokens.cut(text)!r} is not a label; expected one before the features")
    return text


def _label(text: str) -> float:
    return math.nan if text == UNKNOWN else tokens.finite(text, "label")
