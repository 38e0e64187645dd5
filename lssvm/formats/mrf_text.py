"""Graphs with states at their nodes, as text and as flat arrays.

Graphs are separated by blank lines. A line is one of

    graph NAME [cost=C]                          the name, if it has one; comes first
    node NAME CLASS STATES LABEL [index:value …]
    edge A B CLASS [index:value …]

LABEL is the state, 0 to STATES − 1, ``?`` if it is not known, or ``-`` if the node is hidden in all
graphs. A and B are nodes above in the same graph. An edge without features has the single feature
1:1, a node without features has none. Indices count from 1 and increase. Lines that begin with #
are comments. All words are separated by spaces or tabs.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.blocks import append, each_block, read_blocks
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.skipping import after_blank
from lssvm.kernels._text import EDGE, NODE, graph_lines
from lssvm.kernels.text_arrays import DistinctWords, RowBuffers
from lssvm.offsets import cumulated

MISSING, HIDDEN = -1, -2
MOST_FEATURES = 1_000_000
MOST_STATES = 10_000
_PART = 100_000  # nodes, edges and numbers of a part
_NO_GRAPHS = "no graphs; expected lines 'node NAME CLASS STATES LABEL …'"
_SPECIAL = {"?": MISSING, "-": HIDDEN}
_WORDS = {"graph": "graph NAME [cost=C]", "node": "node NAME CLASS STATES LABEL …"}
_WORDS["edge"] = "edge A B CLASS …"


@dataclass(frozen=True)
class Features:
    """Sparse rows: indices[starts[i] : starts[i + 1]] and values belong to row i.

    starts : (rows + 1,) int64; indices : int32 from 0; values : float64, finite
    """

    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class Picture(NamedTuple):
    """The image that a graph is, a node for each pixel, row after row.

    path : of the image; height, width : in pixels
    colours : (states, 3) uint8, what label images show for each state
    """

    path: str
    height: int
    width: int
    colours: np.ndarray


@dataclass(frozen=True)
class GraphFile:
    """The n graphs of a file, their N nodes and E edges one after another.

    names : n names; costs : (n,) float64, NaN where none is given; lines : (n,) first lines
    node_offsets, edge_offsets : (n + 1,) int64
    node_names, node_classes : N words; states, labels : (N,) int32; MISSING, HIDDEN or a state
    edge_classes : E words; ends : (E, 2) int32, nodes counted within their graph
    node_features, edge_features : sparse rows
    node_lines, edge_lines : lines of the file; None where it has none
    pictures : n images if the graphs are images; state_names : names of the states in this case
    """

    names: Sequence[str]
    costs: np.ndarray
    lines: np.ndarray
    node_offsets: np.ndarray
    edge_offsets: np.ndarray
    node_names: Sequence[str]
    node_classes: Sequence[str]
    states: np.ndarray
    labels: np.ndarray
    node_features: Features
    edge_classes: Sequence[str]
    ends: np.ndarray
    edge_features: Features
    node_lines: Sequence[int] | None
    edge_lines: Sequence[int] | None
    pictures: Sequence[Picture] | None = None
    state_names: tuple[str, ...] = ()


@dataclass
class _Rows:
    """The collected data of nodes or edges; whole numbers are numbers or pairs."""

    classes: list[str] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    lines: array = field(default_factory=lambda: array("q"))
    sizes: array = field(default_factory=lambda: array("q"))
    indices: array = field(default_factory=lambda: array("i"))
    values: array = field(default_factory=lambda: array("d"))

    def add(self, number: int, name: str, pair: tuple[int, int]) -> None:
        self.classes.append(name)
        self.numbers.append(pair)
        self.lines.append(number)

    def parse(self, features: Sequence[str]) -> None:
        """The features of the last row. Raises ValueError."""
        indices, values = tokens.features(" ".join(features), MOST_FEATURES)
        self.indices.extend(indices)
        self.values.extend(values)
        self.sizes.append(len(indices))

    def take(self, found: RowBuffers, mine: np.ndarray, size: int) -> None:
        """Add the features of lines that compiled code read. mine : which lines"""
        sizes = found.sizes[: len(mine)]
        own = np.repeat(mine, sizes)
        append(self.sizes, sizes[mine])
        append(self.indices, found.indices[:size][own])
        append(self.values, found.values[:size][own])

    def cut(self, count: int) -> "_Rows":
        """Remove all rows but for the first ones, and return them."""
        size = sum(self.sizes[:count])
        stops = {name: size if name in ("indices", "values") else count for name in vars(self)}
        rest = _Rows(**{name: own[stops[name] :] for name, own in vars(self).items()})
        for name, own in vars(self).items():
            del own[stops[name] :]
        return rest

    def pairs(self) -> np.ndarray:
        return np.array(self.numbers, dtype=np.int32).reshape(-1, 2)

    def features(self) -> Features:
        return Features(
            cumulated(self.sizes),
            np.array(self.indices, dtype=np.int32) - np.int32(1),
            np.array(self.values),
        )


class _Reader:
    """The graphs so far; ``own`` are the nodes of the current graph, None between graphs."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.number = path, 0  # of the last line
        self.names: list[str] = []
        self._all_names = DistinctWords()  # of other parts too
        self.costs, self.lines = array("d"), array("q")
        self.node_offsets, self.edge_offsets = array("q"), array("q")
        self.node_names: list[str] = []
        self.nodes, self.edges = _Rows(), _Rows()
        self.own: dict[str, int] | None = None
        self.pairs: set[tuple[int, int, str]] = set()
        self._buffers = RowBuffers()

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read lines of a block, see :data:`lssvm.formats.blocks.Compiled`. Raises DataError."""
        found = self._buffers
        found.fit(len(block))
        start = at
        at, count, size = graph_lines(block, start, MOST_FEATURES, found)
        text = block[start:at].decode("ascii")
        for own, (begin, end) in enumerate((found.spans[:count, :2] - start).tolist(), number):
            try:
                self.take(own, text[begin:end].split(), parsed=True)
            except ValueError as error:
                raise DataError(self.path, own, error) from None
        kinds = found.spans[:count, 2]
        self.nodes.take(found, kinds == NODE, size)
        self.edges.take(found, kinds == EDGE, size)
        return at, count

    def line(self, number: int, text: str) -> None:
        """Read a line of any form. Raises ValueError that says what is wrong."""
        self.take(number, text.split())

    def take(self, number: int, words: list[str], parsed: bool = False) -> None:
        """Read the words of a line. Raises ValueError.

        parsed : whether its features were already read, so that ``words`` has none
        """
        self.number = number
        if not words:
            self.end()
            return
        if words[0].startswith("#"):
            return
        kind, *rest = words
        if kind not in _WORDS:
            raise ValueError(
                f"{tokens.cut(kind)!r} cannot begin a line; expected graph, node or edge"
            )
        if kind == "graph":
            self._graph(number, rest)
            return
        if len(rest) < (4 if kind == "node" else 3):
            raise ValueError(
                f"{counted(len(rest), 'word follows', 'words follow')} {kind!r}; expected "
                f"'{_WORDS[kind]}'"
            )
        if self.own is None:
            self._open(number, self._number(), math.nan)
        if kind == "node":
            features = self._node(number, rest)
            if not parsed:
                self.nodes.parse(features)
        else:
            features = self._edge(number, rest)
            if not parsed:
                self.edges.parse(features or ["1:1"])

    def end(self) -> None:
        """Close the current graph. Raises ValueError."""
        if self.own is not None and not self.own:
            raise ValueError(f"graph {self.names[-1]!r} has no nodes; expected some")
        self.own = None

    @property
    def full(self) -> bool:
        """Whether there is enough for a part, and a graph that has ended."""
        rows = self.nodes, self.edges
        size = sum(len(own.classes) + len(own.values) for own in rows)
        return size > _PART and len(self.names) > (self.own is not None)

    def begun_anew(self) -> GraphFile:
        """The graphs that have ended; the reader begins anew with one that has not."""
        unfinished = int(self.own is not None)
        count = len(self.names) - unfinished
        node = self.node_offsets[count] if unfinished else len(self.node_names)
        edge = self.edge_offsets[count] if unfinished else len(self.edges.classes)
        rest = self.nodes.cut(node), self.edges.cut(edge)
        names, costs, lines = self.names[count:], self.costs[count:], self.lines[count:]
        node_names = self.node_names[node:]
        del self.names[count:], self.costs[count:], self.lines[count:], self.node_names[node:]
        del self.node_offsets[count:], self.edge_offsets[count:]
        found = self.file()
        self.nodes, self.edges = rest
        self.names, self.costs, self.lines, self.node_names = names, costs, lines, node_names
        self.node_offsets = array("q", [0] * unfinished)
        self.edge_offsets = array("q", [0] * unfinished)
        return found

    def _number(self) -> str:
        return str(len(self._all_names) + 1)

    def _graph(self, number: int, rest: list[str]) -> None:
        if self.own is not None:
            raise ValueError("'graph' occurs within a graph; expected a blank line before it")
        if not 1 <= len(rest) <= 2 or (len(rest) == 2 and not rest[1].startswith("cost=")):
            raise ValueError(f"{' '.join(rest)!r} follows 'graph'; expected '{_WORDS['graph']}'")
        cost = math.nan
        if len(rest) == 2:
            cost = tokens.cost(rest[1].removeprefix("cost="))
        self._open(number, rest[0], cost)

    def _open(self, number: int, name: str, cost: float) -> None:
        before = len(self._all_names)
        if self._all_names.code(name) < before:
            raise ValueError(f"there are two graphs {tokens.cut(name)!r}; expected different names")
        self.names.append(name)
        self.costs.append(cost)
        self.lines.append(number)
        self.node_offsets.append(len(self.node_names))
        self.edge_offsets.append(len(self.edges.classes))
        self.own = {}
        self.pairs.clear()

    def _node(self, number: int, rest: list[str]) -> list[str]:
        name, kind, states, label, *features = rest
        own = self.own
        assert own is not None
        if name in own:
            raise ValueError(f"there are two nodes {tokens.cut(name)!r}; expected different names")
        count = tokens.whole(states, "number of states", 1, MOST_STATES)
        state = _SPECIAL.get(label)
        if state is None:
            state = tokens.whole(label, "label", 0, count - 1, "? (not known) or - (hidden)")
        self.nodes.add(number, kind, (count, state))
        own[name] = len(own)
        self.node_names.append(name)
        return features

    def _edge(self, number: int, rest: list[str]) -> list[str]:
        first, second, kind, *features = rest
        own = self.own
        assert own is not None
        for name in (first, second):
            if name not in own:
                raise ValueError(f"there is no node {tokens.cut(name)!r} above in this graph")
        if first == second:
            raise ValueError(f"the edge joins {tokens.cut(first)!r} to itself; expected two nodes")
        pair = (own[first], own[second])
        if (*pair, kind) in self.pairs:
            raise ValueError(f"there are two edges {first} {second} {kind}; expected one")
        self.pairs.add((*pair, kind))
        self.edges.add(number, kind, pair)
        return features

    def check_end(self) -> None:
        """Raise DataError if the file cannot end here."""
        try:
            self.end()
        except ValueError as error:
            raise DataError(self.path, self.number, error) from None
        if not len(self._all_names):
            raise DataError(self.path, None, _NO_GRAPHS)

    def file(self) -> GraphFile:
        """All that was read."""
        nodes = self.nodes.pairs()
        return GraphFile(
            names=tuple(self.names),
            costs=np.array(self.costs),
            lines=np.array(self.lines, dtype=np.int64),
            node_offsets=np.array([*self.node_offsets, len(nodes)], dtype=np.int64),
            edge_offsets=np.array([*self.edge_offsets, len(self.edges.classes)], dtype=np.int64),
            node_names=self.node_names,
            node_classes=self.nodes.classes,
            states=np.ascontiguousarray(nodes[:, 0]),
            labels=np.ascontiguousarray(nodes[:, 1]),
            node_features=self.nodes.features(),
            edge_classes=self.edges.classes,
            ends=self.edges.pairs(),
            edge_features=self.edges.features(),
            node_lines=self.nodes.lines,
            edge_lines=self.edges.lines,
        )


def read_graphs(path: str | Path, limit: Limit = DEFAULT) -> GraphFile:
    """Read a text file of graphs, plain or compressed, ``-`` for standard input.

    Raises DataError with the line for what is not in the format.
    """
    reader = _Reader(path)
    read_blocks(path, limit, reader.block, reader.line, owns=after_blank)
    reader.check_end()
    return reader.file()


def graph_parts(path: str | Path, limit: Limit) -> Iterator[GraphFile]:
    """A text file of graphs in parts, in order, as :func:`read_graphs` reads it."""
    reader = _Reader(path)
    for _ in each_block(path, limit, reader.block, reader.line):
        if reader.full:
            yield reader.begun_anew()
    reader.check_end()
    if reader.names:
        yield reader.file()
