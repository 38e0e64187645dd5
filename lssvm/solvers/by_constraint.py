"""Algorithm 1 of Tsochantaridis, Hofmann, Joachims & Altun (ICML 2004) to the letter.

The examples are visited one at a time. If the most violated output of an example violates its
margin by more than ε beyond the slack that its working set implies, the output joins the working
set, and the quadratic program over all working sets is solved before the next example is visited.
Nothing is dropped. The algorithm stops when a whole epoch adds nothing: then P is at most ε Σ u_i
above its lower bound with linear slack, where u_i = C c_i. The paper's C is n times the C of here.

Theorem 1 bounds the number of constraints for squared slack and slack rescaling, by (C Δ² R² +
n Δ) / ε² with the paper's C: every constraint raises the dual by at least ½ ε² / (Δ R² + n / C),
and the dual never exceeds ½ C Δ, where Δ is the largest loss and R the largest ‖δ‖. With margin
rescaling the margin √Δ stands for 1 and δ is not multiplied, so the same proof gives the rise
½ ε² / (R² + n / C) and the bound (C Δ R² + n Δ) / ε². See :func:`most_constraints`.

n-slack needs far fewer passes and less time; this solver is for comparison.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import flag
from lssvm.oracle import EachOracle
from lssvm.plane import MEGABYTE
from lssvm.solvers.by_example import ByExample
from lssvm.solvers.kept import value
from lssvm.solvers.needs import Needs
from lssvm.solvers.room import check_room
from lssvm.solvers.solution import Solution
from lssvm.solvers.solver import InnerProduct

# The gap that a quadratic program may leave, as a share of what a slack of ε costs an example: with
# squared slack, a slack can be wrong by the root of it.
QP_SHARES = {1: 0.1, 2: 0.01}
QP_ROUNDS = 1000  # at most, for one quadratic program
FEWEST = 3  # passes of a problem that moves w: P where it begins, an epoch, and P after it


@dataclass
class WorkingSet(ByExample):
    """Working sets that only grow, and the solution of the program over them after each addition.

    violation : ε
    adds : whether the last epoch, or the one that begins, may add constraints
    """

    name: ClassVar[str] = "working-set"
    needs: ClassVar[Needs] = Needs(each=True, slack_norms=frozenset({1, 2}))
    keys: ClassVar[frozenset[str]] = frozenset({"violation", "max_cache_mb"})

    violation: float = 0.1
    adds: bool = field(default=True, metadata=value(flag))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        section, norm = config.solver, config.objective.slack_norm
        room = section.max_cache_mb * MEGABYTE
        return cls(dimension, norm, violation=section.violation, max_bytes=room)

    def begin_problem(self) -> None:
        """Forget the bounds of the last problem; see ``Solver``."""
        super().begin_problem()
        self.adds = True

    @property
    def ends_itself(self) -> bool:
        """True: an epoch that adds nothing ends a problem."""
        return True

    def is_unsolved(self, C: float, target: float) -> bool:
        """Whether constraints may still be missing: the gap does not matter."""
        return self.adds

    def solution(self, C: float, w: np.ndarray, target: float) -> Solution:
        """The solution of the problem, which is solved once nothing is added."""
        return super().solution(C, w, target)._replace(converged=not self.adds)

    def _begin(self, oracle: EachOracle, C: float) -> None:
        """Set C, and compute P where the algorithm begins."""
        self._weigh(C)
        if not np.all(np.isfinite(self.heights)):
            self._measure(oracle)

    def _measure(self, oracle: EachOracle) -> None:
        """Compute P at the dual point, which the algorithm does not need, but the run reports."""
        self.at_zero = True  # whatever P is there
        self._ask(oracle, self.sets.w.copy(), keep=False)

    def _improve(self, oracle: EachOracle, C: float, target: Callable[[], float]) -> bool:
        """Visit all examples once."""
        began, spent, before = time.perf_counter(), oracle.seconds, self.sets.added
        for row in range(len(self.costs)):
            if self._visit(oracle, row):
                self._solve()
        self.problem_passes += 1
        self.adds = self.sets.added > before
        self.sets.refresh()
        self._raise_bound()
        if self.adds and self.problem_passes < max(self.most_passes, FEWEST):
            self._measure(oracle)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return self.adds

    def _visit(self, oracle: EachOracle, row: int) -> bool:
        """Add the most violated output of an example if ε says so; return whether it was added."""
        rows, scores = np.array([row]), self.sets.kernel_scores()
        found = oracle.augmented_rows(scores, row, row + 1)
        height = found.values - self.truth[rows] @ scores - self.truth_losses[rows]
        excess = height - self.sets.highest(rows)[1]
        self._check_kept(scores, found, rows, excess)
        if excess[0] <= self.violation or self.sets.limits[row] == 0.0:
            return False
        self._append(found, rows, np.zeros(1, dtype=np.int64))
        check_room(len(self.costs), self.sets.nbytes, self.max_bytes)
        return True

    def _solve(self) -> None:
        """Solve the quadratic program over all working sets."""
        limits = self.sets.limits
        cost = self.violation if self.norm == 1 else self.violation**2
        goal = QP_SHARES[self.norm] * cost * float(limits[limits > 0.0].min())
        self.passes_saved += self.sets.settle(QP_ROUNDS, goal)


def most_constraints(
    violation: float, C: float, n: int, loss: float, length: float, *, slack: bool
) -> float:
    """The bound of Theorem 1 on the number of constraints, for squared slack.

    violation : ε; C : of here, the weight of the sum; n : examples; loss : the largest Δ
    length : the largest ‖Φ(x, y) − Φ(x, ŷ)‖; slack : whether the loss rescales the slack
    """
    weight = C * n
    squares = length**2 * (loss if slack else 1.0)
    return (weight * loss * squares + n * loss) / violation**2
