"""Prediction in parts, so that its memory does not grow with the size of the files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic

from lssvm.applications.prediction import P
from lssvm.applications.reading import Source
from lssvm.problem import E


class InParts(ABC, Generic[E, P]):
    """An application whose examples can be predicted and written in parts.

    Of a part that was written only what scores need is kept, labels and not features. Scores are
    those of all parts at once.
    """

    # Formats that cannot be written in parts: all examples are read for them.
    whole_formats: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def read_parts(self, sources: Sequence[Source]) -> Iterator[E]:
        """The examples of the sources in order, in parts, one at least. Raises DataError.

        For an application that was trained, or restored from a model.
        """

    @abstractmethod
    def kept(self, examples: E, predictions: P) -> tuple[E, P]:
        """The part of labelled examples and predictions that ``score`` needs, in little memory."""

    @abstractmethod
    def joined(self, parts: Sequence[tuple[E, P]]) -> tuple[E, P]:
        """The results of :meth:`kept`, at least one, joined in order."""
