"""One pass of the ranking kernel: documents per second, and its share of the memory bandwidth.

The data are random queries of the shape of OHSUMED (106 queries, 152 documents each, 45 features,
5.8 MB, which fit in most last-level caches), or OHSUMED itself, and the same queries eighty times,
which fit in no cache. The memory bandwidth is measured by NumPy's sum of the same array, which
reads it once.

Usage: python -m experiments.benchmarks.ranking_pass [S1.txt.gz …]
"""

import sys
from functools import partial

import numpy as np

from experiments.common.measuring import best_of
from lssvm.applications.base import Source
from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.ranking.queries import Queries, read_queries
from lssvm.executor import Executor
from lssvm.oracle import DataOracle

COPIES = 80
QUERIES, DOCUMENTS, FEATURES = 106, 152, 45


def simulated():
    """Random queries in memory; a third of the documents is relevant."""
    rng = np.random.default_rng(0)
    total = QUERIES * DOCUMENTS
    labels = (rng.random(total) < 1 / 3).astype(float)
    return Queries(
        offsets=np.arange(0, total + 1, DOCUMENTS),
        labels=labels,
        relevant=labels.astype(np.uint8),
        dense=rng.random(total * FEATURES),
        indices=np.empty(0, dtype=np.int32),
        values=np.empty(0),
        starts=np.empty(0, dtype=np.int64),
        dimension=FEATURES,
        costs=np.ones(QUERIES),
        positions=np.arange(total),
        documents=np.arange(total).astype(str).astype(object),
        named=np.ones(total, dtype=bool),
        identifiers=np.arange(QUERIES).astype(str).astype(object),
        lines=np.arange(1, total + 1, DOCUMENTS),
        files=np.zeros(QUERIES, dtype=np.int32),
        paths=("simulated",),
        labelled=True,
    )


def main():
    """Print one line for each size, k and number of threads."""
    paths = sys.argv[1:]
    single = read_queries([Source(path) for path in paths], 1.0) if paths else simulated()
    w = np.random.default_rng(1).normal(size=single.dimension)
    for copies in (1, COPIES):
        examples = single.take(np.tile(np.arange(len(single)), copies))
        documents, size = int(examples.offsets[-1]), examples.dense.nbytes
        memory = size / best_of(examples.dense.sum)
        print(f"{documents:,d} documents, {size / 1e6:.1f} MB; NumPy reads {memory / 1e9:.1f} GB/s")
        for k in (1, 10, 50):
            application = PrecisionAtK(RankingOptions(k=k))
            for threads in (1, 2):
                with Executor(threads) as executor:
                    oracle = DataOracle(application, examples, executor)
                    for ask in (oracle.augmented, oracle.completed):
                        seconds = best_of(partial(ask, w))
                        print(
                            f"  k = {k:<3d} {threads} thread{'s' * (threads > 1)} {ask.__name__}: "
                            f"{1e3 * seconds:7.3f} ms, {documents / seconds / 1e6:5.1f} million "
                            f"documents/s, {size / seconds / 1e9:5.1f} GB/s, "
                            f"{100 * size / seconds / memory:.0f} % of the bandwidth of one thread"
                        )


if __name__ == "__main__":
    main()
