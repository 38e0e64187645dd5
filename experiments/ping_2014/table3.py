"""Accuracy for hidden variables of different certainty (Ping et al., ICML 2014, Table 3).

    python -m experiments.ping_2014.table3 --out out/mssvm-table3

The chain is that of ``hidden_fields``, of 40 nodes including x. σ_h, the standard deviation of the
weights of single hidden nodes, is one of the six values of the paper; a trial draws the same
standard normal numbers for every σ_h. Trials, methods and the two rules for C are those of
``trials``. The figures are the shares of correct test labels in percent, as means and standard
errors over the trials, and the paper's means beside C = 1; the last column is the mean over all
σ_h, by trial. The first row is the field itself: predictions by marginal MAP with the weights from
which the data were drawn. M3E and ModLat are those of ``min_entropy`` and ``modlat``, with their
settings and C = 1 alone, because ModLat takes as long as all other models together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.papers.published import PING_TABLE_3, SIGMAS
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.min_entropy import fitted_min_entropy
from experiments.ping_2014.modlat import fitted_uncertain
from experiments.ping_2014.trials import (
    CCCP,
    FIXED,
    GRID,
    PICKED,
    STREAM,
    TRAINING,
    TRIALS,
    TRUTH,
    Method,
    at_an_edge,
    by_trial,
    differences,
    new_trial,
    results,
    true_result,
)
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results

METHODS = {
    **CCCP,
    "M3E": Method("lssvm", {}, fitted_min_entropy),
    "ModLat": Method("lssvm", {}, fitted_uncertain),
}


class Plan(NamedTuple):
    """The size of the experiment: nodes of the chain without x, σ_h, C, trials and instances."""

    nodes: int = 20
    sigmas: tuple[float, ...] = SIGMAS
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
    found = arguments.solved(solve, plan, tasks)
    rows = [row for own in found for row in own]
    draw(arguments.out / "table3.png", rows, plan)
    text = reported(rows, plan)
    write_results(arguments.out, "table3", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """Train and test by both rules for C: rows of the results."""
    trial = new_trial(Draw(plan.nodes, 1, sigma=task.sigma), task.trial, plan.training)
    if task.method == TRUTH:
        return [{**task._asdict(), **true_result(trial)}]
    found = results(METHODS[task.method], trial, plan.grid if task.method in CCCP else None)
    return [{**task._asdict(), **row} for row in found]


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table, and the paired differences for each σ_h and for the means."""
    table, lines = [line_of(TRUTH, "–", values_of(rows, plan, None, TRUTH), plan)], []
    for rule, methods in ((FIXED, METHODS), (PICKED, CCCP)):
        found = {method: values_of(rows, plan, rule, method) for method in methods}
        table += [line_of(method, rule, own, plan) for method, own in found.items()]
        for place, sigma in enumerate(plan.sigmas):
            own = {method: values[place] for method, values in found.items()}
            lines += [f"C {rule}, σ_h = {sigma:g}, {line}" for line in differences(own)]
        means = {method: np.mean(values, axis=0).tolist() for method, values in found.items()}
        lines += [f"C {rule}, mean, {line}" for line in differences(means)]
    if plan.sigmas == FULL.sigmas and plan.nodes == FULL.nodes:
        table += [paper_line(method) for method in METHODS]
    title = f"Test accuracy (%) ± standard error over {plan.trials} trials"
    edges = at_an_edge(rows, plan.grid)
    return "\n".join([text_table(title, table), "Paired differences:", *lines, edges])


def values_of(
    rows: Sequence[Mapping[str, Any]], plan: Plan, rule: str | None, method: str
) -> list[list[float]]:
    """The accuracy for each σ_h and trial."""
    return [by_trial(rows, sigma=sigma, method=method, rule=rule) for sigma in plan.sigmas]


def line_of(method: str, rule: str, values: Sequence[list[float]], plan: Plan) -> dict[str, Any]:
    """A row of the table."""
    cells = {
        f"σ_h = {sigma:g}": plus_minus(own) for sigma, own in zip(plan.sigmas, values, strict=True)
    }
    mean = plus_minus(np.mean(values, axis=0).tolist())
    return {"model": method, "C": rule, **cells, "mean": mean}


def paper_line(method: str) -> dict[str, Any]:
    """The paper's row."""
    cells = {row: f"{PING_TABLE_3.figure(row, method):.2f}" for row in PING_TABLE_3.rows}
    return {"model": f"{method}, paper", "C": FIXED, **cells}


def draw(path: Any, rows: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    """Draw accuracy by σ_h with C = 1, with a line for each model."""
    lines = []
    for hue, method in enumerate((*METHODS, TRUTH)):
        rule = None if method == TRUTH else FIXED
        found = [mean_and_error(own) for own in values_of(rows, plan, rule, method)]
        means, errors = zip(*found, strict=True)
        lines.append(report.Series(method, plan.sigmas, means, errors, hue, dashed=method == TRUTH))
    report.draw_lines(path, lines, x_label="σ_h", y_label="test accuracy (%)", log_x=True)


if __name__ == "__main__":
    command.main(
        "Models with hidden variables of different certainty, on simulated chains.",
        None,
        "a short chain, two values of σ_h, two trials, one value of C",
        experiment,
        {"trials": STREAM},
    )
