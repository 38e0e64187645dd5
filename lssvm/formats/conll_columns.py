"""CoNLL column files: one token per line, a blank line after each sentence.

Columns are separated only by tabs if the file has tabs, otherwise by blanks (see ``separators``).
All lines of a file have the same number of columns, and no column is empty. Lines that begin with
``-DOCSTART-`` mark documents and are skipped, with or without a blank line after them; lines with
only blanks and tabs are blank. There are no comments: ``#`` is a token like any other.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats.blocks import Utf8, append, each_block, read_blocks, shifted
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.separators import Separator, check_filled
from lssvm.formats.skipping import after_blank
from lssvm.kernels._text import cells
from lssvm.kernels.text_arrays import CellBuffers, DistinctWords
from lssvm.offsets import cumulated

_PART = 100_000  # tokens of a part
_DOCUMENT = re.compile(r"[ \t]*-DOCSTART-(?![^ \t])")


class Lines(Sequence[str]):
    """The lines of tokens, stored as one text; a string is made on demand.

    text : uint8, UTF-8; begins, ends : (tokens,) int64, where each line begins and ends in it
    """

    def __init__(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> None:
        self._text, self._begins, self._ends = text, begins, ends

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The lines of several files one after another."""
        if len(parts) == 1:
            return parts[0]
        before = cumulated([len(part._text) for part in parts])[:-1]
        pairs = list(zip(parts, before, strict=True))
        return cls(
            np.concatenate([part._text for part in parts]),
            np.concatenate([part._begins + start for part, start in pairs]),
            np.concatenate([part._ends + start for part, start in pairs]),
        )

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, key: Any) -> Any:
        """The line of a token; for a slice or an array of rows, their ``Lines``."""
        if isinstance(key, slice | np.ndarray):
            return type(self)(self._text, self._begins[key], self._ends[key])
        return self._text[self._begins[key] : self._ends[key]].tobytes().decode()


@dataclass(frozen=True)
class ColumnFile:
    """The tokens of a file.

    words : the distinct values of each column, of all files that were read with them
    codes : one per column, (tokens,) int32, rows of ``words``
    rows : (tokens,) the lines as they are in the file
    offsets : (n + 1,) int64, where each sentence's tokens start, and the end
    lines : (n,) int64, line of each sentence's first token, from 1
    """

    words: tuple[DistinctWords, ...]
    codes: tuple[np.ndarray, ...]
    rows: Lines
    offsets: np.ndarray
    lines: np.ndarray

    @property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """One tuple of strings per column, (tokens,) each."""
        texts = [words.texts() for words in self.words]
        pairs = zip(texts, self.codes, strict=False)
        return tuple(tuple(own[code] for code in codes.tolist()) for own, codes in pairs)


def read_columns(
    path: str | Path,
    names: tuple[str, ...],
    optional: int = 0,
    limit: Limit = DEFAULT,
    words: tuple[DistinctWords, ...] | None = None,
) -> ColumnFile:
    """Read a column file, plain or compressed, ``-`` for standard input.

    names : of the columns, for messages
    optional : number of the last columns that may be missing in a file
    words : the numbered values of each column, from files that were read before; new values are
        added

    Raises DataError, with the line, if a line has another number of columns than ``names`` or than
    the lines before it, another separator than those lines, or an empty column.
    """
    reader = _Reader(names, optional, words or _new_words(names))
    read_blocks(path, limit, reader.block, reader.line, owns=after_blank)
    if not reader.lines:
        raise DataError(path, None, f"no tokens; expected lines of {_listed(names)}")
    return reader.columns()


def column_parts(
    path: str | Path, names: tuple[str, ...], optional: int, limit: Limit
) -> Iterator[ColumnFile]:
    """A column file in parts of whole sentences, in order, as :func:`read_columns` reads it.

    Each part has words of its own.
    """
    reader, parts = _Reader(names, optional, _new_words(names)), 0
    for _ in each_block(path, limit, reader.block, reader.line):
        if reader.offsets[-1] > _PART:
            yield reader.begun_anew()
            parts += 1
    if reader.lines:
        yield reader.columns()
    elif not parts:
        raise DataError(path, None, f"no tokens; expected lines of {_listed(names)}")


def _new_words(names: tuple[str, ...]) -> tuple[DistinctWords, ...]:
    return tuple(DistinctWords() for _ in names)


class _Reader:
    """The tokens so far: numbers of their values, and their lines as one text."""

    def __init__(
        self, names: tuple[str, ...], optional: int, words: tuple[DistinctWords, ...]
    ) -> None:
        self.names, self.optional = names, optional
        self.separator = Separator()
        self.width = 0  # columns; not known before the first token
        self._buffers, self._is_utf8 = CellBuffers(), Utf8()
        self._clear(words)

    def _clear(self, words: tuple[DistinctWords, ...]) -> None:
        self.words, self.codes = words, tuple(array("i") for _ in self.names)
        self.text, self.ends = array("B"), array("q", [0])
        self.lines = array("q")  # of tokens
        self.offsets = array("q", [0])

    def begun_anew(self) -> ColumnFile:
        """The complete sentences; the reader keeps only the tokens after them."""
        done = self.offsets[-1]
        rest = Lines(np.asarray(self.text), *_bounds(self.ends))[done:]
        open_lines = list(zip(self.lines[done:], rest, strict=True))
        found = self._columns(done)
        self._clear(_new_words(self.names))
        for number, text in open_lines:
            self.line(number, text)
        return found

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read lines of a block, see :data:`lssvm.formats.blocks.Compiled`."""
        if not self.width or not self._is_utf8(block):
            return at, 0
        found, before = self._buffers, len(self.lines)
        found.fit(len(block))
        at, tokens, breaks, lines = cells(block, at, self.width, bool(self.separator.tab), found)
        spans = found.spans[: tokens * self.width]
        for column in range(self.width):
            codes = self.words[column].codes(block, spans[column :: self.width])
            append(self.codes[column], codes)
        ends = found.ends[:tokens]
        append(self.ends, shifted(ends, len(self.text)))
        append(self.text, found.text[: ends[-1] if tokens else 0])
        append(self.lines, shifted(found.lines[:tokens], number))
        places = shifted(found.breaks[:breaks], before)
        append(self.offsets, places[places > self.offsets[-1]])
        return at, lines

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises ValueError that says what is wrong."""
        fields = [] if _DOCUMENT.match(text) else self.separator.cells(number, text)
        if not fields:
            if len(self.lines) > self.offsets[-1]:
                self.offsets.append(len(self.lines))
            return
        self._check(fields)
        for own, words, field in zip(self.codes, self.words, fields, strict=False):
            own.append(words.code(field))
        self.text.frombytes(text.encode())
        self.ends.append(len(self.text))
        self.lines.append(number)
        self.width = len(fields)

    def _check(self, fields: list[str]) -> None:
        """Raise ValueError for a wrong number of columns, and for an empty one."""
        names, width = self.names, self.width
        expected = {width} if width else {len(names) - k for k in range(self.optional + 1)} - {0}
        if len(fields) not in expected:
            columns = f"{counted(len(fields), 'column')}{self.separator.means}"
            if width:
                raise ValueError(f"{columns}; expected {width} as on the lines before")
            counts = " or ".join(map(str, sorted(expected)))
            raise ValueError(f"{columns}; expected {counts}: {_listed(names)}")
        check_filled(fields, names)

    def columns(self) -> ColumnFile:
        """All that was read."""
        if len(self.lines) > self.offsets[-1]:
            self.offsets.append(len(self.lines))
        return self._columns(len(self.lines))

    def _columns(self, count: int) -> ColumnFile:
        """The first tokens, of whole sentences."""
        offsets = np.asarray(self.offsets)
        return ColumnFile(
            words=self.words,
            codes=tuple(np.asarray(own)[:count] for own in self.codes[: self.width]),
            rows=Lines(np.asarray(self.text), *_bounds(self.ends))[:count],
            offsets=offsets,
            lines=np.asarray(self.lines)[offsets[:-1]],
        )


def _bounds(ends: array) -> tuple[np.ndarray, np.ndarray]:
    found = np.asarray(ends)
    return found[:-1], found[1:]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
