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
from lssvm.cccp import Run
from lssvm.errors import Interrupted, ModelError
from lssvm.model import read_container, write_container
from lssvm.plane import Plane
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.qp import SimplexQP

CHECKPOINT = "lssvm-checkpoint"
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
BUNDLE_FIELDS = (
    "step",
    "max_planes",
    "row",
    "slack",
    "tied",
    "lower",
    "begin",
    "asked",
    "mark",
    "marked",
)
BUNDLE_ARRAYS = ("w", "gram", "beta", "idle")


@dataclass
class Progress:
    """Where a run with restarts stands.

    run : the current restart, None between two restarts
    finished : a record for each restart that has ended
    best_w : weights of the best of them, empty if there is none
    """

    run: Run | None = None
    finished: list[dict[str, Any]] = field(default_factory=list)
    best_w: np.ndarray = field(default_factory=lambda: np.empty(0))


def identity(config: dict[str, Any], data: str, initial: np.ndarray | None) -> str:
    """A hash of everything that decides the bytes of the model."""
    text = json.dumps([lssvm.__version__, config, data], sort_keys=True).encode()
    start = b"" if initial is None else initial.tobytes()
    return hashlib.sha256(text + start).hexdigest()


def save(path: Path, key: str, progress: Progress) -> None:
    """Write a checkpoint, whole or not at all."""
    header: dict[str, Any] = {"identity": key, "finished": progress.finished, "run": None}
    arrays = {"best_w": progress.best_w}
    run = progress.run
    if run is not None:
        bundle = run.bundle
        header["run"] = {name: _stored(getattr(run, name)) for name in RUN_FIELDS}
        header["run"]["history"] = run.history
        header["bundle"] = {name: _stored(getattr(bundle, name)) for name in BUNDLE_FIELDS}
        header["bundle"]["completion_loss"] = bundle.completion.loss
        header["qp"] = {"method": bundle.qp.method, "osqp_calls": bundle.qp.osqp_calls}
        arrays |= {name: getattr(bundle, name) for name in BUNDLE_ARRAYS}
        arrays |= {
            "gradients": bundle.planes.gradients,
            "losses": bundle.planes.losses,
            "completion": bundle.completion.gradient,
            "qp_dual": bundle.qp.dual,
        }
    write_container(path, CHECKPOINT, header, arrays)


def load(path: Path, key: str) -> Progress:
    """The progress that was saved. Raises ModelError if it is that of another run."""
    header, arrays = read_container(path, CHECKPOINT)
    if header.get("identity") != key:
        raise ModelError(
            f"{path}: belongs to another configuration, other data or another first model; "
            "train without --resume, or with those that it was made with"
        )
    try:
        run = _run(header, arrays) if header["run"] is not None else None
        return Progress(run, header["finished"], arrays["best_w"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: damaged: {error!r}") from None


def _run(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Run:
    saved = {name: _restored(value) for name, value in header["bundle"].items()}
    completion = Plane(arrays["completion"], saved.pop("completion_loss"))
    qp = SimplexQP(dual=arrays["qp_dual"], **header["qp"])
    bundle = Bundle(arrays["w"], completion, qp, saved.pop("step"), saved.pop("max_planes"))
    for gradient, loss in zip(arrays["gradients"], arrays["losses"], strict=True):
        bundle.planes.append(Plane(gradient, float(loss)))
    for name in BUNDLE_ARRAYS:
        setattr(bundle, name, arrays[name])
    for name, value in saved.items():
        setattr(bundle, name, value)
    fields = {name: _restored(header["run"][name]) for name in RUN_FIELDS}
    history = [(float(objective), int(passes)) for objective, passes in header["run"]["history"]]
    return Run(bundle, history=history, **fields)


def _stored(value: Any) -> Any:
    """Infinity has no place in JSON; it is the only float kept as text."""
    return "infinity" if value == np.inf else value


def _restored(value: Any) -> Any:
    return np.inf if value == "infinity" else value


@contextmanager
def stoppable() -> Iterator[Callable[[], int]]:
    """Turn SIGINT and SIGTERM into a number that the run asks for between two passes.

    Yields a function that returns the signal's number, 0 if there was none. A second signal
    acts as it did before. Outside the main thread signals are left alone.
    """
    received = [0]
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
    try:
        yield lambda: received[0]
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)


def interrupted(number: int, path: Path | None) -> Interrupted:
    """What to raise once the state is safe: says how to go on."""
    how = (
        f"; {path} was written, go on with the same command and --resume"
        if path
        else "; there is no checkpoint"
    )
    return Interrupted(number, f"stopped by {signal.Signals(number).name}{how}")
