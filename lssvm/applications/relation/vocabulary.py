"""The relations and features of training, which give the coordinates of w their meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lssvm import checked
from lssvm.checked import MOST_WEIGHTS
from lssvm.errors import ModelError

BIAS = "bias"
_NUMBER_ARRAYS, _NAME_ARRAYS = ("relation_numbers", "feature_numbers"), ("feature_names",)
_HIGHEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """L relations and the P features that occur in training.

    relations : L names, in the order of their numbers in a file, else as they first occur
    numbers : (L,) int64, the numbers of the relations in files; empty if these have names
    features : (P,) int64, increasing, the features in files; empty if these have names
    names : P names of features; None if they have none
    bias : whether a constant feature follows
    """

    relations: tuple[str, ...]
    numbers: np.ndarray
    features: np.ndarray
    names: tuple[str, ...] | None
    bias: bool

    @property
    def numbered(self) -> bool:
        """Whether files have numbers, not names."""
        return len(self.numbers) > 0

    @property
    def count(self) -> int:
        """P, the features without the constant one."""
        return len(self.features) if self.numbered else len(self.names or ())

    @property
    def width(self) -> int:
        """The features of a mention, the constant one included."""
        return self.count + self.bias

    def feature(self, place: int) -> str:
        """The name of a feature of a mention."""
        if place == self.count:
            return BIAS
        return self.names[place] if self.names is not None else f"feature {self.features[place]}"

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each feature that has a name."""
        return {name: place for place, name in enumerate(self.names or ())}

    @cached_property
    def relation_of(self) -> dict[str, int]:
        """The place of each relation, by its name."""
        return {name: place for place, name in enumerate(self.relations)}

    def arrays(self) -> dict[str, np.ndarray]:
        """The vocabulary as arrays for the model file; names are UTF-8, one per line."""
        found = {"relations": _encoded(self.relations)}
        if self.numbered:
            found |= {"relation_numbers": self.numbers, "feature_numbers": self.features}
        if self.names is not None:
            found["feature_names"] = _encoded(self.names)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], *, bias: bool) -> Self:
        """The vocabulary from :meth:`arrays`. Raises ModelError for impossible values."""
        numbered = _NUMBER_ARRAYS[0] in arrays
        needed, optional = (_NUMBER_ARRAYS, _NAME_ARRAYS) if numbered else (_NAME_ARRAYS, ())
        checked.known(arrays, "relations", *needed, optional=optional)
        relations = _decoded(arrays, "relations")
        if not relations:
            raise ModelError("array 'relations' is empty; expected the name of one at least")
        numbers = features = np.empty(0, dtype=np.int64)
        names = _decoded(arrays, "feature_names") if "feature_names" in arrays else None
        if numbered:
            numbers = _increasing(arrays, "relation_numbers", len(relations))
            features = _increasing(arrays, "feature_numbers", None)
            if names is not None and len(names) != len(features):
                wrong = f"array 'feature_names' has {len(names):,d} names"
                raise ModelError(f"{wrong}; expected {len(features):,d}")
        found = cls(relations, numbers, features, names, bias)
        if found.width * (len(relations) + 1) > MOST_WEIGHTS or not found.width:
            raise ModelError(f"{found.width:,d} features; expected at least one, and fewer")
        return found


def _increasing(arrays: Mapping[str, np.ndarray], name: str, count: int | None) -> np.ndarray:
    found = checked.array(arrays, name, np.int64, (count,), least=0, most=_HIGHEST)
    if np.any(np.diff(found) <= 0):
        raise ModelError(f"array {name!r} does not increase; expected increasing numbers")
    return found


def _encoded(names: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _decoded(arrays: Mapping[str, np.ndarray], name: str) -> tuple[str, ...]:
    text = checked.text(arrays, name)
    return checked.distinct(text.split("\n"), name) if text else ()
