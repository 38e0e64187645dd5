"""ARFF files whose last attribute is a class in a hierarchy, as in Clus and C-HMCNN.

    @ATTRIBUTE x1 NUMERIC
    @ATTRIBUTE class hierarchical 1,1/2,1/2/3,4
    @DATA
    0.5,1@1/2@1/2/3

All attributes but the last are numeric, and none may be missing. The last value of a row is a
path, or all paths from the top down to its own, joined by ``@``; the longest is the label.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

_NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True)
class HierarchicalRows:
    """matrix : (n, attributes) float64; labels : n paths; nodes : the paths of the hierarchy."""

    matrix: np.ndarray
    labels: tuple[str, ...]
    nodes: tuple[str, ...]


def read_hierarchical_arff(path: str | Path, limit: Limit = DEFAULT) -> HierarchicalRows:
    """Read a file, plain or compressed. Raises DataError, with the line."""
    values, labels = array("d"), []
    with open_text(path, limit) as lines:
        content = _content(lines)
        attributes, nodes = _header(path, content)
        known = set(nodes)
        for number, line in content:
            try:
                numbers, label = _row(line, attributes, known)
            except ValueError as error:
                raise DataError(path, number, error) from None
            values.extend(numbers)
            labels.append(label)
    if not labels:
        raise DataError(path, None, "no rows; expected some after @DATA")
    return HierarchicalRows(
        np.asarray(values).reshape(len(labels), attributes), tuple(labels), nodes
    )


def _content(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines that are neither blank nor a comment."""
    for number, line in lines:
        if line.strip() and not line.startswith("%"):
            yield number, line.strip()


def _header(path: str | Path, content: Iterator[tuple[int, str]]) -> tuple[int, tuple[str, ...]]:
    """The number of numeric attributes, and the nodes of the class; reads past @DATA."""
    attributes, nodes = 0, None
    for number, line in content:
        words = line.split(None, 3)
        keyword = words[0].lower()
        if keyword == "@data":
            if nodes is None:
                raise DataError(path, number, "no attribute is hierarchical; expected the last one")
            return attributes, nodes
        if keyword == "@relation":
            continue
        if keyword != "@attribute" or len(words) < 3:
            raise DataError(path, number, f"{words[0]!r}; expected @ATTRIBUTE with name and type")
        kind = words[2].lower()
        if nodes is not None:
            raise DataError(path, number, "an attribute after the class; expected @DATA")
        if kind == "hierarchical" and len(words) == 4:
            nodes = tuple(dict.fromkeys(words[3].replace(" ", "").split(",")))
        elif kind in _NUMERIC:
            attributes += 1
        else:
            raise DataError(path, number, f"type {words[2]!r}; expected numeric or hierarchical")
    raise DataError(path, None, "no @DATA; expected it after the attributes")


def _row(line: str, attributes: int, nodes: set[str]) -> tuple[list[float], str]:
    """The numbers and the label of a line. Raises ValueError with what is wrong."""
    *words, last = line.split(",")
    if len(words) != attributes:
        raise ValueError(f"{counted(len(words) + 1, 'value')}; expected {attributes + 1}")
    numbers = [
        tokens.finite(word.strip(), f"value {place},") for place, word in enumerate(words, 1)
    ]
    paths = last.strip().split("@")
    label = max(paths, key=lambda each: each.count("/"))
    if label not in nodes:
        raise ValueError(f"class {label!r} is not in the hierarchy; expected one of its paths")
    return numbers, label
