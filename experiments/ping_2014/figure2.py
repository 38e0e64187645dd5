"""The convergence of (sub)gradient descent for three models (Ping et al., ICML 2014, Figure 2).

    python -m experiments.ping_2014.figure2 --out out/mssvm-figure2

This is Algorithm 1 of the paper as it is printed: each step uses all training instances, every
model starts from the same first weights, and the step size is constant. MSSVM and LSSVM use
subgradients, of a sum over h and of a maximum over h; HCRF uses the gradient. The chain is that of
``table2``, with C = 1. Every model descends with both step sizes that the paper states, .02 and
.001; the paper has .02 and 50 steps for MSSVM, .001 and 250 steps for LSSVM. Algorithm 1 begins at
w = 0, where all hidden states are alike; our first weights are small random numbers.

The first figure shows the excess of the objective F over the lowest known F, in percent of the
latter, after each number of steps. The lowest known F of a model and a trial is the lowest of both
descents and of CCCP, solved precisely; the lines are geometric means over the trials. The second
figure shows the training error in percent, as the paper does. The table has the number of steps
until the excess is at most 10, 1 and 0.1 percent, as medians over the trials (``>`` means that no
more than half of the trials reach it), the training error after 50 steps and after all, and the
oscillation: the mean change of F from one of the last 50 steps to the next, in percent of F.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.trials import (
    CCCP,
    STREAM,
    TRAINING,
    TRIALS,
    Trial,
    config_of,
    descent,
    new_trial,
)
from lssvm.config import Config, set_values
from lssvm.output import plots as report
from lssvm.output.tables import plus_minus, text_table, write_results
from lssvm.training.session import learn_on

LEVELS = (10.0, 1.0, 0.1)  # percent above the lowest known objective
SHOWN = 40  # points of a line at most, at which the labels are predicted
EARLY = 50  # the steps that the paper has for MSSVM
PRECISE = {"solver.epsilon": 1e-3, "cccp.tolerance": 1e-3}
FLOOR = 1e-3  # percent; the lowest objective is not known more precisely than this


class Plan(NamedTuple):
    """The size of the experiment.

    nodes : of the chain without x; C : per instance; rates : the step sizes; steps, trials,
    training : their numbers, the last one of instances
    """

    nodes: int = 20
    C: float = 1.0
    rates: tuple[float, ...] = (0.02, 0.001)
    steps: int = 300
    trials: int = TRIALS
    training: int = TRAINING


FULL = Plan()
QUICK = Plan(10, 1.0, (0.02, 0.001), 20, 2, 10)


class Task(NamedTuple):
    """One model on one trial."""

    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Run descent for every model on every trial, and write the figures and the table."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    tasks = [Task(method, trial) for method in CCCP for trial in range(plan.trials)]
    runs = arguments.solved(descended, plan, tasks)
    rows = [row for run in runs for row in run]
    draw(arguments.out, rows, plan)
    text = text_table(
        "Steps until F exceeds its lowest known value by no more than this, medians over "
        f"{plan.trials} trials; training error (%) ± standard error; mean change of F in one "
        "of the last steps (%)",
        summarised(rows, plan),
    )
    write_results(arguments.out, "figure2", text, rows, {"plan": plan._asdict()})
    return text


def descended(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """A row for every rate and step: F, its excess in percent and, at some steps, the error."""
    trial = new_trial(Draw(plan.nodes, 1), task.trial, plan.training)
    config = config_of(CCCP[task.method], plan.C)
    application = config.create_application()
    application.restore(trial.training.classes.arrays())
    model = learn_on(application, trial.training, set_values(config, PRECISE))
    paths = {rate: path(trial, config, plan, rate) for rate in plan.rates}
    heights = {
        rate: [objective(application, trial, plan.C, w) for w in points]
        for rate, points in paths.items()
    }
    lowest = min(float(model.record["objective"]), *map(min, heights.values()))
    shown = set(places(plan).tolist())
    return [
        {
            **task._asdict(),
            "rate": rate,
            "step": step,
            "objective": height,
            "excess": 100.0 * (height - lowest) / lowest,
            "error": error(application, trial, w) if step in shown else None,
            "lowest": lowest,
        }
        for rate, points in paths.items()
        for step, (height, w) in enumerate(zip(heights[rate], points, strict=True))
    ]


def path(trial: Trial, config: Config, plan: Plan, rate: float) -> list[np.ndarray]:
    """The points of the descent before every step and at the end."""
    settings = {
        "method": "sgd",
        "batch_size": plan.training,
        "epochs": plan.steps,
        "learning_rate": rate,
        "decay": "constant",
        "average": False,
    }
    return descent(set_values(config, {"solver": settings}), trial.training)


def objective(application: Any, trial: Trial, C: float, w: np.ndarray) -> float:
    """F at w."""
    plane = application.augmented(w, trial.training)[0] - application.completed(w, trial.training)
    return 0.5 * float(w @ w) + C * plane.value(w)


def error(application: Any, trial: Trial, w: np.ndarray) -> float:
    """The share of wrong training labels, in percent."""
    found = application.predict(w, trial.training)
    return float(application.score(trial.training, found)["error"])


def places(plan: Plan) -> np.ndarray:
    """The steps at which the figures have points."""
    shown = np.geomspace(1, plan.steps, SHOWN).round().astype(int)
    return np.unique([*shown, *marks(plan)])


def marks(plan: Plan) -> tuple[int, int]:
    """The steps after which the table has the error: those of MSSVM in the paper, and all."""
    return min(EARLY, plan.steps // 2), plan.steps


def table_of(
    rows: Sequence[Mapping[str, Any]], method: str, rate: float, measure: str
) -> np.ndarray:
    """The measure for each trial and step, (trials, steps + 1)."""
    own = [row for row in rows if (row["method"], row["rate"]) == (method, rate)]
    steps = max(row["step"] for row in own) + 1
    ordered = sorted(own, key=lambda row: (row["trial"], row["step"]))
    return np.array([row[measure] for row in ordered]).reshape(-1, steps)


def summarised(rows: Sequence[Mapping[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    """A row for each model and step size."""
    table = []
    for method, rate in itertools.product(CCCP, plan.rates):
        excess = table_of(rows, method, rate, "excess")
        cells = {f"{level:g} %": _median(excess, level, plan.steps) for level in LEVELS}
        errors = table_of(rows, method, rate, "error")
        ends = {f"error after {step}": plus_minus(errors[:, step]) for step in marks(plan)}
        last = table_of(rows, method, rate, "objective")[:, -EARLY - 1 :]
        change = 100.0 * np.mean(np.abs(np.diff(last)) / last[:, :-1])
        row = {"model": method, "step size": f"{rate:g}", **cells, **ends}
        table.append({**row, "change of F": f"{change:.2g}"})
    return table


def _median(excess: np.ndarray, level: float, steps: int) -> str:
    """The median over trials of the first step at which the excess is at most ``level``."""
    below = excess <= level
    first = np.where(below.any(axis=1), below.argmax(axis=1), steps + 1)
    found = float(np.median(first))
    return f"{found:g}" if found <= steps else f"> {steps}"


def draw(out: Path, rows: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    """Draw the excess of the objective, and the training error; a line for each model and rate."""
    shown = places(plan)
    excesses, errors = [], []
    for (hue, method), (dashed, rate) in itertools.product(enumerate(CCCP), enumerate(plan.rates)):
        label, broken = f"{method}, η = {rate:g}", bool(dashed)
        logs = np.log(np.maximum(table_of(rows, method, rate, "excess"), FLOOR))
        means = np.exp(logs.mean(axis=0))[shown]
        excesses.append(report.Series(label, shown.tolist(), means.tolist(), (), hue, broken))
        wrong = table_of(rows, method, rate, "error")
        means = wrong[:, shown].astype(float).mean(axis=0)
        errors.append(report.Series(label, shown.tolist(), means.tolist(), (), hue, broken))
    axes: Mapping[str, Any] = {"x_label": "steps", "log_x": True}
    label = "objective above the lowest known (%)"
    report.draw_lines(out / "figure2.png", excesses, y_label=label, log_y=True, **axes)
    report.draw_lines(out / "figure2-error.png", errors, y_label="training error (%)", **axes)


if __name__ == "__main__":
    command.main(
        "The convergence of (sub)gradient descent for models with hidden variables.",
        None,
        "short chains, 20 steps, two trials",
        experiment,
        {"trials": STREAM},
    )
