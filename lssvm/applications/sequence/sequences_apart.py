"""Sequences in files that are read apart, wherever they lie."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications import scaling
from lssvm.applications.apart import ReadsApart, Taught
from lssvm.applications.names import NumberedNames
from lssvm.applications.reading import Source
from lssvm.applications.sequence import reading, templates
from lssvm.applications.sequence.examples import DENSE_FROM, SequenceExamples, packed
from lssvm.applications.sequence.reading import Layout, Plan
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.formats.conll_columns import ColumnFile
from lssvm.formats.svm_hmm import TaggedTokens
from lssvm.kernels.text_arrays import DistinctWords

CONLL = "conll"


class SequenceFacts(NamedTuple):
    """What a file of sequences teaches.

    labels : in the order of their first tokens; tokens : how many
    names : the attributes of each template in the order of their first tokens; none if numbered
    counts : the number of tokens with each of them, or with each numbered feature
    """

    labels: tuple[str, ...]
    tokens: int
    names: tuple[tuple[str, ...], ...]
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
        if self.options.format == CONLL:
            names, used = _frequent(facts, layout.min_count)
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
        return Plan(bool(dense), rare)

    def read_share(self, sources: Sequence[Source], plan: Plan, before: int) -> SequenceExamples:
        """The sequences of neighbouring files. Raises DataError."""
        layout, known = self._layout(), self.vocabulary
        if self.options.format != CONLL:
            tagged = [reading.tagged(source) for source in sources]
            return reading.numbered(tagged, sources, layout, known, plan=plan)
        words = tuple(DistinctWords() for _ in layout.columns)
        files = [reading.columns_of(source, layout, words) for source in sources]
        return reading.sentences(files, sources, layout, known, plan.dense)

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
    names, counts = [], []
    for text in layout.templates:
        own, found = tokens.attributes(templates.parse(text, list(texts)))
        names.append(tuple(own))
        counts.append(np.bincount(found[found >= 0], minlength=len(own)))
    facts = SequenceFacts(labels, len(file.rows), tuple(names), tuple(counts))
    return Taught(len(file.lines), facts)


def _numbered_facts(file: TaggedTokens) -> Taught:
    """What a file of numbered features teaches."""
    labels = tuple(dict.fromkeys(tag for tag in file.tags if tag is not None))
    seen = np.bincount(file.indices[file.values != 0], minlength=file.dimension)
    return Taught(len(file.lines), SequenceFacts(labels, len(file.tags), (), (seen,)))


def _frequent(facts: Sequence[SequenceFacts], least: int) -> tuple[tuple[str, ...], int]:
    """The attributes of at least so many tokens, template by template, and how often they are."""
    found: list[str] = []
    used = 0
    for template in range(len(facts[0].names)):
        counts: Counter[str] = Counter()
        for fact in facts:
            counts.update(
                dict(zip(fact.names[template], fact.counts[template].tolist(), strict=True))
            )
        kept = [name for name, count in counts.items() if count >= least]
        found += kept
        used += sum(counts[name] for name in kept)
    return tuple(found), used


def _padded(counts: np.ndarray, width: int) -> np.ndarray:
    return np.append(counts, np.zeros(width - len(counts), dtype=counts.dtype))
