"""Explanations of predicted classes, and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.class_costs import listed
from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.multiclass.row_predictions import Predictions
from lssvm.applications.picturing import Picturer, by_label, confusions
from lssvm.errors import LssvmError, nearest
from lssvm.plane import Plane

if TYPE_CHECKING:
    from lssvm.output.charts import Figure


class RowExplainer(Explainer[LabelledRows, Predictions], Picturer[LabelledRows, Predictions]):
    """One class for each row of features."""

    classes: Sequence[str]
    _check_known: Any
    scores: Any

    def confusion(self, examples: LabelledRows, predictions: Predictions) -> np.ndarray:
        """How often a label (row) was predicted as a class (column): (label_names, classes)."""
        shape = len(examples.label_names), len(self.classes)
        places = examples.labels.astype(np.int64) * shape[1] + predictions.labels
        return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)

    def as_truth(
        self, w: np.ndarray, examples: LabelledRows, predictions: Predictions
    ) -> LabelledRows:
        """The predicted classes as labels."""
        return replace(examples, labels=predictions.labels, labelled=True)

    def truth_plane(self, w: np.ndarray, examples: LabelledRows) -> Plane:
        """w · Φ of the true class. Raises DataError for a label that training does not have."""
        self._check_known(examples)
        return self.completed(w, examples)

    def rival(
        self, w: np.ndarray, examples: LabelledRows, predictions: Predictions, label: str | None
    ) -> Rival | None:
        """A class by its name, or the one with the second highest score."""
        if label is not None and label not in self.classes:
            known, near = listed(list(self.classes)), nearest(label, self.classes)
            raise LssvmError(
                f"--against {label}: is no class of the model; expected one of {known}{near}"
            )
        if label is None and len(self.classes) == 1:
            return None
        if label is None:
            scores = np.array(self.scores(w, examples)[0])
            scores[predictions.labels[0]] = -np.inf
            chosen = int(np.argmax(scores))
        else:
            chosen = list(self.classes).index(label)
        other = replace(examples, labels=np.array([chosen], dtype=np.int32), labelled=True)
        return Rival(self.classes[chosen], self.completed(w, other))

    def data_figures(
        self, w: np.ndarray, examples: LabelledRows, predictions: Predictions
    ) -> "Iterator[Figure]":
        """Confusions, and figures by class."""
        table = self.confusion(examples, predictions)
        yield confusions(examples.label_names, table)
        yield by_label(examples.label_names, table)
