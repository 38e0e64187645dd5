"""Supervised correlation clustering (Finley & Joachims, ICML 2005), on pairs of mentions.

x is a document with n mentions and a feature vector x_ij for every pair i < j; y is a
clustering of the mentions; nothing is hidden. The joint feature map sums over all pairs
that are put together, and the loss is the share of wrong pairs in percent:

    Φ(x, y) = Σ_{i < j, y_i = y_j} x_ij
    Δ(y, ŷ) = 100 / p · |{i < j : (y_i = y_j) ≠ (ŷ_i = ŷ_j)}|,    p the number of pairs

Maximisation over clusterings is NP-hard. Prediction and loss-augmented inference use a greedy
algorithm, then a local search by moves of single mentions. Loss-augmented inference also searches
from the true clustering and takes the better of the two results, so that its value is never below
that of the true clustering. The result gives a valid cutting plane, but no upper bound is known:
gaps are not certified.

With ``max_distance`` pairs further apart count neither in Φ nor in Δ, and true clusters
are cut as in ``coreference``.
"""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from lssvm.applications.coreference.coreference_scores import count
from lssvm.applications.coreference.mention_clustering import (
    MentionClustering,
    MentionOptions,
    Predictions,
    clusters_of_roots,
)
from lssvm.applications.coreference.mentions import Documents
from lssvm.kernels import _clustering
from lssvm.plane import Plane


class CorrelationClusteringOptions(MentionOptions):
    """Features of pairs, and how long inference may search."""

    name: Literal["correlation_clustering"] = Field(
        default="correlation_clustering", description="supervised correlation clustering"
    )
    sweeps: int = Field(
        default=100,
        ge=0,
        le=2**31 - 1,
        description="maximum number of rounds of local search in inference",
    )


class CorrelationClustering(MentionClustering):
    """Supervised correlation clustering; nothing is hidden, inference is approximate."""

    Options = CorrelationClusteringOptions
    models = frozenset({"ssvm"})
    hidden = False

    def start(self, examples: Documents, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i)."""
        return self.completed(np.zeros(self.dimension(examples)), examples)

    def augmented(self, w: np.ndarray, examples: Documents) -> tuple[Plane, float]:
        """Σ c_i (Δ(y_i, ŷ) + w · Φ(x_i, ŷ)) of the clusterings ŷ found; infinity as the bound."""
        self.check_trainable(examples)
        gradient, loss, *_ = self._search(_clustering.AUGMENT, w, examples)
        return Plane(gradient, loss), np.inf

    def completed(self, w: np.ndarray, examples: Documents) -> Plane:
        """Σ c_i Φ(x_i, y_i), for any w. Raises DataError if a document has no clusters."""
        self.check_trainable(examples)
        gradient, loss, *_ = self._search(_clustering.COMPLETE, w, examples)
        return Plane(gradient, loss)

    def predict(self, w: np.ndarray, examples: Documents, top: int = 1) -> Predictions:
        """The clustering that greedy and local search find; ``top`` has no meaning here."""
        _, _, labels, scores = self._search(_clustering.PREDICT, w, examples)
        return Predictions(clusters_of_roots(examples, labels), None, scores)

    def joint_feature(self, examples: Documents, i: int, labels: list[int]) -> np.ndarray:
        """Φ(x_i, y) of the clustering with these labels, (d,)."""
        found = np.zeros(self.dimension(examples))
        for second in range(len(labels)):
            for first in range(max(0, second - examples.reach), second):
                if labels[first] == labels[second]:
                    found += self.pair(examples, i, first, second)
        return found

    def document_loss(
        self, gold: np.ndarray, clusters: np.ndarray, parents: np.ndarray | None
    ) -> float:
        """Δ of a clustering, over all pairs."""
        return count(gold, clusters).pair_loss or 0.0

    def _search(self, task: int, w: np.ndarray, examples: Documents) -> Any:
        return _clustering.search(
            task,
            examples.targets,
            examples.arrays,
            np.ascontiguousarray(w, dtype=np.float64),
            self.options.sweeps,
        )
