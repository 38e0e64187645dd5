"""Names of labels and features, determined by the training data, and names of weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np

from lssvm import checked
from lssvm.applications.names import LazyNames
from lssvm.checked import MOST_WEIGHTS
from lssvm.errors import ModelError

BIAS = "bias"


@dataclass(frozen=True)
class Vocabulary:
    """The meaning of the coordinates of w.

    labels : the L labels of training, in the order in which they first occur
    width : features of a token, the constant one included
    attributes : the names of the features but for the constant one; None if they are numbers,
        ``feature 1``, ``feature 2`` … as files count
    bias : whether the last feature is a constant
    """

    labels: tuple[str, ...]
    width: int
    attributes: tuple[str, ...] | None = None
    bias: bool = False

    def feature(self, index: int) -> str:
        """The name of a feature of a token."""
        if self.bias and index == self.width - 1:
            return BIAS
        return f"feature {index + 1}" if self.attributes is None else self.attributes[index]

    @cached_property
    def number(self) -> dict[str, int]:
        """The place of each attribute."""
        return {name: place for place, name in enumerate(self.attributes or ())}

    def arrays(self) -> dict[str, np.ndarray]:
        """The vocabulary as arrays for the model file; text is UTF-8, one name per line."""
        found = {
            "labels": _encoded(self.labels),
            "width": np.array([self.width, self.bias], dtype=np.int64),
        }
        return (
            found if self.attributes is None else found | {"attributes": _encoded(self.attributes)}
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The vocabulary from :meth:`arrays`. Raises ModelError for impossible values."""
        checked.known(arrays, "labels", "width", optional=["attributes"])
        labels = _decoded(arrays, "labels")
        if not labels:
            raise ModelError("array 'labels' is empty; expected the name of a label at least")
        sizes = checked.array(arrays, "width", np.int64, (2,), least=0, most=MOST_WEIGHTS)
        width, bias = sizes.tolist()
        if bias > min(1, width):
            raise ModelError(f"array 'width' is {[width, bias]}; expected a width, and 0 or 1")
        attributes = _decoded(arrays, "attributes") if "attributes" in arrays else None
        if attributes is not None and len(attributes) != width - bias:
            raise ModelError(
                f"array 'attributes' has {len(attributes):,d} names; expected {width - bias:,d}"
            )
        return cls(labels, width, attributes, bool(bias))


class WeightNames(LazyNames):
    """``feature : label`` for emissions, ``a -> b`` and ``a -> b -> c`` for transitions.

    Names are made on demand, because there may be millions.
    """

    def __init__(self, vocabulary: Vocabulary, order: int, ends: bool) -> None:
        self.vocabulary = vocabulary
        L = len(vocabulary.labels)
        sizes = [vocabulary.width * L, L**2, L**3 * (order == 2), L * ends, L * ends]
        self._marks = list(accumulate(sizes))

    def __len__(self) -> int:
        return self._marks[-1]

    def name(self, place: int) -> str:
        """The name at a place."""
        labels, L = self.vocabulary.labels, len(self.vocabulary.labels)
        emissions, first, second, begin, _ = self._marks
        if place < emissions:
            return f"{self.vocabulary.feature(place // L)} : {labels[place % L]}"
        if place < first:
            a, b = divmod(place - emissions, L)
            return f"{labels[a]} -> {labels[b]}"
        if place < second:
            pair, c = divmod(place - first, L)
            return f"{labels[pair // L]} -> {labels[pair % L]} -> {labels[c]}"
        if place < begin:
            return f"begin -> {labels[place - second]}"
        return f"{labels[place - begin]} -> end"

    def several(self, places: range) -> list[str]:
        """The names at some places."""
        if places.start or places.step != 1:
            return super().several(places)
        labels, emissions = self.vocabulary.labels, self._marks[0]
        features = map(self.vocabulary.feature, range(-(-len(places[:emissions]) // len(labels))))
        found = [f"{feature} : {label}" for feature in features for label in labels]
        del found[len(places) :]
        return found + super().several(places[len(found) :])


def _encoded(names: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _decoded(arrays: Mapping[str, np.ndarray], name: str) -> tuple[str, ...]:
    text = checked.text(arrays, name)
    return checked.distinct(text.split("\n"), name) if text else ()
