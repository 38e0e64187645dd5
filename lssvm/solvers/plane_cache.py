"""Planes of single examples from earlier passes, which give cuts without calling the oracle.

The constraint cache of Joachims, Finley & Yu (Machine Learning 77, 2009, section 3.4): where
inference is expensive, the highest kept plane of every example gives a cut of the sum for the price
of a few sparse products. It is as valid as any, but gives no value of the sum at the point.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lssvm import sparse
from lssvm.checked import Arrays, array, sparse_rows
from lssvm.errors import ApplicationError
from lssvm.oracle import INEXACT, MAXIMUM, EachOracle, ExampleMaxima
from lssvm.plane import Plane
from lssvm.solvers.working_sets import WorkingSets


@dataclass
class PlaneCache:
    """Kept planes, as differences from the truth; for problems without hidden values.

    costs : (n,) c_i; truth : (n, d) Φ(x, y); most : planes kept of an example
    max_bytes : of the planes; beyond that the longest idle half is dropped
    saved : cuts that were made without the oracle
    """

    costs: np.ndarray
    truth: "sparse.csr_array"
    most: int
    max_bytes: float
    saved: int = 0
    sets: WorkingSets = field(init=False)

    def __post_init__(self) -> None:
        self.sets = WorkingSets(self.costs, self.truth.shape[1])

    def ask(self, oracle: EachOracle, w: np.ndarray) -> tuple[Plane, float]:
        """One oracle pass: the summed plane and its upper bound; what is new is kept."""
        found = oracle.augmented_each(w)
        differences = found.gradients(np.arange(len(self.costs))) - self.truth
        self._keep(found, sparse.csr_array(differences), w)
        total = self._summed(sparse.csr_array(differences), found.losses)
        return total, float(self.costs @ found.uppers)

    def cut(self, w: np.ndarray) -> Plane:
        """The cut of the planes that are highest at w."""
        self.sets.w[:] = w
        planes, _ = self.sets.highest(np.arange(len(self.costs)))
        owners = np.flatnonzero(planes >= 0)
        chosen = planes[owners]
        self.sets.column("idle")[chosen] = 0
        weights = self.costs[owners]
        gradient = self.costs @ self.truth + weights @ self.sets.matrix(chosen)
        return Plane(gradient, float(weights @ self.sets.losses[chosen]))

    def height(self, w: np.ndarray) -> float:
        """The value at w of the cut of the planes that are highest there."""
        self.sets.w[:] = w
        kept = self.sets.highest(np.arange(len(self.costs)))[1]
        return float(self.costs @ (self.truth @ w + kept))

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of all planes that are kept."""
        parts = ("data", "indices", "indptr")
        truth = {f"truth_{part}": getattr(self.truth, part) for part in parts}
        return truth | {"costs": self.costs} | self.sets.state()

    def restored(self, arrays: Arrays, saved: int) -> Self:
        """A cache with the limits of this one and with ``arrays`` as its state.

        saved : number of cuts that it has given. Raises ModelError.
        """
        costs = array(arrays, "costs", np.float64, (None,), least=0.0)
        truth = sparse_rows(arrays, "truth_", (len(costs), self.truth.shape[1]))
        cache = type(self)(costs, truth, self.most, self.max_bytes, saved)
        cache.sets.restore(arrays)
        return cache

    def _summed(self, differences: "sparse.csr_array", losses: np.ndarray) -> Plane:
        gradient = self.costs @ self.truth + self.costs @ differences
        return Plane(gradient, float(self.costs @ losses))

    def _keep(self, found: ExampleMaxima, differences: "sparse.csr_array", w: np.ndarray) -> None:
        """Add planes that are higher at w than those kept; the longest idle make room."""
        self.sets.w[:] = w
        rows = np.arange(len(self.costs))
        kept = self.sets.highest(rows)[1]
        excess = found.values - self.truth @ w - kept
        self._check(found, differences, excess, w)
        new = np.flatnonzero(excess > 1e-12 * (1.0 + np.abs(found.values)))
        self.sets.column("idle")[:] += 1
        full = np.zeros(len(rows), dtype=bool)
        full[new] = self.sets.counts[new] >= self.most
        if np.any(full):
            self.sets.keep(np.setdiff1d(np.arange(len(self.sets)), self._oldest(full)))
        if self.sets.nbytes > self.max_bytes:
            order = np.argsort(self.sets.column("idle"), kind="stable")
            self.sets.keep(np.sort(order[: len(order) // 2]))
        self.sets.append(new, sparse.csr_array(differences[new]), found.losses[new])

    def _check(
        self,
        found: ExampleMaxima,
        differences: "sparse.csr_array",
        excess: np.ndarray,
        w: np.ndarray,
    ) -> None:
        """Refuse a maximum that is lower than what is kept of its example, or than the truth."""
        short = -excess - (found.uppers - found.values)
        row = int(np.argmax(short))
        size = 1.0 + float(abs(self.truth[[row]] + abs(differences[[row]])).sum(axis=0) @ np.abs(w))
        if short[row] > INEXACT * (size + abs(found.values[row])):
            raise ApplicationError(
                f"example {found.name(row)!r}: loss-augmented inference is not a maximum: its "
                f"value {found.uppers[row]:.6g} is {short[row]:.3g} below that of the true output, "
                f"or of an output that it found before, at the same w; {MAXIMUM}"
            )

    def _oldest(self, full: np.ndarray) -> np.ndarray:
        """The longest idle plane of each example that ``full`` marks; the first on ties."""
        planes = np.flatnonzero(full[self.sets.owner])
        owner, idle = self.sets.owner[planes], self.sets.column("idle")[planes]
        order = np.lexsort((planes, -idle, owner))
        first = np.r_[True, owner[order][1:] != owner[order][:-1]]
        return planes[order[first]]
