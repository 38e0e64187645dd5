"""Bags of mentions as the kernel of relation extraction reads them, checked once."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.kernels.arrays import LONG, REAL, Arrays


@dataclass(frozen=True, eq=False, repr=False)
class BagArrays(Arrays):
    """The scores of the mentions of n bags.

    scores : (mentions, L + 1) of each mention with every label; the last column is none
    places : (n + 1,) where the mentions of each bag begin, from 0
    """

    KINDS: ClassVar = {"scores": (REAL, 2), "places": (LONG, 1)}

    scores: np.ndarray
    places: np.ndarray

    @property
    def labels(self) -> int:
        """L."""
        return int(self.scores.shape[1]) - 1

    @cached_property
    def longest(self) -> int:
        """Mentions of the largest bag, 1 at least."""
        return int(np.diff(self.places).max(initial=1))

    @cached_property
    def alone(self) -> bool:
        """Whether every bag has one mention."""
        return bool((np.diff(self.places) == 1).all())

    def own(self, labels: np.ndarray) -> np.ndarray:
        """The score of each mention with its label, (mentions,); L for none."""
        return self.scores.ravel()[self._rows + labels]

    @cached_property
    def _rows(self) -> np.ndarray:
        """Where the scores of each mention begin, (mentions,)."""
        return np.arange(len(self.scores)) * self.scores.shape[1]

    def check(self) -> None:
        """Refuse mentions that are not there, and scores without a column for none."""
        self.check_offsets("places", max(0, len(self.places) - 1), len(self.scores))
        if self.scores.shape[1] < 1:
            self.refuse("scores have no column for none")
