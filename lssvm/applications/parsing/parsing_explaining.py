"""Explanations of predicted trees."""

from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.explaining import Explainer
from lssvm.applications.parsing.drawing import text_drawing
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.predicted_trees import Predictions, gold_text
from lssvm.kernels import _parsing, _parsing_soft
from lssvm.plane import Plane


class ParsingExplainer(Explainer[Treebank, Predictions]):
    """Trees by the rules, spans and words that they are made of."""

    hidden: bool
    soft: bool
    features: Any
    texts: Any
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
