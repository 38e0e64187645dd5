"""Graphs that are given in memory."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.given import MEMORY, Given, costs_of, rows_of
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.mrf.graphs import Graphs, packed
from lssvm.errors import LssvmError, counted
from lssvm.formats.mrf_npz import of_arrays
from lssvm.formats.mrf_text import MISSING
from lssvm.offsets import cumulated

NODE, EDGE = "node", "edge"  # the classes of nodes and edges where none are given
_PARTS = {"features", "edges", "edge_features", "states", "classes", "edge_classes"}


class _Graph(NamedTuple):
    """One graph: rows of features, ends of edges, names of classes, states (0: not given)."""

    nodes: Given
    ends: np.ndarray
    edges: Given
    states: np.ndarray
    node_classes: list[str]
    edge_classes: list[str]


class FromGraphs:
    """Examples from arrays, packed as the graphs of a file are."""

    classes: GraphClasses | None

    @abstractmethod
    def _adopted(self, examples: Graphs) -> Graphs:
        """The examples, the first of which fix the classes."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> Graphs:
        """The graphs that are given in memory, packed as those of files are.

        X : n graphs. A graph is a tuple (features, edges) or (features, edges, edge_features) with
            arrays of shapes (N, m), (E, 2) and (E, k); or an image, an array (height, width, m)
            whose pixels are joined to those beside and below; or a dictionary with the arrays
            features, edges and, if need be, edge_features, states (the number of states of each
            node), classes and edge_classes (names, which tie weights together). Edges without
            features have the constant one
        y : n arrays (N,), or (height, width), of states from 0; -1: not known, -2: hidden. None:
            nothing is known
        costs : (n,) the costs c_i of the graphs, 1 by default

        Where numbers of states are not given, they are one more than the highest one of training.
        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "mrf"}).create_application()
        >>> graph = [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [[0, 1], [1, 2]]
        >>> examples = application.examples_from([graph], [[0, 1, 0]])
        >>> examples.labels, examples.ends.tolist()
        (array([0, 1, 0], dtype=int32), [[0, 1], [1, 2]])
        >>> application.classes.states, application.classes.node_widths
        ((2,), (2,))
        """
        if not len(X):
            raise LssvmError("X: no graphs; expected at least one")
        graphs = [_graph(number, given) for number, given in enumerate(X, 1)]
        labels = _labels(graphs, y)
        states = _states(graphs, labels, self.classes)
        try:
            file = of_arrays(_arrays(graphs, labels, states, costs_of(costs, len(graphs))))
        except ValueError as error:
            raise LssvmError(f"X: {error}") from None
        return self._adopted(packed([(MEMORY, file)], self.classes))


def _graph(number: int, given: Any) -> _Graph:
    """One graph that is given in any of the forms. Raises LssvmError."""
    if isinstance(given, np.ndarray) and given.ndim == 3:
        given = (given.reshape(-1, given.shape[2]), grid(*given.shape[:2]))
    if isinstance(given, Mapping):
        unknown = sorted(given.keys() - _PARTS)
        if unknown or not {"features", "edges"} <= given.keys():
            what = f"{unknown[0]!r} is not known" if unknown else "features or edges are missing"
            raise LssvmError(f"X: graph {number}: {what}; expected {', '.join(sorted(_PARTS))}")
        parts = dict(given)
    elif isinstance(given, tuple | list) and len(given) in (2, 3):
        parts = dict(zip(("features", "edges", "edge_features"), given, strict=False))
    else:
        raise LssvmError(f"X: graph {number} is {given!r:.40}; expected (features, edges)")
    nodes = rows_of(parts["features"])
    ends = np.asarray(parts["edges"])
    ends = ends.reshape(0, 2) if not ends.size else ends
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iuf":
        raise LssvmError(
            f"X: graph {number}: edges have the shape {ends.shape}; expected pairs of nodes"
        )
    count, edges = (
        len(nodes.offsets) - 1,
        rows_of(parts.get("edge_features", np.ones((len(ends), 1)))),
    )
    if len(edges.offsets) - 1 != len(ends):
        raise LssvmError(
            f"X: graph {number}: {counted(len(edges.offsets) - 1, 'row')} of edge_features for "
            f"{counted(len(ends), 'edge')}; expected one for each"
        )
    return _Graph(
        nodes,
        ends.astype(np.int64),
        edges,
        np.broadcast_to(np.asarray(parts.get("states", 0)), (count,)),
        [str(name) for name in parts.get("classes", [NODE] * count)],
        [str(name) for name in parts.get("edge_classes", [EDGE] * len(ends))],
    )


def grid(height: int, width: int) -> np.ndarray:
    """The edges of the pixels of an image: to the one beside, then to the one below, (E, 2).

    >>> grid(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    number = np.arange(height * width).reshape(height, width)
    beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    below = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([beside, below])


def _labels(graphs: Sequence[_Graph], y: Any) -> list[np.ndarray]:
    """The labels of the nodes of each graph. Raises LssvmError for another number of them."""
    counts = [len(graph.states) for graph in graphs]
    if y is None:
        return [np.full(count, MISSING) for count in counts]
    if len(y) != len(graphs):
        raise LssvmError(
            f"y has {counted(len(y), 'graph')}, X has {len(graphs):,d}; expected as many"
        )
    found = [np.asarray(own).reshape(-1) for own in y]
    for number, (own, count) in enumerate(zip(found, counts, strict=True), 1):
        if len(own) != count or own.dtype.kind not in "iu":
            raise LssvmError(
                f"y: graph {number} has {counted(len(own), 'label')} of type {own.dtype} for "
                f"{counted(count, 'node')}; expected a whole number for each"
            )
    return found


def _states(
    graphs: Sequence[_Graph], labels: Sequence[np.ndarray], classes: GraphClasses | None
) -> list[np.ndarray]:
    """The number of states of each node of each graph."""
    known = {} if classes is None else dict(zip(classes.node_names, classes.states, strict=True))
    highest = max((int(own.max(initial=0)) for own in labels), default=0)
    found = []
    for graph in graphs:
        own = [known.get(name, highest + 1) for name in graph.node_classes]
        found.append(np.where(graph.states > 0, graph.states, own))
    return found


def _arrays(
    graphs: Sequence[_Graph],
    labels: Sequence[np.ndarray],
    states: Sequence[np.ndarray],
    costs: np.ndarray,
) -> dict[str, np.ndarray]:
    """The arrays of an archive, as :mod:`lssvm.formats.mrf_npz` has them."""
    found = {
        "names": np.array([str(number) for number in range(1, len(graphs) + 1)]),
        "costs": costs,
        "node_offsets": cumulated([len(own) for own in labels]),
        "edge_offsets": cumulated([len(graph.ends) for graph in graphs]),
        "node_classes": np.array([name for graph in graphs for name in graph.node_classes]),
        "states": np.concatenate(states),
        "labels": np.concatenate(labels),
        "ends": np.concatenate([graph.ends for graph in graphs]),
        "edge_classes": np.array([n for graph in graphs for n in graph.edge_classes], dtype=str),
    }
    for name, parts in (
        ("node", [graph.nodes for graph in graphs]),
        ("edge", [graph.edges for graph in graphs]),
    ):
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        found[f"{name}_starts"] = cumulated(counts)
        found[f"{name}_indices"] = np.concatenate([part.indices for part in parts])
        found[f"{name}_values"] = np.concatenate([part.values for part in parts])
    return found
