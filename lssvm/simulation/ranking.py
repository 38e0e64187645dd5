"""Simulated queries for a first ranking: the files in data/ranking.

    lssvm simulate ranking --out data/ranking

A document has six uniform features in [0, 1]; the third one is missing in a third of the documents.
The usefulness of a document is 2 x_1 + x_2 − x_4 plus a normal error of standard deviation 0.5. In
each query the most useful tenth of the documents has the label 2, the next fifth 1, the others 0.
Features 5 and 6 contain no information.

The distribution of the error is the same for all documents. So a document with a larger 2 x_1 + x_2
− x_4 is more likely among the most useful ones, and the order by this sum has the largest expected
P@k, for every k.
"""

from pathlib import Path

import numpy as np

from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

DOCUMENTS = (20, 40)  # smallest and largest number in a query
FEATURES = 6
WEIGHTS = np.array([2.0, 1.0, 0.0, -1.0, 0.0, 0.0])
ERROR = 0.5
SHOWN = (1, 3, 5, 10)  # k of the P@k that are shown


def write_ranking(folder: Path, *, seed: int = 0, n: int = 30, n_test: int = 20) -> str:
    """Write train.txt and test.txt; returns the P@k of the best possible order of the test set.

    n, n_test : queries. Raises LssvmError if they are fewer than 1 or cannot be written.
    """
    begin(folder, n=n, n_test=n_test)
    rng, query = np.random.default_rng(seed), 0
    for name, queries in {"train": n, "test": n_test}.items():
        precisions = []
        with replacing(folder / f"{name}.txt") as file:
            for _ in range(queries):
                query += 1
                labels, features = drawn(rng)
                precisions.append(best_precisions(labels, features))
                file.writelines(_lines(query, labels, features))
    lines = [
        "test.txt in the order of the true usefulness, the best possible order in expectation:"
    ]
    lines += [f"P@{k:<3} {p:.6g}" for k, p in zip(SHOWN, np.mean(precisions, 0), strict=True)]
    return "\n".join(lines)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels, (n,), and features, (n, FEATURES), of the documents of one query."""
    count = int(rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1))
    features = rng.integers(1, 1001, (count, FEATURES)) / 1000
    features[rng.random(count) < 1 / 3, 2] = 0.0
    useful = features @ WEIGHTS + rng.normal(0.0, ERROR, count)
    rank = np.argsort(np.argsort(-useful))
    return 1 * (rank < 0.3 * count) + (rank < 0.1 * count), features


def best_precisions(labels: np.ndarray, features: np.ndarray) -> np.ndarray:
    """P@k of the best possible order of a query, for every k in SHOWN."""
    order = np.argsort(-(features @ WEIGHTS), kind="stable")
    found = np.cumsum(labels[order] > 0)
    return np.array([found[k - 1] / k for k in SHOWN])


def _lines(query: int, labels: np.ndarray, features: np.ndarray) -> list[str]:
    """The lines of one query."""
    lines = []
    for number, (label, row) in enumerate(zip(labels, features, strict=True), 1):
        pairs = " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value)
        lines.append(f"{label} qid:{query} {pairs} #docid = q{query}d{number}\n")
    return lines


CONFIGURATION = """\
# Ranking for precision at k on simulated queries.
# lssvm-learn precision_at_k.yaml ranking.model
application:
  name: precision_at_k
  k: 5
  relevant_from: 1
  initialisation: classification
  initialisation_weight: 100
data: {train: train.txt, validate: test.txt, test: test.txt}
objective: {model: lssvm, C: 1.0}
seed: 0
"""
SIMULATION = Simulation(
    text="Queries with documents whose usefulness is a weighted sum of features plus an error.",
    options=(Option("n", 30, "Training queries."), Option("n_test", 20, "Test queries.")),
    data=("train.txt", "test.txt"),
    configurations={"precision_at_k.yaml": CONFIGURATION},
    write=write_ranking,
)
