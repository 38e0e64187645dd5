"""Questions to an application about all blocks of a data set."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.tree import Node, TreeSum
from lssvm.plane import Plane


class Sums(Protocol):
    """Answers about the blocks of a data set, wherever the blocks are.

    ask : ``augmented`` or ``completed`` for sums, ``coefficients`` for each block
    """

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks and their slacks, added up by the tree of their numbers."""
        ...

    def each(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answer for every block, in their order."""
        ...

    def curvature(self, w: np.ndarray) -> np.ndarray | None:
        """As ``Oracle.curvature`` if the examples are gathered where they are; else None."""
        ...

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the application says of its inference since the last call."""
        ...


Summing = Callable[[Answers[Any], Sequence[Any], Executor], Sums]


def summed(
    answers: Answers[Any],
    ask: str,
    w: np.ndarray,
    numbered: Sequence[tuple[int, Any]],
    executor: Executor,
) -> TreeSum:
    """The planes of some blocks, (number, block) each, added up as far as the tree has them."""
    found = TreeSum()
    executor.in_order(lambda each: _node(answers, ask, w, *each), numbered, found.add)
    return found


def _node(answers: Answers[Any], ask: str, w: np.ndarray, number: int, block: Any) -> Node:
    """The plane of one block, as a leaf of the tree."""
    if ask == "completed":
        return Node(0, number, answers.completed(w, block))
    return Node(0, number, *answers.augmented(w, block))


class BlockSums:
    """The ``Sums`` of blocks of this process, shared out among the threads of an executor."""

    def __init__(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> None:
        self._answers, self._executor = answers, executor
        self._numbered = list(enumerate(blocks))

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks and their slacks, added up by the tree of their numbers."""
        return summed(self._answers, ask, w, self._numbered, self._executor).total()

    def each(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answer for every block, in their order."""
        answer = getattr(self._answers.application, ask)
        return self._executor.map(lambda each: answer(w, each[1]), self._numbered)

    def curvature(self, w: np.ndarray) -> None:
        """None: nothing is gathered here."""

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """What the application says of its inference since the last call."""
        return self._answers.application.not_converged()
