"""Sums over the rows of a data set, computed column by column, so that threads share one result.

If each block of rows had a sum of its own, as long as w, these sums would cost more than inference
where w is long. A sum by column is written once, and has the same bits however the columns are
divided among threads.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lssvm.kernels import _columns
from lssvm.offsets import cumulated
from lssvm.problem import Each

_PIECES = 16  # groups of columns with about equal numbers of entries


class Columns(NamedTuple):
    """A sparse matrix (n, m), stored by column.

    places : (m + 1,) int64, where the columns begin in rows and values
    rows : (entries,) int32, increasing in each column
    values : (entries,), or empty if all values are 1
    """

    places: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def by_column(starts: np.ndarray, indices: np.ndarray, values: np.ndarray, m: int) -> Columns:
    """The columns of sparse rows; ``starts`` may begin above 0, as that of a block of rows does."""
    own = slice(int(starts[0]), int(starts[-1]))
    indices, values, starts = indices[own], values[own], starts - starts[0]
    places = cumulated(np.bincount(indices, minlength=m))
    rows = np.empty(len(indices), dtype=np.int32)
    turned = np.empty(0 if np.all(values == 1.0) else len(indices))
    _columns.columns(starts, indices, values[: len(turned)], places[:-1].copy(), rows, turned)
    return Columns(places, rows, turned)


def summed(columns: Columns, coefficients: np.ndarray, out: np.ndarray, each: Each) -> None:
    """Write to out (m, K) the product of the transposed matrix with coefficients (n, K)."""
    places = columns.places
    marks = np.searchsorted(places, places[-1] * np.arange(1, _PIECES) // _PIECES)
    edges = np.unique(np.concatenate([[0], marks, [len(places) - 1]]))

    def gather(edge: tuple[int, int]) -> None:
        first, last = edge
        own = places[first : last + 1]
        _columns.gather(own, columns.rows, columns.values, coefficients, out[first:last])

    each(gather, list(pairwise(edges.tolist())))
