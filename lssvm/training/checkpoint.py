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
from lssvm import checked
from lssvm.checked import ROUNDING, number, whole
from lssvm.errors import ModelError, StoppedError, counted
from lssvm.model.container import read_container, refused_as_damaged, write_container
from lssvm.model.record import checked_restart
from lssvm.output import stopping
from lssvm.solvers import kept
from lssvm.solvers.solver import Solver
from lssvm.training.cccp import Run
from lssvm.training.held_out import Scores

CHECKPOINT = "lssvm-checkpoint"
INFINITIES = {np.inf: "infinity", -np.inf: "-infinity"}
TEXTS = {text: value for value, text in INFINITIES.items()}
GO_ON = "go on with the same command and --resume"
SOLVER = "solver."  # begins the names of the solver's arrays
CARRIED = "carried"  # the name of what one pass hands on to the next
ADVICE = "; delete it, or train without --resume"


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
        header["run"] = {name: _stored(value) for name, value in kept.state(run)[0].items()}
        values, solver_arrays = run.solver.state()
        header["solver"] = {name: _stored(value) for name, value in values.items()}
        arrays |= {SOLVER + name: array for name, array in solver_arrays.items()}
        if run.carried is not None:
            arrays[CARRIED] = run.carried
    write_container(path, CHECKPOINT, header, arrays)


@dataclass(frozen=True)
class Setting:
    """The run that a checkpoint must be of.

    solver : one of the configuration's kind, which takes over the saved state
    dimension, costs : d and the costs of the examples, (n,)
    restarts : of the configuration; C : weight of the summed loss
    carried : the shape of what one pass hands on to the next, None if there is nothing
    """

    solver: Solver
    dimension: int
    costs: np.ndarray
    restarts: int
    C: float
    carried: tuple[int, ...] | None = None


def load(path: Path, key: str, setting: Setting) -> Progress:
    """The progress that was saved. Raises ModelError if it is that of another run, or damaged."""
    try:
        header, arrays = read_container(path, CHECKPOINT)
    except ModelError as error:
        raise ModelError(f"{error}{ADVICE}") from None
    if header.get("identity") != key:
        raise ModelError(
            f"{path}: belongs to another configuration, other data or another first model; "
            "train without --resume, or with those that it was made with"
        )
    with refused_as_damaged(path, ADVICE):
        return _progress(header, arrays, setting)


def _progress(header: dict[str, Any], arrays: dict[str, np.ndarray], setting: Setting) -> Progress:
    """The progress of a container. Raises ModelError for what no run of this setting saves."""
    names = [name for name in arrays if name.startswith(SOLVER)]
    state = {name.removeprefix(SOLVER): arrays.pop(name) for name in names}
    carried = arrays.pop(CARRIED, None)
    checked.known(arrays, "best_w", "scores_w", "scores_last")
    finished = [checked_restart(each) for each in checked.sequence(header, "finished")]
    run = None
    if header.get("run") is not None:
        run = _run(header, state, setting)
        run.carried = _carried(carried, setting, run.passes > 0)
    elif state or carried is not None:
        raise ModelError("there is a solver without a run; expected both or none")
    if len(finished) + (run is not None) > setting.restarts:
        raise ModelError(
            f"it has {counted(len(finished), 'restart')}; expected {setting.restarts} at most"
        )
    length = setting.dimension if finished else 0
    best = checked.array(arrays, "best_w", np.float64, (length,))
    return Progress(run, finished, best, _scores(header, arrays, setting.dimension))


def _run(header: dict[str, Any], state: dict[str, np.ndarray], setting: Setting) -> Run:
    stored, solver = checked.mapping(header, "solver"), setting.solver
    solver.restore({name: _restored(value) for name, value in stored.items()}, state)
    if "costs" in state and not np.array_equal(state["costs"], setting.costs):
        raise ModelError("array 'costs' is not that of the examples; expected their costs")
    primal = solver.primal(setting.C)
    if np.isfinite(primal) and solver.lower > primal + ROUNDING * abs(primal):
        raise ModelError(f"lower is {solver.lower}, above the objective {primal}")
    saved = checked.mapping(header, "run")
    run = Run(solver, inexactness=0.0, total_cost=0.0)
    kept.restore(run, {name: _restored(value) for name, value in saved.items()}, {})
    if run.total_cost != float(np.sum(setting.costs)):
        raise ModelError(f"total_cost is {run.total_cost}; expected that of the examples")
    if len(run.history) != run.iteration:
        raise ModelError(
            f"history has {counted(len(run.history), 'row')}; expected {run.iteration}"
        )
    return run


def _carried(carried: np.ndarray | None, setting: Setting, begun: bool) -> np.ndarray | None:
    """What the last pass handed on; begun : whether there was one."""
    if setting.carried is None or not begun:
        if carried is not None:
            raise ModelError(f"{CARRIED!r} is not known; expected nothing")
        return None
    given = {} if carried is None else {CARRIED: carried}
    return checked.vector(given, CARRIED, setting.carried)


def _scores(header: dict[str, Any], arrays: dict[str, np.ndarray], dimension: int) -> Scores:
    saved = checked.mapping(header, "scores")
    checked.known(saved, "looks", "best", "early")
    looks = [list(checked.pair(row, whole, number)) for row in checked.sequence(saved, "looks")]
    length = dimension if looks else 0
    w = checked.array(arrays, "scores_w", np.float64, (length,))
    last = checked.array(arrays, "scores_last", np.float64, (length,))
    best = checked.whole(saved, "best", least=0 if looks else -1, most=len(looks) - 1)
    return Scores(looks, best, w, last, early=checked.whole(saved, "early", most=len(looks)))


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


def interrupted(number: int, path: Path | None) -> StoppedError:
    """What to raise once the state is safe: says how to go on."""
    how = f"{path} was written, {GO_ON}" if path else "there is no checkpoint"
    return StoppedError(number, stopping.line(number, how))
