"""What of long vectors is sent: the weights that a worker reads, and sums that are not 0.

Rows of sparse features are scored against the weights of their features alone, so a worker needs
no others; and a sum over its examples is 0 elsewhere. Both ends know which features the examples
have. What is put together again has the bytes of what was there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from lssvm.applications.base import KernelRows
from lssvm.oracle.tree import Node
from lssvm.plane import Plane

SHORT = 2**16  # numbers that are sent whole
KEPT = 128  # answers about several numbers together
LESS = 0.75  # of the bytes of all of them, from which it does not pay


class Portion(NamedTuple):
    """Some of ``size`` weights, which both ends know by the examples that read them."""

    size: int
    values: np.ndarray


class Few(NamedTuple):
    """The numbers of a vector that are not 0, and their places."""

    size: int
    places: np.ndarray
    values: np.ndarray


class Reads(NamedTuple):
    """The weights that examples read.

    bits : whether each of ``width`` features occurs, eight in a byte; columns : that a row is
        scored against. Weights beyond those of features are always read
    """

    bits: np.ndarray
    width: int
    columns: int

    @classmethod
    def of(cls, application: Any, examples: Any) -> Self | None:
        """What some examples read; None if it is all weights, or not known."""
        if not isinstance(application, KernelRows):
            return None
        given = application.features_of_values(examples)
        if given is None:
            return None
        codes, width = given
        columns = application.columns_per_row(examples)
        if width * columns < SHORT:
            return None
        marks = np.zeros(width, dtype=bool)
        marks[codes] = True
        return cls(np.packbits(marks), width, columns)

    @classmethod
    def together(cls, parts: "Sequence[Reads | None]") -> "Reads | None":
        """What several examples read; None if that is all, or nearly."""
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        found = known[0]._replace(bits=np.bitwise_or.reduce([part.bits for part in known]))
        return found if found._marks.mean() < LESS else None

    @property
    def _marks(self) -> np.ndarray:
        return np.unpackbits(self.bits, count=self.width).view(bool)

    def taken(self, w: np.ndarray) -> Portion:
        """The weights that are read."""
        rows = w[: self.width * self.columns].reshape(self.width, self.columns)
        rest = w[self.width * self.columns :]
        return Portion(len(w), np.concatenate([rows[self._marks].ravel(), rest]))

    def spread(self, part: Portion) -> np.ndarray:
        """Weights of which those that are not read are 0."""
        w = np.zeros(part.size)
        edge = self.width * self.columns
        own = len(part.values) - (part.size - edge)
        w[:edge].reshape(self.width, self.columns)[self._marks] = part.values[:own].reshape(
            -1, self.columns
        )
        w[edge:] = part.values[own:]
        return w


class Readers:
    """What the examples of some numbers read, as their workers and the driver work out alike."""

    def __init__(self, reads: Callable[[int], Reads | None]) -> None:
        """reads : of the examples of one number"""
        self._reads = reads
        self._known: dict[int, Reads | None] = {}
        self._together: dict[tuple[int, ...], Reads | None] = {}

    def of(self, numbers: Iterable[int]) -> Reads | None:
        """What the examples of these numbers read together."""
        key = tuple(numbers)
        if key not in self._together:
            for number in key:
                if number not in self._known:
                    self._known[number] = self._reads(number)
            if len(self._together) >= KEPT:
                self._together.clear()
            self._together[key] = Reads.together([self._known[number] for number in key])
        return self._together[key]

    def forget(self, number: int) -> None:
        """The examples of a number are others now."""
        self._known.pop(number, None)
        self._together.clear()


def sent(w: np.ndarray, readers: Readers, numbers: Iterable[int]) -> np.ndarray | Portion:
    """What is sent of weights for the examples of some numbers."""
    reads = readers.of(numbers) if len(w) >= SHORT else None
    return w if reads is None else reads.taken(w)


def received(w: np.ndarray | Portion, readers: Readers, numbers: Iterable[int]) -> np.ndarray:
    """The weights again, as far as they are read."""
    if not isinstance(w, Portion):
        return w
    reads = readers.of(numbers)
    if reads is None:
        raise RuntimeError("some weights came, and it is not known which")
    return reads.spread(w)


def brief(found: Any) -> Any:
    """An answer whose planes have only the numbers that are not 0, if these are few.

    found : a plane, a node of the tree, a list or a tuple of those, or anything else
    """
    if isinstance(found, Plane):
        return _brief(found)
    if isinstance(found, Node):
        return found._replace(plane=_brief(found.plane))
    if type(found) in (list, tuple):
        return type(found)(map(brief, found))
    return found


def _brief(plane: Plane) -> Plane:
    gradient = plane.gradient
    if len(gradient) < SHORT:
        return plane
    places = np.flatnonzero(gradient.view(np.int64))  # -0.0 counts: it is no other number's bytes
    places = places.astype(np.int32 if len(gradient) < 2**31 else np.int64, copy=False)
    values = gradient[places]
    if places.nbytes + values.nbytes > LESS * gradient.nbytes:
        return plane
    few: Any = Few(len(gradient), places, values)
    return Plane(few, plane.loss)


def whole(plane: Plane) -> Plane:
    """A plane with all numbers of its gradient, which may be overwritten."""
    few: Any = plane.gradient
    if not isinstance(few, Few):
        return plane.writable()
    gradient = np.zeros(few.size)
    gradient[few.places] = few.values
    return Plane(gradient, plane.loss)
