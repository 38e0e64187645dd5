"""What a run shows: lines on standard error, a bar on a terminal, a log in JSON lines.

rich, which draws the bar, is imported only where there is a terminal.
"""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from lssvm.cli.heartbeat import Heartbeat
from lssvm.cli.messages import message, printable, printable_json
from lssvm.cli.streams import tell
from lssvm.errors import LssvmError, counted
from lssvm.output.descriptors import place_of
from lssvm.output.plain import finite
from lssvm.training.cccp import Iteration, NotConverged, Observer, Summary
from lssvm.training.record import whose_gap

if TYPE_CHECKING:
    from rich.progress import Progress

HEADING = "iter    objective     decrease    loss      gap  planes  passes    secs"
QUIET, NORMAL, MORE, EVERYTHING = 0, 1, 2, 3
LOGGED_SECONDS = 1.0  # between two passes of the log, unless everything is told
SILENT_SECONDS = 30.0  # away from a terminal
SENTENCES = {  # by the names that applications give to their inference, which stand in the log
    "propagation": "belief propagation did not converge in {failed:,d} of {runs:,d} runs",
    "bounds of loss-augmented inference": "the lower and the upper bound of loss-augmented "
    "inference did not meet in {failed:,d} of {runs:,d} passes",
}
OTHERWISE = "{name} did not converge in {failed:,d} of {runs:,d} runs"


class Console(Observer):
    """Reports a run; a context manager, so that bar and log are closed whatever happens.

    verbosity : 0: nothing; 1: a line for each CCCP iteration, and the summary; 2: also the result
        of each restart; 3: also every oracle pass
    log : file for one JSON object a line; ``append`` keeps what it holds
    files : names of files that warnings may quote, which are never shortened
    silent : seconds after which a line tells how far the run is, if it has said nothing and there
        is no bar to see; 0: it stays silent
    """

    def __init__(
        self,
        verbosity: int = NORMAL,
        log: str | Path | None = None,
        append: bool = False,
        files: Sequence[str] = (),
        silent: float = SILENT_SECONDS,
    ) -> None:
        self.verbosity = verbosity
        self._log_name = str(log)
        self._files = [*files, self._log_name]
        self._log: IO[str] | None = None
        self._progress: Progress | None = None
        self._task: Any = 0
        self._silent = silent
        self._heart: Heartbeat | None = None
        self._state, self._began = "reading data", time.monotonic()
        self._asked: float | None = None  # when the pass began that is under way
        self._logged = time.monotonic()
        self._headed = False
        self._last: Iteration | None = None
        if log is not None:
            try:
                mode = "a" if append else "w"
                self._log = open(place_of(log), mode, encoding="utf-8", buffering=1)  # noqa: SIM115
            except OSError as error:
                raise LssvmError(f"{log}: cannot be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        if not self.verbosity:
            return self
        if sys.stderr.isatty():
            self._progress = _bar()
        if self._progress is not None:
            self._task = self._progress.add_task(self._state, total=None, state="")
            self._progress.start()
        elif self._silent:
            self._heart = Heartbeat(self._silent, self._tell_state)
            self._heart.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._heart is not None:
            self._heart.stop()
        if self._progress is not None:
            self._progress.stop()
        if self._log is not None:
            try:
                self._log.close()
            except OSError as error:
                self._lose_log(error)

    def say(self, text: str, level: int = NORMAL) -> None:
        """A line on standard error, unless the verbosity is below ``level``."""
        if self.verbosity < level:
            return
        if self._progress is not None:
            console = self._progress.console
            console.print(printable(text), markup=False, emoji=False, soft_wrap=True)
        else:
            tell(text)
            if self._heart is not None:
                self._heart.heard()

    def event(self, name: str, **values: Any) -> None:
        """A line of the log."""
        if self._log is not None:
            row = {"event": name, **finite(values)}
            text = json.dumps(row, ensure_ascii=False, allow_nan=False)
            try:
                self._log.write(printable_json(text) + "\n")
            except OSError as error:
                self._lose_log(error)

    def _lose_log(self, error: OSError) -> None:
        """Go on without the log: the training is worth more."""
        lost, self._log = self._log, None
        if lost is not None:
            with suppress(OSError):
                lost.close()
            reason = error.strerror or error
            self.warned(
                f"{self._log_name}: cannot be written: {reason}; the run goes on without it"
            )

    def restarted(self, number: int, of: int) -> None:
        """Announce a restart, if there are several."""
        self.event("restart", number=number, of=of)
        self._tell_restart()
        if of > 1:
            self.say(f"restart {number} of {of}")
        self._describe(f"restart {number}/{of}, iteration 1" if of > 1 else "iteration 1")

    def passed(
        self, passes: int, gap: float, goal: float, not_converged: NotConverged, objective: float
    ) -> None:
        """Move the bar: the distance to the goal is measured in logarithms of the gap."""
        known = f"gap {gap:.1e}, goal {goal:.1e}" if math.isfinite(gap) else "no gap is known"
        self.say("; ".join([f"pass {passes}: {known}", *sentences(not_converged)]), EVERYTHING)
        self._asked = now = time.monotonic()
        value = f"objective {objective:.6g}, " if math.isfinite(objective) else ""
        self._state = f"after {counted(passes, 'pass', 'passes')}: {value}{known}"
        if self.verbosity >= EVERYTHING or now - self._logged >= LOGGED_SECONDS:
            self._logged = now
            self.event(
                "pass",
                passes=passes,
                objective=objective,
                gap=gap,
                goal=goal,
                seconds=now - self._began,
                not_converged=not_converged,
            )
        if self._progress is not None:
            state = f"gap {gap:.1e} → {goal:.1e}" if math.isfinite(gap) else ""
            done = 100 * progress_of(gap, goal)
            self._progress.update(self._task, total=100, completed=done, state=state)

    def _tell_state(self) -> None:
        """How far the run is; called by the heartbeat."""
        now = time.monotonic()
        text = f"{self._state}; {now - self._began:.0f} s"
        if self._asked is not None and now - self._asked >= LOGGED_SECONDS:
            text += f", {now - self._asked:.0f} s of them in the pass under way"
        tell(text)

    def iterated(self, row: Iteration) -> None:
        """Print one CCCP iteration."""
        self.event("iteration", **row._asdict())
        if not self._headed:
            self.say(HEADING)
            self._headed = True
        self.say(iteration_line(row))
        self._last, self._asked = row, None
        if self._progress is not None:
            self._progress.reset(self._task, total=100, state="")
        self._describe(f"iteration {row.iteration + 1}")

    def scored(self, passes: int, metric: str, value: float) -> None:
        """Print a score of the held-out examples."""
        self.say(f"held-out {metric} {value:.6g} after {counted(passes, 'pass', 'passes')}")
        self.event("scored", passes=passes, metric=metric, value=value)

    def finished(self, summary: Summary) -> None:
        """Print the summary of the run."""
        self.event("summary", **summary._asdict())
        self._tell_restart()
        for line in summary_lines(summary):
            self.say(line)

    def noted(self, text: str) -> None:
        """Print a choice that was made for the user."""
        self.event("note", text=text)
        self.say(text)

    def warned(self, text: str) -> None:
        """Print a warning, of a bounded length."""
        self.event("warning", text=text)
        self.say(f"warning: {message(text, self._files)}")

    def _describe(self, text: str) -> None:
        if self._progress is not None:
            self._progress.update(self._task, description=text)

    def _tell_restart(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            self.say(f"restart {last.restart + 1} ended at objective {last.objective:.6g}", MORE)


def _bar() -> "Progress | None":
    """A bar on standard error, unless the terminal cannot draw one."""
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    terminal = Terminal(stderr=True, highlight=False)
    if terminal.is_dumb_terminal:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
        console=terminal,
        transient=True,
    )


def progress_of(gap: float, goal: float) -> float:
    """The share of the way from gap 1 to the goal that is done, in logarithms, from 0 to 1."""
    if gap <= goal:
        return 1.0
    if not 0 < goal < 1 or gap >= 1:
        return 0.0
    return math.log(gap) / math.log(goal)


def iteration_line(row: Iteration) -> str:
    """The line of one CCCP iteration, under :data:`HEADING`."""
    decrease = f"{row.decrease:z12.5g}" if math.isfinite(row.decrease) else f"{'-':>12}"
    gap = f"{row.gap:8.1e}" if math.isfinite(row.gap) else f"{'none':>8}"
    columns = (
        f"{row.iteration:4d} {row.objective:12.6g} {decrease} {row.loss:z7.4f} {gap} "
        f"{row.planes:7d} {row.passes:7d} {row.seconds:7.1f}"
    )
    return "  ".join([columns, *sentences(row.not_converged)])


def sentences(not_converged: NotConverged) -> list[str]:
    """A sentence for each kind of inference that did not converge every time."""
    return [
        SENTENCES.get(name, OTHERWISE).format(name=name, failed=failed, runs=runs)
        for name, (failed, runs) in not_converged.items()
        if failed
    ]


def summary_lines(summary: Summary) -> list[str]:
    """The summary of a run."""
    gap = f"gap {summary.gap:.1e} ({whose_gap(summary.gap, summary.earlier)})"
    if not math.isfinite(summary.gap):
        gap = "gap: none known (descent)"
    elif not summary.certified:
        gap = "gap: not certified (approximate inference)"
    spread = (
        f"{counted(summary.restarts, 'restart')}: objective {summary.objective_mean:.6g} "
        f"± {summary.objective_std:.2g} (mean ± standard deviation); the lowest is kept"
    )
    saved = f" and {summary.passes_saved:,d} saved" if summary.passes_saved else ""
    work = [counted(summary.passes, "pass", "passes") + saved]
    if summary.descent:
        work.insert(0, "descent on the objective itself")
    else:
        work.insert(0, counted(summary.iterations, "CCCP iteration"))
        work.append(f"{counted(summary.planes, 'plane')} kept")
        work.append(f"{counted(summary.osqp, 'quadratic program')} solved by OSQP")
    return [
        *([spread] if summary.restarts > 1 else []),
        f"objective {summary.objective:.6g} = convex {summary.convex:z.6g} "
        f"+ concave {summary.concave:z.6g}; {gap}",
        ", ".join(work),
        f"seconds: inference {summary.seconds_inference:.1f}, QP {summary.seconds_qp:.1f}, "
        f"rest {summary.seconds_rest:.1f}; peak memory {summary.peak_mb:.0f} MB",
        *([_traffic(summary)] if summary.workers else []),
    ]


def _traffic(summary: Summary) -> str:
    lost = f", {summary.workers_lost:,d} lost" if summary.workers_lost else ""
    return (
        f"{counted(summary.workers, 'worker')}{lost}: {summary.sent_mb:.1f} MB sent, "
        f"{summary.received_mb:.1f} MB received, {100 * summary.communication:.0f} % of the "
        "passes' time in communication"
    )


def metric_lines(metrics: Mapping[str, float | str | None], width: int = 0) -> list[str]:
    """One line for each metric, aligned; n/a where a metric is not defined."""
    width = max([width, *map(len, metrics)])
    return [f"{name:<{width}} {number(value)}" for name, value in metrics.items()]


def number(value: float | str | None) -> str:
    """A figure for a table: whole numbers in full, others to six digits, no -0, text as it is."""
    if value is None or isinstance(value, str):
        return value or "n/a"
    return f"{value:,d}" if isinstance(value, int) else f"{value:z.6g}"


def size(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:.1f} GB"
