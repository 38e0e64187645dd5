"""When a checkpoint is written during training, and what a signal does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lssvm.training import checkpoint as checkpoints
from lssvm.training.checkpoint import Progress, Setting
from lssvm.training.problem import Problem, Stage
from lssvm.training.setup import new_solver


@dataclass(frozen=True)
class Saving:
    """Where and how often a checkpoint is written, and whether to go on from it.

    every : passes between two checkpoints; one is also written after every CCCP iteration
    """

    path: Path
    every: int = 100
    resume: bool = False


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
        self._written = [-1, -1]  # the iteration, and how often ``every`` passes were over

    def keep(self, progress: Progress) -> None:
        """Called between two passes. Raises StoppedError once the state is safe."""
        run, number, saving = progress.run, self._signalled(), self._saving
        if saving is not None:
            now = self._written
            if run is not None:
                now = [run.iteration, int(run.passes) // saving.every]
            if now != self._written or number:
                checkpoints.save(saving.path, self._key, progress)
                self._written = now
        if number:
            raise checkpoints.interrupted(number, saving.path if saving else None)
