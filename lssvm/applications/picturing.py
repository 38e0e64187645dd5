"""Pictures for a report: what an application offers, and figures that several of them share."""

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from lssvm.applications.prediction import P
from lssvm.problem import E

if TYPE_CHECKING:
    from lssvm.output.charts import Figure, Lines, Table

MOST_CLASSES = 30  # in a matrix of confusions
MOST_CONFUSED = 15  # pairs of labels in a table
MOST_POINTS = 200  # of a curve


class Picturer(ABC, Generic[E, P]):
    """Figures in the field's own manner."""

    def model_figures(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> "Iterator[Figure]":
        """Of a model alone (none by default). arrays : those of ``summary``."""
        return iter(())

    def data_figures(self, w: np.ndarray, examples: E, predictions: P) -> "Iterator[Figure]":
        """Of predictions for examples that all have labels (none by default)."""
        return iter(())


def confusions(labels: Sequence[str], table: np.ndarray, what: str = "example") -> "Figure":
    """A matrix of confusions, or the most frequent ones if there are many labels.

    labels : of the rows; the first ones are those of the columns; table : counts
    """
    from lssvm.output.charts import Heat, Table

    columns = labels[: table.shape[1]]
    note = f"Each {what} counts once."
    if len(labels) <= MOST_CLASSES:
        return Heat(
            title="Confusions",
            note=note,
            rows=labels,
            columns=columns,
            values=table.tolist(),
            row_label="true",
            column_label="predicted",
        )
    wrong = np.array(table)
    same = np.arange(len(columns))
    wrong[same, same] = 0
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    rows = []
    for place in order.tolist():
        true, found = divmod(place, table.shape[1])
        if wrong[true, found]:
            rows.append((labels[true], columns[found], int(wrong[true, found])))
    return Table(
        title="Most frequent confusions", note=note, heads=("true", "predicted", "times"), rows=rows
    )


def by_label(labels: Sequence[str], table: np.ndarray) -> "Table":
    """Precision, recall and F1 of every label, in percent, from confusions."""
    from lssvm.output.charts import Table

    true = table.sum(axis=1)
    predicted = np.append(table.sum(axis=0), np.zeros(len(true) - table.shape[1]))
    right = np.append(np.diagonal(table), np.zeros(len(true) - min(table.shape)))
    rows = []
    for name, t, p, r in zip(labels, true, predicted, right, strict=True):
        rows.append((name, _share(r, p), _share(r, t), _share(2 * r, t + p), int(t), int(p)))
    heads = ("label", "precision", "recall", "f1", "true", "predicted")
    return Table(title="By label", note="In percent.", heads=heads, rows=rows)


def roc(truth: np.ndarray, scores: np.ndarray) -> "Lines":
    """The curve of true against false positives. truth : (n,) bool, some of each."""
    from lssvm.output.charts import Lines, Series

    hits, others = _cumulated(truth, scores)
    x, y = _thinned(others / others[-1], hits / hits[-1])
    area = float(np.trapezoid(hits / hits[-1], others / others[-1]))
    return Lines(
        title="ROC curve",
        note=f"Area under the curve: {area:.4f}.",
        series=[
            Series("model", x, y, plain=True),
            Series("chance", [0.0, 1.0], [0.0, 1.0], hue=6, dashed=True, plain=True),
        ],
        x_label="share of negatives above the threshold",
        y_label="share of positives",
    )


def precision_recall(
    truth: np.ndarray, scores: np.ndarray, positives: int | None = None
) -> "Lines":
    """The curve of precision against recall.

    truth : (n,) bool; positives : how many there are, with those that nothing can find; by default
    those in ``truth``. There is one at least
    """
    from lssvm.output.charts import Lines, Series

    hits, others = (column[1:] for column in _cumulated(truth, scores))
    precision, recall = (
        hits / (hits + others),
        hits / (hits[-1] if positives is None else positives),
    )
    average = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    x, y = _thinned(recall, precision)
    share = float(np.mean(truth))
    return Lines(
        title="Precision and recall",
        note=f"Average precision: {average:.4f}.",
        series=[
            Series("model", x, y, plain=True),
            Series("chance", [0.0, 1.0], [share, share], hue=6, dashed=True, plain=True),
        ],
        x_label="recall",
        y_label="precision",
        from_zero=True,
    )


def _cumulated(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positives and negatives from each distinct score on, from 0, highest score first."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(scores[order][1:] != scores[order][:-1], True))
    hits = np.cumsum(truth[order])[ends]
    return np.append(0, hits).astype(float), np.append(0, ends + 1 - hits).astype(float)


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Points of a curve, not more than can be seen."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    return x[kept].tolist(), y[kept].tolist()


def _share(part: Any, whole: Any) -> float | None:
    return 100.0 * float(part) / float(whole) if whole else None
