"""Treebanks from files. The first trees that are read determine grammar and features."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lssvm import checked
from lssvm.applications.base import Source
from lssvm.applications.parsing import word_features
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.grammar import ROOTS, UNKNOWN, Form, Grammar, Learner, nodes_of
from lssvm.applications.parsing.parsing_options import ParsingOptions
from lssvm.applications.parsing.word_features import SpanFeatures, WordFeatures
from lssvm.errors import DataError, counted
from lssvm.formats.limit import Limit
from lssvm.formats.penn_trees import Names, TreeFile, read_trees, tree_parts
from lssvm.offsets import cumulated

SUFFIXES = (".ptb", ".mrg", ".parse", ".tree", ".trees", ".bracketed")  # of files of a folder
_PACKED = ("", ".gz", ".bz2", ".xz")


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the first trees determine.

    spans : features of brackets; words : features of words, if parts of speech are predicted
    """

    grammar: Grammar
    spans: SpanFeatures
    words: WordFeatures | None

    def state(self) -> dict[str, np.ndarray]:
        """All of it as arrays for a model."""
        words = {} if self.words is None else {"word_features": np.array(self.words.names)}
        return self.grammar.state() | self.spans.state() | words

    @classmethod
    def from_state(cls, options: ParsingOptions, arrays: Mapping[str, np.ndarray]) -> "Learnt":
        """What a model's arrays hold. Raises ModelError."""
        grammar = Grammar.from_state(arrays)
        spans = SpanFeatures.from_state(options.span_features, arrays)
        words = None
        if options.tags == "predicted":
            words = WordFeatures(checked.words(arrays, "word_features"))
        expected = {*grammar.state(), *spans.state(), *({"word_features"} if words else ())}
        checked.known(arrays, *sorted(expected))
        return cls(grammar, spans, words)


def form_of(options: ParsingOptions) -> Form:
    """How trees become binary."""
    heads = options.heads or {}
    return Form(options.binarisation, heads, options.vertical, options.horizontal)


def files_of(path: str) -> list[str]:
    """The file itself, or the files of a folder that are called as trees are, by name."""
    folder = Path(path)
    if not folder.is_dir():
        return [path]
    ends = tuple(f"{suffix}{packed}" for suffix in SUFFIXES for packed in _PACKED)
    found = sorted(str(file) for file in folder.iterdir() if file.name.endswith(ends))
    if not found:
        message = f"a folder without trees; expected files named {', '.join(SUFFIXES)}"
        raise DataError(path, None, message)
    return found


class FileRead(NamedTuple):
    """A file of trees; source : which one of the sources it is of."""

    path: str
    source: int
    trees: TreeFile


def read_treebank(
    sources: Sequence[Source], options: ParsingOptions, learnt: Learnt | None
) -> tuple[Treebank, Learnt]:
    """The trees of files and folders, and what they determine. Raises DataError."""
    known = (Names(), Names())
    files = []
    for number, path in _paths(sources):
        trees = trees_of(path, sources[number].limit, known, options)
        files.append(FileRead(path, number, trees))
    return treebank_of(files, sources, options, learnt)


def trees_of(
    path: str, limit: Limit, known: tuple[Names, Names], options: ParsingOptions
) -> TreeFile:
    """The trees of one file. known : labels and words before it, which are added to

    Raises DataError.
    """
    return read_trees(
        path,
        limit,
        known,
        strip_traces=options.strip_traces,
        strip_functions=options.strip_functions,
    )


def treebank_parts(
    sources: Sequence[Source], options: ParsingOptions, learnt: Learnt
) -> Iterator[Treebank]:
    """The trees of :func:`read_treebank` in parts. Raises DataError."""
    labels = Names()
    paths = list(_paths(sources))
    for place, (number, path) in enumerate(paths):
        before = 0
        for trees in tree_parts(
            path,
            sources[number].limit,
            labels,
            strip_traces=options.strip_traces,
            strip_functions=options.strip_functions,
        ):
            part, _ = treebank_of([FileRead(path, number, trees)], sources, options, learnt)
            names = [str(before + k) for k in range(1, len(part) + 1)]
            before += len(part)
            yield replace(
                part,
                identifiers=np.array(names, dtype=object),
                files=np.full(len(part), place, dtype=np.int32),
                paths=tuple(path for _, path in paths),
            )


def _paths(sources: Sequence[Source]) -> Iterator[tuple[int, str]]:
    """Every file, with the number of its source. Raises DataError."""
    for number, source in enumerate(sources):
        refuse_label(source)
        for path in files_of(source.path):
            yield number, path


def refuse_label(source: Source) -> None:
    """Raise DataError for a label in the configuration."""
    if source.label is not None:
        message = f"label {source.label!r} has no meaning for trees; expected no label"
        raise DataError(source.path, None, message)


def treebank_of(
    files: Sequence["FileRead"],
    sources: Sequence[Source],
    options: ParsingOptions,
    learnt: Learnt | None,
) -> tuple[Treebank, Learnt]:
    """The trees of files that were read, and what they determine. Raises DataError."""
    columns = Columns(files)
    if learnt is None:
        learnt = _learn(files, columns, options)
    return _packed(files, columns, sources, options, learnt), learnt


class Columns:
    """The words and brackets of files, one tree after another."""

    def __init__(self, files: Sequence[FileRead]) -> None:
        self.labels = files[0].trees.labels.texts
        self.words_known = files[0].trees.words.texts
        parts = [file.trees for file in files]
        label, word, start, end = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("node_labels", "node_words", "starts", "ends")
        )
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        nodes = cumulated(sizes)
        tag = word >= 0
        self.offsets = cumulated(tag)[nodes]
        self.words, self.tags = word[tag], label[tag]
        first = np.zeros(len(tag), dtype=bool)
        first[nodes[:-1]] = True
        rooted = np.array([text in {*ROOTS, UNKNOWN} for text in self.labels], dtype=bool)
        bracket = ~tag & ~(first & rooted[label])
        self.nodes = cumulated(bracket)[nodes]
        self.brackets = (label[bracket], start[bracket], end[bracket])
        unknown = np.array([text == UNKNOWN for text in self.labels], dtype=bool)
        top = nodes[:-1]
        self.known = ~(unknown[label[top]] & ~tag[top])

    def word_counts(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How often each distinct word and each label of words is in the chosen trees."""
        own = np.repeat(which, np.diff(self.offsets))
        words = np.bincount(self.words[own], minlength=len(self.words_known))
        return words, np.bincount(self.tags[own], minlength=len(self.labels))


def _each(files: Sequence[FileRead]) -> Iterator[tuple[FileRead, int]]:
    for file in files:
        for tree in range(len(file.trees.lines)):
            yield file, tree


def short_trees(columns: Columns, options: ParsingOptions) -> np.ndarray:
    """Whether each sentence is short enough for training, (n,) bool."""
    lengths = np.diff(columns.offsets)
    return lengths <= (lengths if options.max_words is None else options.max_words)


def used_trees(columns: Columns, options: ParsingOptions) -> np.ndarray:
    """Whether the grammar is learnt from each tree, (n,) bool."""
    return columns.known & short_trees(columns, options)


def check_used(count: int, path: str, options: ParsingOptions) -> None:
    """Raise DataError if there are no trees to learn from. path : of the first file"""
    if count:
        return
    message = "no tree to learn a grammar from; expected at least one"
    if options.max_words is not None:
        message += f" of at most {counted(options.max_words, 'word')} (application.max_words)"
    raise DataError(path, None, message)


@contextmanager
def placed(path: str, line: int) -> Iterator[None]:
    """Turn what is wrong with a tree into a DataError."""
    try:
        yield
    except ValueError as error:
        raise DataError(path, line, f"the tree: {error}") from None


def _learn(files: Sequence[FileRead], columns: Columns, options: ParsingOptions) -> Learnt:
    """Grammar and features of the trees. Raises DataError."""
    learner, used = Learner(form_of(options)), used_trees(columns, options)
    check_used(int(np.count_nonzero(used)), files[0].path, options)
    for row, (file, tree) in enumerate(_each(files)):
        if used[row]:
            with placed(file.path, int(file.trees.lines[tree])):
                learner.add(nodes_of(file.trees, tree))
    words, tags = columns.word_counts(used)
    texts = (columns.words_known, words), (columns.labels, tags)
    return learnt_of(learner, files[0].path, *texts, options)


def learnt_of(
    learner: Learner,
    path: str,
    words: tuple[tuple[str, ...], np.ndarray],
    tags: tuple[tuple[str, ...], np.ndarray],
    options: ParsingOptions,
) -> Learnt:
    """What trees teach, once their rules are known. Raises DataError.

    path : of the first file; words, tags : distinct texts, and how often each is in the trees
    """
    try:
        grammar = learner.learnt()
    except ValueError as error:
        raise DataError(path, None, error) from None
    spans = SpanFeatures.learnt(options.span_features, words, tags, options.min_count)
    features = None
    if options.tags == "predicted":
        features = WordFeatures.learnt(*words, options.min_count)
    return Learnt(grammar, spans, features)


def unparsable(others: int) -> str:
    """What is wrong with a sentence whose tree the grammar does not make, and so many others."""
    what = f"and {counted(others, 'other')} have trees" if others else "has a tree"
    return (
        f"{what} that the grammar does not make (longest_chain is too small); expected "
        "application.unparsable: skip to train without them"
    )


def _packed(
    files: Sequence[FileRead],
    columns: Columns,
    sources: Sequence[Source],
    options: ParsingOptions,
    learnt: Learnt,
) -> Treebank:
    grammar, form = learnt.grammar, form_of(options)
    chain = grammar.arrays(1, options.longest_chain).chain
    rules: list[int] = []
    counts, made = [], []
    for row, (file, tree) in enumerate(_each(files)):
        found = None
        if columns.known[row]:
            found = grammar.derived(nodes_of(file.trees, tree), form, chain)
        made.append(found is not None)
        counts.append(len(found or ()))
        rules += found or ()
    numbers = [len(file.trees.lines) for file in files]
    golds, gold = _golds(columns, grammar)
    seen = np.array([grammar.tag_number.get(text, -1) for text in columns.labels], dtype=np.int32)
    names = [str(k) for number in numbers for k in range(1, number + 1)]
    pairs = (columns.words_known, columns.words), (columns.labels, columns.tags)
    owners = np.repeat([file.source for file in files], numbers)
    return Treebank(
        costs=np.array([sources[k].cost for k in owners], dtype=np.float64),
        identifiers=np.array(names, dtype=object),
        lines=np.concatenate([file.trees.lines for file in files]),
        files=np.repeat(np.arange(len(files)), numbers).astype(np.int32),
        paths=tuple(file.path for file in files),
        labelled=bool(columns.known.all()),
        offsets=columns.offsets,
        words=columns.words,
        tags=columns.tags,
        seen=seen[columns.tags],
        nodes=columns.nodes,
        node_labels=columns.brackets[0],
        node_starts=columns.brackets[1],
        node_ends=columns.brackets[2],
        golds=golds,
        gold=gold,
        derivations=cumulated(counts),
        rules=np.array(rules, dtype=np.int32),
        codes=learnt.spans.codes(*pairs),
        kinds=learnt.spans.kinds,
        span_rows=learnt.spans.rows,
        buckets=word_features.buckets(),
        known=columns.known,
        made=np.array(made, dtype=bool),
        word_texts=columns.words_known,
        tag_texts=columns.labels,
        label_texts=columns.labels,
    )


def _golds(columns: Columns, grammar: Grammar) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and distinct true brackets of labels in the grammar, with how often each is there."""
    n = len(columns.offsets) - 1
    number = np.array([grammar.label_number.get(text, -1) for text in columns.labels])
    labels, starts, ends = columns.brackets
    owner = np.repeat(np.arange(n), np.diff(columns.nodes))
    rows = np.column_stack([owner, ends - starts, starts, number[labels]])
    rows = rows[rows[:, 3] >= 0]
    if not len(rows):
        return np.zeros(n + 1, dtype=np.int64), np.empty((0, 4), dtype=np.int32)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    golds = cumulated(np.bincount(distinct[:, 0], minlength=n))
    gold = np.column_stack([distinct[:, 2], distinct[:, 1], distinct[:, 3], times])
    return golds, np.ascontiguousarray(gold, dtype=np.int32)
