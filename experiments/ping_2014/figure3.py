"""Error and likelihood by the number of training chains (Ping et al., ICML 2014).

    python -m experiments.ping_2014.figure3 --out out/mssvm-figure3

Figure 3 of the paper shows the error on 500 test chains of 20 nodes, 10 of them x, for 4, 8, …,
1024 training chains, as means over 5 trials with C = 1. Fields, trials and methods are those of
``hidden_fields`` and ``trials``; a larger training set of a trial contains the smaller ones. We
have 20 trials, and beside them the means of the first five, as many as the paper has. A second
figure shows the log-likelihood of the test labels, which the supplement of the paper has for
another setting (see ``figure5``). It is that of the labels under
p(y, h | x) ∝ exp(w · Φ), in nats per label, whatever objective the model was trained for. Since it
depends on the size of w, it is shown for C = 1 and, as broken lines, for the C of highest
log-likelihood on 100 validation chains. The field itself bounds both measures.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.trials import (
    CCCP,
    STREAM,
    TRIALS,
    TRUTH,
    Trial,
    accuracy,
    by_trial,
    differences,
    fitted,
    log_likelihood,
    new_trial,
    true_accuracy,
)
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results

METHODS = CCCP
MEASURES = {
    "error": "test error (%)",
    "likelihood": "log-likelihood (nats per label)",
    "best_likelihood": "log-likelihood, C chosen by it",
}


class Plan(NamedTuple):
    """The size of the experiment: nodes of the chain without x, training chains, C and trials."""

    nodes: int = 10
    sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    grid: Sequence[float] = (0.1, 0.3, 1.0, 3.0)
    trials: int = TRIALS
    paper_trials: int = 5
    test: int = 500


FULL = Plan()
QUICK = Plan(6, (4, 8), (0.3,), 2, 1, 50)


class Task(NamedTuple):
    """One method on one trial."""

    size: int
    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Train on every number of chains, and write the figures and the table."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    # The slowest tasks first, so that all processes end at about the same time.
    tasks = [
        Task(size, method, trial)
        for size in reversed(plan.sizes)
        for method in (*METHODS, TRUTH)
        for trial in range(plan.trials)
    ]
    rows = arguments.solved(solve, plan, tasks)
    rows.sort(key=lambda row: (row["size"], [*METHODS, TRUTH].index(row["method"]), row["trial"]))
    draw(arguments.out / "figure3.png", rows, plan, ("error",))
    draw(arguments.out / "figure3-likelihood.png", rows, plan, ("likelihood", "best_likelihood"))
    text = reported(rows, plan)
    write_results(arguments.out, "figure3", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """Train and test: a row of the results."""
    trial = new_trial(Draw(plan.nodes, 1), task.trial, max(plan.sizes), plan.test)
    if task.method == TRUTH:
        own = log_likelihood(trial.field.weights, trial.test)
        found = {"error": 100.0 - true_accuracy(trial, "mssvm"), "C": None, "best_C": None}
        return {**task._asdict(), **found, "likelihood": own, "best_likelihood": own}
    return {**task._asdict(), **tested(trial, task, plan.grid)}


def tested(trial: Trial, task: Task, grid: Sequence[float]) -> dict[str, Any]:
    """The measures on the test chains, with C = 1 and with the C of highest likelihood."""
    training = trial.training.take(np.arange(task.size))
    models = {C: fitted(METHODS[task.method], training, C) for C in sorted({*grid, 1.0})}
    likely = {C: log_likelihood(models[C].w, trial.validation) for C in models}
    best = max(likely, key=lambda C: likely[C])
    return {
        "error": 100.0 - accuracy(models[1.0], trial.test),
        "C": 1.0,
        "best_C": best,
        "likelihood": log_likelihood(models[1.0].w, trial.test),
        "best_likelihood": log_likelihood(models[best].w, trial.test),
    }


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table with a row for each size and model, and the paired differences of the errors."""
    table, lines = [], []
    for size in plan.sizes:
        errors = {}
        for method in (TRUTH, *METHODS):
            own = {key: by_trial(rows, key, size=size, method=method) for key in MEASURES}
            cells = {
                text: plus_minus(own[key], 2 if key == "error" else 3)
                for key, text in MEASURES.items()
            }
            few = plus_minus(own["error"][: plan.paper_trials])
            first = {f"error, {plan.paper_trials} trials": few}
            table.append({"chains": size, "model": method, **cells, **first})
            errors[method] = own["error"]
        lines += [f"{size} chains, {line}" for line in differences(errors)]
    title = f"Mean ± standard error over {plan.trials} trials"
    return "\n".join([text_table(title, table), "Paired differences of errors:", *lines])


def draw(
    path: Path, rows: Sequence[Mapping[str, Any]], plan: Plan, measures: Sequence[str]
) -> None:
    """Draw lines by the number of training chains, with broken lines for a second measure."""
    lines = []
    for dashed, measure in enumerate(measures):
        for hue, method in enumerate(METHODS if dashed else (*METHODS, TRUTH)):
            found = [
                mean_and_error(by_trial(rows, measure, size=size, method=method))
                for size in plan.sizes
            ]
            means, errors = zip(*found, strict=True)
            label = f"{method}, C chosen by it" if dashed else method
            lines.append(report.Series(label, plan.sizes, means, errors, hue, bool(dashed)))
    report.draw_lines(
        path, lines, x_label="training chains", y_label=MEASURES[measures[0]], log_x=True
    )


if __name__ == "__main__":
    command.main(
        "Models with hidden variables for different numbers of training chains.",
        None,
        "short chains, 4 and 8 of them, two values of C, two trials",
        experiment,
        {"trials": STREAM},
    )
