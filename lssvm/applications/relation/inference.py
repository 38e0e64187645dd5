"""The labels of mentions: the best ones, those of given relations, and sums of their features.

Labels are 0 to L − 1, and L for none.
"""

from dataclasses import dataclass

import numpy as np

from lssvm import sparse
from lssvm.applications.multivariate.labelling import Labelling, in_turn, parts_of
from lssvm.applications.relation.bags import Bags
from lssvm.kernels import _multiclass, _relation
from lssvm.kernels.arrays import ClassArrays, RowArrays
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.plane import Plane
from lssvm.problem import Each


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


def completed(bags: BagArrays, examples: Bags) -> Labelling:
    """The best labels that use exactly the relations of each pair."""
    found = Labelling.empty(bags)
    label_places = examples.label_places - examples.label_places[0]
    truth = np.ascontiguousarray(examples.labels[examples.label_span], dtype=np.int32)
    rows = np.arange(len(examples))
    _relation.complete(bags, rows, label_places, truth, found.labels, found.values)
    return found


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
