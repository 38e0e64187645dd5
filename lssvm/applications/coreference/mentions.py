"""Documents of mentions packed for the kernels: flat arrays, each distinct feature row once."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.packing import Packed, digest
from lssvm.formats.annotated import UNKNOWN, AnnotatedText
from lssvm.kernels.arrays import MentionArrays
from lssvm.offsets import cumulated, gathered

NO_LIMIT = 2**31 - 1  # a reach that no document has


@dataclass(frozen=True)
class UnpackedDocument:
    """One document before it is packed.

    clusters : the name of each mention's cluster
    rows : (pairs,) int32, the row of each pair (i, j), i < j <= i + reach, by i, then j
    starts, indices, values : the sparse rows, all distinct if duplicates were searched for
    text : the annotated text, from which the output is written; None for documents of pairs
    """

    name: str
    path: str
    line: int
    cost: float
    clusters: Sequence[str]
    rows: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    text: AnnotatedText | None = None


@dataclass(frozen=True, eq=False)
class Documents(Packed):
    """n documents.

    mentions : (n + 1,) int64, first mention of each document in the flat arrays, and the end
    clusters : (m,) int32, true clusters in the order of their first mentions, from 0 in
        each document; -1 if unknown
    targets : (m,) int32, the true clusters of training: cut where two consecutive mentions of a
        cluster are further apart than ``reach``
    pairs, rows : first pair of each document; the feature row of each pair, counted from the
        first of its document
    tables, starts, indices, values : first row of each document; the sparse rows
    reach : the largest distance of a pair, in mentions
    texts : (n,) object, texts, or None each
    cuts : number of links between consecutive mentions of a cluster that were cut
    """

    KIND: ClassVar = "document"
    OFFSETS: ClassVar = ("mentions", "pairs", "tables")
    EACH: ClassVar = ("texts",)

    mentions: np.ndarray
    clusters: np.ndarray
    targets: np.ndarray
    pairs: np.ndarray
    rows: np.ndarray
    tables: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    reach: int
    texts: np.ndarray
    cuts: int

    @property
    def shares(self) -> np.ndarray:
        """Where documents of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def sizes(self) -> np.ndarray:
        """Mentions and pairs of each document, (n,) int64."""
        return np.diff(self.pairs) + np.diff(self.mentions)

    @cached_property
    def arrays(self) -> MentionArrays:
        """The documents as the kernels read them."""
        return MentionArrays(
            mentions=self.mentions,
            pairs=self.pairs,
            rows=self.rows,
            tables=self.tables,
            starts=self.starts,
            indices=self.indices,
            values=self.values,
            costs=self.costs,
            reach=self.reach,
        )

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        names = ("clusters", "targets", *MentionArrays.KINDS)
        return sum(getattr(self, name).nbytes for name in names)

    def take(self, rows: np.ndarray) -> "Documents":
        """A copy of the chosen documents, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        places, mentions = gathered(self.mentions, rows)
        pair_places, pairs = gathered(self.pairs, rows)
        table_places, tables = gathered(self.tables, rows)
        entries, starts = gathered(self.starts, table_places)
        clusters, targets = self.clusters[places], self.targets[places]
        return replace(
            self,
            mentions=mentions,
            clusters=clusters,
            targets=targets,
            pairs=pairs,
            rows=self.rows[pair_places],
            tables=tables,
            starts=starts,
            indices=self.indices[entries],
            values=self.values[entries],
            labelled=bool(np.all(clusters >= 0)),
            cuts=_count_cuts(clusters, targets, mentions),
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of clusters, features, costs and reach, in hexadecimal."""
        whole = self.take(np.arange(len(self)))
        names = ("rows", "tables", "starts", "indices", "values", "costs")
        others = (getattr(whole, name) for name in names)
        return digest(whole.reach, whole.mentions, whole.targets, *others)

    @property
    def places(self) -> list[slice]:
        """The mentions of each document in arrays of these documents, one slice per document."""
        ends = (self.mentions - self.mentions[0]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    @property
    def known(self) -> np.ndarray:
        """Whether the clusters of each document are known, (n,) bool."""
        return np.array([bool(np.all(self.clusters[p] >= 0)) for p in self._own_places])

    @property
    def _own_places(self) -> list[slice]:
        return [slice(a, b) for a, b in itertools.pairwise(self.mentions.tolist())]

    @property
    def gold(self) -> np.ndarray:
        """The true clusters of the mentions of these documents alone."""
        return self.clusters[self.mentions[0] : self.mentions[-1]]


def pack(documents: Sequence[UnpackedDocument], reach: int) -> Documents:
    """Documents in flat arrays.

    reach : the largest distance of the pairs in ``rows``, in mentions
    """
    mentions = cumulated([len(document.clusters) for document in documents])
    paths = list(dict.fromkeys(document.path for document in documents))
    row_of = {path: row for row, path in enumerate(paths)}
    table_sizes = [len(document.starts) - 1 for document in documents]
    entries = cumulated([len(document.indices) for document in documents])
    starts = [
        document.starts[:-1] + first
        for document, first in zip(documents, entries[:-1], strict=True)
    ]
    clusters = _joined([_numbered(document.clusters) for document in documents], np.int32)
    targets = _joined([_cut(_numbered(d.clusters), reach) for d in documents], np.int32)
    return Documents(
        mentions=mentions,
        clusters=clusters,
        targets=targets,
        pairs=cumulated([len(document.rows) for document in documents]),
        rows=_joined([document.rows for document in documents], np.int32),
        tables=cumulated(table_sizes),
        starts=_joined([*starts, entries[-1:]], np.int64),
        indices=_joined([document.indices for document in documents], np.int32),
        values=_joined([document.values for document in documents], np.float64),
        costs=np.array([document.cost for document in documents], dtype=np.float64),
        reach=reach,
        identifiers=np.array([document.name for document in documents], dtype=object),
        lines=np.array([document.line for document in documents], dtype=np.int64),
        files=np.array([row_of[document.path] for document in documents], dtype=np.int32),
        paths=tuple(paths),
        texts=np.array([document.text for document in documents], dtype=object),
        labelled=bool(np.all(clusters >= 0)),
        cuts=_count_cuts(clusters, targets, mentions),
    )


def labels_alone(examples: Documents) -> Documents:
    """The clusters of documents, without features and texts."""
    none, whole = np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    small = whole.astype(np.int32)
    return replace(
        examples,
        mentions=examples.mentions - examples.mentions[0],
        clusters=examples.gold,
        targets=small,
        pairs=whole,
        rows=small,
        tables=whole,
        starts=whole,
        indices=small,
        values=np.empty(0),
        identifiers=none,
        lines=whole,
        files=small,
        texts=none,
    )


def joined_labels(parts: Sequence[Documents]) -> Documents:
    """The clusters of several parts that :func:`labels_alone` gave."""
    clusters, costs = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("clusters", "costs")
    )
    counts = np.concatenate([np.diff(part.mentions) for part in parts])
    return replace(parts[0], clusters=clusters, costs=costs, mentions=cumulated(counts))


def pair_counts(n: int, reach: int) -> np.ndarray:
    """How many pairs each of n mentions is the first of, (n,) int64."""
    return np.minimum(reach, n - 1 - np.arange(n))


def pair_ends(
    n: int, reach: int, start: int = 0, stop: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """First and second mention of each pair, in order; (pairs,) int32 each.

    start, stop : only pairs whose first mention is one of start .. stop - 1
    """
    counts = pair_counts(n, reach)[start:stop]
    own = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    before = np.cumsum(counts) - counts
    first = own + np.int32(start)
    second = (np.arange(len(own)) - before[own] + first + 1).astype(np.int32)
    return first, second


def numbered_by_first(labels: np.ndarray) -> np.ndarray:
    """Labels replaced by 0, 1, 2 … in the order in which they occur first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


def _numbered(clusters: Sequence[str]) -> np.ndarray:
    """The clusters as numbers in the order of their first mentions; -1 if unknown."""
    if UNKNOWN in clusters:
        return np.full(len(clusters), -1, dtype=np.int32)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.int32)


def _cut(clusters: np.ndarray, reach: int) -> np.ndarray:
    """The clusters, cut where consecutive mentions are out of reach, numbered by first mention."""
    if not len(clusters) or clusters[0] < 0:
        return clusters
    order = np.argsort(clusters, kind="stable")
    steps = np.ones(len(order), dtype=bool)
    steps[1:] = (np.diff(clusters[order]) != 0) | (np.diff(order) > reach)
    parts = np.empty(len(order), dtype=np.int32)
    parts[order] = np.cumsum(steps)
    return numbered_by_first(parts)


def _count_cuts(clusters: np.ndarray, targets: np.ndarray, mentions: np.ndarray) -> int:
    """The number of targets minus the number of clusters."""
    owner = np.repeat(np.arange(len(mentions) - 1), np.diff(mentions))
    known = clusters >= 0
    true, aimed = (
        len(np.unique(np.column_stack([owner, labels])[known], axis=0))
        for labels in (clusters, targets)
    )
    return aimed - true


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(arrays).astype(kind) if arrays else np.zeros(0, dtype=kind)
