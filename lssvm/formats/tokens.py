"""Words of text files that stand for numbers: plain ASCII digits, finite, within bounds.

Python's ``int`` and ``float`` accept more than the formats allow (``1_000``, ``١``, ``nan``) and
refuse whole numbers of more than 4,300 digits with other messages. The functions here raise
ValueError with what is wrong and what was expected; readers add file and line.
"""

import math
import re
from array import array
from collections.abc import Sequence
from operator import lt

SHOWN = 20  # characters of a wrong word that a message quotes
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PAIRS = re.compile(r"(?:\s+\d{1,10}:[-+.\deE]+)*\s*", re.ASCII)  # at first sight
_NOT_FINITE = ("nan", "inf", "infinity")


def cut(text: str) -> str:
    """A word as messages quote it."""
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def is_whole(text: str) -> bool:
    """Whether a word consists of the digits 0 to 9 alone."""
    return text.isascii() and text.isdigit()


def whole(text: str, what: str, least: int, most: int, others: str = "") -> int:
    """The whole number of a word, ``least`` to ``most``; it is at least 0, so it has no sign.

    what : the name of the number, for messages; others : other values that are allowed
    """
    expected = f"{least} to {most:,d}" + (f", {others}" if others else "")
    if not is_whole(text):
        raise ValueError(f"{what} {cut(text)!r} is not a whole number; expected {expected}")
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(most)) or not least <= int(digits) <= most:
        raise ValueError(f"{what} {cut(text)!r} is out of range; expected {expected}")
    return int(digits)


def finite(text: str, what: str) -> float:
    """The finite number of a word; what : the name of the number, for messages."""
    if text.lower().lstrip("+-") in _NOT_FINITE:
        raise ValueError(f"{what} {text!r} is not finite; expected a finite number")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{what} {cut(text)!r} is not a number; expected one such as 0.5")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{what} {cut(text)!r} is too large; expected a finite number")
    return number


def cost(text: str) -> float:
    """The cost of a word, at least 0."""
    number = finite(text, "cost")
    if number < 0:
        raise ValueError(f"cost {cut(text)!r} is negative; expected at least 0")
    return number


def features(text: str, most: int, least: int = 1, why: str = "") -> tuple[array, array]:
    """Indices ("i", as they are written) and values ("d") of words ``index:value``.

    text : the words, separated by blanks
    least, most : lowest and highest index, 0 or 1 and at most 2³¹ − 1
    why : the reason in the message that refuses an index 0

    Indices increase, values are finite.
    """
    if not _PAIRS.fullmatch(f" {text}"):
        return _examined(text.split(), most, least, why)
    numbers = text.replace(":", " ").split()
    try:
        indices, values = array("i", map(int, numbers[::2])), array("d", map(float, numbers[1::2]))
    except (ValueError, OverflowError):
        return _examined(text.split(), most, least, why)
    in_order = not indices or (
        indices[0] >= least and indices[-1] <= most and all(map(lt, indices, indices[1:]))
    )
    if not in_order or not math.isfinite(sum(values)):
        return _examined(text.split(), most, least, why)
    return indices, values


def _examined(pairs: Sequence[str], most: int, least: int, why: str) -> tuple[array, array]:
    """The same for words that look wrong: one at a time, to report the first wrong one."""
    indices, values = array("i"), array("d")
    last = least - 1
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if not colon or not is_whole(index):
            raise ValueError(f"{cut(pair)!r} is not a feature; expected index:value")
        place = whole(index, "index", least, most, "" if index.strip("0") else why)
        if place <= last:
            raise ValueError(f"index {place} follows {last}; expected increasing indices")
        indices.append(place)
        values.append(finite(value, f"value of feature {place}"))
        last = place
    return indices, values
