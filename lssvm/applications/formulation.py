"""The parts of the objective on which inference depends."""

from dataclasses import dataclass

import numpy as np

from lssvm.errors import LssvmError

TEMPERATURES = {  # (ε_y, ε_h) of the models that have no choice
    "ssvm": (0.0, 0.0),
    "lssvm": (0.0, 0.0),
    "mssvm": (0.0, 1.0),
    "hcrf": (1.0, 1.0),
    "loss_augmented_likelihood": (1.0, 1.0),
}
ANNEALED = "epsilon"
SMOOTH = frozenset({"hcrf", "loss_augmented_likelihood", ANNEALED})


@dataclass(frozen=True)
class Formulation:
    """The parts of the objective on which inference depends (Tsochantaridis et al. 2004).

    model : ``ssvm``, ``lssvm``, ``crf`` …, one of the application's ``models``
    rescaling : ``margin``, U⁺ = max over ŷ of L + w · Φ(ŷ); or ``slack``,
        U⁺ = max over ŷ of L (1 + w · Φ(ŷ) − w · Φ(y)) + w · Φ(y), without hidden values only
    slack_norm : 1, linear slack, L = Δ; 2, quadratic slack, L = √Δ; 0, no slack (hard margin)
    epsilon_y, epsilon_h : temperatures of y and h of the model ``epsilon`` (Ping, Liu & Ihler,
        ICML 2014), 0 for a maximum; None with all others
    """

    model: str = "lssvm"
    rescaling: str = "margin"
    slack_norm: int = 1
    epsilon_y: float | None = None
    epsilon_h: float | None = None

    @property
    def temperatures(self) -> tuple[float, float]:
        """ε_y and ε_h: those of the model, or the given ones."""
        given = (self.epsilon_y or 0.0, self.epsilon_h or 0.0)
        return TEMPERATURES.get(self.model, given)

    @property
    def hard(self) -> bool:
        """Whether U⁺ and U⁻ are maxima over y and h, so that the loss part of a plane is a loss."""
        return self.model in ("ssvm", "lssvm")

    @property
    def charged(self) -> bool:
        """Whether Δ counts in U⁺."""
        return self.model != "hcrf"

    def margin(self, losses: np.ndarray) -> np.ndarray:
        """L for these losses Δ, same shape.

        Raises LssvmError if a loss between 0 and 1 is to be separated without slack.
        """
        if self.slack_norm == 0 and np.any((losses > 0.0) & (losses < 1.0)):
            raise LssvmError(
                "without slack (objective.slack_norm: 0) every loss must be 0 or at least 1"
            )
        return np.sqrt(losses) if self.slack_norm == 2 else losses
