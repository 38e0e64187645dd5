"""Binary bags (multiple-instance learning), trained for F1 over the whole data set.

    python -m experiments.haffari_2015.bags --data mil --out out/bags

A bag is positive if one of its instances is (Dietterich, Lathrop & Lozano-Pérez 1997); the labels
of the instances are hidden. This is ``relation`` with one relation: none, the negative label, has
the score 0, and a positive bag completes to its instances with scores above 0, or to the best one
if there are none (mi-SVM of Andrews, Tsochantaridis & Hofmann, NIPS 2002). Data: Musk1, elephant,
fox and tiger, with the ten folds of the first repetition of their files of folds.

Protocol. Each fold is the test data once. Of the other nine, the next two are the validation data;
C is that with the highest F1 on them after training on the remaining seven, the first of equal
ones. The model that is tested is trained with this C on all nine. Features are centred and divided
by their standard deviation, both over the instances of the data that a model is trained on. The
test bags of all folds together give the figures, and 95 % intervals by resampling them (2,000
times, the same bags for both losses); these do not show how models vary with their training data.

    Hamming      latent structural SVM with the loss 0 or 1 of each bag
    F_1          the same model with the loss n (1 − F1) over all bags together

"met" is the share of passes whose bounds met, "gap" the largest certified gap of a last convex
problem, "seconds" the CPU time of all that was trained.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.haffari_2015.evaluation import SEED, Outcome, difference, f_of, measured
from experiments.haffari_2015.models import Effort, outcome_of, trained
from lssvm import sparse
from lssvm.applications.base import Source
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.errors import DataError
from lssvm.output.tables import text_table, write_results
from lssvm.output.whole import replacing

SETS = ("musk1", "elephant", "fox", "tiger")
LOSSES = {"Hamming": None, "F_1": 1.0}  # β of each
FOLDS, VALIDATION = 10, 2


class Plan(NamedTuple):
    """What is run.

    sets : their names; folds : so many of them are tested; grid : values of C
    passes : at most, for one convex problem; rounds : CCCP iterations at most
    """

    sets: tuple[str, ...]
    folds: int
    grid: tuple[float, ...]
    passes: int
    rounds: int


FULL = Plan(SETS, FOLDS, (0.001, 0.01, 0.1), 200, 5)
QUICK = Plan(SETS[:2], 2, (0.01,), 30, 3)


class Task(NamedTuple):
    """A loss on a data set, whose fold is tested."""

    name: str
    loss: str
    fold: int


class Files(NamedTuple):
    """Where the bags of each data set are, in order, and the fold of each, from 1."""

    sources: Mapping[str, Source]
    folds: Mapping[str, np.ndarray]
    plan: Plan


class Fit(NamedTuple):
    """What a task gave: C, what is said of the test bags, and figures of all that was trained."""

    task: Task
    C: float
    outcome: Outcome
    facts: Sequence[Mapping[str, Any]]
    seconds: float


def experiment(arguments: command.Arguments) -> str:
    """Train, choose, test, and write the table."""
    plan = QUICK if arguments.quick else FULL
    sources, folds = {}, {}
    for name in plan.sets:
        sources[name], folds[name] = written(arguments.data, arguments.out, name)
    tasks = [
        Task(name, loss, fold)
        for name in plan.sets
        for fold in range(1, plan.folds + 1)
        for loss in LOSSES
    ]
    files = Files(sources, folds, plan)
    fits = arguments.solved(solve, files, tasks)
    rows = [row(fits, name, loss) for name in plan.sets for loss in LOSSES]
    text = report(rows)
    write_results(arguments.out, "bags", text, rows, {"plan": plan._asdict()})
    return text


def written(folder: Path, out: Path, name: str) -> tuple[Source, np.ndarray]:
    """Write a data set as bags of ``relation``; returns where, and the fold of each bag.

    Raises DataError if a file is missing, or if folds and bags are not as many.
    """
    table = _table(folder / f"{name}.csv.gz", 0)
    folds = _table(folder / f"{name}_folds5x10.csv.gz", 1)[:, 1].astype(np.int64)
    bags, counts = np.unique(table[:, 1], return_counts=True)
    if len(bags) != len(folds):
        message = f"has {len(folds)} bags; expected the {len(bags)} bags of the data"
        raise DataError(folder / f"{name}_folds5x10.csv.gz", None, message)
    table = table[np.argsort(table[:, 1], kind="stable")]
    path, begin = out / f"{name}.txt", 0
    with replacing(path) as file:
        file.write(f"{len(bags)}\n1\n")
        for count in counts.tolist():
            own = table[begin : begin + count]
            file.write(f"1\n1\n{count}\n" if own[:, 0].any() else f"0\n{count}\n")
            file.writelines(_line(values) for values in own[:, 2:].tolist())
            begin += count
    return Source(str(path)), folds


def _table(path: Path, header: int) -> np.ndarray:
    if not path.exists():
        raise DataError(path, None, "is missing; expected comma-separated bags or their folds")
    return np.loadtxt(path, delimiter=",", skiprows=header, ndmin=2)


def _line(values: Sequence[float]) -> str:
    """An instance in the text format."""
    numbers = " ".join(f"{place}:{value!r}" for place, value in enumerate(values, 1))
    return f"{len(values)} {numbers}\n"


def solve(files: Files, task: Task) -> Fit:
    """Choose C for a fold, train, and test."""
    application, plan = Relation(RelationOptions()), files.plan
    bags, folds = application.read([files.sources[task.name]]), files.folds[task.name]
    own = np.isin(folds, [(task.fold + k) % FOLDS + 1 for k in range(VALIDATION)])
    test = folds == task.fold
    began, facts, scores = time.process_time(), [], []
    for C in plan.grid:
        told, figures = fitted(application, bags, ~own & ~test, own, task.loss, C, plan)
        facts.append(figures)
        scores.append(float(f_of(told.counts.sum(axis=0))))
    C = plan.grid[int(np.argmax(scores))]
    told, figures = fitted(application, bags, ~test, test, task.loss, C, plan)
    return Fit(task, C, told, [*facts, figures], time.process_time() - began)


def fitted(
    application: Relation,
    bags: Bags,
    inside: np.ndarray,
    outside: np.ndarray,
    loss: str,
    C: float,
    plan: Plan,
) -> tuple[Outcome, dict[str, Any]]:
    """What a model trained on some bags (n,) bool says of others (n,) bool, and its figures."""
    train, other = scaled(bags.take(np.flatnonzero(inside)), bags.take(np.flatnonzero(outside)))
    effort = Effort(plan.passes, plan.rounds)
    (found,) = trained(application, train, (C,), LOSSES[loss], effort)
    return outcome_of(application, found.w, other), found.facts


def scaled(train: Bags, other: Bags) -> tuple[Bags, Bags]:
    """Both with features of mean 0 and variance 1 over the instances of ``train``.

    The last feature is the constant one, which stays.
    """
    inputs = train.inputs.toarray()
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    mean[-1], deviation[-1] = 0.0, 1.0
    deviation[deviation == 0.0] = 1.0
    return tuple(
        bags.with_inputs(sparse.csr_array((bags.inputs.toarray() - mean) / deviation))
        for bags in (train, other)
    )


def together(fits: Sequence[Fit], name: str, loss: str) -> Outcome:
    """What a loss says of the test bags of all folds of a data set."""
    own = [fit.outcome for fit in fits if (fit.task.name, fit.task.loss) == (name, loss)]
    return Outcome(*(np.concatenate(parts) for parts in zip(*own, strict=True)))


def row(fits: Sequence[Fit], name: str, loss: str) -> dict[str, Any]:
    """The line of a loss on a data set."""
    outcome, reference = together(fits, name, loss), together(fits, name, "Hamming")
    own = [fit for fit in fits if (fit.task.name, fit.task.loss) == (name, loss)]
    more, low, high = difference(outcome, reference)
    facts = [each for fit in own for each in fit.facts]
    met = [each["met"] for each in facts if each["met"] is not None]
    return {
        "set": name,
        "loss": loss,
        "bags": len(outcome.truth),
        **measured(outcome),
        "accuracy": 100.0 * float(np.mean(outcome.truth == outcome.found)),
        "more_than_hamming": more,
        "more_low": low,
        "more_high": high,
        "C": [fit.C for fit in own],
        "gap": max(each["gap"] for each in facts),
        "met": float(np.mean(met)) if met else None,
        "seconds": sum(fit.seconds for fit in own),
    }


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table as text."""
    table = [
        {
            "set": each["set"],
            "loss": each["loss"],
            "bags": each["bags"],
            **{name: f"{each[name]:.1f}" for name in ("precision", "recall")},
            "F1 (95 %)": f"{each['f1']:.1f} ({each['f1_low']:.1f}–{each['f1_high']:.1f})",
            "accuracy": f"{each['accuracy']:.1f}",
            "F1 − Hamming": f"{each['more_than_hamming']:+.1f} ({each['more_low']:+.1f} to "
            f"{each['more_high']:+.1f})",
            "gap": f"{each['gap']:.1e}",
            "met": "–" if each["met"] is None else f"{each['met']:.2f}",
            "CPU s": f"{each['seconds']:.1f}",
        }
        for each in rows
    ]
    return text_table("Test bags of all folds together", table)


if __name__ == "__main__":
    command.main(
        "Binary bags trained for F1 over the whole data set.",
        "folder of the multiple-instance data sets and their folds",
        "two data sets, two folds, one value of C",
        experiment,
        {"training": 0, "resampled bags": SEED},
    )
