"""Queries in parts, for predictions of files of any size."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.index_base import IndexBase
from lssvm.applications.ranking.queries import Queries, check, packed, refuse_label
from lssvm.errors import DataError
from lssvm.formats.svmlight import SvmLight, svmlight_parts
from lssvm.formats.text import STDIN
from lssvm.kernels.text_arrays import DistinctWords
from lssvm.offsets import cumulated


def divisible(sources: Sequence[Source], indices: IndexBase) -> bool:
    """Whether the files can be read twice, and the documents of each query are neighbours.

    The files are read once for this. Files that are refused are not divisible either.
    """
    parts = 0
    known: set[bool] = set()
    try:
        for source in sources:
            if source.path == STDIN:
                return False
            refuse_label(source)
            names, last = DistinctWords(), -1
            for file in svmlight_parts(source.path, False, source.limit, indices.base, indices.why):
                check(source, file)
                before = len(names)
                codes = np.array([names.code(name) for name in file.names])[file.queries]
                begun = codes[np.flatnonzero(np.diff(codes, prepend=last))]
                if not np.array_equal(begun, np.arange(before, before + len(begun))):
                    return False
                last = int(codes[-1])
                parts += 1
                known |= set(np.isnan(file.labels).tolist())
    except DataError:
        return False
    return parts > 1 and len(known) == 1


def query_parts(
    sources: Sequence[Source], relevant_from: float, indices: IndexBase
) -> Iterator[Queries]:
    """The queries of files that are :func:`divisible`, in parts, in order. Raises DataError."""
    for number, source in enumerate(sources):
        for file in _whole_queries(source, indices):
            found = packed([file], [source], relevant_from)
            yield replace(
                found,
                files=np.full(len(found), number, dtype=np.int32),
                paths=tuple(source.path for source in sources),
            )


def _whole_queries(source: Source, indices: IndexBase) -> Iterator[SvmLight]:
    """The rows of a file in parts of whole queries."""
    rest: list[SvmLight] = []  # pieces of the query that the last part ended with
    for part in svmlight_parts(source.path, False, source.limit, indices.base, indices.why):
        rest.append(part)
        if len(part.names) == 1 and all(piece.names == part.names for piece in rest):
            continue
        file = _joined(rest)
        begin = int(np.searchsorted(file.queries, file.queries[-1]))
        if begin:
            yield _rows(file, 0, begin)
        rest = [_rows(file, begin, len(file.queries))]
    if rest:
        yield _joined(rest)


def _rows(file: SvmLight, first: int, last: int) -> SvmLight:
    """Some rows of a file whose queries are in order."""
    own = slice(file.offsets[first], file.offsets[last])
    queries = file.queries[first:last]
    return replace(
        file,
        labels=file.labels[first:last],
        queries=queries - queries[0],
        names=file.names[queries[0] : queries[-1] + 1],
        offsets=file.offsets[first : last + 1] - file.offsets[first],
        indices=file.indices[own],
        values=file.values[own],
        comments=file.comments[first:last],
        lines=file.lines[first:last],
    )


def _joined(parts: Sequence[SvmLight]) -> SvmLight:
    """The rows of parts of a file that follow each other; a query may go on in the next part."""
    if len(parts) == 1:
        return parts[0]
    names: tuple[str, ...] = ()
    queries = []
    for part in parts:
        again = int(names[-1:] == part.names[:1])
        queries.append(part.queries + (len(names) - again))
        names += part.names[again:]
    return replace(
        parts[0],
        labels=np.concatenate([part.labels for part in parts]),
        queries=np.concatenate(queries),
        names=names,
        offsets=cumulated(np.concatenate([np.diff(part.offsets) for part in parts])),
        indices=np.concatenate([part.indices for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        comments=tuple(comment for part in parts for comment in part.comments),
        lines=np.concatenate([part.lines for part in parts]),
    )


def labels_alone(examples: Queries) -> Queries:
    """The labels of documents by query, without features and names."""
    none, names = np.empty(0), np.empty(0, dtype=object)
    whole = np.empty(0, dtype=np.int64)
    return replace(
        examples,
        dense=none,
        indices=whole.astype(np.int32),
        values=none,
        starts=whole,
        positions=whole,
        documents=names,
        named=whole.astype(bool),
        identifiers=names,
        lines=whole,
        files=whole.astype(np.int32),
    )


def joined_labels(parts: Sequence[Queries]) -> Queries:
    """The labels of several parts that :func:`labels_alone` gave."""
    labels, relevant, costs = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("labels", "relevant", "costs")
    )
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return replace(
        parts[0], labels=labels, relevant=relevant, costs=costs, offsets=cumulated(counts)
    )
