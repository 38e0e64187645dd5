"""Examples that live on workers, which have read them, as the driver knows them.

The driver keeps the costs and sizes of the examples, and asks the workers for all else.
"""

from bisect import bisect_right
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from lssvm.applications.equal_features import Merged
from lssvm.applications.feature_space import Linear, Space, Training, fewer_of
from lssvm.applications.names import LazyNames
from lssvm.applications.occurring import Occurring
from lssvm.errors import LssvmError
from lssvm.oracle.tree import TreeSum, total_of
from lssvm.plane import Plane
from lssvm.problem import FirstProblem, Problem, RowSums
from lssvm.training.distributed.held import Found, Reading, ShareOffer, Sized, Span
from lssvm.training.distributed.portions import Readers, sent, whole
from lssvm.training.whereabouts import Ended, Offer, Whereabouts

if TYPE_CHECKING:
    from lssvm.training.distributed.cluster import Worker
    from lssvm.training.distributed.crew import Crew


@dataclass(frozen=True, eq=False)
class Spread:
    """Examples first..last-1 of those of all shares.

    at : where they are; costs, sizes, work : (n,); edges : where each share begins in all of them
    prints : the fingerprints of all shares; labelled : whether all examples have true outputs
    """

    at: "AtWorkers"
    costs: np.ndarray
    sizes: np.ndarray
    work: np.ndarray
    edges: tuple[int, ...]
    prints: tuple[str, ...]
    labelled: bool
    first: int
    last: int

    @property
    def together(self) -> int:
        """How many examples of one share a kernel works on at a time, as their worker says."""
        if not self.at.together:
            return 1
        ((share, first, last),) = self.spans
        return self.at.of_shares("together", [share], first, last)[0]

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def names(self) -> "SpreadNames":
        """The names of the examples, asked for one by one."""
        return SpreadNames(self)

    @property
    def shares(self) -> list[int]:
        """Where shares begin among these examples, and their number."""
        inner = [edge - self.first for edge in self.edges if self.first < edge < self.last]
        return [0, *inner, len(self)]

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        """The shares that these examples are in, and which of their examples they are."""
        found = []
        for a, b in pairwise(self.shares):
            share = bisect_right(self.edges, self.first + a) - 1
            begin = self.first - self.edges[share]
            found.append((share, begin + a, begin + b))
        return found

    def slice(self, start: int, stop: int) -> Self:
        """Examples start..stop-1."""
        own = {name: getattr(self, name)[start:stop] for name in ("costs", "sizes", "work")}
        return replace(self, **own, first=self.first + start, last=self.first + stop)

    def take(self, rows: np.ndarray) -> NoReturn:
        """Raises LssvmError: what workers have read stays there."""
        raise LssvmError("examples of workers cannot be chosen one by one")

    def fingerprint(self) -> str:
        """That of a share."""
        return self.prints[self.edges.index(self.first)]


class SpreadNames(LazyNames):
    """The names of examples that live on workers."""

    def __init__(self, examples: Spread) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def name(self, place: int) -> str:
        """The name at a place."""
        ((share, first, last),) = self._examples.slice(place, place + 1).spans
        return self._examples.at.of_shares("names", [share], first, last)[0][0]


class Owners:
    """The worker that each share is read by and kept at."""

    def __init__(self, crew: "Crew", count: int) -> None:
        self._crew, self._count = crew, count
        self._at: dict[int, Worker] = {}

    def __call__(self) -> "dict[int, Worker]":
        """The owners now: those of lost workers' shares are others, until there are new ones."""
        there = self._crew.workers()
        for share in range(self._count):
            owner, home = self._at.get(share), self._crew.home(share, self._count)
            if owner in there and (owner == home or home is None):
                continue
            self._at[share] = home or min(there, key=list(self._at.values()).count)
            if owner is not None and owner in there:
                self._crew.leave(owner, share)
        return self._at


class AtWorkers(Problem[Spread], Whereabouts):
    """Examples that workers have read, and the application as solvers ask it there.

    application : the one that the workers have too, which reads apart; count : of shares
    first : whether it is not asked itself, but the problem whose solution is the first w
    together : whether a kernel works on several examples at a time
    """

    crew: "Crew"

    def __init__(self, crew: "Crew", application: Any, count: int) -> None:
        self.application, self.options = application, application.options
        self.formulation: Any = application.formulation
        self.decomposes = application.decomposes
        self.hidden, self.exchangeable = application.hidden, application.exchangeable
        self.fewer: Occurring | Merged | None = None
        self.count, self.crew = count, crew
        self._dimension, self.gathers, self.first = 0, False, False
        self.together = False
        self.readers = Readers(lambda share: None)
        self.owners = Owners(crew, count)

    @property
    def asked(self) -> Self:
        """This itself."""
        return self

    def of_shares(self, ask: str, numbers: Sequence[int] | None, *arguments: Any) -> list[Any]:
        """The answers of shares, all of them by default, in their order; see ``Held``."""
        found = self.crew.gathered(
            "shares",
            range(self.count) if numbers is None else numbers,
            self.owners,
            lambda own: (ask, own, *arguments),
        )
        return [answer for _, answer in sorted(found, key=lambda each: int(each[0]))]

    def spread(self, reading: Reading) -> Spread:
        """The examples, once every worker has read its shares. Raises LssvmError."""
        found: list[Found] = self.of_shares("found", None)
        self.fewer = _fewer(found)
        if self.fewer is not None:
            self.crew.prepare(reading._replace(fewer=self.fewer))
        sized: list[Sized] = self.of_shares("sized", None)
        self._dimension, self.gathers = sized[0].dimension, sized[0].gathers
        self.together = sized[0].together
        self.readers = Readers(lambda share: sized[share].reads)
        edges = np.cumsum([0, *(len(each.costs) for each in found)])
        return Spread(
            self,
            np.concatenate([each.costs for each in found]),
            np.concatenate([each.sizes for each in sized]),
            np.concatenate([each.work for each in sized]),
            tuple(edges.tolist()),
            tuple(each.fingerprint for each in found),
            all(each.labelled for each in found),
            0,
            int(edges[-1]),
        )

    def for_training(self, examples: Spread) -> Spread:
        """The same: workers have packed them for training."""
        return examples

    def linear_dimension(self, examples: Spread) -> int | None:
        """The number of weights, no feature left out."""
        return self.application.known_dimension()

    def training(self, examples: Spread, kernel: Any) -> Training:
        """What a solver is given, with the features that are left of all shares."""
        space: Space = self.fewer or Linear()
        return Training(examples, space, np.zeros((0, 0)), 0)

    def dimension(self, examples: Spread) -> int:
        """Length d of w and Φ."""
        return self._dimension

    def feature_names(self) -> Sequence[str]:
        """As the application has them."""
        return self.application.feature_names()

    def work(self, examples: Spread) -> np.ndarray:
        """As the workers have said."""
        return examples.sizes if self.first else examples.work

    def __call__(
        self, method: str, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """The answers of all shares to a method of the application; see ``apart.Ask``."""
        own = None if each is None else dict(enumerate(each))
        return self.of_shares("call", None, method, own, *arguments)

    def start(self, examples: Spread, rng: np.random.Generator) -> Any:
        """The sum over all shares, the problem whose solution is the first w, or that w."""
        if self.first:
            return self._total(self("start_of_first"))
        found = self.application.start_apart(self, rng)
        if isinstance(found, np.ndarray):
            return found
        if isinstance(found, list):
            return self._total(found)
        first: Any = copy(self)
        first.first, first.formulation, first.gathers = True, None, False
        return FirstProblem(first, examples)

    def _total(self, planes: Sequence[Plane]) -> Plane:
        return total_of([plane.writable() for plane in planes])

    def summary(self, w: np.ndarray, examples: Spread) -> dict[str, np.ndarray]:
        """As that of the application."""
        return self.application.summary_apart(self, w)

    def augmented(self, w: np.ndarray, examples: Spread) -> tuple[Plane, float]:
        """Loss-augmented inference for a few examples."""
        found = [self._single("augmented", w, span) for span in examples.spans]
        return _sum([whole(plane) for plane, _ in found]), sum(upper for _, upper in found)

    def completed(self, w: np.ndarray, examples: Spread) -> Plane:
        """Latent completion for a few examples."""
        return _sum([whole(self._single("completed", w, span)) for span in examples.spans])

    def sums(self, answers: Any, blocks: Sequence[Spread], executor: Any) -> "SpreadSums":
        """The ``Sums`` of blocks."""
        return SpreadSums(self.crew, self, blocks)

    def offer(self, oracle: Any, model: str) -> Offer | None:
        """What inference by example in C says of all shares; None if there is none."""
        found: list[ShareOffer | None] = self.of_shares("offer", None, model)
        if None in found:
            return None
        squares, multiply_adds, exact, places, rows = zip(*found, strict=True)
        sums = RowSums(*(np.sum(own, axis=0) for own in zip(*rows, strict=True)))
        common = sums.share(sum(squares))
        return Offer(sum(squares), sum(multiply_adds), all(exact), sum(places), common)

    def ended(self, w: np.ndarray, examples: Spread, predicted: Any) -> Ended:
        """What the end of training asks of the predictions for all examples."""
        found: list[Ended] = self.of_shares("ended", None, w)
        shown, predictions = self.application.joined(
            [(each.examples, each.predictions) for each in found]
        )
        losses = [each.losses for each in found if each.losses is not None]
        return Ended(shown, predictions, np.concatenate(losses) if losses else None)

    def scale_warnings(self, examples: Spread) -> list[str]:
        """A warning about features whose scales differ much."""
        largest = np.max(self("largest_of"), axis=0)
        if self.fewer is not None and len(largest):
            largest = self.fewer.of_features(largest)
        return self.application.scale_warnings_of(largest)

    def _single(self, ask: str, w: np.ndarray, span: tuple[int, int, int]) -> Any:
        share, first, last = span
        weights = w if self.first else sent(w, self.readers, [share])
        return self.of_shares("single", [share], ask, weights, first, last, self.first)[0]


class SpreadSums:
    """The ``Sums`` of blocks of examples that workers have read."""

    def __init__(self, crew: "Crew", at: AtWorkers, blocks: Sequence[Spread]) -> None:
        first, last = blocks[0], blocks[-1]
        self._crew, self._owners, self._first = crew, at.owners, at.first
        self._readers = at.readers
        # A part of the data has only a few passes, too few to pay for its columns.
        self._gathers = at.gathers and (first.first, last.last) == (0, first.edges[-1])
        self._spans: list[Span] = []
        for number, block in enumerate(blocks):
            (span,) = block.spans
            self._spans.append((number, *span))

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks, or of all shares, added up by the tree of their numbers."""
        gathers = self._gathers and ask == "augmented"
        found = TreeSum()
        for node in self._asked("gathered" if gathers else ask, w, gathers):
            found.add(node._replace(plane=whole(node.plane)))
        return found.total()

    def curvature(self, w: np.ndarray) -> np.ndarray | None:
        """The sum of the curvatures of all shares, if these have one sum each."""
        if not self._gathers:
            return None
        found = dict(self._asked("curvature", w, True))
        parts = [found[share] for share in sorted(found)]
        if any(part is None for part in parts):
            return None
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _asked(self, ask: str, w: np.ndarray, by_share: bool) -> list[Any]:
        """What workers find; all blocks of a share are at one place."""
        by_item: dict[int, list[Span]] = {}
        for span in self._spans:
            by_item.setdefault(span[1 if by_share else 0], []).append(span)

        def owners() -> "dict[int, Worker]":
            at = self._owners()
            return {item: at[spans[0][1]] for item, spans in by_item.items()}

        def question(items: Sequence[int]) -> tuple[Any, ...]:
            spans = [span for item in items for span in by_item[item]]
            weights: Any = w
            if not self._first:
                weights = sent(w, self._readers, sorted({share for _, share, *_ in spans}))
            return spans, ask, weights, self._first

        return self._crew.gathered("sums", by_item, owners, question, passing=True)

    def each(self, ask: str, w: np.ndarray) -> NoReturn:
        """Raises LssvmError: sums alone are sent."""
        raise LssvmError(f"{ask}: workers that read the files themselves send sums alone")

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the workers say of their inference since the last call."""
        return self._crew.taken()


def _fewer(found: Sequence[Found]) -> Occurring | Merged | None:
    """The features that are left of all shares, if others are left out or merged."""
    features = [each.features for each in found if each.features is not None]
    sums = [each.sums for each in found if each.sums is not None]
    if not features:
        return None
    space = fewer_of(
        np.concatenate(features),
        np.concatenate(sums) if sums else None,
        found[0].width,
        found[0].columns,
    )
    return None if isinstance(space, Linear) else space


def _sum(planes: Sequence[Plane]) -> Plane:
    total = planes[0]
    for plane in planes[1:]:
        total = total + plane
    return total
