"""Prediction, and scores of predictions."""

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from lssvm.problem import E


class Approximations(NamedTuple):
    """Predictions that need not be the best.

    by : the method that finds them; number : of them; not_converged : those for which the method
        did not converge
    """

    by: str
    number: int
    not_converged: int


P = TypeVar("P")  # the predictions of an application


class Predictor(ABC, Generic[E, P]):
    """Predictions for examples, and scores of them."""

    @abstractmethod
    def predict(self, w: np.ndarray, examples: E, top: int = 1) -> P:
        """argmax over (y, h) of w · Φ for each example, with its ``top`` best h."""

    @abstractmethod
    def score(self, examples: E, predictions: P) -> dict[str, float | None]:
        """The field's metrics by their usual names; None where one is not defined."""

    def prediction_values(self, examples: E, predictions: P) -> np.ndarray | None:
        """w · Φ of the predictions, (n,), or ε_h log Σ exp(w · Φ / ε_h), which they maximise.

        Only tests use it (``lssvm.testing``); None by default, which means unknown.
        """
        return None

    def approximations(self, predictions: P) -> Approximations | None:
        """How many of the predictions are approximate; None if inference is always exact."""
        return None

    def training_losses(self, examples: E, predictions: P) -> np.ndarray | None:
        """Δ of the predictions for the training data, (n,), to check F; or None."""
        return None

    def training_warnings(self, examples: E, predictions: P) -> list[str]:
        """Warnings about the predictions for the training data, one sentence each."""
        return []
