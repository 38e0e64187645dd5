"""Pairs of sequences as the kernel of alignments reads them, checked once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.kernels.arrays import INTEGER, LONG, Arrays


@dataclass(frozen=True, eq=False)
class AlignmentArrays(Arrays):
    """p pairs of sequences of letters.

    codes : (letters,) int32, of all sequences one after another
    places : (sequences + 1,) where each sequence begins; none is empty
    x, z : (p,) the sequences of each pair
    width : one more than the highest code
    """

    KINDS: ClassVar = {
        "codes": (INTEGER, 1),
        "places": (LONG, 1),
        "x": (LONG, 1),
        "z": (LONG, 1),
    }

    codes: np.ndarray
    places: np.ndarray
    x: np.ndarray
    z: np.ndarray
    width: int = field(init=False)

    def check(self) -> None:
        """Refuse sequences that are empty, and pairs of sequences that there are not."""
        count = len(self.places) - 1
        self.check_offsets("places", count, len(self.codes))
        if np.any(np.diff(self.places) == 0):
            self.refuse("a sequence is empty")
        self.check_length("z", len(self.x))
        self.check_range("x", self.x, count)
        self.check_range("z", self.z, count)
        if len(self.codes) and self.codes.min() < 0:
            self.refuse("codes are below 0")
        self.set_width(int(self.codes.max(initial=-1)) + 1)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Letters of x and of z, (p, 2) int64."""
        letters = np.diff(self.places)
        return np.column_stack([letters[self.x], letters[self.z]])

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the letters of the x of each pair begin in the kernel's answers, (p + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes[:, 0])]).astype(np.int64)

    @cached_property
    def order(self) -> np.ndarray:
        """The pairs by their lengths: neighbours are worked on together."""
        return np.lexsort(self.sizes.T).astype(np.int64)

    @property
    def longest(self) -> tuple[int, int]:
        """Letters of the longest x and z."""
        found = self.sizes.max(axis=0, initial=1)
        return int(found[0]), int(found[1])
