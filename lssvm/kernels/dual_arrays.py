"""Planes kept by example and their multipliers, as the dual steps of ``_sweep`` read them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lssvm.kernels.arrays import INTEGER, LONG, REAL, Arrays


@dataclass(frozen=True, eq=False, repr=False)
class PlaneArrays(Arrays):
    """Sparse rows δ of m planes in an arena with spare room.

    indices, values : (room,) increasing in each row; begins, ends : (m,)

    Places are checked to be inside the arena when they are used, because planes come and go.
    """

    KINDS: ClassVar = {
        "indices": (INTEGER, 1),
        "values": (REAL, 1),
        "begins": (LONG, 1),
        "ends": (LONG, 1),
    }

    indices: np.ndarray
    values: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def check(self) -> None:
        """Refuse rows of other lengths."""
        self.check_length("values", len(self.indices))
        self.check_length("ends", len(self.begins))


@dataclass(frozen=True, eq=False, repr=False)
class SpaceArrays(Arrays):
    """The vector w, the score of each coordinate, and the kernel between rows if there is one.

    w, scores : (d,), the same array without a kernel; gram : (R, R); labels : K
    """

    KINDS: ClassVar = {"w": (REAL, 1), "scores": (REAL, 1), "gram": (REAL, 2)}

    w: np.ndarray
    scores: np.ndarray
    gram: np.ndarray
    labels: int

    def check(self) -> None:
        """Refuse a kernel of more unit vectors than there are weights."""
        self.check_length("scores", len(self.w))
        rows, columns = self.gram.shape
        if rows != columns or len(self.w) == 0 or rows * self.labels > len(self.w):
            self.refuse(f"a kernel {rows} x {columns} x {self.labels} for {len(self.w)} weights")


@dataclass(frozen=True, eq=False, repr=False)
class DualArrays(Arrays):
    """Planes by example, with their multipliers.

    losses, squares, alpha : (m,) L, ‖δ‖² and α
    slots, counts : (n, most) and (n,), the planes of each example
    limits, gaps : (n,) u and the possible gain of a step
    """

    KINDS: ClassVar = {
        "losses": (REAL, 1),
        "squares": (REAL, 1),
        "alpha": (REAL, 1),
        "slots": (INTEGER, 2),
        "counts": (INTEGER, 1),
        "limits": (REAL, 1),
        "gaps": (REAL, 1),
    }

    planes: PlaneArrays
    space: SpaceArrays
    losses: np.ndarray
    squares: np.ndarray
    alpha: np.ndarray
    slots: np.ndarray
    counts: np.ndarray
    limits: np.ndarray
    gaps: np.ndarray

    def check(self) -> None:
        """Refuse arrays of other numbers of planes or examples."""
        for name in ("losses", "squares", "alpha"):
            self.check_length(name, len(self.planes.begins))
        for name in ("counts", "limits", "gaps"):
            self.check_length(name, len(self.slots))
