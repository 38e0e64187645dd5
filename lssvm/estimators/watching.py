"""What an estimator sees of its training: the history, printed lines, and the user's callback."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lssvm.training.cccp import Iteration, NotConverged, Observer

LINES, PASSES = 1, 2  # values of ``verbose``: a line for each CCCP iteration, or for each pass


class Pass(NamedTuple):
    """Where training stands between two passes over the examples.

    restart, iteration : from 1, of CCCP
    passes : so far in this restart
    objective : of the convex problem at the best point; infinite before its first pass
    gap : relative duality gap, infinite where none is known
    seconds : since training began
    """

    restart: int
    iteration: int
    passes: int
    objective: float
    gap: float
    seconds: float


Callback = Callable[[Pass], Any]


class Watcher(Observer):
    """Keeps the history, prints what ``verbose`` asks for, and asks the user's callback.

    history : every pass and the end of every CCCP iteration; notes, warnings : what was told
    """

    def __init__(self, verbose: int, callback: Callback | None) -> None:
        self.history: list[Pass] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self._verbose, self._callback = verbose, callback
        self._began = time.perf_counter()
        self._restart, self._iteration, self._stops = 1, 1, False

    def restarted(self, number: int, of: int) -> None:
        """Count restarts."""
        self._restart, self._iteration = number, 1

    def passed(
        self, passes: int, gap: float, goal: float, not_converged: NotConverged, objective: float
    ) -> None:
        """Keep it, print it, and ask the callback whether to go on."""
        self._keep(self._iteration, passes, objective, gap, PASSES)
        if self._callback is not None:
            self._stops |= bool(self._callback(self.history[-1]))

    def iterated(self, row: Iteration) -> None:
        """Keep it, and print it."""
        self._keep(row.iteration, row.passes, row.objective, row.gap, LINES)
        self._iteration = row.iteration + 1

    def stops(self) -> bool:
        """Whether the callback has returned something true."""
        return self._stops

    def noted(self, text: str) -> None:
        """Keep a note, and print it."""
        self.notes.append(text)
        self._print(text, LINES)

    def warned(self, text: str) -> None:
        """Keep a warning."""
        self.warnings.append(text)

    def _keep(self, iteration: int, passes: int, objective: float, gap: float, least: int) -> None:
        seconds = time.perf_counter() - self._began
        found = Pass(self._restart, iteration, passes, float(objective), float(gap), seconds)
        self.history.append(found)
        shown = f"{gap:.1e}" if np.isfinite(gap) else "unknown"
        self._print(
            f"restart {found.restart}, iteration {iteration}, pass {passes:,d}: "
            f"objective {objective:.6g}, gap {shown}",
            least,
        )

    def _print(self, text: str, least: int) -> None:
        if self._verbose >= least:
            print(text, flush=True)
