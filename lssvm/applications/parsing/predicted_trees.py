"""Predicted trees in flat arrays, and as text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TextIO

import numpy as np

from lssvm.applications.parsing.bracket_metrics import Brackets
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.grammar import Grammar
from lssvm.formats.penn_trees import bracketed
from lssvm.kernels import _parsing
from lssvm.kernels.parsing_arrays import GrammarArrays
from lssvm.offsets import cumulated

_OUTERMOST = "TOP"  # which COLLINS.prm of evalb leaves out


class Trees(NamedTuple):
    """Trees in preorder, one after another, without their roots.

    labels : (nodes,) int32 bracket, or −1 − part of speech; starts, ends : (nodes,) int32
    offsets : (trees + 1,) int64
    """

    labels: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray

    @property
    def brackets(self) -> Brackets:
        """The nodes that are no parts of speech."""
        return Brackets(*self).kept(self.labels >= 0)

    @property
    def tags(self) -> np.ndarray:
        """The part of speech of every word, in order."""
        return -1 - self.labels[self.labels < 0]

    def part(self, rows: np.ndarray) -> "Trees":
        """The chosen trees."""
        counts = np.diff(self.offsets)[rows]
        offsets = cumulated(counts)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return Trees(self.labels[places], self.starts[places], self.ends[places], offsets)


@dataclass(frozen=True)
class Predictions:
    """The best trees of n sentences.

    trees : those of all sentences, the best of each first
    counts : (n,) int64, how many each has
    scores : (trees,) float64, w · Φ
    parsed : (n,) bool; False: no parse, the tree is a flat one of the best pieces
    approximate : whether trees are not maxima of what was asked for
    several : whether more than one tree of each was asked for
    w : (d,), the weights that made them
    """

    trees: Trees
    counts: np.ndarray
    scores: np.ndarray
    parsed: np.ndarray
    approximate: bool
    several: bool
    w: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """The best tree of each sentence, (n,)."""
        return cumulated(self.counts)[:-1]

    def best(self) -> "Predictions":
        """The best tree of each sentence alone."""
        counts = np.ones(len(self.counts), dtype=np.int64)
        trees, scores = self.trees.part(self.first), self.scores[self.first]
        return replace(self, trees=trees, counts=counts, scores=scores)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of several parts, each with its best trees alone."""
    labels, starts, ends = (np.concatenate([part.trees[k] for part in parts]) for k in range(3))
    sizes = np.concatenate([np.diff(part.trees.offsets) for part in parts])
    trees = Trees(labels, starts, ends, cumulated(sizes))
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("counts", "scores", "parsed")
    }
    return replace(parts[0], trees=trees, **columns)


def trees_of(grammar: GrammarArrays, rules: np.ndarray, offsets: np.ndarray) -> Trees:
    """The trees of derivations by rules of parts, without symbols that are no brackets."""
    starts, widths, lefts = _parsing.spans_of(grammar, rules, offsets)
    parent, left, right = (column[rules] for column in grammar.split)
    base = np.repeat(np.arange(len(grammar.parts)), grammar.parts)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    label = np.where(parent >= 0, grammar.label[base[parent]], -1)
    order = np.arange(len(rules))
    one = np.flatnonzero(label >= 0)
    two = np.flatnonzero(left < grammar.tags)
    three = np.flatnonzero((right >= 0) & (right < grammar.tags))
    columns = [
        np.concatenate([owner[one], owner[two], owner[three]]),
        np.concatenate([starts[one], starts[two], starts[three] + lefts[three]]),
        np.concatenate([widths[one], np.ones(len(two) + len(three), dtype=np.int64)]),
        np.concatenate([order[one], np.full(len(two) + len(three), len(rules))]),
        np.concatenate([label[one], -1 - left[two], -1 - right[three]]),
    ]
    sort = np.lexsort((columns[3], -columns[2], columns[1], columns[0]))
    tree, start, width, _, labels = (column[sort] for column in columns)
    counts = np.bincount(tree, minlength=len(offsets) - 1)
    return Trees(
        labels.astype(np.int32),
        start.astype(np.int32),
        (start + width).astype(np.int32),
        cumulated(counts),
    )


def _tree_text(
    names: tuple[Sequence[str], Sequence[str]],
    nodes: tuple[list[int], list[int], list[int]],
    words: Sequence[str],
    tags: Sequence[str] | None,
) -> str:
    """A tree on one line. names : labels and parts of speech; tags : given ones, or None."""
    labels, starts, ends = nodes
    texts, stops = [_OUTERMOST], [len(labels) + 1]
    leaves: list[str | None] = [None]
    for row, (label, start, end) in enumerate(zip(labels, starts, ends, strict=True)):
        if label < 0:
            texts.append(names[1][-1 - label] if tags is None else tags[start])
            leaves.append(words[start])
            stops.append(row + 2)
            continue
        after = row + 1
        while after < len(labels) and ends[after] <= end:
            after += 1
        texts.append(names[0][label])
        leaves.append(None)
        stops.append(after + 1)
    return bracketed(texts, leaves, stops)


class Texts:
    """The trees of predictions as text."""

    def __init__(
        self, examples: Treebank, predictions: Predictions, grammar: Grammar, *, given: bool
    ) -> None:
        self.examples, self.predictions, self.given = examples, predictions, given
        self.names = (grammar.labels, grammar.tags)

    def words(self, row: int) -> tuple[list[str], list[str] | None]:
        """The words of a sentence, and their parts of speech if they are given."""
        own = slice(int(self.examples.offsets[row]), int(self.examples.offsets[row + 1]))
        words = [self.examples.word_texts[code] for code in self.examples.words[own].tolist()]
        if not self.given:
            return words, None
        return words, [self.examples.tag_texts[code] for code in self.examples.tags[own].tolist()]

    def trees(self, row: int) -> list[str]:
        """The trees of a sentence, the best one first."""
        found, trees = [], self.predictions.trees
        words, tags = self.words(row)
        begin = int(self.predictions.first[row])
        for tree in range(begin, begin + int(self.predictions.counts[row])):
            own = slice(int(trees.offsets[tree]), int(trees.offsets[tree + 1]))
            nodes = (trees.labels[own].tolist(), trees.starts[own].tolist())
            found.append(_tree_text(self.names, (*nodes, trees.ends[own].tolist()), words, tags))
        return found

    def scores(self, row: int) -> list[float]:
        """w · Φ of the trees of a sentence."""
        begin = int(self.predictions.first[row])
        return self.predictions.scores[begin : begin + int(self.predictions.counts[row])].tolist()


def write_trees(texts: Texts, file: TextIO) -> None:
    """One tree a line; each of several trees follows ``# rank score``, with ranks from 0."""
    several = texts.predictions.several
    for row in range(len(texts.examples)):
        for rank, (tree, score) in enumerate(zip(texts.trees(row), texts.scores(row), strict=True)):
            file.write(f"# {rank} {score:.10g}\n" if several else "")
            file.write(f"{tree}\n")


def gold_text(examples: Treebank, row: int) -> str:
    """The true tree of a sentence on one line, without what the reader leaves out."""
    own = slice(int(examples.nodes[row]), int(examples.nodes[row + 1]))
    span = slice(int(examples.offsets[row]), int(examples.offsets[row + 1]))
    n = span.stop - span.start
    labels = np.concatenate([examples.node_labels[own], np.full(n, -1, dtype=np.int32)])
    starts = np.concatenate([examples.node_starts[own], np.arange(n)])
    ends = np.concatenate([examples.node_ends[own], np.arange(1, n + 1)])
    order = np.concatenate([np.arange(own.stop - own.start), np.full(n, len(labels))])
    sort = np.lexsort((order, -ends, starts))
    words = [examples.word_texts[code] for code in examples.words[span].tolist()]
    tags = [examples.tag_texts[code] for code in examples.tags[span].tolist()]
    nodes = (labels[sort].tolist(), starts[sort].tolist(), ends[sort].tolist())
    return _tree_text((examples.label_texts, ()), nodes, words, tags)


def records(texts: Texts, losses: np.ndarray | None) -> Iterator[dict[str, Any]]:
    """One dictionary per sentence.

    id; y : tree on one line; score : w · Φ; parsed : whether the grammar has a parse; trees : tree
    and score of each, best first, if several were asked for; gold and loss : of a true tree
    """
    examples, predictions = texts.examples, texts.predictions
    for row, name in enumerate(examples.identifiers):
        pairs = [
            {"y": tree, "score": score}
            for tree, score in zip(texts.trees(row), texts.scores(row), strict=True)
        ]
        record: dict[str, Any] = {"id": name, **pairs[0], "parsed": bool(predictions.parsed[row])}
        if predictions.several:
            record["trees"] = pairs
        if examples.known[row]:
            record["gold"] = gold_text(examples, row)
            if losses is not None:
                record["loss"] = float(losses[row])
        yield record
