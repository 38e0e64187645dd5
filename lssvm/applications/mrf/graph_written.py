"""Scores of labels of nodes that were written as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.reading import Source
from lssvm.applications.written import (
    Scores,
    Written,
    WrittenScorer,
    class_counts,
    distinct_names,
    label_table,
    place_of,
    read_table,
)
from lssvm.errors import DataError


class GraphWritten(WrittenScorer[Graphs, Any]):
    """Labels of nodes of graphs."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A table with the columns graph, node and label; nodes without a true label are left out.

        mean_iou : mean over the labels of right / (true + predicted − right)
        """
        examples: Graphs = self.read(sources)  # type: ignore[attr-defined]
        distinct_names(list(examples.identifiers), sources[0].path, "graph")
        names = examples.node_names[examples.nodes].tolist()
        graphs = np.repeat(np.arange(len(examples)), np.diff(examples.node_offsets))
        keys = zip((examples.identifiers[row] for row in graphs), names, strict=True)
        places = {key: place for place, key in enumerate(keys)}
        truth = examples.labels[examples.nodes]
        found = np.full(len(truth), -1, dtype=np.int64)
        for number, (graph, node, label) in read_table(path, ("graph", "node", "label")):
            if not label.isdecimal() or len(label) > 9:
                raise DataError(path, number, f"expected a label from 0, got {label[:40]!r}")
            place = place_of(places, (graph, node), path, number, "node")
            if found[place] >= 0:
                wrong = f"node {node!r} of graph {graph!r} has two labels; expected one"
                raise DataError(path, number, wrong)
            found[place] = int(label)
        lost = np.flatnonzero((truth >= 0) & (found < 0))
        if len(lost):
            graph = examples.identifiers[graphs[lost[0]]]
            wrong = f"has no label for node {names[lost[0]]!r} of graph {graph!r}; expected one"
            raise DataError(path, None, wrong)
        known = truth >= 0
        if not np.any(known):
            raise DataError(sources[0].path, None, "has no labels; expected some")
        return _written(examples, graphs[known], truth[known], found[known])


def _written(examples: Graphs, graphs: np.ndarray, truth: np.ndarray, found: np.ndarray) -> Written:
    labels, numbers = np.unique(np.concatenate([truth, found]), return_inverse=True)
    mine, other = np.split(numbers, 2)
    n = len(examples)
    owners = sparse.csr_array(
        (np.ones(len(graphs)), (graphs, np.arange(len(graphs)))), shape=(n, len(graphs))
    )
    counts = owners @ class_counts(mine, other, len(labels))

    def metrics(sums: np.ndarray, count: int) -> Scores:
        true, predicted, right = sums.reshape(3, -1)
        whole = true + predicted - right
        accuracy = 100.0 * float(right.sum()) / float(true.sum()) if true.any() else None
        overlap = np.mean(right[whole > 0] / whole[whole > 0]) if true.any() else None
        return {
            "error": None if accuracy is None else 100.0 - accuracy,
            "accuracy": accuracy,
            "mean_iou": None if overlap is None else 100.0 * float(overlap),
        }

    errors = np.bincount(graphs, weights=truth != found, minlength=n)
    each = {
        "labels": np.bincount(graphs, minlength=n).astype(float).tolist(),
        "errors": errors.tolist(),
    }
    sums = np.asarray(counts.sum(axis=0)).reshape(3, -1)
    table = label_table([str(label) for label in labels.tolist()], sums, "label")
    return Written(list(examples.identifiers), "graph", counts, metrics, each, table)
