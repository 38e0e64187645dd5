"""When a taxonomy helps: simulated classes that share features by level.

    python -m experiments.tsochantaridis_2004.simulated_taxonomy --data hmc-taxonomy --out out/x

In ``taxonomy_table`` the tree does not help, while it does in the paper. Here the tree has three
levels, in each of which a node has three children: 27 classes. Every node below the root has a
vector of 40 normal numbers, and the mean of a class is the sum of the vectors on its path; an
example is the mean of its class plus standard normal noise. The variance of a class mean is 0.25
for each feature; a share s of it belongs to the two upper levels, half to each, and is common to
classes of one branch; the rest, 1 − s, belongs to the class alone. So with s = 0 the tree says
nothing about the features, and with s near 1 the classes of a branch are nearly alike. The best
possible rule knows the means and takes the nearest one.

Methods, the choice of C and the scaling are those of ``taxonomy_table``; C is chosen from seven
values. Each draw has its own means, training examples, which are nested (the first n of each
class), and 540 test examples. The sizes, shares and values of C were fixed before any result was
seen, the number of draws after eight models of the first draw. The tables have the differences of
the methods with the tree from those without, paired by draw.

For the real data sets of ``taxonomy_table``, :func:`common_share` estimates s by the analysis of
variance: the variance of class means among siblings against that among all classes, both without
what comes from noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.tsochantaridis_2004.taxonomy_table import (
    FILES,
    METHODS,
    ROOT,
    Collection,
    Outcome,
    Task,
    read_collection,
    solve,
)
from lssvm.formats.hierarchical_arff import HierarchicalRows
from lssvm.output import plots
from lssvm.output.tables import mean_and_error, text_table, write_results

STREAM = 0x74726565
CHILDREN, LEVELS, FEATURES = 3, 3, 40
VARIANCE = 0.25  # of the mean of a class, for each feature
TESTS = 20  # of each class
PAIRS = {"0/1": ("tree 0/1", "flat 0/1"), "Δ": ("tree Δ", "flat Δ")}


class Plan(NamedTuple):
    """Examples of each class, shares s, values of C, and draws."""

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    grid: tuple[float, ...]
    draws: int


FULL = Plan(
    (2, 4, 8, 16, 32), (0.0, 0.25, 0.5, 0.75, 0.9), (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 20
)
QUICK = Plan((2, 4), (0.0, 0.75), (0.1, 1.0), 2)


class World(NamedTuple):
    """A draw. collection : its examples; means : (classes, FEATURES), in the order of names"""

    collection: Collection
    means: np.ndarray
    names: tuple[str, ...]


def world(share: float, draw: int, examples: int) -> World:
    """Draw means and examples; the same standard normal numbers for every share."""
    rng = np.random.default_rng([STREAM, draw])
    inner = np.sqrt(VARIANCE * share / (LEVELS - 1))
    scales = [inner] * (LEVELS - 1) + [np.sqrt(VARIANCE * (1.0 - share))]
    names, means = [""], np.zeros((1, FEATURES))
    parents: dict[str, str] = {}
    for scale in scales:
        names = [f"{name}/{k}".strip("/") for name in names for k in range(CHILDREN)]
        parents |= {name: name.rpartition("/")[0] or ROOT for name in names}
        vectors = scale * rng.normal(size=(len(names), FEATURES))
        means = np.repeat(means, CHILDREN, axis=0) + vectors
    parts = []
    for count in (TESTS, examples):
        noise = rng.normal(size=(count, *means.shape))
        matrix = (means + noise).reshape(-1, FEATURES)
        labels = tuple(names) * count
        parts.append(HierarchicalRows(matrix, labels, tuple(parents)))
    test, train = parts
    return World(Collection(train, test, parents), means, tuple(names))


def first_of_each(collection: Collection, size: int) -> Collection:
    """The first examples of each class for training."""
    train = collection.train
    count = size * CHILDREN**LEVELS
    return collection._replace(
        train=replace(train, matrix=train.matrix[:count], labels=train.labels[:count])
    )


def best_accuracy(one: World) -> float:
    """The accuracy, in percent, of the nearest true mean on the test examples."""
    test = one.collection.test
    distances = np.sum((test.matrix[:, None, :] - one.means) ** 2, axis=2)
    nearest = np.array(one.names)[np.argmin(distances, axis=1)]
    return 100.0 * float(np.mean(nearest == np.array(test.labels)))


def common_share(collection: Collection) -> float:
    """The estimated share of the variance of class means that siblings have in common.

    Classes of at least two training examples count, siblings are those with the same parent, and a
    feature counts by its variance within classes.
    """
    labels = np.array(collection.train.labels)
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts >= 2
    matrix = collection.train.matrix
    sums = np.zeros((len(names), matrix.shape[1]))
    np.add.at(sums, codes, matrix)
    means = sums / counts[:, None]
    inside = np.sum((matrix - means[codes]) ** 2, axis=0) / max(len(labels) - len(names), 1)
    used = inside > 0
    means = (means[:, used] / np.sqrt(inside[used]))[kept]
    parents = np.array([collection.parents[name] for name in names[kept]])
    noise = float(np.mean(1.0 / counts[kept])) * means.shape[1]
    whole = _variance(means)
    groups = [means[parents == parent] for parent in np.unique(parents)]
    groups = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    siblings = sum((len(group) - 1) * _variance(group) for group in groups) / freedom
    return 1.0 - (siblings - noise) / (whole - noise)


def _variance(vectors: np.ndarray) -> float:
    """The unbiased variance of vectors, summed over their elements."""
    return float(np.var(vectors, axis=0, ddof=1).sum())


class Trial(NamedTuple):
    """One method on one draw."""

    share: float
    size: int
    draw: int
    method: str


def trained(plan: Plan, trial: Trial) -> dict[str, Any]:
    """Choose C, train and test."""
    one = world(trial.share, trial.draw, max(plan.sizes))
    name = "simulated"
    shared: Mapping[str, Collection] = {name: first_of_each(one.collection, trial.size)}
    outcome: Outcome = solve((shared, plan.grid), Task(name, trial.size, trial.draw, trial.method))
    return {
        **trial._asdict(),
        "C": outcome.record["C"],
        "accuracy": 100.0 * float(outcome.right.mean()),
        "tree_loss": float(outcome.heights.mean()),
        "best": best_accuracy(one),
        "seconds": outcome.record["seconds"],
    }


def experiment(arguments: command.Arguments) -> str:
    """Train everything, estimate the shares of the real data, and write the table and figure."""
    plots.check_installed()
    plan = QUICK if arguments.quick else FULL
    real = {name: common_share(read_collection(arguments.data, name)) for name in FILES}
    trials = [
        Trial(share, size, draw, method)
        for size in sorted(plan.sizes, reverse=True)
        for share in plan.shares
        for draw in range(plan.draws)
        for method in METHODS
    ]
    rows = arguments.solved(trained, plan, trials)
    picture(arguments.out / "difference.png", rows, plan)
    cells = [cell_of(rows, share, size) for share in plan.shares for size in plan.sizes]
    told = ", ".join(f"{name} {share:.2f}" for name, share in real.items())
    text = f"{report(cells, rows, plan)}\ncommon share, estimated: {told}"
    summary = {"plan": plan._asdict(), "cells": cells, "common share": real}
    write_results(arguments.out, "taxonomy-simulated", text, rows, summary)
    return text


def cell_of(rows: Sequence[Mapping[str, Any]], share: float, size: int) -> dict[str, Any]:
    """Means and errors of every method and of the paired differences, for a share and a size."""
    found: dict[str, Any] = {"share": share, "size": size}
    own = {
        method: [r for r in rows if (r["share"], r["size"], r["method"]) == (share, size, method)]
        for method in METHODS
    }
    for method, each in own.items():
        for measure in ("accuracy", "tree_loss"):
            found[f"{method}, {measure}"] = mean_and_error(r[measure] for r in each)
    for loss, (tree, flat) in PAIRS.items():
        for measure in ("accuracy", "tree_loss"):
            apart = [a[measure] - b[measure] for a, b in zip(own[tree], own[flat], strict=True)]
            found[f"tree − flat, {loss}, {measure}"] = mean_and_error(apart)
    found["best"] = mean_and_error(r["best"] for r in own["flat 0/1"])
    return found


def report(
    cells: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], plan: Plan
) -> str:
    """The tables as text."""
    table = []
    for cell in cells:
        line = {"share": f"{cell['share']:g}", "a class": cell["size"]}
        line["best possible"] = f"{cell['best'][0]:.1f}"
        line |= {method: f"{cell[f'{method}, accuracy'][0]:.1f}" for method in METHODS}
        for loss in PAIRS:
            line[f"tree − flat, {loss}"] = shown(cell[f"tree − flat, {loss}, accuracy"], 2)
        line["tree loss, Δ"] = shown(cell["tree − flat, Δ, tree_loss"], 3)
        table.append(line)
    ends = sum(row["C"] in (min(plan.grid), max(plan.grid)) for row in rows)
    title = (
        f"Simulated taxonomies, {CHILDREN**LEVELS} classes: test accuracy (%), and paired "
        f"differences ± standard error over {plan.draws} draws"
    )
    edges = f"of {len(rows)} choices of C, {ends} are the smallest or the largest value"
    return "\n".join([text_table(title, table), *verdicts(cells), edges])


def shown(figure: Sequence[float], digits: int) -> str:
    """``mean ± standard error`` of a cell."""
    mean, error = figure
    return f"{mean:+.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def verdicts(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where a method with the tree is better or worse by more than twice the standard error."""
    lines = []
    for loss in PAIRS:
        found: dict[str, list[str]] = {"better": [], "worse": []}
        for cell in cells:
            mean, error = cell[f"tree − flat, {loss}, accuracy"]
            if np.isfinite(error) and abs(mean) > 2 * error:
                kind = "better" if mean > 0 else "worse"
                found[kind].append(f"{cell['share']:g}/{cell['size']}")
        for kind, places in found.items():
            told = ", ".join(places) or "nowhere"
            lines.append(f"the tree has a {kind} accuracy, {loss} loss (share/a class): {told}")
    return lines


def picture(path: Path, rows: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    """Draw the difference of the accuracies by examples of a class, with a line for each share."""
    lines = []
    for hue, share in enumerate(plan.shares):
        found = [cell_of(rows, share, size)["tree − flat, 0/1, accuracy"] for size in plan.sizes]
        means, errors = zip(*found, strict=True)
        lines.append(plots.Series(f"share {share:g}", plan.sizes, means, errors, hue))
    label = "accuracy, tree − flat (points)"
    plots.draw_lines(path, lines, x_label="examples of a class", y_label=label, log_x=True)


if __name__ == "__main__":
    command.main(
        "Simulated taxonomies whose classes share features by level.",
        "folder of the ARFF files",
        "two sizes, two shares, two values of C, two draws",
        experiment,
        {"draws": STREAM},
    )
