"""Shares of the examples on a worker, which has read their files itself."""

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.apart import Taught
from lssvm.applications.base import FeatureRows
from lssvm.applications.equal_features import Merged, found_in
from lssvm.applications.occurring import LEAST, Occurring
from lssvm.applications.reading import Source
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import summed
from lssvm.oracle.tree import Node
from lssvm.problem import Gathering, RowSums, compiled_by_example, sums_in_c
from lssvm.training.distributed.portions import Portion, Readers, Reads, brief, received
from lssvm.training.whereabouts import Ended

Span = tuple[int, int, int, int]  # number of a block, its share, and its examples there


class Reading(NamedTuple):
    """What workers read their shares by.

    sources : all files; edges : where each share begins in them, and their number
    before : the examples before each share; plan : of the application
    fewer : the features that are left, if some are left out or merged
    """

    sources: Sequence[Source]
    edges: Sequence[int]
    before: Sequence[int]
    plan: Any
    fewer: Occurring | Merged | None = None


class Found(NamedTuple):
    """What there is to know of a share once it is packed.

    features : those that occur in sparse rows, (k,) int64; None if it does not matter
    sums : (k, 2) of each if equal ones are merged, see ``equal_features``
    width : features of a row; columns : that a row is scored against
    """

    costs: np.ndarray
    fingerprint: str
    labelled: bool
    features: np.ndarray | None = None
    sums: np.ndarray | None = None
    width: int = 0
    columns: int = 0


class Sized(NamedTuple):
    """The sizes of a share as it is trained on: (n,) each, and the number of weights.

    gathers : whether the examples of a share have one sum; see ``problem.Gathering``
    together : whether a kernel may work on several examples at a time
    reads : which weights; None if all are read, or if that is not known
    """

    sizes: np.ndarray
    work: np.ndarray
    dimension: int
    gathers: bool
    together: bool
    reads: Reads | None


class ShareOffer(NamedTuple):
    """What inference by example in C says of a share, for the choice of a solver.

    squares : Σ ‖x‖²; rows : sums over them; the others as in ``problem.ExampleOracle``
    """

    squares: float
    multiply_adds: float
    exact: bool
    places: float
    rows: RowSums


def taught(
    application: Any, numbered: Sequence[tuple[int, Source]], kept: dict[str, Any]
) -> list[tuple[int, Taught]]:
    """What files teach. Raises DataError. kept : by path, what stays here of them is added"""
    found = []
    for number, source in numbered:
        own = application.taught(source)
        kept[source.path] = own.kept
        found.append((number, own._replace(kept=None)))
    return found


def unreadable(sources: Sequence[Source]) -> bool:
    """Whether one of the files cannot be opened here."""
    return any(not os.access(source.path, os.R_OK) for source in sources)


class Held:
    """Shares that are read once they are asked for; their methods answer for one share."""

    def __init__(self, application: Any, reading: Reading, kept: dict[str, Any]) -> None:
        """kept : by path, of the files that were read here before"""
        self.application, self.reading, self._kept = application, reading, kept
        self._shares: dict[int, Any] = {}
        self._blocks: dict[tuple[int, int, int], Any] = {}
        self._last: dict[int, list[Any]] = {}
        self.readers = Readers(lambda share: Reads.of(application, self.examples(share)))

    def sources(self, share: int) -> Sequence[Source]:
        """The files of a share."""
        first, last = self.reading.edges[share : share + 2]
        return self.reading.sources[first:last]

    def leave(self, share: int) -> None:
        """Forget a share."""
        self._shares.pop(share, None)
        self._last.pop(share, None)
        self.readers.forget(share)
        for key in [key for key in self._blocks if key[0] == share]:
            del self._blocks[key]

    def prepare(self, fewer: Occurring | Merged | None) -> Sequence[int]:
        """Have the features that are left of all shares; the shares that are here."""
        self.reading = self.reading._replace(fewer=fewer)
        self._blocks.clear()
        for share in self._shares:
            self.readers.forget(share)
        for share in self._shares if fewer is not None else ():
            self._shares[share] = self._prepared(self._shares[share])
        return list(self._shares)

    def examples(self, share: int) -> Any:
        """The examples of a share. Raises DataError."""
        if share not in self._shares:
            sources = self.sources(share)
            kept = [self._kept.pop(source.path, None) for source in sources]
            plan, before = self.reading.plan, self.reading.before[share]
            read = self.application.share_of(kept, sources, plan, before)
            self._shares[share] = self._prepared(read)
        return self._shares[share]

    def sums(
        self, answers: Answers[Any], ask: str, w: np.ndarray, spans: Sequence[Span], pool: Executor
    ) -> Sequence[Node]:
        """The planes of blocks, added up as far as the tree has them."""
        blocks = [(number, self._block(*span)) for number, *span in spans]
        return summed(answers, ask, w, blocks, pool).nodes

    def gathered(
        self, answers: Answers[Any], w: np.ndarray, spans: Sequence[Span], pool: Executor
    ) -> Sequence[Node]:
        """The plane of each share from one sum over its examples. spans : of all its blocks"""
        return [self._gathered(answers, share, w, own, pool) for share, own in _by_share(spans)]

    def _gathered(
        self,
        answers: Answers[Any],
        share: int,
        w: np.ndarray,
        spans: Sequence[Span],
        pool: Executor,
    ) -> Node:
        self._last.pop(share, None)  # goes before room for the next is taken
        examples, parts = self.examples(share), self._coefficients(w, spans, pool)
        plane, upper = self.application.gathered(w, examples, parts, pool.map)
        self._last[share] = parts
        return Node(0, share, plane, answers.slack(plane, upper, w, examples))

    def curvature(
        self, answers: Answers[Any], w: np.ndarray, spans: Sequence[Span], pool: Executor
    ) -> Sequence[tuple[int, np.ndarray | None]]:
        """The curvature of each share at the w of the last pass. spans : of all its blocks"""
        found = []
        for share, own in _by_share(spans):
            # A worker that took over the share has not made that pass.
            parts = self._last.pop(share, None) or self._coefficients(w, own, pool)
            curved = self.application.curvature(w, self.examples(share), parts, pool.map)
            found.append((share, curved))
        return found

    def _coefficients(self, w: np.ndarray, spans: Sequence[Span], pool: Executor) -> list[Any]:
        blocks = [self._block(*span) for _, *span in spans]
        return pool.map(lambda block: self.application.coefficients(w, block), blocks)

    def found(self, share: int) -> Found:
        """What there is to know of the examples of a share, before features are left out."""
        examples, application = self.examples(share), self.application
        found = Found(examples.costs, examples.fingerprint(), bool(examples.labelled))
        given = None
        if isinstance(application, FeatureRows):
            given = application.features_of_values(examples)
        if given is None:
            return found
        width = given[1]
        columns = application.columns_per_row(examples)
        features, sums = None, None
        if width * columns >= LEAST:
            features, sums = found_in(application.merges, examples, *given)
        return found._replace(features=features, sums=sums, width=width, columns=columns)

    def sized(self, share: int) -> Sized:
        """The sizes of the examples of a share, which are asked for when all shares are packed."""
        examples = self.examples(share)
        self._kept.clear()  # of files whose share is elsewhere
        application = self.application
        work = np.asarray(application.work(examples))
        gathers = isinstance(application, Gathering) and sums_in_c(type(application))
        gathers = gathers and application.gathers(examples)
        sizes, together = np.asarray(examples.sizes), hasattr(examples, "together")
        dimension, reads = application.dimension(examples), self.readers.of([share])
        return Sized(sizes, work, dimension, gathers, together, reads)

    def together(self, share: int, first: int, last: int) -> int:
        """How many of some examples a kernel works on at a time."""
        return int(self.examples(share).slice(first, last).together)

    def call(self, share: int, method: str, each: Mapping[int, Any] | None, *arguments: Any) -> Any:
        """A method of the application with the examples of a share. each : a further argument"""
        further = () if each is None else (each[share],)
        return getattr(self.application, method)(self.examples(share), *arguments, *further)

    def offer(self, share: int, model: str) -> ShareOffer | None:
        """What inference by example in C says of a share; None if there is none."""
        examples = self.examples(share)
        offering = compiled_by_example(self.application, examples, model)
        if offering is None:
            return None
        kernel = offering.example_oracle(examples)
        return ShareOffer(
            float(kernel.squares.sum()),
            kernel.multiply_adds,
            kernel.exact,
            float(kernel.places[-1]),
            offering.row_sums(examples),
        )

    def ended(self, share: int, w: np.ndarray) -> Ended:
        """What the end of training asks."""
        examples, application = self.examples(share), self.application
        predictions = application.predict(w, examples)
        losses = application.training_losses(examples, predictions)
        kept, own = application.kept(examples, predictions)
        return Ended(kept, own, losses)

    def names(self, share: int, first: int, last: int) -> list[str]:
        """The names of some examples."""
        return list(self.examples(share).slice(first, last).names)

    def single(
        self,
        share: int,
        ask: str,
        weights: np.ndarray | Portion,
        first: int,
        last: int,
        initial: bool,
    ) -> Any:
        """An answer about some examples of a share alone, unchecked.

        weights : w, or those that the share reads
        initial : ask the problem whose solution is the first w
        """
        application = self.application.first_problem() if initial else self.application
        w = received(weights, self.readers, [share])
        return brief(getattr(application, ask)(w, self._block(share, first, last)))

    def _prepared(self, examples: Any) -> Any:
        fewer = self.reading.fewer
        return examples if fewer is None else fewer.prepared(examples, np.empty(0))[0]

    def _block(self, share: int, first: int, last: int) -> Any:
        key = (share, first, last)
        if key not in self._blocks:
            self._blocks[key] = self.examples(share).slice(first, last)
        return self._blocks[key]


def _by_share(spans: Sequence[Span]) -> list[tuple[int, list[Span]]]:
    """Spans, which are in the order of their shares, by these."""
    return [(share, list(own)) for share, own in groupby(spans, lambda span: span[1])]
