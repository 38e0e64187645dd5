"""The blocks of a run shared out among workers, and what of them has to be sent again."""

import itertools
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lssvm.applications.base import Application
from lssvm.errors import LssvmError, SchedulerLostError
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import BlockSums, Sums
from lssvm.oracle.tree import TreeSum
from lssvm.plane import Plane
from lssvm.problem import add_counts
from lssvm.training.distributed.cluster import ROUNDS, WAIT, Cluster, Worker, WorkerLostError
from lssvm.training.distributed.held import Reading
from lssvm.training.distributed.portions import Portion, Readers, Reads, sent, whole
from lssvm.training.distributed.traffic import Traffic
from lssvm.training.distributed.worker import Recipe, Reply
from lssvm.training.processes import raised_there

NEWCOMERS = 1.0  # seconds between two looks for the successors of lost workers
MEMORY = "use more workers, or workers with more memory (--memory-limit of dask worker)"


class Crew:
    """Workers with an actor on each; a lost one's place is taken by the next that comes.

    traffic : so far
    """

    def __init__(self, cluster: Cluster, recipe: Recipe) -> None:
        """Raises LssvmError if there are no workers, or if one cannot take part."""
        self._cluster, self._recipe = cluster, recipe
        self._reading: Reading | None = None
        self._w: np.ndarray | None = None
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

    @property
    def size(self) -> int:
        """The number of workers, those included whose places are empty."""
        return len(self._places)

    def learnt(self, application: Application) -> None:
        """Tell all workers what the application has learnt. Raises LssvmError."""
        self.know(Recipe.of(application))

    def know(
        self, recipe: Recipe, reading: Reading | None = None, w: np.ndarray | None = None
    ) -> None:
        """Tell all workers, also those that come later, what the application has learnt.

        reading : what they read shares of files by; w : the weights that they predict with

        Raises LssvmError as a worker that cannot does.
        """
        self._recipe, self._reading, self._w = recipe, reading, w
        self.replies("know", dict.fromkeys(self.workers(), (recipe, reading, w)))

    def predicted(self, parts: Sequence[Any], top: int) -> list[Any]:
        """What workers predict for examples in parts, in their order. Raises LssvmError."""

        def owners() -> dict[int, Worker]:
            there = self.workers()
            return {number: there[number % len(there)] for number in range(len(parts))}

        found = self.gathered(
            "predict",
            range(len(parts)),
            owners,
            lambda numbers: ([(number, parts[number]) for number in numbers], top),
        )
        return [predictions for _, predictions in sorted(found, key=lambda each: int(each[0]))]

    def prepare(self, reading: Reading) -> None:
        """Tell all workers, also those that come later, which features are left."""
        self._reading = reading
        asked = dict.fromkeys(self.workers(), (reading.fewer,))
        self.replies("prepare", asked)

    def leave(self, worker: Worker, share: int) -> None:
        """Let a worker forget a share, if it is still there."""
        self._tell(worker, "leave", share)

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
        self.traffic = self.traffic._replace(sent=self.traffic.sent + bytes_of(block))
        return self._reply(worker, future) is not None

    def forget(self, data: int, at: Iterable[tuple[Worker, Sequence[int] | None]]) -> None:
        """Let workers drop blocks of a data set, if they are still there."""
        for worker, numbers in at:
            self._tell(worker, "drop", data, numbers)

    def _tell(self, worker: Worker, method: str, *arguments: Any) -> None:
        """Call a method whose answer does not matter, if the worker is still there."""
        if worker in self._actors:
            with suppress(WorkerLostError, SchedulerLostError):  # the next question tells
                self._cluster.call(worker, self._actors[worker], method, *arguments)

    def close(self) -> None:
        """There are no more questions."""
        self._actors.clear()

    def replies(
        self, method: str, questions: Mapping[Worker, tuple[Any, ...]], passing: bool = False
    ) -> dict[Worker, Reply]:
        """The answers of the workers that were not lost, each for its own question.

        questions : the arguments of the method; passing : whether its time is that of a pass

        Raises LssvmError as the first of the workers with an error did.
        """
        began = time.perf_counter()
        asked = {
            worker: self._asked(worker, method, *question) for worker, question in questions.items()
        }
        given = {worker: self._reply(worker, future) for worker, future in asked.items()}
        found = {worker: reply for worker, reply in given.items() if reply is not None}
        for worker, reply in found.items():
            _check(worker, reply)
        for reply in found.values():
            add_counts(self._counts, reply.not_converged)
        sent = sum(map(_arrays, questions.values()))
        seconds = time.perf_counter() - began if passing else 0.0
        slowest = max((reply.seconds for reply in found.values()), default=0.0)
        traffic = self.traffic
        self.traffic = traffic._replace(
            sent=traffic.sent + sent,
            received=traffic.received + sum(bytes_of(reply.found) for reply in found.values()),
            seconds=traffic.seconds + seconds,
            computing=traffic.computing + (slowest if passing else 0.0),
        )
        return found

    def gathered(
        self,
        method: str,
        items: Iterable[int],
        owners: Callable[[], Mapping[int, Worker] | None],
        question: Callable[[list[int]], tuple[Any, ...]],
        passing: bool = False,
    ) -> list[Any]:
        """What workers find for items, each for those that it has; lost ones' go to others.

        owners : the worker of each item; None if one was lost meanwhile
        question : the arguments of the method for some items, in increasing order

        Raises LssvmError as a worker does, or if too many are lost one after another.
        """
        found: list[Any] = []
        left = set(items)
        for _ in range(ROUNDS):
            at = owners()
            if at is None:
                continue
            own: dict[Worker, list[int]] = {}
            for item in sorted(left):
                own.setdefault(at[item], []).append(item)
            questions = {worker: question(mine) for worker, mine in own.items()}
            for worker, reply in self.replies(method, questions, passing).items():
                found += reply.found
                left -= set(own[worker])
            if not left:
                return found
        raise self.lost_too_often()

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
            ready = self._cluster.call(worker, actor, "know", self._recipe, self._reading, self._w)
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
        application = answers.application
        self._readers = Readers(lambda number: Reads.of(application, blocks[number]))
        weakref.finalize(self, _let_go, crew, data, self._owners)

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks and their slacks, added up by the tree of their numbers."""
        found = TreeSum()
        for node in self._asked(ask, w):
            found.add(node._replace(plane=whole(node.plane)))
        return found.total()

    def each(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answer for every block, in their order."""
        found = dict(self._asked(ask, w))
        return [found[number] for number in range(len(self._blocks))]

    def curvature(self, w: np.ndarray) -> None:
        """None: what blocks give is gathered here."""

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the application says of its inference since the last call, here and there."""
        found = dict(self._application.not_converged())
        add_counts(found, self._crew.taken())
        return found

    def _asked(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answers for all blocks; those of lost workers are asked of others."""
        return self._crew.gathered(
            "ask",
            range(len(self._blocks)),
            lambda: self._owners if self._send() else None,
            lambda numbers: (self._data, numbers, ask, sent(w, self._readers, numbers)),
            passing=True,
        )

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
    raise raised_there(kind, f"{worker}: {text}" if reply.own else text)


def _arrays(question: Sequence[Any]) -> int:
    """The bytes of the arrays of a question."""
    return sum(bytes_of(part) for part in question if isinstance(part, np.ndarray | Portion))


def bytes_of(value: Any) -> int:
    """The bytes of the arrays in a value, and in what it consists of."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    return bytes_of(vars(value)) if hasattr(value, "__dict__") else 0
