"""Documents of queries, packed once for the ranking kernel."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.base import Source
from lssvm.applications.index_base import IndexBase
from lssvm.applications.packing import Packed, digest
from lssvm.errors import DataError
from lssvm.formats.svmlight import SvmLight, read_svmlight
from lssvm.kernels.arrays import QueryArrays
from lssvm.offsets import cumulated, gathered

DENSE_FROM = 0.25  # share of values given: below it rows are kept sparse
HIGHEST = 500  # relevance of a document; sums of 2^relevance, for NDCG, are finite
MOST_FEATURES = 10_000_000  # w and every cutting plane hold one number for each
_AT_ONCE = 50_000  # entries that are laid out at a time
_SHORT = 2**16  # smaller indices fit 16 bits
_DOCID = re.compile(r"(?:\bdoc_?id\s*[=:]|^doc_?id\b)\s*(\S*)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Queries(Packed):
    """n queries with their documents. Positions count from 0 in the flat arrays.

    offsets : (n + 1,) int64, where each query's documents start, and the end of the last
    labels : (documents,) float64, all NaN if they are not known
    relevant : (documents,) uint8, 1 if the label says so
    dense : float64, each query's block of values, feature by feature; empty if sparse
    indices, values, starts : int32, float64, int64, sparse rows; empty if dense
    dimension : d, the highest feature index
    positions : (documents,) int64, place of each document in the input
    documents : (documents,) object, docids
    named : (documents,) bool, whether the input gives the docid; others are numbers of rows

    Within a query, documents are in the order of the input.
    """

    KIND: ClassVar = "query"
    OFFSETS: ClassVar = ("offsets",)

    offsets: np.ndarray
    labels: np.ndarray
    relevant: np.ndarray
    dense: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    dimension: int
    positions: np.ndarray
    documents: np.ndarray
    named: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Where queries of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def sizes(self) -> np.ndarray:
        """Numbers to read for each query, (n,) int64."""
        if len(self.starts):
            return np.diff(self.starts[self.offsets]) + np.diff(self.offsets)
        return np.diff(self.offsets) * self.dimension

    @property
    def is_sparse(self) -> bool:
        """Whether the rows of the documents are stored sparsely."""
        return len(self.starts) > 0

    @cached_property
    def rows(self) -> QueryArrays:
        """The documents as the kernel reads them."""
        return QueryArrays(
            dense=self.dense,
            indices=self.indices,
            values=self.values,
            starts=self.starts,
            offsets=self.offsets,
            width=self.dimension,
        )

    @cached_property
    def levels(self) -> np.ndarray:
        """The labels of the documents in the span, numbered by their order, int32."""
        return np.unique(self.labels[self.span], return_inverse=True)[1].astype(np.int32)

    @property
    def span(self) -> slice:
        """The places of the documents of these queries in the flat arrays."""
        return slice(int(self.offsets[0]), int(self.offsets[-1]))

    @property
    def query_of(self) -> np.ndarray:
        """The query of each document in the span, (documents of these queries,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def relevant_counts(self) -> np.ndarray:
        """Relevant documents of each query, (n,) int64."""
        before = cumulated(self.relevant)
        return before[self.offsets[1:]] - before[self.offsets[:-1]]

    def take(self, rows: np.ndarray) -> "Queries":
        """A copy of the chosen queries, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        documents, offsets = gathered(self.offsets, rows)
        if len(self.starts):
            entries, starts = gathered(self.starts, documents)
            dense, indices, values = self.dense, self.indices[entries], self.values[entries]
        else:
            entries, _ = gathered(self.offsets * self.dimension, rows)
            dense, indices, values = self.dense[entries], self.indices, self.values
            starts = self.starts
        return replace(
            self,
            offsets=offsets,
            labels=self.labels[documents],
            relevant=self.relevant[documents],
            dense=dense,
            indices=indices,
            values=values,
            starts=starts,
            positions=self.positions[documents],
            documents=self.documents[documents],
            named=self.named[documents],
            **self.each(rows),
        )

    def matrix(self) -> np.ndarray:
        """The rows of all documents in the span as a dense matrix, (documents, d)."""
        span = self.span
        found = np.zeros((span.stop - span.start, self.dimension))
        if len(self.starts):
            counts = np.diff(self.starts[span.start : span.stop + 1])
            entries = slice(self.starts[span.start], self.starts[span.stop])
            row = np.repeat(np.arange(len(found)), counts)
            found[row, self.indices[entries]] = self.values[entries]
            return found
        for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            block = self.dense[a * self.dimension : b * self.dimension]
            found[a - span.start : b - span.start] = block.reshape(self.dimension, b - a).T
        return found

    def fingerprint(self) -> str:
        """SHA-256 of features, queries, relevance and costs, in hexadecimal."""
        span, d = self.span, self.dimension
        dense, starts, entries = self.dense, self.starts, slice(None)
        if self.is_sparse:
            starts = starts[span.start : span.stop + 1]
            entries = slice(int(starts[0]), int(starts[-1]))
            starts = starts - starts[0]
        else:
            dense = dense[span.start * d : span.stop * d]
        return digest(
            d,
            self.offsets - span.start,
            self.relevant[span],
            self.costs,
            dense,
            starts,
            self.indices[entries],
            self.values[entries],
        )

    def identity(self, row: int) -> str:
        """A fingerprint of one query, whatever features the others have."""
        one = self.slice(row, row + 1)
        span = one.span
        if self.is_sparse:
            starts = self.starts[span.start : span.stop + 1]
            entries = slice(int(starts[0]), int(starts[-1]))
            values = self.values[entries]
            rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            columns = self.indices[entries].astype(np.int64)
        else:
            matrix = one.matrix()
            rows, columns = np.nonzero(matrix)
            values = matrix[rows, columns]
        kept = values != 0
        return digest(rows[kept], columns[kept], values[kept], one.relevant[span], one.costs)


def read_queries(
    sources: Sequence[Source], relevant_from: float, indices: IndexBase | None = None
) -> Queries:
    """The documents of SVM-light files, grouped by qid, which may come in any order.

    relevant_from : lowest label of a relevant document
    indices : the first index of features, 1 by default

    The same qid in two files is two queries. Raises DataError if a file cannot be read, if a
    document has no qid, if some labels are known and others are not (``?``), and for features
    beyond what w can hold.
    """
    return packed((indices or IndexBase(1)).read(sources, read_file), sources, relevant_from)


class Plan(NamedTuple):
    """What some of the training files are packed with: features, and whether rows are dense."""

    dimension: int
    dense: bool


def packed(
    files: list[SvmLight],
    sources: Sequence[Source],
    relevant_from: float,
    plan: Plan | None = None,
) -> Queries:
    """The queries of files that were read. Raises DataError if only some labels are known.

    files : emptied, so that their arrays do not stay in memory beside those of the examples
    plan : of all training files, if these are some of them
    """
    before = cumulated([len(file.names) for file in files])
    query = np.concatenate([file.queries + b for file, b in zip(files, before[:-1], strict=True)])
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query, minlength=before[-1])
    labels = np.concatenate([file.labels for file in files])[order]
    unknown = np.isnan(labels)
    if unknown.any() and not unknown.all():
        _refuse_unknown(files, sources)
    offsets = cumulated(counts)
    if plan is None:
        dimension = max(1, *(file.dimension for file in files))
        values = sum(len(file.values) for file in files)
        plan = Plan(dimension, values >= DENSE_FROM * len(order) * dimension)
    dimension = plan.dimension
    documents, named = (np.concatenate(parts) for parts in zip(*map(_docids, files), strict=True))
    lines = np.concatenate([file.lines for file in files])
    queries = [len(file.names) for file in files]
    return Queries(
        identifiers=np.array([name for file in files for name in file.names], dtype=object),
        offsets=offsets,
        labels=labels,
        relevant=(labels >= relevant_from).astype(np.uint8),
        **_stored(files, order, offsets, plan),
        dimension=dimension,
        costs=np.repeat([source.cost for source in sources], queries),
        positions=order.astype(np.int64),
        documents=documents[order],
        named=named[order],
        lines=lines[order[offsets[:-1]]],
        files=np.repeat(np.arange(len(queries), dtype=np.int32), queries),
        paths=tuple(source.path for source in sources),
        labelled=not unknown.any(),
    )


def _refuse_unknown(files: Sequence[SvmLight], sources: Sequence[Source]) -> None:
    for file, source in zip(files, sources, strict=True):
        unknown = np.flatnonzero(np.isnan(file.labels))
        if len(unknown):
            raise no_label(source, int(file.lines[unknown[0]]))


def no_label(source: Source, line: int) -> DataError:
    """The error for a document without a label where others have one."""
    message = "no label ('?') although other documents have one; expected a label"
    return DataError(source.path, line, message)


def read_file(source: Source, base: int | None, why: str) -> SvmLight:
    """The rows of a file. Raises DataError."""
    refuse_label(source)
    file = read_svmlight(source.path, limit=source.limit, base=base, why=why)
    check(source, file)
    return file


def refuse_label(source: Source) -> None:
    """Raise DataError if the configuration gives a label to all documents."""
    if source.label is not None:
        message = (
            f"label {source.label!r} in the configuration has no meaning for ranking; "
            "expected a label on every line of the file"
        )
        raise DataError(source.path, None, message)


def check(source: Source, file: SvmLight) -> None:
    """Raise DataError unless all rows have a query and fit the size of w."""
    lost = np.flatnonzero(file.queries < 0)
    if len(lost):
        message = "the document has no query; expected qid:ID after the label"
        raise DataError(source.path, int(file.lines[lost[0]]), message)
    high = np.flatnonzero(file.labels > HIGHEST)
    if len(high):
        label = file.labels[high[0]]
        message = f"relevance {label:g} has a gain of 2^{label:g}; expected at most {HIGHEST}"
        raise DataError(source.path, int(file.lines[high[0]]), message)
    if file.dimension > MOST_FEATURES:
        message = f"feature {file.highest:,d} is too many; expected at most {MOST_FEATURES:,d}"
        raise DataError(source.path, file.widest_line, message)


def _docids(file: SvmLight) -> tuple[np.ndarray, np.ndarray]:
    """Docids of the rows, (rows,) object, and whether they are the file's own, (rows,) bool.

    A docid is the value after ``docid``, ``doc_id`` or ``DocId`` and ``=`` or ``:`` in the comment,
    else the first word of the comment. Without a comment it is the number of the row, from 1.
    """
    found = np.empty(len(file.comments), dtype=object)
    for row, comment in enumerate(file.comments):
        match = _DOCID.search(comment)
        words = [match[1]] if match else comment.split(None, 1)
        found[row] = words[0].rstrip(",;") if words else ""
    named = found != ""
    found[~named] = [str(row + 1) for row in np.flatnonzero(~named)]
    return found, named


def _stored(
    files: list[SvmLight], order: np.ndarray, offsets: np.ndarray, plan: Plan
) -> dict[str, np.ndarray]:
    """The features of the documents in the given order, as the kernel takes them.

    files : emptied one after another, so that a file is not in memory beside its copy
    """
    dimension = plan.dimension
    if not plan.dense:
        sizes = np.concatenate([np.diff(file.offsets) for file in files])
        return _sparse(files, order, sizes)
    empty = np.empty(0, dtype=np.int64)
    for number, file in enumerate(files):
        if np.all(np.diff(file.offsets) == dimension):  # then the indices are 0, 1, 2 …
            files[number] = replace(file, indices=empty)
        elif dimension <= _SHORT:
            files[number] = replace(file, indices=file.indices.astype(np.uint16))
    del file
    return {
        "dense": _dense(files, order, offsets, dimension),
        "indices": empty.astype(np.int32),
        "values": np.empty(0),
        "starts": empty,
    }


def _sparse(files: list[SvmLight], order: np.ndarray, sizes: np.ndarray) -> dict[str, np.ndarray]:
    """Sparse rows in the given order."""
    indices, values = (_joined(files, name) for name in ("indices", "values"))
    files.clear()
    before = cumulated(sizes)
    starts = cumulated(sizes[order])
    if np.any(order[1:] < order[:-1]):
        places, unordered = (np.empty_like(indices), np.empty_like(values)), (indices, values)
        for rows in _pieces(starts):
            entries, _ = gathered(before, order[rows])
            for place, found in zip(places, unordered, strict=True):
                place[starts[rows.start] : starts[rows.stop]] = found[entries]
        indices, values = places
    return {"dense": np.empty(0), "indices": indices, "values": values, "starts": starts}


def _joined(files: Sequence[SvmLight], name: str) -> np.ndarray:
    parts = [getattr(file, name) for file in files]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _dense(
    files: list[SvmLight], order: np.ndarray, offsets: np.ndarray, dimension: int
) -> np.ndarray:
    """Each query's block of values, feature by feature."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    dense = np.zeros(len(order) * dimension)
    files.reverse()
    done = 0
    while files:
        file = files.pop()
        for rows in _pieces(file.offsets):
            own = place[done + rows.start : done + rows.stop]
            first, count = offsets[query[own]], np.diff(offsets)[query[own]]
            starts = file.offsets[rows.start : rows.stop + 1]
            base, entries = first * dimension + own - first, slice(starts[0], starts[-1])
            if len(file.indices) == len(file.values):
                at = file.indices[entries] * np.repeat(count, np.diff(starts))
                at += np.repeat(base, np.diff(starts))
            else:
                at = (np.arange(dimension) * count[:, None] + base[:, None]).ravel()
            dense[at] = file.values[entries]
        done += len(file.offsets) - 1
    return dense


def _pieces(starts: np.ndarray) -> Iterator[slice]:
    """Pieces of about ten thousand entries, at least one row each."""
    marks = np.arange(0, starts[-1] + _AT_ONCE, _AT_ONCE)
    cuts = np.unique([0, *np.searchsorted(starts, marks), len(starts) - 1])
    for first, last in pairwise(cuts.tolist()):
        yield slice(first, min(last, len(starts) - 1))
