"""Planes: values and subgradients of a convex function, with the loss kept apart.

A plane of the sum over examples of c_i U⁺_i bounds it from below everywhere:
``sum >= loss + w · gradient``, with equality at the w where it was made. Planes of
parts of a data set add up, so the parts may live in other threads or processes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

MEGABYTE = 1_000_000  # bytes
_PIECE = 2**16  # coordinates of a difference that are in memory at a time


def inner_difference(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    """(a − b) · w, all (d,), without memory for a − b if d is large."""
    return float(sum(float((a[own] - b[own]) @ w[own]) for own in pieces(len(w))))


def pieces(dimension: int) -> list[slice]:
    """The coordinates in pieces that are short enough to stay in the processor's cache."""
    return [slice(k, min(k + _PIECE, dimension)) for k in range(0, dimension, _PIECE)]


@dataclass(frozen=True)
class Plane:
    """The function w -> loss + w · gradient.

    gradient : (d,) float64, the summed joint features of the outputs that were found
    loss : their summed loss (for soft inference: expected loss plus entropy)
    """

    gradient: np.ndarray
    loss: float

    def value(self, w: np.ndarray) -> float:
        """The plane at w."""
        return self.loss + float(self.gradient @ w)

    def above(self, other: "Plane", w: np.ndarray) -> float:
        """The difference between this plane and another one at w.

        The difference of the gradients is taken first: the values themselves may be much larger.
        """
        return self.loss - other.loss + inner_difference(self.gradient, other.gradient, w)

    def size(self, w: np.ndarray) -> float:
        """The size of what ``value`` at w sums up: its rounding is a small share of it."""
        return abs(self.loss) + float(np.abs(self.gradient) @ np.abs(w))

    def __add__(self, other: "Plane") -> "Plane":
        return Plane(self.gradient + other.gradient, self.loss + other.loss)

    def __sub__(self, other: "Plane") -> "Plane":
        return Plane(self.gradient - other.gradient, self.loss - other.loss)

    def writable(self) -> "Plane":
        """The plane with a gradient that may be overwritten, which that of a message may not."""
        return Plane(np.require(self.gradient, requirements="W"), self.loss)

    @property
    def nbytes(self) -> int:
        """Memory of the gradient in bytes."""
        return self.gradient.nbytes


class Total:
    """A sum of planes, added one after another; a single one is not copied."""

    def __init__(self) -> None:
        self._gradient: np.ndarray = np.empty(0)
        self._loss, self._count = 0.0, 0

    def add(self, plane: Plane) -> None:
        """Add a plane."""
        if self._count == 0:
            self._gradient, self._loss = np.asarray(plane.gradient, dtype=np.float64), plane.loss
        else:
            out = self._gradient if self._count > 1 else np.empty_like(self._gradient)
            self._gradient = np.add(self._gradient, plane.gradient, out=out)
            self._loss += plane.loss
        self._count += 1

    @property
    def plane(self) -> Plane:
        """The sum."""
        return Plane(self._gradient, self._loss)


def total(planes: Iterable[Plane]) -> Plane:
    """The sum of the planes, added in the order given: the same to the last bit each time."""
    found = Total()
    for plane in planes:
        found.add(plane)
    return found.plane


class Planes:
    """A growing stack of planes, one row each.

    If there are many weights, ``lssvm.solvers.long_planes`` has a sparse stack in its place.
    """

    def __init__(self, dimension: int) -> None:
        self._gradients = np.empty((0, dimension))
        self._losses = np.empty(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def gradients(self) -> np.ndarray:
        """The gradients, (count, d)."""
        return self._gradients[: self._count]

    @property
    def losses(self) -> np.ndarray:
        """The loss parts, (count,)."""
        return self._losses[: self._count]

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes, room for planes to come included."""
        return self._gradients.nbytes + self._losses.nbytes

    def append(self, plane: Plane) -> None:
        """Add one plane as the last row."""
        if self._count == len(self._losses):
            room = max(16, 2 * self._count)
            self._gradients = _enlarged(self._gradients, room)
            self._losses = _enlarged(self._losses, room)
        self._gradients[self._count] = plane.gradient
        self._losses[self._count] = plane.loss
        self._count += 1

    def keep(self, rows: np.ndarray) -> None:
        """Drop every row that is not in ``rows`` (increasing indices)."""
        self._gradients[: len(rows)] = self._gradients[rows]
        self._losses[: len(rows)] = self._losses[rows]
        self._count = len(rows)

    def plane(self, row: int) -> Plane:
        """One plane; its gradient is a view."""
        return Plane(self.gradients[row], float(self.losses[row]))

    def above(self, row: int, other: Plane, w: np.ndarray) -> float:
        """The difference between one plane and another one at w, as :meth:`Plane.above` has it."""
        return self.plane(row).above(other, w)

    def dots(self, vector: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """gradient · vector for every row, or for some of them, (count,)."""
        return (self.gradients if rows is None else self.gradients[rows]) @ vector

    def dots_above(self, origin: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """(gradient − origin) · vector for every row, (count,)."""
        return self.dots(vector) - float(origin @ vector)

    def gram(self, origin: np.ndarray) -> np.ndarray:
        """Inner products of the gradients' differences from ``origin``, (count, count)."""
        found = np.zeros((self._count, self._count))
        for own in pieces(len(origin)):
            differences = self.gradients[:, own] - origin[own]
            found += differences @ differences.T
        return found

    def combine(self, coefficients: np.ndarray) -> Plane:
        """The linear combination Σ_j coefficients_j plane_j."""
        return Plane(coefficients @ self.gradients, float(coefficients @ self.losses))


def _enlarged(array: np.ndarray, room: int) -> np.ndarray:
    larger = np.empty((room, *array.shape[1:]))
    larger[: len(array)] = array
    return larger
