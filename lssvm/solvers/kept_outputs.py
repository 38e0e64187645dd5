"""The planes of ``ExamplePlanes`` in the form that ``conjugate_gradients.climb`` needs."""

from typing import Any

import numpy as np

from lssvm.kernels import _dual_coordinate
from lssvm.offsets import cumulated
from lssvm.solvers.example_planes import ExamplePlanes


class KeptOutputs:
    """All m planes δ of ``ExamplePlanes``, in the order of their examples.

    limits, norm : as in ``ExamplePlanes``; w : (size,) its w, shared, in the kernel's own layout
    alpha, losses : (m,) the multiplier and the loss of each plane
    owner : (m,) the example of each plane
    gram, labels : empty and 0, because there is no kernel function
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
        """The column ``squares``: one upper bound of ‖δ‖² for all planes, repeated, (m,)."""
        scale = self.losses.max(initial=1.0) ** 2 if self._planes.slack else 1.0
        return np.full(len(self.alpha), 4.0 * scale * self._kernel.square)

    def kernel_scores(self) -> np.ndarray:
        """The vector w itself, because there is no kernel function."""
        return self.w

    def sums(self) -> np.ndarray:
        """The sum of the multipliers of each example, (n,)."""
        return np.bincount(self.owner, self.alpha, minlength=len(self.limits))

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) divided by u_i; 0 where u_i is 0."""
        return np.divide(values, self.limits, out=np.zeros(len(values)), where=self.limits > 0.0)

    def dots(self, planes: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The products δ · vector for the given planes, (len(planes),)."""
        out = np.empty(len(self.alpha))
        own, truth, examples = self._planes, self._planes.truth, self._examples_of(planes)
        _dual_coordinate.dots(self._kernel.capsule, own, truth, vector, examples, self._first, out)
        return out[planes]

    def combined(self, planes: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The sum of coefficients times δ over the given planes, (size,)."""
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
        """The examples of the given planes, remembered: calls in a row ask for the same planes."""
        if planes is not self._asked:
            self._asked, self._examples = planes, np.unique(self.owner[planes]).astype(np.int32)
        return self._examples

    def dual(self) -> tuple[float, np.ndarray]:
        """The dual value D, and the w (d,) that is first recomputed from the multipliers."""
        self.refresh()
        w = self._kernel.unload(self.w)
        return self.value(w), w

    def value(self, w: np.ndarray) -> float:
        """The dual value D of the multipliers, if w is the weights that they give."""
        value = float(self.alpha @ self.losses) - 0.5 * float(w @ w)
        if self.norm == 2:
            value -= 0.5 * float(np.sum(self.shares(self.sums() ** 2)))
        return value

    def refresh(self) -> None:
        """Write the multipliers back to the planes, and recompute w from them."""
        self._planes.alpha[self._places] = self.alpha
        self.w.fill(0.0)
        self._add(-self.alpha, self._every, self.w)
