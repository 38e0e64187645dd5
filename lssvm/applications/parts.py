"""Prediction in parts, so that its memory does not grow with the size of the files."""

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
        """The part of labelled examples and predictions that ``score`` needs, in little memory."""

    @abstractmethod
    def joined(self, parts: Sequence[tuple[E, P]]) -> tuple[E, P]:
        """The results of :meth:`kept`, at least one, joined in order.

        They are scored if the examples are ``labelled``.
        """


def headed(whole: Form, rest: Form) -> Form:
    """A :meth:`InParts.part_writer`: ``whole`` writes the first part, ``rest`` all others."""
    forms = chain([whole], repeat(rest))

    def write(examples: Any, predictions: Any, file: TextIO) -> None:
        next(forms)(examples, predictions, file)

    return write
