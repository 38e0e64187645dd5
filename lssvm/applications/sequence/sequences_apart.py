"""Sequences in files that are read apart, wherever they lie."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications import scaling
from lssvm.applications.apart import ReadsApart, Taught
from lssvm.applications.names import NumberedNames
from lssvm.applications.reading import Source
from lssvm.applications.sequence import reading, templates
from lssvm.applications.sequence.examples import DENSE_FROM, SequenceExamples, packed
from lssvm.applications.sequence.reading import FileColumns, Layout, Plan
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.formats.conll_columns import ColumnFile
from lssvm.formats.svm_hmm import TaggedTokens
from lssvm.kernels.text_arrays import DistinctWords

CONLL = "conll"


class SequenceFacts(NamedTuple):
    """What a file of sequences teaches.

    labels : in the order of their first tokens; tokens : how many
    names : the attributes of each template in the order of their first tokens, in UTF-8, one a line
        and without the start that they share; none if numbered
    counts : the number of tokens with each of them, or with each numbered feature
    """

    labels: tuple[str, ...]
    tokens: int
    names: tuple[bytes, ...]
    counts: tuple[np.ndarray, ...]


class SequencesApart(ReadsApart[SequenceExamples]):
    """An application of label sequences whose files are read one by one."""

    options: Any
    vocabulary: Vocabulary | None

    @abstractmethod
    def _layout(self) -> Layout:
        """The layout of files."""

    @abstractmethod
    def _adopt(self, examples: SequenceExamples) -> None:
        """Set the vocabulary to that of examples. Raises LssvmError."""

    def why_together(self) -> str:
        """Scales are learnt from all tokens."""
        kind = self.options.scaling
        return "" if kind == scaling.NONE else f"application.scaling: {kind}"

    def taught(self, source: Source) -> Taught:
        """Labels and attributes of a file with their counts. Raises DataError."""
        layout = self._layout()
        if self.options.format != CONLL:
            return _numbered_facts(reading.tagged(source))
        words = tuple(DistinctWords() for _ in layout.columns)
        return _facts(reading.columns_of(source, layout, words), layout)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> Plan:
        """Labels and attributes. Raises DataError as ``read`` would."""
        layout, facts = self._layout(), [each.facts for each in taught]
        labels = list(dict.fromkeys(label for fact in facts for label in fact.labels))
        names: tuple[str, ...] | None
        places: list[tuple[np.ndarray, ...]] = []
        if self.options.format == CONLL:
            names, used, places = _numbered(facts, layout)
            width, rare = len(names), None
        else:
            width = max(len(fact.counts[0]) for fact in facts)
            counts = sum(_padded(fact.counts[0], width) for fact in facts)
            rare = np.asarray(counts) < layout.min_count
            names, used = None, int(np.sum(counts, where=~rare))
        found = reading.vocabulary_of(sources, labels, width, names, layout.bias)
        self._adopt(packed(np.empty((0, found.width)), [], np.zeros(1, dtype=np.int64), found))
        tokens = sum(fact.tokens for fact in facts)
        dense = used + tokens * found.bias >= DENSE_FROM * tokens * found.width
        paths = (source.path for source in sources)
        return Plan(bool(dense), rare, dict(zip(paths, places, strict=False)))

    def read_share(self, sources: Sequence[Source], plan: Plan, before: int) -> SequenceExamples:
        """The sequences of neighbouring files. Raises DataError."""
        return self.share_of([None] * len(sources), sources, plan, before)

    def share_of(
        self, kept: Sequence[Any], sources: Sequence[Source], plan: Plan, before: int
    ) -> SequenceExamples:
        """The same from what the first step has kept of the files. Raises DataError."""
        layout, known = self._layout(), self.vocabulary
        pairs = zip(kept, sources, strict=True)
        files = [self.taught(source).kept if own is None else own for own, source in pairs]
        if self.options.format != CONLL:
            return reading.numbered(files, sources, layout, known, plan=plan)
        assert known is not None
        return reading.with_places(files, sources, layout, known, plan)

    def largest_of(self, examples: SequenceExamples) -> np.ndarray:
        """The largest absolute value of each numbered feature."""
        if self.options.format == CONLL:
            return np.empty(0)
        bias = examples.vocabulary.bias
        return scaling.facts_of(examples.inputs[:, : examples.width - bias]).largest

    def scale_warnings_of(self, largest: np.ndarray) -> list[str]:
        """A warning if the scales of numeric features differ much."""
        return scaling.uneven(largest, NumberedNames(len(largest)), scaling.BY_DATA)


def _facts(file: ColumnFile, layout: Layout) -> Taught:
    """What a file of columns teaches."""
    texts, labels = reading.columns_to_read([file], layout), reading.labels_in(file, layout)
    tokens = templates.Tokens.numbered(texts, file.offsets)
    names, counts, codes = [], [], []
    for text in layout.templates:
        own, found = tokens.values(templates.parse(text, list(texts)))
        names.append("\n".join(own).encode())
        counts.append(np.bincount(found[found >= 0], minlength=len(own)))
        codes.append(found)
    facts = SequenceFacts(labels, len(file.rows), tuple(names), tuple(counts))
    bare = replace(file, words=(), codes=())
    kept = FileColumns(bare, reading.tags_of([file], layout), tuple(codes))
    return Taught(len(file.lines), facts, kept)


def _numbered_facts(file: TaggedTokens) -> Taught:
    """What a file of numbered features teaches."""
    labels = tuple(dict.fromkeys(tag for tag in file.tags if tag is not None))
    seen = np.bincount(file.indices[file.values != 0], minlength=file.dimension)
    return Taught(len(file.lines), SequenceFacts(labels, len(file.tags), (), (seen,)), file)


def _numbered(
    facts: Sequence[SequenceFacts], layout: Layout
) -> tuple[tuple[str, ...], int, list[tuple[np.ndarray, ...]]]:
    """The attributes of at least ``min_count`` tokens, template by template, in their order.

    Returns their names, how often they are in all, and their numbers in each file as in a ``Plan``.
    """
    found: list[str] = []
    used, places = 0, list[list[np.ndarray]]()
    for template, text in enumerate(layout.templates):
        words = DistinctWords()
        own = [words.codes(fact.names[template], _lines(fact, template)) for fact in facts]
        counts = np.zeros(len(words), dtype=np.int64)
        for fact, codes in zip(facts, own, strict=True):
            counts[codes] += fact.counts[template]
        frequent = counts >= layout.min_count
        place = np.where(frequent, np.cumsum(frequent) - 1 + len(found), -1).astype(np.int32)
        start = templates.start_of(templates.parse(text, layout.columns))
        found += [start + name for name in compress(words.texts(), frequent.tolist())]
        used += int(np.sum(counts, where=frequent))
        places.append([place[codes] for codes in own])
    return tuple(found), used, list(zip(*places, strict=True))


def _lines(fact: SequenceFacts, template: int) -> np.ndarray:
    """Where each attribute of a file begins and ends in their names, (n, 2) int32."""
    names = fact.names[template]
    if not len(fact.counts[template]):
        return np.empty((0, 2), dtype=np.int32)
    breaks = np.flatnonzero(np.frombuffer(names, np.uint8) == ord("\n"))
    return np.column_stack([np.append(0, breaks + 1), np.append(breaks, len(names))]).astype(
        np.int32
    )


def _padded(counts: np.ndarray, width: int) -> np.ndarray:
    return np.append(counts, np.zeros(width - len(counts), dtype=counts.dtype))
