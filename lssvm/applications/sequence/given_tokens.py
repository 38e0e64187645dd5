"""Sequences that are given in memory, as the readers of files would have read them.

A token is a word, a list of columns, a dictionary of attributes as CRFsuite has them, or a row of
numbers.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.applications.given import (
    MEMORY,
    check_words,
    costs_of,
    lengths_of,
    numbered,
    rows_of,
    word,
)
from lssvm.applications.sequence import reading
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.reading import Layout
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import LssvmError, counted
from lssvm.formats.conll_columns import ColumnFile, Lines
from lssvm.formats.svm_hmm import UNKNOWN, TaggedTokens
from lssvm.kernels.text_arrays import DistinctWords
from lssvm.offsets import cumulated

_AT_ONCE = 100_000  # tokens whose words are numbered at a time


@dataclass(frozen=True)
class GivenTokens(TaggedTokens):
    """Tokens that were given; all ``columns`` count, whatever they hold."""

    columns: int = 0

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.columns


class FromLists:
    """Examples from lists, packed as the sequences of a file are."""

    @abstractmethod
    def _taken(self, X: Any, y: Any, costs: Any) -> SequenceExamples:
        """The examples that are given."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> SequenceExamples:
        """The sequences that are given in memory, packed as those of files are.

        X : n sequences of tokens. With ``format: conll`` a token is a word, or a list of one word
            for each column but the label; with ``svm_hmm`` it is a row of numbers (a sequence is an
            array of shape (tokens, features)), or a dictionary or list of attributes as CRFsuite
            has them
        y : n sequences of labels, one for each token; None, in it or instead of it: not known
        costs : (n,) the costs c_i of the sequences, 1 by default

        The first ones fix labels and attributes. Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> settings = {"application": {"name": "sequence", "templates": ["word"]}}
        >>> application = Config.from_dict(settings).create_application()
        >>> examples = application.examples_from([["The", "dog"], ["A", "dog"]], ["DN", "DN"])
        >>> examples.offsets, examples.labels
        (array([0, 2, 4]), array([0, 1, 0, 1], dtype=int32))
        >>> application.vocabulary.attributes
        ('word[0]=The', 'word[0]=dog', 'word[0]=A')
        """
        return self._taken(X, y, costs)


def examples_of(
    X: Sequence[Any],
    y: Sequence[Sequence[Any]] | None,
    costs: Any,
    layout: Layout,
    texts: bool,
    vocabulary: Vocabulary | None,
) -> SequenceExamples:
    """The sequences that are given; see :class:`FromLists`.

    texts : whether tokens have columns of words, not numeric features
    """
    offsets = lengths_of(X)
    _check_lengths(offsets, y)
    tags = _tags(y, int(offsets[-1]))
    if texts:
        file = _columns(X, tags, offsets, layout)
        found = reading.sentences([file], [MEMORY], layout, vocabulary)
    else:
        tokens, names = _tokens(X, tags, offsets, vocabulary)
        found = reading.numbered([tokens], [MEMORY], layout, vocabulary, names)
    return replace(found, costs=costs_of(costs, len(X)))


def _check_lengths(offsets: np.ndarray, y: Sequence[Sequence[Any]] | None) -> None:
    lengths = np.diff(offsets)
    empty = np.flatnonzero(lengths == 0)
    if len(empty) or not len(lengths):
        what = f"sequence {empty[0] + 1} has no tokens" if len(empty) else "no sequences"
        raise LssvmError(f"X: {what}; expected at least one")
    if y is None:
        return
    if len(y) != len(lengths):
        raise LssvmError(
            f"y has {counted(len(y), 'sequence')}, X has {len(lengths):,d}; expected as many"
        )
    wrong = np.flatnonzero(np.diff(lengths_of(y)) != lengths)
    if len(wrong):
        row = wrong[0]
        raise LssvmError(
            f"y: sequence {row + 1} has {counted(len(y[row]), 'label')} for "
            f"{counted(lengths[row], 'token')}; "
            "expected one for each"
        )


def _tags(y: Sequence[Sequence[Any]] | None, count: int) -> list[str]:
    """The labels of all tokens as words, ``?`` where they are not known."""
    if y is None:
        return [UNKNOWN] * count
    tags = [word(label) for labels in y for label in labels]
    check_words(set(tags), "y: label")
    return tags


def _columns(
    X: Sequence[Any], tags: Sequence[str], offsets: np.ndarray, layout: Layout
) -> ColumnFile:
    """Tokens as the columns of a CoNLL file."""
    place = layout.columns.index(layout.label)
    width = len(layout.columns) - 1
    rows = [_cells(token, width) for tokens in X for token in tokens]
    whole = [(*row[:place], tag, *row[place:]) for row, tag in zip(rows, tags, strict=True)]
    words = tuple(DistinctWords() for _ in layout.columns)
    codes = tuple(
        _codes([row[column] for row in whole], known) for column, known in enumerate(words)
    )
    for name, known in zip(layout.columns, words, strict=True):
        check_words(known.texts(), f"X: column {name!r}: value")
    lines = [" ".join(row).encode() for row in whole]
    ends = cumulated([len(line) for line in lines])
    text = np.frombuffer(b"".join(lines), dtype=np.uint8)
    return ColumnFile(
        words, codes, Lines(text, ends[:-1], ends[1:]), offsets, numbered(len(offsets) - 1)
    )


def _cells(token: Any, width: int) -> tuple[str, ...]:
    """The words of a token, without its label."""
    row = (token,) if isinstance(token, str) else token
    if not isinstance(row, tuple | list) or not all(isinstance(cell, str) for cell in row):
        raise LssvmError(f"X: a token is {token!r:.40}; expected a word, or a list of words")
    if len(row) != width:
        raise LssvmError(
            f"X: a token has {counted(len(row), 'column')}; expected {width} (columns)"
        )
    return tuple(row)


def _codes(words: Sequence[str], known: DistinctWords) -> np.ndarray:
    """The numbers of words, (tokens,) int32; new words are added to ``known``."""
    parts = [np.empty(0, dtype=np.int32)]
    for first in range(0, len(words), _AT_ONCE):
        try:
            part = [text.encode() for text in words[first : first + _AT_ONCE]]
        except UnicodeEncodeError as error:
            raise LssvmError(f"X: {error}; expected text that is UTF-8") from None
        ends = cumulated([len(text) for text in part])
        spans = np.ascontiguousarray(np.stack([ends[:-1], ends[1:]], axis=1), dtype=np.int32)
        parts.append(known.codes(b"".join(part), spans))
    return np.concatenate(parts)


def _tokens(
    X: Sequence[Any], tags: Sequence[str], offsets: np.ndarray, vocabulary: Vocabulary | None
) -> tuple[TaggedTokens, tuple[str, ...] | None]:
    """Tokens with numeric features, and the names of these if they have names."""
    names = None
    if _has_attributes(X[0][0]):
        starts, indices, values, names = _attributes(X, vocabulary)
        columns = len(names)
    else:
        if vocabulary is not None and vocabulary.attributes is not None:
            raise LssvmError("X: rows of numbers; expected dictionaries, as in training")
        given = rows_of(_stacked(X))
        starts, indices, values, columns = given.offsets, given.indices, given.values, given.width
        expected = None if vocabulary is None else vocabulary.width - vocabulary.bias
        if expected is not None and columns != expected:
            raise LssvmError(
                f"X: {counted(columns, 'feature')}; expected {expected:,d}, as in training"
            )
    n = len(offsets) - 1
    identifiers = tuple(str(number) for number in range(1, n + 1))
    known = tuple(None if tag == UNKNOWN else tag for tag in tags)
    return (
        GivenTokens(known, identifiers, offsets, numbered(n), starts, indices, values, columns),
        names,
    )


def _has_attributes(token: Any) -> bool:
    """Whether a token is a dictionary of attributes, or some words that are attributes."""
    if isinstance(token, list | tuple):
        return len(token) > 0 and all(isinstance(each, str) for each in token)
    return isinstance(token, Mapping | set | frozenset)


def _stacked(X: Sequence[Any]) -> Any:
    """The rows of all sequences as one matrix."""
    try:
        if sparse.issparse(X[0]):
            return sparse.vstack(X, format="csr")
        return np.concatenate([np.asarray(rows, dtype=np.float64) for rows in X])
    except (TypeError, ValueError) as error:
        raise LssvmError(f"X: {error}; expected rows of numbers, as many in all tokens") from None


def _attributes(
    X: Sequence[Any], vocabulary: Vocabulary | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Starts, indices and values of the attributes of tokens, and the names of all attributes.

    Those that a vocabulary does not have are left out; without one, they are numbered in the order
    in which they first occur.
    """
    if vocabulary is not None and vocabulary.attributes is None:
        raise LssvmError("X: dictionaries; expected rows of numbers, as in training")
    number = {} if vocabulary is None else vocabulary.number
    indices: list[int] = []
    values: list[float] = []
    counts = []
    for tokens in X:
        for token in tokens:
            row: dict[int, float] = {}
            for name, value in attributes_of(token):
                place = number.get(name)
                if place is None and vocabulary is None:
                    place = number.setdefault(name, len(number))
                if place is not None:
                    row[place] = row.get(place, 0.0) + value
            places = sorted(row)
            indices += places
            values += [row[place] for place in places]
            counts.append(len(places))
    if not np.all(np.isfinite(values)):
        raise LssvmError("X: an attribute has a value that is not finite; expected finite numbers")
    names = tuple(number) if vocabulary is None else vocabulary.attributes or ()
    if vocabulary is None:
        check_words(names, "X: attribute")
    return cumulated(counts), np.array(indices, np.int32), np.array(values, np.float64), names


def attributes_of(token: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """The attributes of a token by name, as CRFsuite's Python interface has them.

    ``{"word": "a"}`` is the attribute ``word:a``, ``{"length": 3.5}`` is ``length`` with the value
    3.5, ``{"upper": True}`` is ``upper``; a list or set stands for several words, and a dictionary
    for attributes whose names begin with its key. Attributes of the value 0 are left out. A list
    or set of words instead of a dictionary has these words as attributes.
    """
    if isinstance(token, list | tuple | set | frozenset):
        words = sorted(token) if isinstance(token, set | frozenset) else token
        token = dict.fromkeys(words, True)
    if not isinstance(token, Mapping):
        raise LssvmError(f"X: a token is {token!r:.40}; expected a dictionary, as the first one is")
    for key, value in token.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from attributes_of(value, f"{name}:")
        elif isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, list | tuple | set | frozenset):
            words = sorted(value) if isinstance(value, set | frozenset) else value
            yield from ((f"{name}:{each}", 1.0) for each in words)
        else:
            try:
                weight = float(value)
            except (TypeError, ValueError):
                raise LssvmError(
                    f"X: attribute {name!r} is {value!r:.40}; expected a number or a word"
                ) from None
            if weight != 0.0:
                yield name, weight
