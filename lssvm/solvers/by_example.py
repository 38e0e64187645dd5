"""What the solvers that keep planes by example share: the truth, the best point, the bounds.

The dual point w = −Σ α δ is where they work; the best point of the primal is kept apart. Every
oracle pass gives P at the w where it was made, so with the dual value a certified gap.

With a kernel w is a vector of coefficients, and inference is computed at its kernel scores: the
inner products of w with the unit vector of every coordinate (see ``working_sets``).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.checked import Arrays, Values, positive, sparse_rows, whole
from lssvm.checked import vector as checked_vector
from lssvm.errors import ApplicationError, LssvmError
from lssvm.oracle import INEXACT, MAXIMUM, EachOracle, ExampleMaxima
from lssvm.solvers.kept import LOWEST, Kept, State, array, kept, value, vector
from lssvm.solvers.room import check_room
from lssvm.solvers.solution import Solution
from lssvm.solvers.solver import Initialisation, Solver
from lssvm.solvers.working_sets import WorkingSets

ADDED_SHARE = 0.01  # of the mean gap of an example: less is no reason to keep a plane


def _any_length(owner: Any, arrays: Arrays) -> tuple[None]:
    return (None,)


def _by_example(owner: Any, arrays: Arrays) -> tuple[int]:
    return (len(owner.costs),)


class _KeptSets(Kept):
    def save(self, owner: Any, name: str) -> State:
        return {}, owner.sets.state()

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Any:
        sets = owner._new_sets(owner.C * owner.costs)
        sets.restore(arrays)
        return sets


class _KeptTruth(Kept):
    def save(self, owner: Any, name: str) -> State:
        parts = ("data", "indices", "indptr")
        return {}, {f"{name}_{part}": getattr(getattr(owner, name), part) for part in parts}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> "sparse.csr_array":
        return sparse_rows(arrays, f"{name}_", (len(owner.costs), owner.dimension))


class _KeptScores(Kept):
    """Saves the kernel scores; without a kernel nothing, because they are w itself."""

    def save(self, owner: Any, name: str) -> State:
        return {}, {name: owner.kernel_scores} if len(owner.gram) else {}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> np.ndarray:
        return checked_vector(arrays, name, owner.w.shape) if len(owner.gram) else owner.w


@dataclass
class ByExample(Solver):
    """Minimises P through planes of single examples.

    dimension : d; norm : the norm of the slacks; gram, labels : of a kernel, see ``working_sets``
    sets : the planes and the dual point, WorkingSets or what stands in their place
    truth, truth_losses : (n, d), (n,) gradients and loss parts of the completion's planes; the loss
        parts are 0 unless hidden values are summed over
    w : (d,) the best point; kernel_scores : (d,) its kernel scores, w itself without a kernel
    heights : (n,) U⁺_i there, or their upper bounds if these are known
    """

    dimension: int
    norm: int = 1
    gram: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    labels: int = 0
    C: float = field(default=0.0, metadata=value(positive))
    max_bytes: float = np.inf  # of the planes
    passes_saved: int = field(default=0, metadata=value(whole))  # sweeps, but one after each pass
    costs: np.ndarray = field(init=False, metadata=array(np.float64, _any_length, least=0.0))
    sets: Any = field(init=False, metadata=kept(_KeptSets()))
    truth: "sparse.csr_array" = field(init=False, metadata=kept(_KeptTruth()))
    truth_losses: np.ndarray = field(init=False, metadata=vector(_by_example))
    w: np.ndarray = field(init=False, metadata=vector())
    kernel_scores: np.ndarray = field(init=False, metadata=kept(_KeptScores()))
    # They are infinite for examples whose inference was not computed yet.
    heights: np.ndarray = field(
        init=False, metadata=array(np.float64, _by_example, least=LOWEST, infinite=True)
    )

    def __post_init__(self) -> None:
        """Set up an object without examples, which is later initialised or restored."""
        self.costs = self.heights = self.truth_losses = np.zeros(0)
        self.sets = self._new_sets(self.costs)
        self.truth = sparse.csr_array((0, self.dimension))
        self.w = self.kernel_scores = np.zeros(self.dimension)

    @property
    def planes_kept(self) -> int:
        """The number of planes that are kept now."""
        return len(self.sets)

    def initialise(self, oracle: EachOracle, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        given = isinstance(initial.first, np.ndarray)
        self.costs = oracle.costs
        self.sets = self._new_sets(np.ones(len(self.costs)))
        self.w = initial.first.copy() if given else np.zeros(self.dimension)
        self.kernel_scores = self.sets.kernel_scores_of(self.w)
        self.heights = np.full(len(self.costs), np.inf)
        found = oracle.completed_each(self.kernel_scores) if given else initial.first
        self.truth, self.truth_losses = _planes_of(found)

    def complete(self, oracle: EachOracle) -> None:
        """Complete the hidden values at the best point: planes and truth move with them.

        A plane of U⁺ does not change; its difference from the completion does. The multipliers
        stay, and so the weight that the old completion's plane had goes to the new one.
        """
        truth, losses = _planes_of(oracle.completed_each(self.kernel_scores))
        shifts = sparse.csr_array(self.truth - truth)
        rows = np.flatnonzero((np.diff(shifts.indptr) > 0) | (losses != self.truth_losses))
        if len(rows) and len(self.sets):
            self.sets.move(rows, shifts[rows], (self.truth_losses - losses)[rows])
        self.truth, self.truth_losses = truth, losses
        self.begin_problem()

    def primal(self, C: float) -> float:
        """P at the best point."""
        return self._objective(C, self.w, self.kernel_scores, self.heights)

    def sizes(self, C: float) -> float:
        """The sum of the magnitudes of the terms of P at the best point and of the lower bound."""
        terms = self._terms(np.arange(len(self.costs)), self.kernel_scores)
        terms += np.abs(self.heights)
        if self.norm == 0:
            return (self.primal(C) + self.lower) * (1.0 + float(terms.max(initial=0.0)))
        if self.norm == 2:
            terms *= 1.0 + np.abs(self.heights - self._completed(self.kernel_scores))
        return self.primal(C) + self.lower + C * float(self.costs @ terms)

    def _terms(self, rows: np.ndarray, kernel_scores: np.ndarray) -> np.ndarray:
        """The sums of the magnitudes of the terms of the true outputs' scores, (k,)."""
        return abs(self.truth[rows]) @ np.abs(kernel_scores) + np.abs(self.truth_losses[rows])

    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, for the current completion."""
        return -C * float(self.costs @ self._completed(self.kernel_scores))

    def objective_at(
        self, oracle: EachOracle, C: float, w: np.ndarray
    ) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, computed by a pass and a completion; see ``Solver``."""
        found, completion = oracle.augmented_each(w), oracle.completed_each(w)
        self._check_truth(w, found, completion.values)
        known = np.isfinite(found.uppers)
        slacks = np.maximum(0.0, np.where(known, found.uppers, found.values) - completion.values)
        powers = slacks if self.norm == 1 else 0.5 * slacks**2
        value = 0.5 * float(w @ w) + C * float(self.costs @ powers)
        return value, -C * float(self.costs @ completion.values), bool(known.all())

    def _begin(self, oracle: EachOracle, C: float) -> None:
        """Set C; make a first oracle pass if there was none yet."""
        self._weigh(C)
        if not np.all(np.isfinite(self.heights)):
            self._ask(oracle, self.w, keep=not np.any(self.w))
            self.at_zero = not np.any(self.w)

    def solution(self, C: float, w: np.ndarray, target: float) -> Solution:
        """The solution of the problem. Raises LssvmError if no w of finite P was found."""
        if not np.isfinite(self.primal(C)):
            raise LssvmError(
                "no feasible w was found within solver.max_passes (hard margin); expected a "
                "larger solver.max_passes, or objective.slack_norm: 1 or 2"
            )
        return super().solution(C, w, target)._replace(kernel_scores=self.kernel_scores)

    def exhausted(self, C: float, max_passes: float) -> bool:
        """Whether the passes are used up, or no longer make progress; see ``Solver``."""
        if not np.isfinite(self.primal(C)):
            return self.problem_passes >= max_passes
        return super().exhausted(C, max_passes)

    def _weigh(self, C: float) -> None:
        """Set C, and scale the multipliers with it."""
        if C == self.C:
            return
        if self.C > 0.0 and self.norm > 0:
            self.sets.alpha[:] *= C / self.C
            self.lower = 0.0
        self.sets.limits = C * self.costs
        self.sets.refresh()
        self.C = C

    def _objective(
        self, C: float, w: np.ndarray, kernel_scores: np.ndarray, heights: np.ndarray
    ) -> float:
        """P at w, where heights are the values of U⁺; with norm 0 infinite if slack is needed."""
        half = 0.5 * float(w @ kernel_scores)
        if not np.all(np.isfinite(heights)):
            return np.inf
        slacks = np.maximum(0.0, heights - self._completed(kernel_scores))
        if self.norm == 1:
            return half + C * float(self.costs @ slacks)
        if self.norm == 2:
            return half + 0.5 * C * float(self.costs @ slacks**2)
        return half if slacks.max(initial=0.0) <= 0.0 else np.inf

    def _completed(self, kernel_scores: np.ndarray) -> np.ndarray:
        """The values of the completion's planes at any w, (n,), which are at most U⁻_i."""
        return self.truth @ kernel_scores + self.truth_losses

    def _raise_bound(self) -> None:
        self.lower = max(self.lower, self.sets.dual())

    def _ask(self, oracle: EachOracle, w: np.ndarray, keep: bool = True) -> None:
        """Make an oracle pass at w; w becomes the best point if P is lower there."""
        kernel_scores = self.sets.kernel_scores_of(w)
        found = oracle.augmented_each(kernel_scores)
        self.problem_passes += 1
        self._check_truth(kernel_scores, found, self._completed(kernel_scores))
        known = np.isfinite(found.uppers)
        heights = np.where(known, found.uppers, found.values)
        if self.norm == 0:
            scale, heights = self._feasible(kernel_scores, heights)
            w, kernel_scores = scale * w, scale * kernel_scores
        new = self.at_zero or not np.all(np.isfinite(self.heights))
        if new or self._objective(self.C, w, kernel_scores, heights) < self.primal(self.C):
            self.at_zero = False
            self.w, self.heights = w.copy(), heights
            self.kernel_scores = kernel_scores if len(self.gram) else self.w
            self.slack = 0.0 if known.all() else np.inf
        if keep:
            self._keep(found)

    def _feasible(self, kernel_scores: np.ndarray, heights: np.ndarray) -> tuple[float, np.ndarray]:
        """With norm 0: the factor by which w needs no slack, 1 if there is none, and U⁺ there.

        Every L is at least 1, so a largest slack ξ < 1 vanishes at w / (1 − ξ).
        """
        largest = float(np.max(heights - self.truth @ kernel_scores, initial=0.0))
        if largest >= 1.0:
            return 1.0, heights
        scale = 1.0 / (1.0 - largest)
        return scale, self.truth @ (scale * kernel_scores)

    def _keep(self, found: ExampleMaxima, first: int = 0) -> np.ndarray:
        """Keep the planes that are higher at the dual point than those kept, by enough to matter.

        found : of examples from ``first`` on, at the dual point. Returns the examples that were
        asked, (k,).
        """
        rows = np.arange(first, first + len(found.values))
        kernel_scores = self.sets.kernel_scores()
        heights = found.values - self.truth[rows] @ kernel_scores - self.truth_losses[rows]
        excess = heights - self.sets.highest(rows)[1]
        self._check_kept(kernel_scores, found, rows, excess)
        rounding = 1e-12 * (1.0 + np.abs(found.values))
        new = np.flatnonzero(excess > np.maximum(self._enough()[rows], rounding))
        self._append(found, rows, new)
        check_room(len(self.costs), self.sets.nbytes, self.max_bytes)
        return rows

    def _append(self, found: ExampleMaxima, rows: np.ndarray, new: np.ndarray) -> None:
        """Keep the planes ``new`` of those that were found for ``rows``."""
        own = rows[new]
        if len(new):
            differences = sparse.csr_array(found.gradients(new) - self.truth[own])
            self.sets.append(own, differences, found.losses[new] - self.truth_losses[own])

    def _enough(self) -> np.ndarray:
        """By how much a new plane of each example must be higher than those kept, (n,).

        Planes of an example of cost 0 are not worth keeping.
        """
        gap, limits = self.gap(self.C), self.sets.limits
        if not np.isfinite(gap):
            return np.zeros(len(limits))
        if self.norm == 0:
            return np.full(len(limits), ADDED_SHARE * gap / self.primal(self.C))
        enough = np.full(len(limits), np.inf)
        return np.divide(ADDED_SHARE * gap / len(limits), limits, out=enough, where=limits > 0.0)

    def _check_truth(
        self, kernel_scores: np.ndarray, found: ExampleMaxima, scores: np.ndarray
    ) -> None:
        """Refuse a loss-augmented maximum that is lower than the true output's score.

        scores : (n,) of the true outputs
        """
        short = scores - found.uppers
        below = np.flatnonzero(short > INEXACT * (1.0 + np.abs(scores)))
        if not len(below):
            return
        below = below[short[below] > INEXACT * self._terms(below, kernel_scores)]
        if len(below):
            row = int(below[np.argmax(short[below])])
            raise ApplicationError(
                f"example {found.name(row)!r}: loss-augmented inference is not a maximum: its "
                f"value {found.uppers[row]:.6g} is below the true output's {scores[row]:.6g}; "
                f"{MAXIMUM}"
            )

    def _check_kept(
        self, kernel_scores: np.ndarray, found: ExampleMaxima, rows: np.ndarray, excess: np.ndarray
    ) -> None:
        """Refuse a loss-augmented maximum that is lower than a plane found before.

        excess : (k,) by how much the values of the examples ``rows`` exceed what is kept
        """
        short = -excess - (found.uppers - found.values)
        below = np.flatnonzero(short > INEXACT * (1.0 + np.abs(found.values)))
        if not len(below):
            return
        sizes = self._terms(rows[below], kernel_scores) + np.abs(found.values[below])
        below = below[short[below] > INEXACT * (sizes + self._lengths(rows[below], kernel_scores))]
        if len(below):
            row = int(below[np.argmax(short[below])])
            raise ApplicationError(
                f"example {found.name(row)!r}: loss-augmented inference is not a maximum: its "
                f"value {found.uppers[row]:.6g} is {short[row]:.3g} below that of an output that "
                f"it found before, at the same w; {MAXIMUM}"
            )

    def _lengths(self, rows: np.ndarray, kernel_scores: np.ndarray) -> np.ndarray:
        """The largest sum of magnitudes of the terms of each example's kept planes, (k,)."""
        sets = self.sets
        planes = np.arange(len(sets))
        sizes = abs(sets.matrix(planes)) @ np.abs(kernel_scores) + np.abs(sets.losses)
        most = np.zeros(len(self.costs))
        np.maximum.at(most, sets.owner, sizes)
        return most[rows]

    def _new_sets(self, limits: np.ndarray) -> Any:
        return WorkingSets(limits, self.dimension, self.norm, self.gram, self.labels)


def _planes_of(found: ExampleMaxima) -> "tuple[sparse.csr_array, np.ndarray]":
    """The gradients and loss parts of the planes of all examples, (n, d) and (n,)."""
    return found.gradients(np.arange(len(found.values))), found.losses
