"""The growth of the time of a pass with the size of the data, in one thread.

A pass is loss-augmented inference over all examples, with the sum of their planes, at random w; for
documents it is smoothed, with second derivatives, as ``auto`` trains on them. Its
CPU seconds are divided by the number of rows, tokens, documents, letters of DNA or graphs. The time
for each of them should stay the same; it grows only when the data no longer fit in a cache. Further
rows vary the size of one example or of the model: labels, classes, features, tokens of a sequence.
Each size runs in its own process, one after another.

Usage: python -m experiments.benchmarks.growth [--out FOLDER] [--quick] [--only NAME]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.benchmarks.mrf_pass import graphs as simulated_graphs
from experiments.benchmarks.ranking_pass import simulated as simulated_queries
from experiments.common.measuring import simulated as simulated_motif
from lssvm.applications.base import Formulation
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass, MulticlassOptions
from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output.tables import make_folder, text_table, write_results
from lssvm.smoothing import Smoothed

SSVM = Formulation("ssvm")
REPEATS = 3
WIDTH = 0.1  # of smoothing, as in the second half of a run


def sparse_rows(rng, count, width, values):
    """Random rows with ``values`` entries each that are not 0."""
    indices = np.sort(rng.integers(width, size=(count, values)), axis=1).ravel().astype(np.int32)
    starts = values * np.arange(count + 1)
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(count, width))


def rows(count, classes=10, width=100_000, values=20):
    """Sparse rows of some classes; the size is the number of rows."""
    rng, names = np.random.default_rng(0), tuple(map(str, range(classes)))
    application = Multiclass(MulticlassOptions(bias=0.0), SSVM)
    application.fix(names, width)
    labels = rng.integers(classes, size=count)
    return application, in_memory(sparse_rows(rng, count, width, values), labels, names, classes)


def tokens(count, labels=10, length=25, width=100_000, values=12):
    """Label sequences with sparse tokens; the size is the number of tokens."""
    rng, names = np.random.default_rng(0), tuple(map(str, range(labels)))
    application = SequenceLabelling(SequenceOptions(format="svm_hmm"), SSVM)
    tags = np.array(names, dtype=object)[rng.integers(labels, size=count)]
    offsets = np.append(np.arange(0, count, length), count)
    matrix = sparse_rows(rng, count, width, values)
    examples = packed(matrix, list(tags), offsets, Vocabulary(names, width))
    application.dimension(examples)
    return application, examples


def documents(count):
    """Queries of 152 documents with 45 features; the size is the number of documents."""
    single = simulated_queries()
    copies = -(-count // int(single.offsets[-1]))
    examples = single.take(np.tile(np.arange(len(single)), copies))
    return PrecisionAtK(RankingOptions(k=10)), examples


def letters(count):
    """DNA sequences of 1,000 letters; the size is the number of letters."""
    return simulated_motif(0, n=count // 1000, length=1000)


def graphs(count):
    """Chains of ten nodes, with exact inference; the size is the number of graphs."""
    rng, ends = np.random.default_rng(0), [[k, k + 1] for k in range(9)]
    application = MarkovRandomField(MrfOptions(), SSVM)
    examples = simulated_graphs(count, 10, ends, rng)
    return application, examples


def labels(count):
    """20,000 tokens; the size is the number of labels."""
    return tokens(20_000, labels=count, width=1_000)


def classes(count):
    """10,000 rows; the size is the number of classes."""
    return rows(10_000, classes=count, width=1_000)


def features(count):
    """100,000 rows; the size is the number of features."""
    return rows(100_000, classes=5, width=count)


def length(count):
    """One sequence; the size is the number of its tokens."""
    return tokens(count, length=count)


KINDS = {each.__name__: each for each in (
    rows, tokens, documents, letters, graphs, labels, classes, features, length)}  # fmt: skip
SIZES = {
    "rows": (10_000, 100_000, 1_000_000),
    "tokens": (10_000, 100_000, 1_000_000),
    "documents": (16_000, 160_000, 1_600_000),
    "letters": (1_000_000, 10_000_000, 100_000_000),
    "graphs": (1_000, 10_000, 100_000),
    "labels": (10, 100, 1_000),
    "classes": (100, 1_000, 10_000),
    "features": (100_000, 1_000_000, 10_000_000),
    "length": (10_000, 100_000, 1_000_000),
}
COUNTED = ("rows", "tokens", "documents", "letters", "graphs", "length")


def measured(kind, size):
    """The seconds of a pass, the shortest of several, and the memory."""
    application, examples = KINDS[kind](size)
    oracle = DataOracle(application, examples, Executor(1))
    w = 0.01 * np.random.default_rng(1).normal(size=application.dimension(examples))
    smooth = isinstance(application, Smoothed)
    ask = partial(oracle.smoothed, width=WIDTH) if smooth else oracle.augmented
    times = []
    for _ in range(REPEATS):
        used = time.process_time()
        ask(w)
        times.append(time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": min(times), "weights": len(w), "MB": peak}


def in_own_process(kind, size):
    """Run this script for one size, in a process of its own, and return the row."""
    command = [sys.executable, "-m", "experiments.benchmarks.growth", "--row"]
    process = subprocess.run(
        [*command, json.dumps([kind, size])], capture_output=True, text=True, check=False
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["killed"])[-1]
        raise LssvmError(f"{kind} {size}: {last}")
    return json.loads(process.stdout.splitlines()[-1])


def main():
    """Run all sizes and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench-growth"), help="folder for the results"
    )
    parser.add_argument("--only", help="run this kind only", choices=SIZES)
    parser.add_argument("--quick", action="store_true", help="leave out the largest sizes")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        with threadpool_limits(1):
            print(json.dumps(measured(*json.loads(options.row))))
        return
    make_folder(options.out)
    found = []
    for kind in [options.only] if options.only else SIZES:
        for size in SIZES[kind][: -1 if options.quick else None]:
            row = in_own_process(kind, size)
            each = 1e9 * row["seconds"] / size if kind in COUNTED else None
            found.append({"kind": kind, "size": size, **row, "ns each": each})
            print(found[-1], file=sys.stderr)
    text = text_table("Growth: CPU seconds of a pass, one thread", found)
    print(text)
    write_results(options.out, "growth", text, found, {})


if __name__ == "__main__":
    main()
