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
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.mrf_text import HIDDEN, MOST_FEATURES, MOST_STATES, Features, GraphFile
from lssvm.formats.npy_arrays import read_archive

_OPTIONAL = {"costs", "node_names"}
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


def of_arrays(arrays: dict[str, np.ndarray]) -> GraphFile:
    """The graphs of the arrays of an archive. Raises ValueError for what does not fit."""
    _check(arrays)
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


def _check(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError for the first array that does not fit to the others."""
    n, nodes, edges = (len(np.atleast_1d(arrays[name])) for name in ("names", "states", "ends"))
    if n == 0:
        raise ValueError("no graphs; expected at least one")
    shapes: dict[str, tuple[int, ...]] = {
        "names": (n,),
        "costs": (n,),
        **dict.fromkeys(("node_offsets", "edge_offsets"), (n + 1,)),
        **dict.fromkeys(("node_names", "node_classes", "states", "labels"), (nodes,)),
        "node_starts": (nodes + 1,),
        "edge_classes": (edges,),
        "ends": (edges, 2),
        "edge_starts": (edges + 1,),
    }
    for name, shape in shapes.items():
        if name in arrays and arrays[name].shape != shape and (edges or name != "ends"):
            raise ValueError(f"array {name!r} has shape {arrays[name].shape}; expected {shape}")
    _check_parts(arrays, "node_offsets", nodes, 1)
    _check_parts(arrays, "edge_offsets", edges, 0)
    for part in ("node", "edge"):
        _check_features(arrays, part)
    _check_names(arrays)
    _check_range(arrays, "states", 1, MOST_STATES)
    _check_range(arrays, "labels", HIDDEN, arrays["states"].astype(np.int64) - 1)
    if "costs" in arrays and np.any((arrays["costs"] < 0) | np.isinf(arrays["costs"])):
        raise ValueError("array 'costs' holds a negative or infinite number; expected at least 0")
    counts = np.diff(arrays["node_offsets"].astype(np.int64))
    edge_counts = np.diff(arrays["edge_offsets"].astype(np.int64)).astype(np.int64)
    _check_range(arrays, "ends", 0, np.repeat(counts, edge_counts)[:, None] - 1)
    if edges and np.any(arrays["ends"][:, 0] == arrays["ends"][:, 1]):
        raise ValueError("array 'ends' joins a node to itself; expected two nodes")


def _check_parts(arrays: dict[str, np.ndarray], name: str, total: int, least: int) -> None:
    offsets = arrays[name].astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != total or np.any(np.diff(offsets) < least):
        message = f"array {name!r} does not increase from 0 to {total}"
        raise ValueError(f"{message}; expected each number at least {least} above the one before")


def _check_features(arrays: dict[str, np.ndarray], part: str) -> None:
    indices, values = arrays[f"{part}_indices"], arrays[f"{part}_values"]
    if indices.ndim != 1 or values.shape != indices.shape:
        raise ValueError(
            f"arrays '{part}_indices' and '{part}_values' have shapes {indices.shape} and "
            f"{values.shape}; expected one number each"
        )
    _check_parts(arrays, f"{part}_starts", len(indices), 0)
    _check_range(arrays, f"{part}_indices", 0, MOST_FEATURES - 1)
    if not np.all(np.isfinite(values)):
        raise ValueError(f"array '{part}_values' holds a number that is not finite")


def _check_range(arrays: dict[str, np.ndarray], name: str, least: int, most: Any) -> None:
    """most : one number, or one for each row."""
    array = arrays[name]
    if array.size and (np.any(array < least) or np.any(array > most)):
        place = int(np.argmax(((array < least) | (array > most)).reshape(len(array), -1).any(1)))
        highest = int(np.broadcast_to(most, array.shape)[place].flat[0])
        raise ValueError(
            f"array {name!r} is out of range at row {place}, {array[place]}; "
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
        raise ValueError("two graphs have the same name; expected different names")
    offsets = itertools.pairwise(arrays["node_offsets"].tolist())
    for graph, (start, stop) in zip(names, offsets, strict=True):
        if nodes and len(set(nodes[start:stop])) < stop - start:
            raise ValueError(
                f"two nodes of graph {graph!r} have the same name; expected different names"
            )
