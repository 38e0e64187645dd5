"""An upper bound of U⁺ that can be computed: a convex combination of spanning forests.

U⁺ is a convex function of the tables θ, at any temperatures. If θ = Σ_T θ_T / K for K forests
T, then U⁺(θ) ≤ Σ_T U⁺(θ_T) / K: the tree-reweighted bound of Wainwright, Jaakkola & Willsky (IEEE
Transactions on Information Theory 51, 2005) with fixed parameters. Every forest has the tables of
all nodes; the table of an edge is in the forests that contain the edge, divided by their share. The
bound is itself convex in w, so that training minimises it exactly instead of U⁺, which is smaller
(Finley & Joachims, ICML 2008, on such relaxations).
"""

from dataclasses import replace

import numpy as np

from lssvm.applications.mrf.graphs import Graphs
from lssvm.offsets import cumulated, gathered


def spread(examples: Graphs, whole: np.ndarray) -> tuple[Graphs, np.ndarray]:
    """The forests of graphs as separate graphs, and their number for each graph, (n,).

    The cost of each graph is divided among its forests.

    whole : (n,) bool, graphs that are left as they are
    """
    parts = [
        np.ones((1, examples.edge_offsets[i + 1] - examples.edge_offsets[i]), dtype=bool)
        if whole[i]
        else forests(len(examples.states(i)), _own_ends(examples, i))
        for i in range(len(examples))
    ]
    counts = np.array([len(part) for part in parts])
    rows = np.repeat(np.arange(len(examples)), counts)
    copies = examples.take(rows)
    factors = [np.where(row, len(part) / part.sum(axis=0), 0.0) for part in parts for row in part]
    scales = np.concatenate(
        [
            np.concatenate([np.ones(len(copies.states(k))), factor])
            for k, factor in enumerate(factors)
        ]
    )
    thinned = _with_items(copies, scales, np.concatenate([*factors, np.empty(0)]) > 0.0)
    return replace(thinned, costs=copies.costs / np.repeat(counts, counts)), counts


def forests(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Spanning forests that together contain every edge, (K, edges) bool.

    ends : (edges, 2). Each forest takes the edges that are in the fewest so far, the lowest first.
    """
    counts = np.zeros(len(ends), dtype=np.int64)
    found: list[np.ndarray] = []
    while not found or np.any(counts == 0):
        parents = list(range(nodes))
        chosen = np.zeros(len(ends), dtype=bool)
        for e in np.argsort(counts, kind="stable").tolist():
            first, second = (_root(parents, int(node)) for node in ends[e])
            if first != second:
                parents[second] = first
                chosen[e] = True
        counts += chosen
        found.append(chosen)
    return np.array(found)


def _root(parents: list[int], node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


def _own_ends(examples: Graphs, row: int) -> np.ndarray:
    return examples.ends[examples.edge_offsets[row] : examples.edge_offsets[row + 1]]


def _with_items(examples: Graphs, scales: np.ndarray, kept: np.ndarray) -> Graphs:
    """The graphs with the features of their items scaled, and without the edges not kept.

    scales : (items,), 0 for edges that go; kept : (edges,) bool
    """
    items = np.flatnonzero(scales > 0.0)
    places, starts = gathered(examples.starts, items)
    values = examples.values * np.repeat(scales, np.diff(examples.starts))
    return replace(
        examples,
        item_offsets=cumulated(scales > 0.0)[examples.item_offsets],
        edge_offsets=cumulated(kept)[examples.edge_offsets],
        ends=examples.ends[kept],
        starts=starts,
        indices=examples.indices[places],
        values=values[places],
        bases=examples.bases[items],
        tables=examples.tables[items],
        cache={},
    )
