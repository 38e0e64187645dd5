"""The n-slack cutting-plane method: planes of every example, and steps in the dual over them.

Tsochantaridis et al. (ICML 2004), Algorithm 1, with inference for all examples at once: an oracle
pass finds the most violated output of every example, those that exceed what is kept join the
working sets, and sweeps of exact block steps raise the dual over all that is kept. A pass thus
counts for more than one of a one-slack method, at the price of sparse planes by example.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.checked import flag
from lssvm.errors import LssvmError
from lssvm.oracle import EachOracle
from lssvm.plane import MEGABYTE
from lssvm.solvers.by_example import ByExample
from lssvm.solvers.kept import value
from lssvm.solvers.needs import Needs
from lssvm.solvers.solver import InnerProduct

INNER_SHARE = 0.1  # of the gap: what sweeps may leave of it undone
AGE = 1  # passes after which an idle plane is dropped
BLOCKS = 64  # that a pass of the first phase is cut into
SLOW = 0.01  # a rise of the dual, as a share of it, that ends the first phase


@dataclass
class NSlack(ByExample):
    """Working sets by example.

    sweeps : most sweeps over the kept planes between two oracle passes
    first_phase : whether passes are still made in blocks
    """

    name: ClassVar[str] = "n-slack"
    needs: ClassVar[Needs] = Needs(each=True, slack_norms=frozenset({0, 1, 2}), kernels=True)
    keys: ClassVar[frozenset[str]] = frozenset({"sweeps", "max_cache_mb"})

    sweeps: int = 20
    first_phase: bool = field(default=True, metadata=value(flag))

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        section, norm = config.solver, config.objective.slack_norm
        room = section.max_cache_mb * MEGABYTE
        return cls(dimension, norm, *inner_product, sweeps=section.sweeps, max_bytes=room)

    def complete(self, oracle: EachOracle) -> None:
        """Start the next convex problem with the planes of the last one."""
        super().complete(oracle)
        self.first_phase = False

    def _improve(self, oracle: EachOracle, C: float, target: Callable[[], float]) -> bool:
        began, spent = time.perf_counter(), oracle.seconds
        self.first_phase &= self._two_left()
        if self.first_phase:
            self._pass_in_blocks(oracle)
        self._sweep()
        before = self.lower
        self._raise_bound()
        self.first_phase &= self.lower - before > SLOW * self.lower and self._two_left()
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        if not self.first_phase and self.is_unsolved(C, target()):
            self._ask(oracle, self.sets.w.copy())
        return True

    def _two_left(self) -> bool:
        """Whether a pass in blocks leaves one of the passes for P, which it does not give."""
        return self.problem_passes + 2 <= self.most_passes

    def _pass_in_blocks(self, oracle: EachOracle) -> None:
        """Make an oracle pass in parts; planes of one part are used before the next part begins.

        From w = 0 inference for all examples would be at the same bad point, and nearly all that is
        found would be idle once a few multipliers have moved.
        """
        edges = np.linspace(0, len(self.costs), min(BLOCKS, len(self.costs)) + 1).astype(int)
        for start, stop in itertools.pairwise(edges.tolist()):
            found = oracle.augmented_rows(self.sets.kernel_scores(), start, stop)
            self.sets.sweep(self._keep(found, start), 1)
        self.problem_passes += 1

    def _sweep(self) -> None:
        """Sweep until the gap over the kept planes is a small share of the whole gap."""
        gap = self.gap(self.C)
        goal = INNER_SHARE * (gap if np.isfinite(gap) else self.sets.dual())
        self.passes_saved += self.sets.settle(self.sweeps, goal) - 1
        if self.norm == 0 and self.sets.inseparable():
            raise LssvmError(
                "the training data cannot be separated: without slack, the norm of w would exceed "
                f"{self.sets.least_norm():.1e}; expected objective.slack_norm: 1 or 2"
            )
        self.sets.evict(AGE)
        self.sets.refresh()
