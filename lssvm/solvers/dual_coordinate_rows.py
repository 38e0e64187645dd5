"""Dual coordinate ascent over sparse rows, for inference that is no C function of one example.

The same epochs and sweeps as in ``dual_coordinate``, whose compiled loop visits the examples. What
a visit takes for the answer of loss-augmented inference was found before, by one oracle call for a
mini-batch of ``batch_size`` examples that follow each other in the random order, at the w where
the mini-batch began; its height is that at the latest w. This serves applications in Python, and
models whose planes are expectations. For examples that are asked at one w, see Shalev-Shwartz &
Zhang (NIPS 2013) and, for steps that keep to the dual, Lacoste-Julien et al. (ICML 2013).

A certificate's pass over all examples is a mini-batch too. Where inference is not exact, upper
bounds make P.
"""

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.errors import ModelError
from lssvm.kernels import _dual_coordinate, _sparse_examples
from lssvm.oracle import EachOracle, ExampleMaxima
from lssvm.plane import MEGABYTE
from lssvm.solvers.by_example import ByExample
from lssvm.solvers.epochs import SMALL_SHARE, SWEEP, Epochs
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.kept import vector
from lssvm.solvers.kept_outputs import KeptOutputs
from lssvm.solvers.needs import Needs
from lssvm.solvers.solver import Initialisation, InnerProduct
from lssvm.solvers.stored_rows import StoredRows, table_of

SECONDS = 0.05  # between two returns, but for one mini-batch


@dataclass
class DualCoordinateRows(Epochs, ByExample):
    """Visits of mini-batches.

    seed : of the order of the visits; batch_size : examples of one oracle call
    """

    name: ClassVar[str] = "dual-coordinate"
    needs: ClassVar[Needs] = Needs(each=True, slack_norms=frozenset({1, 2}))
    keys: ClassVar[frozenset[str]] = frozenset({"max_cache_mb", "batch_size"})

    # Inference takes long here, in Python most of all: more is done over what is kept. The pass
    # of a certificate is not lost, since its examples are visited.
    most_sweeps: ClassVar[int] = 15
    check_every: ClassVar[int] = 5
    patience: ClassVar[int] = 0

    seed: int = 0
    batch_size: int = 8
    # Epochs has this attribute of a solver too, without how it is kept.
    w: np.ndarray = field(init=False, metadata=vector())

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        section = config.solver
        return cls(
            dimension,
            config.objective.slack_norm,
            max_bytes=section.max_cache_mb * MEGABYTE,
            seed=config.seed + restart,
            batch_size=section.batch_size,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._seed(self.seed)
        self._table = table_of(self.truth)
        self._value = np.nan

    def _new_sets(self, limits: np.ndarray) -> StoredRows:
        return StoredRows(limits, self.dimension, self.norm, self.max_bytes)

    @property
    def kept_planes(self) -> ExamplePlanes:
        """The planes of all examples, with their multipliers."""
        planes: ExamplePlanes = self.sets.planes
        return planes

    def _side_by_side(self, oracle: Any) -> KeptOutputs:
        found: KeptOutputs = self.sets.side_by_side()
        return found

    def initialise(self, oracle: EachOracle, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        ByExample.initialise(self, oracle, initial)
        self._value = np.nan
        self._draw_first(len(self.costs))

    def primal(self, C: float) -> float:
        """P at the best point; it is asked for after every moment of visits, and remembered."""
        if C != self.C:
            return super().primal(C)
        if np.isnan(self._value):
            self._value = super().primal(C)
        return self._value

    def complete(self, oracle: EachOracle) -> None:
        """Complete the hidden values at the best point: planes and w move along."""
        ByExample.complete(self, oracle)
        self._value = np.nan
        self._begin_epochs()

    def _check_restored(self) -> None:
        """Raise ModelError for an order of other examples."""
        n = len(self.costs)
        if not np.array_equal(np.sort(self.order), np.arange(n)) or self.place > n:
            raise ModelError("the order of the examples is impossible")

    def _weigh(self, C: float) -> None:
        """Make C the weight of the losses; multipliers are scaled along."""
        if C == self.C:
            return
        if self.C > 0.0:
            self.sets.scale(C / self.C)
            self._begin_epochs()
        self.sets.limits = C * self.costs
        self.C, self._value = C, np.nan

    def _begin(self, oracle: EachOracle, C: float) -> None:
        self._table, self._value = table_of(self.truth), np.nan
        super()._begin(oracle, C)

    def _ask(self, oracle: EachOracle, w: np.ndarray, keep: bool = True) -> None:
        """One pass at w; see ``ByExample``."""
        super()._ask(oracle, w, keep)
        self._value = np.nan

    def _proceed(self, oracle: EachOracle, goal: float) -> bool:
        """Visits for a moment; whether the epoch or sweep is at its end."""
        n = len(self.order)
        if self.phase == SWEEP:
            status, self.place, _, gaps = _dual_coordinate.epoch(
                self.sets.kernel.capsule,
                self.kept_planes,
                self.order,
                self.place,
                0.0,
                SECONDS,
                True,
            )
            self.cached += gaps
            return bool(status == _dual_coordinate.DONE)
        small, began = SMALL_SHARE * goal / n, time.perf_counter()
        while self.place < n:
            rows, stop = self._batch()
            if len(rows):
                found = oracle.augmented_chosen(self.sets.w, rows)
                self._answer(found, rows)
            self._visit(self.order[:stop], self.place, small)
            self.place = stop
            if time.perf_counter() - began > SECONDS:
                break
        return self.place == n

    def _batch(self) -> tuple[np.ndarray, int]:
        """The next examples of the order that do not rest, and where the order goes on then."""
        planes, n, span = self.kept_planes, len(self.order), self.batch_size
        while True:
            window = self.order[self.place : self.place + span]
            awake = np.flatnonzero((planes.rests[window] == 0) & (planes.limits[window] > 0.0))
            if len(awake) >= self.batch_size:
                awake = awake[: self.batch_size]
                return window[awake], self.place + int(awake[-1]) + 1
            if self.place + span >= n:
                return window[awake], n
            span *= 2

    def _answer(self, found: ExampleMaxima, rows: np.ndarray) -> None:
        """Keep ready what is higher at w than all that is kept. found : of ``rows``, at w."""
        w = self.sets.w
        heights = found.values - self._true_scores(rows, w)
        excess = heights - self.sets.highest(rows)
        self._check_kept(w, found, rows, excess)
        new = np.flatnonzero(excess > 1e-12 * (1.0 + np.abs(found.values)))
        losses = found.losses[new] - self.truth_losses[rows[new]]
        if len(new):
            self.sets.answer(rows[new], found.gradients(new), self._table, losses)

    def _true_scores(self, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The completion's values at w, (k,)."""
        scores = _sparse_examples.scores(self._table, rows.astype(np.int32), w)
        found: np.ndarray = scores + self.truth_losses[rows]
        return found

    def _visit(self, order: np.ndarray, place: int, small: float) -> None:
        """Steps for the examples of an order, with the answers that stand ready."""
        planes, first = self.kept_planes, place
        while place < len(order):
            _, place, _, _ = _dual_coordinate.epoch(
                self.sets.kernel.capsule, planes, order, place, small, np.inf, False
            )
            if place < len(order):
                planes.grow()
        self.sets.answered(order[first:])

    def _keep(self, found: ExampleMaxima, first: int = 0) -> np.ndarray:
        """Visit all examples, with what a pass at w has found."""
        rows = np.arange(len(self.costs))
        self.kept_planes.rests[:] = 0
        self._answer(found, rows)
        self._visit(self.order, 0, 0.0)
        return rows

    def _certify(self, oracle: EachOracle) -> None:
        """D from the multipliers alone, and P by a pass at the w that they give."""
        self.checked = self.epochs
        self._raise_bound()
        self._ask(oracle, self.sets.w)

    def _turn(self, oracle: EachOracle, target: Any) -> None:
        super()._turn(oracle, target)
        self.passes_saved = self.sweeps_made
