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
the first of equal ones. A structural SVM is trained along the path of C for this, each value going
on with the cutting planes of those before and with few passes; the path up to the C that is kept is
then gone anew with more passes. β is chosen by F1 on validation among the models at its end.
Nothing is trained on validation data. Only then are the test data read, all methods tested, and
95 % intervals found by resampling the bags of the test data (2,000 times, the same bags for every
method). Before that, the test data were read to find bags that occur twice, as told above.

Every fit is written to the folder ``fits`` when it is done, and read from there when the experiment
is started again with the same settings and data, see the module ``kept``.

    Hamming      latent structural SVM with the Hamming loss of each bag
    F_β          the same model with the loss n (1 − F_β) over all bags together
    perceptron   structured perceptron with deterministic OR, averaged (Hoffmann et al. 2011)
    one best     logistic regression on the merged mentions of each bag (scikit-learn)

"gap" is that of the last convex problem, which the limit of passes can leave above 1e-2; "inf %" is
the share of the time in inference, which is the decomposition for F_β; "met" is the share of passes
whose bounds met, or differ by at most 1/1000 of the value. CPU seconds and passes of a tested model
are those of its whole path. Then a simulation, see the module ``simulated``.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.haffari_2015 import kept, merged, perceptron, riedel, simulated
from experiments.haffari_2015.evaluation import SEED, Outcome, difference, f_of, measured
from experiments.haffari_2015.models import EPSILON, Effort, outcome_of, trained
from lssvm.applications.base import Source
from lssvm.applications.relation import relation_metrics
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.output.plots import Series, draw_lines
from lssvm.output.tables import text_table, write_results

HAMMING, PERCEPTRON, ONE_BEST = "Hamming", "perceptron", "one best"
BETAS = (0.5, 1.0, 2.0)


class Plan(NamedTuple):
    """What is run.

    grid : values of C of the structural SVMs, increasing; logistic : of the logistic regression
    epochs : of the perceptron; betas : of β
    choosing, final : for each C of a path that is chosen from, and that leads to the one chosen
    bags : of each part at most, None: all; simulation : see ``simulated``
    """

    grid: tuple[float, ...]
    logistic: tuple[float, ...]
    epochs: tuple[int, ...]
    betas: tuple[float, ...]
    choosing: Effort
    final: Effort
    bags: int | None
    simulation: simulated.Plan


FULL = Plan((0.01, 0.03, 0.1, 0.3), (0.1, 1.0, 10.0), (1, 5, 20), BETAS, Effort(15, 2),
            Effort(25, 2), None, simulated.FULL)  # fmt: skip
QUICK = Plan((0.1,), (1.0,), (3,), (1.0,), Effort(5, 1), Effort(10, 2), 120, simulated.QUICK)


class Task(NamedTuple):
    """A method with values of its grid, which are a path of C for a structural SVM.

    beta : None for other losses than F_β; effort : of a structural SVM, None for other methods
    """

    method: str
    values: tuple[float, ...]
    beta: float | None = None
    effort: Effort | None = None

    @property
    def name(self) -> str:
        """The method as the table calls it."""
        return self.method if self.beta is None else f"F_{self.beta:g}"


class Setting(NamedTuple):
    """The files of training and validation, their fingerprint, and the folder of the fits."""

    train: Source
    valid: Source
    data: str
    folder: Path

    def place(self, task: Task, value: float) -> kept.Place:
        """Where the fit of a task with one of its values is."""
        settings = {"task": task._asdict(), "value": value}
        settings |= {"epsilon": EPSILON} if task.effort else {}
        settings |= {"iterations": merged.ITERATIONS} if task.method == ONE_BEST else {}
        name = f"{task.name}-{value:g}".replace(" ", "-")
        return kept.place(self.folder, name, settings, self.data)


class Fit(NamedTuple):
    """A method with one value: where it is, and its facts, among them F on validation."""

    task: Task
    value: float
    place: kept.Place
    facts: dict[str, Any]


def experiment(arguments: command.Arguments) -> str:
    """Train, choose, test, and write tables and figures."""
    plan = QUICK if arguments.quick else FULL
    files, told = riedel.divide(arguments.data, arguments.out, plan.bags)
    data = kept.fingerprint([files["train"].path, files["valid"].path])
    setting = Setting(files["train"], files["valid"], data, arguments.out / "fits")
    tried = fitted(setting, tasks(plan), arguments)
    fits = last(fitted(setting, finals(chosen(tried), plan), arguments))
    best = max((fit for fit in fits if fit.task.beta is not None), key=lambda fit: fit.facts["f1"])
    application, test = bags(files["train"], files["test"])
    outcomes = {fit.task.name: outcome(fit, application, test) for fit in fits}
    rows = [row(fit, outcomes, best.task.name) for fit in fits]
    text = "\n".join([*told, "", report(rows, best.task.name), "", report_of_choice(tried)])
    draw(arguments.out, outcomes, fits)
    tries = [{"method": fit.task.name, "value": fit.value, **fit.facts} for fit in tried]
    details = {"plan": plan._asdict(), "best": best.task.name, "tried": tries}
    write_results(arguments.out, "relation", text, rows, details)  # before what takes long, too
    simulation, figures = simulated.run(plan.simulation, arguments)
    text += "\n\n" + simulation
    write_results(arguments.out, "relation", text, rows, {**details, "simulation": figures})
    return text


def tasks(plan: Plan) -> list[Task]:
    """Every method with its grid."""
    paths = [Task(HAMMING, plan.grid, None, plan.choosing)]
    paths += [Task("F", plan.grid, beta, plan.choosing) for beta in plan.betas]
    paths += [Task(PERCEPTRON, (epochs,)) for epochs in plan.epochs]
    return [*paths, *(Task(ONE_BEST, (C,)) for C in plan.logistic)]


def chosen(fits: Sequence[Fit]) -> list[Fit]:
    """Every method with its best value on validation, the first of equal ones."""
    found: dict[str, Fit] = {}
    for fit in fits:
        own = found.setdefault(fit.task.name, fit)
        if fit.facts["chosen_by"] > own.facts["chosen_by"]:
            found[fit.task.name] = fit
    return list(found.values())


def finals(fits: Sequence[Fit], plan: Plan) -> list[Task]:
    """The chosen methods as they are tested, structural SVMs by a path to the chosen C."""
    found = []
    for fit in fits:
        path = fit.task.values[: fit.task.values.index(fit.value) + 1]
        again = fit.task._replace(values=path, effort=plan.final)
        found.append(again if fit.task.effort else fit.task)
    return found


def last(fits: Sequence[Fit]) -> list[Fit]:
    """Of every method the fit at the end of its path, with the time and passes of all of it."""
    found: dict[str, Fit] = {}
    for fit in fits:
        before = found.get(fit.task.name)
        sums = (
            {}
            if before is None
            else {name: before.facts[name] + fit.facts[name] for name in ("seconds", "passes")}
        )
        found[fit.task.name] = fit._replace(facts={**fit.facts, **sums})
    return list(found.values())


def fitted(setting: Setting, found: Sequence[Task], arguments: command.Arguments) -> list[Fit]:
    """The fits of tasks, made where they are not there yet."""
    missing = [
        task
        for task in found
        if any(setting.place(task, value).facts is None for value in task.values)
    ]
    arguments.solved(solve, setting, missing)
    fits = []
    for task in found:
        for value in task.values:
            place = setting.place(task, value)
            fits.append(Fit(task, value, place, place.facts or {}))
    return fits


def bags(train: Source, other: Source) -> tuple[Relation, Bags]:
    """An application that has read the training data, and other bags."""
    application = Relation(RelationOptions())
    application.read([train])
    return application, application.read([other])


def solve(setting: Setting, task: Task) -> None:
    """Train a method with its values, score it on validation, and write the fits."""
    application = Relation(RelationOptions())
    train = application.read([setting.train])
    valid = application.read([setting.valid])
    for value, (arrays, facts) in zip(task.values, learnt(application, train, task), strict=True):
        counts = told(task, arrays, application, valid).counts.sum(axis=0)
        scores = {"chosen_by": float(f_of(counts, task.beta or 1.0)), "f1": float(f_of(counts))}
        scores |= {"valid_counts": counts.tolist()}
        setting.place(task, value).write(arrays, {**scores, **facts})


def learnt(
    application: Relation, train: Bags, task: Task
) -> list[tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """What a method learns with each of its values, and figures of it."""
    relations = len(application.relations)
    if task.effort is not None:
        fits = trained(application, train, task.values, task.beta, task.effort)
        return [({"w": own.w}, own.facts) for own in fits]
    began, (value,) = time.process_time(), task.values
    if task.method == PERCEPTRON:
        arrays = {"w": perceptron.trained(train, relations, int(value), seed=0)}
    else:
        arrays = merged.trained(train, relations, value)
    return [(arrays, {"seconds": time.process_time() - began})]


def told(
    task: Task, arrays: Mapping[str, np.ndarray], application: Relation, examples: Bags
) -> Outcome:
    """What a method says of bags with what it has learnt."""
    relations, truth = len(application.relations), examples.truth(len(examples.relations))
    if task.method == PERCEPTRON:
        return Outcome(truth, *perceptron.predicted(arrays["w"], examples))
    if task.method == ONE_BEST:
        return Outcome(truth, *merged.predicted(arrays, examples, relations))
    return outcome_of(application, arrays["w"], examples)


def outcome(fit: Fit, application: Relation, examples: Bags) -> Outcome:
    """What a fit says of bags."""
    return told(fit.task, fit.place.arrays, application, examples)


def row(fit: Fit, outcomes: Mapping[str, Outcome], best: str) -> dict[str, Any]:
    """The line of a method."""
    own, reference = outcomes[fit.task.name], outcomes[HAMMING]
    more, low, high = difference(own, reference)
    facts = {name: value for name, value in fit.facts.items() if name not in ("curve", "f1")}
    return {
        "method": fit.task.name,
        "value": fit.value,
        "valid_f1": fit.facts["f1"],
        **measured(own),
        "more_than_hamming": more,
        "more_low": low,
        "more_high": high,
        "chosen": fit.task.name == best,
        **facts,
    }


def of_training(each: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a line that tell how it was trained."""
    return {
        "CPU s": f"{each['seconds']:.1f}",
        "passes": each.get("passes", "–"),
        "gap": f"{each['gap']:.1e}" if "gap" in each else "–",
        "objective": f"{each['objective']:.4g}" if "objective" in each else "–",
        "inf %": f"{each['inference']:.0f}" if "inference" in each else "–",
        "met": f"{each['met']:.2f}" if each.get("met") is not None else "–",
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
                **of_training(each),
            }
        )
    return text_table(f"Relations of the test bags; β chosen on validation: {best}", table)


def report_of_choice(fits: Sequence[Fit]) -> str:
    """Every value that was tried, as text."""
    table = [
        {
            "method": fit.task.name,
            "C, epochs": f"{fit.value:g}",
            "chosen by": f"{fit.facts['chosen_by']:.1f}",
            "F1": f"{fit.facts['f1']:.1f}",
            **of_training(fit.facts),
        }
        for fit in fits
    ]
    return text_table("Values that were tried: F_β and F1 of the validation bags", table)


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
        {"bags without relation": riedel.SEED, "resampled bags": SEED},
    )
