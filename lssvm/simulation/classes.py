"""Simulated rows of classes: the files in data/multiclass and data/taxonomy.

    lssvm simulate classes --out data

A row has six features, rounded to three digits: the mean of its class and normal errors of standard
deviation 1. A class is a leaf of the tree in ``PARENTS``; its mean is the sum of a normal shift of
each node above it and of its own, of standard deviation 2 at the top and of 1.2 below, so classes
of one branch are similar. A feature of a row is missing, that is 0, with probability 1/10.

The loss matrix in data/multiclass costs 1 within a branch and 3 between branches; the loss of the
tree is the height of the first common ancestor, which is 1 and 2.

Classes are equally frequent, and missing values do not depend on the class, so the posterior of a
class is proportional to exp(−½ Σ (x_j − μ_j)²) over the features that are not missing. The best
possible error is that of the likeliest class, the best possible loss that of the class with the
smallest expected loss. (A value that is rounded to 0 counts as missing, which may be one value in a
thousand.)
"""

from pathlib import Path

import numpy as np
from scipy.special import softmax

from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

PARENTS = {
    "conifer": "tree",
    "broadleaf": "tree",
    "pine": "conifer",
    "spruce": "conifer",
    "larch": "conifer",
    "oak": "broadleaf",
    "birch": "broadleaf",
    "maple": "broadleaf",
}
FEATURES = 6
SHIFTS = {True: 2.0, False: 1.2}  # standard deviations: at the top, below
MISSING = 0.1
BETWEEN = 3.0  # entry of the loss matrix for classes of different branches


def write_classes(folder: Path, *, seed: int = 0, n: int = 20, n_test: int = 30) -> str:
    """Write multiclass/ and taxonomy/ in the folder; returns the best possible error and losses.

    n, n_test : rows of each class. Raises LssvmError if one of them is below 1, or if files
    cannot be written.
    """
    begin(folder, n=n, n_test=n_test)
    rng = np.random.default_rng(seed)
    means = class_means(rng)
    drawn = {split: _rows(rng, means, each) for split, each in {"train": n, "test": n_test}.items()}
    for name in ("multiclass", "taxonomy"):
        begin(folder / name)
        for split, (labels, rows) in drawn.items():
            with replacing(folder / name / f"{split}.txt") as file:
                file.writelines(map(_line, labels, rows))
    with replacing(folder / "taxonomy" / "taxonomy.txt") as file:
        file.write("# child parent\n")
        file.writelines(f"{child} {parent}\n" for child, parent in PARENTS.items())
    with replacing(folder / "multiclass" / "losses.txt") as file:
        file.writelines(_loss_lines(sorted(means)))
    return _told(means, *drawn["test"])


def posterior(means: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """p(class | row), (n, classes), classes in the order of ``means``; 0 is a missing feature."""
    centres = np.array(list(means.values()))
    squares = (rows[:, None] - centres) ** 2 * (rows != 0)[:, None]
    return softmax(-squares.sum(axis=2) / 2, axis=1)


def losses(labels: list[str], between: float) -> np.ndarray:
    """The cost of predicting one class for another, (true, predicted): 1 within a branch."""
    parents = np.array([PARENTS[label] for label in labels])
    within = np.where(parents[:, None] == parents, 1.0, between)
    return within - np.diag(np.diag(within))


def _told(means: dict[str, np.ndarray], labels: list[str], rows: np.ndarray) -> str:
    """Error and losses of the best possible rules on a set, as lssvm-classify calls them."""
    classes = list(means)
    true = np.array([classes.index(label) for label in labels])
    chances = posterior(means, rows)
    lines = ["test.txt with the best possible rules, which know the true means and deviations:"]
    for name, costs in (
        ("error (of either)", 100 * losses(classes, 1.0)),
        ("loss of multiclass", losses(classes, BETWEEN)),
        ("loss of taxonomy", losses(classes, 2.0)),
    ):
        found = (chances @ costs).argmin(axis=1)
        lines.append(f"{name:18} {costs[true, found].mean():.6g}")
    return "\n".join(lines)


def class_means(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The mean of every leaf, (FEATURES,)."""
    shifts = {
        node: rng.normal(0.0, SHIFTS[parent not in PARENTS], FEATURES)
        for node, parent in PARENTS.items()
    }
    leaves = [node for node in PARENTS if node not in PARENTS.values()]
    return {leaf: shifts[leaf] + shifts[PARENTS[leaf]] for leaf in leaves}


def _rows(
    rng: np.random.Generator, means: dict[str, np.ndarray], count: int
) -> tuple[list[str], np.ndarray]:
    """Labels and features, (n, FEATURES), of ``count`` rows of each class, in random order."""
    labels, parts = [], []
    for label, mean in means.items():
        features = np.round(rng.normal(mean, 1.0, (count, FEATURES)), 3)
        features[rng.random(features.shape) < MISSING] = 0.0
        labels += count * [label]
        parts.append(features)
    order = rng.permutation(len(labels))
    return [labels[i] for i in order], np.concatenate(parts)[order]


def _line(label: str, row: np.ndarray) -> str:
    pairs = " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value)
    return f"{label} {pairs}\n"


def _loss_lines(labels: list[str]) -> list[str]:
    """The lines of the loss matrix."""
    lines = ["# a row for each true label; the columns are in the order of the next line\n"]
    lines.append(" ".join(labels) + "\n")
    for true, costs in zip(labels, losses(labels, BETWEEN), strict=True):
        lines.append(f"{true} " + " ".join(f"{cost:g}" for cost in costs) + "\n")
    return lines


MULTICLASS = """\
# Classes of simulated rows, with a loss matrix.
# lssvm-learn multiclass.yaml classes.model
application: {name: multiclass, loss: multiclass/losses.txt, bias: 1.0}
data: {train: multiclass/train.txt, validate: multiclass/test.txt, test: multiclass/test.txt}
objective: {model: ssvm, C: 0.1}
seed: 0
"""
TAXONOMY = """\
# The same rows with the tree of their classes.
# lssvm-learn taxonomy.yaml taxonomy.model
application: {name: taxonomy, taxonomy: taxonomy/taxonomy.txt, bias: 1.0}
data: {train: taxonomy/train.txt, validate: taxonomy/test.txt, test: taxonomy/test.txt}
objective: {model: ssvm, C: 0.1}
seed: 0
"""
SIMULATION = Simulation(
    text="Rows of normal features in six classes, which are the leaves of a tree.",
    options=(
        Option("n", 20, "Training rows of each class."),
        Option("n_test", 30, "Test rows of each class."),
    ),
    data=(
        *("multiclass/train.txt", "multiclass/test.txt", "multiclass/losses.txt"),
        *("taxonomy/train.txt", "taxonomy/test.txt", "taxonomy/taxonomy.txt"),
    ),
    configurations={"multiclass.yaml": MULTICLASS, "taxonomy.yaml": TAXONOMY},
    write=write_classes,
)
