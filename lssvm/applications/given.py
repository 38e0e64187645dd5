"""What is given in memory, as readers of files would have read it.

An application's ``examples_from`` makes of arrays and lists what its reader makes of a file, and
packs it with the same code: the same data give the same examples, wherever they come from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lssvm import sparse
from lssvm.applications.reading import Source
from lssvm.errors import LssvmError, counted
from lssvm.formats.svmlight import UNKNOWN, SvmLight
from lssvm.offsets import cumulated

MEMORY = Source("memory")  # the source of all that is given


class Given(NamedTuple):
    """Rows of features.

    values : (size,) float64, finite, none of them 0; indices : (size,) int32, columns
    offsets : (n + 1,) int64, where each row's values start, and the end; width : columns
    """

    values: np.ndarray
    indices: np.ndarray
    offsets: np.ndarray
    width: int


@dataclass(frozen=True)
class GivenRows(SvmLight):
    """Rows of features that were given; all ``columns`` count, whatever they hold."""

    columns: int = 0

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.columns


def rows_of(X: Any) -> Given:
    """The values of a matrix that are not 0, as a file would have them.

    X : (n, width), an array, a table (pandas, polars) or a sparse matrix of SciPy

    Raises LssvmError if it is not a matrix of finite numbers.
    """
    if sparse.issparse(X):
        matrix = sparse.csr_array(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        given = Given(
            matrix.data, matrix.indices.astype(np.int32), matrix.indptr, int(matrix.shape[1])
        )
    else:
        table = _table(X)
        rows, columns = np.nonzero(table)
        counts = np.bincount(rows, minlength=len(table))
        indices = columns.astype(np.int32)
        given = Given(table[rows, columns], indices, counts, table.shape[1])
        given = given._replace(offsets=cumulated(counts))
    lost = np.flatnonzero(~np.isfinite(given.values))
    if len(lost):
        row = int(np.searchsorted(given.offsets, lost[0], side="right"))
        column, value = int(given.indices[lost[0]]) + 1, given.values[lost[0]]
        raise LssvmError(f"X: row {row}, column {column} is {value}; expected finite numbers")
    return given._replace(offsets=np.asarray(given.offsets, dtype=np.int64))


def _table(X: Any) -> np.ndarray:
    """A dense matrix. Raises LssvmError for what is none."""
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LssvmError(f"X: {error}; expected a matrix of numbers") from None
    if table.ndim != 2:
        raise LssvmError(f"X has {counted(table.ndim, 'dimension')}; expected 2: rows and columns")
    return table


def word(label: Any) -> str:
    """A label as a file has it: whole numbers without a point, None as ``?``."""
    if label is None:
        return UNKNOWN
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def words_of(labels: Any, n: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels as rows of distinct words, (n,) int32, and the words; None: nothing is known.

    labels : (n,) numbers or words. Raises LssvmError for another number of them.
    """
    if labels is None:
        return np.zeros(n, dtype=np.int32), (UNKNOWN,)
    values = np.asarray(labels).tolist()
    if len(values) != n:
        raise LssvmError(
            f"{counted(len(values), 'label')} for {counted(n, 'example')}; expected one for each"
        )
    known: dict[str, int] = {}
    codes = [known.setdefault(word(value), len(known)) for value in values]
    return np.array(codes, dtype=np.int32), tuple(known)


def costs_of(costs: Any, n: int) -> np.ndarray:
    """The costs c_i of examples, (n,) float64; None: 1 each.

    Raises LssvmError for another number of them, or one that is negative or not finite.
    """
    if costs is None:
        return np.ones(n)
    found = np.array(costs, dtype=np.float64)
    if found.shape != (n,):
        shape = "x".join(map(str, found.shape)) or "one number"
        raise LssvmError(f"costs: {shape} for {counted(n, 'example')}; expected one for each")
    wrong = np.flatnonzero(~((found >= 0) & np.isfinite(found)))
    if len(wrong):
        raise LssvmError(f"costs: {found[wrong[0]]}; expected finite numbers, none below 0")
    return found


def numbered(n: int) -> np.ndarray:
    """The lines of n examples that were given: their numbers from 1, (n,) int64."""
    return np.arange(1, n + 1)


def check_words(words: Iterable[str], what: str) -> None:
    """Raise LssvmError for a name that no model file could hold: empty, or of several lines."""
    for name in words:
        if not name or "\n" in name or not _writable(name):
            raise LssvmError(f"{what} {name[:40]!r}; expected one line of text that is not empty")


def _writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def lengths_of(parts: Sequence[Any]) -> np.ndarray:
    """Offsets of the parts of something given, (n + 1,) int64."""
    return cumulated([len(part) for part in parts])
