"""Where the blocks of a data set are computed: one after another, or side by side in threads."""

from collections.abc import Callable, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

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
        if self.threads == 1 or len(blocks) == 1:
            return [function(block) for block in blocks]
        return list(self._pool.map(function, blocks))

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
