"""Noun-phrase coreference (Yu & Joachims, ICML 2009, section 5.2).

x is a document with n mentions and a feature vector x_ij for every pair i < j; y is a
clustering of the mentions, h a spanning forest of it: a tree for every cluster. The joint feature
map and the loss are sums over the edges of the forest:

    Φ(x, y, h) = Σ_{(i,j) ∈ h} x_ij
    Δ(y, ŷ, ĥ) = n(y) − k(y) − Σ_{(i,j) ∈ ĥ} l(y, (i, j))

with n(y) mentions, k(y) clusters, and l = 1 for an edge within a cluster of y, −1 for an edge
across. The modified loss, option ``penalty: r``, has −r for an edge across. A forest has at
most n(y) − k(y) edges within, so Δ ≥ 0, and Δ = 0 for every spanning forest of y itself.

All three problems are maximum spanning forests: prediction by weights w · x_ij, loss-
augmented inference by w · x_ij − l, both with edges of positive weight only; completion
by w · x_ij within the true clusters, where every cluster is spanned even with edges of negative
weight. Ties between edges go to the pair with the lower first mention, then to the lower second
mention. The first completion is the chain of each cluster in the order of the text.

Mentions are the annotated ones, as in the paper. With ``max_distance`` a true cluster may
have parts that no allowed pair joins. In training these parts are the true clusters, so that the
true clustering can always be reached; scores use the whole clusters.
"""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from lssvm.applications.coreference.mention_clustering import (
    MentionClustering,
    MentionOptions,
    Predictions,
    clusters_of_roots,
)
from lssvm.applications.coreference.mentions import Documents
from lssvm.kernels import _forest
from lssvm.plane import Plane


class CoreferenceOptions(MentionOptions):
    """Features of pairs, and the cost of a wrong edge."""

    name: Literal["coreference"] = Field(
        default="coreference", description="noun-phrase coreference"
    )
    penalty: float = Field(
        default=1.0, ge=0, le=1e6, description="r: loss of an edge between two true clusters"
    )


class Coreference(MentionClustering):
    """Noun-phrase coreference; the hidden value is a spanning forest of the clusters."""

    Options = CoreferenceOptions
    models = frozenset({"lssvm"})

    def start(self, examples: Documents, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i, h_i), h_i the chain of each cluster in the order of the text."""
        self.check_trainable(examples)
        aimed = examples.targets[examples.mentions[0] : examples.mentions[-1]]
        parents = [chains(aimed[where]) for where in examples.places]
        gradient = _forest.joint_features(
            examples.arrays, np.concatenate(parents), self.dimension(examples)
        )
        return Plane(gradient, 0.0)

    def augmented(self, w: np.ndarray, examples: Documents) -> tuple[Plane, float]:
        """Σ c_i max over forests h of Δ(y_i, h) + w · Φ(x_i, h); exact."""
        self.check_trainable(examples)
        gradient, loss, *_ = self._search(_forest.AUGMENT, w, examples)
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Documents) -> Plane:
        """Σ c_i max over spanning forests h of y_i of w · Φ(x_i, y_i, h). Raises DataError."""
        self.check_trainable(examples)
        gradient, loss, *_ = self._search(_forest.COMPLETE, w, examples)
        return Plane(gradient, loss)

    def predict(self, w: np.ndarray, examples: Documents, top: int = 1) -> Predictions:
        """The trees of the best forest are the clusters; ``top`` has no meaning here."""
        _, _, parents, roots, scores = self._search(_forest.PREDICT, w, examples)
        return Predictions(clusters_of_roots(examples, roots), parents, scores)

    def joint_feature(
        self, examples: Documents, i: int, edges: list[tuple[int, int]]
    ) -> np.ndarray:
        """Φ(x_i, y, h) of the forest h with the edges (first, second), mentions from 0, (d,)."""
        found = np.zeros(self.dimension(examples))
        for first, second in edges:
            found += self.pair(examples, i, first, second)
        return found

    def document_loss(
        self, gold: np.ndarray, clusters: np.ndarray, parents: np.ndarray | None
    ) -> float:
        """Δ of a forest, given as parents."""
        if parents is None or not len(gold):
            return 0.0
        rows = np.flatnonzero(parents >= 0)
        within = int(np.sum(gold[rows] == gold[parents[rows]]))
        aimed = len(gold) - len(np.unique(gold))
        return aimed - within + self.options.penalty * (len(rows) - within)

    def _search(self, task: int, w: np.ndarray, examples: Documents) -> Any:
        return _forest.search(
            task,
            examples.targets,
            examples.arrays,
            np.ascontiguousarray(w, dtype=np.float64),
            self.options.penalty,
        )


def chains(clusters: np.ndarray) -> np.ndarray:
    """For each mention the one before it in its cluster, -1 for the first; (n,) int32."""
    parents = np.full(len(clusters), -1, dtype=np.int32)
    order = np.argsort(clusters, kind="stable")
    follows = clusters[order][1:] == clusters[order][:-1]
    parents[order[1:][follows]] = order[:-1][follows]
    return parents
