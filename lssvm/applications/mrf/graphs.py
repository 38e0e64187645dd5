"""Graphs packed for the kernel: the nodes and edges of all of them one after another."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.base import Source
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.packing import Packed, digest
from lssvm.errors import DataError
from lssvm.formats.mrf_text import Features, GraphFile
from lssvm.kernels.arrays import GraphArrays
from lssvm.offsets import cumulated, gathered

MOST_GRAPH_WEIGHTS = 2**28  # 2 GB
LANES = 8  # graphs of one shape that the kernels work on at a time
_WORK = 2  # units of size for an entry of a table: a unit is about a nanosecond


@dataclass(frozen=True, eq=False, kw_only=True)
class Graphs(Packed):
    """n graphs of N nodes and E edges. An item is a node or an edge.

    node_offsets, edge_offsets, item_offsets : (n + 1,) int64, where those of each graph begin;
        the items of a graph are its nodes, then its edges
    labels : (N,) int32, MISSING, HIDDEN or the state
    ends : (E, 2) int32, the nodes of each edge, counted within their graph
    starts, indices, values : (items + 1,) int64, int32, float64, features of items, sparse
    bases : (items,) int64, first weight; tables : (items,) int32, entries of the table
    pictures : (n,) object, ``Picture``, or None for a graph that is not an image
    node_names : (N,) object
    labelled : whether any node has a label
    classes : the meaning of the weights
    cache : plans of these graphs by task
    """

    KIND: ClassVar = "graph"
    OFFSETS: ClassVar = ("node_offsets", "edge_offsets", "item_offsets")
    EACH: ClassVar = ("pictures",)

    node_offsets: np.ndarray
    edge_offsets: np.ndarray
    item_offsets: np.ndarray
    labels: np.ndarray
    ends: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    bases: np.ndarray
    tables: np.ndarray
    pictures: np.ndarray
    node_names: np.ndarray
    classes: GraphClasses
    cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def shares(self) -> np.ndarray:
        """Where graphs of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def sizes(self) -> np.ndarray:
        """Work of each graph: the entries of its tables, times 2, (n,) int64."""
        total = cumulated(self.tables)
        return _WORK * (total[self.item_offsets[1:]] - total[self.item_offsets[:-1]])

    @cached_property
    def arrays(self) -> GraphArrays:
        """The graphs as the kernels read them, nodes from 0."""
        return GraphArrays(
            offsets=self.item_offsets,
            nodes=self.node_offsets - self.node_offsets[0],
            edges=self.edge_offsets,
            starts=self.starts,
            indices=self.indices,
            values=self.values,
            bases=self.bases,
            sizes=self.tables,
            ends=self.ends,
            labels=self.labels[self.nodes],
            costs=self.costs,
        )

    @property
    def nodes(self) -> slice:
        """The nodes of these graphs among those of the arrays."""
        return slice(int(self.node_offsets[0]), int(self.node_offsets[-1]))

    @property
    def together(self) -> int:
        """Number of graphs that a kernel processes at once, if enough have a similar shape."""
        counts = np.column_stack([np.diff(self.node_offsets), np.diff(self.edge_offsets)])
        return LANES if len(counts) >= LANES * len(np.unique(counts, axis=0)) else 1

    def shape(self, row: int, groups: np.ndarray) -> tuple[bytes, ...]:
        """States and edges of a graph and the groups of its nodes, equal for equal ones.

        groups : (N,) int8, of the nodes of these graphs
        """
        first = self.node_offsets[0]
        own = groups[self.node_offsets[row] - first : self.node_offsets[row + 1] - first]
        ends = self.ends[self.edge_offsets[row] : self.edge_offsets[row + 1]]
        return self.states(row).tobytes(), ends.tobytes(), own.tobytes()

    def shapes(self, groups: np.ndarray) -> np.ndarray:
        """Equal numbers for graphs of equal :meth:`shape`, (n,) int64; kept."""
        key = ("shapes", groups.tobytes())
        if key not in self.cache:
            known: dict[tuple[bytes, ...], int] = {}
            rows = [self.shape(i, groups) for i in range(len(self))]
            numbers = [known.setdefault(row, len(known)) for row in rows]
            self.cache[key] = np.array(numbers, dtype=np.int64)
        return self.cache[key]

    def states(self, row: int) -> np.ndarray:
        """Number of states of each node of a graph."""
        first = self.item_offsets[row]
        count = self.node_offsets[row + 1] - self.node_offsets[row]
        return self.tables[first : first + count]

    def slice(self, start: int, stop: int) -> Self:
        """Graphs start..stop-1 as views of the same arrays."""
        return replace(super().slice(start, stop), cache={})

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen graphs, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        nodes, node_offsets = gathered(self.node_offsets, rows)
        edges, edge_offsets = gathered(self.edge_offsets, rows)
        items, item_offsets = gathered(self.item_offsets, rows)
        places, starts = gathered(self.starts, items)
        return replace(
            self,
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            item_offsets=item_offsets,
            labels=self.labels[nodes],
            ends=self.ends[edges],
            starts=starts,
            indices=self.indices[places],
            values=self.values[places],
            bases=self.bases[items],
            tables=self.tables[items],
            node_names=self.node_names[nodes],
            cache={},
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of classes, graphs, features, labels and costs, in hexadecimal."""
        whole = self.take(np.arange(len(self)))
        return digest(
            whole.classes.arrays()["classes"],
            whole.node_offsets,
            whole.edge_offsets,
            whole.labels,
            whole.ends,
            whole.starts,
            whole.indices,
            whole.values,
            whole.bases,
            whole.costs,
        )


def packed(
    files: Sequence[tuple[Source, GraphFile]],
    classes: GraphClasses | None = None,
    known: "Known | None" = None,
) -> Graphs:
    """The graphs of files, in order. Raises DataError.

    classes : those of a model; by default those of the files. Features without a weight in the
        model are left out.
    known : the same classes, with what other parts of the same data have added
    """
    known = known or Known(classes)
    for source, file in files:
        known.take_names(source.path, file.state_names)
    numbers = [known.numbers(source.path, file) for source, file in files]
    found = known.classes(files, numbers) if classes is None else classes
    check_weights(found, files[0][0].path)
    parts = [_items(file, *own, found) for (_, file), own in zip(files, numbers, strict=True)]
    lengths = [len(file.names) for _, file in files]
    labels = np.concatenate([file.labels for _, file in files])
    node_offsets = cumulated(np.concatenate([np.diff(file.node_offsets) for _, file in files]))
    features = _joined([part[1] for part in parts])
    return Graphs(
        costs=np.concatenate(
            [np.where(np.isnan(f.costs), source.cost, f.costs) for source, f in files]
        ),
        identifiers=np.array([name for _, file in files for name in file.names], dtype=object),
        lines=np.concatenate([file.lines for _, file in files]),
        files=np.repeat(np.arange(len(files), dtype=np.int32), lengths),
        paths=tuple(source.path for source, _ in files),
        labelled=bool(np.any(labels >= 0)),
        node_offsets=node_offsets,
        edge_offsets=cumulated(np.concatenate([np.diff(f.edge_offsets) for _, f in files])),
        item_offsets=cumulated(
            np.concatenate([np.diff(f.node_offsets) + np.diff(f.edge_offsets) for _, f in files])
        ),
        labels=labels,
        ends=np.concatenate([file.ends for _, file in files]),
        starts=features.starts,
        indices=features.indices,
        values=features.values,
        bases=np.concatenate([found.bases[part[0]] for part in parts]),
        tables=np.concatenate([found.sizes[part[0]] for part in parts]).astype(np.int32),
        node_names=np.array([name for _, file in files for name in file.node_names], dtype=object),
        pictures=_pictures([file for _, file in files]),
        classes=found,
    )


def check_weights(classes: GraphClasses, path: str) -> None:
    """Raise DataError if the classes have too many weights. path : of the first file"""
    if classes.dimension > MOST_GRAPH_WEIGHTS:
        message = f"{classes.dimension:,d} weights for states times features of all classes"
        raise DataError(path, None, f"{message}; expected at most {MOST_GRAPH_WEIGHTS:,d}")


def _pictures(files: Sequence[GraphFile]) -> np.ndarray:
    found = np.full(sum(len(file.names) for file in files), None, dtype=object)
    first = 0
    for file in files:
        for place, picture in enumerate(file.pictures or (), first):
            found[place] = picture
        first += len(file.names)
    return found


class Known:
    """Number of states of classes by kind and name; new ones are added unless a model fixes them.

    Those of a node are one number, those of an edge the two of its ends.
    """

    def __init__(self, classes: GraphClasses | None) -> None:
        self.fixed = classes is not None
        self.state_names = () if classes is None else classes.state_names
        self.nodes: dict[str, tuple[int, ...]] = {}
        self.edges: dict[str, tuple[int, ...]] = {}
        if classes is not None:
            self.nodes = {n: (k,) for n, k in zip(classes.node_names, classes.states, strict=True)}
            self.edges = dict(zip(classes.edge_names, classes.shapes, strict=True))

    def take_names(self, path: str, names: tuple[str, ...]) -> None:
        """The names of pixels' states, the same in all files. Raises DataError."""
        if names and self.state_names and names != self.state_names:
            found, expected = (", ".join(own) for own in (names, self.state_names))
            raise DataError(path, None, f"the labels are {found}; expected {expected}, as before")
        self.state_names = self.state_names or names

    def numbers(self, path: str, file: GraphFile) -> tuple[np.ndarray, np.ndarray]:
        """The class numbers of nodes and edges. Raises DataError with the line."""
        offsets = np.repeat(file.node_offsets[:-1], np.diff(file.edge_offsets))
        ends = file.states[file.ends + offsets[:, None]]
        nodes = (self.nodes, file.node_classes, file.states[:, None], file.node_lines)
        edges = (self.edges, file.edge_classes, ends, file.edge_lines)
        return self._numbers(path, "node", *nodes), self._numbers(path, "edge", *edges)

    def _numbers(
        self,
        path: str,
        kind: str,
        known: dict[str, tuple[int, ...]],
        names: Sequence[str],
        shapes: np.ndarray,
        lines: Sequence[int] | None,
    ) -> np.ndarray:
        places = {name: i for i, name in enumerate(known)}
        for j, (name, shape) in enumerate(zip(names, map(tuple, shapes.tolist()), strict=True)):
            if not self.fixed and name not in known:
                places[name], known[name] = len(places), shape
            if known.get(name) != shape:
                line = None if lines is None else int(lines[j])
                raise _misfit(path, line, j, kind, name, shape, known.get(name))
        return np.array([places[name] for name in names], dtype=np.int64)

    def take_classes(
        self,
        path: str,
        classes: GraphClasses,
        node_places: Sequence[int],
        edge_places: Sequence[int],
        node_lines: Sequence[int] | None,
        edge_lines: Sequence[int] | None,
    ) -> None:
        """Add the classes of a file. Raises DataError for the first one that does not fit.

        node_places, edge_places : the first node or edge of each class; lines : of these
        """
        states = [(count,) for count in classes.states]
        kinds = (
            ("node", self.nodes, classes.node_names, states, node_places, node_lines),
            ("edge", self.edges, classes.edge_names, classes.shapes, edge_places, edge_lines),
        )
        for kind, known, names, shapes, places, lines in kinds:
            for row, (name, shape) in enumerate(zip(names, shapes, strict=True)):
                expected = known.setdefault(name, shape)
                if expected != shape:
                    line = None if lines is None else lines[row]
                    raise _misfit(path, line, places[row], kind, name, shape, expected)

    def classes(
        self,
        files: Sequence[tuple[Source, GraphFile]],
        numbers: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> GraphClasses:
        """The classes, each as wide as its highest feature."""
        node_widths = np.zeros(len(self.nodes), dtype=np.int64)
        edge_widths = np.zeros(len(self.edges), dtype=np.int64)
        for (_, file), own in zip(files, numbers, strict=True):
            for widths, kinds, features in zip(
                (node_widths, edge_widths),
                own,
                (file.node_features, file.edge_features),
                strict=True,
            ):
                rows = np.repeat(kinds, np.diff(features.starts))
                np.maximum.at(widths, rows, features.indices.astype(np.int64) + 1)
        return self.with_widths(node_widths, edge_widths)

    def with_widths(self, node_widths: np.ndarray, edge_widths: np.ndarray) -> GraphClasses:
        """The classes. node_widths, edge_widths : features of each"""
        return GraphClasses(
            tuple(self.nodes),
            tuple(count for (count,) in self.nodes.values()),
            tuple(node_widths.tolist()),
            tuple(self.edges),
            tuple((first, second) for first, second in self.edges.values()),
            tuple(edge_widths.tolist()),
            self.state_names,
        )


def _misfit(
    path: str,
    line: int | None,
    place: int,
    kind: str,
    name: str,
    shape: tuple[int, ...],
    expected: tuple[int, ...] | None,
) -> DataError:
    """The error for a class with other numbers of states. place : of the node or edge"""
    where = "" if line is not None else f"{kind} {place}: "
    if expected is None:
        wrong = f"the class {name!r} of {kind}s was not seen in training; expected a known one"
        return DataError(path, line, where + wrong)
    found, known = (" and ".join(map(str, counts)) for counts in (shape, expected))
    states = "states" if kind == "node" else "states at its ends"
    wrong = f"class {name!r} has {found} {states} here; expected {known} as before"
    return DataError(path, line, where + wrong)


def _items(
    file: GraphFile, nodes: np.ndarray, edges: np.ndarray, classes: GraphClasses
) -> tuple[np.ndarray, Features]:
    """Class and features of each item of a file, nodes before edges in every graph."""
    both = np.concatenate([nodes, edges + len(classes.node_names)])
    graph = np.concatenate(
        [
            np.repeat(np.arange(len(file.names)), np.diff(offsets))
            for offsets in (file.node_offsets, file.edge_offsets)
        ]
    )
    order = np.argsort(graph, kind="stable")
    features = _joined([file.node_features, file.edge_features])
    places, starts = gathered(features.starts, order)
    indices = features.indices[places]
    kept = indices < np.repeat(classes.widths[both[order]], np.diff(starts))
    return both[order], Features(
        cumulated(kept)[starts], indices[kept], features.values[places][kept]
    )


def _joined(parts: Sequence[Features]) -> Features:
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    return Features(
        cumulated(counts),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
