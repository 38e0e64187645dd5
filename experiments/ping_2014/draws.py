"""How the means of Table 2 depend on what the simulation leaves open (Ping et al., ICML 2014).

    python -m experiments.ping_2014.draws --out out/mssvm-draws

The density in the paper says which kinds of edges there are; ``hidden_fields`` says what else is
assumed. This experiment changes these assumptions one by one. The numbers beside x–y and y–h are
the standard deviations of their weights, which are assumed to be √2. Three values of σ_h for the
longer chain concern Table 3. The figures are the shares of correct test labels in percent, with
σ_h = 0.1 unless stated otherwise; everything else is as in ``table2``, with fewer trials. The
columns are means and standard errors: for the field itself, whose weights predict y by marginal MAP
or as part of the joint MAP, and for the models, trained by CCCP. The last columns are paired
differences.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.table2 import PAPER
from experiments.ping_2014.trials import (
    CCCP,
    PAIRS,
    TRAINING,
    by_trial,
    new_trial,
    result,
    true_result,
)
from lssvm.output.tables import plus_minus, text_table, write_results
from lssvm.training.cross_validation import run_tasks

TRUTH = {"marginal MAP": "mssvm", "joint MAP": "lssvm"}
CHAIN, LONG, SMALL = Draw(20, 1), Draw(40, 1), Draw(6, 6)
DRAWS = {
    "chain, as taken": CHAIN,
    "the 40 nodes without x": LONG,
    "the 40 nodes without x, σ_h = 1": LONG._replace(sigma=1.0),
    "the 40 nodes without x, σ_h = 10": LONG._replace(sigma=10.0),
    "x–y 1, y–h 2": CHAIN._replace(scale_xy=1.0, scale_yh=2.0),
    "x–y 1, y–h 2, the 40 nodes without x": Draw(40, 1, 1.0, 2.0),
    "x–y 1": CHAIN._replace(scale_xy=1.0),
    "y–h 1": CHAIN._replace(scale_yh=1.0),
    "y–h 2": CHAIN._replace(scale_yh=2.0),
    "σ_h = 0.1 is a variance": CHAIN._replace(sigma=math.sqrt(0.1)),
    "one table of each kind": CHAIN._replace(tied=True),
    "x uniform, y and h given x": CHAIN._replace(joint=False),
    "three states": CHAIN._replace(states=3),
    "two states": CHAIN._replace(states=2),
    "grid, as taken": SMALL,
    "grid, x–y 1, y–h 2": SMALL._replace(scale_xy=1.0, scale_yh=2.0),
    "grid, y–h 1": SMALL._replace(scale_yh=1.0),
    "grid, one table of each kind": SMALL._replace(tied=True),
}


class Plan(NamedTuple):
    """The size of the experiment: fields, values of C for chains and grids, trials, instances."""

    draws: dict[str, Draw]
    grid: Sequence[float] = (0.03, 0.1, 0.3, 1.0)
    grid_of_grids: Sequence[float] = (0.01, 0.03)
    trials: int = 20
    training: int = TRAINING


FULL = Plan(DRAWS)
QUICK = Plan(
    {"chain": Draw(10, 1), "one table of each kind": Draw(10, 1, tied=True), "grid": Draw(2, 3)},
    (0.1,),
    (0.1,),
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
    rows = run_tasks(solve, plan, tasks, jobs=arguments.jobs, progress=command.show_progress)
    text = reported(rows, plan)
    write_results(arguments.out, "draws", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """Choose C, train and test: a row of the results."""
    draw = plan.draws[task.draw]
    trial = new_trial(draw, task.trial, plan.training)
    if task.method in TRUTH:
        return {**task._asdict(), **true_result(trial, TRUTH[task.method])}
    grid = plan.grid if draw.columns == 1 else plan.grid_of_grids
    return {**task._asdict(), **result(CCCP[task.method], trial, grid)}


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
        f"The paper's {shape}: " + ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
        for (shape, trainer), means in PAPER.items()
        if trainer == "CCCP"
    ]
    return "\n".join([text_table(title, table), *paper])


if __name__ == "__main__":
    command.main(
        "The effect of choices that the paper's simulation of random fields leaves open.",
        None,
        "two short chains and a small grid, two trials, one value of C",
        experiment,
    )
