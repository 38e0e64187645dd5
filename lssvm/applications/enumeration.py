"""Applications whose outputs can be listed: every maximum is found by enumeration."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from lssvm.applications.pairs import H, X, Y, same
from lssvm.applications.per_example import PerExample, WrongAnswerError


@runtime_checkable
class Listing(Protocol):
    """An application that lists its outputs; ``lssvm.testing`` compares all with inference."""

    def candidates(self, x: Any) -> Iterable[tuple[Any, Any]]:
        """Every (y, h) of an input."""
        ...


class Enumerated(PerExample[X, Y, H]):
    """Write a reader, the joint feature map, the loss, and ``candidates``.

    Loss-augmented inference, completion and prediction are exact; the first of equal candidates
    wins. A subclass may override each of them with a faster method. Without hidden values
    (``hidden = False``) every slack norm and both rescalings are offered, unless
    loss-augmented inference is overridden.
    """

    OBSERVED: ClassVar[Mapping[str, frozenset[Any]]] = {
        "models": frozenset({"ssvm"}),
        "rescalings": frozenset({"margin", "slack"}),
        "slack_norms": frozenset({0, 1, 2}),
    }

    @abstractmethod
    def candidates(self, x: X) -> Iterable[tuple[Y, H]]:
        """Every (y, h) of an input, always in the same order; h is None if nothing is hidden."""

    def loss_augmented_inference(self, w: np.ndarray, x: X, y: Y) -> tuple[Y, H]:
        """The candidate that attains U⁺, see :class:`Formulation`."""
        form = self.formulation
        truth = 0.0
        if form.rescaling == "slack":
            truth = self._value(w, x, y, None)

        def value(y_hat: Y, h_hat: H) -> float:
            loss = self.loss(y, y_hat, h_hat)
            if form.slack_norm != 1:
                loss = float(form.margin(np.array([loss]))[0])
            score = self._value(w, x, y_hat, h_hat)
            return loss * (1.0 + score - truth) if form.rescaling == "slack" else loss + score

        return _first_best(self.candidates(x), value)

    def complete_latent(self, w: np.ndarray, x: X, y: Y) -> H:
        """The h with the highest w · Φ among the candidates with this y."""
        return _first_best(self._of(x, y), lambda y, h: self._value(w, x, y, h))[1]

    def predict_one(self, w: np.ndarray, x: X) -> tuple[Y, H]:
        """The candidate with the highest w · Φ."""
        return _first_best(self.candidates(x), lambda y, h: self._value(w, x, y, h))

    def first_completion(self, x: X, y: Y, rng: np.random.Generator) -> H:
        """The h that training starts from: that of a random candidate of y."""
        found = self._of(x, y)
        return found[int(rng.integers(len(found)))][1] if self.hidden else found[0][1]

    def _of(self, x: X, y: Y) -> list[tuple[Y, H]]:
        found = [pair for pair in self.candidates(x) if same(y, pair[0])]
        if not found:
            raise WrongAnswerError(
                "its true output is none of its candidates; expected every (y, h)"
            )
        return found

    def _value(self, w: np.ndarray, x: X, y: Y, h: Any) -> float:
        """w · Φ, computed one by one, so that equal features have equal values, to the last bit."""
        features = np.asarray(self.joint_feature(x, y, h), dtype=np.float64)
        if features.shape != w.shape:
            raise WrongAnswerError(f"joint_feature has shape {features.shape}; expected {w.shape}")
        value = float(features @ w)
        if not np.isfinite(value):
            raise WrongAnswerError(f"w · joint_feature is {value} for y = {y!r}, h = {h!r}")
        return value


def _first_best(candidates: Iterable[tuple[Y, H]], value: Callable[[Y, H], float]) -> tuple[Y, H]:
    """The candidate with the highest value, the first of equal ones.

    Raises WrongAnswerError if there is none.
    """
    best, highest = None, -np.inf
    for y, h in candidates:
        found = value(y, h)
        if best is None or found > highest:
            best, highest = (y, h), found
    if best is None:
        raise WrongAnswerError("candidates gave none; expected every (y, h)")
    return best
