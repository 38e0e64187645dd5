"""Graphs in parts, for predictions of files of any size."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.mrf.graphs import Graphs, Known, packed
from lssvm.errors import DataError
from lssvm.formats import image_list
from lssvm.formats.limit import Limit
from lssvm.formats.mrf_npz import npz_parts, read_npz
from lssvm.formats.mrf_text import GraphFile, graph_parts, read_graphs
from lssvm.offsets import cumulated


def read_file(source: Source) -> GraphFile:
    """The graphs of a source, in the format that its name tells. Raises DataError."""
    _refuse_label(source)
    read: Callable[[str, Limit], GraphFile] = read_graphs
    if _is_list(source.path):
        read = image_list.read_images
    elif source.path.endswith(".npz"):
        read = read_npz
    return read(source.path, source.limit)


def parts_of(sources: Sequence[Source], classes: GraphClasses) -> Iterator[Graphs]:
    """The graphs of sources in parts, in order. Raises DataError.

    classes : those of a model
    """
    known = Known(classes)
    for number, source in enumerate(sources):
        for file in _file_parts(source):
            found = packed([(source, file)], classes, known)
            yield replace(
                found,
                files=np.full(len(found), number, dtype=np.int32),
                paths=tuple(source.path for source in sources),
            )


def _file_parts(source: Source) -> Iterator[GraphFile]:
    """The graphs that :func:`read_file` reads, in parts."""
    _refuse_label(source)
    if _is_list(source.path):
        yield from image_list.image_parts(source.path, source.limit)
    elif source.path.endswith(".npz"):
        yield from npz_parts(source.path, source.limit)
    else:
        yield from graph_parts(source.path, source.limit)


def _is_list(path: str) -> bool:
    return image_list.SUFFIX in Path(path).suffixes


def _refuse_label(source: Source) -> None:
    if source.label is not None:
        message = f"label {source.label!r} is given in the configuration"
        raise DataError(source.path, None, f"{message}; expected labels in the file")


def labels_alone(examples: Graphs) -> Graphs:
    """The labels of graphs, without features and names."""
    names, whole = np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    small = whole.astype(np.int32)
    return replace(
        examples,
        node_offsets=examples.node_offsets - examples.node_offsets[0],
        labels=examples.labels[examples.nodes],
        edge_offsets=whole,
        item_offsets=whole,
        ends=np.empty((0, 2), dtype=np.int32),
        starts=whole,
        indices=small,
        values=np.empty(0),
        bases=whole,
        tables=small,
        pictures=names,
        node_names=names,
        identifiers=names,
        lines=whole,
        files=small,
        cache={},
    )


def joined_labels(parts: Sequence[Graphs]) -> Graphs:
    """The labels of several parts that :func:`labels_alone` gave."""
    labels, costs = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "costs")
    )
    counts = np.concatenate([np.diff(part.node_offsets) for part in parts])
    return replace(
        parts[0],
        labels=labels,
        costs=costs,
        node_offsets=cumulated(counts),
        labelled=bool(np.any(labels >= 0)),
    )
