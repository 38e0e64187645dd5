"""Predictions for bags."""

from dataclasses import dataclass

import numpy as np

from lssvm.applications.relation.bags import Bags

NONE = -1  # the label of a mention that expresses no relation


@dataclass(frozen=True)
class Predictions:
    """The best relations of n pairs and labels of their mentions.

    scores : (n, L) float64, how much a pair speaks for each relation, on one scale for all
    mention_labels : (mentions,) int32, the relation of each mention, -1 for none; a pair has the
        relations that its mentions have
    best_mentions : (n, L) int32, the place within the pair of the mention that a score is of
    values : (n,) float64, w · Φ
    """

    scores: np.ndarray
    mention_labels: np.ndarray
    best_mentions: np.ndarray
    values: np.ndarray

    def relations(self, examples: Bags) -> np.ndarray:
        """Whether each pair has each relation, (n, L) bool."""
        return used(examples, self.mention_labels, self.scores.shape[1])


def used(examples: Bags, mention_labels: np.ndarray, count: int) -> np.ndarray:
    """Which of ``count`` relations the mentions of each pair have, (n, count) bool.

    mention_labels : (mentions,) int, -1 for none
    """
    found = np.zeros((len(examples), count), dtype=bool)
    pairs = np.repeat(np.arange(len(examples)), examples.mention_counts)
    own = mention_labels >= 0
    found[pairs[own], mention_labels[own]] = True
    return found
