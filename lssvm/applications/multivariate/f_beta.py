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

    @cached_property
    def places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where labels are true and where not: of each one, or of all of them together."""
        kinds = self.truth.T if self.macro else [self.truth.ravel()]
        return [(np.flatnonzero(own), np.flatnonzero(~own)) for own in kinds]

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of true labels of each kind, (L,)."""
        return counted(self.truth)

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
        hits = counted(self.truth & chosen)
        errors = self.square * (self.counts - hits) + (counted(chosen) - hits)
        whole = (1.0 + self.square) * hits + errors
        shares = np.divide(errors, whole, out=np.zeros(len(whole)), where=whole > 0.0)
        some = self.counts > 0
        return self.scale * float(shares[some].mean()) if some.any() else 0.0

    def worst(self, prices: np.ndarray) -> tuple[np.ndarray, float]:
        """The labels (n, L) bool for which loss and prices (n, L) add up to most; their sum.

        Exact. Ties go to more true labels, then to fewer others; of equal prices the first ones.
        """
        kinds = np.ascontiguousarray(prices.T) if self.macro else [prices.ravel()]
        some = max(1, int(np.count_nonzero(self.counts))) if self.macro else 1
        chosen, total = np.zeros((len(kinds), len(kinds[0])), dtype=bool), 0.0
        for (true, other), own, found in zip(self.places, kinds, chosen, strict=True):
            scale = self.scale / some if len(true) or not self.macro else 0.0
            right, wrong = own[true], own[other]
            kept, extra, value = self._numbers(right, wrong, scale)
            found[true], found[other] = _highest(right, kept), _highest(wrong, extra)
            total += value
        if self.macro:
            return np.ascontiguousarray(chosen.T), total
        return chosen.reshape(prices.shape), total

    def _numbers(
        self, right: np.ndarray, wrong: np.ndarray, scale: float
    ) -> tuple[int, int, float]:
        """How many true and how many other labels are best at their prices, and the value."""
        priced = np.sort(wrong[wrong != 0.0])[::-1]
        return _relation.highest_loss(
            np.ascontiguousarray(np.sort(right)[::-1]),
            np.ascontiguousarray(priced),
            len(wrong) - len(priced),
            self.square,
            scale,
        )


def counted(chosen: np.ndarray) -> np.ndarray:
    """How many rows of (n, L) bool have each label, (L,)."""
    return np.ones(len(chosen)) @ chosen  # exact, and many times as fast as a sum of bool


def _highest(prices: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` highest of prices (m,), as (m,) bool; of equal ones the first."""
    if count == 0 or count == len(prices):
        return np.full(len(prices), count > 0)
    limit = np.partition(prices, len(prices) - count)[len(prices) - count]
    found = prices > limit
    ties = np.flatnonzero(prices == limit)
    found[ties[: count - int(np.count_nonzero(found))]] = True
    return found
