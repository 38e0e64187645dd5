"""When a checkpoint is written during training, and what a signal does."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lssvm.training import checkpoint as checkpoints
from lssvm.training.cccp import Run
from lssvm.training.checkpoint import Progress, Setting
from lssvm.training.problem import Problem, Stage
from lssvm.training.setup import new_solver


@dataclass(frozen=True)
class Saving:
    """Where and how often a checkpoint is written, and whether to go on from it.

    every : passes between two checkpoints
    pause : seconds since the last one, or since training began, after which one is also written
        once a run has begun or a CCCP iteration has ended
    """

    path: Path
    every: int = 100
    resume: bool = False
    pause: float = 10.0


def resume(
    problem: Problem,
    stage: Stage,
    restarts: int,
    path: Path,
    carried: tuple[int, ...] | None = None,
) -> None:
    """Go on from a checkpoint: its progress becomes that of the stage.

    restarts : of the configuration, which are not exceeded
    carried : the shape of what one pass hands on to the next, None if there is nothing

    Raises ModelError if the checkpoint is of another run, or damaged.
    """
    dimension, costs = problem.dimension, problem.training.examples.costs
    application, inner_product = problem.asked, problem.inner_product
    solver = new_solver(application, problem.training.examples, stage.config, 0, inner_product)
    setting = Setting(solver, dimension, costs, restarts, stage.rules.C, carried)
    stage.progress = checkpoints.load(path, problem.key(stage.config), setting)


class Keeper:
    """Saves the progress of one run now and then, and stops it after a signal.

    saving : None: there is no checkpoint
    key : of the run's checkpoints
    signalled : the number of a signal that came, 0 if there was none
    """

    def __init__(
        self, saving: Saving | None = None, key: str = "", signalled: Callable[[], int] = int
    ) -> None:
        self._saving = saving
        self._key = key
        self._signalled = signalled
        # Of the last one: the restart and iteration, how often ``every`` passes were over, and when
        # it was.
        self._stage, self._parts, self._when = (0, -1), 0, time.monotonic()

    def keep(self, progress: Progress) -> None:
        """Called between two passes. Raises StoppedError once the state is safe."""
        number, saving = self._signalled(), self._saving
        if saving is not None and (self._is_due(progress, saving) or number):
            checkpoints.save(saving.path, self._key, progress)
            self._when = time.monotonic()
            if progress.run is not None:
                self._stage = _stage(progress, progress.run)
                self._parts = int(progress.run.passes) // saving.every
        if number:
            raise checkpoints.interrupted(number, saving.path if saving else None)

    def _is_due(self, progress: Progress, saving: Saving) -> bool:
        """Whether a run has come far enough for another checkpoint."""
        run = progress.run
        if run is None:
            return False
        stage, parts = _stage(progress, run), int(run.passes) // saving.every
        before = self._parts if stage[0] == self._stage[0] else 0
        late = time.monotonic() - self._when >= saving.pause
        return parts != before or (late and stage != self._stage)


def _stage(progress: Progress, run: Run) -> tuple[int, int]:
    """The number of the restart and of the CCCP iteration."""
    return len(progress.finished), run.iteration
