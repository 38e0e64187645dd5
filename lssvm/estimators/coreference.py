"""Coreference: which mentions of a document mean the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.estimators.base import Hidden
from lssvm.estimators.lists import Measured
from lssvm.estimators.watching import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class CoreferenceResolver(Measured, Hidden):
    """Puts the mentions of documents into clusters, by latent trees of links.

    Parameters
    ----------
    features : names of the features of pairs, for documents that are matrices; None: they are
        numbered. Features of documents that are texts are made from their words
    penalty : loss of a link between two true clusters
    max_distance : largest distance of a pair, in mentions

    For the others see ``Hidden`` and ``Structured``.

    Examples
    --------
    >>> from lssvm.estimators import CoreferenceResolver
    >>> text = {"words": "Anna lost her key".split(), "mentions": [(0, 1), (2, 4), (2, 3)]}
    >>> resolver = CoreferenceResolver(C=10).fit([text], [["Anna", "key", "Anna"]])
    >>> resolver.predict([text])
    [array([0, 1, 0], dtype=int32)]
    """

    features: Sequence[str] | None = None
    penalty: float = 1.0
    max_distance: int | None = None

    _application: ClassVar[str] = "coreference"
    _kinds = ("dict",)
    _width: ClassVar[int | None]  # of an instance, once fit has seen X: features of a pair

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"penalty": self.penalty, "max_distance": self.max_distance}
        if self._width is not None:
            options["features"] = self._width if self.features is None else self.features
        return options

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train on documents.

        X : n documents: dictionaries of words, mentions and more, or matrices (pairs, features);
            see ``examples_from`` of the application
        y : n sequences with the cluster of each mention, words or numbers
        sample_weight : (n,) the costs of the documents, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        if not len(X):
            raise ValueError("X: no documents; expected at least one")
        self._width = np.shape(X[0])[1] if np.ndim(X[0]) == 2 else None  # type: ignore[misc]
        self._train(callback, X, y, costs=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> list[np.ndarray]:
        """The clusters of the mentions of each document, numbered from 0 by first mention."""
        examples = self._examples(X)
        clusters = self._classified(examples).clusters
        return np.split(clusters, examples.mentions[1:-1])

    def links(self, X: Sequence[Any]) -> list[list[tuple[int, int]]]:
        """The links of the best forest of each document, mentions from 0."""
        examples = self._examples(X)
        found = self._fitted.records(examples, self._classified(examples))
        return [[(a - 1, b - 1) for a, b in record["h"]] for record in found]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[Any]]) -> float:
        """F1 of links (MUC), from 0 to 1; see ``metrics`` for others."""
        return float(self.metrics(X, y)["muc"] or 0.0) / 100.0
