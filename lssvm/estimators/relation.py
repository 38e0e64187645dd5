"""Relations of pairs of entities whose mentions have no labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.estimators.base import Hidden
from lssvm.estimators.lists import Measured
from lssvm.estimators.watching import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class RelationExtractor(Measured, Hidden):
    """Finds the relations of pairs of entities, each expressed by some mention of the pair.

    Parameters
    ----------
    loss : hamming: the number of wrong relations of each pair; f_beta: 1 − F over all pairs
    beta : with f_beta, recall counts as beta times as important as precision
    average : micro or macro, the F of f_beta
    none_weights : whether mentions that express no relation have weights of their own
    bias : value of a constant feature of each mention; 0: none
    iterations : with f_beta, most steps of the decomposition in a pass
    initialisation : labels or random, the first labels of mentions

    For the others see ``Hidden`` and ``Structured``.

    Attributes
    ----------
    classes_ : (L,) the relations, names or numbers as y had them

    Examples
    --------
    >>> from lssvm.estimators import RelationExtractor
    >>> X = [[["was born in", "CITY"], ["met"]], [["lives in", "CITY"]], [["met"]]]
    >>> extractor = RelationExtractor(C=10).fit(X, [["birth"], ["home"], []])
    >>> extractor.predict([[["was born in"], ["lives in"]], [["met"]]])
    [['birth', 'home'], []]
    """

    loss: str = "hamming"
    beta: float = 1.0
    average: str = "micro"
    none_weights: bool = False
    bias: float = 1.0
    iterations: int = 15
    initialisation: str = "labels"

    _application: ClassVar[str] = "relation"
    _kinds = ("string",)
    _own = ("loss", "beta", "average", "none_weights", "bias", "iterations", "initialisation")

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train on pairs. Those with more relations than mentions are left out.

        X : n pairs: lists of mentions, each a list of names of features or a dictionary of values;
            or dictionaries of mentions and entities; or matrices (mentions, features)
        y : n lists of relations: names, or with matrices numbers from 1; [] is no relation
        sample_weight : (n,) the costs of the pairs, 1 by default, for loss hamming
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        self._train(callback, X, y, costs=sample_weight)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The relations, (L,)."""
        vocabulary = self._fitted.vocabulary
        return vocabulary.numbers if vocabulary.numbered else np.array(vocabulary.relations)

    def predict(self, X: Sequence[Any]) -> list[list[Any]]:
        """The relations of each pair."""
        examples = self._examples(X)
        found = self._classified(examples).relations(examples)
        names = self.classes_
        return [names[own].tolist() for own in found]

    def mentions(self, X: Sequence[Any]) -> list[list[Any]]:
        """The relation of each mention of each pair, None for none."""
        examples = self._examples(X)
        names = [*self.classes_.tolist(), None]
        labels = [names[label] for label in self._classified(examples).mention_labels.tolist()]
        return [labels[first:last] for first, last in pairwise(examples.places.tolist())]

    def decision_function(self, X: Sequence[Any]) -> np.ndarray:
        """How much each pair speaks for each relation, (n, L): above 0 for predicted ones."""
        found: np.ndarray = self._classified(self._examples(X)).scores
        return found

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """F1 over all pairs and relations, from 0 to 1; see ``metrics`` for others."""
        return float(self.metrics(X, y)["f1"] or 0.0) / 100.0

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
