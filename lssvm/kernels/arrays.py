"""Arrays as the kernels read them, checked once against each other.

A kernel takes one of these objects instead of many arrays. The objects hold views and copy nothing,
so each block of examples makes its own. A constructor checks types, shapes and indices of one array
into another, so that no kernel reads beyond an array. Only the length of the weights is checked in
the call, which compares it with ``width``.

All offsets are int64 and increase; there is one more offset than parts.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

REAL, INTEGER, LONG, BYTE = np.float64, np.int32, np.int64, np.uint8


@dataclass(frozen=True, eq=False, repr=False)
class Arrays:
    """Arrays of the kinds and numbers of dimensions that KINDS gives.

    Raises ValueError for an array of another kind, one that is not contiguous, or that does not fit
    the others.
    """

    KINDS: ClassVar[dict[str, tuple[type, int]]]

    def __post_init__(self) -> None:
        for name, (kind, dimensions) in self.KINDS.items():
            array = getattr(self, name)
            if array.dtype != kind or array.ndim != dimensions or not array.flags.c_contiguous:
                self.refuse(
                    f"{name} is {array.dtype} {array.shape}; expected {np.dtype(kind)}, "
                    f"{dimensions} dimensions, C order"
                )
        self.check()

    def check(self) -> None:
        """Refuse arrays that do not fit each other."""

    def refuse(self, message: str) -> None:
        """Raise ValueError with the message."""
        raise ValueError(f"{type(self).__name__}: {message}")

    def check_length(self, name: str, count: int) -> None:
        """Refuse an array that is not ``count`` long."""
        if len(getattr(self, name)) != count:
            self.refuse(f"{name} do not fit: {len(getattr(self, name))}; expected {count}")

    def check_offsets(
        self, name: str, count: int, end: int, part: np.ndarray | None = None
    ) -> None:
        """Refuse offsets that are not of ``count`` parts, fall, or leave 0 .. ``end``."""
        offsets = getattr(self, name) if part is None else part
        if len(offsets) != count + 1:
            self.refuse(f"{name} do not fit: {len(offsets)}; expected {count + 1}")
        if offsets[0] < 0 or offsets[-1] > end or np.any(offsets[1:] < offsets[:-1]):
            self.refuse(f"{name} do not increase within 0..{end}")

    def check_range(self, name: str, array: np.ndarray, stop: int) -> None:
        """Refuse numbers outside 0 .. ``stop`` - 1."""
        if len(array) and (array.min() < 0 or array.max() >= stop):
            self.refuse(f"{name} are not all in 0..{stop - 1}")

    def used(self, first: int, last: int) -> int:
        """Columns of the sparse rows first .. last - 1 of starts, indices and values.

        One more than the highest index; refuses rows that do not fit.
        """
        starts, indices = (getattr(self, name) for name in ("starts", "indices"))
        self.check_values(len(indices))
        if len(starts) <= last:
            self.refuse(f"starts do not fit: {len(starts)}; expected {last + 1} or more")
        self.check_offsets("starts", last - first, len(indices), starts[first : last + 1])
        own = indices[starts[first] : starts[last]]
        if len(own) and own.min() < 0:
            self.refuse(f"indices: {own.min()}; expected 0 or more")
        return int(own.max(initial=-1)) + 1

    def check_values(self, count: int) -> None:
        """Refuse values that are not those of so many entries of sparse rows."""
        self.check_length("values", count)

    def set_width(self, width: int) -> None:
        """Set the number of weights that are read, once, in the constructor."""
        object.__setattr__(self, "width", width)


@dataclass(frozen=True, eq=False, repr=False)
class MentionArrays(Arrays):
    """Pairs of the mentions of n documents, each with a sparse row of features.

    mentions, pairs, tables : (n + 1,) where those of each document begin: mentions, pairs (i, j)
        with i < j <= i + reach, by i, then j, and distinct rows
    rows : the row of each pair, counted from the first of its document
    starts, indices, values : the sparse rows; costs : (n,)
    """

    KINDS: ClassVar = {
        **dict.fromkeys(("mentions", "pairs", "tables", "starts"), (LONG, 1)),
        **dict.fromkeys(("rows", "indices"), (INTEGER, 1)),
        **dict.fromkeys(("values", "costs"), (REAL, 1)),
    }

    mentions: np.ndarray
    pairs: np.ndarray
    rows: np.ndarray
    tables: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    costs: np.ndarray
    reach: int
    width: int = field(init=False)

    def check(self) -> None:
        """Refuse documents whose pairs, rows or features are not where the offsets say."""
        n = len(self.costs)
        self.check_offsets("mentions", n, 2**31 - 1)
        self.check_offsets("pairs", n, len(self.rows))
        self.check_offsets("tables", n, len(self.starts) - 1)
        counts = np.diff(self.mentions)
        near = np.minimum(np.maximum(counts - 1, 0), self.reach)
        if not np.array_equal(np.diff(self.pairs), near * counts - near * (near + 1) // 2):
            self.refuse(f"pairs do not fit the mentions and reach {self.reach}")
        own = self.rows[self.pairs[0] : self.pairs[n]]
        if len(own) and own.min() < 0:
            self.refuse("rows are below 0")
        some = np.flatnonzero(np.diff(self.pairs))
        highest = np.maximum.reduceat(own, self.pairs[some] - self.pairs[0]) if len(some) else own
        if np.any(highest >= np.diff(self.tables)[some]):
            self.refuse("rows end after the tables")
        self.set_width(self.used(int(self.tables[0]), int(self.tables[n])))


@dataclass(frozen=True, eq=False, repr=False)
class MotifArrays(Arrays):
    """Indices of n DNA sequences, see ``_motif.index``.

    words : (size + padding,), contexts : (size,); opposite : (size,) the contexts on the other
        strand if both are read, else (0,)
    offsets : (n + 1,) where each sequence begins; runs : (n + 1,) its first row in ``bounds``
    bounds : (m, 2) start and end of each run of letters that are known
    labels, costs : (n,) +1 or -1, and c
    """

    KINDS: ClassVar = {
        "words": (BYTE, 1),
        "contexts": (np.uint16, 1),
        "opposite": (np.uint16, 1),
        "offsets": (LONG, 1),
        "runs": (LONG, 1),
        "bounds": (LONG, 2),
        "labels": (np.int8, 1),
        "costs": (REAL, 1),
    }

    words: np.ndarray
    contexts: np.ndarray
    opposite: np.ndarray
    offsets: np.ndarray
    runs: np.ndarray
    bounds: np.ndarray
    labels: np.ndarray
    costs: np.ndarray
    both: bool
    width: int = field(init=False)

    def check(self) -> None:
        """Refuse runs outside their sequences, and indices that are not of all letters."""
        n, size = len(self.labels), len(self.contexts)
        self.check_length("costs", n)
        self.check_length("opposite", size if self.both else 0)
        self.check_offsets("offsets", n, size)
        self.check_offsets("runs", n, len(self.bounds))
        if self.bounds.shape[1] != 2:
            self.refuse(f"bounds have {self.bounds.shape[1]} columns; expected 2")
        own, counts = self.bounds[self.runs[0] : self.runs[n]], np.diff(self.runs)
        begins, ends = np.repeat(self.offsets[:-1], counts), np.repeat(self.offsets[1:], counts)
        if np.any((own[:, 0] < begins) | (own[:, 0] > own[:, 1]) | (own[:, 1] > ends)):
            self.refuse("bounds of runs are outside of their sequence")
        part = slice(self.offsets[0], self.offsets[n])
        kinds = (self.contexts[part], self.opposite[part] if self.both else self.opposite)
        self.set_width(1 + max(int(kind.max(initial=0)) for kind in kinds))


@dataclass(frozen=True, eq=False, repr=False)
class QueryArrays(Arrays):
    """The documents of n queries with their features, dense or sparse.

    dense : for query i, from offsets[i] * width on, ``width`` rows of its documents' values; empty
        if they are sparse
    indices, values, starts : sparse rows of all documents; starts empty if they are dense
    offsets : (n + 1,) where the documents of each query begin; width : features
    """

    KINDS: ClassVar = {
        "dense": (REAL, 1),
        "indices": (INTEGER, 1),
        "values": (REAL, 1),
        "starts": (LONG, 1),
        "offsets": (LONG, 1),
    }

    dense: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    width: int

    def check(self) -> None:
        """Refuse documents that are not in the arrays, and features beyond ``width``."""
        count = len(self.starts) - 1 if len(self.starts) else len(self.dense) // max(1, self.width)
        self.check_offsets("offsets", max(0, len(self.offsets) - 1), count)
        needed = 1
        if len(self.starts):
            needed = self.used(int(self.offsets[0]), int(self.offsets[-1]))
        if self.width < needed:
            self.refuse(f"{self.width} features; expected {needed} or more")


@dataclass(frozen=True, eq=False, repr=False)
class RowArrays(Arrays):
    """n rows of features, dense or sparse.

    dense : (n, width), or (0, 0) if they are sparse
    values, indices, starts : sparse rows; starts (n + 1,), empty if they are dense
    """

    KINDS: ClassVar = {
        "dense": (REAL, 2),
        "values": (REAL, 1),
        "indices": (INTEGER, 1),
        "starts": (LONG, 1),
    }

    dense: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray
    n: int
    width: int

    def check(self) -> None:
        """Refuse other numbers of rows, and features beyond ``width``."""
        if not len(self.starts):
            shape = (self.n, self.width)
            if len(self.dense) != self.n or (self.n and self.dense.shape != shape):
                self.refuse(f"rows {self.dense.shape} do not fit {shape}")
            return
        if len(self.starts) != self.n + 1:
            self.refuse(f"{len(self.starts)} starts do not fit {self.n} examples")
        needed = self.used(0, self.n)
        if self.width < needed:
            self.refuse(f"{self.width} features; expected {needed} or more")


@dataclass(frozen=True, eq=False, repr=False)
class ClassArrays(Arrays):
    """Classes at the nodes of trees, and the cost of predicting one for another.

    columns : nodes; parents : (columns,) the node above each, lower than it, -1 at the top; empty:
        no tree. places : (classes,) the node of each class
    path_starts, paths : the nodes of class k, increasing, are paths[path_starts[k]:...[k + 1]]
    margins : (classes, classes), L of a true and another class, 0 on the diagonal; numbers of a row
        lie side by side, but rows may overlap
    slack : maximise L (1 + s(y') - s(y)) + s(y) over the classes y', else L + s(y')
    """

    KINDS: ClassVar = dict.fromkeys(("parents", "places", "path_starts", "paths"), (INTEGER, 1))

    columns: int
    parents: np.ndarray
    places: np.ndarray
    path_starts: np.ndarray
    paths: np.ndarray
    margins: np.ndarray
    slack: bool

    def check(self) -> None:
        """Refuse classes without a node, and nodes that are not below their parents."""
        count = len(self.places)
        if count == 0 or self.margins.shape != (count, count):
            self.refuse(f"margins {self.margins.shape} do not fit {count} classes")
        apart = count > 1 and self.margins.strides[1] != self.margins.itemsize
        if self.margins.dtype != REAL or apart:
            self.refuse(
                f"margins are {self.margins.dtype}; expected float64, side by side in a row"
            )
        if len(self.parents) not in (0, self.columns):
            self.refuse(f"{len(self.parents)} parents do not fit {self.columns} columns")
        if np.any((self.parents < -1) | (self.parents >= np.arange(len(self.parents)))):
            self.refuse("a column is not below its parent")
        self.check_range("places", self.places, self.columns)
        self.check_range("paths", self.paths, self.columns)
        self.check_offsets("path_starts", count, len(self.paths))


class ChainShape(NamedTuple):
    """Sizes of a model of label sequences: features, labels, order 1 or 2, weights for ends."""

    width: int
    labels: int
    order: int
    ends: bool


@dataclass(frozen=True, eq=False, repr=False)
class TokenArrays(Arrays):
    """The tokens of n sequences with their features, dense or sparse.

    dense : (tokens, width); or indices, values, starts : sparse rows, starts not empty
    offsets : (n + 1,) where the tokens of each sequence begin, from 0
    alike : whether all values are 1; ``values`` are then those of the longest row
    """

    KINDS: ClassVar = {
        "dense": (REAL, 2),
        "indices": (INTEGER, 1),
        "values": (REAL, 1),
        "starts": (LONG, 1),
        "offsets": (LONG, 1),
    }

    dense: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    alike: bool = False

    @property
    def width(self) -> int:
        """Features of a token."""
        return int(self.dense.shape[1])

    def check_values(self, count: int) -> None:
        """Refuse values that are not those of so many entries, or too few for a row."""
        if not self.alike:
            self.check_length("values", count)
        elif len(self.values) < np.max(np.diff(self.starts), initial=1):
            self.refuse(f"values: {len(self.values)} for each row; there are longer rows")
        elif np.any(self.values != 1.0):
            self.refuse("values: they are not all 1")

    def check(self) -> None:
        """Refuse sequences without tokens, and features that do not exist."""
        count = len(self.starts) - 1 if len(self.starts) else len(self.dense)
        self.check_offsets("offsets", max(0, len(self.offsets) - 1), count)
        if self.offsets[0] != 0:
            self.refuse(f"offsets begin at {self.offsets[0]}; expected 0")
        if len(self.starts) and self.used(0, int(self.offsets[-1])) > self.width:
            self.refuse(f"indices are not below the {self.width} features")


@dataclass(frozen=True, eq=False, repr=False)
class ChainLoss(Arrays):
    """The task of ``_sequence.search``, and the costs of errors.

    task : see there; charges : (L,) by true label; margins : by number of errors, from 0
    slack : whether margins multiply the differences of scores
    """

    KINDS: ClassVar = {"charges": (REAL, 1), "margins": (REAL, 1)}

    task: int
    charges: np.ndarray
    margins: np.ndarray
    slack: bool

    def check(self) -> None:
        """Refuse a loss without a margin for no error."""
        if not len(self.margins):
            self.refuse("no margins")


@dataclass(frozen=True, eq=False, repr=False)
class GraphArrays(Arrays):
    """The items of n graphs: their nodes, then their edges, each with a sparse row of features.

    offsets, nodes, edges : (n + 1,) where the items, nodes and edges of each graph begin, nodes
        from 0
    starts, indices, values : features of the items, sparse
    bases, sizes : (items,) first weight and table size of each item
    ends : (edges, 2) the nodes of each edge, counted within their graph
    labels : one for each node of these graphs; costs : (n,)
    """

    KINDS: ClassVar = {
        **dict.fromkeys(("offsets", "nodes", "edges", "starts", "bases"), (LONG, 1)),
        **dict.fromkeys(("indices", "sizes", "labels"), (INTEGER, 1)),
        **dict.fromkeys(("values", "costs"), (REAL, 1)),
        "ends": (INTEGER, 2),
    }

    offsets: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    bases: np.ndarray
    sizes: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    costs: np.ndarray
    width: int = field(init=False)

    def check(self) -> None:
        """Refuse graphs whose items, nodes, edges or features are not where the offsets say."""
        n = len(self.costs)
        self.check_length("sizes", len(self.bases))
        self.check_offsets("offsets", n, len(self.bases))
        self.check_offsets("nodes", n, len(self.labels))
        self.check_offsets("edges", n, len(self.ends))
        if not np.array_equal(np.diff(self.nodes) + np.diff(self.edges), np.diff(self.offsets)):
            self.refuse("items are not the nodes and the edges")
        if self.ends.shape[1] != 2:
            self.refuse(f"ends have {self.ends.shape[1]} columns; expected 2")
        counts = np.repeat(np.diff(self.nodes), np.diff(self.edges))
        own = self.ends[self.edges[0] : self.edges[n]]
        if np.any((own < 0) | (own >= counts[:, None])):
            self.refuse("ends are not nodes of their graph")
        self.set_width(self._weights(int(self.offsets[0]), int(self.offsets[n])))

    def _weights(self, first: int, last: int) -> int:
        """Weights that items first .. last - 1 read: the highest index plus one."""
        self.used(first, last)
        bases, sizes = self.bases[first:last], self.sizes[first:last].astype(np.int64)
        if len(bases) and (bases.min() < 0 or sizes.min() < 1):
            self.refuse("bases or sizes are too low")
        bounds = self.starts[first : last + 1] - self.starts[first]
        some = np.flatnonzero(np.diff(bounds))
        if not len(some):
            return 0
        own = self.indices[self.starts[first] : self.starts[last]]
        highest = np.maximum.reduceat(own, bounds[some]).astype(np.int64)
        return int(np.max(bases[some] + (highest + 1) * sizes[some]))


@dataclass(frozen=True)
class Schedule:
    """Options of belief propagation: temperature, damping, and when it ends.

    damping : share of the old message that is kept, 0 to below 1
    tolerance : of the largest change of a message against 1 + the largest message
    parallel : whether messages are computed only from those of the previous sweep
    """

    eps: float
    damping: float
    tolerance: float
    most_sweeps: int
    parallel: bool
