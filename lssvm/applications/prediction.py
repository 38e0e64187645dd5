"""How an application predicts, and how its predictions are scored."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from lssvm.problem import E

P = TypeVar("P")  # the predictions of an application


class Predictor(ABC, Generic[E, P]):
    """Predictions for examples, and scores of them."""

    @abstractmethod
    def predict(self, w: np.ndarray, examples: E, top: int = 1) -> P:
        """argmax over (y, h) of w · Φ for each example, with the ``top`` best h of it."""

    @abstractmethod
    def score(self, examples: E, predictions: P) -> dict[str, float | None]:
        """The field's metrics by their usual names; None where one is not defined."""

    def prediction_values(self, examples: E, predictions: P) -> np.ndarray | None:
        """w · Φ of the predictions, (n,), or ε_h log Σ exp(w · Φ / ε_h), what they are maxima of.

        Tests alone ask for it (``lssvm.testing``); None by default: it is not told.
        """
        return None

    def training_losses(self, examples: E, predictions: P) -> np.ndarray | None:
        """Δ of the predictions for the training data, (n,), by which F is checked; or None."""
        return None

    def training_warnings(self, examples: E, predictions: P) -> list[str]:
        """What looks wrong with the predictions for the training data, one sentence each."""
        return []
