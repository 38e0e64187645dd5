"""Multiclass classification (Tsochantaridis et al., ICML 2004, section 4.1; Crammer & Singer 2001).

Every class has its own weights, Φ(x, y) = x ⊗ e_y. With ``loss: zero_one``, margin rescaling and
linear slack it is the machine of Crammer & Singer (JMLR 2001). A loss matrix gives the cost of each
mistake instead; ``f_beta`` and ``precision`` are losses over the whole data set, see the module
``whole_rows``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from lssvm.applications import base
from lssvm.applications.multiclass.class_tree import WeightColumns
from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.multiclass.row_options import RowOptions
from lssvm.applications.multiclass.row_predictions import Predictions, share
from lssvm.applications.multiclass.whole_rows import PRECISION, WHOLE, WholeRows
from lssvm.errors import DataError
from lssvm.formats.loss_matrix import read_loss_matrix

ZERO_ONE = "zero_one"


class LossMatrix(BaseModel):
    """A loss matrix as stored in the model: rows are true labels."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    labels: tuple[str, ...]
    rows: tuple[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], ...]

    def check(self) -> None:
        """Raise ValueError for what a loss matrix file cannot contain; see ``read_loss_matrix``."""
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("a label is named twice; expected distinct labels")
        if {len(self.labels)} != {len(self.rows), *map(len, self.rows)}:
            raise ValueError("expected as many rows as labels, and as many losses in each")
        if any(row[place] != 0.0 for place, row in enumerate(self.rows)):
            raise ValueError("a label costs something where it is true; expected 0")

    @classmethod
    def read(cls, path: Path) -> "LossMatrix":
        """The matrix of a file. Raises DataError."""
        labels, matrix = read_loss_matrix(path)
        return cls(labels=labels, rows=tuple(map(tuple, matrix.tolist())))


class MulticlassOptions(RowOptions):
    """The cost of a mistake."""

    name: Literal["multiclass"] = Field(
        default="multiclass", description="one of several classes for each row of features"
    )
    loss: str | LossMatrix = Field(
        default=ZERO_ONE,
        description="zero_one; the name of a file with a loss matrix (the model keeps it); "
        "f_beta: number of rows times 1 − F over the whole data set; or precision: number of rows "
        "times 1 − precision among the rows that are most surely not of the class left_out",
    )
    beta: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="loss f_beta: recall counts as beta times as important as precision",
    )
    left_out: str | None = Field(
        default=None,
        description="loss f_beta: label of a class that is left out: F is that of all other "
        "classes together (micro); null: F is the mean over all classes (macro); loss precision "
        "needs one",
    )
    percent: float = Field(
        default=10.0,
        gt=0,
        le=100,
        description="loss precision: among so many percent of the rows",
    )
    iterations: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="loss f_beta: most steps of the decomposition in one oracle pass",
    )

    @field_validator("loss")
    @classmethod
    def _read(cls, value: str | LossMatrix, info: ValidationInfo) -> str | LossMatrix:
        """Replace the name of a file by the matrix in it."""
        if isinstance(value, LossMatrix):
            value.check()
        if value in (ZERO_ONE, *WHOLE) or isinstance(value, LossMatrix):
            return value
        try:
            return LossMatrix.read(base.named_file(value, info))
        except DataError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.loss == PRECISION and self.left_out is None:
            raise ValueError("loss: precision needs left_out; expected the label of a class")
        return self


class Multiclass(WholeRows):
    """One of K classes, each with its own weights."""

    Options = MulticlassOptions

    def columns_of(self, classes: Sequence[str]) -> WeightColumns:
        """A column for each class."""
        return WeightColumns(classes)

    def losses_of(self, truths: Sequence[str], classes: Sequence[str]) -> np.ndarray:
        """0 or 1, or the entries of the matrix. Raises ValueError for a label without a row."""
        loss = self.options.loss
        if loss in (ZERO_ONE, *WHOLE):
            return 1.0 - np.equal.outer(np.array(truths), np.array(classes))
        number = {label: row for row, label in enumerate(loss.labels)}
        for label in (*truths, *classes):
            if label not in number:
                raise ValueError(f"label {label!r} is not in the loss matrix; expected one that is")
        places = [[number[label] for label in part] for part in (truths, classes)]
        return np.array(loss.rows)[np.ix_(*places)]

    def losses_between(self, classes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """As in the base; views of a few numbers if every mistake costs 1."""
        if self.options.loss not in (ZERO_ONE, *WHOLE):
            return super().losses_between(classes)
        losses = np.ones(2 * len(classes) - 1)
        losses[len(classes) - 1] = 0.0
        return _by_difference(losses), _by_difference(self.formulation.margin(losses))

    def score(self, examples: LabelledRows, predictions: Predictions) -> dict[str, float | None]:
        """error and macro_f1 in percent, and loss: the mean of Δ, or 1 − F_β or 1 − precision.

        macro_f1 is the mean over the labels that are true or predicted for at least one example of
        2 right / (true + predicted). ``unseen_labels`` counts examples of labels that training
        does not have; they are errors.
        """
        count = len(examples)
        table = self.confusion(examples, predictions)
        right = np.diagonal(table).astype(np.float64)
        true, predicted = table.sum(axis=1), table.sum(axis=0)
        either = true.astype(np.float64)
        either[: len(predicted)] += predicted
        found = np.zeros(len(true))
        found[: len(right)] = 2.0 * right
        f1 = found[either > 0] / either[either > 0]
        return {
            "error": share(count - right.sum(), count),
            "macro_f1": 100.0 * float(f1.mean()) if len(f1) else None,
            "loss": self._mean_loss(examples, predictions) if count else None,
            "examples": count,
            "unseen_labels": int(np.count_nonzero(examples.labels >= len(self.classes))),
        }

    def _mean_loss(self, examples: LabelledRows, predictions: Predictions) -> float:
        if not self.decomposes:
            return self.whole_loss(examples, predictions)
        return float(self.losses_to(examples, predictions).mean())


def _by_difference(numbers: np.ndarray) -> np.ndarray:
    """A matrix (K, K) that depends on column minus row alone, a view of its (2 K - 1,) numbers."""
    count = (len(numbers) + 1) // 2
    return np.lib.stride_tricks.sliding_window_view(numbers, count)[::-1]
