"""Block-coordinate Frank-Wolfe: an oracle call for a few examples, then exact steps for them.

Lacoste-Julien, Jaggi, Schmidt & Pletscher (ICML 2013), Algorithm 3: the multipliers of an example
move towards the output that its oracle finds, by an exact line search in the dual. With it,
after Osokin et al. (ICML 2016): examples are sampled by their last gaps, and planes found earlier
are kept and stepped over between two oracle calls, and by conjugate gradients after an epoch.
The primal is evaluated at the average of the points, weighted towards the last ones, or at the
last one; that costs a pass, as every certificate does.

Examples are taken in batches of ``batch_size`` that follow each other in the data: one oracle call
for all of them at the same w, then a step for each. Steps never lower the dual, whatever w was.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import Arrays, whole
from lssvm.oracle import EachOracle
from lssvm.plane import MEGABYTE
from lssvm.solvers.by_example import ByExample
from lssvm.solvers.kept import array, generator, value, vector
from lssvm.solvers.needs import Needs
from lssvm.solvers.room import check_room
from lssvm.solvers.solver import Initialisation, InnerProduct

UNIFORM = 0.1  # share of the batches that are drawn whatever their gap: old gaps mislead
CACHED_STEPS = 5  # over the kept planes of an example after its step
ROUNDS = 5  # of sweeps and conjugate gradients over what is kept after every epoch, at most
INNER_SHARE = 0.3  # of the gap: what they may leave of it undone
AGE = 10  # epochs after which an idle plane is dropped
AVERAGES = 200  # updates of the average an epoch, at most
CHECK_SHARE = 2.0  # a certificate is computed once the sampled gaps promise this multiple of it
CHECK_EVERY = 10  # epochs, at the latest


def _batches(owner: Any, arrays: Arrays) -> tuple[int]:
    return (-(-len(owner.costs) // owner.batch_size),)


@dataclass
class Bcfw(ByExample):
    """Steps of batches of examples.

    seed : of the generator that draws the batches; batch_size : examples of one oracle call
    average : (d,) the weighted average of the points; averaged : how many went into it
    epochs, checks : in the current problem; gaps : (b,) the last gap of each batch, infinite if new
    """

    name: ClassVar[str] = "bcfw"
    needs: ClassVar[Needs] = Needs(each=True)

    seed: int = 0
    batch_size: int = 8
    average: np.ndarray = field(init=False, metadata=vector())
    averaged: int = field(default=0, metadata=value(whole))
    epochs: int = field(default=0, metadata=value(whole))
    checks: int = field(default=0, metadata=value(whole))
    rng: np.random.Generator = field(init=False, metadata=generator())
    gaps: np.ndarray = field(
        init=False,
        metadata=array(np.float64, _batches, stored="batch_gaps", least=0.0, infinite=True),
    )

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        section, seed = config.solver, config.seed + restart
        room = section.max_cache_mb * MEGABYTE
        return cls(dimension, seed=seed, batch_size=section.batch_size, max_bytes=room)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.average = np.zeros(self.dimension)
        self.rng = np.random.default_rng(self.seed)
        self.gaps = np.zeros(0)

    def initialise(self, oracle: EachOracle, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        super().initialise(oracle, initial)
        self.gaps = np.full(*_batches(self, {}), np.inf)

    def complete(self, oracle: EachOracle) -> None:
        """Start the next convex problem, and restart averaging."""
        super().complete(oracle)
        self.averaged, self.epochs, self.checks = 0, 0, 0
        self.gaps[:] = np.inf

    def _improve(self, oracle: EachOracle, C: float, target: Callable[[], float]) -> bool:
        began, spent = time.perf_counter(), oracle.seconds
        every = max(1, len(self.gaps) // AVERAGES)
        for turn, batch in enumerate(self._drawn()):
            self._step(oracle, batch)
            if turn % every == 0:
                self._average()
        self.problem_passes += 1
        self.epochs += 1
        self.passes_saved += self.sets.settle(ROUNDS, INNER_SHARE * self.gap(self.C))
        self.sets.evict(AGE if self.sets.nbytes <= self.max_bytes else 1)
        check_room(len(self.costs), self.sets.nbytes, self.max_bytes)
        self.sets.refresh()
        self._raise_bound()
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        promised = float(self.gaps.sum()) <= CHECK_SHARE * target()
        wanted = self.is_unsolved(C, target())
        if wanted and (promised or self.epochs % CHECK_EVERY == 0):
            self._ask(oracle, self._candidate(), keep=False)
        return True

    def _drawn(self) -> np.ndarray:
        """The batches of an epoch: each once at first, later by their gaps."""
        count = len(self.gaps)
        if not np.all(np.isfinite(self.gaps)) or self.gaps.sum() <= 0.0:
            return self.rng.permutation(count)
        share = UNIFORM / count + (1.0 - UNIFORM) * self.gaps / self.gaps.sum()
        return self.rng.choice(count, count, p=share / share.sum())

    def _step(self, oracle: EachOracle, batch: int) -> None:
        """Make one oracle call, and a step for each of its examples."""
        first = int(batch) * self.batch_size
        rows = np.arange(first, min(first + self.batch_size, len(self.costs)))
        w = self.sets.kernel_scores()
        found = oracle.augmented_rows(w, first, first + len(rows))
        heights = found.values - self.truth[rows] @ w - self.truth_losses[rows]
        planes, kept = self.sets.highest(rows)
        self._check_kept(w, found, rows, heights - kept)
        new = np.flatnonzero(heights > kept + 1e-12 * (1.0 + np.abs(found.values)))
        if len(new):
            planes[new] = len(self.sets) + np.arange(len(new))
            self._append(found, rows, new)
        self.gaps[batch] = self.sets.frank_wolfe(rows, planes)
        self.sets.sweep(rows, CACHED_STEPS)

    def _candidate(self) -> np.ndarray:
        """Where the primal is evaluated next: the average and the dual point take turns.

        The average is the better one early, the dual point close to the optimum.
        """
        self.checks += 1
        return (self.average if self.checks % 2 else self.sets.w).copy()

    def _average(self) -> None:
        """w̄ ← (1 − ρ) w̄ + ρ w with ρ = 2 / (k + 2)."""
        share = 2.0 / (self.averaged + 2.0)
        self.average += share * (self.sets.w - self.average)
        self.averaged += 1
