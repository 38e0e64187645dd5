"""The base of multiclass and taxonomy: one of K classes for each row, with score w · Φ(x, y).

    Φ(x, y) = x ⊗ Λ(y)        (Tsochantaridis, Hofmann, Joachims & Altun, ICML 2004, section 4.1)

Λ(y) selects the columns of weights by which a class is scored: only its own, or also those of all
nodes above it in a tree. Coordinate j · columns + z of w belongs to feature j and column z. For
example i

    margin rescaling   U⁺ = max over ŷ of L(y, ŷ) + w · Φ(x, ŷ)
    slack rescaling    U⁺ = max over ŷ of L(y, ŷ) (1 + w · Φ(x, ŷ) − w · Φ(x, y)) + w · Φ(x, y)

over all classes, the true one included, with L = Δ, or √Δ for quadratic slack; nothing is hidden,
so U⁻ = w · Φ(x, y). The gradient of a slack-rescaled plane is L (Φ(ŷ) − Φ(y)) + Φ(y). Ties go to
the first class.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from lssvm import checked, sparse
from lssvm.applications import base, scaling
from lssvm.applications.class_costs import collapse, listed, weighted
from lssvm.applications.index_base import IndexBase
from lssvm.applications.multiclass.class_tree import WeightColumns
from lssvm.applications.multiclass.given_rows import FromArrays
from lssvm.applications.multiclass.labelled_rows import (
    LabelledRows,
    first_lines,
    packed,
    read_file,
    sorted_labels,
    with_labels_alike,
)
from lssvm.applications.multiclass.row_apart import RowsApart, check_class_costs, check_width
from lssvm.applications.multiclass.row_explaining import RowExplainer
from lssvm.applications.multiclass.row_parts import joined_labels, labels_alone, row_parts
from lssvm.applications.multiclass.row_predictions import Predictions
from lssvm.applications.multiclass.row_written import RowWritten
from lssvm.applications.names import ColumnNames, NumberedNames
from lssvm.applications.parts import InParts
from lssvm.applications.scaling import Scaler
from lssvm.checked import MOST_WEIGHTS
from lssvm.errors import LssvmError, ModelError, counted
from lssvm.formats.svmlight import SvmLight
from lssvm.kernels import _multiclass, _multiclass_examples
from lssvm.kernels.arrays import ClassArrays
from lssvm.plane import Plane

MOST_CLASSES = 2**14
_AT_ONCE = 4096  # rows whose scores are in memory at a time
_FEW = 2  # a class of fewer examples is worth a warning


class RowClassifier(
    FromArrays,
    RowsApart,
    RowExplainer,
    RowWritten,
    base.Application[LabelledRows, Predictions],
    base.CompiledByExample[LabelledRows],
    base.KernelRows[LabelledRows],
    InParts[LabelledRows, Predictions],
):
    """One class for each row of features; nothing is hidden.

    The first data that are read determine the classes and the number of features.
    """

    models = frozenset({"ssvm"})
    rescalings = frozenset({"margin", "slack"})
    slack_norms = frozenset({0, 1, 2})
    hidden = False
    whole_formats = frozenset({"confusion"})

    def __init__(self, options: Any, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation)
        self.slack = self.formulation.rescaling == "slack"
        self.indices = IndexBase(options.index_base)
        self.classes: tuple[str, ...] = ()
        self.features = 0
        self.scaler = Scaler(options.scaling)

    @abstractmethod
    def columns_of(self, classes: Sequence[str]) -> WeightColumns:
        """The columns of w that belong to these classes. Raises ValueError with what is wrong."""

    @abstractmethod
    def losses_of(self, truths: Sequence[str], classes: Sequence[str]) -> np.ndarray:
        """Δ of true labels, which may be unseen in training, and classes, (truths, classes).

        Raises ValueError for a label that has no loss.
        """

    def losses_between(self, classes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Δ and L of true and other classes, (classes, classes) each.

        Raises ValueError for a class that has no loss, LssvmError as ``Formulation.margin`` does.
        """
        losses = np.ascontiguousarray(self.losses_of(classes, classes), dtype=np.float64)
        return losses, np.ascontiguousarray(self.formulation.margin(losses))

    def fix(self, classes: Sequence[str], features: int) -> None:
        """Set the classes and the number of features, without the constant one.

        Raises ValueError with what is wrong with them.
        """
        columns = self.columns_of(classes)
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{len(classes):,d} classes are too many; expected at most {MOST_CLASSES:,d}, as "
                "the losses of all pairs of classes are stored"
            )
        losses, margins = self.losses_between(classes)
        width = features + (self.options.bias > 0.0)
        if width == 0:
            raise ValueError("no features, and no bias; expected at least one of them")
        if width * len(columns) > MOST_WEIGHTS:
            raise ValueError(
                f"{width:,d} features times {len(columns):,d} columns are too many weights; "
                f"expected at most {MOST_WEIGHTS:,d}"
            )
        self.columns, self.losses, self.margins, self.width = columns, losses, margins, width
        tree = self.columns
        self._arrays = ClassArrays(
            len(tree),
            tree.parents,
            tree.places,
            tree.path_starts,
            tree.paths,
            self.margins,
            self.slack,
        )
        self.classes, self.features = tuple(classes), features

    def read(self, sources: Sequence[base.Source]) -> LabelledRows:
        """The rows of SVM-light files, labels being words. Raises DataError.

        ``+1`` and ``1`` are the same label, written as in its first row of training.
        """
        files = with_labels_alike(self.indices.read(sources, read_file), self.classes)
        return self._of_files(files, sources)

    def _of_files(self, files: list[SvmLight], sources: Sequence[base.Source]) -> LabelledRows:
        labels = sorted_labels(files)
        if not self.classes:
            check_class_costs(self.options.class_costs, labels, sources)
        examples = self._packed(files, sources, labels)
        self._check_losses(examples)
        return examples

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[LabelledRows]:
        """The rows of :meth:`read` in parts, once the classes are known. Raises DataError."""
        for part in row_parts(sources, self.classes, self.indices, self._packed):
            self._check_losses(part)
            yield part

    def kept(
        self, examples: LabelledRows, predictions: Predictions
    ) -> tuple[LabelledRows, Predictions]:
        """The labels."""
        return labels_alone(examples), Predictions(predictions.labels, np.empty(0), np.empty(0))

    def joined(
        self, parts: Sequence[tuple[LabelledRows, Predictions]]
    ) -> tuple[LabelledRows, Predictions]:
        """The labels of all parts."""
        examples = joined_labels([part for part, _ in parts], len(self.classes))
        labels = np.concatenate([predictions.labels for _, predictions in parts])
        return examples, Predictions(labels, np.empty(0), np.empty(0))

    def _check_losses(self, examples: LabelledRows) -> None:
        """Raise DataError for a label that is unseen in training and has no loss."""
        unseen = examples.label_names[len(self.classes) :]
        for name in unseen:
            try:
                self.losses_of([name], self.classes)
            except ValueError as error:
                row = int(np.flatnonzero(examples.labels == examples.label_names.index(name))[0])
                raise examples.error(row, str(error)) from None

    def _packed(
        self, files: list[SvmLight], sources: Sequence[base.Source], labels: Sequence[str] = ()
    ) -> LabelledRows:
        if not self.classes:
            try:
                self._check_widths(files, sources, len(self.columns_of(labels)))
                self.fix(labels, max(file.dimension for file in files))
            except ValueError as error:
                lines = [first_lines(file) for file in files]
                raise self._placed(error, lines, sources, labels) from None
        examples = packed(
            files,
            sources,
            self.classes,
            self.features,
            self.options.bias,
            len(self.columns),
        )
        return self.scaler.scaled(examples, self.features)

    def _check_widths(
        self, files: Sequence[SvmLight], sources: Sequence[base.Source], columns: int
    ) -> None:
        """Raise DataError for a feature with which the weights take more memory than allowed."""
        for file, source in zip(files, sources, strict=True):
            width, line = file.dimension, file.widest_line if file.dimension else 0
            check_width(source, width, line, columns, self.indices.base)

    def state(self) -> dict[str, np.ndarray]:
        """labels, the classes in their order, and features, how many; what indices count from.

        And the scales of features, if there are any.
        """
        found = {"labels": np.array(self.classes, dtype=str), "features": np.array([self.features])}
        return found | self.indices.state() | self.scaler.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore classes, features and their scales. Raises ModelError."""
        names = ("labels", "features", *self.scaler.names)
        checked.known(state, *names, optional=["index_base"])
        self.indices.restore(state)
        labels = checked.words(state, "labels")
        features = checked.array(state, "features", np.int64, (1,), least=0, most=MOST_WEIGHTS)
        try:
            self.fix(labels, int(features[0]))
        except ValueError as error:
            raise ModelError(str(error)) from None
        self.scaler.restore(state, self.features)

    def known_dimension(self) -> int | None:
        """Features times columns."""
        return self.width * len(self.columns) if self.classes else None

    def known_inputs(self) -> tuple[int, int] | None:
        """Features, the constant one included, and columns."""
        return (self.width, len(self.columns)) if self.classes else None

    def dimension(self, examples: LabelledRows) -> int:
        """Features times columns."""
        return examples.width * len(self.columns)

    def columns_per_row(self, examples: LabelledRows) -> int:
        """The columns of w."""
        return len(self.columns)

    def feature_names(self) -> ColumnNames:
        """``feature 1 × a`` and so on; see :class:`ColumnNames`."""
        bias = self.options.bias > 0.0
        return ColumnNames(self.features, bias, self.columns.names, self.indices.base)

    def start(self, examples: LabelledRows, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i). Raises DataError if a label is none of the classes."""
        self._check_known(examples)
        return self.completed(np.empty(0), examples)

    def augmented(self, w: np.ndarray, examples: LabelledRows) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        gradient, loss, _, _ = self._search(w, examples, summed=True)
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: LabelledRows) -> Plane:
        """Σ c_i w · Φ(x_i, y_i), for any w."""
        gradient = _multiclass.combination(
            examples.rows, examples.labels, examples.costs, self._arrays
        )
        return Plane(gradient, 0.0)

    def augmented_each(self, w: np.ndarray, examples: LabelledRows) -> base.Maxima:
        """U⁺_i of each example; outputs are the classes found, (n,) int32."""
        _, _, found, values = self._search(w, examples, summed=False)
        return base.Maxima(values, self.margins[examples.labels, found], values, found)

    def completed_each(self, w: np.ndarray, examples: LabelledRows) -> base.Maxima:
        """U⁻_i = w · Φ(x_i, y_i) of each example."""
        values = np.empty(len(examples))
        for first in range(0, len(examples), _AT_ONCE):
            part = examples.slice(first, first + _AT_ONCE)
            scores = self.scores(w, part)
            values[first : first + _AT_ONCE] = scores[np.arange(len(part)), part.labels]
        return base.Maxima(values, np.zeros(len(examples)), values, examples.labels)

    def gradients(
        self, examples: LabelledRows, found: base.Maxima, rows: np.ndarray
    ) -> "sparse.csr_array":
        """The planes' gradients, (len(rows), d), without costs.

        Where Φ(ŷ) and Φ(y) are equal, their gradients are equal, to the last bit.
        """
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        parts = _multiclass.gradients(
            examples.rows,
            examples.labels,
            np.ascontiguousarray(found.outputs, dtype=np.int32),
            rows,
            self._arrays,
        )
        return sparse.csr_array(parts, shape=(len(rows), self.dimension(examples)))

    def example_oracle(self, examples: LabelledRows) -> Any:
        """Inference for one row at a time, in C. Raises DataError without all labels."""
        self._check_known(examples)
        return _multiclass_examples.ExampleOracle(examples.rows, examples.labels, self._arrays)

    def predict(self, w: np.ndarray, examples: LabelledRows, top: int = 1) -> Predictions:
        """argmax over the classes of w · Φ. Raises LssvmError if ``top`` is not 1."""
        if top != 1:
            raise LssvmError(f"--top {top}: there is no hidden value; expected no --top")
        count = len(self.classes)
        w = np.ascontiguousarray(w, dtype=np.float64)
        _, _, found, values = _multiclass.search(
            examples.rows,
            np.zeros(len(examples), dtype=np.int32),
            examples.costs,
            w,
            replace(
                self._arrays, margins=np.broadcast_to(np.zeros(count), (count, count)), slack=False
            ),
            False,
        )
        return Predictions(found, values, w)

    def scores(self, w: np.ndarray, examples: LabelledRows) -> np.ndarray:
        """w · Φ(x, y) of all classes, (n, classes)."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        return _multiclass.scores(examples.rows, w, self._arrays)

    def losses_to(self, examples: LabelledRows, predictions: Predictions) -> np.ndarray:
        """Δ of every example's prediction, (n,)."""
        known = len(self.classes)
        unseen = examples.labels >= known
        found = self.losses[np.where(unseen, 0, examples.labels), predictions.labels]
        if np.any(unseen):
            table = self.losses_of(examples.label_names[known:], self.classes)
            found[unseen] = table[examples.labels[unseen] - known, predictions.labels[unseen]]
        return found

    @property
    def formats(self) -> Mapping[str, Callable[[LabelledRows, Predictions, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return {
            "labels": self.write,
            "scores": self.write_scores,
            "confusion": self.write_confusion,
        }

    def write(self, examples: LabelledRows, predictions: Predictions, file: TextIO) -> None:
        """One label per line, in the order of the input."""
        file.writelines(f"{self.classes[label]}\n" for label in predictions.labels)

    def write_scores(self, examples: LabelledRows, predictions: Predictions, file: TextIO) -> None:
        """One line per example: the label, and the scores of all classes in their order."""
        for first in range(0, len(examples), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            scores = self.scores(predictions.w, examples.slice(part.start, part.stop))
            for label, row in zip(predictions.labels[part], scores, strict=True):
                numbers = " ".join(f"{score:.10g}" for score in row)
                file.write(f"{self.classes[label]} {numbers}\n")

    def write_confusion(
        self, examples: LabelledRows, predictions: Predictions, file: TextIO
    ) -> None:
        """A table of counts with tabs: rows are true labels, columns are predicted classes.

        Raises LssvmError if the true labels are not known.
        """
        if not examples.labelled:
            raise LssvmError(
                "--format confusion: there are no labels to compare with; expected labels"
            )
        file.write("\t".join(["true", *self.classes]) + "\n")
        table = self.confusion(examples, predictions)
        for name, counts in zip(examples.label_names, table, strict=True):
            file.write("\t".join([name, *map(str, counts)]) + "\n")

    def prediction_values(self, examples: LabelledRows, predictions: Predictions) -> np.ndarray:
        """w · Φ of the classes found, (n,)."""
        return predictions.values

    def records(self, examples: LabelledRows, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """One dictionary per row: id, its number; y; h, None; score; and gold and loss if known."""
        losses = self.losses_to(examples, predictions)
        for i, label in enumerate(predictions.labels):
            record: dict[str, Any] = {
                "id": examples.names[i],
                "y": self.classes[label],
                "h": None,
                "score": float(predictions.values[i]),
            }
            if examples.labels[i] >= 0:
                gold = examples.label_names[examples.labels[i]]
                record |= {"gold": gold, "loss": float(losses[i])}
            yield record

    def for_training(self, examples: LabelledRows) -> LabelledRows:
        """The examples with class costs."""
        factors, labels = self.options.class_costs, examples.labels
        if not factors or not examples.labelled:
            return examples
        return replace(
            examples, costs=weighted(examples.costs, factors, labels, examples.label_names)
        )

    def groups(self, examples: LabelledRows) -> np.ndarray:
        """The class of each example."""
        return examples.labels

    def group_name(self, examples: LabelledRows, group: int) -> str:
        """The label of a class."""
        return examples.label_names[group]

    def warnings(self, examples: LabelledRows) -> list[str]:
        """Warnings about labels and features unseen in training, and about rare classes."""
        found = self.indices.warnings()
        count = len(self.classes)
        unseen = examples.labels >= count
        if unseen.any():
            names = listed(examples.label_names[count:])
            found.append(
                f"{counted(int(unseen.sum()), 'example has a label', 'examples have labels')} "
                f"that training does not have, and cannot be right: {names}"
            )
        if examples.left_out:
            last = self.features - 1 + self.indices.base
            found.append(
                f"{counted(examples.left_out, 'value')} beyond feature {last:,d}, the last one in "
                "training: left out"
            )
        if count == 1:
            found.append(f"all examples have one label: {self.classes[0]!r}")
        if examples.labelled and not unseen.any():
            counts = np.bincount(examples.labels, minlength=count)
            rare = [name for name, n in zip(self.classes, counts, strict=True) if 0 < n < _FEW]
            if rare:
                found.append(
                    f"{counted(len(rare), 'class has', 'classes have')} a single example: "
                    f"{listed(rare)}"
                )
        return found + self.scaler.warnings(examples)

    def scale_warnings(self, examples: LabelledRows) -> list[str]:
        """A warning if the scales of features differ much."""
        names = NumberedNames(self.features, self.indices.base)
        facts = scaling.facts_of(examples.inputs[:, : self.features])
        return scaling.uneven(facts.largest, names, scaling.BY_DATA)

    def training_warnings(self, examples: LabelledRows, predictions: Predictions) -> list[str]:
        """A warning if all training examples got the same label although there are several."""
        given = self.options.class_costs
        return [
            *collapse(predictions.labels, examples.labels, self.classes, given),
            *self.indices.warnings(),
            *self.scaler.warnings(examples),
        ]

    def _search(self, w: np.ndarray, examples: LabelledRows, summed: bool) -> Any:
        return _multiclass.search(
            examples.rows,
            examples.labels,
            examples.costs,
            np.ascontiguousarray(w, dtype=np.float64),
            self._arrays,
            summed,
        )

    def _check_known(self, examples: LabelledRows) -> None:
        if not examples.labelled and not examples.known.all():
            unknown = np.flatnonzero(~examples.known)
            raise examples.error(int(unknown[0]), "no label ('?'); expected one for training")
        unseen = np.flatnonzero(examples.labels >= len(self.classes))
        if len(unseen):
            name = examples.label_names[examples.labels[unseen[0]]]
            message = f"label {name!r} is not a label of the model; expected one of its labels"
            raise examples.error(int(unseen[0]), message)
