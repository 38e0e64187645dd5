"""What every solver of a convex problem answers, and what the outer loop asks of it."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np


class Solution(NamedTuple):
    """The end of one convex problem.

    w : (d,) the best point seen
    primal, lower : P at w and a proved lower bound of P, −infinity where none is known
    gap : (primal − lower) / primal, 0 where the primal is 0
    certified : whether the primal is a proved upper bound (inference exact or bounded)
    converged : whether the goal was reached
    images : (d,) with a kernel, whose coefficients w then is: the products of w with the
        coordinates; None: w itself
    """

    w: np.ndarray
    primal: float
    lower: float
    gap: float
    certified: bool
    converged: bool
    images: np.ndarray | None = None

    @property
    def squared_norm(self) -> float:
        """‖w‖²."""
        return float(self.w @ (self.w if self.images is None else self.images))


# Called before an oracle pass with the absolute gap and its goal, when the state is whole: it
# may save it, or raise to stop.
Between = Callable[[float, float], Any]


class Solver(Protocol):
    """Minimises one convex problem of CCCP after the other, its planes kept from one to the next.

    w : (d,) the best point seen; lower : a proved lower bound of P, −infinity where none is known
    seconds : time spent outside of the oracle
    """

    w: np.ndarray
    lower: float
    seconds: float

    @property
    def planes_kept(self) -> int:
        """Planes that are kept now."""
        ...

    @property
    def passes_saved(self) -> int:
        """Cuts of the whole sum, or sweeps over all examples, that needed no oracle pass."""
        ...

    @property
    def osqp_calls(self) -> int:
        """Quadratic programs that were left to OSQP."""
        ...

    def begin_problem(self) -> None:
        """Forget what was known of the problem before: the next one has another C."""
        ...

    def complete(self, oracle: Any) -> None:
        """Start the next convex problem: complete the hidden values at the best point."""
        ...

    def primal(self, C: float) -> float:
        """P at the best point."""
        ...

    def sizes(self, C: float) -> float:
        """The size of what P at the best point sums up: its rounding is a small share of it."""
        ...

    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, as the completion has it."""
        ...

    def objective_at(self, oracle: Any, C: float, w: np.ndarray) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, by one pass and one completion.

        And whether F is known: without an upper bound of U⁺ it is as the planes have it.
        """
        ...

    def minimise(
        self,
        oracle: Any,
        C: float,
        goal: Callable[[float], float],
        looseness: float = 0.0,
        max_passes: int = 10_000,
        between: Between = lambda gap, goal: None,
    ) -> Solution:
        """Minimise P until its absolute duality gap is at most ``goal(primal)``.

        looseness : the gap may also be this share of what P could fall by from where it began
        max_passes : bounds the passes of this problem
        """
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything that the next pass reads: plain values, and arrays."""
        ...

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Stand where ``state`` was taken, once it is sure that all of it fits this problem.

        Raises ModelError (see ``checked``): kernels do not check what they are handed.
        """
        ...
