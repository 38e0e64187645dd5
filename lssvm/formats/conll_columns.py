"""CoNLL column files: a token a line, a blank line after each sentence.

Columns are separated by blanks or tabs, and by nothing else: other spaces of Unicode may be part of
a token. All lines of a file have as many. Lines that begin with
``-DOCSTART-`` mark documents and are passed over, with a blank line after them or without. There
are no comments: ``#`` is a token like any other.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

DOCUMENT = "-DOCSTART-"


@dataclass(frozen=True)
class Columns:
    """The tokens of a file.

    values : one tuple of strings a column, (tokens,) each
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
) -> Columns:
    """Read a column file, plain or compressed, ``-`` for standard input.

    names : what the columns are called, for messages
    optional : how many of the last columns a file may be without

    Raises DataError, with the line, where a line has another number of columns than ``names``
    or than the lines before it.
    """
    tokens: list[list[str]] = []
    rows: list[str] = []
    offsets, lines = [0], []
    with open_text(path, limit) as numbered:
        for number, line in numbered:
            fields = [field for field in line.replace("\t", " ").split(" ") if field]
            if fields and fields[0] != DOCUMENT:
                expected = {len(tokens[0])} if tokens else _counts(names, optional)
                if len(fields) not in expected:
                    raise DataError(path, number, _miscounted(fields, expected, names, tokens))
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
    return Columns(
        values=tuple(zip(*tokens, strict=True)),
        rows=tuple(rows),
        offsets=np.array(offsets, dtype=np.int64),
        lines=np.array(lines, dtype=np.int64),
    )


def _counts(names: tuple[str, ...], optional: int) -> set[int]:
    return {len(names) - k for k in range(optional + 1)} - {0}


def _miscounted(
    fields: list[str], expected: set[int], names: tuple[str, ...], tokens: list[list[str]]
) -> str:
    columns = f"{len(fields)} column{'s' * (len(fields) > 1)}"
    if tokens:
        return f"{columns}; expected {len(tokens[0])} as on the lines before"
    counts = " or ".join(map(str, sorted(expected)))
    return f"{columns}; expected {counts}: {_listed(names)}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
