"""Pairs of entities that are given in memory."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.applications.given import costs_of, lengths_of, numbered, rows_of
from lssvm.applications.relation.bags import Bags
from lssvm.errors import LssvmError, counted
from lssvm.formats.bag_file import BagFile
from lssvm.formats.relation_json import JsonBags
from lssvm.formats.relation_numbers import MOST_RELATIONS
from lssvm.offsets import cumulated

_PARTS = ("id", "entities", "mentions")


class FromPairs:
    """Examples from lists or matrices, packed as the pairs of a file are."""

    @abstractmethod
    def packed(self, file: BagFile) -> Bags:
        """The examples of pairs that were read. Raises DataError."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> Bags:
        """The pairs that are given in memory, packed as those of files are.

        X : n pairs. A pair is a list of its mentions, each of which is a list of names of features
            or a dictionary of names and values; or a dictionary as a JSON line has it, with
            mentions and perhaps id and entities; or a matrix (mentions, features), dense or
            sparse, whose columns are the features 1, 2 … of the text format
        y : n lists or sets of relations: names, or with matrices their numbers from 1; an empty one
            is no relation; None, in it or instead of it: not known
        costs : (n,) the costs c_i of the pairs, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "relation"}).create_application()
        >>> ada = [["was born in", "CITY"], {"lived in": 1, "distance": 0.5}]
        >>> examples = application.examples_from([ada, [["met"]]], [["born in"], []])
        >>> examples.relations, examples.truth(1).ravel(), examples.places
        (('born in',), array([ True, False]), array([0, 2, 3]))
        """
        pairs = list(X)
        if not pairs:
            raise LssvmError("X: no pairs; expected at least one")
        known = [None] * len(pairs) if y is None else [_labels(*each) for each in enumerate(y, 1)]
        if len(known) != len(pairs):
            raise LssvmError(
                f"y has {counted(len(known), 'pair')}, X has {len(pairs):,d}; expected as many"
            )
        make = _of_matrices if _is_matrix(pairs[0]) else _of_names
        return self.packed(make(pairs, known, costs_of(costs, len(pairs))))


def _labels(number: int, labels: Any) -> list[Any] | None:
    """The relations of a pair, those of a set in their order. Raises LssvmError."""
    if labels is None:
        return None
    if isinstance(labels, str | Mapping) or not np.iterable(labels):
        wrong = f"y: pair {number} has {labels!r:.40}"
        raise LssvmError(f"{wrong}; expected a list of relations, [] for none, None: not known")
    found = sorted(labels, key=str) if isinstance(labels, Set) else list(labels)
    return [str(each) if isinstance(each, str) else each for each in found]


def _is_matrix(pair: Any) -> bool:
    return bool(sparse.issparse(pair)) or hasattr(pair, "shape")


# names


def _of_names(
    pairs: Sequence[Any], known: Sequence[list[Any] | None], costs: np.ndarray
) -> BagFile:
    """Pairs with names of features and relations. Raises LssvmError."""
    reader = JsonBags()
    for number, (pair, labels, cost) in enumerate(zip(pairs, known, costs, strict=True), 1):
        try:
            reader.add(number, {**_described(pair), "relations": labels, "cost": float(cost)})
        except ValueError as error:
            raise LssvmError(f"X, y: pair {number}: {error}") from None
    return reader.pairs(ended=True)


def _described(pair: Any) -> dict[str, Any]:
    """A pair as a JSON line describes it, relations apart. Raises ValueError."""
    if isinstance(pair, Mapping):
        for key in pair:
            if key not in _PARTS:
                raise ValueError(f"{key!r:.40} is not known; expected {', '.join(_PARTS)}")
        found = dict(pair)
        for key, plain in (("entities", _text), ("mentions", _mention)):
            if isinstance(found.get(key), list | tuple):
                found[key] = list(map(plain, found[key]))
        return found
    if isinstance(pair, str) or not isinstance(pair, Sequence):
        raise ValueError(f"{pair!r:.40} is no pair; expected a list of mentions, or a matrix")
    return {"mentions": [{"features": _features(mention)} for mention in pair]}


def _mention(mention: Any) -> Any:
    if not isinstance(mention, Mapping) or "features" not in mention:
        return mention
    return {**mention, "features": _features(mention["features"])}


def _features(features: Any) -> Any:
    """Names, or names with values, as plain values. Raises ValueError."""
    if isinstance(features, str) or not np.iterable(features):
        raise ValueError(f"a mention is {features!r:.40}; expected its features: names, or values")
    if not isinstance(features, Mapping):
        return [_text(name) for name in features]
    found = {}
    for name, value in features.items():
        if not isinstance(name, str):
            raise ValueError(f"a feature is {name!r:.40}; expected its name, a text")
        if not isinstance(value, bool | int | float | np.number | np.bool_):
            raise ValueError(f"the value of {name!r:.40} is {value!r:.40}; expected a number")
        found[str(name)] = float(value)
        if not math.isfinite(found[str(name)]):
            raise ValueError(f"the value of {name!r:.40} is {value}; expected a finite number")
    return found


def _text(name: Any) -> Any:
    """A plain text of NumPy's and others, what is no text as it is."""
    return str(name) if isinstance(name, str) else name


# numbers


def _of_matrices(
    pairs: Sequence[Any], known: Sequence[list[Any] | None], costs: np.ndarray
) -> BagFile:
    """Pairs with numbered features and relations. Raises LssvmError."""
    shapes = [np.shape(pair) for pair in pairs]
    for number, shape in enumerate(shapes, 1):
        if len(shape) != 2 or not shape[0] or shape[1] != shapes[0][-1]:
            wrong = f"X: pair {number} has the shape {shape}"
            raise LssvmError(
                f"{wrong}; expected a row for each mention, one at least, and as many "
                "columns (features) in all pairs"
            )
    some = any(sparse.issparse(pair) for pair in pairs)
    rows = rows_of(sparse.vstack(pairs, "csr") if some else np.concatenate(pairs))
    labels = [_numbers(number, own or ()) for number, own in enumerate(known, 1)]
    every = np.array([label for own in labels for label in own], dtype=np.int64)
    highest = int(every.max(initial=0))
    return BagFile(
        lines=numbered(len(pairs)),
        known=np.array([own is not None for own in known]),
        label_places=lengths_of(labels),
        labels=(every - 1).astype(np.int32),
        relations=tuple(map(str, range(1, highest + 1))),
        places=cumulated([shape[0] for shape in shapes]),
        starts=rows.offsets,
        indices=rows.indices + np.int32(1),
        values=rows.values,
        features=None,
        names=None,
        entities=None,
        mention_names=None,
        costs=costs,
    )


def _numbers(pair: int, labels: Sequence[Any]) -> list[int]:
    """The numbers of relations, increasing. Raises LssvmError."""
    for label in labels:
        whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
        if not whole or not 1 <= label <= MOST_RELATIONS:
            wrong = f"y: pair {pair} has the relation {label!r:.40}"
            expected = f"numbers from 1 to {MOST_RELATIONS:,d}, as X has matrices"
            raise LssvmError(f"{wrong}; expected {expected}")
    found = sorted(map(int, labels))
    if len(set(found)) < len(found):
        raise LssvmError(f"y: pair {pair} has a relation twice; expected each once")
    return found
