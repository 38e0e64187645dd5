"""Files of svm_hmm: tagged tokens with numeric features, as flat arrays.

A line is a token: ``TAG qid:EX index:value index:value … # comment``. TAG is a word or a number, or
``?`` if it is not known. Lines of one sequence have the same EX and follow one another. Indices
count from 1 and increase; features that are 0 may be left out. Blank lines and lines with only a
comment are skipped.
"""

import re
from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.svmlight import MOST
from lssvm.formats.text import open_text

UNKNOWN = "?"
_PREFIX = "qid:"


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
    tags: list[str | None] = []
    offsets, starts, lines = array("q"), array("q", [0]), array("q")
    indices, values = array("i"), array("d")
    names: dict[str, int] = {}
    last = None
    with open_text(path, limit) as rows:
        for number, line in rows:
            body = line.partition("#")[0].split()
            if not body:
                continue
            try:
                tag, name, pairs = _head(body)
                if name != last and name in names:
                    message = f"sequence {tokens.cut(name)!r} continues after other sequences"
                    raise ValueError(f"{message}; expected its lines one after another")
                row_indices, row_values = tokens.features(" ".join(pairs), MOST)
            except ValueError as error:
                raise DataError(path, number, error) from None
            if name != last:
                names[name], last = len(names), name
                offsets.append(len(tags))
                lines.append(number)
            tags.append(None if tag == UNKNOWN else tag)
            indices.extend(row_indices)
            values.extend(row_values)
            starts.append(len(indices))
    if not tags:
        raise DataError(path, None, "no tokens; expected 'TAG qid:EX index:value …'")
    return TaggedTokens(
        tags=tuple(tags),
        names=tuple(names),
        offsets=np.array([*offsets, len(tags)], dtype=np.int64),
        lines=np.array(lines, dtype=np.int64),
        starts=np.array(starts, dtype=np.int64),
        indices=np.array(indices, dtype=np.int32) - np.int32(1),
        values=np.array(values),
    )


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
