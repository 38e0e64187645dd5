"""Accuracy for hidden variables of different certainty (Ping et al., ICML 2014, Table 3).

    python -m experiments.ping_2014.table3 --out out/mssvm-table3

The chain is that of ``hidden_fields``, of 40 nodes including x, for σ_h from 10 to 0.001: the
smaller σ_h is, the less the observed symbols say about the hidden states. A trial draws the same
standard normal numbers for every σ_h. Trials, methods and the choice of C are those of ``trials``.
The figures are the shares of correct test labels in percent, as means and standard errors over the
trials; the last columns are the mean over all σ_h, by trial, and the paper's mean. The first row is
the field itself: predictions by marginal MAP with the weights from which the data were drawn. M3E
and ModLat are those of ``min_entropy`` and ``modlat``, with their settings. The largest C matters
only for σ_h = 10.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.min_entropy import fitted_min_entropy
from experiments.ping_2014.modlat import fitted_uncertain
from experiments.ping_2014.trials import (
    CCCP,
    GRID,
    TRAINING,
    TRIALS,
    TRUTH,
    Method,
    by_trial,
    differences,
    new_trial,
    result,
    true_result,
)
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.training.cross_validation import run_tasks

METHODS = {
    **CCCP,
    "M3E": Method("lssvm", {}, fitted_min_entropy),
    "ModLat": Method("lssvm", {}, fitted_uncertain),
}
PAPER = {"MSSVM": 72.02, "LSSVM": 70.67, "HCRF": 71.28, "M3E": 68.58, "ModLat": 69.37}


class Plan(NamedTuple):
    """The size of the experiment: nodes of the chain without x, σ_h, C, trials and instances."""

    nodes: int = 20
    sigmas: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01, 0.001)
    grid: Sequence[float] = GRID
    trials: int = TRIALS
    training: int = TRAINING


FULL = Plan()
QUICK = Plan(10, (1.0, 0.1), (0.1,), 2, 10)


class Task(NamedTuple):
    """One method on one trial."""

    sigma: float
    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Train and test all methods on all trials, and write the table and the figure."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    tasks = [
        Task(sigma, method, trial)
        for method in (*METHODS, TRUTH)
        for sigma in plan.sigmas
        for trial in range(plan.trials)
    ]
    rows = run_tasks(solve, plan, tasks, jobs=arguments.jobs, progress=command.show_progress)
    draw(arguments.out / "table3.png", rows, plan)
    text = reported(rows, plan)
    write_results(arguments.out, "table3", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """Choose C, train and test: a row of the results."""
    trial = new_trial(Draw(plan.nodes, 1, sigma=task.sigma), task.trial, plan.training)
    if task.method == TRUTH:
        return {**task._asdict(), **true_result(trial)}
    return {**task._asdict(), **result(METHODS[task.method], trial, plan.grid)}


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table, and the paired differences for each σ_h and for the means."""
    table, means = [], {}
    for method in (TRUTH, *METHODS):
        values = [by_trial(rows, sigma=sigma, method=method) for sigma in plan.sigmas]
        means[method] = np.mean(values, axis=0).tolist()
        cells = {
            f"σ_h = {sigma:g}": plus_minus(own)
            for sigma, own in zip(plan.sigmas, values, strict=True)
        }
        paper = f"{PAPER[method]:.2f}" if method in PAPER and plan.nodes == FULL.nodes else None
        table.append(
            {"model": method, **cells, "mean": plus_minus(means[method]), "paper's mean": paper}
        )
    lines = []
    for sigma in plan.sigmas:
        own = {method: by_trial(rows, sigma=sigma, method=method) for method in METHODS}
        lines += [f"σ_h = {sigma:g}, {line}" for line in differences(own)]
    lines += [f"mean, {line}" for line in differences(means)]
    title = f"Test accuracy (%) ± standard error over {plan.trials} trials"
    return "\n".join([text_table(title, table), "Paired differences:", *lines])


def draw(path: Any, rows: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    """Draw accuracy by σ_h, with a line for each model."""
    lines = []
    for hue, method in enumerate((*METHODS, TRUTH)):
        found = [
            mean_and_error(by_trial(rows, sigma=sigma, method=method)) for sigma in plan.sigmas
        ]
        means, errors = zip(*found, strict=True)
        lines.append(report.Series(method, plan.sigmas, means, errors, hue, dashed=method == TRUTH))
    report.draw_lines(path, lines, x_label="σ_h", y_label="test accuracy (%)", log_x=True)


if __name__ == "__main__":
    command.main(
        "Models with hidden variables of different certainty, on simulated chains.",
        None,
        "a short chain, two values of σ_h, two trials, one value of C",
        experiment,
    )
