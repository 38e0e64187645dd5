"""The memory of L-BFGS: the last few changes of w and of the gradient, and the direction they give.

The changes only decide the direction of a line search, so single precision is enough; it halves the
memory. Inner products are summed in double precision.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lssvm.checked import Arrays, Values, array, whole
from lssvm.checked import vector as checked_vector
from lssvm.errors import ModelError
from lssvm.kernels import _history
from lssvm.solvers.kept import Kept, State

_PIECE = 1 << 16  # coordinates that are computed at a time
CURVED = 1e-6  # pairs with a larger cosine have positive curvature in single precision too


@dataclass
class History:
    """Pairs of a change of w and a change of the gradient, each divided by its length.

    Pair k is stored in row k modulo ``size``, so that a new pair overwrites the oldest.

    steps, changes : (size, d) float32, the changes of w and of the gradient
    ratios : (size,) the length of the change of w divided by that of the change of the gradient
    inner : (size,) the inner products of the two rows of each pair
    remembered : number of pairs so far, overwritten pairs included
    """

    size: int
    dimension: int
    steps: np.ndarray = field(init=False)
    changes: np.ndarray = field(init=False)
    ratios: np.ndarray = field(init=False)
    inner: np.ndarray = field(init=False)
    remembered: int = 0

    def __post_init__(self) -> None:
        self.steps = np.zeros((self.size, self.dimension), dtype=np.float32)
        self.changes = np.zeros((self.size, self.dimension), dtype=np.float32)
        self.ratios, self.inner = np.zeros(self.size), np.zeros(self.size)

    def __len__(self) -> int:
        return min(self.remembered, self.size)

    def forget(self) -> None:
        """Forget all pairs."""
        self.remembered = 0

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Store a pair if its curvature is positive; it overwrites the oldest if all are in use.

        ``change`` is overwritten.
        """
        lengths = np.sqrt(float(step @ step)), np.sqrt(float(change @ change))
        if float(step @ change) > CURVED * lengths[0] * lengths[1]:
            row = self.remembered % self.size
            np.divide(step, lengths[0], out=self.steps[row], casting="same_kind")
            np.divide(change, lengths[1], out=self.changes[row], casting="same_kind")
            self.ratios[row] = lengths[0] / lengths[1]
            self._measure(row, change)
            self.remembered += 1

    def _measure(self, row: int, change: np.ndarray) -> float:
        """Compute, store and return the inner product of a stored pair; overwrites ``change``."""
        change[:] = self.changes[row]
        self.inner[row] = _history.inner(self.steps[row], change)
        return float(self.inner[row])

    def direction(self, slope: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The direction −H slope, (d,), where H approximates the inverse Hessian from the pairs.

        scale : (d,) or (1,), the diagonal of the first Hessian, up to a factor

        Without any pair the direction is −slope / scale, shortened to length 1 if it is longer.
        """
        found = -slope
        if not self.remembered:
            found /= scale
            return found / max(1.0, float(np.sqrt(found @ found)))
        newest = self.remembered - 1
        shares = np.zeros(self.size)
        order = [k % self.size for k in range(newest, self.remembered - len(self) - 1, -1)]
        for row in order:
            shares[row] = _history.inner(self.steps[row], found) / self.inner[row]
            _history.add(self.changes[row], -shares[row], found)
        row = order[0]
        square = self._square(row, scale)
        found /= scale
        found *= self.ratios[row] * self.inner[row] / square
        for row in reversed(order):
            back = _history.inner(self.changes[row], found) / self.inner[row]
            _history.add(self.steps[row], shares[row] * self.ratios[row] - back, found)
        return found

    def _square(self, row: int, scale: np.ndarray) -> float:
        """The square of a change over the scale, without memory for the quotients."""
        change, total = self.changes[row], 0.0
        for first in range(0, self.dimension, _PIECE):
            part = change[first : first + _PIECE].astype(np.float64)
            part /= scale[first : first + _PIECE] if len(scale) > 1 else scale
            total += _history.inner(change[first : first + _PIECE], part)
        return total


class KeptHistory(Kept):
    """Saves and restores the pairs, in the same rows."""

    def save(self, owner: Any, name: str) -> State:
        """The stored pairs, and the number of pairs so far."""
        history = getattr(owner, name)
        rows = slice(0, len(history))
        arrays = {"steps": history.steps[rows], "changes": history.changes[rows]}
        return {"remembered": history.remembered}, arrays | {"ratios": history.ratios[rows]}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> History:
        """The history that was saved. Raises ModelError if it is impossible."""
        new = getattr(owner, name)
        history = History(new.size, new.dimension, whole(values, "remembered"))
        count = len(history)
        for each in ("steps", "changes"):
            rows = array(arrays, each, np.float32, (count, history.dimension))
            getattr(history, each)[:count] = rows
        history.ratios[:count] = checked_vector(arrays, "ratios", (count,))
        room = np.empty(history.dimension)
        curved = [history._measure(row, room) > 0.0 for row in range(count)]
        if not all(curved) or np.any(history.ratios[:count] <= 0.0):
            raise ModelError("arrays 'steps' and 'changes' are not those of a convex function")
        return history
