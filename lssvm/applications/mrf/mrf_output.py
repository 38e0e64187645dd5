"""The output formats of predictions for random fields."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lssvm.applications.mrf.graphs import Graphs
from lssvm.errors import DataError
from lssvm.formats.images import png, require_pillow
from lssvm.formats.mrf_text import HIDDEN, MISSING


@dataclass(frozen=True)
class Predictions:
    """The best states of n graphs.

    states : (N,) int32, of all nodes; hidden ones have their most probable state given the rest
    values : (n,) float64, the value that the states of the other nodes maximise
    converged : (n,) bool, False if belief propagation did not converge
    w : (d,), the weights that they were made with
    approximate : (n,) bool, True if they were found by belief propagation
    """

    states: np.ndarray
    values: np.ndarray
    converged: np.ndarray
    w: np.ndarray
    approximate: np.ndarray


def write_labels(examples: Graphs, predictions: Predictions, file: TextIO) -> None:
    """A table of all nodes that are not hidden, with a header: graph, node, label."""
    file.write("graph\tnode\tlabel\n")
    write_label_rows(examples, predictions, file)


def write_label_rows(examples: Graphs, predictions: Predictions, file: TextIO) -> None:
    """The table without its header."""
    for graph, j in _nodes(examples):
        state = predictions.states[j]
        file.write(f"{graph}\t{examples.node_names[examples.nodes][j]}\t{state}\n")


def write_marginals(
    examples: Graphs,
    predictions: Predictions,
    marginals: np.ndarray,
    file: TextIO,
    header: bool = True,
) -> None:
    """The same table with the probability of every state, separated by spaces.

    marginals : those of all states of all nodes, one after another
    """
    if header:
        file.write("graph\tnode\tlabel\tmarginals\n")
    counts = np.concatenate([examples.states(i) for i in range(len(examples))])
    ends = np.cumsum(counts)
    for graph, j in _nodes(examples):
        shares = " ".join(f"{share:.6f}" for share in marginals[ends[j] - counts[j] : ends[j]])
        name = examples.node_names[examples.nodes][j]
        file.write(f"{graph}\t{name}\t{predictions.states[j]}\t{shares}\n")


def image_names(examples: Graphs) -> list[str]:
    """File names for label images: those of the images, relative to their common folder.

    ``.png`` replaces the suffix, or follows it if names would otherwise be equal. Raises DataError
    if a graph is not an image, or if an image occurs twice, and MissingExtraError without Pillow.
    """
    for row, picture in enumerate(examples.pictures):
        if picture is None:
            wrong = f"graph {examples.identifiers[row]!r} is no image"
            expected = "expected a list .images, or --format labels"
            raise DataError(examples.paths[examples.files[row]], None, f"{wrong}; {expected}")
    require_pillow("writing images")
    paths = [os.path.abspath(picture.path) for picture in examples.pictures]
    path, count = Counter(paths).most_common(1)[0]
    if count > 1:
        row = len(paths) - 1 - paths[::-1].index(path)
        raise examples.error(row, "is given twice; expected different images")
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    images = [Path(os.path.relpath(path, root)) for path in paths]
    names = [str(image.with_suffix(".png")) for image in images]
    if len(set(names)) < len(names):
        names = [f"{image}.png" for image in images]
    return names


def label_images(examples: Graphs, predictions: Predictions) -> Iterator[bytes]:
    """A PNG file for each image, each pixel in the first colour of its label."""
    offsets = examples.node_offsets - examples.node_offsets[0]
    for i, picture in enumerate(examples.pictures):
        states = predictions.states[offsets[i] : offsets[i + 1]]
        yield png(picture.colours[states].reshape(picture.height, picture.width, 3))


def records(
    examples: Graphs, predictions: Predictions, losses: np.ndarray
) -> Iterator[dict[str, Any]]:
    """One dictionary per graph.

    id; y : states of its nodes by name; h : those of its hidden nodes; score : the value that y
    maximises; approximate, converged : only of predictions by belief propagation; and if labels are
    known gold : the labels, loss : the number of errors
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
        if predictions.approximate[i]:
            record |= {"approximate": True, "converged": bool(predictions.converged[i])}
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
