"""Exact inference for packed graphs: which task eliminates what, and the plans for it.

Tasks differ in what happens to a node. Labels that are not known are hidden values like any other,
but they are predicted.
"""

from dataclasses import dataclass

import numpy as np

from lssvm.applications.mrf import plans
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.plans import CLAMPED, FIRST, SECOND
from lssvm.errors import DataError
from lssvm.formats.mrf_text import HIDDEN
from lssvm.kernels import _mrf

AUGMENTED, COMPLETED, PREDICTED, SUMMED = "augmented", "completed", "predicted", "summed"


@dataclass(frozen=True)
class Temperatures:
    """ε of the variables that go first and of those that go second."""

    first: float
    second: float


@dataclass(frozen=True)
class Found:
    """What inference found for n graphs.

    values : (n,) the annealed value; losses : (n,) expected Δ
    gradient : (d,) Σ c_i E[Φ]
    marginals : of all states of all nodes one after another; empty unless asked for
    """

    values: np.ndarray
    losses: np.ndarray
    gradient: np.ndarray
    marginals: np.ndarray


class Elimination:
    """Exact inference with tables of at most ``limit`` numbers."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._made: dict[tuple[bytes, ...], plans.Plan] = {}

    def infer(
        self,
        task: str,
        w: np.ndarray,
        examples: Graphs,
        temperatures: Temperatures,
        *,
        charged: bool = False,
        marginals: bool = False,
    ) -> Found:
        """Values, losses, expected features and, where asked for, marginals.

        charged : whether Δ is added to the score
        Raises DataError for a graph that needs a larger table.
        """
        # Where both temperatures are equal their order does not matter, and any may be taken.
        apart = temperatures.first != temperatures.second
        plan, chosen = self._plans(task, examples, apart)
        charge = (examples.labels >= 0).astype(np.uint8) if charged else np.empty(0, np.uint8)
        found = _mrf.infer(
            np.ascontiguousarray(w, dtype=np.float64),
            examples.item_offsets,
            examples.starts,
            examples.indices,
            examples.values,
            examples.bases,
            examples.tables,
            examples.labels,
            examples.node_offsets,
            charge,
            examples.costs,
            plan,
            chosen,
            temperatures.first,
            temperatures.second,
            marginals,
        )
        return Found(*found)

    def _plans(self, task: str, examples: Graphs, apart: bool) -> tuple[plans.Plans, np.ndarray]:
        """The plans of a block, kept with it, and which of them each graph has."""
        key = (task, apart, self.limit)
        if key not in examples.cache:
            places: dict[int, int] = {}
            kept: list[plans.Plan] = []
            chosen = np.empty(len(examples), dtype=np.int64)
            for i in range(len(examples)):
                own = self._plan(task, examples, i, apart)
                if id(own) not in places:
                    places[id(own)] = len(kept)
                    kept.append(own)
                chosen[i] = places[id(own)]
            examples.cache[key] = (plans.flattened(kept), chosen)
        return examples.cache[key]

    def _plan(self, task: str, examples: Graphs, row: int, apart: bool) -> plans.Plan:
        """The plan of a graph; equal graphs share it. Raises DataError."""
        nodes = slice(examples.node_offsets[row], examples.node_offsets[row + 1])
        states = examples.states(row)
        ends = examples.ends[examples.edge_offsets[row] : examples.edge_offsets[row + 1]]
        groups = _groups(task, examples.labels[nodes], apart)
        key = (states.tobytes(), ends.tobytes(), groups.tobytes())
        if key not in self._made:
            try:
                self._made.setdefault(key, plans.plan(states, ends, groups, self.limit))
            except plans.TooWide as error:
                raise _too_wide(examples, row, error, self.limit, apart) from None
        return self._made[key]


def _groups(task: str, labels: np.ndarray, apart: bool) -> np.ndarray:
    """CLAMPED, FIRST or SECOND for each node, (nodes,) int8."""
    groups = np.full(len(labels), FIRST, dtype=np.int8)
    if task == COMPLETED:
        groups[labels >= 0] = CLAMPED
    elif apart:
        groups[labels >= 0 if task == AUGMENTED else labels != HIDDEN] = SECOND
    return groups


def _too_wide(
    examples: Graphs, row: int, error: plans.TooWide, limit: int, apart: bool
) -> DataError:
    why = ", as hidden nodes have to be summed out first" if apart else ""
    return examples.error(
        row,
        f"has width {error.width}{why}: exact inference needs a table of {error.entries:,d} "
        f"numbers; expected at most {limit:,d} (application.table)",
    )
