"""Random fields with hidden nodes, drawn and sampled for the experiments of Ping et al.

Ping, Liu & Ihler (ICML 2014, section 7.1) simulate discrete variables x, y, h from

    p(x, y, h) ∝ exp{ Σ w_x[x_i] + Σ w_y[y_j] + Σ w_h[h_k]
                      + Σ w_xy[x_i, y_j] + Σ w_xh[x_i, h_k] + Σ w_yh[y_j, h_k] },

on a hidden chain and on a grid. All variables have four states. The weights of single nodes are
normal with standard deviation 0.1, those of pairs with standard deviation 2; σ_h is the standard
deviation of the weights of single hidden nodes, which Table 3 of the paper varies. ``Draw`` has
these numbers. Two things that the text does not settle are read so:

- Outputs and hidden nodes alternate, on a chain y, h, y, h, … or like the squares of a chessboard,
  and each of them has an observed node of its own. The numbers of nodes include x: the grid of
  6 × 6 × 2 has 36 nodes with their 36 x, the chain of 40 nodes has 20 with their 20 x.
- Every node and every edge has weights of its own.

x is drawn together with y and h, as the paper says. The models have the same features as the
density: the states of y and of h alone, and both pairs. ``draws`` reports other readings.

Sampling is exact. Nodes are summed out from the last to the first, row by row; a partial sum
depends on the states of the last ``columns`` nodes, and has one number for each combination of
them.
"""

import itertools
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
    scale_xy, scale_yh, scale_xh : standard deviations of the weights of pairs
    scale_x, scale_y, sigma : standard deviations of the weights of single nodes x, y and h
    tied : whether all nodes and edges of a kind share their weights
    joint : whether x is drawn from the joint density; otherwise x is drawn by its own weights
        alone, and y and h are drawn given x
    states : the number of states of each variable
    """

    rows: int = 20
    columns: int = 1
    scale_xy: float = 2.0
    scale_yh: float = 2.0
    scale_xh: float = 2.0
    scale_x: float = 0.1
    scale_y: float = 0.1
    sigma: float = 0.1
    tied: bool = False
    joint: bool = True
    states: int = 4


@dataclass(frozen=True)
class Field:
    """A field of V nodes, with E edges between them, and K states.

    hidden : (V,) bool; ends : (E, 2) int32, the nodes y and h of each edge
    observed : (V, K) weights of x alone; single : (V, K) weights of the state of y or h alone
    symbols : (V, K, K) weights of x and state; pairs : (E, K, K) weights of y and h
    """

    draw: Draw
    hidden: np.ndarray
    ends: np.ndarray
    observed: np.ndarray
    single: np.ndarray
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
        return GraphClasses(nodes, (k,) * n, (k + 1,) * n, pairs, ((k, k),) * m, (1,) * m)

    @property
    def weights(self) -> np.ndarray:
        """The weights in the order of the application, (d,).

        A node has a feature for each state of its x, and one that is always 1. The weights of x
        alone are the same for all y and h, and are left out.
        """
        nodes = np.concatenate([self.symbols, self.single[:, None]], axis=1)
        if self.draw.tied:
            return np.concatenate([nodes[:2].ravel(), self.pairs[0].ravel()])
        return np.concatenate([nodes.ravel(), self.pairs.ravel()])


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
    nodes, edges, k = len(hidden), len(ends), draw.states
    symbols, pairs = rng.normal(size=(nodes, k, k)), rng.normal(size=(edges, k, k))
    observed, single = rng.normal(size=(2, nodes, k))
    if draw.tied:
        first = hidden.astype(int)
        symbols, observed, single = symbols[first], observed[first], single[first]
        pairs = np.repeat(pairs[:1], edges, axis=0)
    return Field(
        draw,
        hidden,
        ends,
        observed * draw.scale_x,
        single * np.where(hidden, draw.sigma, draw.scale_y)[:, None],
        symbols * np.where(hidden, draw.scale_xh, draw.scale_xy)[:, None, None],
        pairs * draw.scale_yh,
    )


def sampled(rng: np.random.Generator, field: Field, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples: the symbols x and the states of the nodes, (count, V) each."""
    nodes = np.arange(len(field.hidden))
    if field.draw.joint:
        given = field.observed[:, :, None] + field.symbols  # (V, K, K), log-weights of x and state
        states = _states(rng, field, field.single + logsumexp(given, axis=1), count)
        return _chosen(rng, given[nodes, :, states]), states
    x = _chosen(rng, np.broadcast_to(field.observed, (count, *field.observed.shape)))
    rows = [_states(rng, field, field.single + field.symbols[nodes, own], 1) for own in x]
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
        node_features=_symbols(x.ravel(), field.draw.states),
        edge_classes=list(classes.edge_names) * (edges // len(classes.edge_names)) * count,
        ends=np.tile(field.ends, (count, 1)),
        edge_features=Features(
            np.arange(count * edges + 1),
            np.zeros(count * edges, dtype=np.int32),
            np.ones(count * edges),
        ),
        node_lines=None,
        edge_lines=None,
    )
    return packed([(Source("simulated"), file)], classes)


def _symbols(x: np.ndarray, states: int) -> Features:
    """Rows with two features of value 1 each: the symbol, and one that all nodes have."""
    count = len(x)
    indices = np.column_stack([x, np.full(count, states)]).astype(np.int32)
    return Features(2 * np.arange(count + 1), indices.ravel(), np.ones(2 * count))


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
