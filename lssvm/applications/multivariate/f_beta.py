"""1 − F over a whole data set, and the labels for which it and their prices are highest.

    1 − F = (β² FN + FP) / ((1 + β²) TP + β² FN + FP)

with true and false positives and false negatives counted over all pairs and relations together, or
for each relation apart. Without true and without predicted labels F is 1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lssvm.applications.multivariate.labelling import as_bytes
from lssvm.kernels import _multivariate


@dataclass(frozen=True)
class FLoss:
    """scale (1 − F) of n pairs and L relations.

    truth : (n, L) bool
    square : β²; macro : whether F is the mean over the relations that some pair has
    """

    truth: np.ndarray
    square: float
    macro: bool

    @property
    def scale(self) -> float:
        """The highest loss: the number of pairs."""
        return float(len(self.truth))

    @cached_property
    def positives(self) -> int:
        """The number of true labels."""
        return int(np.count_nonzero(self.truth))

    @cached_property
    def scales(self) -> np.ndarray:
        """What 1 − F of each kind counts: of each label, or of all of them together."""
        if not self.macro:
            return np.array([self.scale])
        some = self.truth.any(axis=0)
        return np.where(some, self.scale / max(1, int(np.count_nonzero(some))), 0.0)

    def slopes(self, kept: int, extra: int) -> np.ndarray:
        """By how much the micro loss changes for one more true and one more other label, (2,)."""
        missed = self.positives - kept
        errors = self.square * missed + extra
        whole = (1.0 + self.square) * kept + errors
        if whole == 0.0:
            return np.array([0.0, self.scale])
        right = (self.square * whole + errors) / whole**2
        wrong = (whole - errors) / whole**2
        return np.array([-self.scale * right, self.scale * wrong])

    def counted(self, kept: Any, extra: Any) -> Any:
        """The micro loss of so many true and so many other labels, numbers or arrays."""
        errors = self.square * (self.positives - kept) + extra
        whole = (1.0 + self.square) * kept + errors
        return self.scale * np.where(whole > 0.0, errors / np.maximum(whole, 1e-300), 0.0)

    def value(self, chosen: np.ndarray) -> float:
        """The loss of labels (n, L) bool."""
        if not self.macro:
            kept = np.count_nonzero(self.truth & chosen)
            return float(self.counted(kept, np.count_nonzero(chosen) - kept))
        hits, found = _multivariate.counts(as_bytes(chosen), as_bytes(self.truth))
        errors = self.square * (self.counts - hits) + (found - hits)
        whole = (1.0 + self.square) * hits + errors
        shares = np.divide(errors, whole, out=np.zeros(len(whole)), where=whole > 0.0)
        some = self.counts > 0
        return self.scale * float(shares[some].mean()) if some.any() else 0.0

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of true labels of each kind, (L,)."""
        return _multivariate.counts(as_bytes(self.truth), as_bytes(self.truth))[0]

    def worst(self, prices: np.ndarray) -> tuple[np.ndarray, float]:
        """The labels (n, L) bool for which loss and prices (n, L) add up to most; their sum.

        Exact. Ties go to more true labels, then to fewer others; of equal prices the first ones.
        """
        kinds = prices.shape[1] if self.macro else 1
        own = np.ascontiguousarray(prices).reshape(-1, kinds)
        truth = as_bytes(self.truth).reshape(-1, kinds)
        values, ends, begins = _multivariate.split(own, truth)
        for row, end, begin in zip(values, ends.tolist(), begins.tolist(), strict=True):
            row[:end].sort()
            row[begin:].sort()
        chosen, total = _multivariate.worst(
            own, truth, values, ends, begins, self.square, self.scales
        )
        return chosen.view(bool).reshape(prices.shape), total
