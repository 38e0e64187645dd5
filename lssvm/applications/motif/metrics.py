"""Metrics of two classes."""

import numpy as np


def roc_auc(truth: np.ndarray, scores: np.ndarray) -> float | None:
    """Probability that a positive scores above a negative, ties counted half; None if undefined.

    truth : (n,) bool; scores : (n,), -inf allowed
    """
    positives = int(np.sum(truth))
    negatives = len(truth) - positives
    if not positives or not negatives:
        return None
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    above = float(np.sum(ranks[truth])) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def percent(part: int, whole: int) -> float | None:
    """part / whole in percent; None if there is nothing."""
    return 100 * part / whole if whole else None
