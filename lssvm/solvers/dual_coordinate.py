"""Dual coordinate ascent by example, in a compiled loop over the examples.

A visit of an example calls loss-augmented inference at the latest w, keeps the output that it
finds, and makes exact steps over the outputs that are kept of this example; see
``lssvm.kernels._dual_coordinate``. This is the sequential dual method of Chang & Yih (TACL 2013)
and Keerthi et al. (KDD 2008), with the pairwise steps, the cached outputs and the sampled gaps of
block-coordinate Frank-Wolfe (Lacoste-Julien et al., ICML 2013; Osokin et al., ICML 2016). Three
things decide its speed: every epoch and every sweep visits the examples in a new random order;
after an epoch a few sweeps go over the cached outputs without inference; and examples whose gap is
already small are left out for a few epochs.

Examples are visited in batches at one w, by all threads; see ``BATCH``.

The sum of the gaps that the visits found estimates P − D. When it is as small as the goal, one pass
over all examples at a fixed w gives P, and D is computed anew from the multipliers: both together
are the certificate.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import (
    Arrays,
    Values,
    above,
    array,
    flag,
    positive,
    rising,
    vector,
    whole,
)
from lssvm.errors import ModelError
from lssvm.kernels import _dual_coordinate
from lssvm.plane import MEGABYTE
from lssvm.solvers.by_example import LOWEST
from lssvm.solvers.conjugate_gradients import climb
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.kept import Kept, State, kept, value
from lssvm.solvers.kept import array as kept_array
from lssvm.solvers.kept import vector as kept_vector
from lssvm.solvers.kept_outputs import KeptOutputs
from lssvm.solvers.needs import Needs
from lssvm.solvers.room import check_room
from lssvm.solvers.solver import Initialisation, InnerProduct, Solver

SWEEPS = 5  # over what is kept, after an epoch, at most
SWEPT_SHARE = 0.3  # of the gap over what is kept, which they may leave
SMALL_SHARE = 0.3  # of the goal's share of one example: a gap below it may rest
PROMISE = 1.0  # a certificate is asked for once the sampled gaps are this multiple of the goal
FIRST_CHECK = 2  # epochs before the first certificate
CHECK_EVERY = 10  # epochs, at the latest
# An epoch is slow if this share of the sampled gaps before it is left, and after so many slow ones
# conjugate gradients help: where the kernel solves for all outputs, and where pairwise steps go
# over few. There conjugate gradients take longer, but then help after every slow epoch.
SLOW, SLOW_STEPS = 0.9, 0.97
PATIENCE, PATIENCE_STEPS = 4, 3
CG_STEPS = 20  # at most
SECONDS = 0.05  # between two returns from the compiled loop
MOST_PLANES = 2**24  # of one example
# Examples that are visited at one w, where each takes so many multiplications and additions and
# there are so many times as many of them; one by one in the first epochs, when steps are long.
BATCH, BATCH_WORK, BATCH_SHARE = 8, 2000, 16
ALONE = 2
TEAM_WORK = 2_000_000  # multiplications and additions of a pass that pays for other threads
VISITS, SWEEP = 0, 1  # what the loop is at


def _examples(owner: Any, arrays: Arrays) -> tuple[None]:
    return (None,)


class _KeptPlanes(Kept):
    """The planes of all examples. That they are of these examples is checked where a run begins."""

    def save(self, owner: Any, name: str) -> State:
        planes = owner.planes
        values = {"planes_slack": planes.slack, "planes_exact": planes.exact}
        return values, {f"planes_{key}": found for key, found in planes.state().items()}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> ExamplePlanes:
        n = len(owner.costs)
        end = int(array(arrays, "planes_places", np.int64, (n + 1,), least=0)[-1])
        places = rising(arrays, "planes_places", np.int64, n + 1, end)
        counts = array(arrays, "planes_counts", np.int32, (n,), least=0)
        for key in ("rooms", "rests", "streaks"):
            array(arrays, f"planes_{key}", np.int32, (n,), least=0, most=MOST_PLANES)
        count, length = int(counts.astype(np.int64).sum()), int(counts @ np.diff(places))
        vector(arrays, "planes_gaps", (n,))
        array(arrays, "planes_alpha", np.float64, (count,), least=0.0)
        array(arrays, "planes_idle", np.int32, (count,), least=0)
        vector(arrays, "planes_losses", (count,))
        array(arrays, "planes_outputs", np.int32, (length,), least=0)
        size = len(vector(arrays, "planes_w", (None,)))
        if np.any(counts > arrays["planes_rooms"]):
            raise ModelError("array 'planes_counts' exceeds 'planes_rooms'")
        slack, exact = flag(values, "planes_slack"), flag(values, "planes_exact")
        planes = ExamplePlanes(places, size, norm=owner.norm, slack=slack, exact=exact)
        check_room(n, planes.needed(arrays["planes_rooms"]), owner.max_bytes)
        planes.restore({key: arrays[f"planes_{key}"] for key in planes.state()})
        return planes


@dataclass
class DualCoordinate(Solver):
    """Visits of examples, sweeps over what is kept, certificates.

    dimension : d; norm : of the slacks; seed : of the order of the visits
    max_bytes : that the planes may take
    truth : the outputs of the completion, one after another; hidden : whether it moves
    objective : P at the best point, infinite before the first certificate
    heights, scores : (n,) U⁺ above the completion there, and the completion's own score
    order : (n,) of the visits under way; place : the next one; phase : what the loop is at
    swept : sweeps since the last epoch; sampled : the gaps that the last epoch saw; cached : those
        of the sweep under way
    epochs : in the current problem; checked : at the last certificate; slow : how many of the last
        epochs have lowered the sampled gaps but little; sweeps_made : in all problems
    """

    name: ClassVar[str] = "dual-coordinate"
    needs: ClassVar[Needs] = Needs(each=True, compiled=True, slack_norms=frozenset({1, 2}))

    dimension: int
    norm: int = 1
    seed: int = 0
    max_bytes: float = np.inf
    C: float = field(default=0.0, metadata=value(positive))
    hidden: bool = field(default=False, metadata=value(flag))
    objective: float = field(default=np.inf, metadata=value(above))
    place: int = field(default=0, metadata=value(whole))
    phase: int = field(default=VISITS, metadata=value(whole))
    swept: int = field(default=0, metadata=value(whole))
    sampled: float = field(default=np.inf, metadata=value(above))
    cached: float = field(default=0.0, metadata=value(positive))
    epochs: int = field(default=0, metadata=value(whole))
    checked: int = field(default=0, metadata=value(whole))
    slow: int = field(default=0, metadata=value(whole))
    sweeps_made: int = field(default=0, metadata=value(whole))
    w: np.ndarray = field(init=False, metadata=kept_vector())
    costs: np.ndarray = field(init=False, metadata=kept_array(np.float64, _examples, least=0.0))
    truth: np.ndarray = field(init=False, metadata=kept_array(np.int32, _examples, least=0))
    order: np.ndarray = field(init=False, metadata=kept_array(np.int32, _examples, least=0))
    generator: np.ndarray = field(init=False, metadata=kept_array(np.uint64, lambda *_: (1,)))
    heights: np.ndarray = field(
        init=False, metadata=kept_array(np.float64, _examples, least=LOWEST, infinite=True)
    )
    scores: np.ndarray = field(init=False, metadata=kept_vector(_examples))
    planes: ExamplePlanes = field(init=False, metadata=kept(_KeptPlanes()))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        room = config.solver.max_cache_mb * MEGABYTE
        return cls(dimension, config.objective.slack_norm, config.seed + restart, room)

    def __post_init__(self) -> None:
        self.w = np.zeros(self.dimension)
        self.costs, self.heights, self.scores = np.zeros(0), np.zeros(0), np.zeros(0)
        self.truth, self.order = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
        self.generator = np.random.SeedSequence([self.seed]).generate_state(1, np.uint64)
        none = np.zeros(1, dtype=np.int64)
        self.planes = ExamplePlanes(none, 0, norm=self.norm, slack=False, exact=False)

    @property
    def planes_kept(self) -> int:
        """Planes that are kept now."""
        return len(self.planes)

    @property
    def passes_saved(self) -> int:
        """Sweeps over what is kept, without the oracle."""
        return self.sweeps_made

    def initialise(self, oracle: Any, initial: Initialisation) -> None:
        """Stand at the first weights, completed there, or at w = 0 with the first completion."""
        kernel = oracle.compiled
        n = len(oracle.costs)
        self.costs, self.hidden = oracle.costs, initial.hidden
        self.truth = kernel.truth.copy()
        self.heights, self.scores = np.full(n, np.inf), np.zeros(n)
        self.order = np.arange(n, dtype=np.int32)
        _dual_coordinate.shuffle(self.order, self.generator)
        self.planes = self._new_planes(kernel)
        if isinstance(initial.first, np.ndarray):
            self.w = initial.first.copy()
        if self.hidden:
            self._completed(oracle, kernel.load(self.w), self.truth, self.scores)

    def _new_planes(self, kernel: Any) -> ExamplePlanes:
        return ExamplePlanes(
            kernel.places,
            kernel.size,
            norm=self.norm,
            slack=kernel.slack,
            exact=self._exact(kernel),
        )

    def _exact(self, kernel: Any) -> bool:
        return bool(kernel.exact) and self.norm == 1

    def complete(self, oracle: Any) -> None:
        """Complete the hidden values at the best point; w moves along, the planes stay."""
        kernel, before, scores = oracle.compiled, self.truth, self.scores
        self.truth, self.scores = before.copy(), np.empty_like(scores)
        self._completed(oracle, kernel.load(self.w), self.truth, self.scores)
        _dual_coordinate.shift(kernel.capsule, self.planes, before, self.truth)
        self.planes.truth = self.truth
        self.heights += scores - self.scores
        self.objective = self._objective(self.w, self.heights)
        self._begin_epochs()

    def _begin_epochs(self) -> None:
        """Forget how the epochs of the problem before went; its planes stay."""
        self.begin_problem()
        self.epochs, self.checked, self.slow, self.swept = 0, 0, 0, 0
        self.phase, self.place, self.sampled, self.cached = VISITS, 0, np.inf, 0.0
        self.planes.rests[:] = 0

    def _completed(
        self, oracle: Any, inner: np.ndarray, truth: np.ndarray, scores: np.ndarray
    ) -> None:
        """The best outputs at one w that agree with what is known, and their scores (n,)."""
        capsule, planes = oracle.compiled.capsule, self.planes

        def share(first: int, last: int) -> None:
            _dual_coordinate.completed(capsule, planes, inner, first, last, truth, scores)

        oracle.over_examples(share, 0.0)

    def primal(self, C: float) -> float:
        """P at the best point."""
        return self.objective

    def sizes(self, C: float) -> float:
        """The size of what P at the best point, and the lower bound, are sums of."""
        terms = 2.0 * np.abs(self.scores) + np.abs(self.heights)
        if self.norm == 2:
            terms = terms * (1.0 + np.abs(self.heights))
        return self.objective + self.lower + C * float(self.costs @ terms)

    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, as the completion has it."""
        return -C * float(self.costs @ self.scores)

    def objective_at(self, oracle: Any, C: float, w: np.ndarray) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, by one pass and one completion; see ``Solver``."""
        kernel, truth, scores = oracle.compiled, self.truth.copy(), self.scores.copy()
        inner = kernel.load(w)
        if self.hidden:
            self._completed(oracle, inner, truth, scores)
        heights, scores = self._heights(oracle, inner, truth)
        return self._objective(w, heights), -C * float(self.costs @ scores), True

    def _objective(self, w: np.ndarray, heights: np.ndarray) -> float:
        """P where U⁺ is so much above the completion."""
        slacks = np.maximum(0.0, heights)
        powers = slacks if self.norm == 1 else 0.5 * slacks**2
        return 0.5 * float(w @ w) + self.C * float(self.costs @ powers)

    def _heights(
        self, oracle: Any, inner: np.ndarray, truth: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of a pass at one w, (n,) each; see the class."""
        found = np.empty((2, len(self.costs)))
        capsule, planes = oracle.compiled.capsule, self.planes

        def share(first: int, last: int) -> None:
            _dual_coordinate.heights(capsule, planes, truth, inner, first, last, found)

        oracle.over_examples(share)
        return found[0], found[1]

    def _begin(self, oracle: Any, C: float) -> None:
        """Take over C; P is needed at the beginning where CCCP measures its fall."""
        kernel = oracle.compiled
        self._check_fit(kernel)
        if C != self.C and self.C > 0.0:
            live = self.planes.planes()
            self.planes.alpha[live] *= C / self.C
            self.planes.w *= C / self.C
            self._begin_epochs()
        if C != self.C:
            self.C = C
            self.objective = np.inf
        self.planes.limits, self.planes.truth = C * self.costs, self.truth
        if not np.isfinite(self.objective) and (self.hidden or np.any(self.w)):
            self.heights, self.scores = self._heights(oracle, kernel.load(self.w), self.truth)
            self.objective = self._objective(self.w, self.heights)
            self.problem_passes += 1

    def _check_fit(self, kernel: Any) -> None:
        """Raise ModelError for a state that is not of these examples."""
        planes, n = self.planes, len(self.costs)
        fitting = (
            np.array_equal(planes.places, kernel.places)
            and len(planes.w) == kernel.size
            and len(self.truth) == len(kernel.truth)
            and planes.slack == kernel.slack
            and planes.exact == self._exact(kernel)
        )
        if not fitting:
            raise ModelError("the outputs that are kept are not of the training data")
        highest = max(int(self.truth.max(initial=0)), int(planes.outputs.max(initial=0)))
        if highest >= kernel.values or np.any(np.sort(self.order) != np.arange(n)):
            raise ModelError("an output that is kept, or the order of the examples, is impossible")

    def _improve(self, oracle: Any, C: float, target: Callable[[], float]) -> bool:
        """A part of an epoch or of a sweep; at the end of both perhaps a certificate."""
        began, spent = time.perf_counter(), oracle.seconds
        if self._proceed(oracle, target()):
            self._turn(oracle, target)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        return True

    def _proceed(self, oracle: Any, goal: float) -> bool:
        """Visits for a moment; whether the epoch or sweep is at its end."""
        planes, cached = self.planes, self.phase == SWEEP
        planes.hold(self._batch(oracle.compiled))
        status, place, visited, gaps = self._epoch(oracle, SMALL_SHARE * goal / len(self.costs))
        self.place = place
        self.cached += gaps
        if not cached:
            oracle.visited(visited)
        if status == _dual_coordinate.FULL:
            planes.grow()
            check_room(len(self.costs), planes.nbytes, self.max_bytes)
        return bool(status == _dual_coordinate.DONE)

    def _batch(self, kernel: Any) -> int:
        """Examples that are visited at one w, the same for any number of threads."""
        n = len(self.costs)
        large = kernel.multiply_adds >= BATCH_WORK * n and n >= BATCH_SHARE * BATCH
        short = self.epochs >= ALONE or self.phase == SWEEP
        return BATCH if large and short and not self.planes.exact else 1

    def _epoch(self, oracle: Any, small: float) -> tuple[int, int, int, float]:
        """Visits in the compiled loop, with other threads where that pays."""
        kernel, planes, cached = oracle.compiled, self.planes, self.phase == SWEEP
        pays = kernel.multiply_adds >= TEAM_WORK
        count = min(oracle.executor.threads, planes.batch) if pays else 1
        seconds, found = SECONDS * count, []

        def share(thread: int) -> None:
            if thread:
                _dual_coordinate.help_out(kernel.capsule, planes, cached)
                return
            try:
                found.append(
                    _dual_coordinate.epoch(
                        kernel.capsule,
                        planes,
                        self.order,
                        self.place,
                        small,
                        seconds,
                        cached,
                        count > 1,
                    )
                )
            finally:
                _dual_coordinate.let_go(planes.team)

        oracle.executor.together(share, count)
        return found[0]

    def _turn(self, oracle: Any, target: Callable[[], float]) -> None:
        """What follows an epoch or a sweep."""
        self.place = 0
        if self.phase == VISITS:
            self.epochs += 1
            self.problem_passes += 1
            self.swept = 0
            before, self.sampled = self.sampled, float(self.planes.gaps.sum())
            exact = self.planes.exact
            slow = SLOW if exact else SLOW_STEPS
            self.slow = self.slow + 1 if self.sampled > slow * before else 0
            if self.slow >= (PATIENCE if exact else PATIENCE_STEPS):
                climb(KeptOutputs(oracle.compiled, self.planes), CG_STEPS)
                self.sweeps_made += 1
                self.slow = 0 if exact else self.slow
        else:
            self.swept += 1
            self.sweeps_made += 1
        left = self.cached if self.phase == SWEEP else np.inf
        self.cached = 0.0
        settled = left <= SWEPT_SHARE * self.sampled or self.swept >= SWEEPS
        self.phase = VISITS if settled or self.planes.exact else SWEEP
        _dual_coordinate.shuffle(self.order, self.generator)
        if self.phase == VISITS and self._promising(target()):
            self._certify(oracle)

    def _promising(self, goal: float) -> bool:
        """Whether it is time for a certificate."""
        if not np.isfinite(self.objective):
            return self.epochs >= FIRST_CHECK or self.sampled <= 0.0
        return self.sampled <= PROMISE * goal or self.epochs - self.checked >= CHECK_EVERY

    def _certify(self, oracle: Any) -> None:
        """D from the multipliers alone, and P by a pass at the w that they give."""
        planes, kernel = self.planes, oracle.compiled
        self.checked = self.epochs
        lower, w = KeptOutputs(kernel, planes).dual()
        self.lower = max(self.lower, lower)
        heights, scores = self._heights(oracle, planes.w, self.truth)
        self.problem_passes += 1
        planes.rests[:] = 0
        found = self._objective(w, heights)
        if found < self.objective:
            self.w, self.objective, self.heights, self.scores = w, found, heights, scores
