"""Classes of nodes and edges, which tie weights together; the training data fix them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self

import numpy as np
from pydantic import Field, TypeAdapter

from lssvm import checked
from lssvm.applications.names import LazyNames
from lssvm.checked import MOST_WEIGHTS
from lssvm.errors import ModelError
from lssvm.offsets import cumulated

_Count = Annotated[int, Field(strict=True, ge=1, le=MOST_WEIGHTS)]
_Width = Annotated[int, Field(strict=True, ge=0, le=MOST_WEIGHTS)]
_Names = list[Annotated[str, Field(strict=True)]]
_Fields = TypeAdapter(
    tuple[
        _Names,
        list[_Count],
        list[_Width],
        _Names,
        list[tuple[_Count, _Count]],
        list[_Width],
        _Names,
    ]
)


@dataclass(frozen=True)
class GraphClasses:
    """The meaning of the coordinates of w, class after class, nodes before edges.

    A class has weights (width, states), for edges (width, states of the first node, states of the
    second): all states of a feature are stored side by side.

    node_names : K names; states, node_widths : (K,) states and features of each class
    edge_names : M names; shapes : (M, 2) states of both ends; edge_widths : (M,) features
    state_names : of the states of pixels, in their order; empty where there are no images
    """

    node_names: tuple[str, ...]
    states: tuple[int, ...]
    node_widths: tuple[int, ...]
    edge_names: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    edge_widths: tuple[int, ...]
    state_names: tuple[str, ...] = ()

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
        """The classes as an array for the model file: JSON in UTF-8."""
        fields = [
            self.node_names,
            self.states,
            self.node_widths,
            self.edge_names,
            self.shapes,
            self.edge_widths,
            self.state_names,
        ]
        return {"classes": np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The classes from :meth:`arrays`. Raises ModelError for impossible values."""
        checked.known(arrays, "classes")
        try:
            fields = json.loads(checked.text(arrays, "classes"))
            found = _Fields.validate_python(fields)
        except (ValueError, RecursionError):
            raise ModelError("array 'classes' is not JSON of classes of nodes and edges") from None
        names, states, widths, edge_names, pairs, edge_widths, state_names = found
        shapes = tuple((first, second) for first, second in pairs)
        if not len(names) == len(states) == len(widths):
            raise ModelError("array 'classes' has other numbers of states than classes of nodes")
        if not len(edge_names) == len(shapes) == len(edge_widths):
            raise ModelError("array 'classes' has other numbers of states than classes of edges")
        sizes = [*states, *(a * b for a, b in shapes)]
        weights = [size * width for size, width in zip(sizes, [*widths, *edge_widths], strict=True)]
        if max(sizes, default=0) > MOST_WEIGHTS or sum(weights) > MOST_WEIGHTS:
            raise ModelError(f"array 'classes' asks for more than {MOST_WEIGHTS:,d} weights")
        return cls(
            checked.distinct(names, "classes of nodes"),
            tuple(states),
            tuple(widths),
            checked.distinct(edge_names, "classes of edges"),
            shapes,
            tuple(edge_widths),
            checked.distinct(state_names, "states"),
        )


class GraphWeightNames(LazyNames):
    """``class feature 1: 0`` for the state 0 of a node, ``class feature 1: 0, 2`` for an edge.

    States of pixels have names. Names are made on demand, because there may be millions.
    """

    def __init__(self, classes: GraphClasses) -> None:
        self.classes = classes

    def __len__(self) -> int:
        return self.classes.dimension

    def name(self, place: int) -> str:
        """The name at a place."""
        row = int(np.searchsorted(self.classes.bases, place, side="right")) - 1
        feature, state = divmod(place - int(self.classes.bases[row]), int(self.classes.sizes[row]))
        nodes = len(self.classes.node_names)
        if row < nodes:
            own = self._state(state, self.classes.states[row])
            return f"{self.classes.node_names[row]} feature {feature + 1}: {own}"
        counts = self.classes.shapes[row - nodes]
        both = zip(divmod(state, counts[1]), counts, strict=True)
        states = ", ".join(self._state(own, count) for own, count in both)
        return f"{self.classes.edge_names[row - nodes]} feature {feature + 1}: {states}"

    def _state(self, state: int, count: int) -> str:
        names = self.classes.state_names
        return names[state] if count == len(names) else str(state)
