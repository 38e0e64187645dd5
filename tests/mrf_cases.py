"""Random fields by enumeration, straight from the definitions, and tiny random problems."""

import dataclasses
import itertools

import numpy as np

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.formats.mrf_text import HIDDEN, MISSING, Features, GraphFile

STATES = {"y": 3, "h": 2, "z": 2}


def softmax_value(scores, epsilon):
    """ε log Σ exp(scores / ε) over the last axis, the maximum for ε = 0."""
    scores = np.asarray(scores)
    top = scores.max(axis=-1)
    if epsilon == 0:
        return top
    return top + epsilon * np.log(np.exp((scores - top[..., None]) / epsilon).sum(axis=-1))


def shares(scores, epsilon):
    """The distribution that goes with it; for ε = 0 all on the first maximum."""
    scores = np.asarray(scores)
    if epsilon == 0:
        return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    grown = np.exp((scores - scores.max(axis=-1, keepdims=True)) / epsilon)
    return grown / grown.sum(axis=-1, keepdims=True)


class Graph:
    """One graph: classes, labels, features of nodes and edges, as plain lists."""

    def __init__(self, classes, labels, features, edges):
        self.classes, self.labels, self.features, self.edges = classes, labels, features, edges

    def states(self, j):
        return range(STATES[self.classes[j]])


def random_graph(rng, shape, hidden=True, most=6):
    """A tree, a loop or any graph, features and weights of which are multiples of 1/8."""
    n = int(rng.integers(1, most))
    classes = [str(rng.choice(list(STATES))) for _ in range(n)]
    labels = []
    for name in classes:
        kind = HIDDEN if name == "h" and hidden else int(rng.integers(STATES[name]))
        labels.append(MISSING if hidden and rng.random() < 0.2 else kind)
    features = [rng.integers(-4, 5, 2) / 8 for _ in range(n)]
    pairs = [(int(rng.integers(j)), j) for j in range(1, n) if shape != "any" or rng.random() < 0.8]
    if shape == "loop" and n > 2:
        pairs += [(n - 1, 0)] if (0, n - 1) not in pairs else []
    if shape == "any":
        pairs += [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.4]
    edges = {}
    for a, b in pairs:
        edges[(a, b, f"{classes[a]}{classes[b]}")] = rng.integers(-4, 5, 1) / 8
    return Graph(classes, labels, features, edges)


def like(graph, rng):
    """A graph of the same shape with other labels and features."""
    labels = [
        int(rng.integers(len(graph.states(j)))) if y >= 0 else y for j, y in enumerate(graph.labels)
    ]
    features = [rng.integers(-4, 5, 2) / 8 for _ in graph.features]
    edges = {key: rng.integers(-4, 5, 1) / 8 for key in graph.edges}
    return Graph(graph.classes, labels, features, edges)


def graph_file(graphs):
    """The graphs as a reader gives them; the first ones hold every class of the tests."""
    node_features = [row for graph in graphs for row in graph.features]
    edge_features = [row for graph in graphs for row in graph.edges.values()]

    def sparse_rows(rows, width):
        count = len(rows)
        flat = np.concatenate(rows) if rows else np.empty(0)
        return Features(
            np.arange(0, width * count + 1, width),
            np.tile(np.arange(width, dtype=np.int32), count),
            flat,
        )

    n = len(graphs)
    classes = [name for graph in graphs for name in graph.classes]
    keys = [key for graph in graphs for key in graph.edges]
    return GraphFile(
        names=[f"g{i}" for i in range(n)],
        costs=np.full(n, np.nan),
        lines=np.arange(1, n + 1),
        node_offsets=np.cumsum([0, *(len(graph.classes) for graph in graphs)]),
        edge_offsets=np.cumsum([0, *(len(graph.edges) for graph in graphs)]),
        node_names=[f"n{j}" for graph in graphs for j in range(len(graph.classes))],
        node_classes=classes,
        states=np.array([STATES[name] for name in classes], dtype=np.int32),
        labels=np.array([label for graph in graphs for label in graph.labels], dtype=np.int32),
        node_features=sparse_rows(node_features, 2),
        edge_classes=[key[2] for key in keys],
        ends=np.array([key[:2] for key in keys], dtype=np.int32).reshape(-1, 2),
        edge_features=sparse_rows(edge_features, 1),
        node_lines=None,
        edge_lines=None,
    )


class Problem:
    """A few random graphs with an application for them."""

    def __init__(
        self, rng, model="lssvm", epsilons=(None, None), shape="tree", n=3, copies=0, **options
    ):
        self.graphs = [random_graph(rng, shape, hidden=model != "ssvm") for _ in range(n)]
        self.graphs += [like(self.graphs[k % n], rng) for k in range(copies)]
        n += copies
        self.app = MarkovRandomField(
            MrfOptions(**options), Formulation(model, "margin", 1, *epsilons)
        )
        self.examples = packed([(Source("memory"), graph_file(self.graphs))])
        self.examples.costs[:] = rng.integers(1, 9, n) / 8
        self.d = self.app.dimension(self.examples)
        self.epsilon_y, self.epsilon_h = self.app.epsilon_y, self.app.epsilon_h
        self.enumerated, self.grouped = {}, {}

    def weights(self, rng, zero=False):
        return rng.integers(-8, 9, self.d) / 8 * (not zero)

    def phi(self, i, states):
        """Φ(x, y, h) by the names of the classes in the order in which they first occur."""
        return self.all_features(i)[self.row(i, states)]

    def row(self, i, states):
        """The place of states among all of graph i, the last node's counted first."""
        sizes = [len(self.graphs[i].states(j)) for j in range(len(states))]
        return np.ravel_multi_index([int(state) for state in states], sizes)

    def all_states(self, i):
        """The states of all nodes of graph i, a row for each combination."""
        graph = self.graphs[i]
        sizes = [len(graph.states(j)) for j in range(len(graph.classes))]
        return np.indices(sizes).reshape(len(sizes), -1).T

    def all_features(self, i):
        """Φ(x, y, h) for every row of ``all_states``."""
        if i not in self.enumerated:
            self.enumerated[i] = self._features(i)
        return self.enumerated[i]

    def _features(self, i):
        nodes = dict.fromkeys(name for graph in self.graphs for name in graph.classes)
        edges = dict.fromkeys(key[2] for graph in self.graphs for key in graph.edges)
        graph, states = self.graphs[i], self.all_states(i)
        rows = np.arange(len(states))
        parts = {name: np.zeros((len(rows), 2, STATES[name])) for name in nodes}
        pairs = {name: np.zeros((len(rows), 1, STATES[name[0]], STATES[name[1]])) for name in edges}
        for j, (name, row) in enumerate(zip(graph.classes, graph.features, strict=True)):
            parts[name][rows, :, states[:, j]] += row
        for (a, b, name), row in graph.edges.items():
            pairs[name][rows, :, states[:, a], states[:, b]] += row
        arrays = [*parts.values(), *pairs.values()]
        return np.hstack([array.reshape(len(rows), -1) for array in arrays])

    def losses(self, i, states):
        """How many labels of graph i each row of states does not have."""
        labels = np.array(self.graphs[i].labels)
        return np.sum((states != labels) & (labels >= 0), axis=1, dtype=float)

    def outer(self, i, labels=False):
        """Places of the nodes that are outputs: those with a label, or all but hidden ones."""
        given = self.graphs[i].labels
        return [j for j, y in enumerate(given) if (y >= 0 if labels else y != HIDDEN)]

    def groups(self, i, outer, truth):
        """All states of a graph, or those of the truth, by those of the nodes ``outer``.

        Features, losses, and which node has which state: rows of arrays, those of one group beside
        each other; and the number of groups.
        """
        key = i, outer, truth
        if key not in self.grouped:
            self.grouped[key] = self._groups(*key)
        return self.grouped[key]

    def _groups(self, i, outer, truth):
        states = self.all_states(i)
        losses = self.losses(i, states)
        rows = np.flatnonzero(losses == 0) if truth else np.arange(len(states))
        members = states[rows][:, list(outer)]
        count = len({tuple(row) for row in members.tolist()})
        if outer:
            rows = rows[np.lexsort(members.T[::-1])]
        nodes = np.eye(3)[states[rows]]
        return self.all_features(i)[rows], losses[rows], nodes, count

    def annealed(self, i, w, outer, epsilon_y, epsilon_h, charged=False, truth=False):
        """Value, E[Φ], E[Δ], marginals by state and node: all states enumerated, h within y."""
        features, losses, nodes, count = self.groups(i, tuple(outer), truth)
        scores = (features @ w + losses * charged).reshape(count, -1)
        values = softmax_value(scores, epsilon_h)
        p = (shares(values, epsilon_y)[:, None] * shares(scores, epsilon_h)).ravel()
        marginals = np.tensordot(p, nodes, 1)
        return softmax_value(values, epsilon_y), p @ features, p @ losses, marginals

    def convex(self, w, charged=None):
        """Σ c_i U⁺_i and its gradient."""
        charged = self.app.charged if charged is None else charged
        value, gradient = 0.0, np.zeros(self.d)
        for i, cost in enumerate(self.examples.costs):
            found = self.annealed(
                i, w, self.outer(i, labels=True), self.epsilon_y, self.epsilon_h, charged
            )
            value, gradient = value + cost * found[0], gradient + cost * found[1]
        return value, gradient

    def concave(self, w):
        """Σ c_i U⁻_i and its gradient."""
        value, gradient = 0.0, np.zeros(self.d)
        for i, cost in enumerate(self.examples.costs):
            found = self.annealed(i, w, [], 0.0, self.epsilon_h, truth=True)
            value, gradient = value + cost * found[0], gradient + cost * found[1]
        return value, gradient


def learnable(rng):
    """Trees of many shapes whose labels are the best ones for some weights; some are missing."""
    problem = Problem(rng, n=40)
    examples = problem.examples
    best = problem.app.predict(4.0 * rng.normal(size=problem.d), examples).states
    known = examples.labels >= 0
    examples.labels[known] = best[known]
    assert len({examples.shape(i, examples.labels * 0) for i in range(40)}) > 10
    assert np.any(examples.labels == MISSING)
    return examples


def write_npz(path, graphs):
    """The graphs of a file as an archive, an array of text for each sequence of words."""
    arrays = {}
    for field in dataclasses.fields(graphs):
        values = getattr(graphs, field.name)
        if isinstance(values, Features):
            part = field.name.removesuffix("_features")
            for name, array in vars(values).items():
                arrays[f"{part}_{name}"] = array
        elif not field.name.endswith("lines") and field.name not in ("pictures", "state_names"):
            text = not isinstance(values, np.ndarray)
            arrays[field.name] = np.array(values, dtype="U" if text else None)
    np.savez_compressed(path, **arrays)
