"""Sequences from files: CoNLL columns with templates, and the format of svm_hmm.

The first data that are read fix the vocabulary. Later ones are told by it: attributes that it
does not hold are dropped, labels that it does not hold are kept as names without a number.
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
from lssvm.formats.conll_columns import Columns, Lines, read_columns
from lssvm.formats.svm_hmm import UNKNOWN, TaggedTokens, read_svm_hmm
from lssvm.kernels.text_arrays import DistinctWords
from lssvm.offsets import cumulated

MOST_FEATURES = 10_000_000  # of a token; w holds L numbers for each
MOST_LABELS = 10_000  # w holds L² numbers


class Layout(NamedTuple):
    """What files look like and what is made of their tokens; as the options have it.

    columns, label : names of the columns of a CoNLL file, and which one is the label
    templates : their texts
    bias : value of the constant feature, 0 for none
    min_count : tokens that an attribute must occur in, in training
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
    known = tuple(DistinctWords() for _ in layout.columns)
    files = [_columns(source, layout, known) for source in sources]
    place = layout.columns.index(layout.label)
    labels, words = _labels(files, place), known[place].texts()
    offsets = _joined([file.offsets for file in files])
    inputs = [name for name in layout.columns if name != layout.label]
    columns = {}
    for name in inputs:
        column = layout.columns.index(name)
        codes = np.concatenate([file.codes[column] for file in files])
        columns[name] = known[column].texts(), codes
    parsed = [templates.parse(text, inputs) for text in layout.templates]
    tokens = templates.Tokens.numbered(columns, offsets)
    found = [tokens.attributes(template) for template in parsed]
    if vocabulary is None:
        attributes, places = _frequent(found, layout.min_count)
        told = [word for word in words if word != UNKNOWN]
        vocabulary = _vocabulary(sources, told, len(attributes), attributes, layout.bias)
    else:
        number = vocabulary.number
        places = [np.array([number.get(name, -1) for name in names]) for names, _ in found]
    pairs = [(codes, own) for (_, codes), own in zip(found, places, strict=True)]
    matrix = _matrix(pairs, int(offsets[-1]), vocabulary, layout.bias)
    tags = np.array([None if word == UNKNOWN else word for word in (*words, UNKNOWN)], object)
    rows = Lines.joined([file.rows for file in files])
    names = [str(number) for file in files for number in range(1, len(file.lines) + 1)]
    return _packed(matrix, tags[labels], offsets, vocabulary, sources, files, names, rows)


def _labels(files: Sequence[Columns], place: int) -> np.ndarray:
    """The number of each token's label; -1 in files that have no such column."""
    parts = [
        file.codes[place] if place < len(file.codes) else np.full(len(file.rows), -1, np.int32)
        for file in files
    ]
    return np.concatenate(parts)


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
    if vocabulary.bias:
        constant = sparse.csr_array(np.full((len(tags), 1), layout.bias))
        matrix = sparse.csr_array(sparse.hstack([matrix, constant], format="csr"))
    offsets = _joined([file.offsets for file in files])
    names = [name for file in files for name in file.names]
    return _packed(matrix, tags, offsets, vocabulary, sources, files, names, None)


def _columns(source: Source, layout: Layout, known: tuple[DistinctWords, ...]) -> Columns:
    _refuse_label(source)
    optional = int(layout.label == layout.columns[-1])
    return read_columns(source.path, layout.columns, optional, source.limit, known)


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


def _frequent(
    found: Sequence[tuple[list[str], np.ndarray]], least: int
) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """The attributes that enough tokens have, template by template, and where each one is.

    The places of a template's attributes, (names,) int64; -1: too few tokens have it.
    """
    kept: list[str] = []
    places = []
    for names, codes in found:
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        frequent = counts >= least
        places.append(np.where(frequent, np.cumsum(frequent) - 1 + len(kept), -1))
        kept += names if frequent.all() else [names[row] for row in np.flatnonzero(frequent)]
    return tuple(kept), places


def _vocabulary(
    sources: Sequence[Source],
    tags: Sequence[str | None],
    width: int,
    names: tuple[str, ...] | None,
    bias: float,
) -> Vocabulary:
    labels = tuple(dict.fromkeys(tag for tag in tags if tag is not None))
    if not labels:
        raise DataError(sources[0].path, None, "no token has a label; expected labels to train on")
    if len(labels) > MOST_LABELS:
        message = f"{len(labels):,d} different labels; expected at most {MOST_LABELS:,d}"
        raise DataError(sources[0].path, None, message)
    if width > MOST_FEATURES:
        message = f"{width:,d} attributes; expected at most {MOST_FEATURES:,d}: raise min_count"
        raise DataError(sources[0].path, None, message)
    return Vocabulary(labels, width + (bias != 0), names, bias != 0)


def _matrix(
    found: Sequence[tuple[np.ndarray, np.ndarray]], count: int, vocabulary: Vocabulary, bias: float
) -> sparse.csr_array:
    """The attributes of all tokens that the vocabulary holds, (tokens, width).

    found : of each template the (tokens,) attributes, or -1, and the places of these attributes
    """
    columns = np.full((count, len(found) + vocabulary.bias), vocabulary.width - 1, dtype=np.int32)
    for template, (codes, places) in enumerate(found):
        columns[:, template] = np.append(places, -1)[codes]
    present = columns >= 0
    starts = cumulated(np.count_nonzero(present, axis=1))
    indices = columns.ravel() if len(columns) * columns.shape[1] == starts[-1] else columns[present]
    values = np.ones(len(indices))
    if vocabulary.bias:
        values[starts[1:] - 1] = bias
    return sparse.csr_array((values, indices, starts), shape=(count, vocabulary.width))


def _packed(
    matrix: sparse.csr_array,
    tags: Sequence[str | None],
    offsets: np.ndarray,
    vocabulary: Vocabulary,
    sources: Sequence[Source],
    files: Sequence[Any],
    names: Sequence[str],
    rows: Lines | None,
) -> SequenceExamples:
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
