"""What applications share that can be trained for a loss over the whole data set."""

from abc import abstractmethod
from functools import cached_property

import numpy as np

from lssvm.applications import base
from lssvm.applications.multivariate.counts import ACTIVE
from lssvm.applications.multivariate.decomposition import Bounds, Limits, Tally, decomposed
from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import Labelling
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.plane import Plane
from lssvm.problem import E, Each


class WholeLoss(base.Continuing[E]):
    """Bounds of U⁺ of the whole data set; what one pass has found the next one begins with.

    The lower bound makes the plane, which is valid everywhere, and the upper one is the upper
    bound: where they differ, the certified gap holds nevertheless.

    decomposes : whether the loss is a sum over the examples, so that none of this is used
    limits : of the decomposition
    """

    decomposes: bool
    limits: Limits

    @property
    @abstractmethod
    def counted(self) -> int:
        """The number of labels that the loss counts."""

    @abstractmethod
    def worst(self, w: np.ndarray, examples: E, carried: np.ndarray, each: Each) -> Bounds | None:
        """What is found for these examples; None if scores are not finite."""

    @abstractmethod
    def plane_of(self, examples: E, labels: np.ndarray, loss: float) -> Plane:
        """The plane of labels; loss : with costs."""

    def continues(self, examples: E) -> bool:
        """Whether the loss is that of the whole data set."""
        return not self.decomposes

    def carried_shape(self, examples: E) -> tuple[int, int]:
        """Of prices of counts, or of one multiplier for each example and label."""
        return (ACTIVE, 2) if self.limits.counts else (len(examples), self.counted)

    def augmented_from(
        self, w: np.ndarray, examples: E, carried: np.ndarray | None, each: Each
    ) -> tuple[Plane, float, np.ndarray]:
        """U⁺ of the whole data set: a plane, an upper bound, and what the next call begins with."""
        if carried is None:
            carried = np.zeros(self.carried_shape(examples))
        found = self.worst(w, examples, carried, each)
        if found is None:
            return nowhere(w), np.nan, carried
        cost = float(examples.costs[0])
        plane = self.plane_of(examples, found.labels, cost * found.loss)
        return plane, plane.value(w) + cost * found.slack, found.carried

    def decomposed(
        self,
        bags: BagArrays,
        loss: FLoss,
        truth: Labelling,
        carried: np.ndarray,
        each: Each,
    ) -> Bounds:
        """What the decomposition finds, which is counted, see :func:`decomposition.decomposed`."""
        found = decomposed(bags, loss, truth, carried, self.limits, each)
        self._tally.add(found.apart)
        return found

    @cached_property
    def _tally(self) -> Tally:
        return Tally()

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """How often the bounds of the decomposition did not meet, and of how many passes.

        They count as met if they differ by at most 1/1000 of the value, see :class:`Bounds`.
        """
        return self._tally.taken()


def nowhere(w: np.ndarray) -> Plane:
    """What stands for a plane where scores are not finite; the oracle then names the reason."""
    return Plane(np.full(len(w), np.nan), np.nan)
