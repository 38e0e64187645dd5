"""CCCP iterations by C for three applications (the figure of Yu & Joachims, ICML 2009).

    python -m experiments.yu_joachims_2009.figure2 --data data --out out/figure2

The data are those of the other experiments: motif finding on the yeast ARS (see ``motif_yeast``;
motif length 11, at most 400 background sequences, ten folds, five of which are left out in turn),
precision at 10 on OHSUMED (the five official training sets), and coreference on the 40 training
documents of LitBank (five folds, each left out in turn). Means and standard errors are over the
five training sets. As these overlap, the error bars are too short rather than too long.

Training is as in the paper: motif finding starts from random windows, ranking from a classifier,
coreference from chains; every convex problem is solved to full precision, while lssvm by default
solves early problems less precisely. Every C is trained from the beginning, because models started
from those of a smaller C would need fewer iterations. C multiplies the sum over examples. CCCP ends
with the first iteration that lowers F by less than C Σ c_i τ, and this iteration is counted. τ is
0.001 for the two losses that are at most 1, and 0.1 for coreference, whose loss counts mentions;
other experiments on these data stop earlier. We do not know the paper's τ, and the count depends on
it. Therefore each run goes on to a tenth of τ (the broken lines), and both counts are read from its
values of F.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.yu_joachims_2009 import coref_data, motif_yeast, ohsumed
from experiments.yu_joachims_2009.ohsumed import decades
from lssvm.config import Config
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.training.cross_validation import assign_folds
from lssvm.training.session import learn_on

TIGHTER = 0.1  # times τ
EPSILON = 1e-3
LOSS, LINKS = 1e-3, 0.1  # τ of losses that are at most 1, and of coreference
EXACT = 1e-6  # cccp.inexactness with which every problem is solved to full precision
MAX_ITERATIONS = 200
LENGTH, TOP = 11, 10
FOLDS = 5
COUNTS = {"iterations": 1.0, "iterations_tighter": TIGHTER}  # multiples of τ, by column


class Plan(NamedTuple):
    """The size of the experiment; the grids are values of C per example."""

    folds: int
    background: int
    documents: int
    motif_grid: tuple[float, ...]
    coreference_grid: tuple[float, ...]
    ranking_grid: tuple[float, ...]


FULL = Plan(FOLDS, 400, 40, decades(-2, 1, 1), decades(-5, 0, 1), decades(-2, 3, 1))
QUICK = Plan(2, 50, 6, decades(-2, -2, 1), decades(-4, -4, 1), decades(-2, -2, 1))


class Subject(NamedTuple):
    """An application and its training data.

    tolerance : τ
    parts : the training examples of each fold
    """

    options: dict[str, Any]
    tolerance: float
    grid: tuple[float, ...]
    parts: list[Any]


class Task(NamedTuple):
    """One training run."""

    name: str
    C: float
    fold: int


def experiment(arguments: command.Arguments) -> str:
    """Train every application for every C on every fold; write the figure and the table."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    subjects = {name: make(arguments.data, arguments.out, plan) for name, make in SUBJECTS.items()}
    tasks = [
        Task(name, C, fold)
        for name, subject in subjects.items()
        for C in sorted(subject.grid, reverse=True)  # the slowest tasks first
        for fold in range(len(subject.parts))
    ]
    rows = arguments.solved(trained, subjects, tasks)
    rows.sort(key=lambda row: (list(SUBJECTS).index(row["application"]), row["C"], row["fold"]))
    draw(arguments.out / "figure2.png", rows)
    table = summarised(rows)
    text = text_table("CCCP iterations, mean ± standard error over folds", table)
    write_results(arguments.out, "figure2", text, rows, {"plan": plan._asdict()})
    return text


def motif(data: Path, out: Path, plan: Plan) -> Subject:
    """Motif finding on the yeast data."""
    settings = motif_yeast.FULL._replace(background=plan.background)
    folder = motif_yeast.prepare(data / "yeast-ars", out, settings)
    study = motif_yeast.study_with_strata(motif_yeast.configuration(folder, settings, LENGTH))
    options = study.config.application.model_dump() | {"initialisation": "random"}
    rows = [np.flatnonzero(study.fold != fold) for fold in range(plan.folds)]
    return Subject(options, LOSS, plan.motif_grid, [study.examples[0].take(part) for part in rows])


def ranking(data: Path, out: Path, plan: Plan) -> Subject:
    """Precision at k on OHSUMED."""
    collection = ohsumed.read_collection(data / "letor3-ohsumed", ohsumed.FULL)
    options = {"name": "precision_at_k", "k": TOP, "initialisation": "classification"}
    parts = [collection.training(fold) for fold in range(plan.folds)]
    return Subject(options, LOSS, plan.ranking_grid, parts)


def coreference(data: Path, out: Path, plan: Plan) -> Subject:
    """Coreference on LitBank."""
    options = {"name": "coreference"}
    application = Config.from_dict({"application": options}).create_application()
    sources = coref_data.litbank(data / "litbank-coref")[0][: plan.documents]
    documents = coref_data.without_words(application.read(sources))
    fold = assign_folds(len(documents), FOLDS, np.random.default_rng(0))
    parts = [documents.take(np.flatnonzero(fold != held)) for held in range(plan.folds)]
    return Subject(options, LINKS, plan.coreference_grid, parts)


SUBJECTS: dict[str, Callable[[Path, Path, Plan], Subject]] = {
    "motif finding": motif,
    "coreference": coreference,
    "precision at 10": ranking,
}


def trained(subjects: dict[str, Subject], task: Task) -> dict[str, Any]:
    """Train from the beginning: a row of the results."""
    subject = subjects[task.name]
    examples = subject.parts[task.fold]
    fall = task.C * float(np.sum(examples.costs)) * subject.tolerance
    config = Config.from_dict(
        {
            "application": subject.options,
            "objective": {"C": task.C, "c_scaling": "sum"},
            "solver": {"epsilon": EPSILON},
            "cccp": {
                "tolerance": TIGHTER * fall / (task.C * len(examples)),
                "inexactness": EXACT,
                "max_iterations": MAX_ITERATIONS,
            },
        }
    )
    # Only the number of iterations is used.
    record = learn_on(config.create_application(), examples, config, scored=False).record
    objectives = [objective for objective, _ in record["restarts"][0]["history"]]
    return {
        "application": task.name,
        "C": task.C,
        "fold": task.fold,
        "examples": len(examples),
        **{name: settled_after(objectives, fall * share) for name, share in COUNTS.items()},
        "objective": record["objective"],
        "converged": record["converged"],
        "passes": record["passes"],
    }


def settled_after(objectives: Sequence[float], fall: float) -> int:
    """The first iteration, from 1, that lowers F by less than ``fall``; the last if none does."""
    small = np.flatnonzero(-np.diff(objectives) < fall)
    return int(small[0]) + 2 if len(small) else len(objectives)


def summarised(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each application and C, over the folds."""
    table = []
    for name, C in dict.fromkeys((row["application"], row["C"]) for row in rows):
        runs = [row for row in rows if (row["application"], row["C"]) == (name, C)]
        counts = {key: plus_minus((run[key] for run in runs), 1) for key in COUNTS}
        table.append(
            {
                "application": name,
                "C": f"{C:g}",
                "to τ": counts["iterations"],
                "to τ / 10": counts["iterations_tighter"],
                "most": max(run["iterations_tighter"] for run in runs),
                "folds": len(runs),
                "passes": round(float(np.mean([run["passes"] for run in runs]))),
                "not converged": sum(not run["converged"] for run in runs),
            }
        )
    return table


def draw(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw a line for each application, and a broken line for a tenth of τ."""
    lines = []
    for key, share in COUNTS.items():
        for hue, name in enumerate(SUBJECTS):
            own = [row for row in rows if row["application"] == name]
            grid = sorted({row["C"] for row in own})
            found = [mean_and_error(r[key] for r in own if r["C"] == C) for C in grid]
            means, errors = zip(*found, strict=True)
            label = name if share == 1 else f"{name}, to a tenth of the tolerance"
            lines.append(report.Series(label, grid, means, errors, hue, dashed=share != 1))
    report.draw_lines(path, lines, x_label="C per example", y_label="CCCP iterations", log_x=True)


if __name__ == "__main__":
    command.main(
        "The number of CCCP iterations by C for three applications.",
        "folder of yeast-ars, letor3-ohsumed and litbank-coref",
        "two folds, one value of C, few background sequences and documents",
        experiment,
        {"data and folds": 0},
    )
