"""Maximum spanning forests and correlation clustering: pairs per second, and the cost by size.

The documents are random: their mentions have 107 binary features, of which about ten are 1, and a
document has as many distinct rows as a document of LitBank, about one for every fourteen pairs. All
runs use one thread. The kernel is compared with a stable sort in NumPy and union-find over the
edges of positive weight, and with SciPy's minimum spanning tree; both get the weights of all pairs
at once.

Usage: python -m experiments.benchmarks.forest
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from experiments.common.measuring import best_of
from lssvm.applications.coreference.coreference import Coreference, CoreferenceOptions
from lssvm.applications.coreference.correlation_clustering import (
    CorrelationClustering,
    CorrelationClusteringOptions,
)
from lssvm.applications.coreference.mentions import NO_LIMIT, UnpackedDocument, pack, pair_ends

FEATURES, ACTIVE, PAIRS_PER_ROW = 107, 10, 14
SIZES = (100, 500, 2000)


def documents(rng, n, count, reach=NO_LIMIT):
    """``count`` random documents of n mentions each, in clusters of about four mentions."""
    found = []
    first, _ = pair_ends(n, reach)
    distinct = max(1, len(first) // PAIRS_PER_ROW)
    for number in range(count):
        indices = np.sort(rng.integers(0, FEATURES, (distinct, ACTIVE)), axis=1)
        found.append(
            UnpackedDocument(
                f"d{number}",
                "",
                1,
                1.0,
                rng.integers(0, n // 4, n).astype(str).tolist(),
                rng.integers(0, distinct, len(first)).astype(np.int32),
                np.arange(distinct + 1, dtype=np.int64) * ACTIVE,
                indices.ravel().astype(np.int32),
                np.ones(indices.size),
            )
        )
    return pack(found, reach)


def weights_of(examples, w):
    """The score w · x of every pair, in order."""
    rows = np.add.reduceat(w[examples.indices] * examples.values, examples.starts[:-1])
    owner = np.repeat(examples.tables[:-1], np.diff(examples.pairs))
    return rows[examples.rows + owner]


def sorted_forest(weights, first, second, n):
    """The spanning forest, by a stable sort of the edges of positive weight and union-find."""
    root = np.arange(n)
    positive = np.flatnonzero(weights > 0)
    edges = 0
    for place in positive[np.argsort(-weights[positive], kind="stable")]:
        a, b = root[first[place]], root[second[place]]
        if a != b:
            root[root == b] = a
            edges += 1
            if edges == n - 1:
                break
    return edges


def main():
    """Print the speed at n = 200, then the table of sizes."""
    rng = np.random.default_rng(0)
    forest, clustering = (
        Coreference(CoreferenceOptions()),
        CorrelationClustering(CorrelationClusteringOptions()),
    )
    n, count = 200, 50
    examples = documents(rng, n, count)
    pairs = len(examples.rows)
    print(f"n = {n}: million pairs per second, by the share of edges with positive weight")
    for shift in (0.0, -1.0, -2.0):
        w = rng.normal(size=FEATURES) / np.sqrt(ACTIVE) + shift / ACTIVE
        weights = weights_of(examples, w)
        share = np.mean(weights > 0)
        times = {
            "prediction": best_of(lambda w=w: forest.predict(w, examples)),
            "loss-augmented": best_of(lambda w=w: forest.augmented(w, examples)),
            "completion": best_of(lambda w=w: forest.completed(w, examples)),
            "correlation clustering": best_of(lambda w=w: clustering.augmented(w, examples), 2),
        }
        first, second = pair_ends(n, NO_LIMIT)
        one = weights[: len(first)]
        times["NumPy sort, one document"] = count * best_of(
            lambda one=one, ends=(first, second): sorted_forest(one, *ends, n)
        )
        graph = coo_array((-one[one > 0], (first[one > 0], second[one > 0])), (n, n)).tocsr()
        times["SciPy tree, one document"] = count * best_of(
            lambda graph=graph: minimum_spanning_tree(graph)
        )
        speeds = ", ".join(f"{name} {pairs / t / 1e6:.0f}" for name, t in times.items())
        print(f"  {share:4.0%}: {speeds}")
    print("one document: memory of its arrays; scratch of clustering; milliseconds")
    for n in SIZES:
        for reach in (NO_LIMIT, 100):
            one = documents(rng, n, 1, reach)
            w = rng.normal(size=FEATURES) / np.sqrt(ACTIVE) - 1.0 / ACTIVE
            passed = 1e3 * best_of(lambda w=w, one=one: forest.augmented(w, one))
            searched = 1e3 * best_of(lambda w=w, one=one: clustering.augmented(w, one), 2)
            limit = "" if reach == NO_LIMIT else f", max_distance {reach}"
            print(
                f"  {n:5d} mentions{limit}: {len(one.rows):9,d} pairs, {one.nbytes / 1e6:.2f} MB; "
                f"{16 * n * n / 1e6:.1f} MB; forest {passed:.2f} ms, clustering {searched:.1f} ms"
            )


if __name__ == "__main__":
    main()
