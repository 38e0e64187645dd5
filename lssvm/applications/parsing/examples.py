"""Sentences and their trees, packed for the kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.packing import Packed, digest
from lssvm.applications.parsing.bracket_metrics import Brackets
from lssvm.kernels.parsing_arrays import SentenceArrays
from lssvm.offsets import cumulated, gathered


@dataclass(frozen=True, eq=False)
class Treebank(Packed):
    """n sentences with trees.

    offsets : (n + 1,) int64 of words; words, tags : (words,) int32, rows of ``word_texts`` and
        ``tag_texts``; seen : (words,) int32, part of speech in the grammar, -1: any
    nodes : (n + 1,) int64 of brackets as in the file, without parts of speech and root;
        node_labels (rows of ``label_texts``), node_starts, node_ends : int32, in preorder
    golds, gold : (n + 1,) int64, and (·, 4) int32: start, width, label in the grammar, how often
    derivations, rules : (n + 1,) int64 and int32, rules of the grammar in preorder, none if the
        grammar does not make the tree
    codes : (templates, words) int32, features of spans; kinds, rows, buckets : of the templates
    known, made : (n,) bool, whether there is a true tree, and whether the grammar makes it
    """

    KIND: ClassVar = "sentence"
    OFFSETS: ClassVar = ("offsets", "nodes", "golds", "derivations")
    EACH: ClassVar = ("known", "made")
    PARTS: ClassVar = {
        "offsets": ("words", "tags", "seen"),
        "nodes": ("node_labels", "node_starts", "node_ends"),
        "golds": ("gold",),
        "derivations": ("rules",),
    }

    offsets: np.ndarray
    words: np.ndarray
    tags: np.ndarray
    seen: np.ndarray
    nodes: np.ndarray
    node_labels: np.ndarray
    node_starts: np.ndarray
    node_ends: np.ndarray
    golds: np.ndarray
    gold: np.ndarray
    derivations: np.ndarray
    rules: np.ndarray
    codes: np.ndarray
    kinds: np.ndarray
    span_rows: np.ndarray
    buckets: np.ndarray
    known: np.ndarray
    made: np.ndarray
    word_texts: tuple[str, ...]
    tag_texts: tuple[str, ...]
    label_texts: tuple[str, ...]

    @property
    def shares(self) -> np.ndarray:
        """Where sentences of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence, (n,) int64."""
        return np.diff(self.offsets)

    @property
    def sizes(self) -> np.ndarray:
        """Splits of all spans, about: the cube of the length, (n,) int64."""
        return self.lengths**3 // 6 + self.lengths

    @cached_property
    def arrays(self) -> SentenceArrays:
        """The sentences as the kernels read them."""
        return SentenceArrays(
            *(self.offsets, self.seen, self.golds, self.gold, self.derivations, self.rules),
            *(self.kinds, self.span_rows, self.codes, self.buckets),
        )

    @cached_property
    def untagged(self) -> SentenceArrays:
        """The same with any part of speech for each word."""
        return replace(self.arrays, tags=np.full_like(self.seen, -1))

    @property
    def own_words(self) -> slice:
        """The words of these sentences in the whole arrays."""
        return slice(int(self.offsets[0]), int(self.offsets[-1]))

    @property
    def brackets(self) -> Brackets:
        """The true brackets as in the file."""
        own = slice(int(self.nodes[0]), int(self.nodes[-1]))
        columns = (self.node_labels[own], self.node_starts[own], self.node_ends[own])
        return Brackets(*columns, self.nodes - self.nodes[0])

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen sentences, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        changes: dict[str, Any] = self.each(rows)
        for offsets, names in self.PARTS.items():
            places, changes[offsets] = gathered(getattr(self, offsets), rows)
            for name in names:
                changes[name] = getattr(self, name)[places]
            if offsets == "offsets":
                changes["codes"] = np.ascontiguousarray(self.codes[:, places])
        return replace(self, **changes)

    def fingerprint(self) -> str:
        """SHA-256 of words, trees and costs, in hexadecimal."""
        texts = "\n".join(map("\t".join, (self.word_texts, self.tag_texts, self.label_texts)))
        parts = [np.frombuffer(texts.encode(), dtype=np.uint8), self.costs]
        for offsets, columns in self.PARTS.items():
            where = getattr(self, offsets)
            parts.append(where - where[0])
            parts += [getattr(self, name)[where[0] : where[-1]] for name in columns]
        return digest(*parts)

    def identity(self, row: int) -> str:
        """A fingerprint of one sentence, whatever words, labels and rules the others have."""
        words = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        nodes = slice(int(self.nodes[row]), int(self.nodes[row + 1]))
        texts = [self.word_texts[code] for code in self.words[words]]
        texts += [self.tag_texts[code] for code in self.tags[words]]
        texts += [self.label_texts[code] for code in self.node_labels[nodes]]
        spans = self.node_starts[nodes], self.node_ends[nodes]
        named = np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)
        return digest(named, words.stop - words.start, *spans, self.costs[row : row + 1])


def trees_alone(examples: Treebank) -> Treebank:
    """The true brackets and parts of speech, without words, rules and names."""
    words, nodes = examples.own_words, slice(int(examples.nodes[0]), int(examples.nodes[-1]))
    none, zero = np.empty(0, dtype=np.int32), np.zeros(len(examples) + 1, dtype=np.int64)
    columns: dict[str, Any] = {
        name: getattr(examples, name)[nodes] for name in examples.PARTS["nodes"]
    }
    return replace(
        examples,
        **columns,
        offsets=examples.offsets - examples.offsets[0],
        nodes=examples.nodes - examples.nodes[0],
        tags=examples.tags[words],
        seen=examples.seen[words],
        words=none,
        word_texts=(),
        codes=np.empty((len(examples.codes), 0), dtype=np.int32),
        golds=zero,
        gold=np.empty((0, 4), dtype=np.int32),
        derivations=zero,
        rules=none,
        identifiers=np.empty(0, dtype=object),
        lines=np.empty(0, dtype=np.int64),
        files=none,
    )


def joined_trees(parts: Sequence[Treebank]) -> Treebank:
    """The trees of several parts that :func:`trees_alone` gave; the last one knows all labels."""
    names = ("costs", "known", "made", "tags", "seen", *parts[0].PARTS["nodes"])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    columns |= {
        name: cumulated(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
        for name in parts[0].OFFSETS
    }
    return replace(parts[-1], **columns)
