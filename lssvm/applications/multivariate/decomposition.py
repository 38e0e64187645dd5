"""Loss-augmented inference for a loss over the whole data set, by dual decomposition.

    U⁺ = max over Y of Δ(Y) + Σ_i s_i(Y_i),   s_i(Y_i) = max over h with the relations Y_i of w · Φ

By pairs: two copies of Y are joined by multipliers λ, one for each pair i and relation l (Haffari,
Nagesh & Ramakrishnan, NAACL 2015, equations 13 to 15):

    L(λ) = max over Y' of Δ(Y') + λ · Y'  +  Σ_i max over Y_i'' of s_i(Y_i'') − λ_i · Y_i''

Both maxima are exact, so that L(λ) ≥ U⁺ for every λ. Subgradient steps λ ← λ − η_t (Y' − Y'') lower
it. Where the copies agree they attain U⁺. The labels of either copy give a lower bound, if each
pair has enough mentions for them; so do the true labels.

By counts: only the numbers of right and wrong labels of both copies are joined, see ``counts``.
This takes a few steps and proves much more, but needs a loss of these two numbers, which a mean
over relations is not.

With a single relation neither is needed: whether a pair has it changes Σ_i s_i by a price of its
own, and the labels for which loss and prices add up to most are found exactly.
"""

import threading
from dataclasses import dataclass

import numpy as np

from lssvm.applications.multivariate.counts import Cuts, Mixture
from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import Labelling, chosen_by
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.problem import Each

NARROW = 1e-5  # share of the height above the true labels that bounds may differ by, by counts
NOT_MET = "bounds of loss-augmented inference"
MET = 1e-12  # bounds that differ by a smaller share are equal but for rounding
APART = 1e-3  # share of the larger bound from which on the difference of bounds matters


@dataclass(frozen=True)
class Limits:
    """When the decomposition ends.

    iterations : steps at most; inverse : whether step t is 1/t, otherwise 1/√t
    label_sets : see :meth:`Labelling.improve`
    counts : whether it is by counts, otherwise by pairs
    """

    iterations: int
    inverse: bool
    label_sets: int
    counts: bool


@dataclass
class Bounds:
    """What the decomposition found.

    labels : (mentions,) int32, the best labelling; loss : its Δ; value : Δ and its scores
    upper : the lowest upper bound
    carried : what the next decomposition begins with: the λ of that bound, (n, L), or by counts the
        prices of the cuts that it is of, (3, 2)
    """

    labels: np.ndarray
    loss: float
    value: float
    upper: float
    carried: np.ndarray

    @property
    def met(self) -> bool:
        """Whether the labelling is proved to be the best one."""
        return self.upper - self.value <= MET * (1.0 + abs(self.upper) + abs(self.value))

    @property
    def slack(self) -> float:
        """By how much a better labelling can exceed the value at most."""
        return 0.0 if self.met else self.upper - self.value

    @property
    def apart(self) -> bool:
        """Whether the bounds differ by more than 1/1000 of the one farther from 0.

        Below that, the difference hardly matters; the upper bound holds it in any case.
        """
        return self.upper - self.value > APART * max(abs(self.upper), abs(self.value))

    def offer(self, labels: np.ndarray, loss: float, score: float) -> None:
        """Take over a labelling if it is better; score : of its mentions."""
        if loss + score > self.value:
            self.labels, self.loss, self.value = labels.copy(), loss, loss + score


class Tally:
    """How often bounds were apart (see ``Bounds.apart``), from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._apart = self._of = 0

    def __reduce__(self) -> tuple[type["Tally"], tuple[()]]:
        """In another process counting begins anew; locks cannot be sent there."""
        return Tally, ()

    def add(self, apart: bool) -> None:
        """Count a decomposition."""
        with self._lock:
            self._apart += apart
            self._of += 1

    def taken(self) -> dict[str, tuple[int, int]]:
        """How many were apart, and of how many, since the last call; empty without any."""
        with self._lock:
            apart, of, self._apart, self._of = self._apart, self._of, 0, 0
        return {NOT_MET: (apart, of)} if of else {}


def decomposed(
    bags: BagArrays,
    loss: FLoss,
    truth: Labelling,
    carried: np.ndarray,
    limits: Limits,
    each: Each,
) -> Bounds:
    """Bounds of U⁺, without costs.

    truth : the best labelling with the true relations; carried : of the last decomposition, zeros
        for the first one, see :class:`Bounds`
    """
    score = float(truth.values.sum())
    found = Bounds(truth.labels, 0.0, score, np.inf, carried)
    if loss.truth.shape[1] == 1:
        _exactly(found, bags, loss)
    elif limits.counts:
        _by_counts(found, bags, loss, limits, each)
    else:
        _by_pairs(found, bags, loss, limits, each)
    found.upper = max(found.upper, found.value)  # below it by rounding alone
    return found


def _exactly(found: Bounds, bags: BagArrays, loss: FLoss) -> None:
    """The best labelling if there is one relation."""
    n = len(loss.truth)
    without, having = Labelling.empty(bags), Labelling.empty(bags)
    owners = np.repeat(np.arange(n), np.diff(bags.places))
    none = np.bincount(owners, bags.scores[:, 1], minlength=n)
    short = chosen_by(bags, np.ones((n, 1), dtype=bool), np.arange(n), having)
    prices = having.values - none
    prices[short] = -2.0 * loss.scale  # never chosen, as no label gains more than the scale
    chosen, worst = loss.worst(prices[:, None])
    labels = np.where(chosen[owners, 0], having.labels, without.labels)
    found.upper = worst + float(none.sum())
    found.offer(labels, loss.value(chosen), _score(bags, labels))


def _by_pairs(found: Bounds, bags: BagArrays, loss: FLoss, limits: Limits, each: Each) -> None:
    prices, model = found.carried.copy(), Labelling.empty(bags)
    every = np.arange(len(prices))
    gains = -prices
    model.improve(bags, gains, every, limits.label_sets, each)
    for step in range(1, limits.iterations + 1):
        chosen, worst = loss.worst(prices)
        upper = worst + float(model.values.sum()) + float(model.excess.sum())
        if upper < found.upper:
            found.upper, found.carried = upper, prices.copy()
        used = model.used(bags)
        found.offer(model.labels, loss.value(used), _score(bags, model.labels))
        apart = chosen != used
        rows = _rows(apart)
        if not len(rows) or found.met:
            break
        _offer_chosen(found, bags, loss, chosen, rows, model)
        if found.met or step == limits.iterations:
            break
        size = 1.0 / step if limits.inverse else step**-0.5
        prices[rows] -= size * (chosen[rows].astype(np.float64) - used[rows])
        gains[rows] = -prices[rows]
        model.improve(bags, gains, rows, limits.label_sets, each)


def _rows(apart: np.ndarray) -> np.ndarray:
    """The rows of (n, L) bool that hold something, increasing."""
    places = np.flatnonzero(apart) // apart.shape[1]
    return places[np.diff(places, prepend=-1) > 0]


def _by_counts(found: Bounds, bags: BagArrays, loss: FLoss, limits: Limits, each: Each) -> None:
    every, model = np.arange(len(loss.truth)), Labelling.empty(bags)
    cuts, floor = Cuts.none(loss, np.diff(bags.places)), found.value
    best = Mixture.of(found.labels, bags, loss)
    begin, following = list(np.unique(found.carried, axis=0)), cuts.corner
    begin.insert(0, following)
    for _ in range(limits.iterations):
        prices = begin.pop() if begin else following
        model.improve(bags, cuts.gains(prices), every, limits.label_sets, each)
        latest = Mixture.of(model.labels, bags, loss)
        value = float(model.values.sum()) + float(model.excess.sum())
        cuts.add(prices, value, latest.sums.sum(axis=0))
        found.upper, following, found.carried = cuts.highest()
        best.improve(latest, following, loss)
        found.offer(best.labels, best.loss(loss), _score(bags, best.labels))
        narrow = found.upper - found.value <= NARROW * (found.upper - floor)
        if found.met or narrow or (not begin and cuts.known(following)):
            break


def _offer_chosen(
    found: Bounds,
    bags: BagArrays,
    loss: FLoss,
    chosen: np.ndarray,
    rows: np.ndarray,
    model: Labelling,
) -> None:
    """Offer the labels of the loss, and for pairs that cannot reach them those of the model."""
    other = Labelling(model.labels.copy(), np.zeros(len(chosen)), model.excess)
    short = chosen_by(bags, chosen, rows, other)
    reached = chosen
    if len(short):
        reached = chosen.copy()
        reached[short] = model.used(bags)[short]
    found.offer(other.labels, loss.value(reached), _score(bags, other.labels))


def _score(bags: BagArrays, labels: np.ndarray) -> float:
    return float(bags.own(labels).sum())
