"""Checkpoints: a killed run that is resumed gives the bytes of one that was not.

A checkpoint is a container like a model's (:mod:`lssvm.model`) and holds everything that
the next oracle pass reads. One that belongs to another configuration or to other data is
refused.
"""

import hashlib
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import lssvm
from lssvm import stopping
from lssvm.cccp import Run
from lssvm.errors import Interrupted, ModelError
from lssvm.held_out import Scores
from lssvm.model import read_container, write_container
from lssvm.solvers.solution import Solver

CHECKPOINT = "lssvm-checkpoint"
INFINITIES = {np.inf: "infinity", -np.inf: "-infinity"}
TEXTS = {text: value for value, text in INFINITIES.items()}
GO_ON = "go on with the same command and --resume"
SOLVER = "solver."  # begins the names of the solver's arrays
RUN_FIELDS = (
    "looseness",
    "total_cost",
    "objective",
    "iteration",
    "passes",
    "completions",
    "gap",
    "lower",
    "concave",
    "certified",
    "converged",
    "done",
)


@dataclass
class Progress:
    """Where a run with restarts stands.

    run : the current restart, None between two restarts
    finished : a record for each restart that has ended
    best_w : weights of the best of them, empty if there is none
    scores : those of held-out examples
    """

    run: Run | None = None
    finished: list[dict[str, Any]] = field(default_factory=list)
    best_w: np.ndarray = field(default_factory=lambda: np.empty(0))
    scores: Scores = field(default_factory=Scores)


def identity(config: dict[str, Any], data: str, initial: np.ndarray | None) -> str:
    """A hash of everything that decides the bytes of the model."""
    text = json.dumps([lssvm.__version__, config, data], sort_keys=True).encode()
    start = b"" if initial is None else initial.tobytes()
    return hashlib.sha256(text + start).hexdigest()


def save(path: Path, key: str, progress: Progress) -> None:
    """Write a checkpoint, whole or not at all."""
    header: dict[str, Any] = {"identity": key, "finished": progress.finished, "run": None}
    scores = progress.scores
    header["scores"] = {"looks": scores.looks, "best": scores.best, "early": scores.early}
    arrays = {"best_w": progress.best_w, "scores_w": scores.w, "scores_last": scores.last}
    run = progress.run
    if run is not None:
        header["run"] = {name: _stored(getattr(run, name)) for name in RUN_FIELDS}
        header["run"]["history"] = run.history
        values, solver_arrays = run.solver.state()
        header["solver"] = {name: _stored(value) for name, value in values.items()}
        arrays |= {SOLVER + name: array for name, array in solver_arrays.items()}
    write_container(path, CHECKPOINT, header, arrays)


def load(path: Path, key: str, solver: Solver) -> Progress:
    """The progress that was saved. Raises ModelError if it is that of another run.

    solver : one of the configuration's kind, which takes over the saved state
    """
    header, arrays = read_container(path, CHECKPOINT)
    if header.get("identity") != key:
        raise ModelError(
            f"{path}: belongs to another configuration, other data or another first model; "
            "train without --resume, or with those that it was made with"
        )
    try:
        run = _run(header, arrays, solver) if header["run"] is not None else None
        scores = Scores(**header["scores"], w=arrays["scores_w"], last=arrays["scores_last"])
        return Progress(run, header["finished"], arrays["best_w"], scores)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: damaged: {error!r}") from None


def _run(header: dict[str, Any], arrays: dict[str, np.ndarray], solver: Solver) -> Run:
    values = {name: _restored(value) for name, value in header["solver"].items()}
    names = [name for name in arrays if name.startswith(SOLVER)]
    solver.restore(values, {name.removeprefix(SOLVER): arrays[name] for name in names})
    fields = {name: _restored(header["run"][name]) for name in RUN_FIELDS}
    history = [(float(objective), int(passes)) for objective, passes in header["run"]["history"]]
    return Run(solver, history=history, **fields)


def _stored(value: Any) -> Any:
    """Infinities have no place in JSON; they are the only floats kept as text."""
    return INFINITIES.get(value, value) if isinstance(value, float) else value


def _restored(value: Any) -> Any:
    return TEXTS.get(value, value) if isinstance(value, str) else value


@contextmanager
def stoppable() -> Iterator[Callable[[], int]]:
    """Turn SIGINT and SIGTERM into a number that the run asks for between two passes.

    Yields a function that returns the signal's number, 0 if there was none. A second signal
    acts as it did before, and so does one that came too late for the run to ask, once the block
    has ended. Outside the main thread signals are left alone.
    """
    received, answered = [0], [0]
    previous: dict[signal.Signals, Any] = {}

    def note(number: int, frame: Any) -> None:
        received[0] = number
        for name, handler in previous.items():
            signal.signal(name, handler)

    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            # A handler of None was not installed by Python; an ignored signal stays ignored.
            if signal.getsignal(name) not in (None, signal.SIG_IGN):
                previous[name] = signal.signal(name, note)
    except ValueError:
        previous.clear()

    def ask() -> int:
        answered[0] = received[0]
        return received[0]

    try:
        yield ask
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)
    if received[0] != answered[0]:
        signal.raise_signal(received[0])


def interrupted(number: int, path: Path | None) -> Interrupted:
    """What to raise once the state is safe: says how to go on."""
    how = f"{path} was written, {GO_ON}" if path else "there is no checkpoint"
    return Interrupted(number, stopping.line(number, how))
