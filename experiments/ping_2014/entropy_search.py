"""Search for the outputs y of largest G(y) for M3E, by elimination; see ``min_entropy`` for G.

Given y, the hidden nodes fall into connected components, and G is the score of y alone plus a term
for each component, which depends on the outputs that the component touches. The plan is that of
marginal MAP in the application (see ``plans``): all hidden nodes first, then y. As long as a
component has hidden nodes left, they are summed out at two temperatures in parallel; a table T
becomes

    m_ε = ε log Σ exp(T / ε),    ε = 1/α and ε = 1.

The last node of a component leaves its term, (α m_{1/α} − m_1) / (α − 1). Then y is maximised. For
α = ∞ there is one temperature, 0, and the term is the maximum.

Graphs with the same plan are processed together, and so are steps of a plan that have the same size
and do not depend on each other.

Ties: in the reverse order of elimination, each output takes the lowest state that attains the
maximum given the outputs before it.
"""

from dataclasses import dataclass

import numpy as np

from lssvm.applications.mrf.elimination import Elimination, potentials
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.plans import FIRST, SECOND, Plans
from lssvm.offsets import cumulated


def temperatures(alpha: float) -> tuple[float, ...]:
    """The temperatures at which hidden nodes are summed out for the order α."""
    return (0.0,) if np.isinf(alpha) else (1.0 / alpha, 1.0)


def term(parts: np.ndarray, alpha: float) -> np.ndarray:
    """Combine values (or gradients) at these temperatures, which are the entries of axis 0."""
    return parts[0] if len(parts) == 1 else (alpha * parts[0] - parts[1]) / (alpha - 1.0)


def best_outputs(
    exact: Elimination,
    w: np.ndarray,
    examples: Graphs,
    outputs: np.ndarray,
    alpha: float,
    charged: bool,
) -> np.ndarray:
    """The states of the outputs that maximise G, plus Δ where charged, (N,) int32.

    Nodes that are not outputs have the state of the labels.

    outputs : (N,) bool. Raises DataError for a graph that needs a table above the limit.
    """
    key = ("outputs", outputs.tobytes(), exact.limit)
    if key not in examples.cache:
        examples.cache[key] = _searches(exact, examples, outputs)
    tables = potentials(w, examples, charged)
    states = examples.labels[examples.nodes].copy()
    for search in examples.cache[key]:
        found = search.run(tables, alpha)
        states[search.places] = found
    return states


@dataclass(frozen=True)
class Steps:
    """Steps of one plan that have the same size and do not depend on each other.

    A graph has one row of numbers: the tables of its items, the messages, and a 0.

    rows : (g,) the steps' indices in the plan; nodes : (g,) the nodes that they eliminate
    reads : for each factor, the indices of its numbers, (g, joint states of others, states)
    sources, starts : for each factor, (g,), the step whose message it is, or the number of all
        steps if it is a table; and where its numbers begin
    writes : (g, joint states of others) the indices of the messages
    second : whether these nodes are outputs; last : whether they are the last of hidden components
    """

    rows: np.ndarray
    nodes: np.ndarray
    reads: list[np.ndarray]
    sources: list[np.ndarray]
    starts: list[np.ndarray]
    writes: np.ndarray
    second: bool
    last: bool


@dataclass(frozen=True)
class Search:
    """The graphs with one plan, and the steps that find their outputs.

    tables : (n, entries) the indices of each graph's tables among those of all graphs
    places : (n, outputs) the outputs among the nodes of all graphs; nodes : (outputs,) in a graph
    steps : in the order in which they are taken; count : of all steps; size : numbers in a row
    """

    tables: np.ndarray
    places: np.ndarray
    nodes: np.ndarray
    steps: list[Steps]
    count: int
    size: int

    def run(self, tables: np.ndarray, alpha: float) -> np.ndarray:
        """The best states of the outputs, (n, outputs)."""
        epsilons = temperatures(alpha)
        n, entries = self.tables.shape
        work = np.zeros((len(epsilons), n, self.size))
        work[:, :, :entries] = tables[self.tables]
        best = [self._taken(steps, work, epsilons, alpha) for steps in self.steps]
        return self._traced(best)

    def _taken(
        self, steps: Steps, work: np.ndarray, epsilons: tuple[float, ...], alpha: float
    ) -> np.ndarray | None:
        """Run the steps; for outputs return the best states, (n, g, joint states of others)."""
        own = work[:1] if steps.second else work
        joint = np.take(own, steps.reads[0], axis=2)
        for reads in steps.reads[1:]:
            joint += np.take(own, reads, axis=2)
        if steps.second:
            work[0][:, steps.writes] = joint[0].max(axis=-1)
            return joint[0].argmax(axis=-1)
        messages = np.stack([_annealed(part, e) for part, e in zip(joint, epsilons, strict=True)])
        if steps.last:
            work[0][:, steps.writes] = term(messages, alpha)
        else:
            work[:, :, steps.writes] = messages
        return None

    def _traced(self, best: list[np.ndarray | None]) -> np.ndarray:
        """Go back from the last step: the row of its table that each step reads, and its state."""
        n = len(self.tables)
        graph = np.arange(n)[:, None]
        at = np.zeros((n, self.count + 1), dtype=np.int64)
        states = np.zeros((n, int(self.nodes.max(initial=-1)) + 1), dtype=np.int32)
        for steps, found in zip(reversed(self.steps), reversed(best), strict=True):
            if found is None:
                continue
            step = np.arange(len(steps.rows))
            row = at[:, steps.rows]
            state = found[graph, step, row]
            states[:, steps.nodes] = state
            for reads, source, start in zip(steps.reads, steps.sources, steps.starts, strict=True):
                at[:, source] = reads[step, row, state] - start
        return states[:, self.nodes]


def _annealed(joint: np.ndarray, epsilon: float) -> np.ndarray:
    """ε log Σ exp(· / ε) over the last axis; the maximum for ε = 0."""
    top = joint.max(axis=-1)
    if epsilon == 0.0:
        return top
    return top + epsilon * np.log(np.exp((joint - top[..., None]) / epsilon).sum(axis=-1))


def _searches(exact: Elimination, examples: Graphs, outputs: np.ndarray) -> list[Search]:
    groups = np.where(outputs, SECOND, FIRST).astype(np.int8)
    plans = exact.planned(examples, groups, apart=True)
    offsets = examples.node_offsets - examples.node_offsets[0]
    own = slice(int(examples.item_offsets[0]), int(examples.item_offsets[-1]))
    table_starts = cumulated(examples.tables[own])[examples.item_offsets - own.start]
    found = []
    for p in range(len(plans.message_sizes)):
        rows = np.flatnonzero(plans.chosen == p)
        i = rows[0]
        nodes = np.flatnonzero(outputs[offsets[i] : offsets[i + 1]])
        sizes = examples.tables[examples.item_offsets[i] : examples.item_offsets[i + 1]]
        entries = int(np.sum(sizes))
        steps = _scheduled(plans, p, sizes, int(offsets[i + 1] - offsets[i]))
        found.append(
            Search(
                table_starts[rows][:, None] + np.arange(entries),
                offsets[rows][:, None] + nodes,
                nodes,
                steps,
                int(plans.step_starts[p + 1] - plans.step_starts[p]),
                entries + int(plans.message_sizes[p]) + 1,
            )
        )
    return found


@dataclass(frozen=True)
class _Step:
    """One step; its fields are those of Steps."""

    node: int
    reads: list[np.ndarray]
    sources: list[int]
    starts: list[int]
    writes: np.ndarray
    second: bool


def _scheduled(plans: Plans, p: int, sizes: np.ndarray, nodes: int) -> list[Steps]:
    """The steps of plan p, grouped by when they can be taken and by their size.

    sizes : the number of entries of each item's table
    """
    first, stop = int(plans.step_starts[p]), int(plans.step_starts[p + 1])
    facts = plans.steps[first:stop]
    item_starts = cumulated(sizes)
    writers = {int(place): k for k, place in enumerate(facts[:, 3])}
    steps = [_read(plans, row, item_starts, writers, nodes) for row in facts]
    levels = [0] * len(steps)
    followed = [False] * len(steps)  # by a step that eliminates another hidden node
    for k, step in enumerate(steps):
        for source in step.sources:
            if source < len(steps):
                levels[k] = max(levels[k], levels[source] + 1)
                followed[source] = not step.second
    together: dict[tuple[int, bool, bool, tuple[int, ...]], list[int]] = {}
    for k, step in enumerate(steps):
        key = (levels[k], step.second, not (step.second or followed[k]), step.reads[0].shape)
        together.setdefault(key, []).append(k)
    zero = int(item_starts[-1] + plans.message_sizes[p])
    return [
        _joined([steps[k] for k in rows], rows, zero, len(steps), last=key[2])
        for key, rows in sorted(together.items())
    ]


def _read(
    plans: Plans, facts: np.ndarray, item_starts: np.ndarray, writers: dict[int, int], nodes: int
) -> _Step:
    """A step from its row of ``Plans.steps``."""
    states, others, total, place, factor, count, sizes_at, strides_at, second = facts.tolist()
    sizes = plans.other_states[sizes_at : sizes_at + others]
    node, reads, sources, starts = -1, [], [], []
    for k in range(count):
        item, message, stride = plans.factors[factor + k].tolist()
        strides = plans.strides[strides_at + k * others : strides_at + (k + 1) * others]
        joint = np.zeros(1, dtype=np.int64)
        for size, other in zip(sizes.tolist(), strides.tolist(), strict=True):
            joint = (joint[:, None] + other * np.arange(size)).ravel()
        if 0 <= item < nodes:
            node = item  # the table of a node is read where the node is eliminated
        start = int(item_starts[item] if item >= 0 else item_starts[-1] + message)
        reads.append(start + joint[:, None] + stride * np.arange(states))
        sources.append(len(writers) if item >= 0 else writers[message])
        starts.append(start)
    return _Step(
        node, reads, sources, starts, item_starts[-1] + place + np.arange(total), bool(second)
    )


def _joined(steps: list[_Step], rows: list[int], zero: int, count: int, last: bool) -> Steps:
    """Join steps of one size into one; a step with fewer factors reads the 0 instead."""
    most = max(len(step.reads) for step in steps)
    nothing = np.full_like(steps[0].reads[0], zero)
    pads = [most - len(step.reads) for step in steps]
    padded = list(zip(steps, pads, strict=True))
    reads = [step.reads + [nothing] * pad for step, pad in padded]
    sources = [step.sources + [count] * pad for step, pad in padded]
    starts = [step.starts + [zero] * pad for step, pad in padded]
    return Steps(
        np.array(rows),
        np.array([step.node for step in steps]),
        [np.stack(own) for own in zip(*reads, strict=True)],
        [np.array(own) for own in zip(*sources, strict=True)],
        [np.array(own) for own in zip(*starts, strict=True)],
        np.stack([step.writes for step in steps]),
        steps[0].second,
        last,
    )
