"""Classes in a taxonomy: the experiment of Tsochantaridis et al. (ICML 2004, Table 1), other data.

    python -m experiments.tsochantaridis_2004.taxonomy_table --data hmc-taxonomy --out out/taxonomy

The paper used the patents of WIPO-alpha, which are not public. This experiment uses ImCLEF07A and
ImCLEF07D (X-ray images by anatomy and by direction) and Diatoms (images of algae), with the split
of the files into training and test. Classes are flat, or share the weights of their ancestors
(``tree``); both are trained for the 0/1 loss and for the height of the first common ancestor
(``Δ``). The table gives accuracy and this height, the tree loss, on the test file. Training has 2
or 4 examples of each class (all examples of a class that has fewer), drawn at random several times,
or all examples.

Features are scaled to mean 0 and variance 1 on the training examples, and divided by the root of
their number; a constant feature 1 is added. The models have linear slack and margin rescaling, and
a relative gap of at most 1e-2, or 5e-2 while C is chosen. C is chosen on the training examples
alone: for draws by two folds, each with half of every class, and for all examples by a random third
that is held out. The C with the lowest mean of the training loss is chosen, the smallest one if
several are equal. It then trains on all of these examples.

Figures are means over the draws with their standard errors; if all examples train, over the test
examples. The last column is the paired difference between the last method and the first.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from lssvm.applications.multiclass.labelled_rows import LabelledRows, in_memory
from lssvm.applications.multiclass.taxonomy import Taxonomy
from lssvm.config import Config, set_values
from lssvm.errors import DataError
from lssvm.formats.hierarchical_arff import HierarchicalRows, read_hierarchical_arff
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.training.session import learn_on, learn_path

ROOT = "root"
ALL = 0  # stands for all examples
DRAWS = 0x64726177  # streams of random numbers for the draws and for the held-out third
HELD_OUT = 0x68656C64
FILES = {
    "ImCLEF07A": ("ImCLEF07A_Train.arff.gz", "ImCLEF07A_Test.arff.gz"),
    "ImCLEF07D": ("ImCLEF07D_Train.arff.gz", "ImCLEF07D_Test.arff.gz"),
    "Diatoms": ("Diatoms_train.arff.gz", "Diatoms_test.arff.gz"),
}
METHODS = {  # features and loss, in the order of the paper's columns
    "flat 0/1": ("flat", "zero_one"),
    "tree 0/1": ("tree", "zero_one"),
    "flat Δ": ("flat", "tree"),
    "tree Δ": ("tree", "tree"),
}
MEASURES = ("accuracy", "tree_loss")


class Plan(NamedTuple):
    """The size of the experiment: examples per class, values of C, and draws of each data set."""

    sizes: tuple[int, ...]
    grid: tuple[float, ...]
    draws: dict[str, int]


FULL = Plan((4, 2, ALL), (0.1, 1.0, 10.0), {"ImCLEF07A": 5, "ImCLEF07D": 5, "Diatoms": 3})
QUICK = Plan((4, 2), (1.0, 10.0), {"ImCLEF07D": 2})


class Collection(NamedTuple):
    """A data set: training and test rows, and the parent of each node of its tree."""

    train: HierarchicalRows
    test: HierarchicalRows
    parents: dict[str, str]


class Task(NamedTuple):
    """One model: its data set, examples per class, the number of the draw, and the method."""

    name: str
    size: int
    draw: int
    method: str


class Outcome(NamedTuple):
    """right, heights : of every test example; record : the training record"""

    task: Task
    right: np.ndarray
    heights: np.ndarray
    record: dict[str, Any]


def experiment(arguments: command.Arguments) -> str:
    """Train all models, test them, and write the table."""
    plan = QUICK if arguments.quick else FULL
    shared = {name: read_collection(arguments.data, name) for name in plan.draws}, plan.grid
    tasks = [
        Task(name, size, draw, method)
        for name, draws in plan.draws.items()
        for size in plan.sizes
        for draw in range(1 if size == ALL else draws)
        for method in METHODS
    ]
    outcomes = arguments.solved(solve, shared, tasks)
    text, summary = report(outcomes, plan)
    write_results(arguments.out, "taxonomy", text, every_run(outcomes), summary)
    return text


def read_collection(folder: Path, name: str) -> Collection:
    """Read a data set from the folder. Raises DataError."""
    train, test = (read_hierarchical_arff(folder / file) for file in FILES[name])
    if train.matrix.shape[1] != test.matrix.shape[1]:
        wrong = (
            f"{test.matrix.shape[1]} attributes; expected {train.matrix.shape[1]}, as in training"
        )
        raise DataError(folder / FILES[name][1], None, wrong)
    parents = {}
    for node in (*train.nodes, *test.nodes):
        steps = node.split("/")
        for end in range(1, len(steps) + 1):
            parents["/".join(steps[:end])] = "/".join(steps[: end - 1]) or ROOT
    return Collection(train, test, parents)


def solve(shared: tuple[Mapping[str, Collection], Sequence[float]], task: Task) -> Outcome:
    """Draw the training examples, choose C, train and test."""
    began = time.perf_counter()
    collection, grid = shared[0][task.name], shared[1]
    labels = np.array(collection.train.labels)
    rows = drawn(labels, task.size, np.random.default_rng([DRAWS, task.draw]))
    config = config_of(collection, task)
    application, training, test = packed(collection, rows, config)
    parts = folds(labels[rows], task)
    C = chosen(application, training, parts, config, grid)
    model = learn_on(application, training, set_values(config, {"objective.C": C}))
    predictions = application.predict(model.w, test)
    heights = application.heights(test.label_names, application.classes)
    kept = ("objective", "gap", "converged", "passes")
    record = {"examples": len(rows), "C": C, **{key: model.record[key] for key in kept}}
    return Outcome(
        task,
        (test.labels == predictions.labels).astype(float),
        heights[test.labels, predictions.labels],
        {**record, "seconds": time.perf_counter() - began},
    )


def drawn(labels: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """The rows of ``size`` random examples of each label, or of all examples; increasing."""
    if size == ALL:
        return np.arange(len(labels))
    order = rng.permutation(len(labels))
    rows = [order[labels[order] == label][:size] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def folds(labels: np.ndarray, task: Task) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of training and validation rows: two folds of a draw, or a held-out third of all."""
    if task.size == ALL:
        held = np.random.default_rng(HELD_OUT).random(len(labels)) < 1 / 3
        return [(np.flatnonzero(~held), np.flatnonzero(held))]
    second = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        second[np.flatnonzero(labels == label)[::2]] = True
    parts = np.flatnonzero(~second), np.flatnonzero(second)
    return [parts, parts[::-1]]


def config_of(collection: Collection, task: Task) -> Config:
    """The settings of a method without C."""
    features, loss = METHODS[task.method]
    application = {"taxonomy": collection.parents, "features": features, "loss": loss}
    return Config.from_dict(
        {
            "application": {"name": "taxonomy", **application},
            "solver": {"epsilon": 0.01},
            "cccp": {"tolerance": 0.05},
        }
    )


def packed(
    collection: Collection, rows: np.ndarray, config: Config
) -> tuple[Taxonomy, LabelledRows, LabelledRows]:
    """The application with its classes, and the scaled training and test examples."""
    application = config.create_application()
    assert isinstance(application, Taxonomy)
    labels = [collection.train.labels[row] for row in rows]
    classes = sorted(set(labels))
    names = [*classes, *sorted(set(collection.test.labels) - set(classes))]
    application.fix(classes, collection.train.matrix.shape[1])
    number = {name: code for code, name in enumerate(names)}
    chosen_rows = collection.train.matrix[rows]
    mean, spread = chosen_rows.mean(axis=0), chosen_rows.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0) * np.sqrt(chosen_rows.shape[1])
    parts = []
    for matrix, own in ((chosen_rows, labels), (collection.test.matrix, collection.test.labels)):
        scaled = np.hstack([(matrix - mean) / spread, np.ones((len(matrix), 1))])
        codes = np.array([number[name] for name in own])
        parts.append(in_memory(scaled, codes, names, len(application.columns)))
    return application, parts[0], parts[1]


def chosen(
    application: Taxonomy,
    training: LabelledRows,
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    config: Config,
    grid: Sequence[float],
) -> float:
    """The C of lowest mean loss on the validation rows; the smallest one if several are equal."""
    configs = [set_values(config, {"objective.C": C, "solver.epsilon": 0.05}) for C in grid]
    losses = np.zeros(len(grid))
    for inside, outside in parts:
        models = learn_path(application, training.take(inside), configs)
        held = training.take(outside)
        for place, model in enumerate(models):
            losses[place] += application.losses_to(held, application.predict(model.w, held)).sum()
    return float(grid[int(np.argmin(losses))])


def report(outcomes: Sequence[Outcome], plan: Plan) -> tuple[str, dict[str, Any]]:
    """The table as text, and its figures as plain values."""
    rows, cells = [], []
    for name in plan.draws:
        for size in plan.sizes:
            own = [each for each in outcomes if (each.task.name, each.task.size) == (name, size)]
            for measure in MEASURES:
                values = {method: _values(own, method, measure) for method in METHODS}
                first, *_, last = values.values()
                digits = 2 if measure == "accuracy" else 3
                row = {"data": name, "examples per class": str(size or "all"), "measure": measure}
                row |= {method: plus_minus(found, digits) for method, found in values.items()}
                rows.append({**row, "last − first": plus_minus(last - first, digits)})
                cells += [
                    {**row, "method": method, "mean_and_error": mean_and_error(found)}
                    for method, found in values.items()
                ]
    draws = ", ".join(f"{name} {count}" for name, count in plan.draws.items())
    title = (
        f"Test accuracy (%) and tree loss ± standard error over draws ({draws}), or over the test "
        "examples where all train"
    )
    keys = ("data", "examples per class", "measure", "method", "mean_and_error")
    figures = [{key: cell[key] for key in keys} for cell in cells]
    return text_table(title, rows), {"plan": plan._asdict(), "cells": figures}


def _values(outcomes: Sequence[Outcome], method: str, measure: str) -> np.ndarray:
    """The measure of each draw, or of each test example if there is only one run."""
    own = [each for each in outcomes if each.task.method == method]
    found = [100.0 * o.right if measure == "accuracy" else o.heights for o in own]
    if own[0].task.size == ALL:
        return found[0]
    return np.array([np.mean(each) for each in found])


def every_run(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One row for each trained model."""
    return [
        {
            **each.task._asdict(),
            **each.record,
            "accuracy": 100.0 * float(each.right.mean()),
            "tree_loss": float(each.heights.mean()),
        }
        for each in outcomes
    ]


if __name__ == "__main__":
    command.main(
        "Classes in a taxonomy with few examples of each.",
        "folder of the ARFF files",
        "one data set, two draws, two values of C",
        experiment,
        {"draws": DRAWS, "held out": HELD_OUT},
    )
