"""Prediction in parts, so that the memory it needs does not grow with the size of the files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic

from lssvm.applications.prediction import P
from lssvm.applications.reading import Source
from lssvm.problem import E


class InParts(ABC, Generic[E, P]):
    """An application whose examples can be predicted and written in parts.

    After a part was written, only what the scores need of it is kept: labels, but not features.
    The scores are computed at the end from all parts together.
    """

    # Formats that cannot be written in parts: if one is asked for, all examples are read at once.
    whole_formats: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def read_parts(self, sources: Sequence[Source]) -> Iterator[E]:
        """Yield the examples of the sources in order, in at least one part. Raises DataError.

        The application must have been trained, or restored from a model.
        """

    @abstractmethod
    def kept(self, examples: E, predictions: P) -> tuple[E, P]:
        """What ``score`` needs of labelled examples and their predictions, in little memory."""

    @abstractmethod
    def joined(self, parts: Sequence[tuple[E, P]]) -> tuple[E, P]:
        """One or more results of :meth:`kept`, joined in their order."""
