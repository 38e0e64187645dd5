"""What inference found for every example of a data set."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.problem import ByExample, Examples, Maxima


class ExampleMaxima:
    """What inference found for n examples in blocks that follow each other.

    values, losses, uppers : (n,) as in ``Maxima``, without costs
    """

    def __init__(
        self, application: ByExample[Any], blocks: Sequence[Examples], parts: Sequence[Maxima]
    ) -> None:
        self._application = application
        self._blocks, self._parts = blocks, parts
        self._edges = np.cumsum([0, *(len(part.values) for part in parts)])
        self.values = np.concatenate([part.values for part in parts])
        self.losses = np.concatenate([part.losses for part in parts])
        self.uppers = np.concatenate([part.uppers for part in parts])

    def name(self, row: int) -> str:
        """The name of an example, as messages have it."""
        block = int(np.searchsorted(self._edges, row, side="right")) - 1
        return str(self._blocks[block].names[row - int(self._edges[block])])

    def gradients(self, rows: np.ndarray) -> "sparse.csr_array":
        """The gradients of the planes of ``rows`` (increasing), (len(rows), d), without costs."""
        cuts = np.searchsorted(rows, self._edges)
        pieces = [
            self._application.gradients(block, part, rows[a:b] - first)
            for block, part, first, a, b in zip(
                self._blocks, self._parts, self._edges[:-1], cuts[:-1], cuts[1:], strict=True
            )
            if b > a
        ]
        return sparse.csr_array(pieces[0] if len(pieces) == 1 else sparse.vstack(pieces, "csr"))
