"""Where the blocks of a data set are computed: one after another, or side by side in threads."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Part = TypeVar("Part")
Result = TypeVar("Result")


def ignore_overflow() -> None:
    """Switch off NumPy's warnings of infinities and NaN in this thread; the oracle refuses both."""
    np.seterr(divide="ignore", over="ignore", invalid="ignore")


class Executor:
    """Maps a function over blocks in order; with more than one thread, side by side."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def map(self, function: Callable[[Part], Result], blocks: Sequence[Part]) -> list[Result]:
        """function(block) for every block, in block order."""
        found: list[Result] = []
        self.in_order(function, blocks, found.append)
        return found

    def in_order(
        self,
        function: Callable[[Part], Result],
        blocks: Sequence[Part],
        take: Callable[[Result], object],
    ) -> None:
        """take(function(block)) for every block, in block order, one at a time.

        A result is taken as soon as those before it are, by any thread: few of them are in memory
        at a time. If blocks raise, the error of the first of them is raised.
        """
        if self.threads == 1 or len(blocks) == 1:
            for block in blocks:
                take(function(block))
            return
        shared = _Shared(function, blocks, take)
        try:
            self.together(shared.work, min(self.threads, len(blocks)))
        finally:
            shared.left.clear()
        shared.check()

    def together(self, function: Callable[[int], None], count: int) -> None:
        """function(k) for k below ``count`` at once, function(0) in the caller's own thread."""
        if count <= 1:
            function(0)
            return
        from concurrent.futures import wait  # one thread needs none

        running = [self._pool.submit(function, k) for k in range(1, count)]
        try:
            function(0)
        finally:
            wait(running)

    @cached_property
    def _pool(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor  # one block needs none

        # A thread does not take over what the one that starts it ignores.
        return ThreadPoolExecutor(self.threads, initializer=ignore_overflow)

    def __enter__(self) -> "Executor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if "_pool" in vars(self):
            self._pool.shutdown()


class _Shared(Generic[Part, Result]):
    """Blocks that several threads work on, each the next one that is left.

    No thread waits for another one: waking a thread for every block would take longer than some
    blocks do.
    """

    def __init__(
        self,
        function: Callable[[Part], Result],
        blocks: Sequence[Part],
        take: Callable[[Result], object],
    ) -> None:
        self.left = deque(enumerate(blocks))
        self._function, self._take = function, take
        self._done: dict[int, Result] = {}
        self._taken = 0  # results, in block order
        self._taking = Lock()
        self._errors: dict[int, BaseException] = {}

    def work(self, thread: int) -> None:
        """Work on blocks until none is left, or one has raised."""
        while True:
            try:
                place, block = self.left.popleft()
            except IndexError:
                return
            try:
                self._done[place] = self._function(block)
                self._take_done()
            except BaseException as error:  # raised again by ``check``
                self._errors[place] = error
                self.left.clear()
                return

    def _take_done(self) -> None:
        """Take the results that are next, unless another thread does.

        That thread looks again after it has let go of the lock, so that none is forgotten.
        """
        while self._taken in self._done and self._taking.acquire(blocking=False):
            try:
                while self._taken in self._done:
                    self._take(self._done.pop(self._taken))
                    self._taken += 1
            finally:
                self._taking.release()

    def check(self) -> None:
        """Raise the error of the first block that has one."""
        if self._errors:
            raise self._errors[min(self._errors)]
