"""Relations of pairs, trained for F over the whole data set (Haffari et al., NAACL 2015).

    python -m experiments.haffari_2015.relation --data riedel-nyt-lsvm --out out/relation

Bags of Riedel, Yao & McCallum (2010), features as numbers: training on train75, validation on
valid25, both of bags with a relation alone; the bags without relation of the small subset are
divided over training, validation and test in proportion to the others (module ``riedel``, seed 0).
The public test file has no bags without relation and is not the test set of the paper, whose
curves cannot be reproduced with it. Bags that occur in several parts are dropped from training
and validation.

Protocol. Every method is trained for each value of its grid (C; epochs of the perceptron), and the
value with the highest F on validation is kept: F_β for a model trained for F_β, F1 for the others;
the first of equal ones. β is then chosen by F1 on validation among the chosen models. Nothing is
trained again on validation data. Only then are the test data read, all methods tested, and 95 %
intervals found by resampling the bags of the test data (2,000 times, the same bags for every
method). Before that, the test data were read to find bags that occur twice, as told above.

    Hamming      latent structural SVM with the Hamming loss of each bag
    F_β          the same model with the loss n (1 − F_β) over all bags together
    perceptron   structured perceptron with deterministic OR, averaged (Hoffmann et al. 2011)
    one best     logistic regression on the merged mentions of each bag (scikit-learn)

"inf %" is the share of the time in inference, which is the decomposition for F_β; "met" is the
share of passes whose bounds met, or differ by at most 1/1000 of the value. Then a simulation, see
the module ``simulated``.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.haffari_2015 import merged, perceptron, riedel, simulated
from experiments.haffari_2015.evaluation import Outcome, difference, f_of, measured
from experiments.haffari_2015.models import Trained, Watch, outcome_of, trained
from lssvm.applications.base import Source
from lssvm.applications.relation import relation_metrics
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.output.plots import Series, draw_lines
from lssvm.output.tables import text_table, write_results
from lssvm.training.processes import run_tasks

HAMMING, PERCEPTRON, ONE_BEST = "Hamming", "perceptron", "one best"
BETAS = (0.5, 1.0, 2.0)


class Plan(NamedTuple):
    """What is run.

    grid : values of C of the structural SVMs, and of the logistic regression; epochs : of the
    perceptron; passes : at most, for one convex problem; rounds : CCCP iterations at most
    bags : of each part at most, None: all; simulation : see ``simulated``
    """

    grid: tuple[float, ...]
    logistic: tuple[float, ...]
    epochs: tuple[int, ...]
    betas: tuple[float, ...]
    passes: int
    rounds: int
    bags: int | None
    simulation: simulated.Plan


FULL = Plan((0.01, 0.1, 1.0), (0.1, 1.0, 10.0), (1, 5, 20), BETAS, 100, 6, None, simulated.FULL)
QUICK = Plan((0.1,), (1.0,), (3,), (1.0,), 10, 2, 120, simulated.QUICK)


class Task(NamedTuple):
    """A method with one value of its grid. beta : None for other losses than F_β"""

    method: str
    value: float
    beta: float | None = None

    @property
    def name(self) -> str:
        """The method as the table calls it."""
        return self.method if self.beta is None else f"F_{self.beta:g}"


class Setting(NamedTuple):
    """The files of training and validation, and what is run."""

    train: Source
    valid: Source
    plan: Plan


class Fit(NamedTuple):
    """A method with one value: F on validation, F1 on validation, what was learnt, its facts."""

    task: Task
    chosen_by: float
    f1: float
    model: Any
    facts: dict[str, Any]


def experiment(arguments: command.Arguments) -> str:
    """Train, choose, test, and write tables and figures."""
    plan = QUICK if arguments.quick else FULL
    files, told = riedel.divide(arguments.data, arguments.out, plan.bags)
    fits = choose(files, plan, arguments.jobs)
    best = max((fit for fit in fits if fit.task.beta is not None), key=lambda fit: fit.f1)
    application, test = bags(files["train"], files["test"])
    outcomes = {fit.task.name: outcome(fit, application, test) for fit in fits}
    rows = [row(fit, outcomes, best.task.name) for fit in fits]
    text = "\n".join([*told, "", report(rows, best.task.name)])
    draw(arguments.out, outcomes, fits)
    simulation, figures = simulated.run(plan.simulation, arguments.out, arguments.jobs)
    text += "\n\n" + simulation
    details = {"plan": plan._asdict(), "best": best.task.name, "simulation": figures}
    write_results(arguments.out, "relation", text, rows, details)
    return text


def choose(files: Mapping[str, Source], plan: Plan, jobs: int) -> list[Fit]:
    """Every method with its best value on validation."""
    tasks = [Task(HAMMING, C) for C in plan.grid]
    tasks += [Task("F", C, beta) for beta in plan.betas for C in plan.grid]
    tasks += [Task(PERCEPTRON, epochs) for epochs in plan.epochs]
    tasks += [Task(ONE_BEST, C) for C in plan.logistic]
    setting = Setting(files["train"], files["valid"], plan)
    fits = run_tasks(solve, setting, tasks, jobs=jobs, progress=command.show_progress)
    chosen: dict[str, Fit] = {}
    for fit in fits:
        own = chosen.setdefault(fit.task.name, fit)
        if fit.chosen_by > own.chosen_by:
            chosen[fit.task.name] = fit
    return list(chosen.values())


def bags(train: Source, other: Source) -> tuple[Relation, Bags]:
    """An application that has read the training data, and other bags."""
    application = Relation(RelationOptions())
    application.read([train])
    return application, application.read([other])


def solve(setting: Setting, task: Task) -> Fit:
    """Train a method with one value, and score it on validation."""
    application = Relation(RelationOptions())
    train = application.read([setting.train])
    valid = application.read([setting.valid])
    relations, plan, facts = len(application.relations), setting.plan, {}
    began, model = time.process_time(), None
    if task.method == PERCEPTRON:
        model = perceptron.trained(train, relations, int(task.value), seed=0)
    elif task.method == ONE_BEST:
        model = merged.trained(train, relations, task.value)
    else:
        found = trained(application, train, task.value, task.beta, plan.passes, plan.rounds)
        model, facts = found.w, facts_of(found)
    facts["seconds"] = time.process_time() - began
    fit = Fit(task, 0.0, 0.0, model, facts)
    counts = outcome(fit, application, valid).counts.sum(axis=0)
    f1, own = float(f_of(counts)), float(f_of(counts, task.beta or 1.0))
    return fit._replace(chosen_by=own, f1=f1)


def facts_of(found: Trained) -> dict[str, Any]:
    """Figures of a structural SVM."""
    watch: Watch = found.watch
    return {
        "iterations": watch.summary.iterations,
        "passes": watch.summary.passes,
        "gap": watch.summary.gap,
        "inference": watch.share,
        "met": watch.met,
        "curve": watch.curve,
    }


def outcome(fit: Fit, application: Relation, examples: Bags) -> Outcome:
    """What a fitted method says of bags."""
    relations, truth = len(application.relations), examples.truth(len(examples.relations))
    if fit.task.method == PERCEPTRON:
        return Outcome(truth, *perceptron.predicted(fit.model, examples))
    if fit.task.method == ONE_BEST:
        return Outcome(truth, *merged.predicted(fit.model, examples, relations))
    return outcome_of(application, fit.model, examples)


def row(fit: Fit, outcomes: Mapping[str, Outcome], best: str) -> dict[str, Any]:
    """The line of a method."""
    own, reference = outcomes[fit.task.name], outcomes[HAMMING]
    more, low, high = difference(own, reference)
    facts = {name: value for name, value in fit.facts.items() if name != "curve"}
    return {
        "method": fit.task.name,
        "value": fit.task.value,
        "valid_f1": fit.f1,
        **measured(own),
        "more_than_hamming": more,
        "more_low": low,
        "more_high": high,
        "chosen": fit.task.name == best,
        **facts,
    }


def report(rows: Sequence[Mapping[str, Any]], best: str) -> str:
    """The table as text."""
    table = []
    for each in rows:
        percent = ("valid_f1", "precision", "recall")
        table.append(
            {
                "method": each["method"],
                "C, epochs": f"{each['value']:g}",
                **{name.replace("_", " "): f"{each[name]:.1f}" for name in percent},
                "F1 (95 %)": f"{each['f1']:.1f} ({each['f1_low']:.1f}–{each['f1_high']:.1f})",
                "F0.5": f"{each['f0.5']:.1f}",
                "F2": f"{each['f2']:.1f}",
                "AP": f"{each['average_precision']:.1f}",
                "F1 − Hamming": f"{each['more_than_hamming']:+.1f} ({each['more_low']:+.1f} to "
                f"{each['more_high']:+.1f})",
                "CPU s": f"{each['seconds']:.1f}",
                "passes": each.get("passes", "–"),
                "gap": f"{each['gap']:.1e}" if "gap" in each else "–",
                "inf %": f"{each['inference']:.0f}" if "inference" in each else "–",
                "met": f"{each['met']:.2f}" if each.get("met") is not None else "–",
            }
        )
    return text_table(f"Relations of the test bags; β chosen on validation: {best}", table)


def draw(out: Path, outcomes: Mapping[str, Outcome], fits: Sequence[Fit]) -> None:
    """Write precision against recall, and objective and training F against passes."""
    lines, objectives, training = [], [], []
    for hue, (name, own) in enumerate(outcomes.items()):
        points = relation_metrics.thinned(relation_metrics.curve(own.truth, own.scores))
        recall, precision = points.recall.tolist(), points.precision.tolist()
        lines.append(Series(name, recall, precision, hue=hue, plain=True))
    draw_lines(out / "precision-recall.png", lines, x_label="recall", y_label="precision")
    for hue, fit in enumerate(fits):
        curve = fit.facts.get("curve")
        if curve:
            passes, objective, f1 = np.array(curve).T.tolist()
            objectives.append(Series(fit.task.name, passes, objective, hue=hue))
            training.append(Series(fit.task.name, passes, f1, hue=hue))
    draw_lines(out / "objective.png", objectives, x_label="passes", y_label="objective", log_y=True)
    draw_lines(out / "training.png", training, x_label="passes", y_label="training loss U⁺ − U⁻")


if __name__ == "__main__":
    command.main(
        "Relation extraction trained for F over the whole data set.",
        "folder of the bags of Riedel et al.",
        "120 bags of each part, one value of C, β = 1",
        experiment,
    )
