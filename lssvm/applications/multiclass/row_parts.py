"""Rows of features in parts, for predictions of files of any size."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.index_base import IndexBase
from lssvm.applications.multiclass.labelled_rows import (
    LabelledRows,
    in_memory,
    in_order,
    relabelled,
    with_labels_alike,
)
from lssvm.formats.svmlight import SvmLight, svmlight_parts


def row_parts(
    sources: Sequence[Source],
    classes: Sequence[str],
    indices: IndexBase,
    packed: Callable[[list[SvmLight], Sequence[Source]], LabelledRows],
) -> Iterator[LabelledRows]:
    """The rows of SVM-light files in parts, in order. Raises DataError.

    classes : labels of training, which come first; packed : makes examples of a file
    """
    names, count = tuple(classes), 0
    for number, source in enumerate(sources):
        for part in _file_parts(source, indices.base, indices.why):
            files = with_labels_alike([part], names)
            names = tuple(dict.fromkeys((*names, *files[0].words)))
            found = packed(files, [source])
            yield replace(
                found,
                numbers=found.numbers + count,
                files=np.full(len(found), number, dtype=np.int32),
                paths=tuple(source.path for source in sources),
            )
            count += len(found)


def _file_parts(source: Source, base: int, why: str) -> Iterator[SvmLight]:
    """The file that :func:`read_file` reads, in parts. Raises DataError."""
    for part in svmlight_parts(source.path, True, source.limit, base, why):
        yield relabelled(source, part)


def labels_alone(examples: LabelledRows) -> LabelledRows:
    """The rows with only their labels."""
    empty = in_memory(np.empty((0, 0)), np.empty(0), examples.label_names, examples.columns)
    return replace(empty, labels=examples.labels, paths=examples.paths)


def joined_labels(parts: Sequence[LabelledRows], classes: int) -> LabelledRows:
    """The labels of several parts in one. classes : number of labels that come first in each"""
    others = {name for part in parts for name in part.label_names[classes:]}
    names = (*parts[0].label_names[:classes], *in_order(others))
    number = {name: row for row, name in enumerate(names)}
    labels = [
        np.array([number[name] for name in part.label_names], dtype=np.int32)[part.labels]
        for part in parts
    ]
    return replace(parts[0], labels=np.concatenate(labels), label_names=names)
