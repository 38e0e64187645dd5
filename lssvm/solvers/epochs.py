"""Epochs of visits, sweeps over the kept planes, and when a certificate is computed.

Both kinds of dual coordinate ascent share this: every epoch and every sweep visits the examples in
a new random order; after an epoch, a few sweeps go over the kept planes without inference. The sum
of the gaps that the visits find is an estimate of P − D. Once it is as small as the goal, a
certificate is computed. The goal is a share of P; before the first certificate P is not known, and
the dual value of the multipliers with the gaps takes its place. Where epochs take long, the first
certificate comes early all the same, so that who waits knows how far it is.
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

SWEPT_SHARE = 0.3  # sweeps end when their gaps are this share of the sampled gaps
SMALL_SHARE = 0.3  # an example rests if its gap is below this share of the goal divided by n
PROMISE = 1.2  # a certificate is computed once the sampled gaps are this multiple of the goal
FIRST_CHECK = 2  # epochs before the first certificate, where these take long
# An epoch is slow if the sampled gaps stay above this share of what they were. After so many slow
# epochs in a row conjugate gradients run: the first numbers hold if the kernel solves for all
# outputs, the second ones with pairwise steps over the planes that are kept, where conjugate
# gradients take longer, but then run after each further slow epoch.
SLOW, SLOW_STEPS = 0.9, 0.97
PATIENCE, PATIENCE_STEPS = 4, 3
CG_STEPS = 20  # steps of conjugate gradients, at most
VISITS, SWEEP = 0, 1  # the phases: an epoch of visits, or a sweep over the kept planes


def _examples(owner: Any, arrays: Arrays) -> tuple[None]:
    return (None,)


@dataclass(kw_only=True)
class Epochs(Solver):
    """Epochs of visits, sweeps over the kept planes, and certificates.

    order : (n,) the order of visits; place : the index in it of the next visit
    phase : VISITS or SWEEP
    swept : the number of sweeps since the last epoch
    sampled : the sum of the gaps that the last epoch found; cached : that of the current epoch or
        sweep so far
    most_sweeps : the largest number of sweeps after an epoch
    check_every : the largest number of epochs between two certificates
    patience : conjugate gradients run after so many slow epochs in a row, and each further one
    epochs : the number of epochs in the current problem; checked : that at the last certificate
    rising : the dual value after the last epoch, with rounding errors, before the first certificate
    slow : how many of the last epochs in a row were slow
    sweeps_made : the number of sweeps, and of runs of conjugate gradients, in all problems
    """

    most_sweeps: ClassVar[int] = 5
    check_every: ClassVar[int] = 16
    patience: ClassVar[int] = PATIENCE_STEPS

    C: float = field(default=0.0, metadata=value(positive))
    place: int = field(default=0, metadata=value(whole))
    phase: int = field(default=VISITS, metadata=value(whole))
    swept: int = field(default=0, metadata=value(whole))
    sampled: float = field(default=np.inf, metadata=value(above))
    cached: float = field(default=0.0, metadata=value(positive))
    epochs: int = field(default=0, metadata=value(whole))
    checked: int = field(default=0, metadata=value(whole))
    slow: int = field(default=0, metadata=value(whole))
    rising: float = field(default=0.0, metadata=value(positive))
    sweeps_made: int = field(default=0, metadata=value(whole))
    order: np.ndarray = field(init=False, metadata=array(np.int32, _examples, least=0))
    generator: np.ndarray = field(init=False, metadata=array(np.uint64, lambda *_: (1,)))

    @property
    @abstractmethod
    def kept_planes(self) -> ExamplePlanes:
        """The planes of all examples, with their multipliers."""

    @abstractmethod
    def _side_by_side(self, oracle: Any) -> KeptOutputs:
        """The planes of all examples in the form that conjugate gradients need."""

    @abstractmethod
    def _proceed(self, oracle: Any, goal: float) -> bool:
        """Visit examples for a moment; return whether the epoch or sweep is at its end."""

    @abstractmethod
    def _certify(self, oracle: Any) -> None:
        """Compute D from the multipliers, and P by a pass at the w that they give."""

    @property
    def planes_kept(self) -> int:
        """The number of planes that are kept now."""
        return len(self.kept_planes)

    def _seed(self, seed: int) -> None:
        """Make a generator; there are no examples yet."""
        self.order = np.zeros(0, dtype=np.int32)
        self.generator = np.random.SeedSequence([seed]).generate_state(1, np.uint64)

    def _draw_first(self, n: int) -> None:
        """Draw the order of the first epoch."""
        self.order = np.arange(n, dtype=np.int32)
        _dual_coordinate.shuffle(self.order, self.generator)

    def _begin_epochs(self) -> None:
        """Begin the epochs of a new problem; the planes of the last problem stay."""
        self.begin_problem()
        self.epochs, self.checked, self.slow, self.swept, self.rising = 0, 0, 0, 0, 0.0
        self.phase, self.place, self.sampled, self.cached = VISITS, 0, np.inf, 0.0
        self.kept_planes.rests[:] = 0

    @property
    def _unchecked(self) -> bool:
        """Whether no certificate was computed yet, so that P is not known but perhaps at w = 0."""
        return self.at_zero or not np.isfinite(self.primal(self.C))

    def target_gap(self, C: float, goal: Callable[[float], float], inexactness: float) -> float:
        """The absolute gap that ends the problem; before the first certificate an estimate."""
        target = super().target_gap(C, goal, inexactness)
        if not self._unchecked:
            return target
        return goal(self.rising + self.sampled) if np.isfinite(self.sampled) else 0.0

    def exhausted(self, C: float, max_passes: float) -> bool:
        """Whether the passes are used up, or no longer make progress; see ``Solver``.

        The last pass is that of a certificate; before it w moves in any case, in an epoch or by
        the pass that a problem began with.
        """
        moved = self.epochs > 0 or (self._unchecked and self.problem_passes > 0)
        if moved and self.phase == VISITS and self.problem_passes + 1 >= max_passes:
            return True
        return not self._unchecked and super().exhausted(C, np.inf)

    def finish(self, oracle: Any) -> None:
        """Compute a certificate if there is none of what the passes have led to."""
        used_up = self.problem_passes + 1 >= self.most_passes
        if self._unchecked or (used_up and self.checked < self.epochs):
            self._certify(oracle)

    def _improve(self, oracle: Any, C: float, target: Callable[[], float]) -> bool:
        """Do a part of an epoch or of a sweep; at its end, compute a certificate if it is time."""
        began, spent = time.perf_counter(), oracle.seconds
        if self._proceed(oracle, target()):
            self._turn(oracle, target)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return True

    def _turn(self, oracle: Any, target: Callable[[], float]) -> None:
        """End an epoch or a sweep: choose the next phase; compute a certificate if it is time."""
        planes = self.kept_planes
        self.place = 0
        if self.phase == VISITS:
            self.epochs += 1
            self.problem_passes += 1
            self.swept = 0
            if self._unchecked:
                planes_now = self._side_by_side(oracle)
                self.rising = max(self.rising, planes_now.value(planes_now.w))
            before, self.sampled = self.sampled, float(planes.gaps.sum())
            slow = SLOW if planes.exact else SLOW_STEPS
            self.slow = self.slow + 1 if self.sampled > slow * before else 0
            if self.slow >= (PATIENCE if planes.exact else self.patience):
                climb(self._side_by_side(oracle), CG_STEPS)
                self.sweeps_made += 1
                self.slow = 0 if planes.exact else self.slow
        else:
            self.swept += 1
            self.sweeps_made += 1
        left = self.cached if self.phase == SWEEP else np.inf
        self.cached = 0.0
        settled = left <= SWEPT_SHARE * self.sampled or self.swept >= self.most_sweeps
        self.phase = VISITS if settled or planes.exact else SWEEP
        _dual_coordinate.shuffle(self.order, self.generator)
        if self.phase == VISITS and self._promising(oracle, target()):
            self._certify(oracle)

    def _first_check(self, oracle: Any) -> int:
        """The largest number of epochs before the first certificate."""
        return FIRST_CHECK

    def _promising(self, oracle: Any, goal: float) -> bool:
        """Whether it is time for a certificate."""
        most = self._first_check(oracle) if self._unchecked else self.check_every
        return self.sampled <= PROMISE * goal or self.epochs - self.checked >= most
