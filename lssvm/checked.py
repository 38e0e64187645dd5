"""What arrays and values from a file must be before they are used.

Kernels run without bounds checks, so whatever a model or a checkpoint holds is compared in full
with what was stored: types, shapes, ranges, and one array with another. Every fault is a ModelError
of one sentence without the file's name, which is added where the file is read.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.errors import ModelError

LARGEST = 1e100  # of weights and features: sums of products of two of them are finite
LONGEST = 1e150  # of coordinates: their squares are finite
MOST_WEIGHTS = 2**31 - 1  # coordinates of w: kernels count them by int32
MOST = 2**62  # of whole numbers: sums of two of them fit 64 bits
SHOWN = 60  # letters of a value that a message gives
ROUNDING = 1e-6  # by which sums of shares may miss what they add up to
INDEX = (np.int32, np.int64)  # what SciPy keeps the places of sparse rows as
_ENDLESS = math.inf
_HIGHEST = 1.7e308  # a whole number beyond it is no float

Arrays = Mapping[str, np.ndarray]
Values = Mapping[str, Any]
Check = Callable[[Values, str], Any]  # gives the value of that name, or raises ModelError


def known(given: Iterable[str], *names: str, optional: Iterable[str] = ()) -> None:
    """Refuse names that are missing, and those that are neither expected nor optional."""
    given = set(given)
    for name in names:
        if name not in given:
            raise ModelError(f"{name!r} is missing")
    unknown = given.difference(names, optional)
    if unknown:
        expected = ", ".join([*names, *optional]) or "nothing"
        raise ModelError(f"{shown(min(unknown))} is not known; expected {expected}")


def array(
    arrays: Arrays,
    name: str,
    dtype: Any,
    shape: tuple[int | None, ...],
    *,
    least: float = -_ENDLESS,
    most: float = _ENDLESS,
    infinite: bool = False,
) -> np.ndarray:
    """The array of that name, once it is sure what it is.

    dtype : one type or several; shape : None stands for any length
    least, most : of all its numbers, which are finite unless ``infinite`` values may be among them
    """
    if name not in arrays:
        raise ModelError(f"array {name!r} is missing")
    found = arrays[name]
    types = dtype if isinstance(dtype, tuple) else (dtype,)
    fits = len(found.shape) == len(shape) and all(
        wanted in (None, length) for length, wanted in zip(found.shape, shape, strict=True)
    )
    if not fits or not any(found.dtype == kind for kind in types):
        expected = " or ".join(str(np.dtype(kind)) for kind in types)
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        lengths += "," * (len(shape) == 1)
        raise ModelError(
            f"array {name!r} is {found.dtype} of shape {found.shape}; "
            f"expected {expected} of shape ({lengths})"
        )
    good = (found >= least) & (found <= most)
    if found.dtype.kind == "f" and not infinite:
        good &= np.isfinite(found)
    if not np.all(good):
        place = np.unravel_index(int(np.argmin(good)), found.shape)
        where = ", ".join(map(str, place))
        raise ModelError(
            f"array {name!r} holds {found[place]} at [{where}]; "
            f"expected {_range(least, most, infinite)}"
        )
    return found


def vector(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """The float64 array of that name, of vectors whose inner products are finite."""
    return array(arrays, name, np.float64, shape, least=-LONGEST, most=LONGEST)


def _range(least: float, most: float, infinite: bool = False) -> str:
    numbers = "numbers" if infinite else "finite numbers"
    ends = [f"{word} {end:g}" for word, end in (("from", least), ("to", most)) if abs(end) < 1e308]
    return " ".join([numbers, *ends])


def rising(arrays: Arrays, name: str, dtype: Any, count: int, end: int) -> np.ndarray:
    """Offsets (count,), from 0 to ``end``, none lower than the one before."""
    found = array(arrays, name, dtype, (count,), least=0, most=end)
    if count == 0 or found[0] != 0 or found[-1] != end or np.any(found[1:] < found[:-1]):
        raise ModelError(f"array {name!r} does not rise from 0 to {end}; expected offsets that do")
    return found


def sparse_rows(
    arrays: Arrays, prefix: str, shape: tuple[int, int], *, most: float = _ENDLESS
) -> "sparse.csr_array":
    """The matrix whose ``data``, ``indices`` and ``indptr`` have names with this prefix.

    most : the largest size of a number
    """
    data = array(arrays, f"{prefix}data", np.float64, (None,), least=-most, most=most)
    indices = array(
        arrays, f"{prefix}indices", INDEX, data.shape, least=0, most=max(0, shape[1] - 1)
    )
    if shape[1] == 0 and len(indices):
        raise ModelError(f"array {prefix}indices has entries of rows that have no columns")
    starts = rising(arrays, f"{prefix}indptr", INDEX, shape[0] + 1, len(data))
    return sparse.csr_array((data, indices, starts), shape=shape)


def words(arrays: Arrays, name: str) -> tuple[str, ...]:
    """The texts of an array (any,) of text, at least one, as :func:`distinct` has them."""
    if name not in arrays:
        raise ModelError(f"array {name!r} is missing")
    found = arrays[name]
    if found.dtype.kind != "U" or found.ndim != 1 or not len(found):
        raise ModelError(
            f"array {name!r} is {found.dtype} of shape {found.shape}; "
            "expected text of shape (any,), one at least"
        )
    try:
        return distinct(found.tolist(), name)
    except (ValueError, OverflowError):
        raise ModelError(f"array {name!r} holds what is not text") from None


def text(arrays: Arrays, name: str) -> str:
    """The text that an array of bytes is in UTF-8."""
    found = array(arrays, name, np.uint8, (None,))
    try:
        return found.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"array {name!r} is not text in UTF-8") from None


def distinct(names: Iterable[str], what: str) -> tuple[str, ...]:
    """The names, all different, none of them empty, all such that they can be written."""
    found = tuple(names)
    if len(set(found)) < len(found):
        raise ModelError(f"two {what} have one name; expected different names")
    for name in found:
        if not name or not encodable(name):
            raise ModelError(f"{what}: {shown(name)} is not a name; expected text")
    return found


def encodable(name: str) -> bool:
    """Whether a text can be written as UTF-8, which a part of a surrogate pair cannot."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def whole(values: Values, name: str, *, least: int = 0, most: int = MOST) -> int:
    """The whole number of that name."""
    found = _value(values, name)
    if type(found) is not int or not least <= found <= most:
        raise _unlike(name, found, f"a whole number from {least} to {most}")
    return found


def number(
    values: Values,
    name: str,
    *,
    least: float = -_ENDLESS,
    most: float = _ENDLESS,
    infinite: bool = False,
) -> float:
    """The number of that name, as it is; finite unless it may be ``infinite``."""
    found = _value(values, name)
    right = type(found) in (int, float) and least <= found <= most
    if not right or not (abs(found) <= _HIGHEST or (infinite and type(found) is float)):
        raise _unlike(name, found, f"one of the {_range(least, most, infinite)}")
    return found


def positive(values: Values, name: str) -> float:
    """The finite number of that name, 0 or more."""
    return number(values, name, least=0.0)


def above(values: Values, name: str) -> float:
    """The number of that name, or infinity, which stands for an upper bound that is not known."""
    return number(values, name, least=-_HIGHEST, infinite=True)


def below(values: Values, name: str) -> float:
    """The number of that name, or −infinity, which stands for a lower bound that is not known."""
    return number(values, name, most=_HIGHEST, infinite=True)


def flag(values: Values, name: str) -> bool:
    """The truth value of that name."""
    found = _value(values, name)
    if type(found) is not bool:
        raise _unlike(name, found, "true or false")
    return found


def mapping(values: Values, name: str) -> dict[str, Any]:
    """The mapping of that name."""
    found = _value(values, name)
    if not isinstance(found, dict):
        raise _unlike(name, found, "a mapping")
    return found


def sequence(values: Values, name: str) -> list[Any]:
    """The list of that name."""
    found = _value(values, name)
    if not isinstance(found, list):
        raise _unlike(name, found, "a list")
    return found


def pair(row: Any, *checks: Check) -> tuple[Any, Any]:
    """A row of a list that holds two values, the first and the second as these checks want them."""
    if not isinstance(row, list) or len(row) != 2:
        raise ModelError(f"{shown(row)} stands in a list; expected two values")
    first, second = ({"value": each} for each in row)
    return checks[0](first, "value"), checks[1](second, "value")


def same(values: Values, name: str, expected: Any) -> Any:
    """The value of that name, which must be the one that is expected."""
    found = _value(values, name)
    if type(found) is not type(expected) or found != expected:
        raise _unlike(name, found, shown(expected))
    return found


def generator(values: Values, name: str) -> np.random.Generator:
    """A generator that stands where the one stood whose state that value is."""
    state = mapping(values, name)
    known(state, "bit_generator", "state", "has_uint32", "uinteger")
    same(state, "bit_generator", "PCG64")
    inner = mapping(state, "state")
    known(inner, "state", "inc")
    whole(inner, "state", most=2**128 - 1)
    if whole(inner, "inc", most=2**128 - 1) % 2 == 0:
        raise _unlike("inc", inner["inc"], "an odd number")
    whole(state, "has_uint32", most=1)
    whole(state, "uinteger", most=2**32 - 1)
    found = np.random.Generator(np.random.PCG64(0))
    found.bit_generator.state = state
    return found


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    found = ascii(value)
    return found if len(found) <= SHOWN else f"{found[: SHOWN - 1]}…"


def _value(values: Values, name: str) -> Any:
    if name not in values:
        raise ModelError(f"{name!r} is missing")
    return values[name]


def _unlike(name: str, found: Any, expected: str) -> ModelError:
    return ModelError(f"{name} is {shown(found)}; expected {expected}")
