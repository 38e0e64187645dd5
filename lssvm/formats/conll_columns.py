"""CoNLL column files: one token per line, a blank line after each sentence.

Columns are separated only by tabs if the file has tabs, otherwise by blanks (see ``separators``).
All lines of a file have the same number of columns, and no column is empty. Lines that begin with
``-DOCSTART-`` mark documents and are skipped, with or without a blank line after them; lines with
only blanks and tabs are blank. There are no comments: ``#`` is a token like any other.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.separators import Separator, check_filled
from lssvm.formats.text import open_text

_DOCUMENT = re.compile(r"[ \t]*-DOCSTART-(?![^ \t])")


@dataclass(frozen=True)
class ColumnFile:
    """The tokens of a file.

    values : one tuple of strings per column, (tokens,) each
    rows : (tokens,) the lines as they are in the file
    offsets : (n + 1,) int64, where each sentence's tokens start, and the end
    lines : (n,) int64, line of each sentence's first token, from 1
    """

    values: tuple[tuple[str, ...], ...]
    rows: tuple[str, ...]
    offsets: np.ndarray
    lines: np.ndarray


def read_columns(
    path: str | Path, names: tuple[str, ...], optional: int = 0, limit: Limit = DEFAULT
) -> ColumnFile:
    """Read a column file, plain or compressed, ``-`` for standard input.

    names : of the columns, for messages
    optional : number of the last columns that may be missing in a file

    Raises DataError, with the line, if a line has another number of columns than ``names`` or than
    the lines before it, another separator than those lines, or an empty column.
    """
    tokens: list[list[str]] = []
    rows: list[str] = []
    offsets, lines = [0], []
    separator = Separator()
    with open_text(path, limit) as numbered:
        for number, line in numbered:
            try:
                fields = [] if _DOCUMENT.match(line) else separator.cells(number, line)
                if fields:
                    _check(fields, names, optional, tokens, separator)
            except ValueError as error:
                raise DataError(path, number, error) from None
            if fields:
                if len(tokens) == offsets[-1]:
                    lines.append(number)
                tokens.append(fields)
                rows.append(line)
            elif len(tokens) > offsets[-1]:
                offsets.append(len(tokens))
    if not tokens:
        raise DataError(path, None, f"no tokens; expected lines of {_listed(names)}")
    if len(tokens) > offsets[-1]:
        offsets.append(len(tokens))
    return ColumnFile(
        values=tuple(zip(*tokens, strict=True)),
        rows=tuple(rows),
        offsets=np.array(offsets, dtype=np.int64),
        lines=np.array(lines, dtype=np.int64),
    )


def _check(
    fields: list[str],
    names: tuple[str, ...],
    optional: int,
    tokens: list[list[str]],
    separator: Separator,
) -> None:
    """Raise ValueError for a wrong number of columns, and for an empty one."""
    expected = {len(tokens[0])} if tokens else {len(names) - k for k in range(optional + 1)} - {0}
    if len(fields) not in expected:
        columns = f"{len(fields)} column{'s' * (len(fields) > 1)}{separator.means}"
        if tokens:
            raise ValueError(f"{columns}; expected {len(tokens[0])} as on the lines before")
        counts = " or ".join(map(str, sorted(expected)))
        raise ValueError(f"{columns}; expected {counts}: {_listed(names)}")
    check_filled(fields, names)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
