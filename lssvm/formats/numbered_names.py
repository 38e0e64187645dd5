"""Names of numbered things, such as relations: lines ``number name``, in any order.

A tab or blanks stand between number and name; the name is the rest of the line. Blank lines and
lines that begin with ``#`` are skipped.
"""

from pathlib import Path

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

MOST = 2**31 - 1


def read_names(path: str | Path, what: str, limit: Limit = DEFAULT) -> dict[int, str]:
    """The name of each number. what : is numbered, for messages

    Raises DataError, with the line, for what is not such a line, and for a number or a name that
    occurs twice.
    """
    names: dict[int, str] = {}
    lines_of: dict[str, int] = {}
    with open_text(path, limit) as lines:
        for number, line in lines:
            words = line.split(None, 1)
            if not words or words[0].startswith("#"):
                continue
            try:
                place, name = _numbered(words, what)
                if place in names:
                    raise ValueError(f"{what} {place} has a name already; expected one name each")
                if name in lines_of:
                    wrong = f"the name {tokens.cut(name)!r} is that of line {lines_of[name]}"
                    raise ValueError(f"{wrong}; expected different names")
            except ValueError as error:
                raise DataError(path, number, error) from None
            names[place], lines_of[name] = name, number
    if not names:
        raise DataError(path, None, f"no names; expected lines with the number of a {what}, a name")
    return names


def _numbered(words: list[str], what: str) -> tuple[int, str]:
    """Number and name of a line. Raises ValueError."""
    number = tokens.whole(words[0], what, 0, MOST)
    name = words[1].strip() if len(words) > 1 else ""
    if not name:
        raise ValueError(f"{what} {number} has no name; expected 'number name'")
    if "\t" in name:
        raise ValueError(f"the name of {what} {number} has a tab; expected 'number name'")
    return number, name
