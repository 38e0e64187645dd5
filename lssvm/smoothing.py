"""Smoothed maxima: what ``bundle-newton`` asks of an application."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from lssvm.errors import LssvmError
from lssvm.plane import Plane, total

E = TypeVar("E")  # the examples of an application


class Smoothing(NamedTuple):
    """Loss-augmented inference at w for a sum of examples, smoothed.

    plane : of means of outputs, so that it bounds Σ c_i U⁺_i from below at every w
    slack : by how much Σ c_i U⁺_i is above the plane at w, at least 0
    bulge : by how much the smoothed sum, which is convex and has the plane's gradient at w, is
        above the plane there; at least ``slack``
    curvature : (d, d) second derivatives of the smoothed sum at w
    """

    plane: Plane
    slack: float
    bulge: float
    curvature: np.ndarray

    @property
    def tangent(self) -> Plane:
        """The plane that touches the smoothed sum at w."""
        return Plane(self.plane.gradient, self.plane.loss + self.bulge)


class Smoothed(ABC, Generic[E]):
    """A problem whose maxima over outputs can be smoothed."""

    @abstractmethod
    def smoothed(self, w: np.ndarray, examples: E, width: float) -> Smoothing:
        """Loss-augmented inference, smoothed over differences of score of about ``width``.

        U⁺_i itself is what it comes to as the width goes to 0. Its curvature takes memory and time
        for d² numbers.
        """


class SmoothedOracle(Protocol):
    """An oracle that smooths the maxima of a data set."""

    def smoothed(self, w: np.ndarray, width: float) -> Smoothing:
        """Smoothed loss-augmented inference; one oracle pass."""
        ...


def added(parts: Sequence[Smoothing]) -> Smoothing:
    """The sum of the parts, added in the order given; the first one's curvature is overwritten.

    Raises LssvmError if the second derivatives are not finite.
    """
    curvature = parts[0].curvature
    for part in parts[1:]:
        curvature += part.curvature
    if not np.all(np.isfinite(curvature)):
        raise LssvmError("the squares of the features are too large for float64; rescale them")
    return Smoothing(
        total([part.plane for part in parts]),
        sum(part.slack for part in parts),
        sum(part.bulge for part in parts),
        curvature,
    )
