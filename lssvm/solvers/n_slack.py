"""The n-slack cutting-plane method: planes of every example, and steps in the dual over them.

Tsochantaridis et al. (ICML 2004), Algorithm 1, with all examples asked at once: an oracle pass
finds the most violated output of every example, those that exceed what is kept join the working
sets, and sweeps of exact block steps raise the dual over all that is kept. A pass thus counts for
more than one of a one-slack method, at the price of sparse planes by example.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lssvm.executors import EachOracle
from lssvm.solvers.by_example import ByExample

INNER_SHARE = 0.05  # of the gap that sweeps leave undone
FULL_EVERY = 5  # sweeps; between them only examples that moved are visited
CG_STEPS = 20  # at most, after as many sweeps
STEPS = 3  # at most, at each visit of an example
AGE = 1  # passes after which an idle plane is dropped


@dataclass
class NSlack(ByExample):
    """Working sets by example.

    sweeps : most sweeps over the kept planes between two oracle passes
    """

    sweeps: int = 100

    def _improve(self, oracle: EachOracle, target: Callable[[], float]) -> None:
        began = time.perf_counter()
        self._sweep()
        self._raise_bound()
        self.seconds += time.perf_counter() - began
        if self._gap() > target():
            self._ask(oracle, self.sets.images().copy())

    def _sweep(self) -> None:
        """Sweeps until they have closed the gap over what is kept, all but a share of the whole."""
        everyone = np.flatnonzero(self.sets.counts)
        gap, rows = self._gap(), everyone
        for turn in range(self.sweeps):
            if turn % FULL_EVERY == 0:
                rows = everyone
                if turn:
                    self.sets.climb(CG_STEPS)
            inner = self.sets.sweep(rows[::-1] if turn % 2 else rows, STEPS)
            if len(rows) == len(everyone) and self.norm == 1 and inner <= INNER_SHARE * gap:
                break
            moved = self.sets.gaps[rows]
            rows = rows[moved > INNER_SHARE * moved.max(initial=0.0) / len(rows)]
        self.sets.evict(AGE)
        self.sets.refresh()
