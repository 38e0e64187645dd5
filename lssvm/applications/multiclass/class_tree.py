"""Trees of classes: ancestors of a class, and the height of a common ancestor.

The height of a node is the number of steps down to the deepest node below it. The loss of the
paper (Tsochantaridis et al. 2004, section 4.2) is the height of the first common ancestor of two
classes. A class may be an inner node: then it is itself the first common ancestor of itself and
a class below it.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lssvm.offsets import cumulated

SEPARATOR = "/"  # between the steps of a label that is a path
MOST_STEPS = 1000  # from the top down to a node
ROOT = ""  # stands for the root
_SHOWN = 20  # characters of a label that a message quotes


class ClassTree:
    """A rooted tree of nodes with names.

    steps(node) are the nodes from below the root down to a node, itself the last.
    """

    def __init__(self, parents: Mapping[str, str] | None, labels: Iterable[str] = ()) -> None:
        """A tree from the parent of each node, or from labels such as ``a/b/c``.

        parents : if there is a single node at the top, it is the root; otherwise the root is above
            the nodes at the top. None: the tree of all prefixes of the labels
        """
        self._parents = parents
        tops = {parent for parent in (parents or {}).values() if parent not in (parents or {})}
        self.root = min(tops) if len(tops) == 1 else ROOT
        self._heights: dict[str, int] = {}
        for node in labels if parents is None else parents:
            for height, above in enumerate([*reversed(self.steps(node)), ROOT]):
                self._heights[above] = max(height, self._heights.get(above, 0))

    def steps(self, node: str) -> tuple[str, ...]:
        """The nodes on the path to ``node``. Raises ValueError if it cannot be in the tree."""
        if self._parents is None:
            parts = node.split(SEPARATOR)
            _check_depth(node, len(parts))
            if not all(parts):
                raise ValueError(
                    f"label {node!r} has a step without a name; expected one such as a/b/c"
                )
            return tuple(SEPARATOR.join(parts[:end]) for end in range(1, len(parts) + 1))
        if node == self.root and node != ROOT:
            raise ValueError(f"label {node!r} is the root of the taxonomy; expected one below it")
        found = [node]
        while found[-1] in self._parents and self._parents[found[-1]] != self.root:
            found.append(self._parents[found[-1]])
            _check_depth(node, len(found))
        if len(found) == 1 and node not in self._parents and node not in self._parents.values():
            raise ValueError(f"label {node!r} is not in the taxonomy; expected one of its nodes")
        return tuple(reversed(found))

    def losses(self, truths: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """Heights of the first common ancestors, 0 for equal labels, (truths, others) float64.

        A truth deeper than all nodes of the tree increases the height of its ancestors.
        """
        above = [self.steps(node) for node in truths], [self.steps(node) for node in others]
        deepest = max(len(steps) for part in above for steps in part)
        names = sorted({node for part in above for steps in part for node in steps})
        number = {node: row for row, node in enumerate(names)}
        codes = []
        for part, behind in zip(above, (-1, -2), strict=True):
            padded = [
                [*map(number.get, steps), *[behind] * (deepest - len(steps))] for steps in part
            ]
            codes.append(np.array(padded, dtype=np.int64).reshape(len(part), deepest))
        heights = np.array([self._heights.get(name, 0) for name in names], dtype=np.float64)
        together = np.ones((len(truths), len(others)), dtype=bool)
        found = np.full(together.shape, float(self._heights[ROOT]))
        depth = np.zeros(together.shape)
        for level in range(deepest):
            together &= codes[0][:, None, level] == codes[1][None, :, level]
            found[together] = np.broadcast_to(heights[codes[0][:, None, level]], found.shape)[
                together
            ]
            depth += together
        lengths = np.array([len(steps) for steps in above[0]], dtype=np.float64)
        found = np.maximum(found, lengths[:, None] - depth)
        found[np.equal.outer(np.array(truths), np.array(others))] = 0.0
        return found


def _check_depth(node: str, steps: int) -> None:
    if steps > MOST_STEPS:
        shown = node if len(node) <= _SHOWN else node[:_SHOWN] + "…"
        raise ValueError(
            f"label {shown!r} is more than {MOST_STEPS:,d} steps below the top; expected at most "
            "that many"
        )


class WeightColumns:
    """The columns of w by which each class is scored: Λ of section 4.1 of the paper.

    names : of the columns; hierarchical: every class and every node above one, without the root,
        each followed by its descendants; flat: the classes
    parents : (columns,) int32, -1 at the top; empty if all columns are at the top
    places : (classes,) int32, the column of each class
    path_starts, paths : the columns of class k, increasing: paths[path_starts[k]:…[k + 1]]
    """

    def __init__(self, classes: Sequence[str], tree: ClassTree | None = None) -> None:
        """tree : None for flat columns. Raises ValueError for a class that is not in the tree."""
        steps = [(name,) if tree is None else tree.steps(name) for name in classes]
        ways = {way[:end] for way in steps for end in range(1, len(way) + 1)}
        order = sorted(ways) if tree is not None else steps
        number = {way: row for row, way in enumerate(order)}
        self.names = tuple(way[-1] for way in order)
        above = [number[way[:-1]] if len(way) > 1 else -1 for way in order]
        self.parents = np.array(above if max(above, default=-1) >= 0 else [], dtype=np.int32)
        self.places = np.array([number[way] for way in steps], dtype=np.int32)
        paths = [number[way[:end]] for way in steps for end in range(1, len(way) + 1)]
        self.paths = np.array(paths, dtype=np.int32)
        lengths = [len(way) for way in steps]
        self.path_starts = cumulated(lengths).astype(np.int32)

    def __len__(self) -> int:
        return len(self.names)
