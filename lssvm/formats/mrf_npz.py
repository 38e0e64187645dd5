"""Graphs with states at their nodes in NumPy archives, with the arrays of ``GraphFile``.

    names (n,)  costs (n,), may be left out           node_offsets, edge_offsets (n + 1,)
    node_classes (N,)  states (N,)  labels (N,): -1 not known, -2 hidden
    node_starts (N + 1,)  node_indices, node_values   features of the nodes, sparse, from 0
    edge_classes (E,)  ends (E, 2)                    nodes counted within their graph
    edge_starts (E + 1,)  edge_indices, edge_values
    node_names (N,), may be left out

Names and classes are arrays of text.
"""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.mrf_text import HIDDEN, MOST_FEATURES, MOST_STATES, Features, GraphFile
from lssvm.formats.npy_arrays import Archive, opened_archive, read_archive

_NONE: Mapping[str, int] = {}
_PART = 100_000  # nodes and edges of a part
_TWICE = "two graphs have the same name; expected different names"
_OPTIONAL = {"costs", "node_names"}
_OF_GRAPH = ("names", "costs")
_OF_KIND = {
    "node": ("node_names", "node_classes", "states", "labels"),
    "edge": ("edge_classes", "ends"),
}
_KINDS = {
    "names": "U",
    "costs": "f",
    "node_offsets": "i",
    "edge_offsets": "i",
    "node_names": "U",
    "node_classes": "U",
    "states": "i",
    "labels": "i",
    "node_starts": "i",
    "node_indices": "i",
    "node_values": "f",
    "edge_classes": "U",
    "ends": "i",
    "edge_starts": "i",
    "edge_indices": "i",
    "edge_values": "f",
}


def read_npz(path: str | Path, limit: Limit = DEFAULT) -> GraphFile:
    """Read graphs. Raises DataError, with the name of the array, for what does not fit."""
    arrays = read_archive(path, _KINDS, _OPTIONAL, limit)
    try:
        return of_arrays(arrays)
    except ValueError as error:
        raise DataError(path, None, error) from None


def npz_parts(path: str | Path, limit: Limit = DEFAULT) -> Iterator[GraphFile]:
    """The graphs that :func:`read_npz` reads, in parts. Raises DataError."""
    with opened_archive(path, _KINDS, _OPTIONAL, limit) as archive:
        try:
            yield from _parts(archive)
        except ValueError as error:
            raise DataError(path, None, error) from None


def _parts(archive: Archive) -> Iterator[GraphFile]:
    """The graphs in parts. Raises ValueError for what does not fit."""
    shapes = archive.shapes
    _check_shapes(shapes)
    offsets = {f"{kind}_offsets": archive.rows(f"{kind}_offsets") for kind in _OF_KIND}
    _check_offsets(offsets, shapes)
    nodes, edges = (offsets[f"{kind}_offsets"].astype(np.int64) for kind in _OF_KIND)
    rows = {kind: _FeatureRows(archive, kind) for kind in _OF_KIND}
    names, first, sizes = set[str](), 0, nodes + edges
    while first < len(nodes) - 1:
        last = int(np.searchsorted(sizes, sizes[first] + _PART, side="right")) - 1
        last = max(first + 1, last)
        arrays = {name: archive.rows(name, last - first) for name in _OF_GRAPH if name in shapes}
        before: dict[str, int] = {}
        for kind, offsets_of in (("node", nodes), ("edge", edges)):
            own = offsets_of[first : last + 1]
            count = int(own[-1] - own[0])
            before |= dict.fromkeys(_OF_KIND[kind], int(own[0]))
            before[f"{kind}_indices"] = rows[kind].last
            arrays[f"{kind}_offsets"] = own - own[0]
            arrays |= {name: archive.rows(name, count) for name in _OF_KIND[kind] if name in shapes}
            arrays |= rows[kind].take(count)
        if "node_names" not in shapes:
            arrays["node_names"] = np.arange(nodes[first] + 1, nodes[last] + 1).astype("U")
        found = of_arrays(arrays, before)
        if names.intersection(found.names):
            raise ValueError(_TWICE)
        names.update(found.names)
        yield found
        first = last


class _FeatureRows:
    """The features of nodes or of edges, read in order. last : how many were read"""

    def __init__(self, archive: Archive, kind: str) -> None:
        self._archive, self._kind = archive, kind
        self.last = int(archive.rows(f"{kind}_starts", 1)[0])
        self._left = archive.shapes[f"{kind}_classes"][0]
        self._total = archive.shapes[f"{kind}_indices"][0]
        if self.last != 0:
            raise _not_increasing(f"{kind}_starts", self._total, 0)

    def take(self, count: int) -> dict[str, np.ndarray]:
        """The arrays of the next ``count`` rows. Raises ValueError for impossible starts."""
        name, total = f"{self._kind}_starts", self._total
        more = self._archive.rows(name, count).astype(np.int64)
        starts, self._left = np.append(self.last, more), self._left - count
        rises = np.all(np.diff(starts) >= 0) and starts[-1] <= total
        if not rises or (not self._left and starts[-1] != total):
            raise _not_increasing(name, total, 0)
        size, self.last = int(starts[-1] - starts[0]), int(starts[-1])
        rest = (f"{self._kind}_indices", f"{self._kind}_values")
        return {name: starts - starts[0], **{each: self._archive.rows(each, size) for each in rest}}


def of_arrays(arrays: dict[str, np.ndarray], before: Mapping[str, int] = _NONE) -> GraphFile:
    """The graphs of the arrays of an archive. Raises ValueError for what does not fit.

    before : rows of an archive's array by its name before those of ``arrays``, for messages
    """
    _check(arrays, before)
    n, nodes = len(arrays["names"]), len(arrays["states"])
    features = {
        part: Features(
            arrays[f"{part}_starts"].astype(np.int64),
            arrays[f"{part}_indices"].astype(np.int32),
            arrays[f"{part}_values"].astype(np.float64),
        )
        for part in ("node", "edge")
    }
    return GraphFile(
        names=arrays["names"].tolist(),
        costs=arrays.get("costs", np.full(n, np.nan)).astype(np.float64),
        lines=np.zeros(n, dtype=np.int64),
        node_offsets=arrays["node_offsets"].astype(np.int64),
        edge_offsets=arrays["edge_offsets"].astype(np.int64),
        node_names=arrays["node_names"].tolist()
        if "node_names" in arrays
        else [str(i) for i in range(1, nodes + 1)],
        node_classes=arrays["node_classes"].tolist(),
        states=arrays["states"].astype(np.int32),
        labels=arrays["labels"].astype(np.int32),
        node_features=features["node"],
        edge_classes=arrays["edge_classes"].tolist(),
        ends=arrays["ends"].astype(np.int32).reshape(-1, 2),
        edge_features=features["edge"],
        node_lines=None,
        edge_lines=None,
    )


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError for the first array whose shape does not fit to the others."""
    n, nodes, edges = ((*shapes[name], 1)[0] for name in ("names", "states", "ends"))
    if n == 0:
        raise ValueError("no graphs; expected at least one")
    wanted: dict[str, tuple[int, ...]] = {
        "names": (n,),
        "costs": (n,),
        **dict.fromkeys(("node_offsets", "edge_offsets"), (n + 1,)),
        **dict.fromkeys(("node_names", "node_classes", "states", "labels"), (nodes,)),
        "node_starts": (nodes + 1,),
        "edge_classes": (edges,),
        "ends": (edges, 2),
        "edge_starts": (edges + 1,),
    }
    for name, shape in wanted.items():
        if name in shapes and shapes[name] != shape and (edges or name != "ends"):
            raise ValueError(f"array {name!r} has shape {shapes[name]}; expected {shape}")
    for kind in _OF_KIND:
        indices, values = shapes[f"{kind}_indices"], shapes[f"{kind}_values"]
        if len(indices) != 1 or values != indices:
            raise ValueError(
                f"arrays '{kind}_indices' and '{kind}_values' have shapes {indices} and "
                f"{values}; expected one number each"
            )


def _check_offsets(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError where graphs do not follow each other."""
    _check_parts(arrays, "node_offsets", shapes["states"][0], 1)
    _check_parts(arrays, "edge_offsets", shapes["ends"][0], 0)


def _check(arrays: dict[str, np.ndarray], before: Mapping[str, int]) -> None:
    """Raise ValueError for the first array that does not fit to the others."""
    shapes = {name: array.shape for name, array in arrays.items()}
    _check_shapes(shapes)
    _check_offsets(arrays, shapes)
    for part in ("node", "edge"):
        _check_features(arrays, part, before)
    _check_names(arrays)
    _check_range(arrays, "states", 1, MOST_STATES, before)
    _check_range(arrays, "labels", HIDDEN, arrays["states"].astype(np.int64) - 1, before)
    if "costs" in arrays and np.any((arrays["costs"] < 0) | np.isinf(arrays["costs"])):
        raise ValueError("array 'costs' holds a negative or infinite number; expected at least 0")
    counts = np.diff(arrays["node_offsets"].astype(np.int64))
    edge_counts = np.diff(arrays["edge_offsets"].astype(np.int64)).astype(np.int64)
    _check_range(arrays, "ends", 0, np.repeat(counts, edge_counts)[:, None] - 1, before)
    if len(arrays["ends"]) and np.any(arrays["ends"][:, 0] == arrays["ends"][:, 1]):
        raise ValueError("array 'ends' joins a node to itself; expected two nodes")


def _check_parts(arrays: Mapping[str, np.ndarray], name: str, total: int, least: int) -> None:
    offsets = arrays[name].astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != total or np.any(np.diff(offsets) < least):
        raise _not_increasing(name, total, least)


def _not_increasing(name: str, total: int, least: int) -> ValueError:
    message = f"array {name!r} does not increase from 0 to {total}"
    return ValueError(f"{message}; expected each number at least {least} above the one before")


def _check_features(arrays: dict[str, np.ndarray], part: str, before: Mapping[str, int]) -> None:
    indices, values = arrays[f"{part}_indices"], arrays[f"{part}_values"]
    _check_parts(arrays, f"{part}_starts", len(indices), 0)
    _check_range(arrays, f"{part}_indices", 0, MOST_FEATURES - 1, before)
    if not np.all(np.isfinite(values)):
        raise ValueError(f"array '{part}_values' holds a number that is not finite")


def _check_range(
    arrays: dict[str, np.ndarray], name: str, least: int, most: Any, before: Mapping[str, int]
) -> None:
    """most : one number, or one for each row."""
    array = arrays[name]
    if array.size and (np.any(array < least) or np.any(array > most)):
        place = int(np.argmax(((array < least) | (array > most)).reshape(len(array), -1).any(1)))
        highest = int(np.broadcast_to(most, array.shape)[place].flat[0])
        raise ValueError(
            f"array {name!r} is out of range at row {place + before.get(name, 0)}, {array[place]}; "
            f"expected {least} to {highest}"
        )


def _check_names(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError for names that cannot be keys or table entries of predictions."""
    names, nodes = arrays["names"].tolist(), arrays.get("node_names", np.empty(0)).tolist()
    classes = {name: np.unique(arrays[name]).tolist() for name in ("node_classes", "edge_classes")}
    for name, values in {"names": names, "node_names": nodes, **classes}.items():
        broken = [value for value in values if not value or set(value) & set("\t\r\n")]
        if broken:
            raise ValueError(f"array {name!r} holds {broken[0]!r}; expected words without tabs")
    if len(set(names)) < len(names):
        raise ValueError(_TWICE)
    offsets = itertools.pairwise(arrays["node_offsets"].tolist())
    for graph, (start, stop) in zip(names, offsets, strict=True):
        if nodes and len(set(nodes[start:stop])) < stop - start:
            raise ValueError(
                f"two nodes of graph {graph!r} have the same name; expected different names"
            )
