"""(Sub)gradient descent on the convex problems of CCCP, with a certified gap.

Ping, Liu & Ihler (ICML 2014), Algorithm 2: at every point one pass gives a plane of Σ c_i U⁺_i,
and with the completion fixed

    w ← w − η s,   s = w + C (g − v) ∈ ∂P(w)

where g is the gradient of that plane and v that of the completion. The experiments of the paper
have a constant η, 0.02 for mssvm and 0.001 for lssvm (section 7.1): ``learning_rate`` with ``decay:
constant``. Algorithm 2 ends when the norm of the (sub)gradient is at most ε; that is
``gradient_norm`` (for the whole of s: the sum that is printed there lacks w, and does not vanish at
the minimum). Otherwise the gap ends the problem. The mean of the planes, moved by the same η, ḡ ←
(1 − η) ḡ + η g, is a plane below Σ c_i U⁺_i again, so

    D = C (ℓ̄ − ℓ_c) − ½ ‖C (ḡ − v)‖² ≤ min P

which costs no pass; the plane at the point alone gives such a bound too, P(w) − ½ ‖s‖², which comes
near P(w) where P is smooth. Unless a learning rate is given, η = min(1, (P(w) − D) / ‖s‖²):
Polyak's step (Introduction to Optimization, 1987, section 5.3) with D for the minimum that is not
known. Once w = −C (ḡ − v), as it is from the start where w_0 = 0 and ever more nearly otherwise,
that step raises D by as much as can be (Frank-Wolfe in the dual: Bach, SIAM J. Optimization 25,
2015).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import above, number, positive, whole
from lssvm.oracle import Oracle
from lssvm.plane import Plane
from lssvm.solvers.kept import evaluated_shape, plane, value, vector
from lssvm.solvers.solution import Solution
from lssvm.solvers.solver import InnerProduct, SummedSolver
from lssvm.solvers.steps import Steps, height


@dataclass
class Gradient(SummedSolver):
    """Subgradient descent; the mean of the planes proves the lower bound.

    w : (d,) the best point seen; outputs, loss : the plane of Σ c_i U⁺_i there, the gradient empty
        before the first pass
    point : (d,) the current point; cut, cut_loss : the plane there; cut_slack : ``slack`` there
    mean, mean_loss : the mean of the planes; taken : number of steps so far
    gradient_norm : the norm of the subgradient that ends a problem; None: its gap does
    completion : the plane of Σ c_i U⁻_i
    """

    name: ClassVar[str] = "gradient"
    keys: ClassVar[frozenset[str]] = frozenset({"learning_rate", "decay", "gradient_norm"})

    w: np.ndarray = field(metadata=vector())
    completion: Plane = field(metadata=plane())
    steps: Steps = field(default_factory=Steps)
    gradient_norm: float | None = None
    point: np.ndarray = field(init=False, metadata=vector())
    outputs: np.ndarray = field(
        default_factory=lambda: np.empty(0), metadata=vector(evaluated_shape)
    )
    cut: np.ndarray = field(default_factory=lambda: np.empty(0), metadata=vector(evaluated_shape))
    mean: np.ndarray = field(init=False, metadata=vector())
    C: float = field(default=0.0, metadata=value(positive))
    taken: int = field(default=0, metadata=value(whole))
    loss: float = field(default=0.0, metadata=value(number))
    cut_loss: float = field(default=0.0, metadata=value(number))
    cut_slack: float = field(default=0.0, metadata=value(above))
    mean_loss: float = field(default=0.0, metadata=value(number))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        w, section = np.zeros(dimension), config.solver
        steps = Steps(section.learning_rate, section.decay)
        return cls(w, Plane(w, 0.0), steps, section.gradient_norm)

    def __post_init__(self) -> None:
        self.measure_from(self.completion)

    @property
    def planes_kept(self) -> int:
        """One plane, the mean of all planes."""
        return 1

    def measure_from(self, completion: Plane) -> None:
        """Set a new completion, on which the planes do not depend; continue from the best point."""
        self.completion = completion
        self.begin_problem()
        self.point, self.cut, self.cut_loss = self.w, self.outputs, self.loss
        self.cut_slack = self.slack
        if not self.taken:
            self.mean, self.mean_loss = completion.gradient, completion.loss

    def primal(self, C: float) -> float:
        """P at the best point; if no upper bound of U⁺ is known, its plane replaces U⁺."""
        return height(self.w, C, self.own_plane(), self.completion, self.slack)

    def own_plane(self) -> Plane:
        """The plane that was found at the best point."""
        return Plane(self.outputs, self.loss)

    @property
    def ends_itself(self) -> bool:
        """Whether the norm of the (sub)gradient ends a problem."""
        return self.gradient_norm is not None

    def is_unsolved(self, C: float, target: float) -> bool:
        """Whether the subgradient at the point, or the gap, is still too large."""
        if self.gradient_norm is None:
            return super().is_unsolved(C, target)
        return float(np.linalg.norm(self._slope())) > self.gradient_norm

    def solution(self, C: float, w: np.ndarray, target: float) -> Solution:
        """The solution of the problem, with its bound and gap."""
        return super().solution(C, w, target)._replace(converged=not self.is_unsolved(C, target))

    def _begin(self, oracle: Oracle, C: float) -> None:
        """Set C; compute a first plane if there is none yet."""
        if C != self.C:
            self.C, self.taken, self.lower = C, 0, 0.0
        if not len(self.outputs):
            self.point = self.w
            self._ask(oracle)
            self.at_zero = not np.any(self.w)
        self._raise_bound()

    def _improve(self, oracle: Oracle, C: float, target: Callable[[], float]) -> bool:
        """Make a step, and compute the plane at the new point."""
        self._step()
        self._ask(oracle)
        self._raise_bound()
        return True

    def _ask(self, oracle: Oracle) -> None:
        """Make an oracle pass at the current point, the new best point if P is lower there."""
        plane, upper = oracle.augmented(self.point)
        self.problem_passes += 1
        self.cut, self.cut_loss = plane.gradient, plane.loss
        self.cut_slack = upper - plane.value(self.point)
        self.check_truth(oracle, self.point, plane, self.cut_slack, self.completion)
        self.check_plane(
            oracle, self.point, plane, self.cut_slack, Plane(self.mean, self.mean_loss)
        )
        if not len(self.outputs) or self.at_zero or self._here() < self.primal(self.C):
            self.w, self.outputs, self.loss = self.point, self.cut, self.cut_loss
            self.slack, self.at_zero = self.cut_slack, False

    def _here(self) -> float:
        """P at the current point."""
        plane = Plane(self.cut, self.cut_loss)
        return height(self.point, self.C, plane, self.completion, self.cut_slack)

    def _slope(self) -> np.ndarray:
        """s, a subgradient of P at the current point."""
        return self.point + self.C * (self.cut - self.completion.gradient)

    def _dual(self) -> float:
        """D, a lower bound of every P(w)."""
        return self._least(Plane(self.mean, self.mean_loss))

    def _least(self, plane: Plane) -> float:
        """The least value of P with a plane in the place of Σ c_i U⁺_i."""
        move = self.C * (plane.gradient - self.completion.gradient)
        return self.C * (plane.loss - self.completion.loss) - 0.5 * float(move @ move)

    def _raise_bound(self) -> None:
        self.lower = max(self.lower, self._dual(), self._least(Plane(self.cut, self.cut_loss)))

    def _step(self) -> None:
        """Move the point along −s, and update the mean of the planes."""
        began = time.perf_counter()
        slope = self._slope()
        if self.steps.learning_rate is None:
            square = float(slope @ slope)
            most = (self._here() - self._dual()) / square if square > 0.0 else 0.0
            size = min(1.0, max(0.0, most))
        else:
            size = self.steps.size(self.taken)
        self.point = self.point - size * slope
        self.mean = self.mean + size * (self.cut - self.mean)
        self.mean_loss += size * (self.cut_loss - self.mean_loss)
        self.taken += 1
        self.seconds += time.perf_counter() - began
