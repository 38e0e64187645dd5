"""The concave-convex procedure: complete the hidden variables, solve, repeat.

    F(w) = ½‖w‖² + C Σ c_i [ U⁺_i(w) − U⁻_i(w) ]

At w_t the concave part is replaced by its tangent, "latent completion", and the convex
problem P_t that is left is solved through cutting planes (Yuille & Rangarajan 2003; Yu &
Joachims 2009, Algorithm 1). P_t touches F at w_t and lies above it elsewhere, so F never
rises. U⁺ does not contain the completion: the planes go on from one problem to the next.
Without hidden values U⁻ is linear, and the first problem is the whole.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lssvm.checked import Values, above, below, flag, number, pair, positive, sequence, whole
from lssvm.errors import ApplicationError
from lssvm.oracle import INEXACT, ExampleMaxima, Executor
from lssvm.plane import Plane
from lssvm.problem import ExampleOracle, add_counts
from lssvm.smoothing import Smoothing
from lssvm.solvers.kept import value
from lssvm.solvers.solution import Solution
from lssvm.solvers.solver import Solver

# How often iterative inference did not converge, and of how many times, by its name.
NotConverged = Mapping[str, tuple[int, int]]


class Iteration(NamedTuple):
    """One CCCP iteration, as it is reported.

    objective : F after it; decrease : by how much it fell (infinite after the first)
    loss : Σ c_i (U⁺ − U⁻) / Σ c_i, which bounds the mean training loss; for models without loss,
        minus the mean log-likelihood
    gap : relative duality gap of the convex problem, infinite where the solver knows none;
        planes : cuts in the bundle
    passes : oracle passes so far; seconds : since the restart began
    not_converged : of the iteration, or of what this process did of it after a resumption
    """

    restart: int
    iteration: int
    objective: float
    decrease: float
    loss: float
    gap: float
    planes: int
    passes: int
    seconds: float
    not_converged: NotConverged


class Summary(NamedTuple):
    """The end of a run.

    objective : F = convex + concave, the concave part being −C Σ c_i U⁻_i
    gap : relative duality gap of the last convex problem, infinite where the solver knows none;
        certified : whether it is proved
    earlier : whether the weights, and so the gap, are those that were best on held-out data
    descent : whether the solver works on F itself, without CCCP and without cuts
    iterations, passes, planes : CCCP iterations, oracle passes, cuts kept
    passes_saved : cuts or sweeps over the examples that kept planes gave without an oracle pass
    osqp : quadratic programs that OSQP solved
    restarts, objective_mean, objective_std : number of restarts, mean and standard deviation
        of their objectives
    seconds_… : wall time in inference, in the bundle and its QP, and elsewhere
    peak_mb : largest memory of the process so far, in MB
    workers : of another executor than threads, 0 without; workers_lost : on the way
    sent_mb, received_mb : through the network; communication : the share of the passes' time in
        which no worker computed
    """

    objective: float
    convex: float
    concave: float
    gap: float
    certified: bool
    descent: bool
    iterations: int
    passes: int
    passes_saved: int
    planes: int
    osqp: int
    restarts: int
    objective_mean: float
    objective_std: float
    seconds_inference: float
    seconds_qp: float
    seconds_rest: float
    peak_mb: float
    workers: int = 0
    sent_mb: float = 0.0
    received_mb: float = 0.0
    communication: float = 0.0
    workers_lost: int = 0
    earlier: bool = False


class Observer:
    """Told how a run goes on; this one does nothing."""

    def restarted(self, number: int, of: int) -> None:
        """Restart ``number`` (from 1) of ``of`` begins."""

    def passed(
        self, passes: int, gap: float, goal: float, not_converged: NotConverged, objective: float
    ) -> None:
        """So many oracle passes, the relative gap of the convex problem and its goal.

        not_converged : since the pass before
        objective : of the convex problem at the best point, infinite before its first pass
        """

    def stops(self) -> bool:
        """Asked between passes: whether training ends here, with the best point so far."""
        return False

    def iterated(self, row: Iteration) -> None:
        """A CCCP iteration ended."""

    def scored(self, passes: int, metric: str, value: float) -> None:
        """Held-out examples were scored after so many passes."""

    def finished(self, summary: Summary) -> None:
        """The run ended."""

    def noted(self, text: str) -> None:
        """A choice that was made for the user."""

    def warned(self, text: str) -> None:
        """Something that the user should know."""


class Rules(NamedTuple):
    """When to stop.

    C : weight of the summed loss
    epsilon : relative gap of the last convex problem
    inexactness : early problems are solved until the gap is this share of the possible decrease
    tolerance : F has converged when it falls by less than C Σ c_i · tolerance
    max_iterations : CCCP iterations; max_passes : oracle passes for one convex problem
    hidden : whether there are hidden values, and so more than one problem; False too for a solver
        that works on F itself
    """

    C: float
    epsilon: float = 1e-3
    inexactness: float = 0.1
    tolerance: float = 1e-3
    max_iterations: int = 100
    max_passes: int = 10_000
    hidden: bool = True


def _history(values: Values, name: str) -> list[tuple[float, int]]:
    """Check the pairs of ``Run.history``."""
    return [pair(row, number, whole) for row in sequence(values, name)]


@dataclass
class Run:
    """One run of CCCP: with its solver, everything that the next pass reads.

    solver : planes and best point; its completion is that of the current problem
    inexactness : as in the rules, divided by ten whenever F stops falling too early
    objective : F where the current problem began, infinite before the first
    iteration, passes, completions : counted over the whole run
    last : gap, certificate and success of the last solved problem
    done : whether F has converged or the iterations are used up; converged : the former
    history : (objective, passes) after each iteration
    carried : what a pass hands on to the next one (``problem.Continuing``); None: nothing
    not_converged : in the iteration so far; not saved
    """

    solver: Solver
    inexactness: float = field(metadata=value(positive))
    total_cost: float = field(metadata=value(positive))
    objective: float = field(default=np.inf, metadata=value(above))
    iteration: int = field(default=0, metadata=value(whole))
    passes: float = field(default=0.0, metadata=value(positive))
    completions: float = field(default=0.0, metadata=value(positive))
    gap: float = field(default=np.inf, metadata=value(above))
    lower: float = field(default=0.0, metadata=value(below))
    concave: float = field(default=0.0, metadata=value(number))
    certified: bool = field(default=True, metadata=value(flag))
    converged: bool = field(default=False, metadata=value(flag))
    done: bool = field(default=False, metadata=value(flag))
    history: list[tuple[float, int]] = field(default_factory=list, metadata=value(_history))
    carried: np.ndarray | None = None
    not_converged: dict[str, tuple[int, int]] = field(default_factory=dict)

    def proceed(
        self,
        oracle: Any,
        rules: Rules,
        observer: Observer,
        restart: int = 0,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Iterate until F has converged to ``rules.tolerance`` and the last gap is certified.

        ``between`` is called before every oracle pass and after every iteration, when the
        state is whole: it may save it, or raise to stop.
        """
        began = time.perf_counter()
        counting = _Counting(oracle, self)

        def before_pass(gap: float, goal: float) -> None:
            objective = self.solver.primal(rules.C)
            primal = objective or 1.0
            relative = gap / primal if np.isfinite(primal) else np.inf
            not_converged = self._note(oracle)
            observer.passed(round(self.passes), relative, goal / primal, not_converged, objective)
            between()

        smallest_decrease = rules.C * self.total_cost * rules.tolerance if rules.hidden else np.inf
        while not self.done:
            solution = self.solver.minimise(
                counting,
                rules.C,
                lambda primal: min(rules.epsilon * primal, smallest_decrease),
                self.inexactness if rules.hidden else 0.0,
                rules.max_passes,
                before_pass,
            )
            if rules.hidden:
                self.solver.complete(counting)
                self._check_completion(solution, rules.C)
            decrease = self._take_over(solution, rules.C)
            loss = (self.objective - 0.5 * solution.squared_norm) / (rules.C * self.total_cost)
            self._note(oracle)
            observer.iterated(
                Iteration(
                    restart,
                    self.iteration,
                    self.objective,
                    decrease,
                    loss,
                    solution.gap,
                    self.solver.planes_kept,
                    round(self.passes),
                    time.perf_counter() - began,
                    self.not_converged,
                )
            )
            self.not_converged = {}
            absolute = solution.primal - solution.lower
            self._judge(rules, decrease, absolute, smallest_decrease, solution.converged)
            between()

    def _check_completion(self, solution: Solution, C: float) -> None:
        """F must be no higher at a point than the convex problem that was solved to it.

        Only where inference is exact: an approximate completion may be worse than the one before.
        """
        rise = self.solver.primal(C) - solution.primal
        if rise > 0.0 and solution.certified and rise > INEXACT * self.solver.sizes(C):
            raise ApplicationError(
                f"latent completion is not a maximum: summed over the examples, its value is "
                f"{rise / C:.3g} below that of the completion before at the same w; return the "
                "maximiser"
            )

    def _take_over(self, solution: Solution, C: float) -> float:
        """Stand where a problem was solved to; by how much F fell."""
        objective = self.solver.primal(C)
        decrease = self.objective - objective
        self.gap, self.lower, self.certified = solution.gap, solution.lower, solution.certified
        self.concave = self.solver.concave(C)
        self.objective = objective
        self.iteration += 1
        self.history.append((objective, round(self.passes)))
        return decrease

    def _note(self, oracle: Any) -> NotConverged:
        """What did not converge since the last call, which is added to that of the iteration."""
        latest = oracle.not_converged()
        add_counts(self.not_converged, latest)
        return latest

    def _judge(
        self, rules: Rules, decrease: float, gap: float, smallest_decrease: float, reached: bool
    ) -> None:
        """Stop, or ask the next problem for more precision where F has stopped falling."""
        precise = self.gap <= rules.epsilon and gap <= smallest_decrease
        precise |= reached and self.solver.ends_itself
        if decrease < smallest_decrease or not rules.hidden:
            self.done = precise or not reached
            self.converged = precise
            self.inexactness /= 10.0
        if self.iteration >= rules.max_iterations:
            self.done = True


class _Counting:
    """An oracle whose passes are counted in the run, so that a resumed run goes on counting."""

    def __init__(self, oracle: Any, run: Run, share: float = 1.0) -> None:
        self._oracle = oracle
        self._run = run
        self._share = share  # of the examples

    @property
    def costs(self) -> np.ndarray:
        return self._oracle.costs

    @property
    def seconds(self) -> float:
        return self._oracle.seconds

    def parts(self, size: int) -> "list[_Counting]":
        n = len(self.costs)
        return [
            _Counting(part, self._run, len(part.costs) / n) for part in self._oracle.parts(size)
        ]

    def augmented(self, w: np.ndarray) -> tuple[Plane, float]:
        self._run.passes += self._share
        if getattr(self._oracle, "carried_shape", None) is None:
            return self._oracle.augmented(w)
        plane, upper, self._run.carried = self._oracle.augmented_from(w, self._run.carried)
        return plane, upper

    def smoothed(self, w: np.ndarray, width: float) -> Smoothing:
        self._run.passes += self._share
        return self._oracle.smoothed(w, width)

    def completed(self, w: np.ndarray) -> Plane:
        self._run.completions += self._share
        return self._oracle.completed(w)

    def augmented_each(self, w: np.ndarray) -> ExampleMaxima:
        self._run.passes += 1
        return self._oracle.augmented_each(w)

    def augmented_rows(self, w: np.ndarray, start: int, stop: int) -> ExampleMaxima:
        self._run.passes += (stop - start) / len(self.costs)
        return self._oracle.augmented_rows(w, start, stop)

    def augmented_chosen(self, w: np.ndarray, rows: np.ndarray) -> ExampleMaxima:
        self._run.passes += len(rows) / len(self.costs)
        return self._oracle.augmented_chosen(w, rows)

    def completed_each(self, w: np.ndarray) -> ExampleMaxima:
        self._run.completions += 1
        return self._oracle.completed_each(w)

    @property
    def compiled(self) -> ExampleOracle:
        return self._oracle.compiled

    def visited(self, count: int) -> None:
        self._run.passes += count / len(self.costs)
        self._oracle.visited(count)

    def over_examples(self, function: Callable[[int, int], None], passes: float = 1.0) -> None:
        self._run.passes += passes
        self._oracle.over_examples(function, passes)

    @property
    def executor(self) -> Executor:
        return self._oracle.executor

    def curvature(self, w: np.ndarray) -> np.ndarray | None:
        return self._oracle.curvature(w)

    def look(self, w: np.ndarray) -> None:
        self._oracle.look(w)

    def refuse(self, w: np.ndarray, found: str) -> None:
        self._oracle.refuse(w, found)
