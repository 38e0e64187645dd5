"""The blocks of a run shared out among workers, and what of them has to be sent again."""

import itertools
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lssvm.errors import LssvmError, SchedulerLostError
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import BlockSums, Sums
from lssvm.oracle.tree import Node, TreeSum
from lssvm.plane import Plane
from lssvm.problem import add_counts
from lssvm.training.distributed.cluster import WAIT, Cluster, Worker, WorkerLostError
from lssvm.training.distributed.traffic import Traffic
from lssvm.training.distributed.worker import Recipe, Reply
from lssvm.training.processes import raised_there

ROUNDS = 4  # of losses in one pass, before the run ends
NEWCOMERS = 1.0  # seconds between two looks for the successors of lost workers
MEMORY = "use more workers, or workers with more memory (--memory-limit of dask worker)"


class Crew:
    """Workers with an actor on each; a lost one's place is taken by the next that comes.

    traffic : so far
    """

    def __init__(self, cluster: Cluster, recipe: Recipe) -> None:
        """Raises LssvmError if there are no workers, or if one cannot take part."""
        self._cluster, self._recipe = cluster, recipe
        self._actors: dict[Worker, Any] = {}
        self._numbers = itertools.count()
        self._counts: dict[str, tuple[int, int]] = {}
        self._looked = time.monotonic()
        self._places: list[Worker | None] = []
        self._lost: list[Worker] = []
        self.traffic = Traffic()
        for worker in cluster.first():
            self._places.append(worker)
            self._begin(worker)
        self.traffic = self.traffic._replace(workers=len(self._places))

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard; empty if it is off."""
        return self._cluster.dashboard

    def sums(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> Sums:
        """The ``Sums`` of a data set; a single block is not worth the way to a worker."""
        if len(blocks) == 1:
            return BlockSums(answers, blocks, executor)
        return RemoteSums(self, answers, blocks, next(self._numbers))

    def taken(self) -> dict[str, tuple[int, int]]:
        """What the workers said of their inference since the last call."""
        found, self._counts = self._counts, {}
        return found

    def workers(self) -> list[Worker]:
        """Those that can be asked, at least one. Raises LssvmError if none comes."""
        self._fill()
        began = time.monotonic()
        while not self._actors:
            if time.monotonic() - began > WAIT:
                raise LssvmError(f"all workers were lost, the last one was {self._lost[-1]}")
            time.sleep(NEWCOMERS)
            self._fill()
        return [worker for worker in self._places if worker is not None]

    def home(self, number: int, count: int) -> Worker | None:
        """The worker of a block among ``count`` of them; None while its place is empty."""
        return self._places[number * len(self._places) // count]

    def send(self, worker: Worker, data: int, number: int, block: Any) -> bool:
        """Give a worker a block of a data set; whether it is still there."""
        future = self._asked(worker, "hold", data, number, block)
        self.traffic = self.traffic._replace(sent=self.traffic.sent + _nbytes(block))
        return self._reply(worker, future) is not None

    def forget(self, data: int, at: Iterable[tuple[Worker, Sequence[int] | None]]) -> None:
        """Let workers drop blocks of a data set, if they are still there."""
        for worker, numbers in at:
            if worker in self._actors:
                with suppress(WorkerLostError, SchedulerLostError):  # the next question tells
                    self._cluster.call(worker, self._actors[worker], "drop", data, numbers)

    def close(self) -> None:
        """There are no more questions."""
        self._actors.clear()

    def replies(
        self, data: int, shares: dict[Worker, list[int]], ask: str, w: np.ndarray
    ) -> dict[Worker, Reply]:
        """The answers of the workers that were not lost, each for its share of the blocks.

        Raises LssvmError as the first of them with an error did.
        """
        began = time.perf_counter()
        asked = {
            worker: self._asked(worker, "ask", data, numbers, ask, w)
            for worker, numbers in shares.items()
        }
        given = {worker: self._reply(worker, future) for worker, future in asked.items()}
        found = {worker: reply for worker, reply in given.items() if reply is not None}
        for reply in found.values():
            add_counts(self._counts, reply.not_converged)
        for worker in sorted(found, key=lambda worker: shares[worker][0]):
            _check(worker, found[worker])
        traffic = self.traffic
        self.traffic = traffic._replace(
            sent=traffic.sent + len(asked) * w.nbytes,
            received=traffic.received + sum(_nbytes(reply.found) for reply in found.values()),
            seconds=traffic.seconds + time.perf_counter() - began,
            computing=traffic.computing
            + max((reply.seconds for reply in found.values()), default=0.0),
        )
        return found

    def lost_too_often(self) -> LssvmError:
        """Why a pass is given up."""
        return LssvmError(
            f"{self._lost[-1]} was lost in the pass, as others before; if memory ran out, {MEMORY}"
        )

    def _asked(self, worker: Worker, method: str, *arguments: Any) -> Any:
        """The future of an answer; None if the worker was lost."""
        try:
            return self._cluster.call(worker, self._actors[worker], method, *arguments)
        except WorkerLostError:
            self._lose(worker)
            return None

    def _reply(self, worker: Worker, future: Any) -> Any:
        """What a worker answers; None if it was lost."""
        if future is None:
            return None
        try:
            return self._cluster.result(future, worker)
        except WorkerLostError:
            self._lose(worker)
            return None

    def _begin(self, worker: Worker) -> None:
        """Make an actor on a worker, unless that is lost already. Raises LssvmError."""
        try:
            actor = self._cluster.actor(worker, self._recipe)
            ready = self._cluster.call(worker, actor, "ready")
            _check(worker, self._cluster.result(ready, worker))
            self._actors[worker] = actor
        except WorkerLostError:
            self._lose(worker)

    def _lose(self, worker: Worker) -> None:
        self._actors.pop(worker, None)
        if worker in self._places:
            self._places[self._places.index(worker)] = None
            self._lost.append(worker)
            self.traffic = self.traffic._replace(lost=len(self._lost))
        self._looked = time.monotonic()

    def _fill(self) -> None:
        """Give the places of lost workers to those that have come since."""
        if None not in self._places or time.monotonic() - self._looked < NEWCOMERS:
            return
        gone = {*self._places, *self._lost}
        for worker in self._cluster.present():
            if worker not in gone and None in self._places:
                self._places[self._places.index(None)] = worker
                self._begin(worker)
        self._looked = time.monotonic()


class RemoteSums:
    """The ``Sums`` of blocks that live on the workers of a crew, and of which copies are here."""

    def __init__(self, crew: Crew, answers: Answers[Any], blocks: Sequence[Any], data: int) -> None:
        self._crew, self._application, self._blocks = crew, answers.application, blocks
        self._data = data
        self._owners: dict[int, Worker] = {}
        weakref.finalize(self, _let_go, crew, data, self._owners)

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks and their slacks, added up by the tree of their numbers."""
        found = TreeSum()
        for level, place, plane, slack in self._asked(ask, w):
            # An array of a message may be one that cannot be written to.
            gradient = np.require(plane.gradient, requirements="W")
            found.add(Node(level, place, Plane(gradient, plane.loss), slack))
        return found.total()

    def each(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answer for every block, in their order."""
        found = dict(self._asked(ask, w))
        return [found[number] for number in range(len(self._blocks))]

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the application says of its inference since the last call, here and there."""
        found = dict(self._application.not_converged())
        add_counts(found, self._crew.taken())
        return found

    def _asked(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answers for all blocks; those of lost workers are asked of others."""
        found: list[Any] = []
        left = set(range(len(self._blocks)))
        for _ in range(ROUNDS):
            if not self._send():
                continue
            shares: dict[Worker, list[int]] = {}
            for number in sorted(left):
                shares.setdefault(self._owners[number], []).append(number)
            for worker, reply in self._crew.replies(self._data, shares, ask, w).items():
                found += reply.found
                left -= set(shares[worker])
            if not left:
                return found
        raise self._crew.lost_too_often()

    def _send(self) -> bool:
        """Send every block to its worker, or to another one while its place is empty.

        Whether all that were sent to are still there.
        """
        there, count = self._crew.workers(), len(self._blocks)
        load = Counter(self._owners.values())
        for number, block in enumerate(self._blocks):
            owner, home = self._owners.get(number), self._crew.home(number, count)
            if owner in there and (owner == home or home is None):
                continue
            target = home or min(there, key=lambda worker: load[worker])
            compact = block.take(np.arange(len(block)))
            if not self._crew.send(target, self._data, number, compact):
                return False
            load[target] += 1
            self._owners[number] = target
            if owner is not None:
                self._crew.forget(self._data, [(owner, [number])])
        return True


def _let_go(crew: Crew, data: int, owners: dict[int, Worker]) -> None:
    crew.forget(data, [(worker, None) for worker in set(owners.values())])


def _check(worker: Worker, reply: Reply) -> None:
    """Raise the LssvmError that a worker has replied with."""
    if reply.error is None:
        return
    kind, text = reply.error
    if kind == MemoryError.__name__:
        raise LssvmError(f"{worker}: out of memory; {MEMORY}")
    raise raised_there(kind, text)


def _nbytes(value: Any) -> int:
    """The bytes of the arrays in a value, and in what it consists of."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    if isinstance(value, dict):
        return sum(map(_nbytes, value.values()))
    return _nbytes(vars(value)) if hasattr(value, "__dict__") else 0
