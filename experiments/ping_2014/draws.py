"""How the means of Table 2 depend on the reading of the simulation (Ping et al., ICML 2014).

    python -m experiments.ping_2014.draws --out out/mssvm-draws

``hidden_fields`` reads the paper to the letter. Its figures for the chain are then not reached, so
this experiment changes the reading in one place at a time: nodes counted without x; 2 as the
variance of the weights of pairs; x drawn first, from its own weights, and y and h given x; σ_h as
the standard deviation of x–h without weights of single nodes; weights that all nodes and edges of a
kind share; fewer states. The figures are the shares of correct test labels in percent, with
σ_h = 0.1 unless stated otherwise and with C = 1; everything else is as in ``table2``. The columns
are means and standard errors: for the field itself, whose weights predict y by marginal MAP or as
part of the joint MAP, and for the models, trained by CCCP on chains and by SGD on grids, where CCCP
takes up to a minute for one model of some readings. The last columns are paired differences. No
reading was chosen by these figures.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.papers.published import PING_TABLE_2
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.trials import (
    CCCP,
    PAIRS,
    SGD,
    STREAM,
    TRAINING,
    by_trial,
    new_trial,
    results,
    true_result,
)
from lssvm.output.tables import plus_minus, text_table, write_results

TRUTH = {"marginal MAP": "mssvm", "joint MAP": "lssvm"}
CHAIN, LONG, SMALL = Draw(20, 1), Draw(40, 1), Draw(6, 6)
ROOT = math.sqrt(2.0)
VARIANCE = {"scale_xy": ROOT, "scale_yh": ROOT, "scale_xh": ROOT}
PAIRS_ALONE = {"scale_xh": 0.1, "scale_x": 0.0, "scale_y": 0.0, "sigma": 0.0}
DRAWS = {
    "chain, to the letter": CHAIN,
    "the 40 nodes without x": LONG,
    "pairs of variance 2": CHAIN._replace(**VARIANCE),
    "x drawn first": CHAIN._replace(joint=False),
    "x drawn first, σ_h = 1": CHAIN._replace(joint=False, sigma=1.0),
    "x drawn first, σ_h = 10": CHAIN._replace(joint=False, sigma=10.0),
    "pairs alone, σ_h that of x–h": CHAIN._replace(**PAIRS_ALONE),
    "the same, pairs of variance 2": CHAIN._replace(**{**VARIANCE, **PAIRS_ALONE}),
    "one table of each kind": CHAIN._replace(tied=True),
    "three states": CHAIN._replace(states=3),
    "two states": CHAIN._replace(states=2),
    "grid, to the letter": SMALL,
    "grid, pairs of variance 2": SMALL._replace(**VARIANCE),
    "grid, x drawn first": SMALL._replace(joint=False),
    "grid, one table of each kind": SMALL._replace(tied=True),
}


class Plan(NamedTuple):
    """The size of the experiment: fields, trials and training instances."""

    draws: dict[str, Draw]
    trials: int = 5
    training: int = TRAINING


FULL = Plan(DRAWS)
QUICK = Plan(
    {"chain": Draw(10, 1), "one table of each kind": Draw(10, 1, tied=True), "grid": Draw(2, 3)},
    2,
    10,
)


class Task(NamedTuple):
    """One method on one trial."""

    draw: str
    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Train and test all models on all fields, and write the table."""
    plan = QUICK if arguments.quick else FULL
    # The slowest tasks first, so that all processes end at about the same time.
    tasks = [
        Task(draw, method, trial)
        for draw in reversed(plan.draws)
        for method in (*CCCP, *TRUTH)
        for trial in range(plan.trials)
    ]
    rows = arguments.solved(solve, plan, tasks)
    text = reported(rows, plan)
    write_results(arguments.out, "draws", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """Train and test: a row of the results."""
    draw = plan.draws[task.draw]
    trial = new_trial(draw, task.trial, plan.training)
    if task.method in TRUTH:
        return {**task._asdict(), **true_result(trial, TRUTH[task.method])}
    methods = SGD if draw.columns > 1 else CCCP
    (found,) = results(methods[task.method], trial, grid=None)
    return {**task._asdict(), **found}


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """A row for each field."""
    table = []
    for draw in plan.draws:
        values = {name: by_trial(rows, draw=draw, method=name) for name in (*TRUTH, *CCCP)}
        cells = {name: plus_minus(found, 1) for name, found in values.items()}
        apart = {f"{a} − {b}": plus_minus(np.subtract(values[a], values[b])) for a, b in PAIRS}
        table.append({"field": draw, **cells, **apart})
    title = f"Test accuracy (%) ± standard error over {plan.trials} trials"
    paper = [
        f"The paper's {name.partition(',')[0]}: "
        + ", ".join(f"{m} {v:.2f}" for m, v in zip(PING_TABLE_2.columns, figures, strict=True))
        for name, figures in PING_TABLE_2.rows.items()
        if name in ("chain, CCCP", "grid, SGD")
    ]
    return "\n".join([text_table(title, table), *paper])


if __name__ == "__main__":
    command.main(
        "Other readings of the paper's simulation of random fields.",
        None,
        "two short chains and a small grid, two trials",
        experiment,
        {"trials": STREAM},
    )
