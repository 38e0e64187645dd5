"""Reading of files apart, wherever they lie, so that no process has to hold all examples.

Reading has two steps then. Every file says what it teaches, such as labels and attributes with
their counts; all of that, merged in the order of the files, becomes the state of the application.
With this knowledge the files are packed, each alone or with its neighbours. State and examples are
those of reading all files in order.

The examples of neighbouring files are a share: what is cut into blocks, and what lives in one
place. Where shares begin depends on the numbers of examples of the files alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from lssvm.applications.reading import Source
from lssvm.plane import Plane
from lssvm.problem import ConvexProblem, E

MOST_SHARES = 64  # each has blocks, and so sums of the length of w, of its own


class Taught(NamedTuple):
    """What a file teaches.

    examples : how many; facts : plain values and arrays that the application understands
    kept : what the second step can take in the place of the file; it stays where that was read
    """

    examples: int
    facts: Any
    kept: Any = None


class Ask(Protocol):
    """Calls a method of an application with the examples of every share, wherever these are.

    count : of shares
    """

    count: int

    def __call__(
        self, method: str, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """The answers of all shares in their order. each : a further argument for every share"""
        ...


class Here:
    """An ``Ask`` of examples that are in this process."""

    def __init__(self, application: Any, examples: Any, whole: bool = False) -> None:
        """whole : take all examples as one share"""
        self._application = application
        parts = [] if whole else slices(examples)
        self._parts = parts if len(parts) > 1 else [examples]
        self.count = len(self._parts)

    def __call__(
        self, method: str, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """The answers of all shares in their order."""
        answer = getattr(self._application, method)
        further = [()] * self.count if each is None else [(own,) for own in each]
        pairs = zip(self._parts, further, strict=True)
        return [answer(part, *arguments, *own) for part, own in pairs]


class ReadsApart(ABC, Generic[E]):
    """An application that can read every file for itself.

    Its examples have ``files``, (n,) int, which file each of them is from.
    """

    def why_together(self) -> str:
        """What in the options needs all files in one place; empty if nothing does."""
        return ""

    @abstractmethod
    def taught(self, source: Source) -> Taught:
        """The first step, for one file, before anything is learnt. Raises DataError."""

    @abstractmethod
    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> Any:
        """Learn what all files teach, in their order: the ``state`` is that of ``read`` then.

        Returns the plan: what the second step needs beside the state, plain values and arrays.
        Raises DataError as ``read`` would.
        """

    @abstractmethod
    def read_share(self, sources: Sequence[Source], plan: Any, before: int) -> E:
        """The second step, for neighbouring files: what training takes of them, packed.

        before : the number of examples in the files before them
        """

    def share_of(self, kept: Sequence[Any], sources: Sequence[Source], plan: Any, before: int) -> E:
        """The share of :meth:`read_share`, for those whose first step keeps what it read.

        kept : of each file; None where that is not here
        """
        return self.read_share(sources, plan, before)

    def files_of(self, source: Source) -> Sequence[Source]:
        """The files of a source, which is one itself unless folders can be read."""
        return [source]

    def start_apart(
        self, ask: Ask, rng: np.random.Generator
    ) -> "list[Plane] | ConvexProblem[Any] | np.ndarray":
        """The parts of ``start`` that belong to the shares; by default each tells its own.

        Or the problem whose solution is the first w, which is the ``first_problem`` then, or the
        first w itself.
        """
        return ask("start_of_share")

    def first_problem(self) -> "ConvexProblem[E] | None":
        """The problem without hidden values whose solution is the first w; None by default."""
        return None

    def start_of_share(self, examples: E) -> Plane:
        """The start of a share, which draws nothing at random."""
        return self.start(examples, np.random.default_rng(0))

    def start_of_first(self, examples: E) -> Plane:
        """The start of the ``first_problem`` for a share."""
        first = self.first_problem()
        if first is None:
            raise ValueError("there is no first problem")
        return first.start(examples, np.random.default_rng(0))

    @abstractmethod
    def start(self, examples: E, rng: np.random.Generator) -> Any:
        """As that of a ``Problem``."""

    def summary_apart(self, ask: Ask, w: np.ndarray) -> dict[str, np.ndarray]:
        """As ``summary``, of examples in shares; nothing by default."""
        return {}

    def largest_of(self, examples: E) -> np.ndarray:
        """The largest absolute value of each feature, for ``scale_warnings_of``; none by default.

        A kind of features that no other example has counts as 0.
        """
        return np.empty(0)

    def scale_warnings_of(self, largest: np.ndarray) -> list[str]:
        """As ``scale_warnings``. largest : the maxima of ``largest_of`` over all shares"""
        return []


class LearnsNothing(ReadsApart[E]):
    """An application that learns no names from its data: the first step counts examples."""

    @abstractmethod
    def read(self, sources: Sequence[Source]) -> E:
        """As that of a ``Reader``."""

    @abstractmethod
    def for_training(self, examples: E) -> E:
        """As that of a ``Reader``; here it looks at every example alone."""

    def taught(self, source: Source) -> Taught:
        """The number of examples."""
        return Taught(len(self.for_training(self.read([source]))), None)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> None:
        """Nothing."""

    def read_share(self, sources: Sequence[Source], plan: None, before: int) -> E:
        """The examples of neighbouring files."""
        return self.for_training(self.read(sources))


def shares(counts: Sequence[int]) -> list[int]:
    """The first file of each share, and the number of files: shares are whole files in order.

    counts : the number of examples of each file

    Every share has at least 1 / 64 of all examples, so that many small files are few shares.
    """
    total, size, starts = sum(counts), 0, [0]
    for number, count in enumerate(counts, 1):
        size += count
        if size * MOST_SHARES >= total:
            starts.append(number)
            size = 0
    if starts[-1] != len(counts):
        starts[max(1, len(starts) - 1) :] = [len(counts)]
    return starts


def share_edges(files: np.ndarray) -> np.ndarray:
    """Where the shares of examples begin, and their number, (shares + 1,) int64.

    files : (n,) which file each example is from
    """
    begins = np.flatnonzero(np.diff(files, prepend=-1))
    edges = np.append(begins, len(files))
    return edges[shares(np.diff(edges).tolist())] if len(files) else np.zeros(2, dtype=np.int64)


def slices(examples: Any) -> list[Any]:
    """The shares of examples, which are one if these say nothing of shares."""
    edges = getattr(examples, "shares", (0, len(examples)))
    return [examples.slice(int(a), int(b)) for a, b in pairwise(edges)]
