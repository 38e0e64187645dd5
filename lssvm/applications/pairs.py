"""Examples as any Python values, and the hidden values remembered for them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from lssvm.errors import LssvmError

X = TypeVar("X")  # inputs
Y = TypeVar("Y")  # outputs
H = TypeVar("H")  # hidden values; None where there are none
UNSEEN = object()  # stands for a hidden value that was not given yet


@dataclass
class Kept:
    """Hidden values that an application returned for the true outputs, for later comparison.

    owner : the application; hidden, rivals : (n,) of the last completion, and of loss-augmented
        inference where it found the true output; UNSEEN: none yet
    turns : (n,) passes over the block that begins with each example
    """

    count: int
    owner: object = None
    hidden: list[Any] = field(default_factory=list)
    rivals: list[Any] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    def of(self, application: object) -> "Kept":
        """The same values, or empty ones if they come from another application."""
        if self.owner is not application:
            self.hidden, self.rivals = [UNSEEN] * self.count, [UNSEEN] * self.count
            self.turns = [0] * self.count
            self.owner = application
        return self

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return Kept, (self.count,)


@dataclass(frozen=True)
class Pairs(Generic[X, Y]):
    """Inputs and true outputs (None where unknown) as they are, with names and costs.

    kept, places : hidden values of the whole data set, and the places of these examples in it
    """

    inputs: tuple[X, ...]
    outputs: tuple[Y, ...]
    names: tuple[str, ...]
    costs: np.ndarray
    kept: Kept = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    places: np.ndarray = field(default=None, compare=False, repr=False)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.kept is None:
            object.__setattr__(self, "kept", Kept(len(self.inputs)))
            object.__setattr__(self, "places", np.arange(len(self.inputs)))

    @property
    def sizes(self) -> np.ndarray:
        """Every example counts as the same work."""
        return np.full(len(self.inputs), 10_000, dtype=np.int64)

    @property
    def labelled(self) -> bool:
        """Whether every true output is known."""
        return bool(np.all(self.known))

    @property
    def known(self) -> np.ndarray:
        """Whether each true output is known, (n,) bool."""
        return np.array([output is not None for output in self.outputs], dtype=bool)

    def __len__(self) -> int:
        return len(self.inputs)

    def slice(self, start: int, stop: int) -> "Pairs[X, Y]":
        """Examples start..stop-1."""
        return self.take(np.arange(start, stop))

    def take(self, rows: np.ndarray) -> "Pairs[X, Y]":
        """The chosen examples, in the order of ``rows``."""
        inputs, outputs, names = (
            tuple(column[i] for i in rows) for column in (self.inputs, self.outputs, self.names)
        )
        return Pairs(inputs, outputs, names, self.costs[rows], self.kept, self.places[rows])

    def fingerprint(self) -> str:
        """SHA-256 of inputs, outputs and costs; LssvmError for values without a ``__repr__``."""
        digest = hashlib.sha256()
        _hash((self.inputs, self.outputs, self.costs), digest.update)
        return digest.hexdigest()


def _hash(value: object, update: Callable[[bytes], None]) -> None:
    """Feed a value to a hash: arrays by their bytes, containers by their members."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        update(f"{value.dtype.str}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple | np.ndarray):
        update(f"{type(value).__name__}{len(value)}".encode())
        for member in value:
            _hash(member, update)
    elif isinstance(value, dict):
        _hash(list(value.items()), update)
    elif type(value).__repr__ is object.__repr__:
        kind = type(value).__name__
        raise LssvmError(f"values of type {kind!r} cannot be told apart; give {kind} a __repr__")
    else:
        update(repr(value).encode() + b"\0")


def same(y: object, other: object) -> bool:
    """Whether both are the same output; arrays are the same if all their entries are."""
    try:
        return y is other or bool(y == other)
    except ValueError:
        return np.array_equal(y, other)  # type: ignore[arg-type]
