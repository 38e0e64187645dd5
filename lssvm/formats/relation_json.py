"""Pairs of entities with mentions and relations as JSON lines, one object a line.

    {"entities": ["Ada Lovelace", "London"], "relations": ["born in"],
     "mentions": [{"id": "a7:3", "features": ["was born in", "PERSON", "CITY"]},
                  {"id": "b2:1", "features": {"lived in": 1, "distance": 0.5}}]}

(on one line). All keys but ``mentions`` and its ``features`` may be missing:

    id          name of the pair; by default the entities with a bar between them, or its number
    entities    the names of both entities
    relations   names of relations, [] for none; missing or null: not known
    mentions    at least one; each has an optional id, features, and may have a text, which is
                skipped; features are names, each with the value 1, or names with values. A name
                that occurs several times in a list counts several times
    cost        the cost c_i

Blank lines are skipped.
"""

import json
import math
import re
from array import array
from collections.abc import Collection
from typing import Any

import numpy as np

from lssvm.formats.bag_file import BagFile
from lssvm.formats.tokens import cut
from lssvm.offsets import cumulated

_PAIR = ("id", "entities", "relations", "mentions", "cost")
_MENTION = ("id", "features", "text")
_BETWEEN = " | "
_CONTROL = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]")  # of what can be no name
_NUMBERS = {int, float}
_JSON = "one object in JSON on each line"


class Numbers(dict[str, int]):
    """Names, numbered as they first occur."""

    def __missing__(self, name: str) -> int:
        """A new number. Raises ValueError for what can be no name."""
        _check_name(name)
        self[name] = number = len(self)
        return number


class JsonBags:
    """The pairs of JSON lines so far."""

    def __init__(self) -> None:
        self._count = 0
        decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
        self._decode = decoder.decode
        self._forget()

    def _forget(self) -> None:
        self.features, self.relations = Numbers(), Numbers()
        self.lines, self.known, self.costs = array("q"), array("b"), array("d")
        self.labels, self.label_counts = array("i"), array("q")
        self.mention_counts, self.sizes = array("q"), array("q")
        self.indices, self.values = array("i"), array("d")
        self.names: list[str] = []
        self.entities: list[tuple[str, str] | None] = []
        self.mention_names: list[str] = []

    @property
    def held(self) -> int:
        """How many numbers are held."""
        return len(self.values) + len(self.sizes)

    def block(self, block: bytearray, at: int, number: int) -> tuple[int, int]:
        """Leave all lines to :meth:`line`."""
        return at, 0

    def line(self, number: int, text: str) -> None:
        """Read a pair. Raises ValueError that says what is wrong."""
        if not text or text.isspace():
            return
        self.add(number, _decoded(self._decode, text))

    def add(self, number: int, found: Any) -> None:
        """Add the pair that the object of a line describes. Raises ValueError."""
        self._pair(found)
        self.lines.append(number)

    def _pair(self, found: Any) -> None:
        """Add a pair. Raises ValueError."""
        _check_object(found, "the line", _PAIR, ("mentions",))
        self._count += 1
        entities = _entities(found.get("entities"))
        name = _given_name(found, "")
        if name is None:
            name = _BETWEEN.join(entities) if entities else str(self._count)
        relations = found.get("relations")
        codes = sorted(map(self.relations.__getitem__, _distinct(relations)))
        mentions = found["mentions"]
        if not isinstance(mentions, list) or not mentions:
            given = _kind(mentions) if mentions != [] else "empty"
            raise ValueError(f"'mentions' is {given}; expected a list of at least one")
        for place, mention in enumerate(mentions, 1):
            self._mention(mention, place)
        self.names.append(name)
        self.entities.append(entities)
        self.known.append(relations is not None)
        self.costs.append(_cost(found["cost"]) if "cost" in found else math.nan)
        self.labels.extend(codes)
        self.label_counts.append(len(codes))
        self.mention_counts.append(len(mentions))

    def _mention(self, mention: Any, place: int) -> None:
        """Add a mention. Raises ValueError."""
        what = f"mention {place}"
        _check_object(mention, what, _MENTION, ("features",))
        features = mention["features"]
        if isinstance(features, dict):
            self.values.extend(_values(features, what))
        elif isinstance(features, list):
            if not {*map(type, features)} <= {str}:
                wrong = next(name for name in features if type(name) is not str)
                raise ValueError(f"{what}: a feature is {_kind(wrong)}; expected its name, a text")
            self.values.extend([1.0] * len(features))
        else:
            wrong = f"{what}: 'features' is {_kind(features)}"
            raise ValueError(f"{wrong}; expected a list of names, or names with values")
        numbers = self.features
        self.indices.extend([numbers[name] for name in features])
        self.sizes.append(len(features))
        name = _given_name(mention, f"{what}: ")
        self.mention_names.append(str(place) if name is None else name)

    def pairs(self, *, ended: bool) -> BagFile:
        """The pairs so far, see :class:`lssvm.formats.bag_file.BagReader`."""
        found = BagFile(
            lines=np.asarray(self.lines),
            known=np.asarray(self.known).astype(bool),
            label_places=cumulated(self.label_counts),
            labels=np.asarray(self.labels),
            relations=tuple(self.relations),
            places=cumulated(self.mention_counts),
            starts=cumulated(self.sizes),
            indices=np.asarray(self.indices),
            values=np.asarray(self.values),
            features=tuple(self.features),
            names=self.names,
            entities=self.entities if any(self.entities) else None,
            mention_names=self.mention_names,
            costs=np.asarray(self.costs),
        )
        self._forget()
        return found


class _RefusedError(ValueError):
    """What is wrong with a value, found while the text is decoded."""


def _decoded(decode: Any, text: str) -> Any:
    """The value of a line. Raises ValueError."""
    try:
        return decode(text)
    except json.JSONDecodeError as error:
        place = f"at character {error.pos + 1}"
        raise ValueError(f"{error.msg} {place}; expected {_JSON}") from None
    except RecursionError:
        raise ValueError("brackets are nested too deeply; expected a pair") from None
    except _RefusedError:
        raise
    except ValueError:  # a whole number of thousands of digits
        raise ValueError("a number has too many digits; expected a finite number") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values. Raises ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        known: set[str] = set()
        for key, _ in pairs:
            if key in known:
                raise _RefusedError(f"{cut(key)!r} is given twice; expected each key once")
            known.add(key)
    return found


def _refuse_constant(text: str) -> None:
    raise _RefusedError(f"{text} is not finite; expected a finite number")


def _check_object(found: Any, what: str, keys: Collection[str], needed: Collection[str]) -> None:
    """Raise ValueError for what is no object, for missing keys, and for unknown ones."""
    if not isinstance(found, dict):
        raise ValueError(f"{what} is {_kind(found)}; expected an object with {', '.join(keys)}")
    for key in needed:
        if key not in found:
            raise ValueError(f"{what} has no {key!r}; expected it, and perhaps {', '.join(keys)}")
    for key in found:
        if key not in keys:
            raise ValueError(f"{what}: {cut(key)!r} is not known; expected {', '.join(keys)}")


def _given_name(found: dict[str, Any], what: str) -> str | None:
    """The id of a pair or of a mention, a text or a whole number; None if it has none."""
    name = found.get("id")
    if name is None:
        return None
    if type(name) not in (str, int):
        raise ValueError(f"{what}'id' is {_kind(name)}; expected a text or a whole number")
    _check_name(str(name))
    return str(name)


def _check_name(name: str) -> None:
    """Raise ValueError for what can be no name."""
    if not name:
        raise ValueError("a name is empty; expected a text")
    if _CONTROL.search(name):
        raise ValueError(f"{cut(name)!r} has a control character; expected a name on one line")


def _entities(found: Any) -> tuple[str, str] | None:
    """The names of both entities, or None. Raises ValueError."""
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != 2 or {*map(type, found)} != {str}:
        given = f"a list of {len(found)}" if isinstance(found, list) else _kind(found)
        raise ValueError(f"'entities' is {given}; expected the names of two entities")
    for name in found:
        _check_name(name)
    return found[0], found[1]


def _distinct(found: Any) -> list[str]:
    """The relations of a pair, none if they are not known. Raises ValueError."""
    if found is None:
        return []
    if not isinstance(found, list) or not {*map(type, found)} <= {str}:
        given = "a list with other values" if isinstance(found, list) else _kind(found)
        raise ValueError(f"'relations' is {given}; expected a list of names, or null")
    if len(set(found)) < len(found):
        twice = next(name for place, name in enumerate(found) if name in found[:place])
        raise ValueError(f"relation {cut(twice)!r} again; expected each relation once")
    return found


def _values(features: dict[str, Any], what: str) -> Collection[float]:
    """The values of features. Raises ValueError."""
    values = features.values()
    if not {*map(type, values)} <= _NUMBERS:
        name = next(name for name, value in features.items() if type(value) not in _NUMBERS)
        wrong = f"{what}: the value of {cut(name)!r} is {_kind(features[name])}"
        raise ValueError(f"{wrong}; expected a number")
    try:
        finite = math.isfinite(sum(map(abs, values)))
    except OverflowError:
        finite = False
    if not finite:
        raise ValueError(f"{what}: values are too large; expected finite numbers")
    return values


def _cost(found: Any) -> float:
    """The cost of a pair. Raises ValueError."""
    if type(found) not in _NUMBERS or not 0 <= found <= 1e300:
        given = f"{found:g}" if type(found) is float else cut(str(found))
        raise ValueError(f"cost is {given}; expected a finite number, at least 0")
    return float(found)


def _kind(found: Any) -> str:
    """What a value is, in words."""
    if found is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    kinds |= {list: "a list", dict: "an object"}
    return kinds[type(found)]
