"""A bundle method with second derivatives, for few weights and many examples.

Loss-augmented inference is smoothed to a width: what is found for an example is a mean of several
outputs, and the sum over the examples has second derivatives (Nesterov, Mathematical Programming
2005). The plane of means bounds the sum of the maxima from below like any other. So it is a cut of
the bundle, and as it is known how far the maxima themselves are above it, gaps stay certified.

Where the next cut is made, Newton's method on the smoothed objective says (bundle-Newton methods:
Lukšan & Vlček, Mathematical Programming 1998). It takes a few passes where cutting planes take at
least as many as there are weights. Near the minimum few examples are between two outputs, and the
curvature at one point is that of a small sample: steps use its mean over the passes. The width
shrinks with the gap, and grows where a step is longer than it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import Arrays, number, positive
from lssvm.errors import LssvmError, ModelError
from lssvm.plane import MEGABYTE, Plane
from lssvm.smoothing import SmoothedOracle, Smoothing
from lssvm.solvers.bundle import ASYMMETRY, Bundle
from lssvm.solvers.kept import plane, value, vector
from lssvm.solvers.needs import Needs
from lssvm.solvers.solver import InnerProduct

SUMS = 64  # matrices of second derivatives for which there must be room
WIDEST = 4.0  # at the beginning; beyond 2 even at w = 0 a hinge has a curvature
SMOOTH_SHARE = 0.3  # of the goal, by which the maxima may be above the smoothed planes
NARROWER, WIDER = 0.25, 4.0  # times the width before, at most
MEMORY = 0.6  # weight of the mean of the curvatures before, beside the latest one
SHORTEST, LONGEST = 0.1, 0.5  # times the share of a step that was too long, for the next one
SMALL = 0.05  # share of Newton's step below which the bundle's own point is taken
# Shares between 0 and 1 that are spread evenly are a sixth of the width above their planes, and a
# step that moves scores by the width lowers the square of Newton's model by its half.
REACH = 12.0
RIDGE = 1e-10  # share of a feature's own curvature that is added to it


def _square(owner: Any, arrays: Arrays) -> tuple[int, int]:
    size = len(owner.w) if arrays["curvature"].size else 0
    return size, size


@dataclass
class BundleNewton(Bundle):
    """Cuts, and the point from which Newton's method goes on.

    width : of the smoothing
    share : of Newton's step, that is tried next
    base : (d,) the point; tangent : of the smoothed sum there; slack_there, bulge,
        width_there : of it
    curvature : (d, d) mean over the passes up to the base; (0, 0) before the first
    """

    name: ClassVar[str] = "bundle-newton"
    needs: ClassVar[Needs] = Needs(curved=True)
    keys: ClassVar[frozenset[str]] = Bundle.keys - {"cache"}
    opens: ClassVar[bool] = False

    width: float = field(default=WIDEST, metadata=value(positive))
    share: float = field(default=1.0, metadata=value(positive))
    base: np.ndarray = field(init=False, metadata=vector())
    tangent: Plane = field(init=False, metadata=plane())
    slack_there: float = field(default=0.0, metadata=value(number))
    bulge: float = field(default=0.0, metadata=value(number))
    width_there: float = field(default=WIDEST, metadata=value(positive))
    curvature: np.ndarray = field(init=False, metadata=vector(_square))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0.

        Raises LssvmError if second derivatives would take too much memory.
        """
        needed = 8 * dimension**2 * SUMS  # blocks that are computed have their own sums
        if needed > config.solver.max_cache_mb * MEGABYTE:
            raise LssvmError(
                f"the second derivatives of {dimension:,d} weights take "
                f"{needed / MEGABYTE:,.0f} MB, more than solver.max_cache_mb; raise it, or use "
                "solver.method: bundle"
            )
        return super().from_config(config, dimension, restart, inner_product)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.base, self.curvature = np.zeros(len(self.w)), np.zeros((0, 0))
        self.tangent = Plane(np.zeros(len(self.w)), 0.0)

    def _improve(self, oracle: Any, C: float, target: Callable[[], float]) -> bool:
        """A cut at Newton's point, or where that has failed at the bundle's own."""
        point = self._model_minimiser(C, target())
        if not self.is_unsolved(C, target()):
            return False
        move, fall = self._newton(C)
        self._fit_width(C, fall, SMOOTH_SHARE * target())
        if self.share < SMALL:
            self._ask(oracle, C, self.w + self.step * (point - self.w))
        else:
            self._ask(oracle, C, self.base + self.share * move)
        return True

    def _newton(self, C: float) -> tuple[np.ndarray, float]:
        """Newton's step from the base, (d,), and the first-order fall along it."""
        slope = self.base + C * (self.tangent.gradient - self.completion.gradient)
        system = C * self.curvature
        places = np.diag_indices(len(system))
        # Equal features: beside their squares the 1 may be lost in rounding.
        system[places] = 1.0 + (1.0 + RIDGE) * system[places]
        move = -np.linalg.solve(system, slope)
        return move, -float(slope @ move)

    def _fit_width(self, C: float, fall: float, goal: float) -> None:
        """Fit the width to Newton's step, and to what it leaves between planes and maxima."""
        reach = fall / (REACH * C * self.bulge) if self.bulge > 0.0 else 1.0
        slack = C * self.slack_there
        if reach > 1.0:
            self.width = min(WIDEST, self.width * min(WIDER, float(np.sqrt(reach))))
        elif slack > goal:
            rate = max(NARROWER, float(np.sqrt(max(goal / slack, reach))))
            self.width *= min(1.0, rate)

    def _found(self, oracle: SmoothedOracle, C: float, w: np.ndarray) -> tuple[Plane, float]:
        """The smoothed plane at w; Newton's method goes on from there if it is a better point."""
        found = oracle.smoothed(w, self.width)
        first = not self.curvature.size
        mean = found.curvature
        if not first:
            mean = MEMORY * self.curvature + (1.0 - MEMORY) * mean
        self.curvature = mean
        rise = np.inf if first else self._rise(C, w, found)
        if first or self.share < SMALL or rise < 0.0:
            self.base, self.tangent, self.share = w, found.tangent, 1.0
            self.slack_there, self.bulge = found.slack, found.bulge
            self.width_there = self.width
        else:
            fall = self.share * self._newton(C)[1]
            self.share *= min(LONGEST, max(SHORTEST, fall / (2.0 * (rise + fall))))
        return found.plane, found.plane.value(w) + found.slack

    def _check_restored(self) -> None:
        """Refuse second derivatives of no convex function, too."""
        super()._check_restored()
        if not self.curvature.size:
            return
        largest = np.abs(self.curvature).max()
        symmetric = np.abs(self.curvature - self.curvature.T).max() <= ASYMMETRY * largest
        if not symmetric or np.linalg.eigvalsh(self.curvature)[0] < -ASYMMETRY * largest:
            raise ModelError("array 'curvature' is of no convex function")

    def _rise(self, C: float, w: np.ndarray, found: Smoothing) -> float:
        """By how much the objective at w exceeds that at the base: smoothed or not, the less.

        The base was smoothed to another width; by how much depends on its square.
        """
        before, after = 0.5 * float(self.base @ self.base), 0.5 * float(w @ w)
        before += C * self.tangent.above(self.completion, self.base)
        after += C * found.tangent.above(self.completion, w)
        spread, found_spread = self.bulge - self.slack_there, found.bulge - found.slack
        exact = (after - C * found_spread) - (before - C * spread)
        scale = min(1.0, (self.width / self.width_there) ** 2)
        return min(exact, exact + C * (found_spread - scale * spread))
