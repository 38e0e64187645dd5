"""Named entities: the experiment of Tsochantaridis et al. (ICML 2004, section 4.3).

    python -m experiments.tsochantaridis_2004.ner_table --data conll2002-spanish --out out/ner

The input is DATA/esp.train of CoNLL-2002. Its first 300 sentences are used (the paper also used 300
sentences and does not say which), in five random folds. The labels are those of the file: the
beginning and the inside of names of four kinds, and O. The attributes of a token are its word, its
spelling and those of its neighbours (TEMPLATES); the part of speech of the file is not used. Rows:

    HMM          label bigrams and words, counted, with an equal share added to each count
    CRF          on the attributes, the maximum of the penalised likelihood
    perceptron   averaged (Collins 2002), on the attributes
    SVM_2 …      quadratic slack: SVM_2 is for the 0/1 loss of whole sentences, Δs and Δm are for
                 the number of wrong labels by slack and by margin rescaling; all on the attributes,
                 or (poly) with the kernel (x · x' + 1)², whose products of attributes are explicit
                 features

The settings that a method leaves open are C, the share added by the HMM, and the epochs of the
perceptron. They are chosen for each fold on its training sentences alone: the next fold is held
out, the other three train, and the setting with the lowest token error is chosen, the first one if
several are equal; then all four train. Templates, kernel and grids were fixed beforehand. The
relative gap is at most 1e-2, like the paper's ε.

Figures are means over folds with their standard errors: token errors in percent, planes with a
positive multiplier at the end (constraints), and the mean number of wrong labels per test sentence.

The paper's own number of constraints is that of its Algorithm 1, which drops none. A second table
has it, with ε = 0.1, for the first 60 training sentences of the first fold and the C that was
chosen there, beside the bound of the paper's Theorem 1; few sentences, because the algorithm solves
a quadratic program after each constraint.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.papers.published import TSOCHANTARIDIS_NER
from experiments.tsochantaridis_2004.constraints import VIOLATION, longest
from lssvm.applications.base import Maxima, Source
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence import SequenceLabelling
from lssvm.config import Config, set_values
from lssvm.errors import DataError
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.solvers.by_constraint import most_constraints
from lssvm.training.cross_validation import C_KEY, assign_folds
from lssvm.training.session import classify, learn_on, learn_path

FILE = "esp.train"
FOLDS = 5
DRAW = 0x6E6572  # stream of random numbers for the folds and for the perceptron's orders
COLUMNS = ["word", "pos", "label"]
TEMPLATES = [
    *("word[-1]", "word", "word[1]"),
    *("prefix(word, 2)", "prefix(word, 3)", "suffix(word, 2)", "suffix(word, 3)"),
    *("brief_shape(word[-1])", "brief_shape(word)", "brief_shape(word[1])"),
    *("capitalised(word[-1])", "capitalised(word)", "capitalised(word[1])"),
    *("uppercase(word)", "has_digit(word)", "punctuation(word)"),
]
POLY = {"type": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0, "explicit": True}


class Method(NamedTuple):
    """A way to learn from sentences.

    kind : hmm, perceptron or the name of the model in the objective
    loss, rescaling, kernel : settings of structural SVMs
    """

    kind: str
    loss: str = "hamming"
    rescaling: str = "margin"
    kernel: Mapping[str, Any] = {}


METHODS = {
    "HMM": Method("hmm"),
    "CRF": Method("crf"),
    "perceptron": Method("perceptron"),
    "SVM_2": Method("ssvm", "zero_one"),
    "SVM_2 Δs": Method("ssvm", "hamming", "slack"),
    "SVM_2 Δm": Method("ssvm", "hamming", "margin"),
    "SVM_2, poly": Method("ssvm", "zero_one", "margin", POLY),
    "SVM_2 Δs, poly": Method("ssvm", "hamming", "slack", POLY),
    "SVM_2 Δm, poly": Method("ssvm", "hamming", "margin", POLY),
}


class Plan(NamedTuple):
    """The size of the experiment.

    sentences, folds : the number of sentences, and the test folds
    grid, crf_grid : values of C; shares : added to the counts of the HMM; epochs : increasing
    literal : sentences for Algorithm 1
    """

    sentences: int
    folds: tuple[int, ...]
    grid: tuple[float, ...] = (0.01, 0.1, 1.0)
    crf_grid: tuple[float, ...] = (0.1, 1.0, 10.0)
    shares: tuple[float, ...] = (1.0, 0.1, 0.01)
    epochs: tuple[int, ...] = (5, 10, 20, 40)
    literal: int = 60


FULL = Plan(300, tuple(range(FOLDS)))
QUICK = Plan(20, (0, 1), (0.1,), (1.0,), (1.0,), (5,), 8)


class Sentences(NamedTuple):
    """The sentences with all attributes, the same with words alone, and their folds, (n,)."""

    attributes: SequenceExamples
    words: SequenceExamples
    fold: np.ndarray
    plan: Plan


class Task(NamedTuple):
    """One method, to be tested on one fold."""

    method: str
    fold: int


class Count(NamedTuple):
    """A structural SVM whose constraints are counted, and its C."""

    method: str
    C: float


class Fit(NamedTuple):
    """A trained method.

    predict : a function to the labels, (tokens,); planes : kept at the end by n-slack
    converged : whether the asked gap was reached, for methods with a gap
    """

    predict: Callable[[SequenceExamples], np.ndarray]
    planes: int | None = None
    converged: bool | None = None


def experiment(arguments: command.Arguments) -> str:
    """Train and test every method on every fold, and write the table."""
    plan = QUICK if arguments.quick else FULL
    sentences = read_sentences(arguments.data / FILE, plan)
    # The slowest tasks first, so that all processes end at about the same time.
    tasks = [Task(method, fold) for method in reversed(METHODS) for fold in plan.folds]
    rows = arguments.solved(solve, sentences, tasks)
    rows.sort(key=lambda row: (list(METHODS).index(row["method"]), row["fold"]))
    text, summary = report(rows, sentences)
    first = {row["method"]: row["setting"] for row in rows if row["fold"] == plan.folds[0]}
    counts = [Count(name, first[name]) for name in METHODS if _covered(METHODS[name])]
    literal = arguments.solved(counted, sentences, counts)
    title = f"Algorithm 1, {plan.literal} sentences, epsilon {VIOLATION:g}, and Theorem 1"
    shown = [{**row, "C": f"{row['C']:g}", "bound": f"{row['bound']:.2g}"} for row in literal]
    text = "\n".join([text, text_table(title, shown)])
    summary |= {"to the letter": literal}
    write_results(arguments.out, "ner", text, rows, summary)
    return text


def read_sentences(path: Path, plan: Plan) -> Sentences:
    """The first sentences of a CoNLL file. Raises DataError."""
    read = []
    for templates in (TEMPLATES, ["word"]):
        application = application_of(config_of(Method("ssvm"), templates))
        examples = application.read([Source(str(path))])
        if len(examples) < plan.sentences:
            found = f"{len(examples)} sentences"
            raise DataError(path, None, f"{found}; expected at least {plan.sentences}")
        read.append(examples.take(np.arange(plan.sentences)))
    fold = assign_folds(plan.sentences, FOLDS, np.random.default_rng(DRAW))
    return Sentences(read[0], read[1], fold, plan)


def config_of(method: Method, templates: Sequence[str] = TEMPLATES) -> Config:
    """The settings of a method without C."""
    by_planes = method.kind == "ssvm"
    options = {"columns": COLUMNS, "templates": list(templates), "loss": method.loss, "ends": True}
    return Config.from_dict(
        {
            "application": {"name": "sequence", **options},
            "kernel": dict(method.kernel),
            "objective": {
                "model": "crf" if method.kind == "crf" else "ssvm",
                "rescaling": method.rescaling,
                "slack_norm": 2 if by_planes else 1,
            },
            "solver": {"method": "n-slack" if by_planes else "bundle", "epsilon": 1e-2},
        }
    )


def application_of(config: Config) -> SequenceLabelling:
    """The application of a configuration."""
    application = config.create_application()
    assert isinstance(application, SequenceLabelling)
    return application


def solve(sentences: Sentences, task: Task) -> dict[str, Any]:
    """Choose the setting of a method, train on all folds but one, and test on that fold."""
    began = time.perf_counter()
    method, plan, fold = METHODS[task.method], sentences.plan, sentences.fold
    examples = sentences.words if method.kind == "hmm" else sentences.attributes
    settings = {
        "hmm": plan.shares,
        "crf": plan.crf_grid,
        "perceptron": plan.epochs,
        "ssvm": plan.grid,
    }[method.kind]
    held = (task.fold + 1) % FOLDS
    inside = examples.take(np.flatnonzero((fold != task.fold) & (fold != held)))
    outside = examples.take(np.flatnonzero(fold == held))
    setting = chosen(method, inside, outside, settings)
    training = examples.take(np.flatnonzero(fold != task.fold))
    test = examples.take(np.flatnonzero(fold == task.fold))
    (fit,) = fitted(method, training, [setting])
    missed = wrong(fit, test)
    return {
        **task._asdict(),
        "setting": setting,
        "train_error": 100.0 * float(wrong(fit, training).mean()),
        "test_error": 100.0 * float(missed.mean()),
        "constraints": fit.planes,
        "converged": fit.converged,
        "average_loss": float(missed.sum() / len(test)),
        "seconds": time.perf_counter() - began,
    }


def _covered(method: Method) -> bool:
    return method.kind == "ssvm" and not method.kernel


def counted(sentences: Sentences, task: Count) -> dict[str, Any]:
    """The constraints of Algorithm 1 on a few sentences, and the theorem's bound of them."""
    method, plan = METHODS[task.method], sentences.plan
    rows = np.flatnonzero(sentences.fold != plan.folds[0])[: plan.literal]
    examples = sentences.attributes.take(rows)
    changes = {"solver": {"method": "working-set", "violation": VIOLATION}, C_KEY: task.C}
    config = set_values(config_of(method), changes)
    application = application_of(config)
    with Executor() as executor:
        length, loss = longest(DataOracle(application, examples, executor))
    loss = 1.0 if method.loss == "zero_one" else loss
    slack = method.rescaling == "slack"
    record = learn_on(application, examples, config, scored=False).record
    return {
        "method": task.method,
        "C": task.C,
        "constraints": record["planes"],  # nothing is dropped
        "bound": most_constraints(VIOLATION, task.C, len(rows), loss, length, slack=slack),
    }


def chosen(
    method: Method, inside: SequenceExamples, outside: SequenceExamples, settings: Sequence[float]
) -> float:
    """The setting whose model, trained on ``inside``, has the lowest token error on ``outside``."""
    if len(settings) == 1:
        return settings[0]
    errors = [wrong(fit, outside).mean() for fit in fitted(method, inside, settings)]
    return settings[int(np.argmin(errors))]


def wrong(fit: Fit, examples: SequenceExamples) -> np.ndarray:
    """Whether the label of each token is wrong, (tokens,)."""
    return fit.predict(examples) != examples.labels


def fitted(method: Method, examples: SequenceExamples, settings: Sequence[float]) -> list[Fit]:
    """Train the method with each of the settings, which increase except for the HMM's."""
    config = config_of(method)
    application = application_of(config)
    if method.kind == "hmm":
        return [_scoring(application, hmm(application, examples, share)) for share in settings]
    if method.kind == "perceptron":
        averages = averaged_perceptron(application, examples, [int(k) for k in settings])
        return [_scoring(application, w) for w in averages]
    configs = [set_values(config, {"objective.C": C}) for C in settings]
    return [_classifying(model) for model in learn_path(application, examples, configs)]


def _classifying(model: Model) -> Fit:
    kept = model.record["planes"] if model.config["solver"]["method"] == "n-slack" else None
    return Fit(lambda rows: classify(model, rows).labels[:, 0], kept, model.record["converged"])


def _scoring(application: SequenceLabelling, w: np.ndarray) -> Fit:
    return Fit(lambda rows: application.predict(w, rows).labels[:, 0])


def hmm(application: SequenceLabelling, examples: SequenceExamples, share: float) -> np.ndarray:
    """Weights for which w · Φ(x, y) is log P(x, y) of a hidden Markov model.

    P is estimated by counts, with ``share`` added to each count. The end of a sentence is an
    additional label, and all words that do not occur in training are one additional word. The
    examples have only words as attributes.
    """
    m, L = examples.width, examples.label_count
    counts = application.completed(np.zeros(application.dimension(examples)), examples).gradient
    words, pairs, first, last = np.split(counts, np.cumsum([m * L, L * L, L]))
    words, pairs = words.reshape(m, L), pairs.reshape(L, L)
    kinds = int(np.sum(words.any(axis=1))) + 1
    emissions = (words + share) / (words.sum(axis=0) + share * kinds)
    leaving = (pairs.sum(axis=1) + last + share * (L + 1))[:, None]
    follow = (pairs + share) / leaving
    parts = (
        emissions.ravel(),
        follow.ravel(),
        (first + share) / (first.sum() + share * L),
        (last + share) / leaving[:, 0],
    )
    return np.log(np.concatenate(parts))


def averaged_perceptron(
    application: SequenceLabelling, examples: SequenceExamples, epochs: Sequence[int]
) -> list[np.ndarray]:
    """The mean of the weights after each example, for each number of epochs (increasing).

    Averaged perceptron (Collins, EMNLP 2002, Figure 1), with a new random order in each epoch.
    """
    rng = np.random.default_rng(DRAW)
    dimension = application.dimension(examples)
    w, before, step, found = np.zeros(dimension), np.zeros(dimension), 0, []
    nothing, one = np.zeros(1), np.zeros(1, dtype=np.int64)
    for epoch in range(1, max(epochs) + 1):
        for i in rng.permutation(len(examples)).tolist():
            example = examples.slice(i, i + 1)
            labels = application.predict(w, example).labels[:, 0]
            if np.any(labels != example.labels):
                outputs = example.labels, np.ascontiguousarray(labels)
                truth, best = (
                    application.gradients(example, Maxima(nothing, nothing, nothing, y), one)
                    for y in outputs
                )
                change = truth - best
                w[change.indices] += change.data
                # This change is not part of the weights after the earlier examples.
                before[change.indices] += step * change.data
            step += 1
        if epoch in epochs:
            found.append(w - before / step)
    return found


def report(rows: Sequence[Mapping[str, Any]], sentences: Sentences) -> tuple[str, dict[str, Any]]:
    """The table as text, and its figures as plain values."""
    table, cells = [], []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        values = {
            key: [row[key] for row in own if row[key] is not None]
            for key in ("train_error", "test_error", "constraints", "average_loss")
        }
        digits = {"constraints": 0}
        table.append(
            {
                "method": method,
                **{
                    key.replace("_", " "): plus_minus(found, digits.get(key, 2)) if found else "–"
                    for key, found in values.items()
                },
                "chosen": " ".join(f"{row['setting']:g}" for row in own),
            }
        )
        cells += [
            {"method": method, "measure": key, "mean_and_error": mean_and_error(found)}
            for key, found in values.items()
            if found
        ]
    examples = sentences.attributes
    title = (
        f"{len(examples)} sentences, {len(examples.labels):,d} tokens, {examples.label_count} "
        f"labels; token error (%), constraints, wrong labels per test sentence ± standard error "
        f"over {len(sentences.plan.folds)} folds"
    )
    text = text_table(title, table)
    printed = ", ".join(f"{name} {error}" for name, (error,) in TSOCHANTARIDIS_NER.rows.items())
    text += f"\nTest error in the paper, on other sentences and features: {printed}"
    return text, {"plan": sentences.plan._asdict(), "cells": cells}


if __name__ == "__main__":
    command.main(
        "Named entities in Spanish sentences.",
        "folder of CoNLL-2002",
        "20 sentences, two folds, one value of each setting",
        experiment,
        {"folds and orders": DRAW},
    )
