"""Offsets: where the parts of flat arrays begin, and what lies between them."""

from collections.abc import Sequence

import numpy as np


def cumulated(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Offsets of parts of these sizes, (len(counts) + 1,) int64."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def gathered(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Flat positions of what the chosen rows hold, and the rows' new offsets."""
    counts = offsets[rows + 1] - offsets[rows]
    new = cumulated(counts)
    return np.arange(new[-1]) + np.repeat(offsets[rows] - new[:-1], counts), new


def narrowed(offsets: np.ndarray) -> np.ndarray:
    """Offsets as int32 if they fit; with int64 offsets SciPy would copy int32 indices."""
    return offsets.astype(np.int32) if offsets[-1] < 2**31 else offsets
