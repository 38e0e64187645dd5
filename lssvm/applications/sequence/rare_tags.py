"""What is kept of the labels of tokens until they are scored, in one or two bytes a token."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np


def narrow(labels: np.ndarray, count: int) -> np.ndarray:
    """Labels -1 .. count - 1 as whole numbers of as few bytes as hold them; a copy."""
    kinds = (np.int8, np.int16, np.int32)
    kind = next(kind for kind in kinds if count - 1 <= np.iinfo(kind).max)
    return labels.astype(kind)


class RareTags:
    """The true labels, as in the data, of those of ``count`` tokens whose label has no number.

    places : (k,) int64, these tokens, increasing; names : (k,) object, None if unknown
    """

    def __init__(self, places: np.ndarray, names: np.ndarray, count: int) -> None:
        self.places, self.names, self._count = places, names, count

    @classmethod
    def of(cls, labels: np.ndarray, tags: Any) -> Self:
        """Those of tokens with these numbers, (tokens,), -1 for none, and labels."""
        places = np.flatnonzero(labels < 0)
        return cls(places, tags[places], len(labels))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Those of several parts one after another."""
        ends = np.cumsum([0, *(len(part) for part in parts)])
        pairs = zip(parts, ends[:-1], strict=True)
        places = np.concatenate([part.places + before for part, before in pairs])
        return cls(places, np.concatenate([part.names for part in parts]), int(ends[-1]))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> Any:
        """Those of a range of tokens; for an array of tokens or bool, their labels.

        The labels of tokens that have numbers are not known here: None.
        """
        if isinstance(key, slice):
            first, last, _ = key.indices(self._count)
            a, b = np.searchsorted(self.places, [first, last])
            return type(self)(self.places[a:b] - first, self.names[a:b], max(0, last - first))
        tokens = np.flatnonzero(key) if key.dtype == bool else key
        at = np.searchsorted(self.places, tokens)
        own = np.append(self.places, -1)[at] == tokens
        found = np.full(len(tokens), None, dtype=object)
        found[own] = self.names[at[own]]
        return found
