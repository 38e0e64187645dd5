"""Documents of mentions packed for the kernels: flat arrays, each distinct feature row once."""

import builtins
import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lssvm.formats.annotated import UNKNOWN, AnnotatedText

NO_LIMIT = 2**31 - 1  # a reach that no document has


@dataclass(frozen=True)
class Pairs:
    """What is known of one document before it is packed.

    clusters : the name of each mention's cluster
    rows : (pairs,) int32, the row of each pair (i, j), i < j <= i + reach, by i, then j
    starts, indices, values : the sparse rows, no two alike where that was worth the search
    text : what the output is written from, None for documents of pairs
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
class Documents:
    """n documents.

    mentions : (n + 1,) int64, first mention of each document in the flat arrays, and the end
    clusters : (m,) int32, true clusters in the order of their first mentions, from 0 in
        each document; -1 if unknown
    targets : (m,) int32, the clusters that training aims at: the true ones, cut where two
        mentions that follow each other in a cluster are further apart than ``reach``
    pairs, rows : first pair of each document; the feature row of each pair, counted from the
        first of its document
    tables, starts, indices, values : first row of each document; the sparse rows
    costs : (n,) float64
    reach : the largest distance of a pair, in mentions
    names : n names; paths, lines : where each document begins
    texts : n texts, or None each
    labelled : whether all clusters are known
    cuts : links between two mentions that follow each other in a cluster, which were cut

    A block made by ``slice`` shares all arrays; its positions stay those of the whole.
    """

    mentions: np.ndarray
    clusters: np.ndarray
    targets: np.ndarray
    pairs: np.ndarray
    rows: np.ndarray
    tables: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    costs: np.ndarray
    reach: int
    names: tuple[str, ...]
    paths: tuple[str, ...]
    lines: tuple[int, ...]
    texts: tuple[AnnotatedText | None, ...]
    labelled: bool
    cuts: int

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def sizes(self) -> np.ndarray:
        """Mentions and pairs of each document, (n,) int64."""
        return np.diff(self.pairs) + np.diff(self.mentions)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        names = ("mentions", "clusters", "targets", "pairs", "rows", "tables", "starts")
        arrays = [getattr(self, name) for name in (*names, "indices", "values", "costs")]
        return int(sum(array.nbytes for array in arrays))

    def slice(self, start: int, stop: int) -> "Documents":
        """Documents start..stop-1 as views of the same arrays."""
        return replace(
            self,
            mentions=self.mentions[start : stop + 1],
            pairs=self.pairs[start : stop + 1],
            tables=self.tables[start : stop + 1],
            costs=self.costs[start:stop],
            names=self.names[start:stop],
            paths=self.paths[start:stop],
            lines=self.lines[start:stop],
            texts=self.texts[start:stop],
        )

    def take(self, rows: np.ndarray) -> "Documents":
        """A copy of the chosen documents, in the order of ``rows``."""
        chosen = [int(row) for row in rows]
        mentions, places = _gathered(self.mentions, chosen)
        pairs, pair_places = _gathered(self.pairs, chosen)
        tables, table_places = _gathered(self.tables, chosen)
        lengths = self.starts[table_places + 1] - self.starts[table_places]
        entries = _cumulated(lengths)
        positions = np.arange(entries[-1]) + np.repeat(
            self.starts[table_places] - entries[:-1], lengths
        )
        clusters, targets = self.clusters[places], self.targets[places]
        return replace(
            self,
            mentions=mentions,
            clusters=clusters,
            targets=targets,
            pairs=pairs,
            rows=self.rows[pair_places],
            tables=tables,
            starts=entries,
            indices=self.indices[positions],
            values=self.values[positions],
            costs=self.costs[chosen],
            names=tuple(self.names[row] for row in chosen),
            paths=tuple(self.paths[row] for row in chosen),
            lines=tuple(self.lines[row] for row in chosen),
            texts=tuple(self.texts[row] for row in chosen),
            labelled=bool(np.all(clusters >= 0)),
            cuts=_count_cuts(clusters, targets, mentions),
        )

    def fingerprint(self) -> str:
        """SHA-256 of clusters, features, costs and reach, in hexadecimal."""
        whole = self.take(np.arange(len(self)))
        digest = hashlib.sha256(str(whole.reach).encode())
        for name in ("mentions", "targets", "rows", "tables", "starts", "indices", "values"):
            digest.update(np.ascontiguousarray(getattr(whole, name)).tobytes())
        digest.update(np.ascontiguousarray(whole.costs).tobytes())
        return digest.hexdigest()

    @property
    def places(self) -> list[builtins.slice]:
        """Where each document stands in arrays of these documents' mentions, (m,)."""
        ends = (self.mentions - self.mentions[0]).tolist()
        return [builtins.slice(a, b) for a, b in itertools.pairwise(ends)]

    @property
    def gold(self) -> np.ndarray:
        """The true clusters of the mentions of these documents alone."""
        return self.clusters[self.mentions[0] : self.mentions[-1]]


def pack(documents: Sequence[Pairs], reach: int) -> Documents:
    """Documents in flat arrays.

    reach : the largest distance of the pairs in ``rows``, in mentions
    """
    mentions = _cumulated([len(document.clusters) for document in documents])
    table_sizes = [len(document.starts) - 1 for document in documents]
    entries = _cumulated([len(document.indices) for document in documents])
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
        pairs=_cumulated([len(document.rows) for document in documents]),
        rows=_joined([document.rows for document in documents], np.int32),
        tables=_cumulated(table_sizes),
        starts=_joined([*starts, entries[-1:]], np.int64),
        indices=_joined([document.indices for document in documents], np.int32),
        values=_joined([document.values for document in documents], np.float64),
        costs=np.array([document.cost for document in documents], dtype=np.float64),
        reach=reach,
        names=tuple(document.name for document in documents),
        paths=tuple(document.path for document in documents),
        lines=tuple(document.line for document in documents),
        texts=tuple(document.text for document in documents),
        labelled=bool(np.all(clusters >= 0)),
        cuts=_count_cuts(clusters, targets, mentions),
    )


def pair_count(n: int, reach: int) -> int:
    """Number of pairs i < j <= i + reach of n mentions."""
    if reach >= n - 1:
        return n * (n - 1) // 2
    return reach * n - reach * (reach + 1) // 2


def pair_ends(n: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second mention of each pair, in order; (pairs,) int32 each."""
    counts = np.minimum(reach, n - 1 - np.arange(n))
    first = np.repeat(np.arange(n, dtype=np.int32), counts)
    before = np.cumsum(counts) - counts
    second = (np.arange(len(first)) - before[first] + first + 1).astype(np.int32)
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
    """The clusters in parts whose mentions reach each other, numbered by first mention."""
    if not len(clusters) or clusters[0] < 0:
        return clusters
    order = np.argsort(clusters, kind="stable")
    steps = np.ones(len(order), dtype=bool)
    steps[1:] = (np.diff(clusters[order]) != 0) | (np.diff(order) > reach)
    parts = np.empty(len(order), dtype=np.int32)
    parts[order] = np.cumsum(steps)
    return numbered_by_first(parts)


def _count_cuts(clusters: np.ndarray, targets: np.ndarray, mentions: np.ndarray) -> int:
    """By how much the targets are more than the clusters."""
    owner = np.repeat(np.arange(len(mentions) - 1), np.diff(mentions))
    known = clusters >= 0
    true, aimed = (
        len(np.unique(np.column_stack([owner, labels])[known], axis=0))
        for labels in (clusters, targets)
    )
    return aimed - true


def _cumulated(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(arrays).astype(kind) if arrays else np.zeros(0, dtype=kind)


def _gathered(offsets: np.ndarray, chosen: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """New offsets of the chosen documents, and the old positions of what they hold."""
    parts = [np.arange(offsets[row], offsets[row + 1]) for row in chosen]
    return _cumulated([len(part) for part in parts]), _joined(parts, np.int64)
