"""The log of a run, as ``lssvm-learn --log`` writes it, for charts."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from lssvm.errors import DataError

EXPECTED = "expected the log that lssvm-learn --log has written"


class Point(NamedTuple):
    """A pass, or the end of a CCCP iteration.

    seconds : since the run began, for an iteration since its restart began
    gap : relative, infinite where none is known
    """

    passes: float
    seconds: float
    objective: float
    gap: float
    is_pass: bool

    @property
    def bound(self) -> float:
        """The proved lower bound of the convex problem."""
        return self.objective * (1.0 - self.gap)


class RunLog(NamedTuple):
    """The points of each restart in order, and the last summary; empty if there is none."""

    restarts: list[list[Point]]
    summary: dict[str, Any]


def read_log(path: str | Path) -> RunLog:
    """The log of the last run in a file. Raises DataError."""
    restarts: list[list[Point]] = []
    summary: dict[str, Any] = {}
    for number, row in _rows(path):
        event = row.get("event")
        if event == "start" and not row.get("resume"):
            restarts, summary = [], {}
        elif event == "restart":
            restarts.append([])
        elif event in ("pass", "iteration"):
            try:
                point = _point(row, event == "pass")
            except (KeyError, TypeError, ValueError):
                raise DataError(str(path), number, f"a line that is no pass; {EXPECTED}") from None
            if not restarts:
                restarts.append([])
            restarts[-1].append(point)
        elif event == "summary":
            summary = row
    return RunLog(restarts, summary)


def _rows(path: str | Path) -> list[tuple[int, dict[str, Any]]]:
    """Line numbers and lines; a last line that was cut is left out."""
    try:
        lines = Path(path).read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise DataError(str(path), None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(str(path), None, f"is no text; {EXPECTED}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and "event" in row:
            rows.append((number, row))
        elif number < len(lines):
            raise DataError(str(path), number, f"is no line of a log; {EXPECTED}")
    if not rows:
        raise DataError(str(path), None, f"is empty; {EXPECTED}")
    return rows


def _point(row: dict[str, Any], is_pass: bool) -> Point:
    """Raises KeyError, TypeError or ValueError."""
    gap = math.inf if row["gap"] is None else float(row["gap"])
    objective = math.nan if row["objective"] is None else float(row["objective"])
    point = Point(float(row["passes"]), float(row["seconds"]), objective, gap, is_pass)
    if not (math.isfinite(point.passes) and math.isfinite(point.seconds)):
        raise ValueError(row)
    return point
