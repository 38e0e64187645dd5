"""Predictions for rows of features."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Predictions:
    """The predictions for n rows, and the weights that made them.

    labels : (n,) int32, classes
    values : (n,) float64, w · Φ(x, y) of these classes
    w : (d,) float64, for the scores of all classes, which are computed when they are written
    """

    labels: np.ndarray
    values: np.ndarray
    w: np.ndarray


def share(count: float, whole: int) -> float | None:
    """count / whole in percent; None if there is nothing."""
    return 100.0 * float(count) / whole if whole else None
