"""Bounds of loss-augmented inference by how many labels are right and wrong.

Δ depends on two numbers only, how many true labels and how many others are predicted, a and b. With
prices p and q for them, the best labels of all pairs apart give

    V(p, q) = max over Y of Σ_i s_i(Y_i) + p a(Y) + q b(Y)

so that no Y scores more than V(p, q) − p a(Y) − q b(Y): a cut. With several of them

    U⁺ ≤ max over a, b of Δ(a, b) + min over the cuts

which is exact to the score of a few pairs if there are many. Multipliers that are equal for all
true labels, and for all others, prove no more than the cut of their prices alone, since Δ is not
concave in a. New prices are by turns the slopes of Δ where the bound is attained, and those whose
cut is the lowest there as far as the labels tell that were found before (Kelley 1960).
"""

from dataclasses import dataclass

import numpy as np

from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import as_bytes
from lssvm.kernels import _multivariate, _relation
from lssvm.kernels.relation_arrays import BagArrays

MOST = 4.0  # times the size of the loss that prices are tried up to
_SAME = 1e-9  # prices that differ by a smaller share are equal
ACTIVE = 3  # cuts that meet in a point, at most


@dataclass
class Mixture:
    """A labelling that takes over the labels of another one for some of the pairs.

    labels : (mentions,); owners : (mentions,) the pair of each
    sums : (n, 3) of each pair its scores, its true labels and its others
    """

    labels: np.ndarray
    owners: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, bags: BagArrays, loss: FLoss) -> "Mixture":
        """The labelling as it is."""
        n = len(bags.places) - 1
        owners = np.repeat(np.arange(n), np.diff(bags.places))
        return cls(labels.copy(), owners, _relation.sums(bags, labels, as_bytes(loss.truth)))

    def loss(self, loss: FLoss) -> float:
        """Δ."""
        _, kept, extra = self.sums.sum(axis=0)
        return float(loss.counted(kept, extra))

    def improve(self, other: "Mixture", prices: np.ndarray, loss: FLoss) -> None:
        """Take over another labelling's pairs, as many as is best, by what each gains at prices."""
        changes = other.sums - self.sums
        gains = changes @ np.array([1.0, *prices])
        order = np.argsort(-gains, kind="stable")
        order = order[np.any(changes[order] != 0.0, axis=1)]
        steps = np.cumsum(np.vstack([self.sums.sum(axis=0), changes[order]]), axis=0)
        values = steps[:, 0] + loss.counted(steps[:, 1], steps[:, 2])
        taken = np.zeros(len(gains), dtype=bool)
        taken[order[: int(np.argmax(values))]] = True
        self.labels = np.where(taken[self.owners], other.labels, self.labels)
        self.sums = np.where(taken[:, None], other.sums, self.sums)


@dataclass
class Cuts:
    """What labels with a true and b other ones score at most.

    others, most : how many labels that are not true, and how many in all, the mentions can have
    prices : (2,) of each cut; rows : its numbers as the kernel takes them; points : see ``add``
    """

    loss: FLoss
    others: int
    most: int
    prices: list[np.ndarray]
    rows: list[tuple[float, float, float]]
    points: list[np.ndarray]

    @classmethod
    def none(cls, loss: FLoss, mentions: np.ndarray) -> "Cuts":
        """No cut yet; mentions : (n,) of each pair."""
        count = loss.truth.shape[1]
        false = count - np.count_nonzero(loss.truth, axis=1)
        others, most = np.minimum(mentions, false).sum(), np.minimum(mentions, count).sum()
        return cls(loss, int(others), int(most), [], [], [])

    def gains(self, prices: np.ndarray) -> np.ndarray:
        """What the use of each label adds at these prices, (n, L)."""
        return np.where(self.loss.truth, prices[0], prices[1])

    def add(self, prices: np.ndarray, value: float, point: np.ndarray) -> None:
        """Add the cut of prices at which no labels have more than ``value``.

        point : scores, true labels and others of the labels found at these prices, (3,)
        """
        self.prices.append(prices)
        self.rows.append((value, -float(prices[0]), -float(prices[1])))
        self.points.append(point)

    def highest(self) -> tuple[float, np.ndarray, np.ndarray]:
        """The bound of U⁺, prices for the next cut, and the prices of the cuts it is of, (3, 2)."""
        cuts, loss = np.array(self.rows), self.loss
        kept, extra, bound = _multivariate.highest_counts(
            cuts, loss.positives, self.others, self.most, loss.square, loss.scale
        )
        lowest = np.argsort(cuts @ np.array([1.0, kept, extra]), kind="stable")[:ACTIVE]
        active = np.array([self.prices[k] for k in lowest])
        ways = [lambda: loss.slopes(kept, extra), lambda: self._cheapest(kept, extra)]
        for way in ways if len(self.rows) % 2 else ways[::-1]:
            following = way()
            if not self.known(following):
                break
        return bound, following, active[np.arange(ACTIVE) % len(active)]

    def _cheapest(self, kept: int, extra: int) -> np.ndarray:
        """Prices whose cut is lowest at a point, as far as the labels found so far tell."""
        from scipy.optimize import linprog  # takes longer to import than a short run

        points = np.array(self.points)
        slopes = points[:, 1:] - np.array([kept, extra])
        highest = MOST * float(np.abs(self.corner).max())
        found = linprog(
            [0.0, 0.0, 1.0],
            A_ub=np.column_stack([slopes, -np.ones(len(points))]),
            b_ub=-points[:, 0],
            bounds=[(-highest, 0.0), (0.0, highest), (None, None)],
        )
        return self.corner if found.x is None else np.array(found.x[:2])

    @property
    def corner(self) -> np.ndarray:
        """Prices of the size of the loss: what an error costs on average."""
        return np.array([-1.0, 1.0]) * self.loss.scale / max(1, self.loss.positives)

    def known(self, prices: np.ndarray) -> bool:
        """Whether there is a cut of these prices."""
        scale = _SAME * (1.0 + np.abs(prices).max())
        return any(np.abs(prices - other).max() <= scale for other in self.prices)
