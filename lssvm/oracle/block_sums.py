"""Questions to an application about all blocks of a data set."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.tree import Node, TreeSum
from lssvm.plane import Plane


def node(answers: Answers[Any], ask: str, w: np.ndarray, number: int, block: Any) -> Node:
    """The plane of one block, as a leaf of the tree."""
    if ask == "completed":
        return Node(0, number, answers.completed(w, block))
    return Node(0, number, *answers.augmented(w, block))


class BlockSums:
    """The blocks of this process, shared out among the threads of an executor.

    ask : ``augmented`` or ``completed`` for sums, ``coefficients`` for each block
    """

    def __init__(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> None:
        self._answers, self._blocks, self._executor = answers, blocks, executor

    def total(self, ask: str, w: np.ndarray) -> tuple[Plane, float]:
        """The planes of all blocks and their slacks, added up by the tree of their numbers."""
        found, blocks = TreeSum(), self._blocks
        self._executor.in_order(
            lambda k: node(self._answers, ask, w, k, blocks[k]), range(len(blocks)), found.add
        )
        return found.total()

    def each(self, ask: str, w: np.ndarray) -> list[Any]:
        """The answer for every block, in their order."""
        answer = getattr(self._answers.application, ask)
        return self._executor.map(lambda block: answer(w, block), self._blocks)
