"""Classes of nodes and edges, which tie weights together; the training data fix them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, overload

import numpy as np

from lssvm.applications.packing import cumulated


@dataclass(frozen=True)
class GraphClasses:
    """What the coordinates of w stand for, class after class, those of nodes before those of edges.

    A class has weights (width, states), for edges (width, states of the first node, states of the
    second): all states of a feature stand side by side.

    node_names : K names; states, node_widths : (K,) states and features of each class
    edge_names : M names; shapes : (M, 2) states of both ends; edge_widths : (M,) features
    """

    node_names: tuple[str, ...]
    states: tuple[int, ...]
    node_widths: tuple[int, ...]
    edge_names: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    edge_widths: tuple[int, ...]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Entries of a table of each class, (K + M,) int64."""
        return np.array([*self.states, *(a * b for a, b in self.shapes)], dtype=np.int64)

    @cached_property
    def widths(self) -> np.ndarray:
        """Features of each class, (K + M,) int64."""
        return np.array([*self.node_widths, *self.edge_widths], dtype=np.int64)

    @cached_property
    def bases(self) -> np.ndarray:
        """Where the weights of each class begin, and the end, (K + M + 1,) int64."""
        return cumulated(self.sizes * self.widths)

    @property
    def dimension(self) -> int:
        """Length d of w."""
        return int(self.bases[-1])

    def arrays(self) -> dict[str, np.ndarray]:
        """The classes as an array that a model keeps: JSON in UTF-8."""
        fields = [
            self.node_names,
            self.states,
            self.node_widths,
            self.edge_names,
            self.shapes,
            self.edge_widths,
        ]
        return {"classes": np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The classes of :meth:`arrays`. Raises KeyError for missing or unknown ones."""
        for name in arrays:
            if name != "classes":
                raise KeyError(name)
        fields = json.loads(arrays["classes"].tobytes())
        shapes = tuple((first, second) for first, second in fields[4])
        names, states, widths = (tuple(part) for part in fields[:3])
        return cls(names, states, widths, tuple(fields[3]), shapes, tuple(fields[5]))


class GraphWeightNames(Sequence[str]):
    """``class feature 1: 0`` for the state 0 of a node, ``class feature 1: 0, 2`` for an edge.

    Made when asked for: there may be millions.
    """

    def __init__(self, classes: GraphClasses) -> None:
        self.classes = classes

    def __len__(self) -> int:
        return self.classes.dimension

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        k = index % len(self)
        row = int(np.searchsorted(self.classes.bases, k, side="right")) - 1
        feature, state = divmod(k - int(self.classes.bases[row]), int(self.classes.sizes[row]))
        nodes = len(self.classes.node_names)
        if row < nodes:
            return f"{self.classes.node_names[row]} feature {feature + 1}: {state}"
        first, second = divmod(state, self.classes.shapes[row - nodes][1])
        return f"{self.classes.edge_names[row - nodes]} feature {feature + 1}: {first}, {second}"
