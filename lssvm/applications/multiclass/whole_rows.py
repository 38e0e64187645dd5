"""Classes of rows with a loss over the whole data set: n (1 − F_β), or n (1 − precision at k).

A row is a pair with one mention, whose label is its class (``multivariate.labelling``). With a
class left out, which is what ``none`` is there, F_β is that of all other classes together; without
one it would be accuracy, and the loss is the mean over the classes that occur instead, each against
all others. So loss-augmented inference and its certified bounds are those of the module
``multivariate.decomposition``: exact with two classes one of which is left out, by counts with a
class left out, by pairs for the mean. Precision at k is exact, see ``multivariate.precision``. The
scores of all classes of all rows are in memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lssvm.applications import base
from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.multiclass.row_classifier import RowClassifier
from lssvm.applications.multiclass.row_predictions import Predictions
from lssvm.applications.multivariate import precision
from lssvm.applications.multivariate.decomposition import Bounds, Limits
from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import Labelling, in_turn
from lssvm.applications.multivariate.whole import WholeLoss
from lssvm.errors import LssvmError
from lssvm.kernels import _multiclass
from lssvm.kernels.relation_arrays import BagArrays
from lssvm.plane import Plane
from lssvm.problem import Each

F_BETA, PRECISION = "f_beta", "precision"
WHOLE = (F_BETA, PRECISION)
_AT_ONCE = 4096  # rows that a thread scores at a time
_FAR = 1e3  # times the largest score and loss that the label no row has is below 0
_EACH = "loss {} is that of the whole data set; expected the loss of each row"


class WholeRows(WholeLoss[LabelledRows], RowClassifier):
    """Rows with a loss of each, or with one of the whole data set.

    options : has loss, beta, left_out, percent and iterations
    """

    def __init__(self, options: Any, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation)
        self.decomposes = options.loss not in WHOLE
        own = self.formulation
        if not self.decomposes and (own.rescaling, own.slack_norm) != ("margin", 1):
            raise LssvmError(
                f"loss {options.loss} is for margin rescaling and linear slack; expected "
                "objective.rescaling: margin and objective.slack_norm: 1"
            )
        self.left_out = None if self.decomposes else options.left_out
        self.limits = Limits(options.iterations, False, 1, self.left_out is not None)

    @classmethod
    def decomposes_with(cls, options: Mapping[str, Any]) -> bool:
        """False for the loss over the whole data set."""
        return options.get("loss") not in WHOLE

    def fix(self, classes: Sequence[str], features: int) -> None:
        """As in the base. Raises ValueError also if the class left out is not there."""
        left_out = self.left_out
        if left_out is not None and left_out not in classes:
            raise ValueError(f"left_out: no example has label {left_out!r}; expected one of them")
        if left_out is not None and len(classes) == 1:
            raise ValueError(f"left_out: all examples have label {left_out!r}; expected others")
        super().fix(classes, features)

    @property
    def order(self) -> np.ndarray:
        """The classes that F_β is of, and the one left out behind them, (classes,) int32."""
        places = np.arange(len(self.classes), dtype=np.int32)
        if self.left_out is None:
            return places
        last = self.classes.index(self.left_out)
        return np.append(np.delete(places, last), places[last])

    @property
    def counted(self) -> int:
        """The number of classes that F_β is of."""
        return len(self.classes) - (self.left_out is not None)

    def loss_of(self, labels: np.ndarray) -> FLoss:
        """The loss with these true labels (n,); labels of none of the classes raise IndexError."""
        place = np.argsort(self.order)[labels]
        truth = place[:, None] == np.arange(self.counted)
        return FLoss(truth, self.options.beta**2, self.left_out is None)

    def augmented(self, w: np.ndarray, examples: LabelledRows) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, or U⁺ of the whole data set with its upper bound."""
        if self.decomposes:
            return super().augmented(w, examples)
        return self.augmented_from(w, examples, None, in_turn)[:2]

    def worst(
        self, w: np.ndarray, examples: LabelledRows, carried: np.ndarray, each: Each
    ) -> Bounds | None:
        """The worst labels, in the ``order`` of classes; None if scores are not finite."""
        scores = self._ordered(w, examples, each)
        if not np.isfinite(scores).all():
            return None
        truth = np.argsort(self.order)[examples.labels].astype(np.int32)
        if self.options.loss == PRECISION:
            count = precision.rows_at(self.options.percent, len(scores))
            labels, loss, value = precision.worst(scores, truth, count)
            return Bounds(labels, loss, value, value, carried)
        if self.left_out is None:
            lowest = -_FAR * (np.abs(scores).max() + len(scores))
            scores = np.column_stack([scores, np.full(len(scores), lowest)])
        bags = BagArrays(np.ascontiguousarray(scores), np.arange(len(scores) + 1))
        right = Labelling(truth, scores[np.arange(len(truth)), truth], np.zeros(len(truth)))
        return self.decomposed(bags, self.loss_of(examples.labels), right, carried, each)

    def plane_of(self, examples: LabelledRows, labels: np.ndarray, loss: float) -> Plane:
        """The plane of labels in the ``order`` of classes; loss : with costs."""
        chosen = np.ascontiguousarray(self.order[labels], dtype=np.int32)
        gradient = _multiclass.combination(examples.rows, chosen, examples.costs, self._arrays)
        return Plane(gradient, loss)

    def _ordered(self, w: np.ndarray, examples: LabelledRows, each: Each) -> np.ndarray:
        """The scores of all classes in their ``order``, (n, classes)."""
        rows = [examples.slice(k, k + _AT_ONCE) for k in range(0, len(examples), _AT_ONCE)]
        return np.concatenate(each(lambda part: self.scores(w, part), rows))[:, self.order]

    def augmented_each(self, w: np.ndarray, examples: LabelledRows) -> base.Maxima:
        """U⁺_i of each example. Raises LssvmError for such a loss."""
        if not self.decomposes:
            raise LssvmError(_EACH.format(self.options.loss))
        return super().augmented_each(w, examples)

    def has_example_oracle(self, examples: LabelledRows) -> bool:
        """As in the base; there is none for such a loss."""
        return self.decomposes and super().has_example_oracle(examples)

    def example_oracle(self, examples: LabelledRows) -> Any:
        """Inference for one row at a time, in C. Raises LssvmError for such a loss."""
        if not self.decomposes:
            raise LssvmError(_EACH.format(self.options.loss))
        return super().example_oracle(examples)

    def whole_loss(self, examples: LabelledRows, predictions: Predictions) -> float:
        """1 − F_β, or 1 − precision, of predictions.

        Labels that training does not have are never found. They count as missed, and for a mean
        over classes not at all.
        """
        known = examples.labels < len(self.classes)
        if self.options.loss == PRECISION:
            scores = self._ordered(predictions.w, examples, in_turn)
            places = np.argsort(self.order)[np.where(known, examples.labels, 0)]
            count = precision.rows_at(self.options.percent, len(scores))
            return precision.missed(scores, np.where(known, places, -1), count)
        loss = self.loss_of(np.where(known, examples.labels, 0))
        truth = loss.truth & known[:, None]
        found = self.loss_of(predictions.labels).truth
        if self.left_out is None:
            return FLoss(truth, loss.square, True).value(found) / len(truth)
        never = np.zeros((len(truth), 1), dtype=bool)
        whole = FLoss(np.hstack([truth, ~known[:, None]]), loss.square, False)
        return whole.value(np.hstack([found, never])) / len(truth)
