"""Scores on held-out examples while a run goes on, and stopping early by them.

The objective is minimised all the same; of the points on the way, the one with the best score on
the held-out examples (``data.validate``) becomes the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lssvm.applications.base import Application, Examples
from lssvm.config.sections import HeldOutOptions
from lssvm.errors import LssvmError, nearest
from lssvm.training.cccp import Observer, Run

LOWER_IS_BETTER = ("error", "loss")  # parts of names; all other metrics are better when higher


FAR = 0.5  # relative gap above which a point says nothing of what training leads to


def sign_of(metric: str) -> int:
    """1 if a metric is better when lower, −1 if higher."""
    return 1 if any(word in metric for word in LOWER_IS_BETTER) else -1


def metric_of(name: str, found: Mapping[str, float | None]) -> str:
    """The metric of that name among those that were found; the first if it is empty.

    Raises LssvmError if there is none.
    """
    if name and name not in found:
        known, near = ", ".join(found), nearest(name, found)
        raise LssvmError(f"held_out.metric: {name!r} is not known here{near} (known: {known})")
    return name or next(iter(found))


@dataclass
class Scores:
    """What was seen so far: kept in checkpoints.

    looks : (passes, value) of each score; best : the row of the best; w : its weights
    last : the weights that were scored last; stopped : whether the last scores ended the run
    early : scores at the beginning that do not count against patience
    """

    looks: list[list[float]] = field(default_factory=list)
    best: int = -1
    w: np.ndarray = field(default_factory=lambda: np.empty(0))
    last: np.ndarray = field(default_factory=lambda: np.empty(0))
    stopped: bool = False
    early: int = 0


@dataclass
class HeldOutScorer:
    """Scores a run's best point every so many passes, if it is not the one scored last.

    section : how often, by which metric, and how many scores without a better one are enough;
        those at the beginning do not count, when the objective could still fall by more than half
    """

    application: Application
    examples: Examples
    section: HeldOutOptions
    scores: Scores
    observer: Observer

    def look(self, run: Run, C: float) -> bool:
        """Score the run's best point if it is time; whether there were enough scores now."""
        looks = self.scores.looks
        if run.passes < 1 or (looks and run.passes < looks[-1][0] + self.section.every):
            return False
        if not self.score(run):
            return False
        if self.scores.early == len(looks) - 1 and self._far(run, C):
            self.scores.early += 1
        since = len(looks) - max(self.scores.best + 1, self.scores.early)
        enough = since >= self.section.patience
        self.scores.stopped |= enough
        return enough

    def _far(self, run: Run, C: float) -> bool:
        """Whether the solver knows a gap, and it is large."""
        primal = run.solver.primal(C)
        gap = primal - run.solver.lower
        return bool(np.isfinite(gap)) and gap > FAR * primal

    def score(self, run: Run) -> bool:
        """Score the run's best point now, and keep its weights if none before was better.

        False if it was scored already. Raises LssvmError if the application has no such metric, or
        it is not defined here.
        """
        if np.array_equal(run.solver.w, self.scores.last):
            return False
        found = self.application.score(
            self.examples, self.application.predict(run.solver.w, self.examples)
        )
        metric = metric_of(self.section.metric, found)
        value = found[metric]
        if value is None:
            raise LssvmError(f"held_out.metric: {metric!r} is not defined for these examples")
        scores, sign = self.scores, sign_of(metric)
        scores.last = run.solver.w.copy()
        scores.looks.append([round(run.passes), float(value)])
        self.observer.scored(round(run.passes), metric, float(value))
        if scores.best < 0 or sign * value < sign * scores.looks[scores.best][1]:
            scores.best, scores.w = len(scores.looks) - 1, run.solver.w.copy()
        return True
