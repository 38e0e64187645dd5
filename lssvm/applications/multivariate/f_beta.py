"""1 − F over a whole data set, and the labels for which it and their prices are highest.

    1 − F = (β² FN + FP) / ((1 + β²) TP + β² FN + FP)

with true and false positives and false negatives counted over all pairs and relations together, or
for each relation apart. Without true and without predicted labels F is 1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lssvm.kernels import _relation


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
        axis = 0 if self.macro else None
        hits = np.sum(self.truth & chosen, axis=axis)
        missed = np.sum(self.truth & ~chosen, axis=axis)
        errors = self.square * missed + np.sum(chosen & ~self.truth, axis=axis)
        whole = (1.0 + self.square) * hits + errors
        shares = np.divide(errors, whole, out=np.zeros(np.shape(whole)), where=whole > 0.0)
        if not self.macro:
            return self.scale * float(shares)
        counted = np.any(self.truth, axis=0)
        return self.scale * float(shares[counted].mean()) if counted.any() else 0.0

    def worst(self, prices: np.ndarray) -> tuple[np.ndarray, float]:
        """The labels (n, L) bool for which loss and prices (n, L) add up to most; their sum.

        Exact. Ties go to more true labels, then to fewer others; of equal prices the first ones.
        """
        if not self.macro:
            chosen, value = self._worst(self.truth.ravel(), prices.ravel(), self.scale)
            return chosen.reshape(prices.shape), value
        counted = np.count_nonzero(np.any(self.truth, axis=0))
        chosen, total = np.zeros(prices.shape, dtype=bool), 0.0
        for label in range(prices.shape[1]):
            truth = np.ascontiguousarray(self.truth[:, label])
            scale = self.scale / counted if truth.any() else 0.0
            own = np.ascontiguousarray(prices[:, label])
            chosen[:, label], value = self._worst(truth, own, scale)
            total += value
        return chosen, total

    def _worst(
        self, truth: np.ndarray, prices: np.ndarray, scale: float
    ) -> tuple[np.ndarray, float]:
        other = ~truth
        priced = other & (prices != 0.0)
        right, wrong = np.sort(prices[truth])[::-1], np.sort(prices[priced])[::-1]
        zeros = int(np.count_nonzero(other)) - len(wrong)
        kept, extra, value = _relation.highest_loss(
            np.ascontiguousarray(right), np.ascontiguousarray(wrong), zeros, self.square, scale
        )
        chosen = _highest(prices, truth, kept) | _highest(prices, other, extra)
        return chosen, value


def _highest(prices: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` highest of prices (m,) among some of them, as (m,) bool."""
    own = prices[among]
    if count == 0 or count == len(own):
        return among & (count > 0)
    limit = np.partition(own, len(own) - count)[len(own) - count]
    found = among & (prices > limit)
    ties = np.flatnonzero(among & (prices == limit))
    found[ties[: count - int(np.count_nonzero(found))]] = True
    return found
