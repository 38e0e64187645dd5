"""Bad examples of files that are left out, as many as are allowed; all of them are told.

A reader says which lines an example has. After an error the whole example is left out, with all its
lines, and the file is read again: what is read is what the file would be without it, and all other
lines keep their numbers.
"""

import codecs
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lssvm.errors import DataError, counted
from lssvm.formats.limit import Limit
from lssvm.formats.text import STDIN, Line, Owns, open_blocks

Blocks = Iterator[tuple[int, bytearray]]
Numbered = Iterable[tuple[int, Line]]
KEY = "data.skip_bad"
ANY = Limit(1e9)  # of a file that was read before within its own limit
_FORMAT = "cannot skip parts of a file of this format"
_QID = "qid:"


def every_line(lines: Numbered, number: int) -> list[range]:
    """Each line is an example."""
    return [range(number, number + 1)]


def after_blank(lines: Numbered, number: int) -> list[range]:
    """Blank lines stand between the examples."""
    return from_beginning(lines, number, lambda line, before: not before.strip())


def at_header(lines: Numbered, number: int) -> list[range]:
    """An example begins with a header, as in FASTA."""
    return from_beginning(lines, number, lambda line, before: line.startswith(b">"))


def same_qid(lines: Numbered, number: int) -> list[range]:
    """The lines of an example have the same qid, wherever they stand."""
    places: dict[str, list[range]] = {}
    own = ""
    for at, line in lines:
        name = _qid(line)
        if name:
            places.setdefault(name, []).append(range(at, at + 1))
        if at == number:
            own = name
    if not own:
        raise ValueError("cannot skip a line without a qid: its example is not known")
    return places[own]


class Skipped:
    """What is left out of the files of a split.

    most : how many examples may be left out
    told : what was wrong with each of them, with its file and line
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.told: list[str] = []
        self._owns: dict[str, Owns] = {}
        self._lines: dict[str, list[range]] = {}
        self._counts: Counter[str] = Counter()

    def kept(self, path: str | Path, blocks: Blocks, owns: Owns | None) -> Blocks:
        """The blocks of a file without the lines that are left out."""
        if owns is not None:
            self._owns[str(path)] = owns
        left_out = self._lines.get(str(path), [])
        return _without(blocks, left_out) if left_out else blocks

    def add(self, error: DataError) -> None:
        """Leave the example of an error out from now on.

        Raises the error if that is not possible, and with too many of them.
        """
        path, line = error.named or (error.path, error.line)
        if line is None and self._counts[path]:
            raise DataError(path, None, self._of_rest(path, error))
        if not self.most or line is None:
            raise error
        text = str(error) if error.named else error.text
        try:
            found = self._lines_of(path, line)
        except ValueError as reason:
            raise DataError(path, line, f"{text} ({KEY} {reason})") from None
        if len(self.told) == self.most:
            many = f"{KEY}: {self.most} allows no more bad examples; the first: {self.told[0]}"
            raise DataError(path, line, f"{text} ({many})")
        left_out = self._lines.setdefault(path, [])
        if found[0] in left_out:
            raise error
        left_out += found
        left_out.sort(key=lambda lines: lines.start)
        self._counts[path] += 1
        self.told.append(f"{path}:{line}: {text}")

    def of(self, path: str | Path) -> int:
        """How many examples of a file are left out."""
        return self._counts[str(path)]

    def _of_rest(self, path: str, error: DataError) -> str:
        """What is wrong with a file without what was left out, such as that nothing is there."""
        first = next(text for text in self.told if text.startswith(f"{path}:"))
        many = counted(self._counts[path], "bad example")
        return f"without {many} that {KEY} skipped: {error.text} (the first: {first})"

    def _lines_of(self, path: str, number: int) -> list[range]:
        """The lines of the example that has a line. Raises ValueError if they cannot be told."""
        if path == STDIN:
            raise ValueError("cannot skip parts of standard input")
        owns = self._owns.get(path)
        if owns is None or not os.path.isfile(path):
            raise ValueError(_FORMAT)
        with open_blocks(path, ANY, None) as blocks:
            return owns(_numbered(blocks), number)


def _numbered(blocks: Blocks) -> Iterator[tuple[int, Line]]:
    """The lines, the first one without a byte order mark."""
    for first, block in blocks:
        if first == 1:
            block = block.removeprefix(codecs.BOM_UTF8)
        yield from enumerate(block.split(b"\n")[: block.count(b"\n") or None], first)


def from_beginning(
    lines: Numbered, number: int, begins: Callable[[Line, Line], bool]
) -> list[range]:
    """The lines from where an example begins. begins : whether one does, after another line"""
    before: Line = b""
    start, at = 1, 0
    for at, line in lines:
        if begins(line, before):
            if at > number:
                return [range(start, at)]
            start = at
        before = line
    return [range(start, max(at, number) + 1)]


def _qid(line: Line) -> str:
    """The name after ``qid:`` in the first or second word of a line; empty if there is none."""
    words = line.decode(errors="replace").partition("#")[0].split(None, 2)[:2]
    return next((word.removeprefix(_QID) for word in words if word.startswith(_QID)), "")


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
