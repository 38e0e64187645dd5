"""Exact inference for packed graphs, by variable elimination in an order that is planned once."""

from dataclasses import dataclass

import numpy as np

from lssvm.applications.mrf import plans
from lssvm.applications.mrf.graphs import Graphs
from lssvm.kernels import _mrf


@dataclass(frozen=True)
class Temperatures:
    """ε of the variables that go first and of those that go second."""

    first: float
    second: float

    @property
    def apart(self) -> bool:
        """Whether the order matters."""
        return self.first != self.second


@dataclass(frozen=True)
class InferenceResult:
    """The result of inference for n graphs.

    values : (n,) the annealed value; losses : (n,) expected Δ
    gradient : (d,) Σ c_i E[Φ]
    marginals : of all states of all nodes one after another; empty unless requested
    exact : whether the values are exact, and not those of belief propagation
    converged : (n,) whether belief propagation converged; True if it was not needed
    propagated : number of graphs for which belief propagation was used
    """

    values: np.ndarray
    losses: np.ndarray
    gradient: np.ndarray
    marginals: np.ndarray
    exact: bool
    converged: np.ndarray
    propagated: int = 0


class Elimination:
    """Exact inference with factors of at most ``limit`` entries."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._made: dict[tuple[bytes, ...], plans.Plan | plans.TooWideError] = {}

    def infer(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        temperatures: Temperatures,
        *,
        states: np.ndarray | None = None,
        charged: bool = False,
        marginals: bool = False,
    ) -> InferenceResult:
        """Values, losses, expected features and, if requested, marginals.

        groups : (N,) int8, CLAMPED, FIRST or SECOND for the nodes of these graphs
        states : (N,) int32, those of clamped nodes; their labels by default
        charged : whether Δ is added to the score
        Raises DataError for a graph that needs a larger factor.
        """
        plan = self.planned(examples, groups, temperatures.apart)
        labels = examples.labels[examples.nodes]
        values, losses, gradient, shares = _mrf.infer(
            np.ascontiguousarray(w, dtype=np.float64),
            examples.arrays,
            _charges(labels, charged),
            labels if states is None else states,
            plan,
            (temperatures.first, temperatures.second),
            marginals,
        )
        converged = np.ones(len(examples), dtype=bool)
        return InferenceResult(values, losses, gradient, shares, exact=True, converged=converged)

    def fits(self, examples: Graphs, groups: np.ndarray) -> np.ndarray:
        """Whether each graph needs no larger factor, (n,) bool."""
        key = ("fits", groups.tobytes(), self.limit)
        if key not in examples.cache:
            found = [self._made_plan(examples, groups, i) for i in range(len(examples))]
            examples.cache[key] = np.array([isinstance(made, plans.Plan) for made in found])
        return examples.cache[key]

    def planned(self, examples: Graphs, groups: np.ndarray, apart: bool) -> plans.Plans:
        """The plans of a block, cached in it. Raises DataError as ``infer`` does.

        apart : whether the order of the groups matters, which the error then says
        """
        key = ("plans", groups.tobytes(), self.limit)
        if key not in examples.cache:
            places: dict[int, int] = {}
            kept: list[plans.Plan] = []
            chosen = np.empty(len(examples), dtype=np.int64)
            for i in range(len(examples)):
                own = self._made_plan(examples, groups, i)
                if isinstance(own, plans.TooWideError):
                    raise _too_wide(examples, i, own, self.limit, apart)
                if id(own) not in places:
                    places[id(own)] = len(kept)
                    kept.append(own)
                chosen[i] = places[id(own)]
            examples.cache[key] = plans.flattened(kept, chosen)
        return examples.cache[key]

    def forget_many(self, most: int = 2**24) -> None:
        """Forget the plans of all graphs if the shapes of these take more than ``most`` bytes."""
        if sum(len(part) for shape in self._made for part in shape) > most:
            self._made.clear()

    def _made_plan(
        self, examples: Graphs, groups: np.ndarray, row: int
    ) -> plans.Plan | plans.TooWideError:
        """The plan of a graph, or why there is none; equal graphs share it."""
        key = examples.shape(row, groups)
        if key not in self._made:
            made: plans.Plan | plans.TooWideError
            ends = examples.ends[examples.edge_offsets[row] : examples.edge_offsets[row + 1]]
            try:
                own = np.frombuffer(key[2], dtype=groups.dtype)
                made = plans.plan(examples.states(row), ends, own, self.limit)
            except plans.TooWideError as error:
                made = error
            self._made.setdefault(key, made)
        return self._made[key]


def potentials(w: np.ndarray, examples: Graphs, charged: bool) -> np.ndarray:
    """The tables of all items of these graphs one after another, with Δ where charged."""
    labels = examples.labels[examples.nodes]
    w = np.ascontiguousarray(w, dtype=np.float64)
    return _mrf.potentials(w, examples.arrays, _charges(labels, charged))


def _charges(labels: np.ndarray, charged: bool) -> np.ndarray:
    """Whether each node costs 1 where its state is not the label; empty if none does."""
    return (labels >= 0).astype(np.uint8) if charged else np.empty(0, np.uint8)


def _too_wide(
    examples: Graphs, row: int, error: plans.TooWideError, limit: int, apart: bool
) -> Exception:
    why = ", as hidden nodes have to be summed out first" if apart else ""
    return examples.error(
        row,
        f"has width {error.width}{why}: exact inference needs a factor of {error.entries:,d} "
        f"entries; expected at most {limit:,d} (application.max_table)",
    )
