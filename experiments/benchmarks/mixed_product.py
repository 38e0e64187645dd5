"""Mixed-product belief propagation compared with exact marginal MAP, on small grids.

Nodes have two states; outputs and hidden nodes alternate like the squares of a chessboard. The
features of nodes and the signs of edges are random, the weights normal numbers times a scale. For
each size and scale the script prints how often the outputs that are found attain the maximum of
log Σ_h exp(score), and their mean distance from it over all graphs; the same two numbers for the
outputs of the best joint states, which are computed exactly; and how often messages did not
converge.

Usage: python -m experiments.benchmarks.mixed_product
"""

import itertools

import numpy as np

from experiments.benchmarks.mrf_pass import one_each
from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.formats.mrf_text import HIDDEN, Features, GraphFile

COUNT = 300


def grids(side, rng):
    """``COUNT`` grids; each edge has one feature, which is 1 or −1 at random."""
    places = list(itertools.product(range(side), repeat=2))
    hidden = np.array([(a + b) % 2 for a, b in places], dtype=bool)
    number = {place: k for k, place in enumerate(places)}
    pairs = [(p, (p[0] + a, p[1] + b)) for p in places for a, b in ((0, 1), (1, 0))]
    ends = np.array([(number[p], number[q]) for p, q in pairs if q in number], dtype=np.int32)
    nodes, edges = COUNT * len(places), COUNT * len(ends)
    kinds = np.where(hidden, "h", "y")
    return packed(
        [
            (
                Source("memory"),
                GraphFile(
                    names=[str(i) for i in range(COUNT)],
                    costs=np.full(COUNT, np.nan),
                    lines=np.arange(COUNT),
                    node_offsets=len(places) * np.arange(COUNT + 1),
                    edge_offsets=len(ends) * np.arange(COUNT + 1),
                    node_names=["n"] * nodes,
                    node_classes=np.tile(kinds, COUNT).tolist(),
                    states=np.full(nodes, 2, dtype=np.int32),
                    labels=np.tile(np.where(hidden, HIDDEN, 0), COUNT).astype(np.int32),
                    node_features=one_each(np.zeros(nodes, dtype=np.int64), rng),
                    edge_classes=["".join(kinds[pair]) for pair in ends] * COUNT,
                    ends=np.tile(ends, (COUNT, 1)),
                    edge_features=Features(
                        np.arange(edges + 1),
                        np.zeros(edges, dtype=np.int32),
                        rng.choice([-1.0, 1.0], edges),
                    ),
                    node_lines=None,
                    edge_lines=None,
                ),
            )
        ]
    )


def values(w, examples, states):
    """log Σ_h exp(score) at these outputs, (n,)."""
    labels = np.where(examples.labels == HIDDEN, HIDDEN, states).astype(np.int32)
    known = type(examples)(**{**vars(examples), "labels": labels, "cache": {}})
    app = MarkovRandomField(MrfOptions(inference="exact"), Formulation("mssvm"))
    each = [app.completed(w, known.slice(i, i + 1)).value(w) for i in range(len(known))]
    return np.array(each) / examples.costs


def main():
    """Print one line for each size and scale."""
    rng = np.random.default_rng(0)
    for side, scale in itertools.product((3, 4, 5), (0.5, 1.0, 2.0)):
        examples = grids(side, rng)
        w = scale * rng.normal(size=examples.classes.dimension)
        best, found, joint = (
            MarkovRandomField(MrfOptions(inference=kind), Formulation(model)).predict(w, examples)
            for kind, model in (("exact", "mssvm"), ("bp", "mssvm"), ("exact", "lssvm"))
        )
        mixed = best.values - values(w, examples, found.states)
        maxima = best.values - values(w, examples, joint.states)
        print(
            f"{side} x {side}, scale {scale}: {100 * np.mean(mixed < 1e-9):.1f} % equal, mean loss "
            f"{mixed.mean():.4f}; best joint states {100 * np.mean(maxima < 1e-9):.1f} %, "
            f"{maxima.mean():.4f}; {100 * np.mean(~found.converged):.1f} % did not converge"
        )


if __name__ == "__main__":
    main()
