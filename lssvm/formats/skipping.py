"""Bad examples of files that are left out, as many as are allowed; all of them are told.

A reader says where its examples begin. After an error the whole example is left out, with all its
lines, and the file is read again: what is read is what the file would be without it, and all other
lines keep their numbers.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from lssvm.errors import DataError
from lssvm.formats.limit import Limit
from lssvm.formats.text import Begins, Line, open_blocks

Blocks = Iterator[tuple[int, bytearray]]
KEY = "data.skip_bad"
ANY = Limit(1e9)  # of a file that was read before within its own limit


def every_line(line: Line, before: Line) -> bool:
    """Each line is an example."""
    return True


def after_blank(line: Line, before: Line) -> bool:
    """Blank lines stand between the examples."""
    return not before.strip()


def at_header(line: Line, before: Line) -> bool:
    """An example begins with a header, as in FASTA."""
    return line.startswith(b">")


class Skipped:
    """What is left out of the files of a split.

    most : how many examples may be left out
    told : what was wrong with each of them, with its file and line
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.told: list[str] = []
        self._begins: dict[str, Begins] = {}
        self._lines: dict[str, list[range]] = {}

    def kept(self, path: str | Path, blocks: Blocks, begins: Begins | None) -> Blocks:
        """The blocks of a file without the lines that are left out."""
        if begins is not None:
            self._begins[str(path)] = begins
        left_out = self._lines.get(str(path), [])
        return _without(blocks, left_out) if left_out else blocks

    def add(self, error: DataError) -> None:
        """Leave the example of an error out from now on.

        Raises the error if that is not possible, and with too many of them.
        """
        if not self.most or error.line is None:
            raise error
        path, begins = error.path, self._begins.get(error.path)
        if begins is None or not os.path.isfile(path):
            where = "standard input" if path == "-" else "a file of this format"
            raise DataError(path, error.line, f"{error.text} ({KEY} cannot skip parts of {where})")
        if len(self.told) == self.most:
            many = f"{KEY}: {self.most} allows no more bad examples"
            raise DataError(path, error.line, f"{error.text} ({many})")
        found = _lines_of(path, begins, error.line)
        left_out = self._lines.setdefault(path, [])
        if found in left_out:
            raise error
        left_out.append(found)
        left_out.sort(key=lambda lines: lines.start)
        self.told.append(str(error))


def _lines_of(path: str, begins: Begins, number: int) -> range:
    """The lines of the example that has the line ``number``."""
    start, before = 1, bytearray()
    with open_blocks(path, ANY, None) as blocks:
        for first, block in blocks:
            for at, line in enumerate(block.split(b"\n")[: block.count(b"\n") or None], first):
                if begins(line, before):
                    if at > number:
                        return range(start, at)
                    start = at
                before = line
    return range(start, max(at, number) + 1)


def _without(blocks: Blocks, left_out: list[range]) -> Blocks:
    """The blocks without some lines; a block is parted where lines are missing."""
    for first, block in blocks:
        stop = first + block.count(b"\n") + (not block.endswith(b"\n"))
        own = [lines for lines in left_out if lines.start < stop and lines.stop > first]
        if not own:
            yield first, block
            continue
        # Only LF ends a line; splitlines would end one at a CR too.
        ends = itertools.accumulate(len(line) + 1 for line in block.split(b"\n"))
        places = [0, *ends]
        kept = first
        for lines in own:
            if lines.start > kept:
                yield kept, block[places[kept - first] : places[lines.start - first]]
            kept = max(kept, lines.stop)
        if kept < stop:
            yield kept, block[places[kept - first] :]
