"""The base class of solvers: requirements, initialisation, bounds, and the main loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lssvm.checked import Arrays, Values, above, below, flag, positive
from lssvm.errors import ApplicationError
from lssvm.oracle import INEXACT, MAXIMUM, Oracle
from lssvm.plane import Plane
from lssvm.solvers import kept
from lssvm.solvers.kept import value
from lssvm.solvers.needs import Needs
from lssvm.solvers.solution import Between, Solution
from lssvm.solvers.steps import height

STALLED_PASSES = 100  # without the gap falling by a millionth: rounding is the limit
ROUGH = 1e-3  # lengths of vectors stand for sums of products, which are rounded like few of them
InnerProduct = tuple[np.ndarray, int]  # a kernel's ``gram`` and ``labels``, see ``working_sets``
EUCLIDEAN: InnerProduct = (np.zeros((0, 0)), 0)


class Initialisation(NamedTuple):
    """The point or completion at which a run begins.

    first : weights (d,), or a first completion: a plane of the sum, or planes by example if the
        solver needs them
    hidden : whether there are hidden values
    by_parts : whether the solver may look for better weights by steps for parts of the data
    """

    first: Any
    hidden: bool = False
    by_parts: bool = False


@dataclass(kw_only=True)
class Solver(ABC):
    """Minimises the convex problems of CCCP one after another, and keeps its planes between them.

    name : the value of ``solver.method``
    needs : what it needs of a problem
    keys : of the section ``solver``, those that it reads, but for method, epsilon and max_passes
    on_objective : whether it works on F itself, and completes hidden values as it proceeds
    single_problem : whether a run calls ``minimise`` only once, even with hidden values

    w : (d,) the best point seen
    slack : what the upper bound at the best point exceeds its plane by, infinite if none is known
    at_zero : whether the best point is w = 0, where a run began. There all outputs tie, and the
        next completion would not depend on the first: the next point takes its
        place, even if P is a little higher there
    lower : the best lower bound of the current problem; 0 is always one (the zero plane); −infinity
        where none is known
    initial_primal : P where the current problem began (infinite before its first pass)
    problem_passes : oracle passes in the current problem; most_passes : its limit, which holds but
        for the few passes without which w would stay where the problem begins
    last_progress, gap_at_progress : the pass in which the gap last fell by a millionth, and the gap
        then
    seconds : time spent outside of the oracle
    """

    name: ClassVar[str]
    needs: ClassVar[Needs] = Needs()
    keys: ClassVar[frozenset[str]] = frozenset()
    on_objective: ClassVar[bool] = False
    single_problem: ClassVar[bool] = False

    w: np.ndarray = field(init=False)
    slack: float = field(default=0.0, metadata=value(above))
    at_zero: bool = field(default=False, metadata=value(flag))
    lower: float = field(default=0.0, metadata=value(below))
    initial_primal: float = field(default=np.inf, metadata=value(above))
    problem_passes: float = field(default=0, metadata=value(positive))
    gap_at_progress: float = field(default=np.inf, metadata=value(above))
    last_progress: float = field(default=0, metadata=value(positive))
    most_passes: float = np.inf
    seconds: float = 0.0

    @classmethod
    @abstractmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0; it is not yet initialised.

        restart : from 0; inner_product : of a kernel, ``EUCLIDEAN`` without one
        """

    @abstractmethod
    def initialise(self, oracle: Any, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""

    @abstractmethod
    def complete(self, oracle: Any) -> None:
        """Start the next convex problem: complete the hidden values at the best point."""

    @property
    @abstractmethod
    def planes_kept(self) -> int:
        """The number of planes that are kept now."""

    @abstractmethod
    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, for the current completion."""

    @abstractmethod
    def objective_at(self, oracle: Any, C: float, w: np.ndarray) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, computed by a pass and a completion.

        The third value is whether F is exact: without an upper bound of U⁺, planes replace U⁺.
        """

    @abstractmethod
    def primal(self, C: float) -> float:
        """P at the best point."""

    @abstractmethod
    def sizes(self, C: float) -> float:
        """The sum of the magnitudes of the terms of P at the best point and of the lower bound."""

    def check_gap(self, C: float) -> None:
        """Raise ApplicationError if P is below its lower bound by more than rounding."""
        gap = self.gap(C)
        if gap < 0.0 and np.isfinite(self.slack) and -gap > INEXACT * self.sizes(C):
            raise ApplicationError(
                f"loss-augmented inference contradicts itself: the objective is "
                f"{self.primal(C):.6g}, but what it found before proves at least "
                f"{self.lower:.6g}; {MAXIMUM}"
            )

    @property
    def passes_saved(self) -> int:
        """How many cuts of the whole sum, or sweeps over all examples, needed no oracle pass."""
        return 0

    @property
    def osqp_calls(self) -> int:
        """The number of quadratic programs that OSQP solved; 0 for solvers without any."""
        return 0

    def begin_problem(self) -> None:
        """Forget the bounds of the last problem: the next one has another C or completion."""
        self.lower, self.initial_primal, self.problem_passes = 0.0, np.inf, 0
        self.gap_at_progress, self.last_progress = np.inf, 0

    def target_gap(self, C: float, goal: Callable[[float], float], inexactness: float) -> float:
        """The absolute gap that ends the problem: ``goal(primal)``, or a share of its decrease."""
        primal = self.primal(C)
        if not np.isfinite(primal):
            return 0.0
        if not np.isfinite(self.initial_primal):
            self.initial_primal = primal
        return max(goal(primal), inexactness * (self.initial_primal - self.lower))

    def gap(self, C: float) -> float:
        """The absolute duality gap."""
        return self.primal(C) - self.lower

    @property
    def ends_itself(self) -> bool:
        """Whether a problem is solved by another measure than the gap, which may then be large."""
        return False

    def is_unsolved(self, C: float, target: float) -> bool:
        """Whether the problem is not solved yet."""
        return self.at_zero or self.gap(C) > target

    def exhausted(self, C: float, max_passes: float) -> bool:
        """Whether the passes are used up, or no longer make progress."""
        if self.gap(C) < self.gap_at_progress * (1.0 - 1e-6):
            self.gap_at_progress, self.last_progress = self.gap(C), self.problem_passes
        return (self.problem_passes >= max_passes and not self.at_zero) or self.stalled

    @property
    def stalled(self) -> bool:
        """Whether many passes have not narrowed the gap."""
        return self.problem_passes - self.last_progress >= STALLED_PASSES

    def solution(self, C: float, w: np.ndarray, target: float) -> Solution:
        """The solution of the problem, with its bound and gap."""
        primal = self.primal(C)
        return Solution(
            w,
            primal,
            self.lower,
            (primal - self.lower) / primal if primal > 0.0 else 0.0,
            bool(np.isfinite(self.slack)),
            self.gap(C) <= target,
        )

    def minimise(
        self,
        oracle: Any,
        C: float,
        goal: Callable[[float], float],
        inexactness: float = 0.0,
        max_passes: int = 10_000,
        between: Between = lambda gap, goal: None,
    ) -> Solution:
        """Minimise P until its absolute duality gap is at most ``goal(primal)``.

        inexactness : the gap may also be this share of what P could fall by from where it began:
            enough to make nearly all the progress that the problem allows. A share of P
            itself would not do for early CCCP iterations: with a random first completion P
            can barely fall, w would stay 0 and the next completion would be one big tie
        max_passes : bounds the passes of this problem, see ``most_passes``
        between(gap, goal) : called before each of them, when the state is whole: it may save
            it, or raise to stop
        """
        self.most_passes = max_passes
        self._begin(oracle, C)

        def target() -> float:
            return self.target_gap(C, goal, inexactness)

        while self.is_unsolved(C, target()) and not self.exhausted(C, max_passes):
            between(self.gap(C), target())
            improved = self._improve(oracle, C, target)
            self.check_gap(C)
            if not improved:
                break
        self.finish(oracle)
        return self.solution(C, self.w, target())

    def finish(self, oracle: Any) -> None:  # noqa: B027
        """What is left to do when the passes end: by default nothing."""

    @abstractmethod
    def _begin(self, oracle: Any, C: float) -> None:
        """Set C, and make P finite at w if that is possible."""

    @abstractmethod
    def _improve(self, oracle: Any, C: float, target: Callable[[], float]) -> bool:
        """Do one round; return False if it was the last.

        A round is one oracle pass, unless kept planes or the bound already make progress.

        target : returns the absolute gap that ends the problem at present
        """

    def state(self) -> kept.State:
        """Everything that the next pass reads: plain values, and arrays."""
        return kept.state(self)

    def restore(self, values: Values, arrays: Arrays) -> None:
        """Continue from a result of ``state``, after a check that it fits this problem.

        Raises ModelError (see ``checked``), because kernels do not check their arguments.
        """
        kept.restore(self, values, arrays)
        self._check_restored()

    def _check_restored(self) -> None:  # noqa: B027
        """Raise ModelError if restored attributes contradict each other."""


class SummedSolver(Solver):
    """A solver for linear slack that uses planes of sums over all examples.

    completion : the plane of Σ c_i U⁻_i, which touches it where it was taken
    """

    completion: Plane

    def initialise(self, oracle: Oracle, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        if isinstance(initial.first, np.ndarray):
            self.w = initial.first.copy()
            self.complete(oracle)
        else:
            self.measure_from(initial.first)

    def complete(self, oracle: Oracle) -> None:
        """Complete the hidden values at the best point, and start the next convex problem."""
        self.measure_from(oracle.completed(self.w))

    @abstractmethod
    def measure_from(self, completion: Plane) -> None:
        """Set a new completion, and start the convex problem that it defines."""

    @abstractmethod
    def own_plane(self) -> Plane:
        """The plane of Σ c_i U⁺_i that was found at the best point."""

    def sizes(self, C: float) -> float:
        """The sum of the magnitudes of the terms of P at the best point and of the lower bound.

        The bound belongs to another point, whose ½‖·‖² is at most C times the losses.
        """
        own, losses = self.own_plane(), abs(self.completion.loss)
        losses += abs(own.loss)
        length = float(np.linalg.norm(self.w)) + np.sqrt(2.0 * (C * losses + abs(self.lower)))
        slopes = np.linalg.norm(own.gradient) + np.linalg.norm(self.completion.gradient)
        return float(length * length + C * (losses + ROUGH * length * slopes))

    def check_truth(
        self, oracle: Oracle, w: np.ndarray, plane: Plane, slack: float, completion: Plane
    ) -> None:
        """Refuse a loss-augmented maximum that is lower than the true outputs' score."""
        short = -plane.above(completion, w) - slack
        if short > 0.0 and short > INEXACT * (plane.size(w) + completion.size(w)):
            oracle.refuse(
                w,
                "loss-augmented inference is not a maximum: summed over the examples, its value is "
                f"{short:.3g} below that of the true outputs",
            )

    def finish(self, oracle: Oracle) -> None:
        """Refuse the value at the best point if the value of one example is found to be wrong."""
        if np.isfinite(self.slack):
            oracle.look(self.w)

    def check_plane(
        self, oracle: Oracle, w: np.ndarray, plane: Plane, slack: float, before: Plane
    ) -> None:
        """Refuse a loss-augmented maximum at w that is lower than a plane found before."""
        above = before.above(plane, w) - slack
        if above > 0.0 and above > INEXACT * (plane.size(w) + before.size(w)):
            oracle.refuse(
                w,
                "loss-augmented inference is not a maximum: summed over the examples, its value is "
                f"{above:.3g} below that of outputs that it found before, at the same w",
            )

    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, for the current completion."""
        return -C * self.completion.value(self.w)

    def objective_at(self, oracle: Oracle, C: float, w: np.ndarray) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, computed by a pass and a completion; see ``Solver``."""
        plane, upper = oracle.augmented(w)
        completion, slack = oracle.completed(w), upper - plane.value(w)
        self.check_truth(oracle, w, plane, slack, completion)
        value = height(w, C, plane, completion, slack)
        return value, -C * completion.value(w), bool(np.isfinite(slack))
