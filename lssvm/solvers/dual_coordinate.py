"""Dual coordinate ascent by example, in a compiled loop over the examples.

A visit of an example calls loss-augmented inference at the latest w, keeps the output that it
finds, and makes exact steps over all outputs that are kept of this example; see
``lssvm.kernels._dual_coordinate``. This is the sequential dual method of Chang & Yih (TACL 2013)
and Keerthi et al. (KDD 2008), with the pairwise steps, the cached outputs and the sampled gaps of
block-coordinate Frank-Wolfe (Lacoste-Julien et al., ICML 2013; Osokin et al., ICML 2016). Three
things make it fast: every epoch and every sweep visits the examples in a new random order; after
an epoch, a few sweeps go over the cached outputs without inference; and examples whose gap is
already small are left out for a few epochs.

Examples are visited in batches at one w, by all threads; see ``BATCH``.

The sum of the gaps that the visits find is an estimate of P − D. When it is as small as the goal,
one pass over all examples at a fixed w gives P, and D is recomputed from the multipliers. P and D
together are the certificate.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import Arrays, Values, above, flag, vector
from lssvm.errors import ModelError
from lssvm.kernels import _dual_coordinate
from lssvm.plane import MEGABYTE
from lssvm.solvers.epochs import SMALL_SHARE, SWEEP, Epochs
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.kept import LOWEST, Kept, State, kept, value
from lssvm.solvers.kept import array as kept_array
from lssvm.solvers.kept import vector as kept_vector
from lssvm.solvers.kept_outputs import KeptOutputs
from lssvm.solvers.kept_planes import restored_planes
from lssvm.solvers.needs import Needs
from lssvm.solvers.room import check_room
from lssvm.solvers.solver import Initialisation, InnerProduct

SECONDS = 0.05  # time between two returns from the compiled loop
# A batch of BATCH examples is visited at one w if an example takes at least BATCH_WORK
# multiplications and additions, and if there are at least BATCH_SHARE batches. The first ALONE
# epochs visit examples one by one, since their steps are long.
BATCH, BATCH_WORK, BATCH_SHARE = 8, 2000, 16
ALONE = 2
LONG_PASS = 300_000_000  # multiplications and additions of an epoch that takes about a second
TEAM_WORK = 2_000_000  # multiplications and additions of a pass for which more threads pay


def _examples(owner: Any, arrays: Arrays) -> tuple[None]:
    return (None,)


class _KeptPlanes(Kept):
    """Saves and restores the planes of all examples; ``_check_fit`` compares them with the data."""

    def save(self, owner: Any, name: str) -> State:
        planes = owner.planes
        values = {"planes_slack": planes.slack, "planes_exact": planes.exact}
        return values, {f"planes_{key}": found for key, found in planes.state().items()}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> ExamplePlanes:
        slack, exact = flag(values, "planes_slack"), flag(values, "planes_exact")
        size = len(vector(arrays, "planes_w", (None,)))
        n, most = len(owner.costs), owner.max_bytes
        return restored_planes(arrays, n, size, most, norm=owner.norm, slack=slack, exact=exact)


@dataclass
class DualCoordinate(Epochs):
    """Dual coordinate ascent by compiled inference for single examples.

    dimension : d; norm : the norm of the slacks; seed : the seed of the order of the visits
    max_bytes : the memory that the planes may take
    truth : the true outputs with their completion, one example after another
    hidden : whether there are hidden values, so that the completion changes
    objective : P at the best point, infinite before the first certificate
    heights, scores : (n,) at the best point: U⁺ minus the score of the completion, and this score
    """

    name: ClassVar[str] = "dual-coordinate"
    needs: ClassVar[Needs] = Needs(each=True, slack_norms=frozenset({1, 2}))
    keys: ClassVar[frozenset[str]] = frozenset({"max_cache_mb"})

    dimension: int
    norm: int = 1
    seed: int = 0
    max_bytes: float = np.inf
    hidden: bool = field(default=False, metadata=value(flag))
    objective: float = field(default=np.inf, metadata=value(above))
    w: np.ndarray = field(init=False, metadata=kept_vector())
    costs: np.ndarray = field(init=False, metadata=kept_array(np.float64, _examples, least=0.0))
    truth: np.ndarray = field(init=False, metadata=kept_array(np.int32, _examples, least=0))
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
        self.truth = np.zeros(0, dtype=np.int32)
        self._seed(self.seed)
        none = np.zeros(1, dtype=np.int64)
        self.planes = ExamplePlanes(none, 0, norm=self.norm, slack=False, exact=False)

    @property
    def kept_planes(self) -> ExamplePlanes:
        """The planes of all examples, with their multipliers."""
        return self.planes

    @property
    def passes_saved(self) -> int:
        """The number of sweeps over cached outputs, which do not call the oracle."""
        return self.sweeps_made

    def initialise(self, oracle: Any, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        kernel = oracle.compiled
        n = len(oracle.costs)
        self.costs, self.hidden = oracle.costs, initial.hidden
        self.truth = kernel.truth.copy()
        self.heights, self.scores = np.full(n, np.inf), np.zeros(n)
        self._draw_first(n)
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
        """Complete the hidden values at the best point; the planes stay valid, and w is adapted."""
        kernel, before, scores = oracle.compiled, self.truth, self.scores
        self.truth, self.scores = before.copy(), np.empty_like(scores)
        self._completed(oracle, kernel.load(self.w), self.truth, self.scores)
        _dual_coordinate.shift(kernel.capsule, self.planes, before, self.truth)
        self.planes.truth = self.truth
        self.heights += scores - self.scores
        self.objective = self._objective(self.w, self.heights)
        self._begin_epochs()

    def _completed(
        self, oracle: Any, inner: np.ndarray, truth: np.ndarray, scores: np.ndarray
    ) -> None:
        """Find the best outputs at one w that agree with what is known, and their scores (n,)."""
        capsule, planes = oracle.compiled.capsule, self.planes

        def share(first: int, last: int) -> None:
            _dual_coordinate.completed(capsule, planes, inner, first, last, truth, scores)

        oracle.over_examples(share, 0.0)

    def primal(self, C: float) -> float:
        """P at the best point."""
        return self.objective

    def sizes(self, C: float) -> float:
        """The sum of the magnitudes of the terms of P at the best point and of the lower bound."""
        terms = 2.0 * np.abs(self.scores) + np.abs(self.heights)
        if self.norm == 2:
            terms = terms * (1.0 + np.abs(self.heights))
        return self.objective + self.lower + C * float(self.costs @ terms)

    def concave(self, C: float) -> float:
        """−C Σ c_i U⁻_i at the best point, for the current completion."""
        return -C * float(self.costs @ self.scores)

    def objective_at(self, oracle: Any, C: float, w: np.ndarray) -> tuple[float, float, bool]:
        """F and −C Σ c_i U⁻_i at any w, computed by a pass and a completion; see ``Solver``."""
        kernel, truth, scores = oracle.compiled, self.truth.copy(), self.scores.copy()
        inner = kernel.load(w)
        if self.hidden:
            self._completed(oracle, inner, truth, scores)
        heights, scores = self._heights(oracle, inner, truth)
        return self._objective(w, heights), -C * float(self.costs @ scores), True

    def _objective(self, w: np.ndarray, heights: np.ndarray) -> float:
        """P at w, where heights (n,) are U⁺ minus the score of the completion."""
        slacks = np.maximum(0.0, heights)
        powers = slacks if self.norm == 1 else 0.5 * slacks**2
        return 0.5 * float(w @ w) + self.C * float(self.costs @ powers)

    def _heights(
        self, oracle: Any, inner: np.ndarray, truth: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The heights and scores of all examples at one w, (n,) each; see the class."""
        found = np.empty((2, len(self.costs)))
        capsule, planes = oracle.compiled.capsule, self.planes

        def share(first: int, last: int) -> None:
            _dual_coordinate.heights(capsule, planes, truth, inner, first, last, found)

        oracle.over_examples(share)
        return found[0], found[1]

    def _begin(self, oracle: Any, C: float) -> None:
        """Set C; compute P at once if there are hidden values or first weights."""
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
        """Raise ModelError if the state does not belong to these examples."""
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
        if highest >= kernel.values or not np.array_equal(np.sort(self.order), np.arange(n)):
            raise ModelError("an output that is kept, or the order of the examples, is impossible")

    def _proceed(self, oracle: Any, goal: float) -> bool:
        """Visit examples for SECONDS; return whether the epoch or sweep is at its end."""
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

    def _first_check(self, oracle: Any) -> int:
        short = oracle.compiled.multiply_adds < LONG_PASS
        return self.check_every if short else super()._first_check(oracle)

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
        planes.helped = count > 1

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
                    )
                )
            finally:
                _dual_coordinate.let_go(planes.team)

        oracle.executor.together(share, count)
        return found[0]

    def _side_by_side(self, oracle: Any) -> KeptOutputs:
        return KeptOutputs(oracle.compiled, self.planes)

    def _certify(self, oracle: Any) -> None:
        """Compute D from the multipliers, and P by a pass at the w that they give."""
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
