"""Head tables: which child of a bracket is its head.

A line of a table is a label, the end from which children are searched, and labels of heads, the
most likely ones first: ``VP left VB VBD VP``. The head is the first child from that end with the
first of these labels that any child has, otherwise the first child from that end. The label ``*``
is for all labels without a line of their own; without it the search is from the left. What
follows ``#`` is a comment. Labels have no brackets and do not end with a comma or colon, those
punctuation marks alone excepted, so that a table in another format is not taken for one.
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
            _check_labels(f"{path}:{number}", words[0], words[2:])
            table[words[0]] = words[1:]
    if not table:
        raise ValueError(f"{path}: there are no lines; expected a label, an end and heads in each")
    return table


def _check_labels(place: str, label: str, heads: Sequence[str]) -> None:
    """Raise ValueError for what can be no label of a tree, and for a head that stands twice."""
    for word in (label, *heads):
        if any(mark in word for mark in "()[]{}") or (len(word) > 1 and word[-1] in ",:;"):
            raise ValueError(f"{place}: {word[:40]!r} is no label; expected labels between blanks")
    if ANY in heads:
        raise ValueError(f"{place}: '*' is among the heads; expected labels, or none for any head")
    twice = next((head for k, head in enumerate(heads) if head in heads[:k]), None)
    if twice is not None:
        raise ValueError(f"{place}: {twice[:40]!r} stands twice; expected each head once")


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
