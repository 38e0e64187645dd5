"""What a checkpoint holds of a solver or of a run, declared where each attribute is.

The metadata of a dataclass' field say how the attribute is kept: as a plain value, as an array, or
as several of both. What a checkpoint must hold is thus what a new object of the same kind would
write itself, and nobody keeps a list of names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from lssvm.checked import Arrays, Check, Values, known, number
from lssvm.checked import array as checked_array
from lssvm.checked import generator as checked_generator
from lssvm.checked import vector as checked_vector
from lssvm.plane import Plane

LOWEST = float(np.finfo(np.float64).min)
KEPT = "kept"  # the key in the metadata of a field
State = tuple[dict[str, Any], dict[str, np.ndarray]]  # plain values, and arrays
Shape = Callable[[Any, Arrays], tuple[int | None, ...]]  # of an object that is being restored


class Kept(ABC):
    """The way an attribute is saved and restored."""

    @abstractmethod
    def save(self, owner: Any, name: str) -> State:
        """The attribute as plain values and arrays."""

    @abstractmethod
    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Any:
        """The saved attribute. Raises ModelError for what ``save`` cannot give; see ``checked``.

        owner : has its earlier fields already; this one still is that of a new object
        """


def kept(how: Kept) -> Mapping[str, Any]:
    """The metadata of a field that checkpoints keep in this way."""
    return {KEPT: how}


def state(owner: Any) -> State:
    """The plain values and arrays of all kept attributes of a dataclass."""
    values: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for each in fields(owner):
        if KEPT in each.metadata:
            own_values, own_arrays = each.metadata[KEPT].save(owner, each.name)
            values |= own_values
            arrays |= own_arrays
    return values, arrays


def restore(owner: Any, values: Values, arrays: Arrays) -> None:
    """Set all kept attributes of a new object as they were when ``state`` was taken.

    Raises ModelError if anything is missing, is too much, or cannot have been given by ``state``.
    """
    own_values, own_arrays = state(owner)
    known(values, *own_values)
    known(arrays, *own_arrays)
    for each in fields(owner):
        if KEPT in each.metadata:
            found = each.metadata[KEPT].restore(owner, each.name, values, arrays)
            setattr(owner, each.name, found)


@dataclass(frozen=True)
class _Value(Kept):
    check: Check

    def save(self, owner: Any, name: str) -> State:
        return {name: getattr(owner, name)}, {}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Any:
        return self.check(values, name)


def value(check: Check) -> Mapping[str, Any]:
    """The metadata of a plain value; check : reads it and raises ModelError."""
    return kept(_Value(check))


@dataclass(frozen=True)
class _Array(Kept):
    check: Callable[[Arrays, str, tuple[int | None, ...]], np.ndarray]
    shape: Shape | None
    stored: str | None = None

    def save(self, owner: Any, name: str) -> State:
        return {}, {self.stored or name: getattr(owner, name)}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> np.ndarray:
        own = getattr(owner, name).shape if self.shape is None else self.shape(owner, arrays)
        return self.check(arrays, self.stored or name, own)


def vector(shape: Shape | None = None) -> Mapping[str, Any]:
    """The metadata of an array of finite float64; by default of the shape in a new object."""
    return kept(_Array(checked_vector, shape))


def array(
    dtype: Any, shape: Shape | None = None, *, stored: str | None = None, **limits: Any
) -> Mapping[str, Any]:
    """The metadata of an array of this type.

    limits : arguments of ``checked.array``; stored : the name in the file, if it is another one
    """

    def check(arrays: Arrays, name: str, own: tuple[int | None, ...]) -> np.ndarray:
        return checked_array(arrays, name, dtype, own, **limits)

    return kept(_Array(check, shape, stored))


def evaluated_shape(owner: Any, arrays: Arrays) -> tuple[int]:
    """The shape of ``outputs`` and of arrays like it, which are empty before the first pass."""
    return (len(owner.w) if arrays["outputs"].size else 0,)


class _Plane(Kept):
    """A plane, or None, as the array ``name`` and the value ``name``_loss."""

    def __init__(self, optional: bool) -> None:
        self.optional = optional

    def save(self, owner: Any, name: str) -> State:
        plane = getattr(owner, name)
        if plane is None:
            return {f"{name}_loss": None}, {name: np.empty(0)}
        return {f"{name}_loss": plane.loss}, {name: plane.gradient}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Plane | None:
        if self.optional and values[f"{name}_loss"] is None:
            checked_vector(arrays, name, (0,))
            return None
        gradient = checked_vector(arrays, name, owner.w.shape)
        return Plane(gradient, number(values, f"{name}_loss"))


def plane(optional: bool = False) -> Mapping[str, Any]:
    """The metadata of a plane over w; optional : whether it may be None."""
    return kept(_Plane(optional))


class _Generator(Kept):
    def save(self, owner: Any, name: str) -> State:
        return {"generator": getattr(owner, name).bit_generator.state}, {}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Any:
        return checked_generator(values, "generator")


def generator() -> Mapping[str, Any]:
    """The metadata of the random generator."""
    return kept(_Generator())
