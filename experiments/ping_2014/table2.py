"""Three models with hidden variables on a chain and a grid (Ping et al., ICML 2014, Table 2).

    python -m experiments.ping_2014.table2 --out out/mssvm-table2

Fields are those of ``hidden_fields``, with the numbers of the paper; trials, methods and the two
rules for C are those of ``trials``; on the grid, where CCCP takes up to half a minute for one large
C, C is picked for SGD alone. The table gives the share of correct test labels in percent, as
mean and standard error over the trials, and the paper's mean beside C = 1, which the paper has.
``errors apart`` is the distance between the two means in our standard errors (the paper's are not
known). The first row of each shape is the field itself: predictions by marginal MAP with the
weights from which the data were drawn. The paired differences of the models are printed below the
table.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.common import command
from experiments.papers.published import PING_TABLE_2
from experiments.ping_2014.hidden_fields import Draw
from experiments.ping_2014.trials import (
    CCCP,
    FIXED,
    GRID,
    PICKED,
    SGD,
    STREAM,
    TRAINING,
    TRIALS,
    TRUTH,
    at_an_edge,
    beside,
    by_trial,
    differences,
    new_trial,
    results,
    true_result,
)
from lssvm.output.tables import text_table, write_results

TRAINERS = {"CCCP": CCCP, "SGD": SGD}


class Plan(NamedTuple):
    """The size of the experiment: fields, values of C for each, trials and training instances.

    fixed : the shapes and trainers that have C = 1 alone
    """

    draws: dict[str, Draw]
    grids: dict[str, Sequence[float]]
    trials: int
    training: int
    fixed: Sequence[tuple[str, str]] = ()


FULL = Plan(
    {"chain": Draw(20, 1), "grid": Draw(6, 6)},
    {"chain": GRID, "grid": (0.1, 0.3, 1.0, 3.0)},
    TRIALS,
    TRAINING,
    (("grid", "CCCP"),),
)
QUICK = Plan({"chain": Draw(10, 1), "grid": Draw(3, 3)}, {"chain": (0.1,), "grid": (0.1,)}, 2, 10)


class Task(NamedTuple):
    """One method on one trial."""

    shape: str
    trainer: str
    method: str
    trial: int


def experiment(arguments: command.Arguments) -> str:
    """Train and test all methods on all trials, and write the table."""
    plan = QUICK if arguments.quick else FULL
    # The slowest tasks first, so that all processes end at about the same time.
    tasks = [
        Task(shape, trainer, method, trial)
        for shape in reversed(plan.draws)
        for trainer, method in [
            *((trainer, method) for trainer, own in TRAINERS.items() for method in own),
            ("", TRUTH),
        ]
        for trial in range(plan.trials)
    ]
    found = arguments.solved(solve, plan, tasks)
    rows = [row for own in found for row in own]
    text = reported(rows, plan)
    write_results(arguments.out, "table2", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """Train and test by both rules for C: rows of the results."""
    trial = new_trial(plan.draws[task.shape], task.trial, plan.training)
    if task.method == TRUTH:
        return [{**task._asdict(), **true_result(trial)}]
    method = TRAINERS[task.trainer][task.method]
    grid = None if (task.shape, task.trainer) in plan.fixed else plan.grids[task.shape]
    return [{**task._asdict(), **row} for row in results(method, trial, grid)]


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table, and the paired differences."""
    table, lines = [], []
    for shape in plan.draws:
        found = by_trial(rows, shape=shape, method=TRUTH)
        cells = {"field": shape, "trained by": "–", "C": "–", "model": TRUTH}
        table.append({**cells, **beside(found, None)})
        for rule, (trainer, methods) in itertools.product((FIXED, PICKED), TRAINERS.items()):
            if rule == PICKED and (shape, trainer) in plan.fixed:
                continue
            place = {"shape": shape, "trainer": trainer, "rule": rule}
            values = {name: by_trial(rows, method=name, **place) for name in methods}
            as_published = rule == FIXED and plan.draws == FULL.draws
            for name, found in values.items():
                printed = PING_TABLE_2.figure(f"{shape}, {trainer}", name)
                cells = {"field": shape, "trained by": trainer, "C": rule, "model": name}
                table.append({**cells, **beside(found, printed if as_published else None)})
            lines += [f"{shape}, {trainer}, C {rule}, {line}" for line in differences(values)]
        lines.append(f"{shape}: {at_an_edge(rows, plan.grids[shape], shape=shape)}")
    title = f"Test accuracy (%) ± standard error over {plan.trials} trials"
    return "\n".join([text_table(title, table), "Paired differences:", *lines])


if __name__ == "__main__":
    command.main(
        "Marginal and latent structural SVM and hidden CRF on a simulated chain and grid.",
        None,
        "a short chain and a small grid, two trials, one value of C",
        experiment,
        {"trials": STREAM},
    )
