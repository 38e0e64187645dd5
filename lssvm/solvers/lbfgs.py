"""L-BFGS for objectives that are smooth, with a certified gap.

Where U⁺ is a log-sum-exp (a conditional random field), P has a gradient, and quasi-Newton steps
from the last few changes of it need fewer passes than cutting planes (Liu & Nocedal, Mathematical
Programming 45, 1989). ½‖w‖² makes P strongly convex, so that

    P(w) − ½‖∇P(w)‖² ≤ min P

at every w: the lower bound costs nothing. Steps satisfy the weak Wolfe conditions by bisection.

With hidden values (a hidden conditional random field) the steps are on F itself, which needs less
inference than steps inside CCCP, the more so the larger C is: at every point the hidden values are
completed anew. At w the convex problem P_w of CCCP touches F and has its gradient, so that

    F(w) − ½‖∇F(w)‖² ≤ min P_w

certifies the convex problem at the last point, as CCCP certifies its last one: completing there and
solving on could lower F by no more than the gap. Only a first completion that is given, where all
hidden values tie at w = 0, is kept for a first convex problem.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import Arrays, above, flag, number, positive
from lssvm.errors import ModelError
from lssvm.oracle import Oracle
from lssvm.plane import Plane
from lssvm.solvers import kept
from lssvm.solvers.needs import Needs
from lssvm.solvers.solver import Initialisation, InnerProduct, SummedSolver
from lssvm.solvers.steps import height

DECREASE, SLOPE = 1e-4, 0.9  # of the Wolfe conditions
MOST_TRIALS = 40  # points of one line search: beyond that rounding is the limit


def _rows(owner: Any, arrays: Arrays) -> tuple[None, int]:
    return None, len(owner.w)


def _like_steps(owner: Any, arrays: Arrays) -> tuple[int, ...]:
    return owner.steps.shape


@dataclass
class Lbfgs(SummedSolver):
    """Quasi-Newton steps; w is where they stand, and P, or F, never rises.

    memory : changes of w and of the gradient that are remembered
    completion : the plane of Σ c_i U⁻_i; completes : whether that is taken anew at every point
    outputs, loss : the plane of Σ c_i U⁺_i at w, the gradient empty before the first pass
    value : P at w, which is F where every point is completed
    steps, changes : (m, d) changes of w and of ∇P, oldest first
    """

    name: ClassVar[str] = "lbfgs"
    needs: ClassVar[Needs] = Needs(smooth=True)
    on_objective: ClassVar[bool] = True

    w: np.ndarray = field(metadata=kept.vector())
    completion: Plane = field(metadata=kept.plane())
    memory: int = 10
    outputs: np.ndarray = field(
        default_factory=lambda: np.empty(0), metadata=kept.vector(kept.evaluated_shape)
    )
    steps: np.ndarray = field(init=False, metadata=kept.vector(_rows))
    changes: np.ndarray = field(init=False, metadata=kept.vector(_like_steps))
    completes: bool = field(default=False, metadata=kept.value(flag))
    C: float = field(default=0.0, metadata=kept.value(positive))
    value: float = field(default=np.inf, metadata=kept.value(above))
    loss: float = field(default=0.0, metadata=kept.value(number))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        w = np.zeros(dimension)
        return cls(w, Plane(w, 0.0))

    def __post_init__(self) -> None:
        self.steps = np.empty((0, len(self.w)))
        self.changes = np.empty((0, len(self.w)))

    @property
    def planes_kept(self) -> int:
        """Changes that are remembered."""
        return len(self.steps)

    def initialise(self, oracle: Oracle, initial: Initialisation) -> None:
        """Stand at the first weights or completion; without hidden values that is the truth."""
        super().initialise(oracle, initial)
        if not initial.hidden:
            self.completes = False

    def complete(self, oracle: Oracle) -> None:
        """Complete the hidden values at w, and from here on at every point."""
        if self.completes and len(self.outputs):
            self.begin_problem()
        else:
            self.measure_from(oracle.completed(self.w))
        self.completes = True

    def measure_from(self, completion: Plane) -> None:
        """Take a new completion. Changes of the gradient do not depend on it: they are kept."""
        self.completion = completion
        self.begin_problem()

    def primal(self, C: float) -> float:
        """P at w; where no upper bound of U⁺ is known, as its plane has it."""
        return height(self.w, C, self.own_plane(), self.completion, self.slack)

    def own_plane(self) -> Plane:
        """The plane that was found at w."""
        return Plane(self.outputs, self.loss)

    def _begin(self, oracle: Oracle, C: float) -> None:
        """Take over C; compute a first plane if there is none yet."""
        if C != self.C:
            self.C, self.lower = C, 0.0
            self.steps, self.changes = self.steps[:0], self.changes[:0]
            self.value = self.primal(C) if len(self.outputs) else np.inf
        if not len(self.outputs):
            self._stand(self.w, *self._pass(oracle, self.w, self.completion))
        self._raise_bound()

    def _improve(self, oracle: Oracle, C: float, target: Callable[[], float]) -> bool:
        """A line search; False if no point is lower by more than rounding."""
        moved = self._step(oracle)
        if moved:
            self._raise_bound()
        return moved

    def _slope(self, w: np.ndarray, plane: Plane, completion: Plane) -> np.ndarray:
        """∇P at w, of which plane is that of Σ c_i U⁺_i."""
        return w + self.C * (plane.gradient - completion.gradient)

    def _here(self) -> np.ndarray:
        """∇P where the steps stand."""
        return self._slope(self.w, Plane(self.outputs, self.loss), self.completion)

    def _raise_bound(self) -> None:
        """A bound of the convex problem; at another completion that is another problem."""
        slope, plane = self._here(), Plane(self.outputs, self.loss)
        known = 0.0 if self.completes else self.lower
        below = height(self.w, self.C, plane, self.completion, 0.0)
        self.lower = max(known, below - 0.5 * float(slope @ slope))

    def _pass(
        self, oracle: Oracle, w: np.ndarray, completion: Plane | None = None
    ) -> tuple[Plane, float, Plane]:
        """The plane of U⁺ and its slack at w, and the completion there, unless it is given."""
        plane, upper = oracle.augmented(w)
        self.problem_passes += 1
        if completion is None:
            completion = oracle.completed(w) if self.completes else self.completion
        slack = upper - plane.value(w)
        self.check_truth(oracle, w, plane, slack, completion)
        if len(self.outputs):
            self.check_plane(oracle, w, plane, slack, self.own_plane())
        return plane, slack, completion

    def _stand(self, w: np.ndarray, plane: Plane, slack: float, completion: Plane) -> None:
        self.w, self.outputs, self.loss, self.slack = w, plane.gradient, plane.loss, slack
        self.completion = completion
        self.value = self.primal(self.C)

    def _direction(self, slope: np.ndarray) -> np.ndarray:
        """−H ∇P, with H the inverse Hessian that the remembered changes suggest."""
        direction = -slope
        if not len(self.steps):
            return direction / max(1.0, float(np.linalg.norm(slope)))
        inner = np.einsum("ij,ij->i", self.steps, self.changes)
        shares = np.zeros(len(inner))
        for i in range(len(inner) - 1, -1, -1):
            shares[i] = float(self.steps[i] @ direction) / inner[i]
            direction = direction - shares[i] * self.changes[i]
        direction = direction * (inner[-1] / float(self.changes[-1] @ self.changes[-1]))
        for i in range(len(inner)):
            back = float(self.changes[i] @ direction) / inner[i]
            direction = direction + (shares[i] - back) * self.steps[i]
        return direction

    def _step(self, oracle: Oracle) -> bool:
        """One line search; False if no point is lower by more than rounding."""
        began, spent = time.perf_counter(), oracle.seconds
        slope = self._here()
        direction = self._direction(slope)
        fall = float(slope @ direction)
        share, low, high = 1.0, 0.0, np.inf
        for _ in range(MOST_TRIALS):
            w = self.w + share * direction
            plane, slack, completion = self._pass(oracle, w)
            value = height(w, self.C, plane, completion, slack)
            steepness = float(self._slope(w, plane, completion) @ direction)
            if value > self.value + DECREASE * share * fall:
                high = share
            elif steepness < SLOPE * fall:
                low = share
            else:
                break
            share = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
        moved = value < self.value
        if moved:
            self._remember(w - self.w, self._slope(w, plane, completion) - slope)
            self._stand(w, plane, slack, completion)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return moved

    def _remember(self, step: np.ndarray, change: np.ndarray) -> None:
        if float(step @ change) > 0.0:
            self.steps = np.vstack([self.steps, step])[-self.memory :]
            self.changes = np.vstack([self.changes, change])[-self.memory :]

    def _check_restored(self) -> None:
        """Refuse changes that a convex function cannot have given."""
        curved = np.einsum("ij,ij->i", self.steps, self.changes) > 0.0
        if len(self.steps) > self.memory or not curved.all():
            raise ModelError("arrays 'steps' and 'changes' are not those of a convex function")
