"""Where a bundle begins: a few epochs of exact dual steps, a part of the examples after another.

The first cuts of a bundle are all made near the same bad point, and each costs a pass. Block-
coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, Algorithm 3), with
parts of the data for its blocks, moves after every part instead. For part b the dual keeps a
mixture of planes of Σ c_i U⁺_i over its examples, at first the completion's; it moves towards the
plane that is found at w by an exact line search, and w = C Σ_b (completion − mixture) all the time.
A mixture of planes is a plane, and so is the sum over the parts: a valid cut, which has the dual
value that was reached.
"""

from collections.abc import Sequence

import numpy as np

from lssvm.oracle import Oracle
from lssvm.plane import Plane, total

EPOCHS = 3
PARTS = 64
FEWEST = 8  # parts from which it pays
ROOM = 2**23  # numbers in the mixtures of all parts


def parts_of(examples: int, dimension: int) -> int:
    """How many examples make a part; 0 if there would be too few parts."""
    parts = min(PARTS, examples, ROOM // max(dimension, 1))
    return -(-examples // parts) if parts >= FEWEST else 0


def opened(parts: Sequence[Oracle], C: float, w: np.ndarray) -> tuple[np.ndarray, Plane]:
    """The dual point after EPOCHS epochs and its cut; parts are visited up and down in turn.

    w : (d,) where the hidden values are completed; the steps themselves begin at 0
    """
    completions = [part.completed(w) for part in parts]
    mixtures = list(completions)
    point = np.zeros(len(w))
    for epoch in range(EPOCHS):
        for b in range(len(parts))[:: -1 if epoch % 2 else 1]:
            found, _ = parts[b].augmented(point)
            move = found - mixtures[b]
            rise = C * move.value(point)
            square = C * C * float(move.gradient @ move.gradient)
            share = min(1.0, max(0.0, rise / square)) if square > 0.0 else float(rise > 0.0)
            mixtures[b] = mixtures[b] + Plane(share * move.gradient, share * move.loss)
            point = point - share * C * move.gradient
    return point, total(mixtures)
