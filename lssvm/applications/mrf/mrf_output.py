"""What predictions for random fields are written as."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from lssvm.applications.mrf.graphs import Graphs
from lssvm.formats.mrf_text import HIDDEN, MISSING


@dataclass(frozen=True)
class Predictions:
    """The best states of n graphs.

    states : (N,) int32, of all nodes; hidden ones have their most probable state given the rest
    values : (n,) float64, the value that the states of the other nodes maximise
    converged : (n,) bool, False where belief propagation did not settle
    w : (d,), the weights that they were made with
    """

    states: np.ndarray
    values: np.ndarray
    converged: np.ndarray
    w: np.ndarray


def write_labels(examples: Graphs, predictions: Predictions, file: TextIO) -> None:
    """A table of all nodes that are not hidden, with a header: graph, node, label."""
    file.write("graph\tnode\tlabel\n")
    for graph, j in _nodes(examples):
        state = predictions.states[j]
        file.write(f"{graph}\t{examples.node_names[examples.nodes][j]}\t{state}\n")


def write_marginals(
    examples: Graphs, predictions: Predictions, marginals: np.ndarray, file: TextIO
) -> None:
    """The same table with the probability of every state, separated by spaces.

    marginals : those of all states of all nodes, one after another
    """
    file.write("graph\tnode\tlabel\tmarginals\n")
    counts = np.concatenate([examples.states(i) for i in range(len(examples))])
    ends = np.cumsum(counts)
    for graph, j in _nodes(examples):
        shares = " ".join(f"{share:.6f}" for share in marginals[ends[j] - counts[j] : ends[j]])
        name = examples.node_names[examples.nodes][j]
        file.write(f"{graph}\t{name}\t{predictions.states[j]}\t{shares}\n")


def records(
    examples: Graphs, predictions: Predictions, losses: np.ndarray
) -> Iterator[dict[str, Any]]:
    """One dictionary a graph.

    id; y : states of its nodes by name; h : those of its hidden nodes; score : the value that y
    maximises; and where labels are known gold : these, loss : the number of errors
    """
    offsets = examples.node_offsets - examples.node_offsets[0]
    names, labels = examples.node_names[examples.nodes], examples.labels[examples.nodes]
    for i, graph in enumerate(examples.identifiers):
        own = range(offsets[i], offsets[i + 1])
        record: dict[str, Any] = {
            "id": graph,
            "y": {names[j]: int(predictions.states[j]) for j in own if labels[j] != HIDDEN},
            "h": {names[j]: int(predictions.states[j]) for j in own if labels[j] == HIDDEN},
            "score": float(predictions.values[i]),
        }
        gold = {names[j]: int(labels[j]) for j in own if labels[j] not in (HIDDEN, MISSING)}
        if gold:
            record |= {"gold": gold, "loss": float(losses[i])}
        yield record


def _nodes(examples: Graphs) -> Iterator[tuple[str, int]]:
    """Graph and place among the nodes of these graphs, for each node that is not hidden."""
    labels = examples.labels[examples.nodes]
    graphs = np.repeat(examples.identifiers, np.diff(examples.node_offsets))
    for j in np.flatnonzero(labels != HIDDEN).tolist():
        yield graphs[j], j
