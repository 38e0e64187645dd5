"""L-BFGS for objectives that are smooth, with a certified gap.

Where U⁺ is a log-sum-exp (a conditional random field), P has a gradient, and quasi-Newton steps
from the last few changes of it need fewer passes than cutting planes (Liu & Nocedal, Mathematical
Programming 45, 1989). ½‖w‖² makes P strongly convex, so that

    P(w) − ½‖∇P(w)‖² ≤ min P

at every w: the lower bound costs nothing. It is the bound of the plane at w; a mean of the planes
so far proves another bound, which is usually higher. Steps satisfy the weak Wolfe conditions by
bisection.

The first Hessian is a multiple of the identity, or of the square root of the diagonal of the
Hessian if the oracle knows it. The identity is slow if features differ much in frequency. With the
diagonal itself, steps are too long for rare features that occur together, because these steps add
up. The root lies between the two and needed the fewest passes: for a conditional random field with
two million weights a third of the passes with the identity.

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
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lssvm.checked import Arrays, above, flag, number, positive, whole
from lssvm.oracle import Oracle
from lssvm.plane import Plane, inner_difference
from lssvm.solvers import kept
from lssvm.solvers.history import History, KeptHistory
from lssvm.solvers.needs import Needs
from lssvm.solvers.solver import Initialisation, InnerProduct, SummedSolver
from lssvm.solvers.steps import height

DECREASE, SLOPE = 1e-4, 0.9  # of the Wolfe conditions
RESCALED = 25  # steps after which the Hessian's diagonal is found again
MOST_TRIALS = 40  # points of one line search: beyond that rounding is the limit


def _scaled(owner: Any, arrays: Arrays) -> tuple[int]:
    return (len(owner.w) if arrays["scale"].size > 1 else 1,)


class _Trial(NamedTuple):
    """A point of a line search: its planes, P there, and how steep P is along the line."""

    w: np.ndarray
    plane: Plane
    slack: float
    completion: Plane
    value: float
    steepness: float


@dataclass
class Lbfgs(SummedSolver):
    """Quasi-Newton steps; w is where they stand, and P, or F, never rises.

    memory : changes of w and of the gradient that are remembered
    completion : the plane of Σ c_i U⁻_i; completes : whether that is taken anew at every point
    outputs, loss : the plane of Σ c_i U⁺_i at w, the gradient empty before the first pass
    value : P at w, which is F where every point is completed
    mean, mean_loss : a mean of the planes at the points so far, which proves a bound, too
    history : changes of w and of ∇P
    scale : (d,) float32, roots of about the Hessian's diagonal where the oracle knows it, else (1,)
    taken : steps since the scale was found
    """

    name: ClassVar[str] = "lbfgs"
    needs: ClassVar[Needs] = Needs(smooth=True)
    on_objective: ClassVar[bool] = True

    w: np.ndarray = field(metadata=kept.vector())
    completion: Plane = field(metadata=kept.plane())
    memory: int = 5
    outputs: np.ndarray = field(
        default_factory=lambda: np.empty(0), metadata=kept.vector(kept.evaluated_shape)
    )
    mean: np.ndarray = field(
        default_factory=lambda: np.empty(0), metadata=kept.vector(kept.evaluated_shape)
    )
    history: History = field(init=False, metadata=kept.kept(KeptHistory()))
    scale: np.ndarray = field(
        default_factory=lambda: np.ones(1, dtype=np.float32),
        metadata=kept.array(np.float32, _scaled, least=1.0),
    )
    taken: int = field(default=0, metadata=kept.value(whole))
    completes: bool = field(default=False, metadata=kept.value(flag))
    C: float = field(default=0.0, metadata=kept.value(positive))
    value: float = field(default=np.inf, metadata=kept.value(above))
    loss: float = field(default=0.0, metadata=kept.value(number))
    mean_loss: float = field(default=0.0, metadata=kept.value(number))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        w = np.zeros(dimension)
        return cls(w, Plane(w, 0.0))

    def __post_init__(self) -> None:
        self.history = History(self.memory, len(self.w))

    @property
    def planes_kept(self) -> int:
        """The number of changes that are remembered."""
        return len(self.history)

    def initialise(self, oracle: Oracle, initial: Initialisation) -> None:
        """Begin at the first weights, or with the first completion; see ``Solver``."""
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
        """Set a new completion, on which the changes of the gradient do not depend: they stay."""
        self.completion = completion
        self.begin_problem()
        if len(self.outputs):
            self.value = self._height(self.C)

    def primal(self, C: float) -> float:
        """P at w; if no upper bound of U⁺ is known, its plane replaces U⁺."""
        return self.value if C == self.C else self._height(C)

    def _height(self, C: float) -> float:
        return height(self.w, C, self.own_plane(), self.completion, self.slack)

    def own_plane(self) -> Plane:
        """The plane that was found at w."""
        return Plane(self.outputs, self.loss)

    def _begin(self, oracle: Oracle, C: float) -> None:
        """Set C; compute a first plane if there is none yet."""
        if C != self.C:
            self.C, self.lower = C, 0.0
            self.history.forget()
            self.value = self._height(C) if len(self.outputs) else np.inf
        if not len(self.outputs):
            self._stand(self.w, *self._pass(oracle, self.w, self.completion))
            self.mean, self.mean_loss = self.outputs.copy(), self.loss
            self._rescale(oracle)
        self._raise_bound()

    def _improve(self, oracle: Oracle, C: float, target: Callable[[], float]) -> bool:
        """A line search; False if no point is lower by more than rounding."""
        moved = self._step(oracle)
        if moved:
            self._raise_bound()
        return moved

    def _rescale(self, oracle: Oracle) -> None:
        """Compute the scale at the point of the last pass."""
        diagonal = oracle.curvature(self.w)
        self.taken = 0
        if diagonal is not None:
            diagonal *= self.C
            diagonal += 1.0
            self.scale = np.sqrt(diagonal, out=diagonal).astype(np.float32)

    def _slope(self, w: np.ndarray, plane: Plane, completion: Plane) -> np.ndarray:
        """∇P at w, of which plane is that of Σ c_i U⁺_i."""
        slope = plane.gradient - completion.gradient
        slope *= self.C
        slope += w
        return slope

    def _here(self) -> np.ndarray:
        """∇P at the current point."""
        return self._slope(self.w, self.own_plane(), self.completion)

    def _trial(self, oracle: Oracle, share: float, direction: np.ndarray) -> _Trial:
        """A pass at a share of the way."""
        w = share * direction
        w += self.w
        plane, slack, completion = self._pass(oracle, w)
        value = height(w, self.C, plane, completion, slack)
        difference = inner_difference(plane.gradient, completion.gradient, direction)
        steepness = float(w @ direction) + self.C * difference
        return _Trial(w, plane, slack, completion, value, steepness)

    def _move(self, step: np.ndarray, found: _Trial) -> None:
        """Stand at the point that was found a step away, and remember what changed."""
        change, before = self.outputs, self.completion
        self._stand(found.w, found.plane, found.slack, found.completion)
        np.subtract(self.outputs, change, out=change)
        if found.completion is not before:
            change -= found.completion.gradient
            change += before.gradient
        change *= self.C
        change += step
        self.history.add(step, change)

    def _raise_bound(self) -> None:
        """A bound of the convex problem; at another completion that is another problem.

        The mean moves towards the plane at w as far as that raises its bound (Frank-Wolfe).
        """
        known = 0.0 if self.completes else self.lower
        move = self.outputs - self.mean
        square = self.C * float(move @ move)
        rise = self.loss - self.mean_loss
        rise -= self.C * inner_difference(self.mean, self.completion.gradient, move)
        share = min(1.0, max(0.0, rise / square)) if square > 0.0 else 0.0
        move *= share
        self.mean += move
        self.mean_loss += share * (self.loss - self.mean_loss)
        own = self._proved(self.own_plane())
        self.lower = max(known, own, self._proved(Plane(self.mean, self.mean_loss)))

    def _proved(self, plane: Plane) -> float:
        """The lower bound of min P that a plane of Σ c_i U⁺_i proves."""
        slope = plane.gradient - self.completion.gradient
        return self.C * (plane.loss - self.completion.loss) - 0.5 * self.C**2 * float(slope @ slope)

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
        self.value = self._height(self.C)

    def _step(self, oracle: Oracle) -> bool:
        """One line search; False if no point is lower by more than rounding."""
        began, spent = time.perf_counter(), oracle.seconds
        slope = self._here()
        direction = self.history.direction(slope, self.scale)
        fall = float(slope @ direction)
        del slope  # as long as w, like all that is here
        share, low, high = 1.0, 0.0, np.inf
        found: _Trial | None = None
        for _ in range(MOST_TRIALS):
            found = None  # it goes before room for the next one is taken
            found = self._trial(oracle, share, direction)
            if found.value > self.value + DECREASE * share * fall:
                high = share
            elif found.steepness < SLOPE * fall:
                low = share
            else:
                break
            if self.problem_passes >= self.most_passes:
                break
            share = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
        assert found is not None
        moved = found.value < self.value
        if moved:
            direction *= share
            self._move(direction, found)
            self.taken += 1
            if self.taken >= RESCALED:
                self._rescale(oracle)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return moved
