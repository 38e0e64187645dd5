"""Stacks of planes for problems with many weights.

The planes of a sum differ from the completion in the features of the examples that are predicted
wrongly, which become few near the optimum. A long stack therefore stores each gradient as its
difference from one origin, the first completion, with only the coordinates that differ where that
takes less memory. Every row has memory of its own, so nothing is copied when a row is added.
"""

from typing import NamedTuple

import numpy as np

from lssvm.checked import Arrays, array, vector
from lssvm.errors import ModelError
from lssvm.plane import Plane, Planes, inner_difference, pieces
from lssvm.solvers.kept import State

LONG = 2**16  # weights from which a stack is long
DENSE = -1  # stands for the number of coordinates of a row that stores all of them


class Row(NamedTuple):
    """The difference of a gradient from the origin.

    indices : (m,) int32, increasing, the coordinates that differ; None if ``values`` has all d
    values : (m,) or (d,) float64
    """

    indices: np.ndarray | None
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.values.nbytes + (0 if self.indices is None else self.indices.nbytes)

    def dot(self, vector: np.ndarray) -> float:
        """The inner product with a vector (d,)."""
        return float(self.values @ (vector if self.indices is None else vector[self.indices]))

    def add_to(self, vector: np.ndarray, factor: float) -> None:
        """Add ``factor`` times the row to a vector (d,), in place."""
        if self.indices is None:
            vector += factor * self.values
        else:
            vector[self.indices] += factor * self.values

    def part(self, piece: slice) -> "Row":
        """The coordinates of a piece, counted from its start."""
        if self.indices is None:
            return Row(None, self.values[piece])
        own = slice(*np.searchsorted(self.indices, [piece.start, piece.stop]).tolist())
        return Row(self.indices[own] - np.int32(piece.start), self.values[own])


def row_of(difference: np.ndarray) -> Row:
    """The row that stores a difference (d,) in the smaller of the two forms."""
    indices = np.flatnonzero(difference != 0.0)  # much faster than of numbers
    if len(indices) * (np.dtype(np.int32).itemsize + 8) < difference.nbytes:
        return Row(indices.astype(np.int32), difference[indices])
    return Row(None, difference)


class LongPlanes:
    """A stack of planes with the methods of :class:`Planes`, stored as the module describes.

    origin : (d,) the gradient that differences are measured from
    """

    def __init__(self, origin: np.ndarray) -> None:
        self.origin = origin
        self._rows: list[Row] = []
        self._losses: list[float] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def losses(self) -> np.ndarray:
        """The loss parts, (count,)."""
        return np.array(self._losses, dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self.origin.nbytes + sum(row.nbytes for row in self._rows) + 8 * len(self)

    def append(self, plane: Plane) -> None:
        """Add one plane as the last row."""
        self._rows.append(row_of(plane.gradient - self.origin))
        self._losses.append(plane.loss)

    def keep(self, rows: np.ndarray) -> None:
        """Drop every row that is not in ``rows`` (increasing indices)."""
        self._rows = [self._rows[row] for row in rows.tolist()]
        self._losses = [self._losses[row] for row in rows.tolist()]

    def plane(self, row: int) -> Plane:
        """One plane, a copy."""
        gradient = self.origin.copy()
        self._rows[row].add_to(gradient, 1.0)
        return Plane(gradient, self._losses[row])

    def above(self, row: int, other: Plane, w: np.ndarray) -> float:
        """The difference between one plane and another one at w, without memory for the plane."""
        found = 0.0
        for piece in pieces(len(w)):
            gradient = self.origin[piece].copy()
            self._rows[row].part(piece).add_to(gradient, 1.0)
            found += float((gradient - other.gradient[piece]) @ w[piece])
        return self._losses[row] - other.loss + found

    def dots(self, vector: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """gradient · vector for every row, or for some of them, (count,)."""
        chosen = range(len(self)) if rows is None else rows.tolist()
        own = [self._rows[row].dot(vector) for row in chosen]
        return float(self.origin @ vector) + np.array(own, dtype=np.float64)

    def dots_above(self, origin: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(gradient − origin) · vector for every row, (count,)."""
        own = np.array([row.dot(vector) for row in self._rows], dtype=np.float64)
        return own + inner_difference(self.origin, origin, vector)

    def gram(self, origin: np.ndarray) -> np.ndarray:
        """Inner products of the gradients' differences from ``origin``, (count, count)."""
        found = np.zeros((len(self), len(self)))
        shift = self.origin - origin
        for i, row in enumerate(self._rows):
            difference = shift.copy()
            row.add_to(difference, 1.0)
            common = float(shift @ difference)
            products = [common + other.dot(difference) for other in self._rows[: i + 1]]
            found[i, : i + 1] = found[: i + 1, i] = products
        return found

    def combine(self, coefficients: np.ndarray) -> Plane:
        """The linear combination Σ_j coefficients_j plane_j."""
        gradient = float(coefficients.sum()) * self.origin
        for row, factor in zip(self._rows, coefficients.tolist(), strict=True):
            if factor:
                row.add_to(gradient, factor)
        return Plane(gradient, float(coefficients @ self.losses))

    def state(self) -> dict[str, np.ndarray]:
        """Everything that is stored, as arrays."""
        sizes = [DENSE if row.indices is None else len(row.values) for row in self._rows]
        indices = [row.indices for row in self._rows if row.indices is not None]
        return {
            "origin": self.origin,
            "row_sizes": np.array(sizes, dtype=np.int64),
            "indices": np.concatenate([np.zeros(0, dtype=np.int32), *indices]),
            "gradients": np.concatenate([np.zeros(0), *(row.values for row in self._rows)]),
            "losses": self.losses,
        }

    @classmethod
    def restored(cls, arrays: Arrays, dimension: int) -> "LongPlanes":
        """The stack whose ``state`` these arrays are. Raises ModelError."""
        stack = cls(vector(arrays, "origin", (dimension,)))
        losses = vector(arrays, "losses", (None,))
        sizes = array(
            arrays, "row_sizes", np.int64, (len(losses),), least=DENSE, most=dimension
        ).tolist()
        indices = array(arrays, "indices", np.int32, (None,), least=0, most=dimension - 1)
        values = vector(arrays, "gradients", (None,))
        lengths = [dimension if size == DENSE else size for size in sizes]
        if sum(lengths) != len(values) or sum(max(0, size) for size in sizes) != len(indices):
            raise ModelError("array 'row_sizes' does not fit 'indices' and 'gradients'")
        place = first = 0
        for size, length, loss in zip(sizes, lengths, losses.tolist(), strict=True):
            own = None if size == DENSE else indices[first : first + size].copy()
            if own is not None and np.any(np.diff(own) <= 0):
                raise ModelError("array 'indices' does not rise within a row")
            stack._rows.append(Row(own, values[place : place + length].copy()))
            stack._losses.append(loss)
            place, first = place + length, first + max(0, size)
        return stack


def new_stack(origin: np.ndarray) -> Planes | LongPlanes:
    """An empty stack of planes with as many weights as ``origin``, (d,)."""
    return LongPlanes(origin) if len(origin) >= LONG else Planes(len(origin))


def saved(stack: Planes | LongPlanes) -> State:
    """The stack as arrays."""
    if isinstance(stack, LongPlanes):
        return {}, stack.state()
    return {}, {"gradients": stack.gradients, "losses": stack.losses}


def restored(arrays: Arrays, dimension: int) -> Planes | LongPlanes:
    """The stack of planes with d weights that was saved. Raises ModelError."""
    if dimension >= LONG:
        return LongPlanes.restored(arrays, dimension)
    losses = vector(arrays, "losses", (None,))
    gradients = vector(arrays, "gradients", (len(losses), dimension))
    stack = Planes(dimension)
    for gradient, loss in zip(gradients, losses, strict=True):
        stack.append(Plane(gradient, float(loss)))
    return stack
