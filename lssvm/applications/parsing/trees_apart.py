"""Treebanks in files that are read apart, wherever they lie."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.apart import ReadsApart, Taught
from lssvm.applications.base import Source
from lssvm.applications.parsing import reading
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.grammar import Learner, Rule
from lssvm.applications.parsing.parsing_options import ParsingOptions
from lssvm.applications.parsing.reading import Columns, FileRead, Learnt, form_of
from lssvm.errors import DataError
from lssvm.formats.penn_trees import Names
from lssvm.plane import Plane


class TreeFacts(NamedTuple):
    """What a file of trees teaches.

    labels, words : distinct texts, as they first occur; label_counts, word_counts : of words and
        of their parts of speech in the trees that the grammar is learnt from
    trees : how many these are; chain : the longest one of one-child rules in them
    tags : parts of speech, as they first occur; rules : with the bracket that the parent is
    lines : of the first tree with each rule
    lost : line and number of each tree that has longer chains than the grammar may have
    """

    labels: tuple[str, ...]
    words: tuple[str, ...]
    label_counts: np.ndarray
    word_counts: np.ndarray
    trees: int
    chain: int
    tags: tuple[str, ...]
    rules: tuple[tuple[Rule, str], ...]
    lines: tuple[int, ...]
    lost: tuple[tuple[int, int], ...]


class Texts(NamedTuple):
    """The distinct labels and words of all files, which are numbered alike in all shares."""

    labels: tuple[str, ...]
    words: tuple[str, ...]


class TreesApart(ReadsApart[Treebank]):
    """An application of parsing whose files are read one by one."""

    own: Any
    learnt: Learnt | None
    dimension: Callable[..., int]
    completed: Callable[..., Plane]

    def files_of(self, source: Source) -> list[Source]:
        """The file, or those of a folder. Raises DataError."""
        reading.refuse_label(source)
        return [replace(source, path=path) for path in reading.files_of(source.path)]

    def taught(self, source: Source) -> Taught:
        """The rules, labels and words of a file. Raises DataError."""
        options: ParsingOptions = self.own
        trees = reading.trees_of(source.path, source.limit, (Names(), Names()), options)
        file = FileRead(source.path, 0, trees)
        columns, learner = Columns([file]), _FileLearner(options)
        used = reading.used_trees(columns, options)
        chains = [learner.chain_in(file, tree) for tree in np.flatnonzero(used).tolist()]
        longest = options.longest_chain
        lost = np.zeros(len(used), dtype=bool)
        if longest is not None:
            lost[used] = np.array(chains, dtype=np.int64) > longest
        kept = (used | ~columns.known & reading.short_trees(columns, options)) & ~lost
        words, labels = columns.word_counts(used)
        places = np.flatnonzero(lost)
        facts = TreeFacts(
            *(columns.labels, columns.words_known, labels, words),
            *(int(np.count_nonzero(used)), max(chains, default=0), tuple(learner.tags)),
            *(tuple(learner.pairs), tuple(learner.pairs.values())),
            tuple(zip(trees.lines[places].tolist(), (places + 1).tolist(), strict=True)),
        )
        return Taught(int(np.count_nonzero(kept)), facts)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> Texts:
        """Grammar and features. Raises DataError as ``read`` and ``for_training`` would."""
        facts: list[TreeFacts] = [each.facts for each in taught]
        reading.check_used(sum(fact.trees for fact in facts), sources[0].path, self.own)
        learner = Learner(form_of(self.own))
        for source, fact in zip(sources, facts, strict=True):
            for tag in fact.tags:
                learner.tags.setdefault(tag, len(learner.tags))
            for (rule, label), line in zip(fact.rules, fact.lines, strict=True):
                with reading.placed(source.path, line):
                    learner.take(rule, label)
            learner.chain = max(learner.chain, fact.chain)
        labels = _merged([(fact.labels, fact.label_counts) for fact in facts])
        words = _merged([(fact.words, fact.word_counts) for fact in facts])
        self.learnt = reading.learnt_of(learner, sources[0].path, words, labels, self.own)
        lost = [
            (source.path, *own) for source, f in zip(sources, facts, strict=True) for own in f.lost
        ]
        if lost and self.own.unparsable == "refuse":
            path, line, number = lost[0]
            named = f"{Treebank.KIND} {str(number)!r} {reading.unparsable(len(lost) - 1)}"
            raise DataError(path, line, named)
        return Texts(labels[0], words[0])

    def read_share(self, sources: Sequence[Source], plan: Texts, before: int) -> Treebank:
        """The trees of neighbouring files that training takes. Raises DataError."""
        known = (Names.of(plan.labels), Names.of(plan.words))
        files = [
            FileRead(source.path, k, reading.trees_of(source.path, source.limit, known, self.own))
            for k, source in enumerate(sources)
        ]
        found, _ = reading.treebank_of(files, sources, self.own, self.learnt)
        return self.for_training(found)

    def for_training(self, examples: Treebank) -> Treebank:
        """Without sentences that are too long, or that the grammar does not make if these are
        skipped. Raises DataError for one that it does not make."""
        kept = np.ones(len(examples), dtype=bool)
        if self.own.max_words is not None:
            kept &= examples.lengths <= self.own.max_words
        lost = kept & examples.known & ~examples.made
        if np.any(lost) and self.own.unparsable == "refuse":
            others = int(np.count_nonzero(lost)) - 1
            raise examples.error(int(np.argmax(lost)), reading.unparsable(others))
        kept &= examples.made | ~examples.known
        return examples if np.all(kept) else examples.take(np.flatnonzero(kept))

    def start(self, examples: Treebank, rng: np.random.Generator) -> Any:
        """Σ c_i Φ(x_i, y_i). Raises DataError if a sentence has no tree that the grammar makes."""
        return self.completed(np.zeros(self.dimension(examples)), examples)


class _FileLearner(Learner):
    """Collects the rules of the trees of one file, and where they occur first."""

    def __init__(self, options: ParsingOptions) -> None:
        super().__init__(form_of(options))
        self.pairs: dict[tuple[Rule, str], int] = {}
        self._line = 0

    def chain_in(self, file: FileRead, tree: int) -> int:
        """Learn one more tree; its longest chain of one-child rules. Raises DataError."""
        self._line, self.chain = int(file.trees.lines[tree]), 0
        with reading.placed(file.path, self._line):
            self.add(reading.nodes_of(file.trees, tree))
        return self.chain

    def take(self, rule: Rule, label: str) -> None:
        """A rule, and the bracket that its parent is. Raises ValueError as ``add`` does."""
        super().take(rule, label)
        self.pairs.setdefault((rule, label), self._line)


def _merged(
    parts: Sequence[tuple[tuple[str, ...], np.ndarray]],
) -> tuple[tuple[str, ...], np.ndarray]:
    """The distinct texts of files as they first occur, and how often each is there."""
    names, codes = Names(), []
    for texts, _ in parts:
        codes.append(np.array([names.code(text) for text in texts], dtype=np.int64))
    counts = np.zeros(len(names), dtype=np.int64)
    for own, (_, found) in zip(codes, parts, strict=True):
        counts[own] += found
    return names.texts, counts
