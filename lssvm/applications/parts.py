"""Prediction in parts, so that the memory it needs does not grow with the size of the files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar, Generic, TextIO

from lssvm.applications.prediction import P
from lssvm.applications.reading import Source, labelled_part
from lssvm.problem import E

Form = Callable[[Any, Any, TextIO], None]  # writes predictions for examples to a file


class InParts(ABC, Generic[E, P]):
    """An application whose examples can be predicted and written in parts.

    After a part was written, only what the scores need of it is kept: counts or labels, but not
    features.
    The scores are computed at the end from all parts together.
    """

    # Formats that cannot be written in parts: if one is asked for, all examples are read at once.
    whole_formats: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def read_parts(self, sources: Sequence[Source]) -> Iterator[E]:
        """Yield the examples of the sources in order, in at least one part. Raises DataError.

        The application must have been trained, or restored from a model.
        """

    def part_writer(self, name: str) -> Form | None:
        """A new function that writes all parts of a file, one after another; None: the format's.

        name : of one of the application's formats
        Overridden where a part that is not the first is written in another way, without a header.
        """
        return None

    def to_score(self, examples: E) -> E | None:
        """The examples of a part that are scored; None if there are none."""
        return labelled_part(examples)

    @abstractmethod
    def kept(self, examples: E, predictions: P) -> tuple[E, P]:
        """What ``score`` needs of labelled examples and their predictions, in little memory."""

    @abstractmethod
    def joined(self, parts: Sequence[tuple[E, P]]) -> tuple[E, P]:
        """One or more results of :meth:`kept`, joined in their order.

        They are scored if the examples are ``labelled``.
        """


def headed(whole: Form, rest: Form) -> Form:
    """A :meth:`InParts.part_writer`: ``whole`` writes the first part, ``rest`` all others."""
    forms = chain([whole], repeat(rest))

    def write(examples: Any, predictions: Any, file: TextIO) -> None:
        next(forms)(examples, predictions, file)

    return write
