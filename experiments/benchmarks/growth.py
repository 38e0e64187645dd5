"""The growth of the time of a pass with the size of the data, in one thread.

A pass is loss-augmented inference over all examples, with the sum of their planes, at random w; for
documents it is smoothed, with second derivatives, as ``auto`` trains on them. Its CPU seconds are
divided by the number of rows, tokens, documents, letters of DNA or graphs. The time for each of
them should stay within a factor of 1.5, which the last line of the table tells. Further rows vary
the size of one example or of the model: labels, classes, features, tokens of a sequence, mentions
of a document. Their seconds are divided by the operations that the arithmetic asks for: steps from
label to label, products of a value with the weight of a class, weights, pairs of mentions. Such a
unit takes longer where what a pass reads no longer fits into a cache.
Each size runs in its own process, one after another, in about two minutes; MB is the largest memory
of that process, data included.

Usage: python -m experiments.benchmarks.growth [--out FOLDER] [--quick] [--only NAME]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.benchmarks.forest import documents as simulated_mentions
from experiments.benchmarks.mrf_pass import graphs as simulated_graphs
from experiments.benchmarks.ranking_pass import simulated as simulated_queries
from experiments.common.measuring import simulated as simulated_motif
from lssvm.applications.base import Formulation
from lssvm.applications.coreference.coreference import Coreference, CoreferenceOptions
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
FEWEST, MOST = 3, 50  # repeats; the first pass may plan for all others
LONG = 0.5  # seconds of all repeats, unless they are the fewest
CONSTANT = 1.5  # the time of an example grows by less
VALUES = 20  # of a row that are not 0
WIDTH = 0.1  # of smoothing, as in the second half of a run


def sparse_rows(rng, count, width, values):
    """Random rows with ``values`` entries each that are not 0."""
    indices = np.sort(rng.integers(width, size=(count, values)), axis=1).ravel().astype(np.int32)
    starts = values * np.arange(count + 1)
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(count, width))


def rows(count, classes=10, width=20_000, values=VALUES):
    """Sparse rows of some classes; the size is the number of rows."""
    rng, names = np.random.default_rng(0), tuple(map(str, range(classes)))
    application = Multiclass(MulticlassOptions(bias=0.0), SSVM)
    application.fix(names, width)
    labels = rng.integers(classes, size=count)
    return application, in_memory(sparse_rows(rng, count, width, values), labels, names, classes)


def tokens(count, labels=10, length=25, width=20_000, values=12):
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
    """Tokens with some labels; the size is the number of labels."""
    return tokens(TOKENS, labels=count, width=1_000)


def classes(count):
    """Rows of some classes; the size is the number of classes."""
    return rows(ROWS, classes=count, width=1_000)


def features(count):
    """100,000 rows; the size is the number of features."""
    return rows(100_000, classes=FEW, width=count)


def length(count):
    """One sequence; the size is the number of its tokens."""
    return tokens(count, length=count)


def mentions(count):
    """One text in which mentions are clustered; the size is the number of its mentions."""
    return Coreference(CoreferenceOptions()), simulated_mentions(np.random.default_rng(0), count, 1)


ROWS, TOKENS, FEW = 10_000, 20_000, 5


class Kind(NamedTuple):
    """make : data of a size; sizes; unit : what is counted; units : how many there are of a size

    constant : whether the time of a unit should be
    """

    make: Callable[[int], tuple[Any, Any]]
    sizes: tuple[int, ...]
    unit: str
    units: Callable[[int], int] = int
    constant: bool = True


KINDS = {
    "rows": Kind(rows, (10_000, 100_000, 1_000_000), "row"),
    "tokens": Kind(tokens, (10_000, 100_000, 1_000_000), "token"),
    "documents": Kind(documents, (16_000, 160_000, 1_600_000), "document"),
    "letters": Kind(letters, (1_000_000, 10_000_000, 100_000_000), "letter"),
    "graphs": Kind(graphs, (1_000, 10_000, 100_000), "graph"),
    "length": Kind(length, (10_000, 100_000, 1_000_000), "token"),
    "labels": Kind(labels, (10, 100, 1_000), "step", lambda size: TOKENS * size**2, False),
    "classes": Kind(
        classes, (100, 1_000, 10_000), "product", lambda size: ROWS * VALUES * size, False
    ),
    "features": Kind(
        features, (100_000, 1_000_000, 10_000_000), "weight", lambda size: FEW * size, False
    ),
    "mentions": Kind(
        mentions, (300, 1_000, 3_000), "pair", lambda size: size * (size - 1) // 2, False
    ),
}


def measured(kind, size):
    """The seconds of a pass, the shortest of several, and the memory in megabytes."""
    application, examples = KINDS[kind].make(size)
    oracle = DataOracle(application, examples, Executor(1))
    w = 0.01 * np.random.default_rng(1).normal(size=application.dimension(examples))
    smooth = isinstance(application, Smoothed)
    ask = partial(oracle.smoothed, width=WIDTH) if smooth else oracle.augmented
    times = []
    while len(times) < FEWEST or (len(times) < MOST and sum(times) < LONG):
        used = time.process_time()
        ask(w)
        times.append(time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"weights": len(w), "MB": peak, "seconds": min(times)}


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
    parser.add_argument("--only", help="run this kind only", choices=KINDS)
    parser.add_argument("--quick", action="store_true", help="leave out the largest sizes")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        with threadpool_limits(1):
            print(json.dumps(measured(*json.loads(options.row))))
        return
    make_folder(options.out)
    found = []
    for name in [options.only] if options.only else KINDS:
        kind = KINDS[name]
        for size in kind.sizes[: -1 if options.quick else None]:
            row = in_own_process(name, size)
            each = 1e9 * row["seconds"] / kind.units(size)
            found.append({"kind": name, "size": size, **row, "ns": each, "per": kind.unit})
            print(found[-1], file=sys.stderr)
    text = text_table("Growth: CPU seconds of a pass, one thread", found) + "\n" + verdict(found)
    print(text)
    write_results(options.out, "growth", text, found, {})


def verdict(found):
    """How much the time of an example grows, for each kind for which it should not."""
    grown = []
    for name in (name for name, kind in KINDS.items() if kind.constant):
        each = [row["ns"] for row in found if row["kind"] == name]
        if each:
            ratio = max(each) / min(each)
            grown.append(f"{name} {ratio:.2f}{' (too much)' if ratio > CONSTANT else ''}")
    return f"Slowest over fastest size, at most {CONSTANT:g}: " + (", ".join(grown) or "–")


if __name__ == "__main__":
    main()
