"""Explanations of predicted trees, and pictures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.explaining import Explainer
from lssvm.applications.parsing.drawing import svg_drawing, text_drawing
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.predicted_trees import Predictions, gold_text
from lssvm.applications.picturing import Picturer
from lssvm.kernels import _parsing, _parsing_soft
from lssvm.plane import Plane

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

LENGTHS = 5  # words of a group of sentences


class ParsingExplainer(Explainer[Treebank, Predictions], Picturer[Treebank, Predictions]):
    """Trees by the rules, spans and words that they are made of."""

    hidden: bool
    soft: bool
    features: Any
    texts: Any
    counts: Any
    _search: Any
    _summed: Any

    def as_truth(
        self, w: np.ndarray, examples: Treebank, predictions: Predictions
    ) -> Treebank | None:
        """The predicted tree as the true one, where prediction is by posteriors of rules."""
        if not (self.soft and self.hidden) or not predictions.parsed[0]:
            return None
        weights = self.features.weights(w)
        sentences = self.features.sentences(examples)
        scores = (weights.rules, weights.spans, self.features.emissions(weights, examples))
        grammar = self.features.grammar
        _, rules, offsets = _parsing_soft.by_rules(grammar, sentences, *scores)
        if not len(rules):
            return None
        made = np.ones(1, dtype=bool)
        return replace(examples, rules=rules, derivations=offsets, made=made, known=made)

    def prediction_plane(
        self, w: np.ndarray, examples: Treebank, predictions: Predictions
    ) -> Plane | None:
        """w · Φ of the best derivation; None without a parse."""
        if self.soft and self.hidden:
            return super().prediction_plane(w, examples, predictions)
        if not predictions.parsed[0]:
            return None
        found = self._search(_parsing.PREDICT, w, examples)
        return Plane(self._summed(examples, found, np.ones(1)), 0.0)

    def shown(self, examples: Treebank, predictions: Predictions) -> list[str]:
        """The predicted tree, and the true one if it is another."""
        tree = self.texts(examples, predictions).trees(0)[0]
        lines = ["predicted", *text_drawing(tree).splitlines()]
        if examples.known[0]:
            gold = gold_text(examples, 0)
            lines += ["", "true: the same"] if gold == tree else []
            lines += ["", "true", *text_drawing(gold).splitlines()] if gold != tree else []
        return lines

    def data_figures(
        self, w: np.ndarray, examples: Treebank, predictions: Predictions
    ) -> "Iterator[Figure]":
        """F1 of brackets by the length of sentences, and the tree of the worst one."""
        from lssvm.output.charts import Drawing, Lines, Series

        counts = self.counts(examples, predictions)
        groups = (examples.lengths - 1) // LENGTHS
        x, series = np.unique(groups), []
        sums = {
            name: np.array([getattr(counts, name)[groups == g].sum() for g in x], dtype=float)
            for name in ("matched", "test", "gold")
        }
        for hue, (name, whole) in enumerate(
            (("precision", sums["test"]), ("recall", sums["gold"]))
        ):
            shares = np.divide(sums["matched"], whole, out=np.zeros(len(x)), where=whole > 0)
            series.append(Series(name, x * LENGTHS + (LENGTHS + 1) / 2, 100.0 * shares, hue=hue))
        yield Lines(
            title="Brackets by length",
            note="Precision and recall of labelled brackets.",
            series=series,
            x_label="words of a sentence",
            y_label="%",
            from_zero=True,
        )
        wrong = counts.gold + counts.test - 2 * counts.matched
        row = int(np.argmax(wrong))
        tree, name = self.texts(examples, predictions).trees(row)[0], examples.identifiers[row]
        yield Drawing(title=f"Predicted tree of sentence {name}", svg=svg_drawing(tree))
        if wrong[row]:
            true = gold_text(examples, row)
            yield Drawing(title=f"True tree of sentence {name}", svg=svg_drawing(true))
