"""The log-likelihood of test outputs during SGD: Figure 5 of Ping, Liu & Ihler (ICML 2014).

    python -m experiments.ping_2014.figure5 --out out/mssvm-figure5

The setting is that of ``table2``: the hidden chain, 20 instances to train on and 100 to test on,
C = 1, 20 trials, and SGD with the steps of ``trials``. The figure shows the log-likelihood of the
labels of the test instances under p(y, h | x) ∝ exp(w · Φ), in nats per label, at the last point of
every epoch, whatever objective the model is trained for; the lines are means over the trials. The
table has it after the first and the last epoch, and for the model that SGD returns, beside the test
accuracy of this model. The field itself, from which the data come, bounds both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.trials import (
    SGD,
    STREAM,
    TRAINING,
    TRIALS,
    TRUTH,
    accuracy,
    by_trial,
    config_of,
    descent,
    differences,
    fitted,
    log_likelihood,
    new_trial,
    true_accuracy,
)
from lssvm.output import plots as report
from lssvm.output.tables import plus_minus, text_table, write_results


class Plan(NamedTuple):
    """The size of the experiment: nodes of the chain without x, trials, training instances."""

    nodes: int = 20
    trials: int = TRIALS
    training: int = TRAINING


FULL = Plan()
QUICK = Plan(6, 2, 8)


class Task(NamedTuple):
    """One method on one trial."""

    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Descend for every model on every trial, and write the figure and the table."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    tasks = [Task(method, trial) for method in (TRUTH, *SGD) for trial in range(plan.trials)]
    rows = arguments.solved(solve, plan, tasks)
    draw(arguments.out / "figure5.png", rows)
    text = reported(rows, plan)
    write_results(arguments.out, "figure5", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """A row of the results: the log-likelihood after each epoch, and that of the returned model."""
    trial = new_trial(Draw(plan.nodes, 1), task.trial, plan.training)
    if task.method == TRUTH:
        own = log_likelihood(trial.field.weights, trial.test)
        return {**task._asdict(), "path": [], "own": own, "right": true_accuracy(trial, "mssvm")}
    method = SGD[task.method]
    points = descent(config_of(method, 1.0), trial.training)
    model = fitted(method, trial.training, 1.0)
    return {
        **task._asdict(),
        "path": [log_likelihood(w, trial.test) for w in points[1:]],
        "own": log_likelihood(model.w, trial.test),
        "right": accuracy(model, trial.test),
    }


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table with a row for each model, and the paired differences of the log-likelihoods."""
    table, found = [], {}
    for method in (TRUTH, *SGD):
        paths = by_trial(rows, "path", method=method)
        found[method] = by_trial(rows, "own", method=method)
        row = {"model": method}
        for name, place in (("after one epoch", 0), ("after the last", -1)):
            ends = [path[place] for path in paths if path]
            row[name] = plus_minus(ends, 3) if ends else "–"
        row["of the returned model"] = plus_minus(found[method], 3)
        row["test accuracy (%)"] = plus_minus(by_trial(rows, "right", method=method))
        table.append(row)
    title = (
        "Log-likelihood of the test labels, nats per label; mean ± standard error over "
        f"{plan.trials} trials"
    )
    return "\n".join([text_table(title, table), "Paired differences:", *differences(found)])


def draw(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a line for each model by the number of epochs, with standard errors."""
    lines = []
    for hue, method in enumerate(SGD):
        values = np.array(by_trial(rows, "path", method=method))
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        epochs = range(1, values.shape[1] + 1)
        lines.append(report.Series(method, epochs, values.mean(axis=0), errors, hue))
    report.draw_lines(
        path, lines, x_label="epochs", y_label="log-likelihood (nats per label)", log_x=True
    )


if __name__ == "__main__":
    command.main(
        "The log-likelihood of test outputs while models with hidden variables descend.",
        None,
        "a short chain, eight instances, two trials",
        experiment,
        {"trials": STREAM},
    )
