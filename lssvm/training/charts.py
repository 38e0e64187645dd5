"""Charts of a model: how its training went, and its weights.

>>> from lssvm import plot
>>> plot("motif.model", "weights", "weights.png")  # doctest: +SKIP
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import LssvmError, nearest
from lssvm.model import Model
from lssvm.output.charts import Bars, Dots, Drawn, Lines, Series
from lssvm.output.plots import check_file, draw
from lssvm.training.run_log import Point, RunLog, read_log

TOP = 20  # weights
MOST_RESTARTS = 12  # that are drawn
PASSES, SECONDS = "passes", "seconds"
X_LABELS = {PASSES: "passes over the examples", SECONDS: "seconds"}
F = "F(w)"
_OVER = {PASSES: "", SECONDS: " over time"}  # in titles


def plot(
    model: Model | str | Path,
    kind: str,
    path: str | Path,
    *,
    log: str | Path | None = None,
    x: str = PASSES,
    top: int = TOP,
) -> None:
    """Draw a chart of a model into a file, whose ending is the format.

    kind : objective, gap, restarts, held_out or weights
    log : what ``lssvm-learn --log`` has written; gap needs it, objective shows more with it
    x : passes, or seconds, which only the log has; top : the number of weights

    Raises LssvmError if the model has nothing to show, or the file cannot be written,
    MissingExtraError without matplotlib.
    """
    check_file(path)
    found = model if isinstance(model, Model) else Model.load(model)
    draw(path, chart(found, kind, read_log(log) if log else None, x=x, top=top))


def chart(
    model: Model, kind: str, log: RunLog | None = None, *, x: str = PASSES, top: int = TOP
) -> Drawn:
    """The chart of this kind; see :func:`plot`. Raises LssvmError if there is nothing to show."""
    if kind not in KINDS:
        known, near = ", ".join(KINDS), nearest(kind, KINDS)
        raise LssvmError(f"--kind {kind}: is not known; expected one of {known}{near}")
    if x not in X_LABELS:
        raise LssvmError(f"--x {x}: is not known; expected {' or '.join(X_LABELS)}")
    if x == SECONDS and log is None and kind in ("objective", "gap"):
        raise LssvmError("--x seconds: a model has no times; expected --log with the run's log")
    if kind == "weights":
        return weights(model, top)
    return KINDS[kind](model.record, log, x)


def weights(model: Model, top: int = TOP) -> Bars:
    """The weights of largest size by name. Raises LssvmError if they have no names."""
    names = model.names
    if not len(names):
        raise LssvmError("weights: those of a kernel have no names; expected another --kind")
    count = int(np.count_nonzero(model.w[: len(names)]))
    largest = np.argsort(-np.abs(model.w), kind="stable")[: min(top, max(count, 1))].tolist()
    return Bars(
        title="Largest weights",
        names=[names[j] for j in largest],
        values=[float(model.w[j]) for j in largest],
        label="weight",
        note=f"The {len(largest):,d} of largest size among {len(model.w):,d}, of which "
        f"{count:,d} are not zero.",
    )


def objective(record: Mapping[str, Any], log: RunLog | None, x: str) -> Lines:
    """The objective, and with a log the lower bound of each convex problem."""
    series = _logged(record, log, x) if log else []
    if not series:
        series = _restarts(record)
    note = "F after each CCCP iteration, for each restart; it never rises."
    if log and len(series) > 1:
        note = (
            "The convex problem of each CCCP iteration and its proved lower bound, in the restart "
            "that became the model."
        )
    x_label = X_LABELS[x]
    return Lines(
        title=f"Objective{_OVER[x]}", note=note, series=series, x_label=x_label, y_label="objective"
    )


def gap(record: Mapping[str, Any], log: RunLog | None, x: str) -> Lines:
    """The relative duality gap. Raises LssvmError without a log of a run that has a gap."""
    if log is None:
        raise LssvmError("gap: a model has the last gap alone; expected --log with the run's log")
    points = [one for one in _best(record, log, x) if 0 < one.gap < math.inf]
    if not points:
        raise LssvmError("gap: the log has no gap; expected the log of a solver that proves one")
    values = ([_place(one, x) for one in points], [one.gap for one in points])
    return Lines(
        title=f"Duality gap{_OVER[x]}",
        note="Relative gap of the convex problem: it jumps up where a CCCP iteration begins, which "
        "is another problem.",
        series=[Series("gap", *values, plain=len(points) > 50)],
        x_label=X_LABELS[x],
        y_label="relative gap",
        log_y=True,
    )


def restarts(record: Mapping[str, Any], log: RunLog | None, x: str) -> Dots:
    """The objectives that restarts ended at. Raises LssvmError without any."""
    rows = record.get("restarts", [])
    if not rows:
        raise LssvmError("restarts: the model's record has none; expected another --kind")
    return Dots(
        title="Restarts",
        note="Objective at the end of each restart; the lowest one became the model.",
        names=[f"restart {number}" for number in range(1, len(rows) + 1)],
        values=[math.nan if row.get("objective") is None else row["objective"] for row in rows],
        label="objective",
        marked=_number_of_best(record),
    )


def held_out(record: Mapping[str, Any], log: RunLog | None, x: str) -> Lines:
    """The scores of held-out examples on the way. Raises LssvmError without any."""
    found = record.get("held_out")
    if not found:
        raise LssvmError(
            "held_out: no scores were taken on the way; expected held_out.every in the "
            "configuration, or another --kind"
        )
    looks = found["looks"]
    best = looks[min(found["best"], len(looks) - 1)]
    return Lines(
        title="Held-out scores",
        note=f"Scores of the validation data; the best one, {best[1]:.6g} after {best[0]:,d} "
        "passes, is that of the model.",
        series=[
            Series("on the way", [one[0] for one in looks], [one[1] for one in looks]),
            Series("the model", [best[0]], [best[1]], hue=1),
        ],
        x_label=X_LABELS[PASSES],
        y_label="score",
    )


KINDS: dict[str, Callable[..., Drawn]] = {
    "objective": objective,
    "gap": gap,
    "restarts": restarts,
    "held_out": held_out,
    "weights": weights,
}


def _restarts(record: Mapping[str, Any]) -> list[Series]:
    """F after each CCCP iteration, of the best restart first. Raises LssvmError."""
    rows = record.get("restarts", [])
    histories = [row.get("history", []) for row in rows]
    if not any(histories):
        raise LssvmError("objective: the model's record has no history; expected another --kind")
    best = _number_of_best(record)
    order = [best, *(k for k in range(len(rows)) if k != best)][:MOST_RESTARTS]
    return [
        Series(
            f"restart {k + 1}" if len(rows) > 1 else F,
            [passes for _, passes in histories[k]],
            [value for value, _ in histories[k]],
            hue=place,
            dashed=place > 0,
        )
        for place, k in enumerate(order)
        if histories[k]
    ]


def _number_of_best(record: Mapping[str, Any]) -> int:
    """The restart that became the model, from 0."""
    return max(0, min(int(record.get("best_restart", 0)), len(record.get("restarts", [])) - 1))


def _best(record: Mapping[str, Any], log: RunLog, x: str) -> list[Point]:
    """The points of the restart that became the model; for seconds those of one clock."""
    number = min(_number_of_best(record), len(log.restarts) - 1)
    points = log.restarts[number] if log.restarts else []
    if x == SECONDS:
        passes = [one for one in points if one.is_pass]
        others = [one for one in points if not one.is_pass]
        points = max(passes, others, key=len)
    return points


def _logged(record: Mapping[str, Any], log: RunLog, x: str) -> list[Series]:
    points = [one for one in _best(record, log, x) if math.isfinite(one.objective)]
    if not points:
        return []
    plain = len(points) > 50
    values = [_place(one, x) for one in points], [one.objective for one in points]
    found = [Series("objective", *values, plain=plain)]
    bounds = [one for one in points if math.isfinite(one.gap) and one.gap < 1.0]
    if bounds:
        values = [_place(one, x) for one in bounds], [one.bound for one in bounds]
        found.append(Series("lower bound", *values, hue=1, plain=plain))
    return found


def _place(point: Point, x: str) -> float:
    return point.passes if x == PASSES else point.seconds
