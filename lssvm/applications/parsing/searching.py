"""Calls of the kernels: derivations of sentences, and predicted trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lssvm.applications.parsing.best_trees import Forest
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.features import Entries, FeatureMap
from lssvm.applications.parsing.predicted_trees import Predictions, Trees, trees_of
from lssvm.kernels import _parsing, _parsing_soft
from lssvm.offsets import cumulated, gathered
from lssvm.plane import Plane

_LOST = -1e299
_ROUNDING = 1e-14  # of log Z of a sentence, by word


@dataclass(frozen=True)
class Found:
    """Derivations of n sentences.

    values, margins, uppers : (n,) as in ``Maxima``
    rules, offsets : of parts, in preorder, int32, and (n + 1,) int64
    """

    values: np.ndarray
    margins: np.ndarray
    uppers: np.ndarray
    rules: np.ndarray
    offsets: np.ndarray

    def part(self, rows: np.ndarray) -> "Found":
        """The chosen ones."""
        places, offsets = gathered(self.offsets, rows)
        kept = (self.values[rows], self.margins[rows], self.uppers[rows])
        return Found(*kept, np.ascontiguousarray(self.rules[places]), offsets)


def search(
    features: FeatureMap,
    w: np.ndarray,
    examples: Treebank,
    task: int,
    loss: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Found:
    """The derivations that a task of the kernel asks for."""
    weights = features.weights(w)
    emissions = features.emissions(weights, examples)
    sentences = features.sentences(examples)
    kept = (features.grammar, sentences, weights.rules, weights.spans, emissions)
    return Found(*_parsing.search(*kept, task, loss))


def joined(*parts: tuple[Entries, np.ndarray]) -> Entries:
    """The sum of features times coefficients of each row."""
    columns = [
        (entries.rows, entries.columns, entries.values * coefficients[entries.rows])
        for entries, coefficients in parts
    ]
    found = [np.concatenate(column) for column in zip(*columns, strict=True)]
    return Entries(found[0], found[1], found[2])


def forest_of(
    features: FeatureMap, w: np.ndarray, examples: Treebank, row: int, most: int
) -> Forest:
    """All derivations of a sentence."""
    one = examples.slice(row, row + 1)
    weights = features.weights(w)
    emissions = features.emissions(weights, one)
    charts = _parsing.charts(
        *(features.grammar, features.sentences(one), 0, weights.rules, weights.spans, emissions)
    )
    return Forest(features.grammar, weights.rules, charts, int(one.lengths[0]), most)


def predicted(features: FeatureMap, w: np.ndarray, examples: Treebank, top: int) -> Predictions:
    """The best trees of sentences, flat ones where there is no parse."""
    found = search(features, w, examples, _parsing.PREDICT)
    parsed = found.values > _LOST
    scores = [[value] for value in found.values.tolist()]
    rules = [[piece] for piece in np.split(found.rules, found.offsets[1:-1])]
    flat: dict[int, Any] = {}
    for row in range(len(examples)) if top > 1 else np.flatnonzero(~parsed).tolist():
        forest = forest_of(features, w, examples, row, top)
        if parsed[row]:
            best = forest.best(top)
            scores[row] = [value for value, _ in best]
            rules[row] = [np.array(own, dtype=np.int32) for _, own in best]
        else:
            flat[row] = forest.pieces()
            scores[row] = [sum(piece[0] for piece in flat[row])]
    counts = np.array([len(own) for own in scores], dtype=np.int64)
    derivations = [own for each in rules for own in each]
    trees = _trees(features, derivations, cumulated(counts), flat)
    flat_scores = np.array([value for own in scores for value in own], dtype=np.float64)
    return Predictions(trees, counts, flat_scores, parsed, False, top > 1, w)


def _trees(
    features: FeatureMap, derivations: list[np.ndarray], first: np.ndarray, flat: dict[int, Any]
) -> Trees:
    """The trees of derivations; of flat ones by their pieces. first : tree of each sentence."""
    grammar = features.grammar
    rules = np.concatenate([np.empty(0, dtype=np.int32), *derivations]).astype(np.int32)
    trees = trees_of(grammar, rules, cumulated([len(own) for own in derivations]))
    if not flat:
        return trees
    columns = [np.split(column, trees.offsets[1:-1]) for column in trees[:3]]
    for row, pieces in flat.items():
        place = int(first[row])
        parts = [_piece(features, *piece[1:]) for piece in pieces]
        for column, own in zip(columns, zip(*parts, strict=True), strict=True):
            column[place] = np.concatenate(own)
    sizes = [len(own) for own in columns[0]]
    joined_ = [np.concatenate(column).astype(np.int32) for column in columns]
    return Trees(joined_[0], joined_[1], joined_[2], cumulated(sizes))


def _piece(
    features: FeatureMap, symbol: int, start: int, width: int, rules: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes of a piece of a sentence."""
    if not rules:
        return np.array([-1 - symbol]), np.array([start]), np.array([start + width])
    own = np.array(rules, dtype=np.int32)
    trees = trees_of(features.grammar, own, np.array([0, len(own)]))
    return trees.labels, trees.starts + start, trees.ends + start


def summed_plane(
    features: FeatureMap, w: np.ndarray, examples: Treebank, *, true: bool = False
) -> Plane:
    """Σ c_i log Z, whose gradient is Σ c_i E[Φ]; its loss part is the entropy of the derivations.

    An entropy that rounding alone can make is 0, as it is if each sentence has one derivation.
    true : over the parts of the true derivation alone
    """
    gradient, logz = expected(features, w, examples, true=true)
    entropy = float(np.sum(examples.costs * logz) - gradient @ w)
    rounding = _ROUNDING * float(np.sum(examples.costs * examples.lengths))
    return Plane(gradient, 0.0 if entropy < rounding else entropy)


def expected(
    features: FeatureMap, w: np.ndarray, examples: Treebank, *, true: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Σ c_i E[Φ] under exp(w · Φ) / Z, (d,), and log Z, (n,).

    true : over the parts of the true derivation alone
    """
    weights = features.weights(w)
    emissions = features.emissions(weights, examples)
    kept = (features.grammar, features.sentences(examples), weights.rules, weights.spans, emissions)
    over = _parsing_soft.TRUE if true else _parsing_soft.ALL
    logz, rules, spans, tags = _parsing_soft.expected(*kept, examples.costs, over)
    parts = [rules]
    if features.predicted:
        words = features.word_matrix(examples.word_texts)[examples.words[examples.own_words]]
        parts.append(np.asarray(words.T @ tags).ravel())
    return np.concatenate([*parts, spans.ravel()]), logz


def by_rules(features: FeatureMap, w: np.ndarray, examples: Treebank) -> Predictions:
    """The trees with the highest product of posteriors of rules; scores are log Z.

    Where these need the log domain, and where there is no parse, the trees of :func:`predicted`.
    """
    weights = features.weights(w)
    emissions = features.emissions(weights, examples)
    kept = (features.grammar, features.sentences(examples), weights.rules, weights.spans, emissions)
    values, rules, offsets = _parsing_soft.by_rules(*kept)
    unsplit = features.learnt.grammar.arrays(1, features.grammar.chain)
    trees = trees_of(unsplit, rules, offsets)
    lost = np.flatnonzero(np.diff(offsets) == 0)
    parsed, counts = values > _LOST, np.ones(len(examples), dtype=np.int64)
    if len(lost):
        others = predicted(features, w, examples.take(lost), 1)
        values[lost] = np.where(others.parsed, values[lost], others.scores)
        trees = _replaced(trees, lost, others.trees)
    return Predictions(trees, counts, values, parsed, True, False, w)


def _replaced(trees: Trees, rows: np.ndarray, others: Trees) -> Trees:
    """The trees with others in some places."""
    columns = []
    for mine, their in zip(trees[:3], others[:3], strict=True):
        parts = np.split(mine, trees.offsets[1:-1])
        for row, own in zip(rows.tolist(), np.split(their, others.offsets[1:-1]), strict=True):
            parts[row] = own
        columns.append(parts)
    offsets = cumulated([len(part) for part in columns[0]])
    joined_ = [np.concatenate(parts).astype(np.int32) for parts in columns]
    return Trees(joined_[0], joined_[1], joined_[2], offsets)
