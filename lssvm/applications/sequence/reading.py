"""Sequences from files: CoNLL columns with templates, and the format of svm_hmm.

The first data that are read determine the vocabulary. In later data, attributes outside of the
vocabulary are dropped, and labels outside of it are kept as names without a number.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from lssvm.applications.base import Source
from lssvm.applications.sequence import templates
from lssvm.applications.sequence.examples import DENSE_FROM, SequenceExamples, packed
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import DataError
from lssvm.formats.conll_columns import ColumnFile, read_columns
from lssvm.formats.svm_hmm import UNKNOWN, TaggedTokens, read_svm_hmm
from lssvm.offsets import cumulated

MOST_FEATURES = 10_000_000  # of a token; w holds L numbers for each
MOST_LABELS = 10_000  # w holds L² numbers


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


def read_conll(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary | None
) -> SequenceExamples:
    """The sentences of CoNLL files. Raises DataError."""
    files = [_columns(source, layout) for source in sources]
    place = layout.columns.index(layout.label)
    tags: list[str | None] = []
    for file in files:
        known = place < len(file.values)
        words = file.values[place] if known else [UNKNOWN] * len(file.rows)
        tags += [None if word == UNKNOWN else word for word in words]
    offsets = _joined([file.offsets for file in files])
    inputs = [name for name in layout.columns if name != layout.label]
    columns = {
        name: [text for file in files for text in file.values[layout.columns.index(name)]]
        for name in inputs
    }
    parsed = [templates.parse(text, inputs) for text in layout.templates]
    tokens = templates.Tokens(columns, offsets)
    found = [tokens.attributes(template) for template in parsed]
    if vocabulary is None:
        attributes = _frequent(found, layout.min_count)
        vocabulary = _vocabulary(sources, tags, len(attributes), attributes, layout.bias)
    matrix = _matrix(found, vocabulary, len(tags))
    rows = [row for file in files for row in file.rows]
    names = [str(number) for file in files for number in range(1, len(file.lines) + 1)]
    return _packed(matrix, tags, offsets, vocabulary, sources, files, names, layout, rows)


def read_numeric(
    sources: Sequence[Source], layout: Layout, vocabulary: Vocabulary | None
) -> SequenceExamples:
    """The sequences of svm_hmm files. Raises DataError."""
    files = [_tagged(source) for source in sources]
    tags = [tag for file in files for tag in file.tags]
    starts = _joined([file.starts for file in files])
    indices = np.concatenate([file.indices for file in files])
    values = np.concatenate([file.values for file in files])
    if vocabulary is None:
        width = max(file.dimension for file in files)
        vocabulary = _vocabulary(sources, tags, width, None, layout.bias)
        seen = np.bincount(indices[values != 0], minlength=width)
        values = np.where(seen[indices] >= layout.min_count, values, 0.0)
    width = vocabulary.width - vocabulary.bias
    kept = (indices < width) & (values != 0)
    before = cumulated(kept)
    parts = (values[kept], indices[kept], before[starts])
    matrix = sparse.csr_array(parts, shape=(len(tags), width))
    offsets = _joined([file.offsets for file in files])
    names = [name for file in files for name in file.names]
    return _packed(matrix, tags, offsets, vocabulary, sources, files, names, layout, None)


def _columns(source: Source, layout: Layout) -> ColumnFile:
    _refuse_label(source)
    optional = int(layout.label == layout.columns[-1])
    return read_columns(source.path, layout.columns, optional, source.limit)


def _tagged(source: Source) -> TaggedTokens:
    _refuse_label(source)
    file = read_svm_hmm(source.path, source.limit)
    if file.dimension > MOST_FEATURES:
        message = f"feature {file.dimension:,d} is too many; expected at most {MOST_FEATURES:,d}"
        raise DataError(source.path, None, message)
    return file


def _refuse_label(source: Source) -> None:
    if source.label is not None:
        message = (
            f"label {source.label!r} has no meaning for sequences; expected labels in the file"
        )
        raise DataError(source.path, None, message)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets of several files as those of their concatenation."""
    return cumulated(np.concatenate([np.diff(part) for part in parts]))


def _frequent(found: Sequence[tuple[list[str], np.ndarray]], least: int) -> tuple[str, ...]:
    """The attributes that enough tokens have, template by template."""
    kept: list[str] = []
    for names, codes in found:
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        kept += [name for name, count in zip(names, counts, strict=True) if count >= least]
    return tuple(kept)


def _vocabulary(
    sources: Sequence[Source],
    tags: Sequence[str | None],
    width: int,
    names: tuple[str, ...] | None,
    bias: float,
) -> Vocabulary:
    labels = tuple(dict.fromkeys(tag for tag in tags if tag is not None))
    if not labels:
        raise DataError(sources[0].path, None, "no token has a label; expected labels for training")
    if len(labels) > MOST_LABELS:
        message = f"{len(labels):,d} different labels; expected at most {MOST_LABELS:,d}"
        raise DataError(sources[0].path, None, message)
    if width > MOST_FEATURES:
        message = f"{width:,d} attributes; expected at most {MOST_FEATURES:,d}: raise min_count"
        raise DataError(sources[0].path, None, message)
    return Vocabulary(labels, width + (bias != 0), names, bias != 0)


def _matrix(
    found: Sequence[tuple[list[str], np.ndarray]], vocabulary: Vocabulary, count: int
) -> sparse.csr_array:
    """The attributes of all tokens in the vocabulary, (tokens, width without bias)."""
    number = {name: index for index, name in enumerate(vocabulary.attributes or ())}
    columns = np.full((count, len(found)), -1, dtype=np.int64)
    for place, (names, codes) in enumerate(found):
        known = np.array([number.get(name, -1) for name in names] + [-1], dtype=np.int64)
        columns[:, place] = known[codes]
    present = columns >= 0
    starts = cumulated(present.sum(axis=1))
    indices = columns[present]
    parts = (np.ones(len(indices)), indices, starts)
    return sparse.csr_array(parts, shape=(count, vocabulary.width - vocabulary.bias))


def _packed(
    matrix: sparse.csr_array,
    tags: Sequence[str | None],
    offsets: np.ndarray,
    vocabulary: Vocabulary,
    sources: Sequence[Source],
    files: Sequence[Any],
    names: Sequence[str],
    layout: Layout,
    rows: Sequence[str] | None,
) -> SequenceExamples:
    if vocabulary.bias:
        constant = sparse.csr_array(np.full((matrix.shape[0], 1), layout.bias))
        matrix = sparse.csr_array(sparse.hstack([matrix, constant], format="csr"))
    dense = matrix.nnz >= DENSE_FROM * matrix.shape[0] * matrix.shape[1]
    counts = [len(file.lines) for file in files]
    return packed(
        matrix.toarray() if dense else matrix,
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
