"""The plane sums of a data set, computed serially or by threads: the same bytes either way.

The examples are cut into blocks once, by their work alone. However many threads there
are, each takes whole blocks and the sums of the blocks are added in block order.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol, TypeVar

import numpy as np

from lssvm.errors import LssvmError
from lssvm.plane import Plane, total

BLOCK_WORK = 100_000  # about 0.1 ms of the fastest kernel: fan-out costs 25 µs
MAX_BLOCKS = 64

Result = TypeVar("Result")


class Oracle(Protocol):
    """What a solver knows of the data: planes of Σ c_i U⁺_i and Σ c_i U⁻_i."""

    def augmented(self, w: np.ndarray) -> tuple[Plane, float]:
        """A plane of Σ c_i U⁺_i and an upper bound of the sum at w; one oracle pass."""
        ...

    def completed(self, w: np.ndarray) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""
        ...


class Executor:
    """Maps a function over blocks in order; with more than one thread, side by side."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def map(self, function: Callable[[Any], Result], blocks: Sequence[Any]) -> list[Result]:
        """function(block) for every block, in block order."""
        if self._pool is None or len(blocks) == 1:
            return [function(block) for block in blocks]
        return list(self._pool.map(function, blocks))

    def __enter__(self) -> "Executor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def blocks(examples: Any) -> list[Any]:
    """Contiguous blocks of about equal work, their number fixed by the data alone."""
    work = np.cumsum(examples.sizes)
    count = int(np.clip(work[-1] // BLOCK_WORK, 1, min(MAX_BLOCKS, len(examples))))
    marks = np.searchsorted(work, work[-1] * np.arange(1, count) / count, side="left") + 1
    edges = np.unique(np.concatenate([[0], marks, [len(examples)]]))
    return [examples.slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


class DataOracle:
    """The oracle of an application on a data set, counted and timed.

    passes : loss-augmented inference over the whole data set
    completions : latent completion over the whole data set
    seconds : time spent in both
    """

    def __init__(self, application: Any, examples: Any, executor: Executor) -> None:
        self.application = application
        self.examples = examples
        self.executor = executor
        self.blocks = blocks(examples) if application.decomposes else [examples]
        self.passes = 0
        self.completions = 0
        self.seconds = 0.0

    def augmented(self, w: np.ndarray) -> tuple[Plane, float]:
        """Σ c_i U⁺_i: a plane and an upper bound at w. Raises LssvmError if not finite."""
        began = time.perf_counter()
        parts = self.executor.map(lambda block: self.application.augmented(w, block), self.blocks)
        plane = total([part for part, _ in parts])
        self._check(plane, w, lambda block: self.application.augmented(w, block)[0])
        # Where inference is exact the bound is the plane's own value, not that value summed
        # in another order: the difference would be rounding and nothing else.
        slack = sum(upper - part.value(w) for part, upper in parts)
        self.passes += 1
        self.seconds += time.perf_counter() - began
        return plane, plane.value(w) + slack

    def completed(self, w: np.ndarray) -> Plane:
        """Σ c_i U⁻_i as a plane that touches it at w."""
        began = time.perf_counter()
        plane = total(
            self.executor.map(lambda block: self.application.completed(w, block), self.blocks)
        )
        self._check(plane, w, lambda block: self.application.completed(w, block))
        self.completions += 1
        self.seconds += time.perf_counter() - began
        return plane

    def _check(self, plane: Plane, w: np.ndarray, inference: Callable[[Any], Plane]) -> None:
        """Stop at the first NaN or infinity, with the names of the example and the feature."""
        finite = np.isfinite(plane.loss) and np.all(np.isfinite(plane.gradient))
        if finite and np.isfinite(plane.value(w)):
            return
        names = self.application.feature_names()
        if not np.all(np.isfinite(w)):
            feature = names[int(np.flatnonzero(~np.isfinite(w))[0])]
            raise LssvmError(f"the weight of feature {feature!r} is not finite")
        for i, example in enumerate(self.examples.names):
            single = inference(self.examples.slice(i, i + 1))
            bad = np.flatnonzero(~np.isfinite(single.gradient))
            if len(bad):
                raise LssvmError(
                    f"example {example!r}: feature {names[int(bad[0])]!r} is not finite"
                )
            if not np.isfinite(single.loss):
                raise LssvmError(f"example {example!r}: its loss is not finite")
        raise LssvmError(
            "the sums over the examples are too large for float64; rescale the features"
        )
