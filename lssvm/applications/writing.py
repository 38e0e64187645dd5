"""Writing of predictions, and of parts of a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TextIO

import numpy as np

from lssvm.applications.prediction import P
from lssvm.checked import known
from lssvm.problem import E

JSON = "json"  # the name of that format, beside an application's own

# Writes a model's weights and summary arrays to a path.
Export = Callable[[np.ndarray, Mapping[str, np.ndarray], Any], None]

# Draws a curve of the scores of labelled examples and their predictions to a path.
Curve = Callable[[Any, Any, Any], None]


@dataclass(frozen=True)
class FolderFormat:
    """Predictions as a folder of files, which may be written in parts.

    marks : what the files of these examples are named by, little for each; raises LssvmError for
        examples that cannot be written in this format
    names : of all files, for all marks, each a path below the folder, all different; raises
        LssvmError where there are none
    contents : of the files, in that order, for examples and predictions
    """

    marks: Callable[[Any], Sequence[Any]]
    names: Callable[[Sequence[Any]], Sequence[str]]
    contents: Callable[[Any, Any], Iterator[bytes]]


def numbered_files(ending: str, contents: Callable[[Any, Any], Iterator[bytes]]) -> FolderFormat:
    """A file for each example, named 1 and so on with the ending, in their order."""

    def names(marks: Sequence[Any]) -> list[str]:
        return [f"{number}{ending}" for number in range(1, len(marks) + 1)]

    return FolderFormat(lambda examples: range(len(examples)), names, contents)


class Writer(ABC, Generic[E, P]):
    """Predictions and models as files, and in words."""

    @abstractmethod
    def write(self, examples: E, predictions: P, file: TextIO) -> None:
        """Write predictions in the field's own format."""

    @abstractmethod
    def records(self, examples: E, predictions: P) -> Iterator[dict[str, Any]]:
        """One dictionary per example: id, y, h, score and, if known, gold and loss."""

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """The formats of predictions by name: functions like ``write``, which is the first one."""
        return {"default": self.write}

    @property
    def folder_formats(self) -> Mapping[str, FolderFormat]:
        """Further formats of predictions, by other names: several files in a folder."""
        return {}

    @property
    def curve(self) -> Curve | None:
        """What draws the curve of ``lssvm-classify --curve``; by default there is none."""
        return None

    def output_warnings(self, examples: E, name: str) -> list[str]:
        """Warnings about predictions for examples, one sentence each.

        name : of the format that they are written in, or :data:`JSON`
        """
        return []

    def summary(self, w: np.ndarray, examples: E) -> dict[str, np.ndarray]:
        """Arrays from the training data that the model keeps besides w (none by default)."""
        return {}

    def check_summary(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        """Check the restored weights of a model and its arrays from :meth:`summary`.

        Raises ModelError. By default there are no arrays, unless ``summary`` returns some.
        """
        if type(self).summary is Writer.summary:
            known(arrays)

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """A summary of a model for people, by name (nothing by default).

        arrays : those of :meth:`summary`
        """
        return {}

    @property
    def exports(self) -> Mapping[str, Export]:
        """The formats in which ``lssvm show`` can export a model, by name."""
        return {}
