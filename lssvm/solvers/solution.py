"""What every solver of a convex problem answers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Solution(NamedTuple):
    """The end of one convex problem.

    w : (d,) the best point seen
    primal, lower : P at w and a proved lower bound of P, −infinity where none is known
    gap : (primal − lower) / primal, 0 where the primal is 0
    certified : whether the primal is a proved upper bound (inference exact or bounded)
    converged : whether the goal was reached
    kernel_scores : (d,) with a kernel, whose coefficients w then is: the products of w with the
        coordinates; None: w itself
    """

    w: np.ndarray
    primal: float
    lower: float
    gap: float
    certified: bool
    converged: bool
    kernel_scores: np.ndarray | None = None

    @property
    def squared_norm(self) -> float:
        """‖w‖²."""
        return float(self.w @ (self.w if self.kernel_scores is None else self.kernel_scores))


# Called before an oracle pass with the absolute gap and its goal, when the state is whole: it
# may save it, or raise to stop.
Between = Callable[[float, float], Any]
