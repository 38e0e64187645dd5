"""Sequences from files: CoNLL columns with templates, and the format of svm_hmm.

The first data that are read determine the vocabulary. In later data, attributes outside of the
vocabulary are dropped, and labels outside of it are kept as names without a number.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lssvm import sparse
from lssvm.applications.base import Source
from lssvm.applications.sequence import templates
from lssvm.applications.sequence.examples import (
    DENSE_FROM,
    Rows,
    SequenceExamples,
    Tags,
    ones,
    packed,
)
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import DataError, counted
from lssvm.formats.conll_columns import ColumnFile, Lines, column_parts, read_columns
from lssvm.formats.svm_hmm import UNKNOWN, TaggedTokens, read_svm_hmm, svm_hmm_parts
from lssvm.kernels.text_arrays import DistinctWords
from lssvm.offsets import cumulated, narrowed

MOST_FEATURES = 10_000_000  # of a token; w holds L numbers for each
MOST_LABELS = 10_000  # w holds L² numbers
_NO_LABELS = "no token has a label; expected labels for training"
_AT_ONCE = 10_000  # tokens whose attributes are packed at a time


class Layout(NamedTuple):
    """The layout of files and the attributes of tokens, from the options.

    columns, label : names of the columns of a CoNLL file, and which one is the label
    templates : their texts
    bias : value of the constant feature, 0 for none
    min_count : smallest number of training tokens with an attribute
    """

    columns: tuple[str, ...]
    label: str
    templates: tuple[str, ...]
    bias: float
    min_count: int


class Plan(NamedTuple):
    """What some of the training files are packed with, beside the vocabulary.

    dense : whether the rows of all files are so; None if they are all here
    rare : (features,) bool, numbered features that are left out
    places : for each file with columns, by its path: the numbers of its attributes, (names,) int32
        for each template; -1 for those that are left out
    """

    dense: bool | None
    rare: np.ndarray | None
    places: Mapping[str, tuple[np.ndarray, ...]] = {}


class FileColumns(NamedTuple):
    """A file of columns whose attributes have numbers of its own.

    file : without its columns; tags : the labels of its tokens
    attributes : (tokens,) int32 for each template, -1: none
    """

    file: ColumnFile
    tags: Tags
    attributes: tuple[np.ndarray, ...]


ALL_HERE = Plan(None, None)


def read_conll(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary | None
) -> SequenceExamples:
    """The sentences of CoNLL files. Raises DataError."""
    known = tuple(DistinctWords() for _ in layout.columns)
    files = [columns_of(source, layout, known) for source in sources]
    return sentences(files, sources, layout, vocabulary)


def conll_parts(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary
) -> Iterator[SequenceExamples]:
    """The sentences of :func:`read_conll` in parts, in order, at least one. Raises DataError."""
    optional = int(layout.label == layout.columns[-1])
    for number, source in enumerate(sources):
        _refuse_label(source)
        count = 0
        for part in column_parts(source.path, layout.columns, optional, source.limit):
            found = sentences([part], [source], layout, vocabulary)
            names = [str(count + place) for place in range(1, len(found) + 1)]
            count += len(found)
            found = replace(found, identifiers=np.array(names, dtype=object))
            yield _of_file(found, number, sources)


def sentences(
    files: Sequence[ColumnFile],
    sources: Sequence[Source],
    layout: Layout,
    vocabulary: Vocabulary | None,
) -> SequenceExamples:
    """The examples of files that share the numbers of their values."""
    tags = tags_of(files, layout)
    offsets = _joined([file.offsets for file in files])
    columns = columns_to_read(files, layout)
    parsed = [templates.parse(text, list(columns)) for text in layout.templates]
    tokens = templates.Tokens.numbered(columns, offsets)
    if vocabulary is None:
        attributes: list[str] = []
        found = _learnt(tokens, parsed, layout, attributes)
        told = labels_in(files[0], layout)
        if not told:
            raise _without_labels(files[0], sources[0], layout)
        vocabulary = vocabulary_of(sources, told, len(attributes), tuple(attributes), layout.bias)
    else:
        found = _known(tokens, parsed, vocabulary)
    return _with_attributes(found, tags, files, sources, layout.bias, vocabulary, None)


def with_places(
    parts: Sequence[FileColumns],
    sources: Sequence[Source],
    layout: Layout,
    vocabulary: Vocabulary,
    plan: Plan,
) -> SequenceExamples:
    """The examples of files, whose attributes are given their numbers of the vocabulary."""
    number: dict[str | None, int] = {}
    labels = []
    for part in parts:
        own = [number.setdefault(name, len(number)) for name in part.tags.names]
        labels.append(np.array(own, dtype=np.int32)[part.tags.codes])
    bounds = cumulated([len(part.file.rows) for part in parts])
    size = len(layout.templates) + vocabulary.bias
    found = np.empty((int(bounds[-1]), size), dtype=np.int32)
    for part, source, (begin, end) in zip(parts, sources, pairwise(bounds.tolist()), strict=True):
        columns = zip(plan.places[source.path], part.attributes, strict=True)
        for column, (places, codes) in enumerate(columns):
            found[begin:end, column] = np.append(places, np.int32(-1))[codes]
    tags, files = Tags(tuple(number), _concatenated(labels)), [part.file for part in parts]
    return _with_attributes(found, tags, files, sources, layout.bias, vocabulary, plan.dense)


def _with_attributes(
    found: np.ndarray,
    tags: Tags,
    files: Sequence[ColumnFile],
    sources: Sequence[Source],
    bias: float,
    vocabulary: Vocabulary,
    dense: bool | None,
) -> SequenceExamples:
    """The examples of files.

    found : as of :func:`_matrix`, without the constant feature
    dense : whether rows become so; by default, if many of their values are given
    """
    if vocabulary.bias:
        found[:, -1] = vocabulary.width - 1
    matrix = _matrix(found, vocabulary, bias, dense)
    rows = Lines.joined([file.rows for file in files])
    names = [str(number) for file in files for number in range(1, len(file.lines) + 1)]
    offsets = _joined([file.offsets for file in files])
    return _packed(matrix, tags, offsets, vocabulary, sources, files, names, rows, dense)


def columns_to_read(
    files: Sequence[ColumnFile], layout: Layout
) -> dict[str, tuple[Sequence[str], np.ndarray]]:
    """Distinct texts and codes of the columns that attributes are made of, by name."""
    columns: dict[str, tuple[Sequence[str], np.ndarray]] = {}
    for column, name in enumerate(layout.columns):
        if name != layout.label:
            codes = _concatenated([file.codes[column] for file in files])
            columns[name] = files[0].words[column].texts(), codes
    return columns


def labels_in(file: ColumnFile, layout: Layout) -> tuple[str, ...]:
    """The labels of a file, and of those that were read with it, as they first occur."""
    words = file.words[layout.columns.index(layout.label)].texts()
    return tuple(word for word in words if word != UNKNOWN)


def tags_of(files: Sequence[ColumnFile], layout: Layout) -> Tags:
    """The labels of all tokens of files that share the numbers of their values."""
    place = layout.columns.index(layout.label)
    words = tuple(None if word == UNKNOWN else word for word in files[0].words[place].texts())
    return Tags((*words, None), _labels(files, place))


def _without_labels(file: ColumnFile, source: Source, layout: Layout) -> DataError:
    """The error for training files without labels, with what the first one has instead."""
    count = len(file.codes)
    has = f"{counted(count, 'column')}: {', '.join(layout.columns[:count])}"
    seen = "" if count == len(layout.columns) else f" (line {file.lines[0]} has {has})"
    return DataError(source.path, None, f"{_NO_LABELS}{seen}")


def _labels(files: Sequence[ColumnFile], place: int) -> np.ndarray:
    """The number of the label of each token; -1 in files without a label column."""
    parts = [
        file.codes[place] if place < len(file.codes) else np.full(len(file.rows), -1, np.int32)
        for file in files
    ]
    return _concatenated(parts)


def read_numeric(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary | None
) -> SequenceExamples:
    """The sequences of svm_hmm files. Raises DataError."""
    files = [tagged(source) for source in sources]
    return numbered(files, sources, layout, vocabulary)


def numeric_parts(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary
) -> Iterator[SequenceExamples]:
    """The sequences of :func:`read_numeric` in parts, in order. Raises DataError."""
    for number, source in enumerate(sources):
        _refuse_label(source)
        for part in svm_hmm_parts(source.path, source.limit):
            _check_dimension(source, part)
            found = numbered([part], [source], layout, vocabulary)
            yield _of_file(found, number, sources)


def _of_file(
    examples: SequenceExamples, number: int, sources: Sequence[Source]
) -> SequenceExamples:
    """A part of the file of that number."""
    return replace(
        examples,
        files=np.full(len(examples), number, dtype=np.int32),
        paths=tuple(source.path for source in sources),
    )


def numbered(
    files: Sequence[TaggedTokens],
    sources: Sequence[Source],
    layout: Layout,
    vocabulary: Vocabulary | None,
    attributes: tuple[str, ...] | None = None,
    plan: Plan = ALL_HERE,
) -> SequenceExamples:
    """The examples of files of numbered features.

    attributes : the names of the features in training data, if they have names
    plan : for some of the training files
    """
    tags = [tag for file in files for tag in file.tags]
    starts = _joined([file.starts for file in files])
    indices = np.concatenate([file.indices for file in files])
    values = np.concatenate([file.values for file in files])
    if vocabulary is None:
        width = max(file.dimension for file in files)
        vocabulary = vocabulary_of(sources, tags, width, attributes, layout.bias)
        rare = np.bincount(indices[values != 0], minlength=width) < layout.min_count
        plan = plan._replace(rare=rare)
    if plan.rare is not None:
        values = np.where(plan.rare[indices], 0.0, values)
    width = vocabulary.width - vocabulary.bias
    kept = (indices < width) & (values != 0)
    before = cumulated(kept)
    parts = (values[kept], indices[kept], narrowed(before[starts]))
    matrix = sparse.csr_array(parts, shape=(len(tags), width))
    if vocabulary.bias:
        constant = sparse.csr_array(np.full((len(tags), 1), layout.bias))
        matrix = sparse.csr_array(sparse.hstack([matrix, constant], format="csr"))
    offsets = _joined([file.offsets for file in files])
    names = [name for file in files for name in file.names]
    return _packed(matrix, tags, offsets, vocabulary, sources, files, names, None, plan.dense)


def columns_of(source: Source, layout: Layout, known: tuple[DistinctWords, ...]) -> ColumnFile:
    """A file of columns. known : the values of each, to which new ones are added"""
    _refuse_label(source)
    optional = int(layout.label == layout.columns[-1])
    return read_columns(source.path, layout.columns, optional, source.limit, known)


def tagged(source: Source) -> TaggedTokens:
    """A file of svm_hmm. Raises DataError."""
    _refuse_label(source)
    file = read_svm_hmm(source.path, source.limit)
    _check_dimension(source, file)
    return file


def _check_dimension(source: Source, file: TaggedTokens) -> None:
    if file.dimension > MOST_FEATURES:
        message = f"feature {file.dimension:,d} is too many; expected at most {MOST_FEATURES:,d}"
        raise DataError(source.path, None, message)


def _refuse_label(source: Source) -> None:
    if source.label is not None:
        message = (
            f"label {source.label!r} has no meaning for sequences; expected labels in the file"
        )
        raise DataError(source.path, None, message)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets of several files as those of their concatenation."""
    return cumulated(np.concatenate([np.diff(part) for part in parts]))


def _concatenated(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _learnt(
    tokens: templates.Tokens,
    parsed: Sequence[templates.Template],
    layout: Layout,
    attributes: list[str],
) -> np.ndarray:
    """The attributes of all tokens by template, (tokens, templates) int32, -1: none.

    attributes : empty; the attributes of enough tokens are added, template by template
    """
    found = _empty(tokens, parsed, layout.bias != 0)
    for column, template in enumerate(parsed):
        names, codes = tokens.attributes(template)
        if layout.min_count > 1:
            counts = np.bincount(codes[codes >= 0], minlength=len(names))
            frequent = counts >= layout.min_count
            places = np.where(frequent, np.cumsum(frequent) - 1 + len(attributes), -1)
            names = [names[row] for row in np.flatnonzero(frequent).tolist()]
        else:
            places = np.arange(len(attributes), len(attributes) + len(names))
        found[:, column] = np.append(places, -1).astype(np.int32)[codes]
        attributes += names
    return found


def _known(
    tokens: templates.Tokens, parsed: Sequence[templates.Template], vocabulary: Vocabulary
) -> np.ndarray:
    """The same as :func:`_learnt`, for the attributes of a vocabulary."""
    found = _empty(tokens, parsed, vocabulary.bias)
    for column, template in enumerate(parsed):
        names, codes = tokens.attributes(template)
        places = [vocabulary.number.get(name, -1) for name in names]
        found[:, column] = np.array([*places, -1], dtype=np.int32)[codes]
    return found


def _empty(
    tokens: templates.Tokens, parsed: Sequence[templates.Template], bias: bool
) -> np.ndarray:
    """An array for the attributes of all tokens and an appended constant one."""
    return np.empty((len(tokens), len(parsed) + bias), dtype=np.int32)


def vocabulary_of(
    sources: Sequence[Source],
    tags: Sequence[str | None],
    width: int,
    names: tuple[str, ...] | None,
    bias: float,
) -> Vocabulary:
    """What training learns. Raises DataError without labels, or for too many names."""
    labels = tuple(dict.fromkeys(tag for tag in tags if tag is not None))
    if not labels:
        raise DataError(sources[0].path, None, _NO_LABELS)
    if len(labels) > MOST_LABELS:
        message = f"{len(labels):,d} different labels; expected at most {MOST_LABELS:,d}"
        raise DataError(sources[0].path, None, message)
    if width > MOST_FEATURES:
        message = f"{width:,d} attributes; expected at most {MOST_FEATURES:,d}: raise min_count"
        raise DataError(sources[0].path, None, message)
    return Vocabulary(labels, width + (bias != 0), names, bias != 0)


def _matrix(
    found: np.ndarray, vocabulary: Vocabulary, bias: float, dense: bool | None
) -> "Rows | sparse.csr_array":
    """The attributes of all tokens, (tokens, width); SciPy is needed only where they are many.

    found : (tokens, attributes of one) int32, -1: none, which is overwritten; the last one is the
        constant feature where there is one
    """
    indices, counts, size = found.reshape(-1), np.empty(len(found), dtype=np.int64), 0
    for first in range(0, len(found), _AT_ONCE):
        part = found[first : first + _AT_ONCE]
        present = part >= 0
        kept = part[present]
        counts[first : first + _AT_ONCE] = np.count_nonzero(present, axis=1)
        indices[size : size + len(kept)] = kept  # never beyond what was read of ``found``
        size += len(kept)
    starts, values = cumulated(counts), ones(size)
    if vocabulary.bias and bias != 1.0:
        values = np.ones(size)
        values[starts[1:] - 1] = bias
    if dense is None:
        dense = size >= DENSE_FROM * len(found) * vocabulary.width
    if not dense:
        return Rows(np.empty((0, vocabulary.width)), indices[:size], values, starts)
    parts = (np.ascontiguousarray(values), indices[:size], narrowed(starts))
    return sparse.csr_array(parts, shape=(len(found), vocabulary.width))


def _packed(
    matrix: "Rows | sparse.csr_array",
    tags: Sequence[str | None] | Tags,
    offsets: np.ndarray,
    vocabulary: Vocabulary,
    sources: Sequence[Source],
    files: Sequence[Any],
    names: Sequence[str],
    rows: Lines | None,
    dense: bool | None,
) -> SequenceExamples:
    if not isinstance(matrix, Rows):
        if dense is None:
            dense = matrix.nnz >= DENSE_FROM * matrix.shape[0] * matrix.shape[1]
        matrix = matrix.toarray() if dense else matrix
    counts = [len(file.lines) for file in files]
    return packed(
        matrix,
        tags,
        offsets,
        vocabulary,
        costs=np.repeat([source.cost for source in sources], counts),
        identifiers=names,
        rows=rows,
        lines=np.concatenate([file.lines for file in files]),
        files=np.repeat(np.arange(len(files)), counts),
        paths=[source.path for source in sources],
    )
