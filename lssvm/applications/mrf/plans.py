"""The elimination order of the variables of a graph, found once for every distinct graph.

Nodes are clamped (their state is evidence), eliminated first, or eliminated second. Within each of
these two groups the order is by minimal fill-in: the node whose neighbours lack the fewest edges
among them, of those the one with the fewest neighbours, then the lowest (Koller & Friedman,
Probabilistic Graphical Models, 2009, section 9.4.3). On a tree, with one group, no edge is ever
filled in. If all of the first group has to be summed out before any of the second is maximised
(marginal MAP), all neighbours of eliminated nodes may become neighbours of each other: such an
order can have a much larger width than the graph.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lssvm.kernels import _fill_in
from lssvm.offsets import cumulated

CLAMPED, FIRST, SECOND = 0, 1, 2


class TooWideError(Exception):
    """A factor of the elimination would be too large.

    width : its number of variables minus one; entries : its number of entries
    """

    def __init__(self, width: int, entries: int) -> None:
        self.width, self.entries = width, entries
        super().__init__(width, entries)


@dataclass(frozen=True)
class Plan:
    """The steps of one graph, as rows of whole numbers.

    steps : for each, states of the variable, states of the other variables of its tables, its
        factors (item or -1, place among the messages, stride of the variable, other strides),
        its place among the messages, and whether its variable goes second
    item_sizes : numbers of the table of each item
    message_size : numbers that all messages hold
    evidence : rows (item, clamped node, stride)
    constants : items whose nodes are all clamped
    """

    steps: Sequence[tuple[int, list[int], list[tuple[int, int, int, list[int]]], int, bool]]
    item_sizes: Sequence[int]
    message_size: int
    evidence: Sequence[tuple[int, int, int]]
    constants: Sequence[int]

    @property
    def joint_size(self) -> int:
        """Joint states of the variables of each step, over all steps."""
        return sum(count * math.prod(others) for count, others, *_ in self.steps)


@dataclass(frozen=True)
class Plans:
    """Plans of n graphs as flat arrays for the kernel.

    chosen : (n,) the plan of each graph; order : (n,) the graphs, those of one plan together
    steps : (steps, 9) states, number of other variables, their joint states, place of m, first
        factor, number of factors, where other_states and strides of it begin, group (0, 1)
    other_states : states of the other variables of each step
    factors : (factors, 3) item or -1, place among the messages, stride of the variable
    strides : strides of the other variables, factor after factor
    evidence : (k, 3) item, node, stride
    *_starts : (plans + 1,) where those of each plan begin; message_sizes : (plans,)
    numbers : (plans,) entries of all tables and messages
    joint_sizes : (plans,) joint states of the variables of each step, over all of them
    most_* : room that the largest step needs
    """

    chosen: np.ndarray
    order: np.ndarray
    step_starts: np.ndarray
    steps: np.ndarray
    other_states: np.ndarray
    factors: np.ndarray
    strides: np.ndarray
    message_sizes: np.ndarray
    numbers: np.ndarray
    joint_sizes: np.ndarray
    evidence_starts: np.ndarray
    evidence: np.ndarray
    constant_starts: np.ndarray
    constants: np.ndarray
    most_others: int
    most_factors: int
    most_states: int
    most_items: int
    largest_item: int


def plan(states: np.ndarray, ends: np.ndarray, groups: np.ndarray, limit: int) -> Plan:
    """How to eliminate all nodes but the clamped ones. Raises TooWideError.

    states : (nodes,) number of states; ends : (edges, 2) nodes; groups : (nodes,) CLAMPED, FIRST
        or SECOND; limit : largest number of entries of a factor
    """
    sizes = states.tolist()
    order, others = _ordered(sizes, ends, groups, limit)
    position = {node: k for k, node in enumerate(order)}
    buckets: list[list[tuple[int, int, dict[int, int]]]] = [[] for _ in order]
    evidence, constants = [], []
    for item, strides in enumerate(_item_strides(sizes, ends)):
        free = {node: stride for node, stride in strides.items() if node in position}
        evidence += [
            (item, node, stride) for node, stride in strides.items() if node not in position
        ]
        if free:
            buckets[min(position[node] for node in free)].append((item, 0, free))
        else:
            constants.append(item)
    steps, used = [], 0
    for k, node in enumerate(order):
        kept = sorted(others[k], key=position.__getitem__)
        rows = [
            (item, place, strides.get(node, 0), [strides.get(other, 0) for other in kept])
            for item, place, strides in buckets[k]
        ]
        counts = [sizes[other] for other in kept]
        steps.append((sizes[node], counts, rows, used, bool(groups[node] == SECOND)))
        if kept:
            layout = dict(zip(kept, _strides(counts), strict=True))
            buckets[position[kept[0]]].append((-1, used, layout))
        used += math.prod(counts)
    tables = sizes + [sizes[a] * sizes[b] for a, b in ends.tolist()]
    return Plan(steps, tables, used, evidence, constants)


def flattened(plans: Sequence[Plan], chosen: np.ndarray) -> Plans:
    """The plans as the kernel reads them, and the plan of each graph, (n,) int64."""
    steps: list[tuple[int, ...]] = []
    factors: list[tuple[int, int, int]] = []
    other_states: list[int] = []
    strides: list[int] = []
    for made in plans:
        for count, others, rows, place, second in made.steps:
            marks = (len(factors), len(rows), len(other_states), len(strides))
            steps.append((count, len(others), math.prod(others), place, *marks, second))
            other_states += others
            for item, message, stride, rest in rows:
                factors.append((item, message, stride))
                strides += rest
    facts = np.array(steps, dtype=np.int64).reshape(-1, 9)
    return Plans(
        chosen=chosen,
        order=np.argsort(chosen, kind="stable"),
        step_starts=cumulated([len(made.steps) for made in plans]),
        steps=facts,
        other_states=np.array([*other_states, 0], dtype=np.int64),
        factors=np.array([*factors, (0, 0, 0)], dtype=np.int64),
        strides=np.array([*strides, 0], dtype=np.int64),
        message_sizes=np.array([made.message_size for made in plans], dtype=np.int64),
        numbers=np.array([sum(made.item_sizes) + made.message_size for made in plans], np.int64),
        joint_sizes=np.array([made.joint_size for made in plans], dtype=np.int64),
        evidence_starts=cumulated([len(made.evidence) for made in plans]),
        evidence=_table([row for made in plans for row in made.evidence], 3),
        constant_starts=cumulated([len(made.constants) for made in plans]),
        constants=np.array([item for made in plans for item in made.constants], dtype=np.int64),
        most_others=int(facts[:, 1].max(initial=0)),
        most_factors=int(facts[:, 5].max(initial=0)),
        most_states=int(facts[:, 0].max(initial=0)),
        most_items=max(len(made.item_sizes) for made in plans),
        largest_item=max(max(made.item_sizes) for made in plans),
    )


def _table(rows: Sequence[Sequence[int]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _strides(counts: Sequence[int]) -> list[int]:
    """Strides of a table of these sizes; the last variable varies fastest."""
    return np.cumprod([1, *counts[:0:-1]], dtype=np.int64)[::-1].tolist()


def _item_strides(sizes: Sequence[int], ends: np.ndarray) -> list[dict[int, int]]:
    """The strides of the nodes in the table of each item."""
    nodes: list[dict[int, int]] = [{node: 1} for node in range(len(sizes))]
    return nodes + [{a: sizes[b], b: 1} for a, b in ends.tolist()]


def _ordered(
    sizes: Sequence[int], ends: np.ndarray, groups: np.ndarray, limit: int
) -> tuple[list[int], list[list[int]]]:
    """The order, and for each node of it its neighbours when it is eliminated.

    Raises TooWideError.
    """
    starts, neighbours = _neighbours(ends, groups)
    order, others, offsets, fits = _fill_in.ordered(
        starts,
        neighbours,
        np.ascontiguousarray(groups, dtype=np.uint8),
        np.array(sizes, dtype=np.int64),
        limit,
    )
    nodes, flat, edges = order.tolist(), others.tolist(), offsets.tolist()
    if not fits:
        own = flat[edges[-2] :]
        raise TooWideError(len(own), math.prod(sizes[node] for node in (nodes[-1], *own)))
    return nodes, [flat[a:b] for a, b in pairwise(edges)]


def _neighbours(ends: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours of each node, in increasing order, and where they begin, without clamped ones.

    Several edges between the same two nodes are one.
    """
    nodes = len(groups)
    free = (groups[ends[:, 0]] != CLAMPED) & (groups[ends[:, 1]] != CLAMPED)
    both = np.concatenate([ends[free], ends[free][:, ::-1]]).astype(np.int64)
    pairs = np.unique(both[:, 0] * nodes + both[:, 1])
    counts = np.bincount(pairs // nodes, minlength=nodes)
    return cumulated(counts), (pairs % nodes).astype(np.int32)
