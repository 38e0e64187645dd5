"""The plane sums of a data set, computed serially or by threads: the same bytes either way.

The examples are cut into blocks once, by their work alone. However many threads there
are, each takes whole blocks, and the sums of the blocks are added by a fixed tree, see ``tree``.
"""

import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, NoReturn, Protocol, cast

import numpy as np

from lssvm.errors import ApplicationError, LssvmError
from lssvm.executor import Executor
from lssvm.oracle.answers import INEXACT, Answers, named
from lssvm.oracle.block_sums import BlockSums, Summing
from lssvm.oracle.example_maxima import ExampleMaxima
from lssvm.oracle.tree import Node, TreeSum
from lssvm.plane import Plane
from lssvm.problem import (
    CompiledByExample,
    Continuing,
    E,
    ExampleOracle,
    Gathering,
    Maxima,
    Problem,
    answers_in_c,
    by_example,
    sums_in_c,
    why_not_finite,
)
from lssvm.smoothing import Smoothed, Smoothing, added

# Blocks of so much work at least (a unit is about a nanosecond), and at most so many of them. A
# block costs 20 to 130 µs, so short passes have few; a plane costs its coordinates, so only passes
# of seconds have more blocks than one machine has cores.
BLOCK_RULES = ((250_000, 16), (2_000_000, 64), (100_000_000, 4096))
SPREAD = 8  # pieces of a part of the data at most, each of so much work at least
PIECE = 1_000_000
LOOKS = 16  # examples that are looked at alone where a convex problem ends
MAXIMUM = "return the maximiser, or a finite upper bound"


class Oracle(Protocol):
    """What a solver knows of the data: planes of Σ c_i U⁺_i and Σ c_i U⁻_i."""

    @property
    def seconds(self) -> float:
        """Time spent in inference so far."""
        ...

    def augmented(self, w: np.ndarray) -> tuple[Plane, float]:
        """A plane of Σ c_i U⁺_i and an upper bound of the sum at w; one oracle pass."""
        ...

    def completed(self, w: np.ndarray) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""
        ...

    def curvature(self, w: np.ndarray) -> np.ndarray | None:
        """An approximate diagonal of the Hessian of Σ c_i U⁺_i at w, (d,); None if not known.

        w : of the last pass, after which it is asked for once
        """
        ...

    def look(self, w: np.ndarray) -> None:
        """Stop the run if loss-augmented inference is wrong for one of a few examples."""
        ...

    def refuse(self, w: np.ndarray, found: str) -> None:
        """Stop the run: loss-augmented inference at w cannot be right, as ``found`` says."""
        ...


class PartsOracle(Oracle, Protocol):
    """An oracle that can be asked about some of the examples."""

    def parts(self, size: int) -> "Sequence[Oracle]":
        """Oracles of about ``size`` examples each, together of all examples."""
        ...


class EachOracle(Oracle, Protocol):
    """An oracle that also tells the examples apart."""

    @property
    def costs(self) -> np.ndarray:
        """c_i, (n,)."""
        ...

    def augmented_each(self, w: np.ndarray) -> "ExampleMaxima":
        """Loss-augmented inference for every example; one oracle pass."""
        ...

    def augmented_rows(self, w: np.ndarray, start: int, stop: int) -> "ExampleMaxima":
        """Loss-augmented inference for examples start..stop-1."""
        ...

    def augmented_chosen(self, w: np.ndarray, rows: np.ndarray) -> "ExampleMaxima":
        """The same for the examples ``rows``, in this order."""
        ...

    def completed_each(self, w: np.ndarray) -> "ExampleMaxima":
        """Latent completion for every example."""
        ...


def blocks(
    examples: E, work: np.ndarray | None = None, shares: Sequence[int] | None = None
) -> list[E]:
    """Contiguous blocks of about equal work, their number fixed by data and model alone.

    work : (n,) of ``Problem.work``; by default the sizes of the examples
    shares : where each share of the examples begins, and the end; no block has examples of two
        shares; by default all examples are one share

    Examples may say how many of them a kernel works on ``together``: blocks are multiples of it.
    """
    total = np.cumsum(examples.sizes if work is None else work)
    count = max(min(int(total[-1] // least), most) for least, most in BLOCK_RULES)
    count += count % 2 if count > 1 else 0  # for two threads to have as many each
    edges = {0}
    for first, last in itertools.pairwise((0, len(examples)) if shares is None else shares):
        whole = last - first == len(examples)
        together = getattr(examples if whole else examples.slice(first, last), "together", 1)
        before = total[first - 1] if first else 0
        own = total[first:last] - before
        part = count if whole else round(count * own[-1] / total[-1])
        edges.update(first + edge for edge in _cuts(own, int(part), together))
    # np.unique would import NumPy's masked arrays, which takes longer than a short run.
    return [examples.slice(a, b) for a, b in itertools.pairwise(sorted(edges))]


def _cuts(work: np.ndarray, count: int, together: int) -> list[int]:
    """The ends of blocks, about ``count``. work : (n,) of the examples so far"""
    n = len(work)
    count = max(1, min(count, n // together))
    marks = np.searchsorted(work, work[-1] * np.arange(1, count) / count, side="left") + 1
    return [*np.minimum(-(-marks // together) * together, n).tolist(), n]


class DataOracle(Generic[E]):
    """The oracle of an application on a data set, counted and timed.

    passes : loss-augmented inference over the whole data set
    completions : latent completion over the whole data set
    seconds : time spent in both
    whole : the oracle that this one is a part of; its time counts there too
    summing : makes what adds up the answers about blocks, wherever these are
    shares : where each share of the examples begins, and the end, as in :func:`blocks`; by default
        those of the examples, if they have any
    pieces : first and last of the examples that belong to it, if these do not follow each other
    """

    def __init__(
        self,
        application: Problem[E],
        examples: E,
        executor: Executor,
        whole: "DataOracle[E] | None" = None,
        summing: Summing = BlockSums,
        shares: Sequence[int] | None = None,
        pieces: "Sequence[tuple[int, int]] | None" = None,
    ) -> None:
        self.application = application
        self.examples = examples
        self.executor = executor
        self.whole = whole
        found = getattr(examples, "shares", (0, len(examples))) if shares is None else shares
        self._shares = [int(edge) for edge in found]
        self._pieces = pieces
        self.blocks, self._work = [examples], 0.0
        if application.decomposes and pieces is None:
            work = application.work(examples)
            self.blocks, self._work = blocks(examples, work, self._shares), float(np.sum(work))
        elif pieces is not None:
            self.blocks = [block for piece in pieces for block in self._cut(*piece)]
        # A part of the data has only a few passes, too few to pay for its columns.
        self._gathering: Gathering[E] | None = None
        if whole is None and isinstance(application, Gathering) and sums_in_c(type(application)):
            self._gathering = application if application.gathers(examples) else None
        self._answers = Answers(application)
        self._summing = summing
        self._sums = summing(self._answers, self.blocks, executor)
        self._last: list[Any] = []
        self.passes = 0.0
        self.completions = 0
        self.seconds = 0.0

    def parts(self, size: int) -> "list[DataOracle[E]]":
        """Oracles of about ``size`` examples each, together of all examples.

        The examples of a part follow each other, or they are pieces of several shares that do.
        """
        n = len(self.examples)
        if size >= n:
            return [self]
        count = -(-n // size)
        groups = self._groups(self._work / count, count)
        if len(groups) == 1:
            return [self._part(k, min(k + size, n)) for k in range(0, n, size)]
        return [
            DataOracle(
                *(self.application, self.examples, self.executor, self, self._summing),
                shares=self._shares,
                pieces=[
                    (a + (b - a) * part // count, a + (b - a) * (part + 1) // count)
                    for a, b in groups
                ],
            )
            for part in range(count)
        ]

    def _groups(self, work: float, parts: int) -> list[tuple[int, int]]:
        """Where the examples are that each part has some of: neighbouring shares.

        work : of a part. Several groups, which may be in several places, if each has enough of it
        parts : how many there are; a group has an example for each of them
        """
        shares = len(self._shares) - 1
        for count in range(min(shares, SPREAD, int(work // PIECE)), 1, -1):
            edges = [self._shares[shares * k // count] for k in range(count + 1)]
            if np.diff(edges).min() >= parts:
                return list(itertools.pairwise(edges))
        return [(0, len(self.examples))]

    def _cut(self, first: int, last: int) -> list[E]:
        """Blocks of some of the examples."""
        own = self.examples.slice(first, last)
        return blocks(own, self.application.work(own), self._inside(first, last))

    def _inside(self, first: int, last: int) -> list[int]:
        """Where shares begin among some of the examples, and the end."""
        inner = [edge - first for edge in self._shares if first < edge < last]
        return [0, *inner, last - first]

    def _part(self, first: int, last: int) -> "DataOracle[E]":
        own, edges = self.examples.slice(first, last), self._inside(first, last)
        return DataOracle(self.application, own, self.executor, self, self._summing, edges)

    def augmented(self, w: np.ndarray) -> tuple[Plane, float]:
        """Σ c_i U⁺_i: a plane and an upper bound at w.

        Raises LssvmError if it is not finite, ApplicationError if it cannot be right.
        """
        return self.augmented_from(w, None)[:2]

    @property
    def carried_shape(self) -> tuple[int, ...] | None:
        """The shape of what one pass hands on to the next; None if there is nothing."""
        application = self.application
        if isinstance(application, Continuing) and application.continues(self.examples):
            return application.carried_shape(self.examples)
        return None

    def augmented_from(
        self, w: np.ndarray, carried: np.ndarray | None
    ) -> tuple[Plane, float, np.ndarray | None]:
        """As ``augmented``, and what the next pass may begin with: see ``problem.Continuing``.

        carried : from the last pass, None in the first one and where nothing is carried
        """
        began = time.perf_counter()
        if self.carried_shape is not None:
            problem, each = cast(Continuing[E], self.application), self.executor.map
            plane, upper, carried = problem.augmented_from(w, self.examples, carried, each)
            slack = self._answers.slack(plane, upper, w, self.examples)
        elif self._gathering is None:
            plane, slack = self._sums.total("augmented", w)
        else:
            plane, slack = self._gathered(w)
        self._check(plane, w, lambda block: self.application.augmented(w, block)[0])
        self.passes += 1
        self._spend(began)
        return plane, plane.value(w) + slack, carried

    def _gathered(self, w: np.ndarray) -> tuple[Plane, float]:
        """The plane and its slack from one sum over all examples, or one over each share."""
        gathering, found = cast(Gathering[E], self._gathering), TreeSum()
        self._last = []  # goes before room for the next is taken
        parts = deque(self._sums.each("coefficients", w))
        for number, (share, count) in enumerate(self._apart):
            own = [parts.popleft() for _ in range(count)]
            plane, upper = gathering.gathered(w, share, own, self.executor.map)
            found.add(Node(0, number, plane, self._answers.slack(plane, upper, w, share)))
            self._last.append(own)
        return found.total()

    @cached_property
    def _apart(self) -> list[tuple[E, int]]:
        """The examples of each share, and the number of its blocks."""
        if len(self._shares) == 2:
            return [(self.examples, len(self.blocks))]
        ends = np.cumsum([len(block) for block in self.blocks])
        counts = np.diff(np.searchsorted(ends, self._shares, side="right"))
        pairs = zip(itertools.pairwise(self._shares), counts.tolist(), strict=True)
        return [(self.examples.slice(*edges), count) for edges, count in pairs]

    def smoothed(self, w: np.ndarray, width: float) -> Smoothing:
        """The same smoothed, for an application that is ``Smoothed``."""
        began, problem = time.perf_counter(), cast(Smoothed[E], self.application)
        so_far: list[Smoothing] = []

        def take(part: Smoothing) -> None:
            so_far[:] = [added([*so_far, part])]

        self.executor.in_order(lambda own: problem.smoothed(w, own, width), self.blocks, take)
        (found,) = so_far
        self._check(found.plane, w, lambda own: self.application.augmented(w, own)[0])
        self.passes += 1
        self._spend(began)
        return found

    def curvature(self, w: np.ndarray) -> np.ndarray | None:
        """An approximate diagonal of the Hessian of Σ c_i U⁺_i at the w of the last pass, (d,).

        w : of the last pass, after which it is asked for once. Returns None if it is not known.
        """
        began = time.perf_counter()
        if self._gathering is None:
            return self._sums.curvature(w)
        last, self._last = self._last, []
        found: np.ndarray | None = None
        for (share, _), parts in zip(self._apart, last, strict=True):
            own = self._gathering.curvature(w, share, parts, self.executor.map)
            found = own if found is None or own is None else found + own
        self._spend(began)
        return found

    def completed(self, w: np.ndarray) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""
        began = time.perf_counter()
        plane, _ = self._sums.total("completed", w)
        self._check(plane, w, lambda block: self.application.completed(w, block))
        self.completions += 1
        self._spend(began)
        return plane

    def refuse(self, w: np.ndarray, found: str) -> NoReturn:
        """Loss-augmented inference at w cannot be right, as ``found`` says.

        Raises ApplicationError, with the name of an example whose true output has more, if there
        is one when it is asked again.
        """
        application = self.application
        if application.decomposes:
            row, value, truth = self._least(w)
            if truth - value > INEXACT * (abs(truth) + abs(value)):
                raise self._below(row, value, truth)
        raise ApplicationError(f"{named(application)}{found}; {MAXIMUM}")

    def look(self, w: np.ndarray) -> None:
        """Compare a few examples with their true outputs, each alone: in a sum over all of them
        one may hide behind the others. Raises ApplicationError."""
        if not self.application.decomposes:
            return
        for row in sorted(set(np.linspace(0, len(self.examples) - 1, LOOKS).astype(int).tolist())):
            part = self.examples.slice(row, row + 1)
            # Planes may be long, and there is one of them at a time.
            truth = self.application.completed(w, part).value(w)
            upper = self.application.augmented(w, part)[1]
            if truth > upper:
                size = self.application.augmented(w, part)[0].size(w)
                size += self.application.completed(w, part).size(w)
                if truth - upper > INEXACT * size:
                    raise self._below(row, upper, truth)

    def _below(self, row: int, value: float, truth: float) -> ApplicationError:
        name = str(self.examples.names[row])
        return ApplicationError(
            f"{named(self.application)}example {name!r}: loss-augmented inference is not a "
            f"maximum: its value {value:.6g} is below the true output's {truth:.6g}; {MAXIMUM}"
        )

    def _least(self, w: np.ndarray) -> tuple[int, float, float]:
        """The example that is found by halving where U⁺ exceeds U⁻ least, and both of it."""
        first, last = 0, len(self.examples)
        while True:
            found = []
            middle = (first + last) // 2
            for a, b in ((first, middle), (middle, last)) if last - first > 1 else ((first, last),):
                part = self.examples.slice(a, b)
                upper = self.application.augmented(w, part)[1]
                found.append((a, b, upper, self.application.completed(w, part).value(w)))
            first, last, value, truth = min(found, key=lambda each: each[2] - each[3])
            if last - first == 1:
                return first, value, truth

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the application says of its inference since the last call."""
        return self._sums.not_converged()

    @property
    def costs(self) -> np.ndarray:
        """c_i, (n,)."""
        if self._pieces is not None:
            return np.concatenate([block.costs for block in self.blocks])
        return self.examples.costs

    def augmented_each(self, w: np.ndarray) -> ExampleMaxima:
        """Loss-augmented inference for every example. Raises LssvmError if not finite."""
        self.passes += 1
        return self._each(by_example(self.application).augmented_each, w, self.blocks)

    def augmented_rows(self, w: np.ndarray, start: int, stop: int) -> ExampleMaxima:
        """Loss-augmented inference for examples start..stop-1, a part of a pass."""
        self.passes += (stop - start) / len(self.examples)
        block = self.examples.slice(start, stop)
        return self._each(by_example(self.application).augmented_each, w, [block])

    def augmented_chosen(self, w: np.ndarray, rows: np.ndarray) -> ExampleMaxima:
        """Loss-augmented inference for the examples ``rows``, in this order, a part of a pass."""
        self.passes += len(rows) / len(self.examples)
        chosen = self.examples.take(rows)
        parts = blocks(chosen, self.application.work(chosen))
        return self._each(by_example(self.application).augmented_each, w, parts)

    def completed_each(self, w: np.ndarray) -> ExampleMaxima:
        """Latent completion for every example."""
        self.completions += 1
        return self._each(by_example(self.application).completed_each, w, self.blocks)

    @cached_property
    def compiled(self) -> ExampleOracle:
        """Inference by example in C. Raises LssvmError if the application has none."""
        application = self.application
        if not isinstance(application, CompiledByExample) or not answers_in_c(type(application)):
            raise LssvmError(f"{named(self.application)}there is no compiled inference by example")
        return application.example_oracle(self.examples)

    def visited(self, count: int) -> None:
        """Count loss-augmented inference for so many examples."""
        self.passes += count / len(self.examples)

    def over_examples(self, function: Callable[[int, int], None], passes: float = 1.0) -> None:
        """function(first, last) for blocks of examples by the threads: so many passes."""
        began = time.perf_counter()
        ends = itertools.pairwise(np.cumsum([0, *map(len, self.blocks)]).tolist())
        self.executor.map(lambda edge: function(*edge), list(ends))
        self.passes += passes
        self._spend(began)

    def found(self, maxima: Maxima) -> ExampleMaxima:
        """What the application found for all examples at once."""
        return ExampleMaxima(by_example(self.application), [self.examples], [maxima])

    def _each(
        self, inference: Callable[[np.ndarray, E], Maxima], w: np.ndarray, blocks: Sequence[E]
    ) -> ExampleMaxima:
        began = time.perf_counter()
        w = np.ascontiguousarray(w)
        parts = self.executor.map(
            lambda block: self._answers.fitting(inference(w, block), block), blocks
        )
        found = ExampleMaxima(by_example(self.application), blocks, parts)
        bad = np.flatnonzero(~np.isfinite(found.values))
        if len(bad):
            raise LssvmError(f"example {found.name(int(bad[0]))!r}: its score is not finite")
        self._spend(began)
        return found

    def begin(self, plane: Plane) -> None:
        """Check a first completion. Raises ApplicationError if it cannot be one."""
        size = self.application.dimension(self.examples)
        self._answers.check_completion(plane, np.zeros(size), self.examples, "start")

    def _spend(self, began: float) -> None:
        spent = time.perf_counter() - began
        self.seconds += spent
        if self.whole is not None:
            self.whole.seconds += spent

    def _check(self, plane: Plane, w: np.ndarray, inference: Callable[[E], Plane]) -> None:
        """Stop at the first NaN or infinity, with the names of the example and the feature."""
        # A product with infinity or NaN is neither finite nor 0, so that one sum shows them all.
        if np.isfinite(plane.loss) and np.isfinite(plane.value(w)):
            return
        names = self.application.feature_names()
        raise LssvmError(why_not_finite(names, w, self.examples, inference))
