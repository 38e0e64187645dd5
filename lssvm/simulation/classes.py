"""Simulated rows of classes: the files in data/multiclass and data/taxonomy.

    python -m lssvm.simulation.classes data

A row has six features, rounded to three digits: the mean of its class and normal errors of standard
deviation 1. A class is a leaf of the tree in ``PARENTS``; its mean is the sum of a normal shift of
each node above it and of its own, of standard deviation 2 at the top and of 1.2 below, so classes
of one branch are alike. A feature of a row is missing, that is 0, with probability 1/10.

The loss matrix in data/multiclass costs 1 within a branch and 3 between branches.
"""

import argparse
from pathlib import Path

import numpy as np

from lssvm.output.tables import make_folder
from lssvm.output.whole import replacing

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
ROWS = {"train": 20, "test": 30}  # of each class
FEATURES = 6
SHIFTS = {True: 2.0, False: 1.2}  # standard deviations: at the top, below
MISSING = 0.1
SEED = 0


def write_classes(folder: Path) -> None:
    """Write multiclass/ and taxonomy/ in the folder. Raises LssvmError if that cannot be done."""
    rng = np.random.default_rng(SEED)
    means = class_means(rng)
    rows = {split: _rows(rng, means, count) for split, count in ROWS.items()}
    for name in ("multiclass", "taxonomy"):
        make_folder(folder / name)
        for split, lines in rows.items():
            with replacing(folder / name / f"{split}.txt") as file:
                file.writelines(lines)
    with replacing(folder / "taxonomy" / "taxonomy.txt") as file:
        file.write("# child parent\n")
        file.writelines(f"{child} {parent}\n" for child, parent in PARENTS.items())
    with replacing(folder / "multiclass" / "losses.txt") as file:
        file.writelines(_losses(sorted(means)))


def class_means(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The mean of every leaf, (FEATURES,)."""
    shifts = {
        node: rng.normal(0.0, SHIFTS[parent not in PARENTS], FEATURES)
        for node, parent in PARENTS.items()
    }
    leaves = [node for node in PARENTS if node not in PARENTS.values()]
    return {leaf: shifts[leaf] + shifts[PARENTS[leaf]] for leaf in leaves}


def _rows(rng: np.random.Generator, means: dict[str, np.ndarray], count: int) -> list[str]:
    """The lines of ``count`` rows of each class, in random order."""
    lines = []
    for label, mean in means.items():
        features = np.round(rng.normal(mean, 1.0, (count, FEATURES)), 3)
        features[rng.random(features.shape) < MISSING] = 0.0
        for row in features:
            pairs = " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value)
            lines.append(f"{label} {pairs}\n")
    return [lines[i] for i in rng.permutation(len(lines))]


def _losses(labels: list[str]) -> list[str]:
    """The lines of the loss matrix."""
    lines = ["# a row for each true label; the columns are in the order of the next line\n"]
    lines.append(" ".join(labels) + "\n")
    for true in labels:
        costs = [
            0 if label == true else 1 if PARENTS[label] == PARENTS[true] else 3 for label in labels
        ]
        lines.append(f"{true} " + " ".join(map(str, costs)) + "\n")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Simulated rows of classes.")
    parser.add_argument("folder", type=Path, help="folder of multiclass/ and taxonomy/")
    write_classes(parser.parse_args().folder)
