"""Classes in a taxonomy (Tsochantaridis et al., ICML 2004, sections 4.1 and 4.2).

With ``features: tree`` the score of a class also uses the weights of its ancestors, without the
root, which classes share: Λ(y) is 1 at y and at each of these ancestors. With ``features: flat``
each class has only its own weights. With ``loss: tree`` a mistake costs the height of the first
common ancestor of the true and the predicted class (see ``class_tree``). Classes are the labels
that occur in training; they may be inner nodes.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from lssvm.applications import base
from lssvm.applications.multiclass.class_tree import ClassTree, WeightColumns
from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.multiclass.row_classifier import RowClassifier, RowOptions
from lssvm.applications.multiclass.row_predictions import Predictions, share
from lssvm.errors import DataError, LssvmError
from lssvm.formats.taxonomy_file import below_itself, read_taxonomy

PATHS = "paths"


class TaxonomyOptions(RowOptions):
    """The tree, and how it is used."""

    name: Literal["taxonomy"] = Field(
        default="taxonomy", description="one class of a tree of classes for each row of features"
    )
    taxonomy: str | dict[str, str] = Field(
        default=PATHS,
        description="paths: labels such as a/b/c name the nodes above them; or the name of a file "
        "with lines 'child parent' (the model keeps the tree)",
    )
    features: Literal["tree", "flat"] = Field(
        default="tree",
        description="tree: the score of a class also uses the weights of all nodes above it; "
        "flat: only its own weights",
    )
    loss: Literal["tree", "zero_one"] = Field(
        default="tree",
        description="tree: height of the first common ancestor; zero_one: 1 for every mistake",
    )

    @field_validator("taxonomy")
    @classmethod
    def _read(cls, value: str | dict[str, str], info: ValidationInfo) -> str | dict[str, str]:
        """Replace the name of a file by the tree in it."""
        if isinstance(value, dict):
            looped = below_itself(value)
            if looped is not None:
                raise ValueError(f"{looped!r} is below itself; expected a tree")
            if not value:
                raise ValueError("no nodes; expected the parent of each node")
            ClassTree(value)
            return value
        if value == PATHS:
            return value
        try:
            return read_taxonomy(base.named_file(value, info))
        except DataError as error:
            raise ValueError(str(error)) from None


class Taxonomy(RowClassifier):
    """One of K classes of a tree."""

    Options = TaxonomyOptions

    def __init__(self, options: Any, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation)
        try:
            self._given = None if options.taxonomy == PATHS else ClassTree(options.taxonomy)
        except ValueError as error:
            raise LssvmError(f"application.taxonomy: {error}") from None

    def tree(self, classes: Sequence[str]) -> ClassTree:
        """The given tree, or the tree of the paths of the classes."""
        return self._given or ClassTree(None, classes)

    def columns_of(self, classes: Sequence[str]) -> WeightColumns:
        """A column for each node at or above a class, or for each class."""
        tree = self.tree(classes)
        for label in classes:
            tree.steps(label)
        return WeightColumns(classes, tree if self.options.features == "tree" else None)

    def losses_of(self, truths: Sequence[str], classes: Sequence[str]) -> np.ndarray:
        """Heights of first common ancestors, or 0 and 1."""
        heights = self.heights(truths, classes)
        return heights if self.options.loss == "tree" else (heights > 0).astype(np.float64)

    def heights(self, truths: Sequence[str], classes: Sequence[str]) -> np.ndarray:
        """Heights of first common ancestors in the tree of the classes, (truths, classes)."""
        return self.tree(classes).losses(truths, classes)

    def score(self, examples: LabelledRows, predictions: Predictions) -> dict[str, float | None]:
        """accuracy and error in percent, tree_loss (the mean height) and loss (the mean of Δ).

        ``unseen_labels`` counts examples of labels that training does not have.
        """
        count = len(examples)
        heights = self.heights(examples.label_names, self.classes)
        right = int(np.count_nonzero(examples.labels == predictions.labels))
        tree_losses = heights[examples.labels, predictions.labels]
        losses = self.losses_to(examples, predictions)
        return {
            "accuracy": share(right, count),
            "tree_loss": float(tree_losses.mean()) if count else None,
            "error": share(count - right, count),
            "loss": float(losses.mean()) if count else None,
            "examples": count,
            "unseen_labels": int(np.count_nonzero(examples.labels >= len(self.classes))),
        }
