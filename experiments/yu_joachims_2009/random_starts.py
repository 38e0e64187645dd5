"""The protocol of Yu & Joachims (ICML 2009, section 5.1): random first sites.

The first site of every positive sequence is drawn uniformly for each seed, and each value of C is
trained from these sites, without the models of other values. Of all values of C and all seeds, the
model with the fewest errors on the validation fold is tested.

One economy, fixed before any figure of this protocol was seen, does not look at a test fold: the
values of C go upwards until two in a row have no fewer errors on the validation fold than the best
before them; of equal models the smaller C counts, so that larger values would have to be better
than all of these.

The paper's factor of the cost of background sequences, 1/50, was picked by cross-validation as
well. So here the first seed is trained with each of several factors and with C of at most 10, the
factor of a fold is the one whose best model has the fewest errors on its validation fold, and all
seeds are trained with that factor alone. Of equal models the first counts, in the order of factors,
values of C and seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from lssvm.config import set_values
from lssvm.training.cross_validation import C_KEY, Study
from lssvm.training.session import learn_on

MOST = 10.0  # the largest C with which the factor of the cost is chosen
PATIENCE = 2  # values of C that are no better, after which no larger one is tried


class Start(NamedTuple):
    """The values of C, up to ``most``, for one factor, test fold and seed."""

    cost: float
    fold: int
    seed: int
    most: float = math.inf


def runs_of(
    study: Study, costs: Sequence[float], seeds: int, arguments: command.Arguments
) -> list[dict[str, Any]]:
    """Train everything that the protocol asks for; a row for each model with the chosen factor.

    costs : the factors; without background sequences the first one alone, which has no say
    """
    folds = range(study.config.search.fold_count)
    best = dict.fromkeys(folds, costs[0])
    if len(costs) > 1 and not np.all(study.counted):
        tried = [Start(cost, fold, 0, MOST) for cost in costs for fold in folds]
        rows = _done(study, tried, arguments)
        best = {fold: picked(rows, fold)["cost"] for fold in folds}
    tasks = [Start(best[fold], fold, seed) for fold in folds for seed in range(seeds)]
    return _done(study, tasks, arguments)


def _done(
    study: Study, tasks: Sequence[Start], arguments: command.Arguments
) -> list[dict[str, Any]]:
    found = arguments.solved(trained, study, tasks)
    return [row for own in found for row in own]


def trained(study: Study, task: Start) -> list[dict[str, Any]]:
    """Train each C from random sites, upwards; errors in percent on both held-out folds."""
    held = (task.fold, (task.fold + 1) % study.config.search.fold_count)
    every = study.examples[0]
    every = replace(every, costs=np.where(study.counted, every.costs, task.cost))
    training = every.take(np.flatnonzero(~np.isin(study.fold, held)))
    test, validation = (
        every.take(np.flatnonzero((study.fold == fold) & study.counted)) for fold in held
    )
    rows: list[dict[str, Any]] = []
    grid = np.sort(study.config.search.grid[C_KEY])
    for C in grid[grid <= task.most].tolist():
        values = {"search.grid": {}, C_KEY: C, "seed": task.seed}
        config = set_values(study.config, {**values, "application.initialisation": "random"})
        application = config.create_application()
        model = learn_on(application, training, config, scored=False)
        wrong = {
            name: application.score(part, application.predict(model.w, part))["error"]
            for name, part in (("validation", validation), ("test", test))
        }
        place = {"cost": task.cost, "fold": task.fold, "seed": task.seed, "C": C}
        rows.append({**place, **wrong, "objective": model.record["objective"]})
        if ended([row["validation"] for row in rows]):
            break
    return rows


def ended(errors: Sequence[float]) -> bool:
    """Whether the last values of C have no fewer validation errors than the best before them."""
    return len(errors) > PATIENCE and min(errors[-PATIENCE:]) >= min(errors[:-PATIENCE])


def picked(rows: Sequence[dict[str, Any]], fold: int) -> dict[str, Any]:
    """The model of a test fold with the fewest errors on its validation fold."""
    own = [row for row in rows if row["fold"] == fold]
    order = sorted(own, key=lambda row: (-row["cost"], row["C"], row["seed"]))
    return min(order, key=lambda row: row["validation"])


def summarised(rows: Sequence[dict[str, Any]], folds: int) -> dict[str, Any]:
    """What was picked: test errors by fold, and how much they differ between seeds.

    spread : the standard deviation of the test error over the seeds with the factor and the C that
        were picked, mean over the folds in which several seeds came to this C; None if there are
        no such folds
    """
    chosen = [picked(rows, fold) for fold in range(folds)]
    spreads = []
    for one in chosen:
        key = ("cost", "fold", "C")
        errors = [row["test"] for row in rows if all(row[name] == one[name] for name in key)]
        if len(errors) > 1:
            spreads.append(float(np.std(errors, ddof=1)))
    return {
        "errors": [float(one["test"]) for one in chosen],
        "spread": float(np.mean(spreads)) if spreads else None,
        "picked": [f"{one['C']:g}/{one['cost']:g}/{one['seed']}" for one in chosen],
    }
