"""All outputs that are kept, as conjugate gradients take planes; see ``conjugate_gradients``."""

from typing import Any

import numpy as np

from lssvm.kernels import _dual_coordinate
from lssvm.offsets import cumulated
from lssvm.solvers.example_planes import ExamplePlanes


class KeptOutputs:
    """The m planes of ``ExamplePlanes`` side by side, at one w.

    kernel : the oracle by example; truth : see ``ExamplePlanes``
    w : (size,) as the kernel keeps weights, that of the planes; alpha, losses, owner : (m,)
    gram, labels : there is no kernel
    """

    gram = np.zeros((0, 0))
    labels = 0

    def __init__(self, kernel: Any, planes: ExamplePlanes) -> None:
        self._kernel, self._planes = kernel, planes
        self._places = planes.planes()
        self.limits, self.norm, self.w = planes.limits, planes.norm, planes.w
        self.alpha = planes.alpha[self._places]
        self.losses = planes.losses[self._places]
        n = len(planes.counts)
        self.owner = np.repeat(np.arange(n), planes.counts)
        self._first = cumulated(planes.counts)[:-1]
        self._every = np.arange(n, dtype=np.int32)
        self._asked, self._examples = self._places, self._every

    def column(self, name: str) -> np.ndarray:
        """``squares``, an upper bound of ‖δ‖² that serves for all planes, (m,)."""
        scale = self.losses.max(initial=1.0) ** 2 if self._planes.slack else 1.0
        return np.full(len(self.alpha), 4.0 * scale * self._kernel.square)

    def kernel_scores(self) -> np.ndarray:
        """w itself."""
        return self.w

    def sums(self) -> np.ndarray:
        """Σ α of each example, (n,)."""
        return np.bincount(self.owner, self.alpha, minlength=len(self.limits))

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) over u_i; 0 where an example costs nothing."""
        return np.divide(values, self.limits, out=np.zeros(len(values)), where=self.limits > 0.0)

    def dots(self, planes: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """δ · vector of some planes, (len(planes),)."""
        out = np.empty(len(self.alpha))
        own, truth, examples = self._planes, self._planes.truth, self._examples_of(planes)
        _dual_coordinate.dots(self._kernel.capsule, own, truth, vector, examples, self._first, out)
        return out[planes]

    def combined(self, planes: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Σ coefficients δ over some planes, (size,)."""
        every = np.zeros(len(self.alpha))
        every[planes] = coefficients
        out = np.zeros_like(self.w)
        self._add(every, self._examples_of(planes), out)
        return out

    def _add(self, coefficients: np.ndarray, examples: np.ndarray, w: np.ndarray) -> None:
        own = self._planes
        _dual_coordinate.combine(
            self._kernel.capsule, own, own.truth, coefficients, examples, self._first, w
        )

    def _examples_of(self, planes: np.ndarray) -> np.ndarray:
        """Those that some planes are of; the same planes are asked for again and again."""
        if planes is not self._asked:
            self._asked, self._examples = planes, np.unique(self.owner[planes]).astype(np.int32)
        return self._examples

    def dual(self) -> tuple[float, np.ndarray]:
        """D, from the multipliers alone: w is computed anew. Returns w, (d,), too."""
        self.refresh()
        w = self._kernel.unload(self.w)
        value = float(self.alpha @ self.losses) - 0.5 * float(w @ w)
        if self.norm == 2:
            value -= 0.5 * float(np.sum(self.shares(self.sums() ** 2)))
        return value, w

    def refresh(self) -> None:
        """Keep the multipliers, and compute w anew from them."""
        self._planes.alpha[self._places] = self.alpha
        self.w.fill(0.0)
        self._add(-self.alpha, self._every, self.w)
