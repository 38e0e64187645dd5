"""The answers of an application for one block, refused where they cannot be right."""

from typing import Generic, NoReturn

import numpy as np

from lssvm.errors import ApplicationError
from lssvm.plane import Plane
from lssvm.problem import E, Maxima, Problem

# Share of the sizes of summed terms that is more than their rounding. A sum of m terms is off by
# m 1e-16 of their sizes at the very worst, by the root of m usually: 10^16 terms of n examples
# and d coordinates stay below it then.
INEXACT = 1e-8


class Answers(Generic[E]):
    """What an application finds for blocks of examples, checked wherever it is computed."""

    def __init__(self, application: Problem[E]) -> None:
        self.application = application

    def augmented(self, w: np.ndarray, block: E) -> tuple[Plane, float]:
        """A plane of Σ c_i U⁺_i, and by how much the upper bound at w is above it."""
        plane, upper = self.application.augmented(w, block)
        return plane, self.slack(plane, upper, w, block)

    def slack(self, plane: Plane, upper: float, w: np.ndarray, block: E) -> float:
        """The upper bound at w minus the plane's value there. Raises ApplicationError.

        Where inference is exact the bound is the plane's own value, not that value summed
        in another order: the difference would be rounding and nothing else.
        """
        self._check_plane(plane, w, block)
        value = plane.value(w)
        if np.isnan(upper) and np.isfinite(value):
            self._fault(block, "augmented: the upper bound is no number")
        if upper < value and value - upper > INEXACT * plane.size(w):
            self._fault(
                block,
                f"augmented: the upper bound {upper:.6g} is below the plane's own "
                f"value {value:.6g}; expected at least that",
            )
        if plane.loss < 0.0 and self._hard and -plane.loss > INEXACT * plane.size(w):
            self._fault(block, f"augmented: the loss is {plane.loss:.6g}; expected at least 0")
        return upper - value

    def completed(self, w: np.ndarray, block: E) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""
        plane = self.application.completed(w, block)
        self.check_completion(plane, w, block, "completed")
        return plane

    def check_completion(self, plane: Plane, w: np.ndarray, block: E, method: str) -> None:
        """Raise ApplicationError if the plane of ``method`` cannot be a completion's."""
        self._check_plane(plane, w, block)
        if plane.loss and self._hard and abs(plane.loss) > INEXACT * plane.size(w):
            self._fault(block, f"{method}: the loss is {plane.loss:.6g}; expected 0")

    def _check_plane(self, plane: Plane, w: np.ndarray, block: E) -> None:
        shape = np.shape(plane.gradient) if isinstance(plane, Plane) else ()
        if not isinstance(plane, Plane) or shape != w.shape:
            given = f"gradient of shape {shape}" if isinstance(plane, Plane) else str(type(plane))
            self._fault(block, f"{given}; expected a plane of {w.shape[0]} coordinates")

    def fitting(self, found: Maxima, block: E) -> Maxima:
        """What inference found for each example, if it can be."""
        for name in ("values", "losses", "uppers"):
            if np.shape(getattr(found, name)) != (len(block),):
                shape = np.shape(getattr(found, name))
                self._fault(block, f"{name} of shape {shape}; expected {(len(block),)}")
        sizes = 1.0 + np.abs(found.values) + np.abs(found.losses)
        below = found.values - found.uppers > INEXACT * sizes
        negative = (found.losses < -INEXACT * sizes) if self._hard else np.zeros_like(below)
        for wrong, text in (
            (below, "the upper bound is below the value"),
            (negative, "the loss is below 0"),
        ):
            if np.any(wrong):
                row = int(np.argmax(wrong))
                self._fault(block.slice(row, row + 1), text)
        return found

    @property
    def _hard(self) -> bool:
        """Whether U⁺ and U⁻ are maxima: the loss parts of planes are losses then."""
        formulation = getattr(self.application, "formulation", None)
        return formulation is not None and formulation.hard

    def _fault(self, block: E, text: str) -> NoReturn:
        names = [str(block.names[i]) for i in {0: [], 1: [0]}.get(len(block), [0, -1])]
        where = ("example " if len(names) == 1 else "examples ") + "–".join(map(repr, names))
        raise ApplicationError(f"{named(self.application)}{where}: {text}")


def named(application: object) -> str:
    """The application's name, to begin a message with."""
    options = getattr(application, "options", None)
    return f"application {getattr(options, 'name', type(application).__name__)!r}: "
