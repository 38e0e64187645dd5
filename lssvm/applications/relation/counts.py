"""Loss-augmented inference for F_β over all pairs together, by prices of the two kinds of errors.

The loss Δ depends only on k false negatives and m false positives. With prices a and b of them,

    V(a, b) = max over Y of Σ_i s_i(Y_i) + a k(Y) + b m(Y)

is a maximum for each pair alone: a true relation that is used costs a, another one gains b. So no
labelling with k and m errors has a score above V(a, b) − a k − b m, and

    U⁺ ≤ max over k and m of Δ(k, m) + min over the prices asked so far of V(a, b) − a k − b m

For each k the sum is concave in m, because Δ is, so that bisection finds the highest one. The
prices asked next are those that may lower the bound at the k and m where it is attained: V is known
from below as well, by the labellings found so far, and the lowest point of a linear program in a
and b says where. Every labelling found is a lower bound of U⁺.

There are n L multipliers in the decomposition by labels, but two here, for which a minimum is found
in few steps. And as the maximum over k and m stands outside of the minimum over prices, it does not
matter that Δ is not concave in k. The bounds differ by what one pair can change, about.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lssvm.applications.relation.decomposition import Bounds, Limits
from lssvm.applications.relation.f_beta import FLoss
from lssvm.applications.relation.inference import Labelling
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.problem import Each

CARRIED = 4  # prices that one pass hands on to the next
CLOSE = 1e-5  # bounds that differ by a smaller share of the highest loss end the search
_FAR = 10.0  # prices are at most so many times as high as Δ is steep


@dataclass
class Answers:
    """What was asked: prices (a, b), V there, and errors k and m and score of the labelling."""

    rows: list[tuple[float, float, float, float, float, float]] = field(default_factory=list)

    @property
    def table(self) -> np.ndarray:
        """One row for each answer, (t, 6)."""
        return np.array(self.rows)

    def has(self, a: float, b: float) -> bool:
        """Whether these prices were asked."""
        return any((a, b) == row[:2] for row in self.rows)

    def next_prices(self, k: int, m: int, most: float) -> tuple[float, float, float]:
        """Prices from 0 to ``most`` with the lowest V(a, b) − a k − b m that is possible so far.

        The third number is that lowest value; below it, no prices can be.
        """
        from scipy.optimize import linprog  # takes longer to import than a short run

        table = self.table
        bounds = np.column_stack([table[:, 3] - k, table[:, 4] - m, -np.ones(len(table))])
        found = linprog(
            [0.0, 0.0, 1.0],
            A_ub=bounds,
            b_ub=-table[:, 5],
            bounds=[(0.0, most), (0.0, most), (None, None)],
        )
        if not found.success:
            return 0.0, 0.0, np.inf
        return float(found.x[0]), float(found.x[1]), float(found.fun)


@dataclass(frozen=True)
class Errors:
    """The loss of k false negatives and m false positives: n (1 − F_β).

    true : relations that pairs have, at least one; most : false positives, at most
    """

    scale: float
    square: float
    true: int
    most: int

    def loss(self, k: Any, m: Any) -> Any:
        """Δ(k, m)."""
        errors = self.square * k + m
        return self.scale * errors / ((1.0 + self.square) * (self.true - k) + errors)

    def slopes(self, k: float, m: float) -> tuple[float, float]:
        """By how much Δ grows with k and with m there."""
        hits = self.true - k
        whole = (1.0 + self.square) * self.true - k + m
        steep = self.scale * (1.0 + self.square) / whole**2
        return steep * (whole - hits), steep * hits

    @property
    def steepest(self) -> float:
        """Slopes are at most as high."""
        return self.scale * (1.0 + self.square) / (min(1.0, self.square) * self.true)

    def highest(self, answers: Answers) -> tuple[float, int, int]:
        """The bound of U⁺, and the k and m where it is attained; the first k of equal ones."""
        table = answers.table
        k = np.arange(self.true + 1)
        base = table[:, 2, None] - table[:, 0, None] * k

        def bound(m: np.ndarray) -> np.ndarray:
            return self.loss(k, m) + np.min(base - table[:, 1, None] * m, axis=0)

        low, high = np.zeros(len(k), dtype=np.int64), np.full(len(k), self.most)
        while np.any(low < high):
            middle = (low + high) // 2
            rises = bound(middle + 1) > bound(middle)
            low = np.where(rises & (low < high), middle + 1, low)
            high = np.maximum(low, np.where(rises, high, middle))
        values = bound(low)
        best = int(np.argmax(values))
        return float(values[best]), best, int(low[best])


def counted(
    bags: BagArrays,
    loss: FLoss,
    truth: Labelling,
    carried: np.ndarray,
    limits: Limits,
    each: Each,
) -> Bounds:
    """Bounds of U⁺, without costs. Some pair has a relation, and F is of all together.

    truth : the best labelling with the true relations; carried : (CARRIED, 2), prices to begin with
    """
    wrong = ~loss.truth
    mentions = int(bags.places[-1] - bags.places[0])
    most = min(int(np.count_nonzero(wrong)), mentions)
    errors = Errors(loss.scale, loss.square, int(np.count_nonzero(loss.truth)), most)
    every, model, answers = np.arange(len(loss.truth)), Labelling.empty(bags), Answers()
    found = Bounds(truth.labels, 0.0, float(truth.values.sum()), np.inf, carried)

    def ask(a: float, b: float) -> None:
        gains = np.where(loss.truth, -a, b)
        model.improve(bags, gains, every, limits.label_sets, each)
        used = model.used(bags)
        k = float(np.count_nonzero(loss.truth & ~used))
        m = float(np.count_nonzero(wrong & used))
        # The score of the labels, not the rounded rest of V without their prices.
        score = float(bags.scores[np.arange(len(model.labels)), model.labels].sum())
        value = float(model.values.sum()) + float(model.excess.sum()) + a * errors.true
        answers.rows.append((a, b, max(value, score + a * k + b * m), k, m, score))
        found.offer(model.labels, loss.value(used), score)

    begun = carried[np.any(carried != 0.0, axis=1)].tolist()
    half = errors.true / 2.0
    for a, b in begun or [errors.slopes(0.0, 0.0), errors.slopes(half, half)]:
        if not answers.has(a, b):
            ask(a, b)
    while True:
        found.upper, k, m = errors.highest(answers)
        close = CLOSE * loss.scale
        if found.upper - found.value <= close or len(answers.rows) > limits.iterations:
            break
        a, b, lowest = answers.next_prices(k, m, _FAR * errors.steepest)
        if found.upper - float(errors.loss(k, m)) - lowest <= close or answers.has(a, b):
            break  # no prices lower the bound any more
        ask(a, b)
    found.upper = max(found.upper, found.value)  # below it by rounding alone
    found.multipliers = _kept(answers, k, m)
    return found


def _kept(answers: Answers, k: int, m: int) -> np.ndarray:
    """The prices with the lowest bounds of a labelling with k and m errors, (CARRIED, 2)."""
    table = answers.table
    order = np.argsort(table[:, 2] - table[:, 0] * k - table[:, 1] * m, kind="stable")[:CARRIED]
    kept = np.zeros((CARRIED, 2))
    kept[: len(order)] = table[np.sort(order), :2]
    return kept
