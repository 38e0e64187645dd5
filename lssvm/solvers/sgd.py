"""Stochastic (sub)gradient descent on F itself, without CCCP; no bound is known.

    F(w) = ½‖w‖² + C Σ c_i [ U⁺_i(w) − U⁻_i(w) ]

Ping, Liu & Ihler (ICML 2014), Algorithm 1: the direction is the difference of the (sub)gradients of
the two convex parts, so hidden values are completed anew at every step. The examples are cut into M
mini-batches of ``batch_size`` that follow each other in the data; an epoch takes each once, in
random order, and M times its sum stands for that of all:

    w ← w − η_t [ w + C M Σ_batch c_i (∇U⁺_i − ∇U⁻_i) ]

With one batch of all examples, a constant η (the paper has 0.02 for mssvm and 0.001 for lssvm,
section 7.1) and ``average: false``, that is Algorithm 1 as it is printed. Unless a learning rate is
given, it is found by trial, as L. Bottou's SGD (COMPSTAT 2010) and CRFsuite do:
an epoch over a sample of the batches with one rate after the other, from w_0; the one that ends
lowest is taken. The point that is kept is the weighted mean of all points, the t-th one by t
(Lacoste-Julien, Schmidt & Bach, 2012), or the last one, whichever has the lower F.

F is not convex, and nothing is proved of what is found but the value of F.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import LONGEST, Arrays, flag, number, positive, whole
from lssvm.errors import LssvmError
from lssvm.oracle import Oracle, PartsOracle
from lssvm.plane import Plane, total
from lssvm.solvers.kept import evaluated_shape, generator, plane, value, vector
from lssvm.solvers.needs import Needs
from lssvm.solvers.solution import Solution
from lssvm.solvers.solver import Initialisation, InnerProduct, SummedSolver
from lssvm.solvers.steps import Steps, height

SAMPLE = 10  # batches of a trial at least, and a tenth of them
TRIALS = 12  # rates that are tried, at most
FACTOR = 2.0  # between one rate and the next


def _shape_at_w(owner: Any, arrays: Arrays) -> tuple[int]:
    return (len(owner.w),) if owner.evaluated else evaluated_shape(owner, arrays)


@dataclass
class Sgd(SummedSolver):
    """Steps after every few examples.

    w : (d,) what training ends with: the mean, or the last point
    steps, epochs, batch_size, average, seed : as the configuration has them
    point : (d,) where descent stands; taken : steps so far; learning_rate : η_0
    mean : (d,) weighted mean of the points; averaged : how many went into it
    epoch : epochs done; evaluated : whether F is known at w
    completion, outputs, loss : planes of Σ c_i U⁻_i and Σ c_i U⁺_i at w once that is so
    first : a first completion, which takes the place of completing in the first epoch: where a
        run begins at w = 0 all hidden values tie
    """

    name: ClassVar[str] = "sgd"
    needs: ClassVar[Needs] = Needs(decomposes=True, steps=True)
    keys: ClassVar[frozenset[str]] = frozenset(
        {"learning_rate", "decay", "epochs", "batch_size", "average"}
    )
    on_objective: ClassVar[bool] = True
    single_problem: ClassVar[bool] = True

    w: np.ndarray = field(metadata=vector())
    steps: Steps = field(default_factory=Steps)
    epochs: int = 100
    batch_size: int = 8
    average: bool = True
    seed: int = 0
    first: Plane | None = field(default=None, metadata=plane(optional=True))
    parts: Sequence[Oracle] = field(default=(), repr=False)
    point: np.ndarray = field(init=False, metadata=vector())
    mean: np.ndarray = field(init=False, metadata=vector())
    completion: Plane = field(init=False, metadata=plane())
    rng: np.random.Generator = field(init=False, metadata=generator())
    C: float = field(default=0.0, metadata=value(positive))
    learning_rate: float = field(default=0.0, metadata=value(partial(number, least=0.0, most=1.0)))
    taken: int = field(default=0, metadata=value(whole))
    averaged: int = field(default=0, metadata=value(whole))
    epoch: int = field(default=0, metadata=value(whole))
    loss: float = field(default=0.0, metadata=value(number))
    evaluated: bool = field(default=False, metadata=value(flag))
    outputs: np.ndarray = field(default_factory=lambda: np.empty(0), metadata=vector(_shape_at_w))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        section = config.solver
        return cls(
            np.zeros(dimension),
            Steps(section.learning_rate, section.decay),
            min(section.epochs, section.max_passes),
            section.batch_size,
            section.average,
            config.seed + restart,
        )

    def __post_init__(self) -> None:
        self.point = self.mean = self.w
        self.completion = Plane(np.zeros_like(self.w), 0.0)
        self.rng = np.random.default_rng(self.seed)
        self.lower = -np.inf

    @property
    def planes_kept(self) -> int:
        """0, because no planes are kept."""
        return 0

    def initialise(self, oracle: Oracle, initial: Initialisation) -> None:
        """Begin at the first weights, or at w = 0 with a first completion of hidden values.

        Without hidden values, each part knows its own truth.
        """
        if isinstance(initial.first, np.ndarray):
            self.w = initial.first.copy()
        elif initial.hidden:
            self.measure_from(initial.first)

    def complete(self, oracle: Oracle) -> None:
        """Do nothing, because every step completes its own examples."""

    def measure_from(self, completion: Plane) -> None:
        """Set a completion for the first epoch."""
        self.first = completion

    def primal(self, C: float) -> float:
        """F at w, infinity before it was evaluated; see ``steps.height``."""
        if not self.evaluated:
            return np.inf
        return height(self.w, C, self.own_plane(), self.completion, self.slack)

    def own_plane(self) -> Plane:
        """The plane that was found at w."""
        return Plane(self.outputs, self.loss)

    def target_gap(self, C: float, goal: Callable[[float], float], inexactness: float) -> float:
        """0, because no gap is known that could end the descent."""
        return 0.0

    def is_unsolved(self, C: float, target: float) -> bool:
        """Whether F was not evaluated yet, which is done once all epochs are."""
        return not self.evaluated

    def exhausted(self, C: float, max_passes: float) -> bool:
        """Never: the epochs are counted, and the last round evaluates F."""
        return False

    def solution(self, C: float, w: np.ndarray, target: float) -> Solution:
        """The solution at the end, without a gap."""
        return Solution(w, self.primal(C), self.lower, np.inf, certified=False, converged=False)

    def _begin(self, oracle: PartsOracle, C: float) -> None:
        """Begin at w for a new C, and find the learning rate."""
        self.parts = oracle.parts(self.batch_size)
        if C != self.C:
            self._start(self.parts, C)

    def _improve(self, oracle: PartsOracle, C: float, target: Callable[[], float]) -> bool:
        """Make an epoch or, after the last epoch, evaluate F."""
        if self.epoch < self.epochs:
            self._take_epoch(self.parts)
        else:
            self._evaluate(oracle)
        return True

    def _start(self, parts: Sequence[Oracle], C: float) -> None:
        """Begin at w for this C, and find the learning rate."""
        self.C, self.point, self.mean = C, self.w, self.w
        self.taken = self.averaged = self.epoch = 0
        self.evaluated, self.lower = False, -np.inf
        self.rng = np.random.default_rng(self.seed)
        self.learning_rate = self.steps.learning_rate or self._calibrated(parts)

    def _calibrated(self, parts: Sequence[Oracle]) -> float:
        """The learning rate whose epoch over a sample of the batches ends with the lowest F.

        The first rate that is tried is Polyak's step for a minimum of 0. From there the rates rise
        as long as F ends lower; they fall if it does not, or as long as F does not fall at all. If
        no rate lowers F, because hidden values tie at w, the first rate is taken.
        """
        began, spent = time.perf_counter(), _seconds(parts)
        size = min(len(parts), max(SAMPLE, len(parts) // SAMPLE))
        sample = [parts[k] for k in self.rng.permutation(len(parts))[:size]]
        value, slope = self._of_sample(sample, self.w, len(parts))
        if np.abs(slope).max(initial=0.0) > LONGEST:
            raise LssvmError("the slope of F is too long for float64; rescale the features")
        square = float(slope @ slope)
        rate = min(1.0, value / square) if square > 0.0 and value > 0.0 else 1.0
        tried = {rate: self._trial(sample, rate, len(parts))}
        factor = FACTOR if tried[rate] < value else 1.0 / FACTOR
        self._walk(tried, rate, factor, value, sample, len(parts))
        if factor == FACTOR and min(tried, key=tried.__getitem__) == rate:
            self._walk(tried, rate, 1.0 / FACTOR, value, sample, len(parts))
        self.seconds += time.perf_counter() - began - (_seconds(parts) - spent)
        best = min(tried, key=tried.__getitem__)
        return best if tried[best] < value else rate

    def _walk(
        self,
        tried: dict[float, float],
        rate: float,
        factor: float,
        start: float,
        sample: Sequence[Oracle],
        batches: int,
    ) -> None:
        """Try rates that grow or shrink by the factor until one is no better, once F has fallen."""
        rate *= factor
        while 0.0 < rate <= 1.0 and len(tried) < TRIALS:
            lowest = min(tried.values())
            tried[rate] = self._trial(sample, rate, batches)
            if tried[rate] >= lowest and lowest < start:
                break
            rate *= factor

    def _trial(self, sample: Sequence[Oracle], rate: float, batches: int) -> float:
        """F of the sample after an epoch over it, from w."""
        point, steps = self.w, self.steps._replace(learning_rate=rate)
        for taken, part in enumerate(sample):
            point = point - steps.size(taken) * self._slope(part, point, batches)
        return self._of_sample(sample, point, batches)[0]

    def _of_sample(
        self, sample: Sequence[Oracle], w: np.ndarray, batches: int
    ) -> tuple[float, np.ndarray]:
        """F and its slope at w where the sample stands for all batches."""
        plane = total([self._difference(part, w, batches) for part in sample])
        weight = self.C * batches / len(sample)
        return 0.5 * float(w @ w) + weight * plane.value(w), w + weight * plane.gradient

    def _difference(self, part: Oracle, w: np.ndarray, batches: int) -> Plane:
        """The planes of U⁺ and U⁻ of a batch, the second taken from the first."""
        if self.first is None:
            return part.augmented(w)[0] - part.completed(w)
        first = Plane(self.first.gradient / batches, self.first.loss / batches)
        return part.augmented(w)[0] - first

    def _slope(self, part: Oracle, w: np.ndarray, batches: int) -> np.ndarray:
        return w + self.C * batches * self._difference(part, w, batches).gradient

    def _take_epoch(self, parts: Sequence[Oracle]) -> None:
        began, spent = time.perf_counter(), _seconds(parts)
        steps = self.steps._replace(learning_rate=self.learning_rate)
        for k in self.rng.permutation(len(parts)):
            slope = self._slope(parts[k], self.point, len(parts))
            self.point = self.point - steps.size(self.taken) * slope
            self.taken += 1
            if self.average:
                share = 2.0 / (self.averaged + 2.0)
                self.mean = self.mean + share * (self.point - self.mean)
                self.averaged += 1
        self.first = None
        self.w = self.mean if self.average else self.point
        self.problem_passes += 1
        self.epoch += 1
        self.seconds += time.perf_counter() - began - (_seconds(parts) - spent)

    def _evaluate(self, oracle: Oracle) -> None:
        """Evaluate F at the mean and at the last point, and end with the lower one."""
        for w in [self.mean, self.point] if self.average else [self.point]:
            plane, upper = oracle.augmented(w)
            completion, slack = oracle.completed(w), upper - plane.value(w)
            self.check_truth(oracle, w, plane, slack, completion)
            if height(w, self.C, plane, completion, slack) < self.primal(self.C):
                self.w, self.completion, self.evaluated = w, completion, True
                self.outputs, self.loss, self.slack = plane.gradient, plane.loss, slack


def _seconds(parts: Sequence[Oracle]) -> float:
    return sum(part.seconds for part in parts)
