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
log P(a, b) / (P(a) P(b)), estimated from the same alignments with one added to each count. Its gap
penalty is one of 12: for the whole table the one with the lowest mean error on the test sets, which
favours it, as in the paper; in a further column the best one for each draw and n, which favours
it more. Beside them stands the best possible rule, which knows the matrix and sums over all
alignments.

Errors are the shares of natives whose homolog is not ranked first. Constraints are those with a
positive multiplier at the end, those that were added in all, and those of the paper's Algorithm 1
(``solver.method: working-set``, ε = 0.1), which drops none, beside the mean bound of its Theorem 1.
Means and standard errors over draws; the column before these two is the paired difference of test
errors, generative model minus SVM. In the paper the SVM is better for small n; the lines below the
table say what is so here, where a difference counts if it is twice its standard error, and how
constraints grow with n.

The paper leaves the simulation and its sizes to the report. So a second table has the differences
for other simulations, one change at a time, and for other C, on draws of their own: all that were
tried are shown.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.tsochantaridis_2004.constraints import VIOLATION
from lssvm.applications.alignment import inference
from lssvm.applications.alignment.alignment import Alignment
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.base import Source
from lssvm.config import Config, set_values
from lssvm.executor import Executor
from lssvm.kernels import _alignment
from lssvm.oracle import DataOracle
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.simulation import alignment as simulate
from lssvm.solvers.by_constraint import most_constraints
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run, rules_of

C, EPSILON = 0.01, 0.01
PENALTIES = tuple(float(p) for p in np.geomspace(0.25, 12.0, 12).round(3))
STREAM = 0x616C69676E
LITERAL, BOUND = "Algorithm 1", "bound"


class Setting(NamedTuple):
    """A simulation, see ``lssvm/simulation/alignment.py``, and C.

    random : whether the letters of decoys are drawn anew, independently, from those of natives
    """

    name: str = "as above"
    conservation: float = 0.3
    gap_rate: float = 0.05
    length: int = 30
    decoys: int = 9
    random: bool = False
    C: float = C


class Plan(NamedTuple):
    """Training natives, draws, and test natives; the same of other settings."""

    sizes: tuple[int, ...]
    draws: int
    tests: int
    settings: tuple[Setting, ...] = ()
    other_sizes: tuple[int, ...] = ()
    other_draws: int = 0
    other_tests: int = 0


OTHERS = (
    Setting("conservation 0.1", conservation=0.1),
    Setting("conservation 0.6", conservation=0.6),
    Setting("conservation 0.8", conservation=0.8),
    Setting("gap rate 0.15", gap_rate=0.15),
    Setting("50 letters", length=50),
    Setting("3 decoys", decoys=3),
    Setting("29 decoys", decoys=29),
    Setting("random decoys", random=True),
    *(Setting(f"C {value:g}", C=value) for value in (0.0001, 0.001, 0.1, 1.0, 10.0)),
)
FULL = Plan((1, 2, 4, 10, 20, 40, 80), 20, 200, OTHERS, (1, 2, 4, 20), 6, 150)
QUICK = Plan((1, 4, 10, 20), 3, 60, OTHERS[-1:], (1, 4), 2, 20)


class Task(NamedTuple):
    """A draw of the table, or of another setting."""

    draw: int
    setting: Setting | None = None


def experiment(arguments: command.Arguments) -> str:
    """Train and test on every draw; write the tables."""
    plan = QUICK if arguments.quick else FULL
    tasks = [Task(draw) for draw in range(plan.draws)]
    tasks += [Task(draw, setting) for setting in plan.settings for draw in range(plan.other_draws)]
    found = arguments.solved(solve, plan, tasks)
    rows = [row for own in found for row in own]
    text, summary = report(rows, plan)
    write_results(arguments.out, "alignment", text, rows, summary)
    return text


def drawn_of(plan: Plan, task: Task) -> tuple[simulate.Evolution, list[simulate.Example]]:
    """The examples of a draw, for training first."""
    if task.setting is None:
        stream, setting, count = [STREAM, task.draw], Setting(), max(plan.sizes) + plan.tests
    else:
        stream, setting = [STREAM, 1, task.draw], task.setting
        count = max(plan.other_sizes) + plan.other_tests
    rng = np.random.default_rng(stream)
    model = simulate.evolution(rng, setting.conservation, setting.gap_rate)
    drawn = [simulate.drawn(rng, model, setting.length, setting.decoys) for _ in range(count)]
    if setting.random:
        drawn = [
            replace(one, decoys=[rng.choice(len(model.q), len(z), p=model.q) for z in one.decoys])
            for one in drawn
        ]
    return model, drawn


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """All training sets of a draw: a row for each."""
    setting, sizes = task.setting or Setting(), plan.other_sizes if task.setting else plan.sizes
    model, drawn = drawn_of(plan, task)
    count = max(sizes)
    config = config_of(setting.C)
    application = config.create_application()
    assert isinstance(application, Alignment)
    examples = packed(application, drawn)
    test = examples.slice(count, len(examples))
    best = [
        float(np.argmax(simulate.posteriors(model, one.native, [one.homolog, *one.decoys])) != 0)
        for one in drawn[count:]
    ]
    rows = []
    for n in sizes:
        train = examples.slice(0, n)
        w, learnt = trained(application, config, train)
        rows.append(
            {
                "setting": setting.name,
                "draw": task.draw,
                "n": n,
                **generative(application, train, test),
                "train error, SVM": error(application, w, train),
                "test error, SVM": error(application, w, test),
                "test error, best": 100 * float(np.mean(best)),
                **learnt,
                **({} if task.setting else to_the_letter(application, config, train)),
            }
        )
    return rows


def config_of(cost: float = C) -> Config:
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
            "objective": {"model": "ssvm", "C": cost, "slack_norm": 2},
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
        run = new_run(oracle, config, 0, None)
        run.proceed(oracle, rules, Observer())
    solver: Any = run.solver
    return solver.w, {
        "kept": int(np.count_nonzero(solver.sets.alpha > 0.0)),
        "added": int(solver.sets.added),
        "passes": round(run.passes),
        "converged": run.converged,
    }


def to_the_letter(
    application: Alignment, config: Config, examples: AlignmentExamples
) -> dict[str, float]:
    """The constraints of Algorithm 1, and the theorem's bound of them.

    An alignment of x and z has at most |x| + |z| operations, and Φ counts them, so that ‖Φ‖ is not
    larger. As counts are not negative, two of them are √2 times as far apart at most.
    """
    changed = set_values(config, {"solver": {"method": "working-set", "violation": VIOLATION}})
    record = learn_on(application, examples, changed, scored=False).record
    pairs = examples.pairs()
    operations = float(pairs.sizes.sum(axis=1).max())
    bound = most_constraints(
        VIOLATION, config.objective.C, len(examples), 1.0, np.sqrt(2.0) * operations, slack=True
    )
    return {LITERAL: record["planes"], BOUND: bound}


def error(application: Alignment, w: np.ndarray, examples: AlignmentExamples) -> float:
    """The share of natives whose homolog is not ranked first, in percent."""
    return 100 * float(np.mean(application.losses(examples, application.predict(w, examples))))


def generative(
    application: Alignment, train: AlignmentExamples, test: AlignmentExamples
) -> dict[str, list[float]]:
    """Errors of log odds on training and test, for each of PENALTIES."""
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
    return {
        f"{name} error, generative": [wrong(odds, penalty, examples) for penalty in PENALTIES]
        for name, examples in (("train", train), ("test", test))
    }


def wrong(odds: np.ndarray, penalty: float, examples: AlignmentExamples) -> float:
    """The error of these scores, in percent."""
    model = (-penalty, -penalty, _alignment.LOCAL)
    values = _alignment.best(examples.pairs(), odds, model, traced=False)[0]
    chosen = inference.highest(values, examples.candidates, last=True)
    return 100 * float(np.mean(chosen != examples.true_places))


def report(rows: Sequence[dict[str, Any]], plan: Plan) -> tuple[str, dict[str, Any]]:
    """The tables as text, and their figures."""
    first = [row for row in rows if row["setting"] == Setting().name]
    place = penalty_of(first)
    shown, cells = [], []
    for n in plan.sizes:
        own = [row for row in first if row["n"] == n]
        literal = np.array([float(row[LITERAL]) for row in own])
        bound = float(np.mean([row[BOUND] for row in own]))
        values = columns(own, place) | {LITERAL: literal}
        figures = {name: plus_minus(value, 1) for name, value in values.items()}
        shown.append({"n": n, **figures, BOUND: f"{bound:.2g}"})
        means = {name: mean_and_error(value) for name, value in values.items()}
        cells.append({"n": n, **means, BOUND: bound})
    lines = [
        f"gap penalty of the generative model: {PENALTIES[place]:g}",
        *verdicts(cells, "difference"),
        *(f"best penalty each, {line}" for line in verdicts(cells, "difference, best each")),
        *(
            f"constraints {name}: n^{exponent(cells, name):.2f}"
            for name in ("kept", "added", LITERAL)
        ),
    ]
    others, more = other_settings(rows, plan)
    failed = sum(not row["converged"] for row in rows)
    title = f"Errors in percent ± standard error, {plan.draws} draws, {plan.tests} test natives"
    tables = [text_table(title, shown), *lines, *others, f"not converged: {failed}"]
    return "\n".join(tables), {"plan": plan._asdict(), "cells": cells, "settings": more}


def penalty_of(rows: Sequence[dict[str, Any]]) -> int:
    """The place of the gap penalty with the lowest mean test error."""
    return int(np.argmin(np.mean([row["test error, generative"] for row in rows], axis=0)))


def columns(rows: Sequence[dict[str, Any]], place: int) -> dict[str, np.ndarray]:
    """The figures of rows by column; place : of the gap penalty for all."""
    train, test = (
        np.array([row[f"{name} error, generative"] for row in rows]) for name in ("train", "test")
    )
    names = ("train error, SVM", "test error, SVM", "test error, best", "kept", "added")
    values = {name: np.array([float(row[name]) for row in rows]) for name in names}
    svm = values["test error, SVM"]
    return {
        "train error, generative": train[:, place],
        "train error, SVM": values.pop("train error, SVM"),
        "test error, generative": test[:, place],
        "best penalty each": test.min(axis=1),
        **values,
        "difference": test[:, place] - svm,
        "difference, best each": test.min(axis=1) - svm,
    }


def other_settings(
    rows: Sequence[dict[str, Any]], plan: Plan
) -> tuple[list[str], list[dict[str, Any]]]:
    """Lines about the differences of other settings, and their figures."""
    shown, cells = [], []
    for setting in plan.settings:
        own = [row for row in rows if row["setting"] == setting.name]
        place, line = penalty_of(own), {"setting": setting.name}
        for n in plan.other_sizes:
            values = columns([row for row in own if row["n"] == n], place)
            line[f"n = {n}, SVM"] = f"{values['test error, SVM'].mean():.1f}"
            line[f"n = {n}, difference"] = plus_minus(values["difference"], 1)
            figures = {name: mean_and_error(value) for name, value in values.items()}
            cells.append({"setting": setting.name, "n": n, **figures})
        shown.append(line)
    title = (
        "Other settings: test error of the SVM, and generative model minus SVM, "
        f"{plan.other_draws} draws, {plan.other_tests} test natives"
    )
    better = [
        f"{cell['setting']}, n = {cell['n']}"
        for cell in cells
        if cell["difference"][0] > 2 * cell["difference"][1]
    ]
    told = f"other settings in which the SVM is better: {'; '.join(better) or 'none'}"
    return [text_table(title, shown), told], cells


def verdicts(cells: Sequence[dict[str, Any]], name: str) -> list[str]:
    """Which model has the lower test error, by the number of training natives."""
    found: dict[str, list[str]] = {
        "the SVM is better": [],
        "the generative model is better": [],
        "no difference": [],
    }
    for cell in cells:
        mean, spread = cell[name]
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
        "three draws, training sets of at most 20 natives, 60 test natives, one other setting",
        experiment,
        {"draws": STREAM},
    )
