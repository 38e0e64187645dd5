"""Epochs of visits, sweeps over what is kept, and when a certificate is computed.

What both kinds of dual coordinate ascent share: every epoch and every sweep visits the examples in
a new random order; after an epoch a few sweeps go over the kept outputs without inference. The sum
of the gaps that the visits found estimates P − D, and promises when a certificate will do.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from lssvm.checked import Arrays, above, positive, whole
from lssvm.kernels import _dual_coordinate
from lssvm.solvers.conjugate_gradients import climb
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.kept import array, value
from lssvm.solvers.kept_outputs import KeptOutputs
from lssvm.solvers.solver import Solver

SWEPT_SHARE = 0.3  # of the gap over what is kept, which they may leave
SMALL_SHARE = 0.3  # of the goal's share of one example: a gap below it may rest
PROMISE = 1.0  # a certificate is asked for once the sampled gaps are this multiple of the goal
FIRST_CHECK = 2  # epochs before the first certificate
# An epoch is slow if this share of the sampled gaps before it is left: where the kernel solves
# for all outputs, and where pairwise steps go over few; there conjugate gradients take longer.
SLOW, SLOW_STEPS = 0.8, 0.97
CG_STEPS = 20  # at most
VISITS, SWEEP = 0, 1  # what the loop is at


def _examples(owner: Any, arrays: Arrays) -> tuple[None]:
    return (None,)


@dataclass(kw_only=True)
class Epochs(Solver):
    """Visits of examples, sweeps over what is kept, certificates.

    order : (n,) of the visits under way; place : the next one; phase : what the loop is at
    swept : sweeps since the last epoch; sampled : the gaps that the last epoch saw; cached : those
        of the sweep under way
    most_sweeps : over what is kept, after an epoch; check_every : epochs, at the latest, a
        certificate is computed; patience : slow epochs before conjugate gradients help, once after
        every one that follows
    epochs : in the current problem; checked : at the last certificate; slow : how many of the last
        epochs have lowered the sampled gaps but little; sweeps_made : in all problems
    """

    most_sweeps: ClassVar[int] = 5
    check_every: ClassVar[int] = 10
    patience: ClassVar[int] = 3

    C: float = field(default=0.0, metadata=value(positive))
    place: int = field(default=0, metadata=value(whole))
    phase: int = field(default=VISITS, metadata=value(whole))
    swept: int = field(default=0, metadata=value(whole))
    sampled: float = field(default=np.inf, metadata=value(above))
    cached: float = field(default=0.0, metadata=value(positive))
    epochs: int = field(default=0, metadata=value(whole))
    checked: int = field(default=0, metadata=value(whole))
    slow: int = field(default=0, metadata=value(whole))
    sweeps_made: int = field(default=0, metadata=value(whole))
    order: np.ndarray = field(init=False, metadata=array(np.int32, _examples, least=0))
    generator: np.ndarray = field(init=False, metadata=array(np.uint64, lambda *_: (1,)))

    @property
    @abstractmethod
    def kept_planes(self) -> ExamplePlanes:
        """The planes of all examples, with their multipliers."""

    @abstractmethod
    def _side_by_side(self, oracle: Any) -> KeptOutputs:
        """The same, as conjugate gradients take them."""

    @abstractmethod
    def _proceed(self, oracle: Any, goal: float) -> bool:
        """Visits for a moment; whether the epoch or sweep is at its end."""

    @abstractmethod
    def _certify(self, oracle: Any) -> None:
        """D from the multipliers alone, and P by a pass at the w that they give."""

    @property
    def planes_kept(self) -> int:
        """Planes that are kept now."""
        return len(self.kept_planes)

    def _seed(self, seed: int) -> None:
        """Make a generator; there are no examples yet."""
        self.order = np.zeros(0, dtype=np.int32)
        self.generator = np.random.SeedSequence([seed]).generate_state(1, np.uint64)

    def _draw_first(self, n: int) -> None:
        """The order of the first epoch."""
        self.order = np.arange(n, dtype=np.int32)
        _dual_coordinate.shuffle(self.order, self.generator)

    def _begin_epochs(self) -> None:
        """Forget how the epochs of the problem before went; its planes stay."""
        self.begin_problem()
        self.epochs, self.checked, self.slow, self.swept = 0, 0, 0, 0
        self.phase, self.place, self.sampled, self.cached = VISITS, 0, np.inf, 0.0
        self.kept_planes.rests[:] = 0

    def _improve(self, oracle: Any, C: float, target: Callable[[], float]) -> bool:
        """A part of an epoch or of a sweep; at the end of both perhaps a certificate."""
        began, spent = time.perf_counter(), oracle.seconds
        if self._proceed(oracle, target()):
            self._turn(oracle, target)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return True

    def _turn(self, oracle: Any, target: Callable[[], float]) -> None:
        """What follows an epoch or a sweep."""
        planes = self.kept_planes
        self.place = 0
        if self.phase == VISITS:
            self.epochs += 1
            self.problem_passes += 1
            self.swept = 0
            before, self.sampled = self.sampled, float(planes.gaps.sum())
            slow = SLOW if planes.exact else SLOW_STEPS
            self.slow = self.slow + 1 if self.sampled > slow * before else 0
            if self.slow >= self.patience:
                climb(self._side_by_side(oracle), CG_STEPS)
                self.sweeps_made += 1
        else:
            self.swept += 1
            self.sweeps_made += 1
        left = self.cached if self.phase == SWEEP else np.inf
        self.cached = 0.0
        settled = left <= SWEPT_SHARE * self.sampled or self.swept >= self.most_sweeps
        self.phase = VISITS if settled or planes.exact else SWEEP
        _dual_coordinate.shuffle(self.order, self.generator)
        if self.phase == VISITS and self._promising(target()):
            self._certify(oracle)

    def _promising(self, goal: float) -> bool:
        """Whether it is time for a certificate."""
        if self.at_zero or not np.isfinite(self.primal(self.C)):
            return self.epochs >= FIRST_CHECK or self.sampled <= 0.0
        return self.sampled <= PROMISE * goal or self.epochs - self.checked >= self.check_every
