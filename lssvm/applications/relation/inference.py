"""The labels of mentions: the best ones, those of given relations, and sums of their features.

Labels are 0 to L − 1, and L for none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.applications.relation import integer
from lssvm.applications.relation.bags import Bags
from lssvm.kernels import _multiclass, _relation
from lssvm.kernels.arrays import ClassArrays, RowArrays
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.plane import Plane
from lssvm.problem import Each

_PARTS = 64  # of a data set, that threads share
_FEWEST = 64  # pairs of a part


def in_turn(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """An ``Each`` without threads."""
    return [function(part) for part in parts]


@dataclass(frozen=True)
class Columns:
    """The columns of w: L relations, and none if it has weights.

    Weights are (features, columns), row-major.
    """

    relations: int
    none: bool

    @property
    def count(self) -> int:
        """The number of columns."""
        return self.relations + self.none

    @property
    def arrays(self) -> ClassArrays:
        """The columns as classes, for the kernel of rows."""
        places = np.arange(self.count + 1, dtype=np.int32)
        margins = np.zeros((self.count, self.count))
        none = np.empty(0, dtype=np.int32)
        return ClassArrays(self.count, none, places[:-1], places, places[:-1], margins, False)


def mention_rows(examples: Bags, first: int = 0, last: int | None = None) -> RowArrays:
    """The mentions of pairs first .. last − 1, by default of all."""
    inputs = examples.inputs
    stop = len(examples) if last is None else last
    begin, end = int(examples.places[first]), int(examples.places[stop])
    return RowArrays(
        np.empty((0, 0)),
        inputs.data,
        np.ascontiguousarray(inputs.indices, dtype=np.int32),
        inputs.indptr[begin : end + 1].astype(np.int64),
        end - begin,
        inputs.shape[1],
    )


def parts_of(rows: np.ndarray) -> list[np.ndarray]:
    """Chosen pairs in parts that threads share; the parts depend on their number alone."""
    count = int(np.clip(len(rows) // _FEWEST, 1, _PARTS))
    return np.array_split(rows, count)


def scored(w: np.ndarray, examples: Bags, columns: Columns, each: Each = in_turn) -> BagArrays:
    """The scores of all mentions; those of none are 0 if it has no weights."""
    places = examples.places - examples.places[0]
    scores = np.zeros((int(places[-1]), columns.relations + 1))
    weights, arrays = np.ascontiguousarray(w, dtype=np.float64), columns.arrays

    def fill(part: np.ndarray) -> None:
        if len(part):
            first, last = int(part[0]), int(part[-1]) + 1
            rows = mention_rows(examples, first, last)
            own = _multiclass.scores(rows, weights, arrays)
            scores[places[first] : places[last], : columns.count] = own

    each(fill, parts_of(np.arange(len(examples))))
    return BagArrays(scores, places)


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
        if (np.diff(bags.places) == 1).all():
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


def completed(bags: BagArrays, examples: Bags) -> Labelling:
    """The best labels that use exactly the relations of each pair."""
    found = Labelling.empty(bags)
    label_places = examples.label_places - examples.label_places[0]
    truth = np.ascontiguousarray(examples.labels[examples.label_span], dtype=np.int32)
    rows = np.arange(len(examples))
    _relation.complete(bags, rows, label_places, truth, found.labels, found.values)
    return found


def chosen_by(
    bags: BagArrays, chosen: np.ndarray, rows: np.ndarray, found: Labelling
) -> np.ndarray:
    """Write to ``found`` the best labels of pairs ``rows`` that use exactly ``chosen`` (n, L).

    Returns which of the pairs have too few mentions for that, and are left as they are.
    """
    counts = np.count_nonzero(chosen, axis=1)
    short = counts > np.diff(bags.places)
    label_places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    truth = np.nonzero(chosen)[1].astype(np.int32)
    own = rows[~short[rows]]
    _relation.complete(bags, own, label_places, truth, found.labels, found.values)
    return rows[short[rows]]


def combined(examples: Bags, labels: np.ndarray, columns: Columns) -> np.ndarray:
    """Σ c_i Φ of the labels of all mentions, (d,)."""
    coefficients = np.repeat(examples.costs, examples.mention_counts)
    places = np.ascontiguousarray(labels, dtype=np.int32)
    if not columns.none:
        silent = labels == columns.relations
        coefficients[silent] = 0.0
        places = np.where(silent, 0, labels).astype(np.int32)
    return _multiclass.combination(mention_rows(examples), places, coefficients, columns.arrays)


def plane(examples: Bags, labels: np.ndarray, loss: float, columns: Columns) -> Plane:
    """The plane of labels; loss : with costs."""
    return Plane(combined(examples, labels, columns), loss)


def gradients(
    examples: Bags, labels: np.ndarray, rows: np.ndarray, columns: Columns
) -> "sparse.csr_array":
    """Φ of the chosen pairs with these labels of all mentions, (len(rows), d), without costs."""
    chosen = examples.take(rows)
    counts = examples.mention_counts
    own = np.repeat(np.isin(np.arange(len(examples)), rows), counts)
    inputs, picked = chosen.inputs, labels[own].astype(np.int64)
    entries = np.diff(inputs.indptr)
    columns_of = inputs.indices.astype(np.int64) * columns.count + np.repeat(picked, entries)
    kept = np.repeat(picked < columns.count, entries)
    starts = np.concatenate([[0], np.cumsum(kept)])[inputs.indptr][chosen.places]
    shape = (len(rows), inputs.shape[1] * columns.count)
    parts = inputs.data[kept], columns_of[kept].astype(np.int32), starts.astype(np.int32)
    found = sparse.csr_array(parts, shape=shape)
    found.sum_duplicates()
    return found
