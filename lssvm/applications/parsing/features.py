"""The joint features of derivations, and the parts of w.

w begins with the weights of rules, one for each choice of parts of their symbols; then follow, if
parts of speech are predicted, weights of features of words by part of speech, (features, tags), and
those of features of spans by label, (rows, labels).
"""

from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lssvm.applications.names import LazyNames
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.reading import Learnt
from lssvm.kernels import _parsing
from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays


class Weights(NamedTuple):
    """The parts of w, as kernels read them.

    rules : (rules of parts,); spans : (rows, labels); words : (features, tags)
    """

    rules: np.ndarray
    spans: np.ndarray
    words: np.ndarray


class Entries(NamedTuple):
    """Joint features of n derivations, coordinate by coordinate.

    rows : which derivation; columns : coordinates; values : numbers
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def summed(self, coefficients: np.ndarray, size: int) -> np.ndarray:
        """Σ coefficients_i Φ_i, (size,)."""
        weights = self.values * coefficients[self.rows]
        return np.bincount(self.columns, weights=weights, minlength=size)

    def matrix(self, coefficients: np.ndarray, size: int) -> sparse.csr_array:
        """The rows coefficients_i Φ_i, (n, size)."""
        values = self.values * coefficients[self.rows]
        shape = (len(coefficients), size)
        found = sparse.csr_array((values, (self.rows, self.columns)), shape=shape)
        found.sort_indices()
        return found


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Φ for one grammar. predicted : whether parts of speech are."""

    learnt: Learnt
    grammar: GrammarArrays
    _matrices: list[tuple[tuple[str, ...], sparse.csr_array]] = field(default_factory=list)

    @property
    def predicted(self) -> bool:
        """Whether parts of speech are predicted."""
        return self.learnt.words is not None

    @property
    def places(self) -> tuple[int, int, int]:
        """Where the weights of words and of spans begin, and d."""
        rules, words = len(self.grammar.whole), 0
        if self.learnt.words is not None:
            words = len(self.learnt.words.names) * self.grammar.tags
        spans = int(self.learnt.spans.rows[-1]) * self.grammar.labels
        return rules, rules + words, rules + words + spans

    def weights(self, w: np.ndarray) -> Weights:
        """The parts of w."""
        first, second, _ = self.places
        whole = np.ascontiguousarray(w, dtype=np.float64)
        spans = whole[second:].reshape(int(self.learnt.spans.rows[-1]), self.grammar.labels)
        words = whole[first:second].reshape(-1, self.grammar.tags)
        return Weights(whole[:first].copy(), spans.copy(), words)

    def sentences(self, examples: Treebank) -> SentenceArrays:
        """The sentences as the kernels read them."""
        return examples.untagged if self.predicted else examples.arrays

    def word_matrix(self, texts: tuple[str, ...]) -> sparse.csr_array:
        """The features of distinct words, made once."""
        assert self.learnt.words is not None
        for known, matrix in self._matrices:
            if known is texts:
                return matrix
        matrix = self.learnt.words.matrix(texts)
        self._matrices.append((texts, matrix))
        return matrix

    def emissions(self, weights: Weights, examples: Treebank) -> np.ndarray:
        """Scores of parts of speech of all words, (words, tags); (0, tags) if they are given."""
        if not self.predicted:
            return np.zeros((0, self.grammar.tags))
        kinds, place = np.unique(examples.words[examples.own_words], return_inverse=True)
        matrix = self.word_matrix(examples.word_texts)[kinds]
        return np.ascontiguousarray((matrix @ weights.words)[np.ravel(place)])

    def entries(self, examples: Treebank, rules: np.ndarray, offsets: np.ndarray) -> Entries:
        """Φ of derivations of these sentences, by rules of parts in preorder."""
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        parts = [(owner, rules.astype(np.int64), np.ones(len(rules)))]
        if len(self.learnt.spans.templates) or self.predicted:
            starts, widths, lefts = _parsing.spans_of(self.grammar, rules, offsets)
            parts += self._of_spans(examples, rules, owner, starts, widths)
            if self.predicted:
                parts.append(self._of_words(examples, rules, owner, starts, lefts))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Entries(columns[0], columns[1], columns[2])

    def _of_spans(
        self,
        examples: Treebank,
        rules: np.ndarray,
        owner: np.ndarray,
        starts: np.ndarray,
        widths: np.ndarray,
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        base = np.repeat(np.arange(len(self.grammar.parts)), self.grammar.parts)
        parent = self.grammar.split[0][rules]
        label = np.where(parent >= 0, self.grammar.label[base[parent]], -1)
        own = np.flatnonzero(label >= 0)
        rows = _parsing.span_rows(self.sentences(examples), owner[own], starts[own], widths[own])
        place, template = np.nonzero(rows >= 0)
        columns = rows[place, template].astype(np.int64) * self.grammar.labels
        columns += self.places[1] + label[own][place]
        return [(owner[own][place], columns, np.ones(len(place)))]

    def _of_words(
        self,
        examples: Treebank,
        rules: np.ndarray,
        owner: np.ndarray,
        starts: np.ndarray,
        lefts: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        _, left, right = (column[rules] for column in self.grammar.split)
        one = np.flatnonzero(left < self.grammar.tags)
        two = np.flatnonzero((right >= 0) & (right < self.grammar.tags))
        rows = np.concatenate([owner[one], owner[two]])
        place = np.concatenate([starts[one], starts[two] + lefts[two]])
        tag = np.concatenate([left[one], right[two]]).astype(np.int64)
        words = examples.words[examples.offsets[rows] + place]
        matrix = self.word_matrix(examples.word_texts)[words]
        counts = np.diff(matrix.indptr)
        columns = matrix.indices.astype(np.int64) * self.grammar.tags + np.repeat(tag, counts)
        return np.repeat(rows, counts), columns + self.places[0], matrix.data


class ParsingNames(LazyNames):
    """``S → NP VP``, with parts ``S/1 → NP/2 VP/1``; ``word=dog : NN``; ``length=3 : NP``."""

    def __init__(self, features: FeatureMap) -> None:
        self._features = features
        self._rules = features.learnt.grammar.rule_names()

    def __len__(self) -> int:
        return self._features.places[2]

    def name(self, place: int) -> str:
        """The name at a place."""
        features, grammar = self._features, self._features.grammar
        first, second, _ = features.places
        if place < first:
            return self._rule(place)
        if place < second:
            row, tag = divmod(place - first, grammar.tags)
            assert features.learnt.words is not None
            return f"{features.learnt.words.names[row]} : {features.learnt.grammar.tags[tag]}"
        row, label = divmod(place - second, grammar.labels)
        return f"{features.learnt.spans.names[row]} : {features.learnt.grammar.labels[label]}"

    def _rule(self, place: int) -> str:
        grammar = self._features.grammar
        rule = int(grammar.whole[place])
        if grammar.sizes[rule] == 1:
            return self._rules[rule]
        own = np.append(grammar.parts, 1)
        symbols = (grammar.parent[rule], grammar.left[rule], grammar.right[rule])
        choices = list(product(*(range(own[symbol]) for symbol in symbols)))
        parts = choices[place - int(grammar.expand[rule])]
        names = [*self._features.learnt.grammar.tags, *self._features.learnt.grammar.symbols]
        shown = [
            f"{names[symbol]}/{part + 1}" if own[symbol] > 1 else names[symbol]
            for symbol, part in zip(symbols, parts, strict=True)
            if symbol >= 0
        ]
        if grammar.parent[rule] < 0:
            shown.insert(0, "ROOT")
        return f"{shown[0]} → {' '.join(shown[1:])}"
