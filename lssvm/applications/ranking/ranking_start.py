"""Convex problems whose solution gives the initial weights of a ranking.

Both are relative to the true labels, so their completion is 0 and nothing is hidden. Their weights
have the same coordinates as those of the ranking.
"""

from abc import abstractmethod

import numpy as np

from lssvm.applications.names import NumberedNames
from lssvm.applications.ranking.queries import MOST_FEATURES, Queries
from lssvm.kernels import _ranking, _ranking_smooth
from lssvm.plane import Plane
from lssvm.problem import ConvexProblem
from lssvm.smoothing import Smoothed, Smoothing


class Start(ConvexProblem[Queries]):
    """A sum of losses over queries, times ``weight``."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @abstractmethod
    def losses(self, w: np.ndarray, examples: Queries) -> tuple[np.ndarray, float]:
        """The gradient (d,) and the loss that belongs to it, without the weight of the sum."""

    def dimension(self, examples: Queries) -> int:
        """The highest feature index of the file."""
        return examples.dimension

    def start(self, examples: Queries, rng: np.random.Generator) -> Plane:
        """The plane that is 0 everywhere."""
        return Plane(np.zeros(examples.dimension), 0.0)

    def completed(self, w: np.ndarray, examples: Queries) -> Plane:
        """The plane that is 0 everywhere."""
        return Plane(np.zeros(len(w)), 0.0)

    def augmented(self, w: np.ndarray, examples: Queries) -> tuple[Plane, float]:
        """The losses at w as a plane that touches them there; exact."""
        gradient, loss = self.losses(w, examples)
        plane = Plane(self.weight * gradient, self.weight * loss)
        return plane, plane.value(w)

    def feature_names(self) -> NumberedNames:
        """``feature 1``, ``feature 2`` …"""
        return NumberedNames(MOST_FEATURES)


class Classifier(Start, Smoothed[Queries]):
    """Relevant documents against the others: Σ c_i 1/m_i Σ_j max(0, 1 − y_ij w · x_ij)."""

    def losses(self, w: np.ndarray, examples: Queries) -> tuple[np.ndarray, float]:
        """The documents with y_ij w · x_ij < 1."""
        scores = _ranking.scores(examples.rows, w)
        signs = np.where(examples.relevant[examples.span], 1.0, -1.0)
        weights = (examples.costs / np.diff(examples.offsets))[examples.query_of]
        weights = np.where(signs * scores < 1.0, weights, 0.0)
        gradient = _ranking.combination(examples.rows, -signs * weights)
        return gradient, float(weights.sum())

    def smoothed(self, w: np.ndarray, examples: Queries, width: float) -> Smoothing:
        """The same with each hinge smoothed."""
        signs = np.where(examples.relevant, 1, -1).astype(np.int8)
        weights = np.ascontiguousarray(w, dtype=np.float64)
        found = _ranking_smooth.hinges(examples.rows, signs, examples.costs, weights, width)
        gradient, loss, slack, bulge, curvature = found
        c = self.weight
        return Smoothing(Plane(c * gradient, c * loss), c * slack, c * bulge, c * curvature)


class PairwiseRanking(Start):
    """All pairs of a query's documents with label_a > label_b, each query's mean.

    Σ c_i 1/pairs_i Σ_(a, b) max(0, 1 − w · (x_a − x_b)): the ranking SVM of Herbrich, Graepel &
    Obermayer (2000) and Joachims (KDD 2002), every query with the same weight.
    """

    def losses(self, w: np.ndarray, examples: Queries) -> tuple[np.ndarray, float]:
        """The pairs with w · x_a < w · x_b + 1."""
        return _ranking.pairs(examples.rows, examples.levels, examples.costs, w)
