"""Pairs of entities with their mentions and relations as flat arrays, independent of a format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class BagFile:
    """n pairs.

    lines : (n,) int64, the line where each pair begins
    known : (n,) bool, whether its relations are known
    label_places : (n + 1,) int64, the relations of pair i are label_places[i] … in ``labels``
    labels : int32, rows of ``relations``
    relations : the relations, as they are numbered in the file (``1``, ``2`` …), or their names
    places : (n + 1,) int64, the mentions of pair i
    starts : (mentions + 1,) int64, the features of each mention
    indices : int32, the features, rows of ``features`` if they have names
    values : float64, finite
    features : names of features, or None if they are numbers
    names : n names of pairs; None if they have none
    entities : n pairs of names or None; None if no pair has them
    mention_names : names of mentions; None if they have none
    costs : (n,) float64, NaN where the file gives none
    """

    lines: np.ndarray
    known: np.ndarray
    label_places: np.ndarray
    labels: np.ndarray
    relations: tuple[str, ...]
    places: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    features: tuple[str, ...] | None
    names: Sequence[str] | None
    entities: Sequence[tuple[str, str] | None] | None
    mention_names: Sequence[str] | None
    costs: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)


class BagReader(Protocol):
    """The pairs of a file so far."""

    @property
    def held(self) -> int:
        """How many numbers are held."""
        ...

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Read lines of a block, see :data:`lssvm.formats.blocks.Compiled`."""
        ...

    def line(self, number: int, text: str) -> None:
        """Read a line. Raises ValueError that says what is wrong."""
        ...

    def pairs(self, *, ended: bool) -> BagFile:
        """The whole pairs so far, which are then forgotten. Raises DataError.

        ended : whether the file has no more lines
        """
        ...
