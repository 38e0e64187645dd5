"""Files of pairs of entities with mentions and relations, in either of two formats.

A file whose first character is ``{`` holds JSON lines, see :mod:`lssvm.formats.relation_json`; all
others are text, see :mod:`lssvm.formats.relation_numbers`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from lssvm.errors import DataError
from lssvm.formats.bag_file import BagFile, BagReader
from lssvm.formats.blocks import each_block
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.relation_json import JsonBags
from lssvm.formats.relation_numbers import UNKNOWN, NumberedBags, numbered_pair
from lssvm.formats.text import Line
from lssvm.formats.tokens import cut

_PART = 1_000_000  # numbers of a part


def read_bags(path: str | Path, limit: Limit = DEFAULT) -> BagFile:
    """Read a file of either format, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, for what is not in the format.
    """
    (whole,) = _parts(path, limit, None)
    return whole


def bag_parts(path: str | Path, limit: Limit = DEFAULT) -> Iterator[BagFile]:
    """The file of :func:`read_bags` in parts of some megabytes, in order, at least one."""
    return _parts(path, limit, _PART)


def _parts(path: str | Path, limit: Limit, size: int | None) -> Iterator[BagFile]:
    left_out = limit.skipped.of(path) if limit.skipped else 0
    reader, parts, bound = _Either(path, left_out), 0, size
    for _ in each_block(path, limit, reader.block, reader.line, owns=pair_lines):
        if bound is None or reader.chosen is None or reader.chosen.held <= bound:
            continue
        found, bound = reader.chosen.pairs(ended=False), size
        if len(found):
            yield found
            parts += 1
        else:  # a pair that is larger than a part
            bound = 2 * reader.chosen.held
    if reader.chosen is None:
        message = "no pairs; expected their number, or JSON objects, one a line"
        raise DataError(path, None, message)
    found = reader.chosen.pairs(ended=True)
    if len(found) or not parts:
        yield found


def pair_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of the pair that has a line, as of :data:`lssvm.formats.text.Owns`."""
    words = ((at, line.partition(b"#")[0].split()) for at, line in lines)
    filled = [(at, own) for at, own in words if own]
    if filled and filled[0][1][0].startswith(b"{"):
        return [range(number, number + 1)]
    return [numbered_pair(filled, number)]


class _Either:
    """A reader of the format that the first line is in. left_out : pairs that are not read"""

    def __init__(self, path: str | Path, left_out: int) -> None:
        self._path, self._left_out = path, left_out
        self.chosen: BagReader | None = None

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read lines of a block; those before the format is known are left to :meth:`line`."""
        return (at, 0) if self.chosen is None else self.chosen.block(block, at, number)

    def line(self, number: int, text: str) -> None:
        """Read a line, which decides on the format if it is the first one with content.

        Raises ValueError that says what is wrong.
        """
        if self.chosen is None:
            if not text.partition("#")[0].strip():
                return
            self.chosen = self._made(text)
        self.chosen.line(number, text)

    def _made(self, text: str) -> BagReader:
        if text.lstrip().startswith("{"):
            return JsonBags()
        first = text.split(None, 1)[0]
        if first != UNKNOWN and not first.isdecimal():
            raise ValueError(
                f"the file begins with {cut(first)!r}; expected the number of pairs, or JSON "
                "objects, one a line"
            )
        return NumberedBags(self._path, self._left_out)
