"""Taxonomies as text: one line ``child parent`` for each node but the root; # begins a comment.

The names are separated only by tabs if the file has tabs, otherwise by blanks (see ``separators``).
"""

from pathlib import Path

from lssvm.errors import DataError, counted
from lssvm.formats.separators import Separator, check_filled, without_comment
from lssvm.formats.text import open_text


def read_taxonomy(path: str | Path) -> dict[str, str]:
    """The parent of each node, in the order of the file.

    Nodes without a parent are at the top. Raises DataError, with the line, for a line that is not
    two names or not separated as those before, for a node with two parents and for one that is
    below itself.
    """
    parents: dict[str, str] = {}
    lines_of: dict[str, int] = {}
    separator = Separator()
    with open_text(path) as lines:
        for number, line in lines:
            try:
                words = separator.cells(number, without_comment(line))
                if not words:
                    continue
                if len(words) != 2:
                    names = f"{counted(len(words), 'name')}{separator.means}"
                    raise ValueError(f"{names}; expected two, 'child parent'")
                check_filled(words, ("child", "parent"))
            except ValueError as error:
                raise DataError(path, number, error) from None
            child, parent = words
            if child in parents:
                wrong = f"{child!r} has a parent already, {parents[child]!r} in line "
                wrong += f"{lines_of[child]}; expected one parent"
                raise DataError(path, number, wrong)
            parents[child], lines_of[child] = parent, number
    if not parents:
        raise DataError(path, None, "no nodes; expected lines 'child parent'")
    looped = below_itself(parents)
    if looped is not None:
        wrong = f"{looped!r} is below itself; expected a tree"
        raise DataError(path, lines_of[looped], wrong)
    return parents


def below_itself(parents: dict[str, str]) -> str | None:
    """The first node that is its own ancestor, or None in a forest."""
    safe: set[str] = set()
    for start in parents:
        walked: dict[str, None] = {}
        node: str | None = start
        while node is not None and node not in safe:
            if node in walked:
                cycle = _cycle(node, parents)
                return next(each for each in parents if each in cycle)
            walked[node] = None
            node = parents.get(node)
        safe.update(walked)
    return None


def _cycle(node: str, parents: dict[str, str]) -> set[str]:
    found = {node}
    while parents[node] not in found:
        node = parents[node]
        found.add(node)
    return found
