"""Simulated queries for a first ranking: the files in data/ranking.

    python -m lssvm.simulation.ranking data/ranking

A document has six features in [0, 1], uniform, of which the third is missing in a third of the
documents. Its usefulness is 2 x_1 + x_2 − x_4 and a normal error of standard deviation 0.5; in each
query the most useful tenth of the documents is labelled 2, the next fifth 1, the others 0.
Features 5 and 6 tell nothing.
"""

import argparse
from pathlib import Path

import numpy as np

from lssvm.output.tables import make_folder
from lssvm.output.whole import replacing

QUERIES = {"train": 30, "test": 20}
DOCUMENTS = (20, 40)  # fewest and most of a query
FEATURES = 6
WEIGHTS = np.array([2.0, 1.0, 0.0, -1.0, 0.0, 0.0])
ERROR = 0.5
SEED = 0


def write_ranking(folder: Path) -> None:
    """Write train.txt and test.txt. Raises LssvmError if they cannot be written."""
    make_folder(folder)
    rng, query = np.random.default_rng(SEED), 0
    for name, queries in QUERIES.items():
        with replacing(folder / f"{name}.txt") as file:
            for _ in range(queries):
                query += 1
                file.writelines(_documents(rng, query))


def _documents(rng: np.random.Generator, query: int) -> list[str]:
    """The lines of one query."""
    count = int(rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1))
    features = rng.integers(1, 1001, (count, FEATURES)) / 1000
    features[rng.random(count) < 1 / 3, 2] = 0.0
    useful = features @ WEIGHTS + rng.normal(0.0, ERROR, count)
    rank = np.argsort(np.argsort(-useful))
    labels = 1 * (rank < 0.3 * count) + (rank < 0.1 * count)
    lines = []
    for number, (label, row) in enumerate(zip(labels, features, strict=True), 1):
        pairs = " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value)
        lines.append(f"{label} qid:{query} {pairs} # docid = q{query}d{number}\n")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Simulated queries for a first ranking.")
    parser.add_argument("folder", type=Path, help="folder of train.txt and test.txt")
    write_ranking(parser.parse_args().folder)
