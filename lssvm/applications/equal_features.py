"""Features that are equal in all training examples, trained as one.

Scores contain the weights of k features with the same value x in every row by their sum alone, and
½‖w‖² makes these weights equal. The k features are therefore trained as the one feature √k x: inner
products of rows, and with them planes and solvers, stay what they are but for rounding, and there
are fewer weights. Text has many such features, because most of them occur in one place only. The
finished model has a weight for each of them again.

Whether features are equal is told by two sums of 64 bits over their values, each value mixed with
what its row holds. So neither the order of rows matters nor where they are: the sums of shares add
up. Different features with equal sums are as unlikely as two random numbers of 128 bits that agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lssvm import sparse
from lssvm.applications.names import LazyNames
from lssvm.applications.occurring import LEAST, TABLE, Occurring
from lssvm.offsets import cumulated, narrowed

SHARE = 0.5  # if a larger share of the features is left, merging is not worth its cost
CHUNK = 4_000_000  # values that are mixed at a time
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Merged:
    """The sparse rows of examples with one feature for each group of equal features.

    groups : (P,) int32, the group of each feature of ``whole``, −1 for those without a value
    counts : (G,) int64, features of each group; groups are in the order of their first features
    columns : K, weights of a feature
    whole : the space of the finished model: linear, or the features that occur

    w holds the G · K weights of the groups, then the weights that belong to no feature.
    """

    groups: np.ndarray
    counts: np.ndarray
    columns: int
    whole: Any

    @classmethod
    def of(
        cls, features: np.ndarray, sums: np.ndarray, width: int, columns: int, whole: Any
    ) -> Self | None:
        """The groups; None if merging would save little.

        features, sums : (k,) and (k, 2), what :func:`sums_of` gives, of one or several shares
        width : of a row. Its last feature, which may be the constant one, stays alone.
        """
        marks = np.zeros(width, dtype=bool)
        marks[features] = True
        found = np.flatnonzero(marks)
        total = np.zeros((len(found), 2), dtype=np.uint64)
        places = np.searchsorted(found, features)
        for k in range(2):
            np.add.at(total[:, k], places, sums[:, k])
        group, count = _numbered(total, alone=bool(len(found)) and found[-1] == width - 1)
        saved = (len(found) - count) * columns
        if saved < LEAST or count > SHARE * len(found):
            return None
        groups = group
        if not isinstance(whole, Occurring):
            groups = np.full(width, -1, dtype=np.int32)
            groups[found] = group
        return cls(groups, np.bincount(group, minlength=count), columns, whole)

    @property
    def saved(self) -> int:
        """By how much the finished model has more weights."""
        return (len(self.groups) - len(self.counts)) * self.columns

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The examples with groups as features; the weights are unchanged.

        The feature of a group is the sum of its features divided by √k: with v the weight of the
        group, each of its features has the weight v / √k.
        """
        shown, _ = self.whole.prepared(examples, w)
        rows = sparse.csr_array(shown.inputs)
        places = np.append(self.groups, np.int32(-1))[np.minimum(rows.indices, len(self.groups))]
        known = places >= 0
        starts = narrowed(cumulated(known)[rows.indptr])
        own = places[known]
        values = rows.data[known] / np.sqrt(self.counts)[own]
        shape = (rows.shape[0], len(self.counts))
        matrix = sparse.csr_array((values, own, starts), shape=shape)
        matrix.sum_duplicates()
        return examples.with_inputs(matrix), w

    def restricted(self, w: np.ndarray) -> np.ndarray:
        """Linear weights as those of groups, the nearest ones: equal features have equal ones."""
        if isinstance(self.whole, Occurring):
            w = self.whole.restricted(w)
        size = len(self.groups) * self.columns
        own = np.flatnonzero(self.groups >= 0)
        kept = np.zeros((len(self.counts), self.columns))
        np.add.at(kept, self.groups[own], w[:size].reshape(-1, self.columns)[own])
        return np.append(kept / np.sqrt(self.counts)[:, None], w[size:])

    def reduced(self, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The space of the finished model, and weights of all its features."""
        size = len(self.counts) * self.columns
        each = w[:size].reshape(-1, self.columns) / np.sqrt(self.counts)[:, None]
        every = np.zeros((len(self.groups), self.columns))
        own = self.groups >= 0
        every[own] = each[self.groups[own]]
        return self.whole, np.append(every, w[size:])

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ w)

    def names(self, names: Sequence[str]) -> "MergedNames":
        """The names of linear weights, a group having that of its first feature."""
        return MergedNames(self, self.whole.names(names))

    def facts(self) -> dict[str, Any]:
        """How many features there are."""
        return {"different features": len(self.counts)}

    def arrays(self) -> dict[str, np.ndarray]:
        """None: a model keeps those of :meth:`reduced`."""
        return {}

    def of_features(self, values: np.ndarray) -> np.ndarray:
        """Sizes of groups as those of their features, 0 for others.

        values : of the first groups, as columns of prepared rows have them
        """
        own = np.flatnonzero((self.groups >= 0) & (self.groups < len(values)))
        found = np.zeros(int(own[-1]) + 1)
        found[own] = (values / np.sqrt(self.counts[: len(values)]))[self.groups[own]]
        return self.whole.of_features(found) if isinstance(self.whole, Occurring) else found


class MergedNames(LazyNames):
    """The names of the weights of groups."""

    def __init__(self, merged: Merged, names: Sequence[str]) -> None:
        self._names, self._columns = names, merged.columns
        own = np.flatnonzero(merged.groups >= 0)
        self._first = own[np.unique(merged.groups[own], return_index=True)[1]]
        self._size = len(self._first) * merged.columns
        self._linear = len(merged.groups) * merged.columns

    def __len__(self) -> int:
        return self._size + len(self._names) - self._linear

    def name(self, place: int) -> str:
        """The name at a place."""
        if place >= self._size:
            return self._names[place - self._size + self._linear]
        row, column = divmod(place, self._columns)
        return self._names[int(self._first[row]) * self._columns + column]


def found_in(
    merges: bool, examples: Any, codes: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """The features that occur, (k,) increasing, and their sums if equal ones are to be merged.

    codes, width : of ``features_of_values``
    """
    if merges:
        return sums_of(examples.inputs)
    marks = np.zeros(width, dtype=bool)
    marks[codes] = True
    return np.flatnonzero(marks), None


def sums_of(inputs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The features that sparse rows have, (k,) increasing, and two sums of each, (k, 2) uint64."""
    rows = sparse.csr_array(inputs)
    marks = np.zeros(rows.shape[1], dtype=bool)
    marks[rows.indices] = True
    features = np.flatnonzero(marks)
    table = None
    if len(marks) <= TABLE * len(rows.indices):  # faster than bisection
        table = np.cumsum(marks, dtype=np.int32) - np.int32(1)
    total = np.zeros((len(features), 2), dtype=np.uint64)
    edges, first = rows.indptr, 0
    while first < rows.shape[0]:
        last = int(np.searchsorted(edges, edges[first] + CHUNK, side="right")) - 1
        last = min(max(first + 1, last), rows.shape[0])
        columns = rows.indices[edges[first] : edges[last]]
        places = np.searchsorted(features, columns) if table is None else table[columns]
        _add_sums(total, places, rows, first, last)
        first = last
    return features, total


def _add_sums(total: np.ndarray, places: np.ndarray, rows: Any, first: int, last: int) -> None:
    """Add the values of rows first .. last − 1. places : of each value in ``total``"""
    own = slice(int(rows.indptr[first]), int(rows.indptr[last]))
    columns = rows.indices[own]
    bits = np.ascontiguousarray(rows.data[own], dtype=np.float64).view(np.uint64)
    values = _mixed(bits)
    entries = _mixed(values + columns.astype(np.uint64) * _GOLDEN)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    edges = rows.indptr[first : last + 1] - own.start
    keys = _mixed(sums[edges[1:]] - sums[edges[:-1]])
    terms = _mixed(np.repeat(keys, np.diff(edges)) + values)
    np.add.at(total[:, 0], places, terms)
    np.add.at(total[:, 1], places, _mixed(terms + _GOLDEN))


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Each number of 64 bits, mixed as SplitMix64 ends (Steele, Lea & Flood, OOPSLA 2014)."""
    found = numbers ^ (numbers >> np.uint64(30))
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found


def _numbered(sums: np.ndarray, alone: bool) -> tuple[np.ndarray, int]:
    """The group of each row of sums (k, 2), in the order of first members, and how many there are.

    alone : whether the last row is a group of its own
    """
    if alone:
        group, count = _numbered(sums[:-1], False)
        return np.append(group, np.int32(count)), count + 1
    order = np.lexsort((sums[:, 1], sums[:, 0]))
    ranked = sums[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = np.any(ranked[1:] != ranked[:-1], axis=1)
    first = order[begins]  # the smallest of each group, as sorting keeps equal ones in order
    number = np.empty(len(first), dtype=np.int32)
    number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    group = np.empty(len(order), dtype=np.int32)
    group[order] = number[np.cumsum(begins) - 1]
    return group, len(first)
