"""Sums of planes over numbered blocks, by a fixed binary tree.

Node (level, place) is the sum of the blocks place · 2^level up to (place + 1) · 2^level − 1. The
tree depends on the number of blocks alone. So threads and workers, however many, get the same bits,
and a worker sends a few sums, however many blocks it has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lssvm.plane import Plane


class Node(NamedTuple):
    """The sum of some blocks: of planes, and of upper bounds minus planes (``slack``)."""

    level: int
    place: int
    plane: Plane
    slack: float = 0.0


class TreeSum:
    """Adds nodes, in any order; two neighbours become the node above them at once."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], Node] = {}

    def add(self, node: Node) -> None:
        """Add a node that shares no block with those before.

        The gradients of blocks stay as they are, those of nodes above them are overwritten.
        """
        while (other := self._nodes.pop((node.level, node.place ^ 1), None)) is not None:
            node = _joined(node, other)
        self._nodes[node.level, node.place] = node

    @property
    def nodes(self) -> list[Node]:
        """What cannot be added up further without other blocks, in the order of the blocks."""
        return sorted(self._nodes.values(), key=lambda node: node.place << node.level)

    def total(self) -> tuple[Plane, float]:
        """The sum of all blocks, once they are all there: what has no neighbour, from the right."""
        *others, found = self.nodes
        for node in reversed(others):
            plane = _added(node, found)
            found = Node(node.level + 1, 0, plane, node.slack + found.slack)
        return found.plane, found.slack


def total_of(planes: Sequence[Plane]) -> Plane:
    """The sum of planes by the tree of their places; a single one is not copied."""
    found = TreeSum()
    for place, plane in enumerate(planes):
        found.add(Node(0, place, plane))
    return found.total()[0]


def _joined(a: Node, b: Node) -> Node:
    return Node(a.level + 1, a.place // 2, _added(a, b), a.slack + b.slack)


def _added(a: Node, b: Node) -> Plane:
    """The sum of two planes, in the memory of one of them if it is no block's."""
    left, right = a.plane, b.plane
    out = left.gradient if a.level > 0 else right.gradient if b.level > 0 else None
    gradient = np.add(left.gradient, right.gradient, out=out)
    return Plane(gradient, left.loss + right.loss)
