"""Files of svm_hmm: tagged tokens with numeric features, as flat arrays.

A line is a token: ``TAG qid:EX index:value index:value … # comment``. TAG is a word or a number, or
``?`` if it is not known. Lines of one sequence have the same EX and follow one another. Indices
count from 1 and increase; features that are 0 may be left out. Blank lines and lines with only a
comment are skipped.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.blocks import Utf8, append, each_block, read_blocks, shifted
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.skipping import same_qid
from lssvm.formats.svmlight import MOST
from lssvm.kernels._text import SEQUENCES, rows
from lssvm.kernels.text_arrays import DistinctWords, RowBuffers
from lssvm.offsets import cumulated

UNKNOWN = "?"
_PREFIX = "qid:"
_PART = 1_000_000  # numbers of a part
_NO_TOKENS = "no tokens; expected 'TAG qid:EX index:value …'"


@dataclass(frozen=True)
class TaggedTokens:
    """The tokens of a file.

    tags : one per token, None if it is not known
    names : EX of the n sequences; offsets : (n + 1,) int64, where each one's tokens start
    lines : (n,) int64, line of each sequence's first token, from 1
    starts : (tokens + 1,) int64, where each token's features start
    indices : int32 from 0: feature 1 of the file is 0 here; values : float64, finite
    """

    tags: tuple[str | None, ...]
    names: tuple[str, ...]
    offsets: np.ndarray
    lines: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @property
    def dimension(self) -> int:
        """The highest feature index of the file, as the file counts."""
        return int(self.indices.max()) + 1 if len(self.indices) else 0


def read_svm_hmm(path: str | Path, limit: Limit = DEFAULT) -> TaggedTokens:
    """Read a file of svm_hmm, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, for lines that are not in the format, sequences whose lines do
    not follow one another, indices that do not increase and values that are not finite.
    """
    reader = _Reader(path)
    read_blocks(path, limit, reader.block, reader.line, owns=same_qid)
    if not reader.tags:
        raise DataError(path, None, _NO_TOKENS)
    return reader.tokens()


def svm_hmm_parts(path: str | Path, limit: Limit) -> Iterator[TaggedTokens]:
    """A file of svm_hmm in parts of whole sequences, in order, as :func:`read_svm_hmm` reads it."""
    reader = _Reader(path)
    for _ in each_block(path, limit, reader.block, reader.line):
        if reader.full:
            yield reader.begun_anew()
    if not reader.tags:
        raise DataError(path, None, _NO_TOKENS)
    yield reader.tokens()


class _Reader:
    """The tokens so far, in flat arrays."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.names, self.words = DistinctWords(), DistinctWords()
        self._last = -1  # number of the current sequence
        self._before = 0  # sequences of other parts
        self._buffers, self._is_utf8 = RowBuffers(), Utf8()
        self.tags, self.offsets, self.lines = array("i"), array("q"), array("q")
        self.indices, self.values, self.sizes = array("i"), array("d"), array("q")

    @property
    def full(self) -> bool:
        """Whether there are enough numbers for a part, and a sequence that has ended."""
        return len(self.values) + len(self.tags) > _PART and len(self.offsets) > 1

    def begun_anew(self) -> TaggedTokens:
        """The sequences but for the last one, with which the reader begins anew."""
        done, last = self.offsets.pop(), self.lines.pop()
        size = sum(self.sizes[:done])
        rest = self.tags[done:], self.sizes[done:], self.indices[size:], self.values[size:]
        del self.tags[done:], self.sizes[done:], self.indices[size:], self.values[size:]
        found = self.tokens()
        self._before += len(found.lines)
        self.tags, self.sizes, self.indices, self.values = rest
        self.offsets, self.lines = array("q", [0]), array("q", [last])
        return found

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read tokens of a block, see :data:`lssvm.formats.blocks.Compiled`. Raises DataError."""
        found, before = self._buffers, len(self.names)
        found.fit(len(block))
        at, count, size, lines = rows(block, at, SEQUENCES, self._is_utf8(block), 1, MOST, found)
        spans = found.spans[:count]
        codes = self.names.codes(block, spans[:, 2:4])
        first = np.flatnonzero(np.diff(codes, prepend=self._last))
        places = shifted(found.lines[first], number)
        torn = np.flatnonzero(codes[first] != np.arange(before, before + len(first)))
        if len(torn):
            begin, end = spans[first[torn[0]], 2:4]
            raise DataError(self.path, int(places[torn[0]]), _torn(block[begin:end].decode()))
        append(self.offsets, shifted(first, len(self.tags)))
        append(self.lines, places)
        append(self.tags, self.words.codes(block, spans[:, :2]))
        append(self.indices, found.indices[:size])
        append(self.values, found.values[:size])
        append(self.sizes, found.sizes[:count])
        self._last = int(codes[-1]) if count else self._last
        return at, lines

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises ValueError that says what is wrong."""
        body = text.partition("#")[0].split()
        if not body:
            return
        tag, name, pairs = _head(body)
        before = len(self.names)
        code = self.names.code(name)
        if code != self._last:
            if code < before:
                raise ValueError(_torn(name))
            self.offsets.append(len(self.tags))
            self.lines.append(number)
        indices, values = tokens.features(" ".join(pairs), MOST)
        self.tags.append(self.words.code(tag))
        self.indices.extend(indices)
        self.values.extend(values)
        self.sizes.append(len(indices))
        self._last = code

    def tokens(self) -> TaggedTokens:
        """All that was read."""
        columns = np.asarray(self.indices)
        columns -= 1
        words = [None if word == UNKNOWN else word for word in self.words.texts()]
        return TaggedTokens(
            tags=tuple(words[code] for code in self.tags),
            names=self.names.texts(self._before)[: len(self.lines)],
            offsets=np.array([*self.offsets, len(self.tags)], dtype=np.int64),
            lines=np.asarray(self.lines),
            starts=cumulated(self.sizes),
            indices=columns,
            values=np.asarray(self.values),
        )


def _torn(name: str) -> str:
    message = f"sequence {tokens.cut(name)!r} continues after other sequences"
    return f"{message}; expected its lines one after another"


def _head(body: list[str]) -> tuple[str, str, list[str]]:
    """Tag, name of the sequence and features of a line. Raises ValueError."""
    tag, *rest = body
    if tag.startswith(_PREFIX) or re.fullmatch(r"\d+:\S*", tag):
        raise ValueError(f"{tokens.cut(tag)!r} is in the place of the tag; expected 'TAG qid:EX …'")
    if not rest or not rest[0].startswith(_PREFIX):
        found = f"{tokens.cut(rest[0])!r}" if rest else "nothing"
        raise ValueError(f"{found} follows the tag; expected qid:EX, the name of the sequence")
    name = rest[0].removeprefix(_PREFIX)
    if not name:
        raise ValueError("'qid:' names no sequence; expected qid:EX")
    return tag, name, rest[1:]
