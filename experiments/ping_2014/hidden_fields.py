"""Random fields with hidden nodes, drawn and sampled for the experiments of Ping et al.

Ping, Liu & Ihler (ICML 2014, section 7.1) simulate discrete variables x, y, h from

    p(x, y, h) ∝ exp{ Σ w_xy[x_i, y_i] + Σ w_xh[x_i, h_i] + Σ w_yh[y_i, h_j] },

on a hidden chain and on a grid. The edges join an observed node with an output, an observed node
with a hidden node, and an output with a hidden node. σ_h is the scale of the observations of hidden
nodes: the smaller it is, the less x says about h. The following is assumed here:

- Outputs and hidden nodes alternate, on a chain y, h, y, h, … or like the squares of a chessboard,
  and each of them has an observed node of its own. The numbers of nodes in the paper are assumed to
  include x: its grid of 6 × 6 × 2 has 36 nodes with their 36 x, its chain of 40 has 20 nodes with
  their 20 x.
- All variables have four states. x is drawn together with y and h from the joint density.
- Every edge has its own table of weights, drawn independently from normal distributions: with
  variance 2 for x–y and y–h, and with standard deviation σ_h for x–h.

We do not know which of these assumptions hold for the paper's simulation. The variance, the same
for both kinds of edges and for chain and grid, was chosen on trials other than the reported ones,
so that fields and models came near the paper's accuracy on both. ``draws`` varies the assumptions:
nodes counted without x, one table for all edges of a kind, other scales and numbers of states, and
x that is drawn first.

Sampling is exact. Nodes are summed out from the last to the first, row by row; a partial sum
depends on the states of the last ``columns`` nodes, and has one number for each combination of
them.
"""

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from lssvm.applications.base import Source
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.mrf.graphs import Graphs, packed
from lssvm.formats.mrf_text import HIDDEN, Features, GraphFile


class Draw(NamedTuple):
    """The assumptions from which a field is drawn.

    rows, columns : the size of the grid of y and h; a chain has one column
    scale_xy, scale_yh, sigma : standard deviations of the weights of x–y, y–h and x–h
    tied : whether all edges of a kind share their weights
    joint : whether x is drawn from the joint density; otherwise x is uniform, and y and h are drawn
        given x
    states : the number of states of each variable
    """

    rows: int = 20
    columns: int = 1
    scale_xy: float = math.sqrt(2.0)
    scale_yh: float = math.sqrt(2.0)
    sigma: float = 0.1
    tied: bool = False
    joint: bool = True
    states: int = 4


@dataclass(frozen=True)
class Field:
    """A field of V nodes, with E edges between them, and K states.

    hidden : (V,) bool; ends : (E, 2) int32, the nodes y and h of each edge
    symbols : (V, K, K) weights of x and state; pairs : (E, K, K) weights of y and h
    """

    draw: Draw
    hidden: np.ndarray
    ends: np.ndarray
    symbols: np.ndarray
    pairs: np.ndarray

    @property
    def names(self) -> list[str]:
        """A name for each node."""
        return [f"{'yh'[int(hidden)]}{v}" for v, hidden in enumerate(self.hidden)]

    @property
    def classes(self) -> GraphClasses:
        """The classes of nodes and edges: each has its own class, or there are three kinds."""
        nodes: tuple[str, ...] = ("y", "h")
        pairs: tuple[str, ...] = ("yh",)
        if not self.draw.tied:
            nodes = tuple(self.names)
            pairs = tuple(f"y{y} h{h}" for y, h in self.ends.tolist())
        k, n, m = self.draw.states, len(nodes), len(pairs)
        return GraphClasses(nodes, (k,) * n, (k,) * n, pairs, ((k, k),) * m, (1,) * m)

    @property
    def weights(self) -> np.ndarray:
        """The weights in the order of the application, (d,)."""
        if self.draw.tied:
            return np.concatenate([self.symbols[:2].ravel(), self.pairs[0].ravel()])
        return np.concatenate([self.symbols.ravel(), self.pairs.ravel()])


def lattice(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Which nodes are hidden, (V,), and the edges as pairs of y and h, (E, 2), row by row."""
    places = list(itertools.product(range(rows), range(columns)))
    hidden = np.array([(i + j) % 2 == 1 for i, j in places])
    ends = []
    for v, (i, j) in enumerate(places):
        before = ([v - columns] if i else []) + ([v - 1] if j else [])
        ends += [(v, u) if hidden[u] else (u, v) for u in before]
    return hidden, np.array(ends, dtype=np.int32).reshape(-1, 2)


def drawn(rng: np.random.Generator, draw: Draw) -> Field:
    """A field with random weights; another scale multiplies the same random numbers."""
    hidden, ends = lattice(draw.rows, draw.columns)
    shape = (draw.states, draw.states)
    symbols, pairs = rng.normal(size=(len(hidden), *shape)), rng.normal(size=(len(ends), *shape))
    if draw.tied:
        symbols, pairs = symbols[hidden.astype(int)], np.repeat(pairs[:1], len(ends), axis=0)
    scales = np.where(hidden, draw.sigma, draw.scale_xy)[:, None, None]
    return Field(draw, hidden, ends, symbols * scales, pairs * draw.scale_yh)


def sampled(rng: np.random.Generator, field: Field, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples: the symbols x and the states of the nodes, (count, V) each."""
    nodes, k = np.arange(len(field.hidden)), field.draw.states
    if field.draw.joint:
        states = _states(rng, field, logsumexp(field.symbols, axis=1), count)
        logs = field.symbols[nodes, :, states]  # (count, V, K), log-weights of the symbols
        return _chosen(rng, logs), states
    x = rng.integers(0, k, (count, len(nodes)))
    rows = [_states(rng, field, field.symbols[nodes, own], 1) for own in x]
    return x, np.concatenate(rows)


def graphs(field: Field, x: np.ndarray, states: np.ndarray) -> Graphs:
    """The samples as graphs: x are features of the nodes, states of hidden nodes are left out."""
    count, size = x.shape
    edges, classes = len(field.ends), field.classes
    kinds = [name[0] for name in field.names] if field.draw.tied else field.names
    file = GraphFile(
        names=[str(i) for i in range(count)],
        costs=np.ones(count),
        lines=np.arange(count),
        node_offsets=size * np.arange(count + 1),
        edge_offsets=edges * np.arange(count + 1),
        node_names=field.names * count,
        node_classes=kinds * count,
        states=np.full(count * size, field.draw.states, dtype=np.int32),
        labels=np.where(field.hidden, HIDDEN, states).astype(np.int32).ravel(),
        node_features=_one_each(x.ravel()),
        edge_classes=list(classes.edge_names) * (edges // len(classes.edge_names)) * count,
        ends=np.tile(field.ends, (count, 1)),
        edge_features=_one_each(np.zeros(count * edges)),
        node_lines=None,
        edge_lines=None,
    )
    return packed([(Source("simulated"), file)], classes)


def _one_each(indices: np.ndarray) -> Features:
    """Rows with one feature each, of value 1."""
    count = len(indices)
    return Features(np.arange(count + 1), indices.astype(np.int32), np.ones(count))


def _states(rng: np.random.Generator, field: Field, scores: np.ndarray, count: int) -> np.ndarray:
    """Draw states, (count, V), given the scores of single nodes, (V, K)."""
    k, columns, size = field.draw.states, field.draw.columns, len(field.hidden)
    past = np.arange(k**columns)  # the last states as digits, the latest is the last digit
    follow = (past[:, None] * k + np.arange(k)) % len(past)
    ahead = np.zeros(len(past))
    tables: list[np.ndarray] = []
    for v in range(size - 1, -1, -1):
        table = scores[v] + ahead[follow]
        for u, weights in _before(field, v):
            table = table + weights[past // k ** (v - u - 1) % k]
        ahead = logsumexp(table, axis=1)
        tables.append(table)
    codes = np.zeros(count, dtype=np.int64)
    states = np.empty((count, size), dtype=np.int64)
    for v, table in enumerate(reversed(tables)):
        states[:, v] = _chosen(rng, table[codes])
        codes = follow[codes, states[:, v]]
    return states


def _before(field: Field, v: int) -> list[tuple[int, np.ndarray]]:
    """The earlier neighbours of a node, each with the weights of its state and the node's state."""
    found = []
    for e in np.flatnonzero(np.max(field.ends, axis=1, initial=-1) == v):
        y, h = field.ends[e].tolist()
        found.append((y, field.pairs[e]) if h == v else (h, field.pairs[e].T))
    return found


def _chosen(rng: np.random.Generator, logs: np.ndarray) -> np.ndarray:
    """Draw an index from each row of log-weights, as the maximum after adding Gumbel noise."""
    return np.argmax(logs + rng.gumbel(size=logs.shape), axis=-1)
