"""What the score of an output consists of: features of outputs, other outputs, and words."""

from abc import ABC, abstractmethod
from dataclasses import is_dataclass, replace
from typing import Any, Generic, NamedTuple

import numpy as np

from lssvm.applications.guard import named
from lssvm.applications.prediction import P
from lssvm.errors import LssvmError
from lssvm.plane import Plane
from lssvm.problem import E


class Rival(NamedTuple):
    """An output that is compared with the prediction.

    name : for people; plane : w · Φ of it at w, as ``completed`` gives it
    """

    name: str
    plane: Plane


class Explainer(ABC, Generic[E, P]):
    """Explains predictions of single examples: all data sets here have one example of cost 1.

    The joint features of an output are the gradient of ``completed`` for an example with this
    output as its truth. So an application has to say only how a prediction becomes a truth.
    """

    @abstractmethod
    def completed(self, w: np.ndarray, examples: E) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""

    def scoring_weights(self, w: np.ndarray) -> np.ndarray:
        """The weights that Φ is multiplied with, (d,), by default w."""
        return w

    def as_truth(self, w: np.ndarray, examples: E, predictions: P) -> E | None:
        """The examples with the predictions as their true outputs; None by default: unknown."""
        return None

    def truth_plane(self, w: np.ndarray, examples: E) -> Plane:
        """w · Φ of the true output, hidden values completed. Raises DataError if that is unknown.

        Where hidden values are summed out, the gradient has expected features, and the loss part is
        an entropy. Where ``scoring_weights`` are not w, the loss part has what they add.
        """
        return self.completed(w, examples)

    def prediction_plane(self, w: np.ndarray, examples: E, predictions: P) -> Plane | None:
        """The same of the prediction; None if the features of outputs are not known."""
        truth = self.as_truth(w, examples, predictions)
        return None if truth is None else self.truth_plane(w, truth)

    def rival(self, w: np.ndarray, examples: E, predictions: P, label: str | None) -> Rival | None:
        """The output with this label; without a label the second best one, None if it is unknown.

        Raises LssvmError for a label that no output has; by default for every label.
        """
        if label is None:
            return None
        raise LssvmError(
            f"--against {label}: {named(self)}outputs have no labels; expected no --against, to "
            "compare with the truth"
        )

    def shown(self, examples: E, predictions: P) -> list[str]:
        """Lines of text that show the input, with output and hidden value (none by default)."""
        return []


def alone(examples: E, row: int) -> E:
    """One example, its cost 1."""
    one: Any = examples.take(np.array([row]))
    return replace(one, costs=np.ones(1)) if is_dataclass(one) else one  # type: ignore[return-value,type-var]
