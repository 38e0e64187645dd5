"""The output formats of predictions for random fields."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

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


class Picture(NamedTuple):
    """An image by whose file that of its labels is named.

    path : of this file; source, line : where the image is told; name : of its graph
    """

    path: str
    source: str
    line: int
    name: str


def image_marks(examples: Graphs) -> list[Picture]:
    """The images by which :func:`image_names` names files.

    Raises DataError if a graph is not an image, and MissingExtraError without Pillow.
    """
    found = []
    for row, picture in enumerate(examples.pictures):
        name, source = examples.identifiers[row], examples.paths[examples.files[row]]
        if picture is None:
            expected = "expected a list .images, or --format labels"
            raise DataError(source, None, f"graph {name!r} is no image; {expected}")
        path = os.path.abspath(picture.path)
        found.append(Picture(path, source, int(examples.lines[row]), name))
    require_pillow("writing images")
    return found


def image_names(pictures: Sequence[Picture]) -> list[str]:
    """File names for label images: those of the images, relative to their common folder.

    ``.png`` replaces the suffix, or follows it if names would otherwise be equal. Raises DataError
    if an image occurs twice.
    """
    counts = Counter(picture.path for picture in pictures)
    for picture in reversed(pictures):
        if counts[picture.path] > 1:
            told = f"graph {picture.name!r} is given twice; expected different images"
            raise DataError(picture.source, picture.line, told)
    root = os.path.commonpath([os.path.dirname(picture.path) for picture in pictures])
    images = [Path(os.path.relpath(picture.path, root)) for picture in pictures]
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
