"""Head tables: which child of a bracket is its head.

A line of a table is a label, the end from which children are searched, and labels of heads, the
most likely ones first: ``VP left VB VBD VP``. The head is the first child from that end with the
first of these labels that any child has, otherwise the first child from that end. The label ``*``
is for all labels without a line of their own; without it the search is from the left. What
follows ``#`` is a comment.
"""

from collections.abc import Sequence
from pathlib import Path

from lssvm.formats.text import open_text

HeadTable = dict[str, list[str]]
ANY, ENDS = "*", ("left", "right")


def read_heads(path: Path) -> HeadTable:
    """The table of a file. Raises ValueError with the line, DataError if it cannot be read."""
    table: HeadTable = {}
    with open_text(path) as lines:
        for number, line in lines:
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) < 2 or words[1] not in ENDS:
                found = " ".join(words)[:60]
                raise ValueError(
                    f"{path}:{number}: {found!r} is no line of a head table; expected a label, "
                    "'left' or 'right', and labels of heads"
                )
            if words[0] in table:
                raise ValueError(f"{path}:{number}: {words[0]!r} has two lines; expected one")
            table[words[0]] = words[1:]
    if not table:
        raise ValueError(f"{path}: there are no lines; expected a label, an end and heads in each")
    return table


def check_heads(table: HeadTable) -> HeadTable:
    """A table of a model, once it is sure what it is. Raises ValueError."""
    for label, words in table.items():
        if not label or not words or words[0] not in ENDS:
            raise ValueError(f"{label!r}: expected 'left' or 'right', and labels of heads")
    return table


def head_of(table: HeadTable, label: str, children: Sequence[str]) -> int:
    """The place of the head among children with these labels, at least one."""
    end, *heads = table.get(label) or table.get(ANY) or ENDS[:1]
    places = range(len(children)) if end == "left" else range(len(children) - 1, -1, -1)
    for head in heads:
        for place in places:
            if children[place] == head:
                return place
    return places[0]
