"""The labels of the mentions of pairs, where each label that a pair uses adds a gain of its own.

Labels are 0 to L − 1, and L for none. A row of a classifier is a pair with one mention.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lssvm.applications.multivariate import integer
from lssvm.kernels import _relation
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.problem import Each

_PARTS = 64  # of a data set, that threads share
_FEWEST = 256  # pairs of a part


def in_turn(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """An ``Each`` without threads."""
    return [function(part) for part in parts]


def parts_of(rows: np.ndarray) -> list[np.ndarray]:
    """Chosen pairs in parts that threads share; the parts depend on their number alone."""
    count = int(np.clip(len(rows) // _FEWEST, 1, _PARTS))
    return np.array_split(rows, count)


def as_bytes(labels: np.ndarray) -> np.ndarray:
    """Labels (n, L) bool as the kernels read them."""
    return np.ascontiguousarray(labels).view(np.uint8)


@dataclass
class Labelling:
    """Labels of the mentions of n pairs, which change pair by pair.

    labels : (mentions,) int32
    values : (n,) the scores of the mentions, and what the used relations add
    excess : (n,) by how much a better labelling can exceed ``values`` at most
    """

    labels: np.ndarray
    values: np.ndarray
    excess: np.ndarray

    @classmethod
    def empty(cls, bags: BagArrays) -> "Labelling":
        """No mention has a relation, and no value is known yet."""
        n = len(bags.places) - 1
        labels = np.full(len(bags.scores), bags.labels, dtype=np.int32)
        return cls(labels, np.zeros(n), np.zeros(n))

    def improve(
        self, bags: BagArrays, gains: np.ndarray, rows: np.ndarray, most: int, each: Each = in_turn
    ) -> None:
        """The best labels of the pairs ``rows``, where a relation that is used adds gains (n, L).

        most : sets of relations of a pair that are tried before mixed-integer programming
        """
        gains = np.ascontiguousarray(gains)
        if bags.alone:
            self._improve_alone(bags, gains, rows)
            return

        def solve(part: np.ndarray) -> np.ndarray:
            return _relation.best(bags, gains, part, most, self.labels, self.values, self.excess)

        left = np.concatenate(each(solve, parts_of(rows)))
        for row in left.tolist():
            own = slice(int(bags.places[row]), int(bags.places[row + 1]))
            bound = self.values[row] + self.excess[row]
            found = integer.best(bags.scores[own], gains[row])
            if found is not None:
                labels, value, proved = found
                if value > self.values[row]:
                    self.labels[own], self.values[row] = labels, value
                self.excess[row] = max(0.0, min(bound, proved) - self.values[row])

    def _improve_alone(self, bags: BagArrays, gains: np.ndarray, rows: np.ndarray) -> None:
        """The best labels if every pair has one mention."""
        values = np.roll(bags.scores[rows], 1, axis=1)  # none first, which ties go to
        values[:, 1:] += gains[rows]
        best = values.argmax(axis=1)
        self.labels[rows] = np.where(best == 0, bags.labels, best - 1)
        self.values[rows] = values[np.arange(len(rows)), best]
        self.excess[rows] = 0.0

    def used(self, bags: BagArrays) -> np.ndarray:
        """Which relations the mentions of each pair have, (n, L) bool."""
        return _relation.used(bags, self.labels).view(bool)


def chosen_by(
    bags: BagArrays, chosen: np.ndarray, rows: np.ndarray, found: Labelling
) -> np.ndarray:
    """Write to ``found`` the best labels of pairs ``rows`` that use exactly ``chosen`` (n, L).

    Returns which of the pairs have too few mentions for that, and are left as they are.
    """
    return _relation.complete_chosen(bags, as_bytes(chosen), rows, found.labels, found.values)
