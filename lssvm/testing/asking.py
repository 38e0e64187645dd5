"""Findings, and calls of an application that is not trusted."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lssvm.errors import LssvmError
from lssvm.oracle import INEXACT
from lssvm.plane import Plane

PER_KIND = 3  # findings of one kind that are reported

Answer = TypeVar("Answer")


class Weights(NamedTuple):
    """A point where inference is called, and its name in findings."""

    name: str
    w: np.ndarray


def weights(d: int, rng: np.random.Generator) -> list[Weights]:
    """The points where an application with d weights is called, see the package."""

    def eighths() -> np.ndarray:
        return rng.integers(-8, 9, d) / 8

    found = [Weights("w = 0", np.zeros(d))]
    found += [Weights(f"w of eighths, number {k + 1}", eighths()) for k in range(4)]
    sparse = [eighths() * (rng.random(d) < 0.1) for _ in range(3)]
    found += [Weights(f"w with few weights, number {k + 1}", w) for k, w in enumerate(sparse)]
    found += [Weights(f"random w, number {k + 1}", 0.1 * rng.normal(size=d)) for k in range(2)]
    return found + [Weights(f"large w, number {k + 1}", 1000 * eighths()) for k in range(2)]


class FaultyAnswerError(Exception):
    """There was no answer, or an unusable one; it is already reported."""


class Stack:
    """Planes of one function of an example, one for each w.

    values, products, rounding : (K, K), of plane j at w number k: its value, w · gradient, and
        their rounding error; losses : (K,)
    """

    def __init__(self, planes: Sequence[Plane], W: np.ndarray, hard: bool) -> None:
        gradients = np.array([plane.gradient for plane in planes])
        losses = np.array([plane.loss for plane in planes])[:, None]
        self.losses = losses.ravel()
        self.products = gradients @ W.T
        sizes = np.abs(losses) + np.abs(gradients) @ np.abs(W).T
        if not hard:  # the loss part is a difference of values at the w of the plane
            sizes += np.diag(sizes)[:, None]
        self.rounding = INEXACT * sizes
        self.values = losses + self.products


class Findings:
    """Sentences by kind, a few of each kind."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}

    @property
    def texts(self) -> list[str]:
        """All sentences."""
        return [text for texts in self._told.values() for text in texts]

    def tell(self, kind: str, text: str) -> None:
        """Add a sentence, unless there are enough of its kind."""
        texts = self._told.setdefault(kind, [])
        if len(texts) < PER_KIND and text not in texts:
            texts.append(text)

    def attempt(self, check: Callable[[], None]) -> None:
        """Run a check up to the first unusable answer."""
        try:
            check()
        except FaultyAnswerError:
            return

    def ask(self, what: str, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """An answer of the application. Raises FaultyAnswerError if there is none."""
        kind = what.rpartition(": ")[2]
        try:
            return function(*arguments)
        except LssvmError as error:
            self.tell(f"error of {kind}", f"{what}: {error}")
        except Exception as error:  # whatever an application raises is a finding
            self.tell(f"error of {kind}", f"{what} raised {type(error).__name__}: {error}")
        raise FaultyAnswerError
