"""Features that occur in training, renumbered; features that do not occur have weight 0.

A feature that no training example has does not change any score in training, so that ½‖w‖² makes
its weights 0 at the optimum. If features are hashed, or a file skips numbers, the weights, the
planes and the model then hold no entries for features that do not occur.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lssvm import sparse
from lssvm.applications.names import LazyNames
from lssvm.offsets import cumulated, narrowed

SHARE = 0.9  # if a larger share of the features occurs, renumbering is not worth its cost
LEAST = 100_000  # nor is it if fewer weights than this are saved
TABLE = 8  # a table of all features is made unless it is longer than so many numbers a value


@dataclass(frozen=True)
class Occurring:
    """The sparse rows of examples without the features that do not occur in training.

    features : (P,) int64, the features that occur, increasing
    width : number of features of a row before renumbering; columns : K, weights of a feature

    w holds the P · K weights of these features, then the weights that belong to no feature.
    """

    features: np.ndarray
    width: int
    columns: int

    @classmethod
    def of(cls, found: np.ndarray, width: int, columns: int) -> Self | None:
        """The features that occur; None if renumbering would save little.

        found : the feature of each value; width : number of features
        """
        marks = np.zeros(width, dtype=bool)
        marks[found] = True
        features = np.flatnonzero(marks)
        saved = (len(marks) - len(features)) * columns
        if saved < LEAST or len(features) > SHARE * len(marks):
            return None
        return cls(features, len(marks), columns)

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The examples with renumbered features, without all others; the weights are unchanged."""
        rows = sparse.csr_array(examples.inputs)
        places = self._places(rows.indices, rows.shape[1])
        known = places >= 0
        starts = rows.indptr
        if not known.all():
            starts = narrowed(cumulated(known)[starts])
            places = places[known]
        values = rows.data if len(places) == len(rows.data) else rows.data[known]
        shape = (rows.shape[0], len(self.features))
        matrix = sparse.csr_array((values, places, starts), shape=shape)
        return examples.with_inputs(matrix), w

    def _places(self, indices: np.ndarray, width: int) -> np.ndarray:
        """The new numbers of features, int32; −1 for those that do not occur in training.

        width : more than the largest index
        """
        count = len(self.features)
        if width <= TABLE * len(indices):
            table = np.full(max(width, self.width), -1, dtype=np.int32)
            table[self.features] = np.arange(count, dtype=np.int32)
            return table[indices]
        places = np.searchsorted(self.features, indices)
        known = np.append(self.features, -1)[places] == indices
        return np.where(known, places, -1).astype(np.int32)

    def restricted(self, w: np.ndarray) -> np.ndarray:
        """Linear weights without those of features that do not occur."""
        size = self.width * self.columns
        kept = w[:size].reshape(self.width, self.columns)[self.features]
        return np.append(kept, w[size:])

    def linear(self, w: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`restricted`: linear weights, 0 for features that do not occur."""
        size = len(self.features) * self.columns
        every = np.zeros((self.width, self.columns))
        every[self.features] = w[:size].reshape(-1, self.columns)
        return np.append(every, w[size:])

    def reduced(self, w: np.ndarray) -> tuple["Occurring", np.ndarray]:
        """These features and w, both unchanged."""
        return self, w

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ w)

    def names(self, names: Sequence[str]) -> "OccurringNames":
        """The names of linear weights."""
        return OccurringNames(self, names)

    def of_features(self, values: np.ndarray) -> np.ndarray:
        """Sizes of the first features that occur as those of all features, 0 for others."""
        features = self.features[: len(values)]
        found = np.zeros(int(features[-1]) + 1)
        found[features] = values
        return found

    def facts(self) -> dict[str, Any]:
        """How many features there are."""
        return {"features that occur": len(self.features)}

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that a model keeps: the features, and the numbers width and columns."""
        return {
            "features": self.features,
            "shape": np.array([self.width, self.columns], dtype=np.int64),
        }


class OccurringNames(LazyNames):
    """The names of the weights of features that occur."""

    def __init__(self, occurring: Occurring, names: Sequence[str]) -> None:
        self._occurring, self._names = occurring, names
        self._size = len(occurring.features) * occurring.columns

    def __len__(self) -> int:
        linear = self._occurring.width * self._occurring.columns
        return self._size + len(self._names) - linear

    def name(self, place: int) -> str:
        """The name at a place."""
        columns = self._occurring.columns
        if place >= self._size:
            return self._names[place - self._size + self._occurring.width * columns]
        row, column = divmod(place, columns)
        return self._names[int(self._occurring.features[row]) * columns + column]
