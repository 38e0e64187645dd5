"""Inference for each graph separately, for solvers that keep planes by example.

The kernels sum the expected features of all graphs that they are given. Here every graph has its
own copy of w, one after another: the sum then contains the expected features of each graph. Graphs
are processed in groups, so that there are few copies at a time.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lssvm import sparse
from lssvm.applications.base import Maxima
from lssvm.applications.mrf.elimination import InferenceResult
from lssvm.applications.mrf.graphs import LANES, Graphs
from lssvm.problem import RowSums

COPIES = 2**20  # numbers in all copies of the weights, about


def each(
    infer: Callable[[np.ndarray, Graphs], InferenceResult],
    w: np.ndarray,
    examples: Graphs,
    *,
    linear: bool,
) -> Maxima:
    """The result of ``infer`` for each graph; ``outputs`` are the gradients, (n, d), sparse.

    linear : whether the loss part of a plane is Δ, as it is if all inference is a maximum;
        otherwise it is an expectation and an entropy
    """
    groups = _apart(examples, len(w))
    found = [infer(np.tile(w, len(group)), group) for group in groups]
    gradients = [
        sparse.csr_array(own.gradient.reshape(len(group), len(w)))
        for own, group in zip(found, groups, strict=True)
    ]
    rows = sparse.csr_array(sparse.vstack(gradients, "csr"))
    values = np.concatenate([own.values for own in found])
    losses = np.concatenate([own.losses for own in found]) if linear else values - rows @ w
    proved = np.repeat([own.exact for own in found], [len(group) for group in groups])
    return Maxima(values, losses, np.where(proved, values, np.inf), rows)


def row_sums(examples: Graphs) -> RowSums:
    """The sum of each coordinate over the items of its class, and how many these are."""
    items = slice(int(examples.item_offsets[0]), int(examples.item_offsets[-1]))
    bases, starts = examples.bases[items], examples.starts[items.start : items.stop + 1]
    found, counts = slice(int(starts[0]), int(starts[-1])), np.diff(starts)
    columns = examples.indices[found] * np.repeat(examples.tables[items].astype(np.int64), counts)
    edges, size = examples.classes.bases, examples.classes.dimension
    sums = np.bincount(columns + np.repeat(bases, counts), examples.values[found], minlength=size)
    own = np.bincount(bases, minlength=size + 1)[edges[:-1]]
    return RowSums(np.repeat(own, np.diff(edges)), sums)


def _apart(examples: Graphs, dimension: int) -> list[Graphs]:
    """The graphs in groups, with weights of their own and cost 1; kept with them."""
    key = ("apart", dimension)
    if key not in examples.cache:
        most = COPIES // max(dimension, 1)
        size = max(1, most - most % LANES if most >= LANES else most)
        starts = range(0, len(examples), size)
        groups = [
            _shifted(examples.take(np.arange(start, min(start + size, len(examples)))), dimension)
            for start in starts
        ]
        examples.cache[key] = groups
    return examples.cache[key]


def _shifted(graphs: Graphs, dimension: int) -> Graphs:
    copies = np.repeat(np.arange(len(graphs)), np.diff(graphs.item_offsets))
    return replace(
        graphs, bases=graphs.bases + dimension * copies, costs=np.ones(len(graphs)), cache={}
    )
