"""Multiple alignments: aligned FASTA, and MSF, Stockholm and Clustal through Biopython."""

import io
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, MissingExtraError, counted
from lssvm.formats.gapped_fasta import GappedFasta, read_gapped
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text
from lssvm.offsets import cumulated

KINDS = {  # by the end of the name: what Biopython calls the format
    ".msf": "msf",
    ".sto": "stockholm",
    ".stk": "stockholm",
    ".stockholm": "stockholm",
    ".aln": "clustal",
    ".clustal": "clustal",
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
MARKS = re.compile(r"\n[ \t][*:. \t]*(?=\r?\n|$)")  # below the rows of a Clustal file
MOST_ENDS = 100  # how often a reader may meet the end of a file
GAPS = str.maketrans({".": "-", "~": "-"})


def read_multiple(path: str | Path, limit: Limit = DEFAULT) -> GappedFasta:
    """The rows of one alignment, by the end of the file's name; FASTA with any other end.

    Raises DataError if it cannot be read, has fewer than two rows, rows of different lengths or
    rows without letters; MissingExtraError without Biopython where it is needed.
    """
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".bz2", ".xz")]
    kind = KINDS.get(suffixes[-1].lower() if suffixes else "")
    found = read_gapped(path, limit) if kind is None else _by_biopython(path, kind, limit)
    if len(found.names) < 2:
        message = "one row; expected an alignment of two or more"
        raise DataError(path, int(found.lines[0]), message)
    sizes = np.diff(found.offsets)
    other = np.flatnonzero(sizes != sizes[0])
    if len(other):
        row = int(other[0])
        message = (
            f"row {found.names[row]!r} has {counted(sizes[row], 'symbol')}, {found.names[0]!r} has "
            f"{sizes[0]}; expected rows of one length"
        )
        raise DataError(path, int(found.lines[row]), message)
    return found


class _Lines:
    """A file of which an end is not read again and again: some readers never stop there.

    number : of the line that was read last, from 1
    """

    def __init__(self, text: str) -> None:
        self._text = io.StringIO(text)
        self._ends = 0
        self.number = 0

    def read(self, size: int = -1) -> str:
        """So many characters."""
        found = self._text.read(size)
        self.number += found.count("\n")
        return found

    def readline(self) -> str:
        """The next line. Raises EOFError long after the last one."""
        line = self._text.readline()
        self.number += bool(line)
        self._ends += not line
        if self._ends > MOST_ENDS:
            raise EOFError("it ends before the alignment does")
        return line

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")


def _by_biopython(path: str | Path, kind: str, limit: Limit) -> GappedFasta:
    try:
        from Bio import AlignIO
    except ImportError:
        raise MissingExtraError(f"reading {kind} files", "Biopython", "bio") from None
    with open_text(path, limit, ends=True) as lines:
        text = "".join(line for _, line in lines)
    if not text.strip():
        raise DataError(path, None, "the file is empty; expected an alignment")
    # A line of marks whose last blanks were removed would be refused.
    handle = _Lines(MARKS.sub("\n", text) if kind == "clustal" else text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alignment = AlignIO.read(handle, kind)
            rows = [(str(row.id), str(row.seq).upper().translate(GAPS)) for row in alignment]
    except Exception as error:  # its readers raise errors of any kind for what they cannot read
        told = (str(error).splitlines() or [""])[0][:100] or "its rows do not fit together"
        message = f"cannot be read as {kind}: {told}; expected one alignment"
        raise DataError(path, max(1, handle.number), message) from None
    numbers = _lines(text, [name for name, _ in rows])
    for (name, row), number in zip(rows, numbers, strict=True):
        illegal = row.strip("-" + LETTERS) and set(row) - set(LETTERS) - {"-"}
        if illegal or not row.strip("-"):
            wrong = f"has {min(illegal)!r}" if illegal else "has no letters"
            raise DataError(path, number, f"row {name!r} {wrong}; expected letters and gaps")
    return GappedFasta(
        tuple(name for name, _ in rows),
        ("",) * len(rows),
        np.array(numbers, dtype=np.int64),
        np.frombuffer("".join(row for _, row in rows).encode(), dtype=np.uint8),
        cumulated([len(row) for _, row in rows]),
        np.empty(0, np.int8),
        np.full(len(rows), math.nan),
    )


def _lines(text: str, names: list[str]) -> list[int]:
    """The first line that begins with each name, 1 where there is none."""
    first: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=1)
        if words:
            first.setdefault(words[0], number)
    return [first.get(name, first.get(name.partition("/")[0], 1)) for name in names]
