"""The order of elimination, against its definition."""

import itertools
import math
import time

import numpy as np
import pytest

from lssvm.applications.mrf import plans
from lssvm.applications.mrf.plans import CLAMPED, FIRST, SECOND


def by_definition(sizes, ends, groups, limit):
    """Order and neighbours, or the node that has too many and these."""
    free = {node for node, group in enumerate(groups) if group != CLAMPED}
    edges = {frozenset(pair) for pair in ends if set(pair) <= free}
    found = []

    def neighbours(node):
        return sorted(other for other in free if {node, other} in edges)

    def rank(node):
        own = neighbours(node)
        lacking = sum({a, b} not in edges for a, b in itertools.combinations(own, 2))
        return lacking, len(own), node

    for group in (FIRST, SECOND):
        while waiting := [node for node in free if groups[node] == group]:
            node = min(waiting, key=rank)
            own = neighbours(node)
            found.append((node, own))
            if math.prod(sizes[v] for v in (node, *own)) > limit:
                return found, False
            edges |= {frozenset(pair) for pair in itertools.combinations(own, 2)}
            free.remove(node)
    return found, True


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("limit", [4, 100, 10**6])
def test_nodes_go_in_the_order_of_their_fill_in(clamped, limit):
    rng = np.random.default_rng([clamped, limit])
    outcomes = set()
    for _ in range(60):
        n = int(rng.integers(1, 16))
        ends = rng.integers(0, n, size=(int(rng.integers(0, 3 * n)), 2))
        ends = ends[ends[:, 0] != ends[:, 1]]  # some edges stand there twice
        groups = rng.integers(CLAMPED if clamped else FIRST, SECOND + 1, size=n).astype(np.int8)
        sizes = rng.integers(1, 4, size=n).tolist()
        found, fits = by_definition(sizes, ends.tolist(), groups, limit)
        outcomes.add(fits)
        if fits:
            assert list(zip(*plans._ordered(sizes, ends, groups, limit), strict=True)) == found
            continue
        with pytest.raises(plans.TooWideError) as caught:
            plans._ordered(sizes, ends, groups, limit)
        node, own = found[-1]
        entries = math.prod(sizes[v] for v in (node, *own))
        assert (caught.value.width, caught.value.entries) == (len(own), entries)
    assert any(outcomes)
    assert all(outcomes) == (limit >= 10**6)


def star(n):
    return np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)


def grid(side):
    places = np.arange(side * side).reshape(side, side)
    across = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1)
    down = np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1)
    return np.concatenate([across, down])


@pytest.mark.parametrize(
    ("small", "large"), [(star(2_500), star(40_000)), (grid(50), grid(200))], ids=["star", "grid"]
)
def test_the_time_of_an_order_grows_no_faster_than_the_graph(small, large):
    def seconds(ends):
        nodes = int(ends.max()) + 1
        best = np.inf
        for _ in range(3):
            began = time.process_time()
            try:
                plans._ordered([2] * nodes, ends, np.full(nodes, SECOND, dtype=np.int8), 1 << 20)
            except plans.TooWideError:
                assert nodes in (50**2, 200**2)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(large) < 5 * 16 * seconds(small)
