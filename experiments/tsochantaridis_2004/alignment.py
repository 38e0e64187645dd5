"""Learning to align sequences: the experiment of Tsochantaridis et al. (ICML 2004, section 4.4).

    python -m experiments.tsochantaridis_2004.alignment --out out/alignment

The paper's simulation is that of a technical report and is not described in the paper; this one is
``lssvm/simulation/alignment.py``. Each draw has its own random substitution matrix of 20 letters
(a letter stays itself with probability 0.3), 80 training natives and 200 test natives of 30
letters, each with its homolog and nine decoys; gaps begin with probability 0.05 between two
letters. Homologs come with their true alignments, decoys without. Training sets are nested: the
first n natives.

SVM_2 learns 400 substitution scores and one score for each letter of a gap, for local alignments,
with the 0/1 loss and quadratic slack, C = 0.01 (the best of five values on two other draws), by the
n-slack method to a relative gap of 0.01. The generative model scores a with b by
log P(a, b) / (P(a) P(b)), estimated from the same alignments with one added to each count; its gap
penalty is the one of 12 with the lowest error on the test set, which favours it, as in the paper.
Beside them stands the best possible rule, which knows the matrix and sums over all alignments.

Errors are the shares of natives whose homolog is not ranked first. Constraints are those with a
positive multiplier at the end, and those that were added in all. Means and standard errors over
draws; the last column is the paired difference of test errors, generative model minus SVM. In the
paper the SVM is better for small n; the lines below the table say what is so here, where a
difference counts if it is twice its standard error, and how constraints grow with n.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from lssvm.applications.alignment import inference
from lssvm.applications.alignment.alignment import Alignment
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.base import Source
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.kernels import _alignment
from lssvm.oracle import DataOracle
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.simulation import alignment as simulate
from lssvm.training.cccp import Observer
from lssvm.training.cross_validation import run_tasks
from lssvm.training.setup import new_run, rules_of

C, EPSILON = 0.01, 0.01
CONSERVATION, GAP_RATE, LENGTH, DECOYS = 0.3, 0.05, 30, 9
PENALTIES = tuple(float(p) for p in np.geomspace(0.25, 12.0, 12).round(3))
STREAM = 0x616C69676E


class Plan(NamedTuple):
    """Training natives, draws, and test natives."""

    sizes: tuple[int, ...]
    draws: int
    tests: int


FULL = Plan((1, 2, 4, 10, 20, 40, 80), 20, 200)
QUICK = Plan((1, 4, 10, 20), 3, 60)


class Task(NamedTuple):
    """A draw."""

    draw: int


def experiment(arguments: command.Arguments) -> str:
    """Train and test on every draw; write the table."""
    plan = QUICK if arguments.quick else FULL
    tasks = [Task(draw) for draw in range(plan.draws)]
    found = run_tasks(solve, plan, tasks, jobs=arguments.jobs, progress=command.show_progress)
    rows = [row for own in found for row in own]
    text, summary = report(rows, plan)
    write_results(arguments.out, "alignment", text, rows, summary)
    return text


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """All training sets of a draw: a row for each."""
    rng = np.random.default_rng([STREAM, task.draw])
    model = simulate.evolution(rng, CONSERVATION, GAP_RATE)
    count = max(plan.sizes)
    drawn = [simulate.drawn(rng, model, LENGTH, DECOYS) for _ in range(count + plan.tests)]
    config = config_of()
    application = config.create_application()
    assert isinstance(application, Alignment)
    examples = packed(application, drawn)
    test = examples.slice(count, len(examples))
    best = [
        float(np.argmax(simulate.posteriors(model, one.native, [one.homolog, *one.decoys])) != 0)
        for one in drawn[count:]
    ]
    rows = []
    for n in plan.sizes:
        train = examples.slice(0, n)
        w, learnt = trained(application, config, train)
        rows.append(
            {
                "draw": task.draw,
                "n": n,
                **generative(application, train, test),
                "train error, SVM": error(application, w, train),
                "test error, SVM": error(application, w, test),
                "test error, best": 100 * float(np.mean(best)),
                **learnt,
            }
        )
    return rows


def config_of() -> Config:
    """The settings of the SVM."""
    return Config.from_dict(
        {
            "application": {
                "name": "alignment",
                "alphabet": simulate.LETTERS,
                "mode": "local",
                "gaps": "linear",
                "symmetric": False,
            },
            "objective": {"model": "ssvm", "C": C, "slack_norm": 2},
            "solver": {"method": "n-slack", "epsilon": EPSILON},
        }
    )


def packed(application: Alignment, drawn: Sequence[simulate.Example]) -> AlignmentExamples:
    """Examples that the application reads from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.fa"
        with path.open("w", encoding="ascii") as file:
            for number, example in enumerate(drawn):
                first, second = simulate.rows(example)
                file.write(f">n{number} role=native\n{first}\n>h{number} role=homolog\n{second}\n")
                for k, decoy in enumerate(example.decoys):
                    letters = "".join(simulate.LETTERS[code] for code in decoy)
                    file.write(f">d{number}.{k} role=decoy\n{letters}\n")
        return application.read([Source(str(path))])


def trained(
    application: Alignment, config: Config, examples: AlignmentExamples
) -> tuple[np.ndarray, dict[str, Any]]:
    """w, and how it was found."""
    rules = rules_of(config, len(examples), hidden=False)
    with Executor() as executor:
        oracle = DataOracle(application, examples, executor)
        run = new_run(application, examples, oracle, config, 0, None)
        run.proceed(oracle, rules, Observer())
    solver: Any = run.solver
    return solver.w, {
        "kept": int(np.count_nonzero(solver.sets.alpha > 0.0)),
        "added": int(solver.sets.added),
        "passes": round(run.passes),
        "converged": run.converged,
    }


def error(application: Alignment, w: np.ndarray, examples: AlignmentExamples) -> float:
    """The share of natives whose homolog is not ranked first, in percent."""
    return 100 * float(np.mean(application.losses(examples, application.predict(w, examples))))


def generative(
    application: Alignment, train: AlignmentExamples, test: AlignmentExamples
) -> dict[str, float]:
    """Errors of log odds, with the gap penalty that is best on the test set."""
    scoring = application.scoring
    counts = np.ones((scoring.codes, scoring.codes))
    arrays = train.pairs(train.true_places)
    partners = train.true_partners(arrays)
    owners = np.repeat(np.arange(len(arrays.x)), arrays.sizes[:, 0])
    some = partners >= 0
    within = np.arange(len(partners)) - arrays.starts[owners]
    x = arrays.codes[(arrays.places[arrays.x[owners]] + within)[some]]
    z = arrays.codes[(arrays.places[arrays.z[owners]] + partners)[some]]
    np.add.at(counts, (x, z), 1.0)
    joint = counts[: scoring.size, : scoring.size] / counts[: scoring.size, : scoring.size].sum()
    odds = np.zeros((scoring.codes, scoring.codes))
    odds[: scoring.size, : scoring.size] = np.log(
        joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
    )
    errors = [(wrong(odds, penalty, test), penalty) for penalty in PENALTIES]
    best, penalty = min(errors)
    return {
        "train error, generative": wrong(odds, penalty, train),
        "test error, generative": best,
        "gap penalty": penalty,
    }


def wrong(odds: np.ndarray, penalty: float, examples: AlignmentExamples) -> float:
    """The error of these scores, in percent."""
    model = (-penalty, -penalty, _alignment.LOCAL)
    values = _alignment.best(examples.pairs(), odds, model, traced=False)[0]
    chosen = inference.highest(values, examples.candidates, last=True)
    return 100 * float(np.mean(chosen != examples.true_places))


def report(rows: Sequence[dict[str, Any]], plan: Plan) -> tuple[str, dict[str, Any]]:
    """The table as text, and its figures."""
    shown, cells = [], []
    names = (
        "train error, generative", "train error, SVM", "test error, generative",
        "test error, SVM", "test error, best", "kept", "added",
    )  # fmt: skip
    for n in plan.sizes:
        own = [row for row in rows if row["n"] == n]
        values = {name: np.array([float(row[name]) for row in own]) for name in names}
        values["difference"] = values["test error, generative"] - values["test error, SVM"]
        shown.append({"n": n, **{name: plus_minus(v, 1) for name, v in values.items()}})
        cells.append({"n": n, **{name: mean_and_error(v) for name, v in values.items()}})
    lines = [f"constraints {name}: n^{exponent(cells, name):.2f}" for name in ("kept", "added")]
    lines = [*verdicts(cells), *lines]
    failed = sum(not row["converged"] for row in rows)
    title = f"Errors in percent ± standard error, {plan.draws} draws, {plan.tests} test natives"
    text = "\n".join([text_table(title, shown), *lines, f"not converged: {failed}"])
    return text, {"plan": plan._asdict(), "cells": cells}


def verdicts(cells: Sequence[dict[str, Any]]) -> list[str]:
    """Which model has the lower test error, by the number of training natives."""
    found: dict[str, list[str]] = {
        "the SVM is better": [],
        "the generative model is better": [],
        "no difference": [],
    }
    for cell in cells:
        mean, spread = cell["difference"]
        names = list(found)
        kind = names[2] if abs(mean) < 2 * spread or mean == 0 else names[int(mean < 0)]
        found[kind].append(str(cell["n"]))
    return [f"{kind}: n = {', '.join(sizes)}" for kind, sizes in found.items() if sizes]


def exponent(cells: Sequence[dict[str, Any]], name: str) -> float:
    """The slope of log count on log n by least squares."""
    x = np.log([cell["n"] for cell in cells])
    y = np.log([max(cell[name][0], 1e-9) for cell in cells])
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / (x @ x))


if __name__ == "__main__":
    command.main(
        "Learning to align: homologs among decoys, against the generative model.",
        None,
        "three draws, training sets of at most 20 natives, 60 test natives",
        experiment,
    )
