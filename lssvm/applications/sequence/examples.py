"""Sequences packed for the kernel: the tokens of all of them one after another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lssvm import sparse
from lssvm.applications.apart import share_edges
from lssvm.applications.packing import Packed, digest
from lssvm.applications.row_sums import Columns, by_column
from lssvm.applications.scaling import Scales
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import LssvmError, counted
from lssvm.formats.conll_columns import Lines
from lssvm.kernels.arrays import TokenArrays
from lssvm.offsets import gathered, narrowed

MOST_STATES = 2**28  # numbers that the search for one sequence may take: 2 GB
DENSE_FROM = 0.25  # share of values given: below it rows are kept sparse
_BLOCK = 1e5  # ns that a block of sequences takes
_SUM = 20.0  # ns per weight in the sums of a block: the sums themselves take a fifth
_UNIT = 64  # multiply-adds of a unit of size: a block is then ten times the work of its overhead


@dataclass(frozen=True, eq=False)
class SequenceExamples(Packed):
    """n sequences. All flat arrays begin with the first token of the first sequence.

    dense : (tokens, width) float64, C order; (0, width) if the rows are sparse
    indices, values, starts : int32, float64, int64 (tokens + 1,), sparse rows; all empty if
        dense. A block made by ``slice`` shares indices and values; starts says where its own are.
        If all values are 1, the number is stored once: the stride of ``values`` is 0
    offsets : (n + 1,) int64, where each sequence's tokens start, from 0, and the end
    labels : (tokens,) int32, number of the label; -1 if unknown or unseen in training
    vocabulary : names of the labels and features of training
    tags : (tokens,) object, the true labels as in the data; None if unknown
    rows : (tokens,) the line of each token in a CoNLL file; object, None, for other data
    """

    KIND: ClassVar = "sequence"
    OFFSETS: ClassVar = ("offsets",)

    dense: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    vocabulary: Vocabulary
    tags: Any
    rows: np.ndarray | Lines

    @property
    def width(self) -> int:
        """Features of a token."""
        return int(self.dense.shape[1])

    @property
    def shares(self) -> np.ndarray:
        """Where sequences of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def label_count(self) -> int:
        """L, the number of labels."""
        return len(self.vocabulary.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows of the tokens are sparse."""
        return len(self.starts) > 0

    @property
    def told(self) -> np.ndarray:
        """Whether each token has a label, also one unseen in training, (tokens,) bool."""
        found = self.labels >= 0
        lost = np.flatnonzero(~found)
        found[lost] = [tag is not None for tag in self.tags[lost]]
        return found

    @property
    def known(self) -> np.ndarray:
        """Whether all tokens of each sequence have labels, (n,) bool."""
        return np.logical_and.reduceat(self.told, self.offsets[:-1])

    @property
    def sizes(self) -> np.ndarray:
        """Work of each sequence in units of 64 multiply-adds, (n,) int64."""
        count = self.label_count
        numbers = np.diff(self.offsets) * (self.width + count)
        if self.is_sparse:
            numbers = np.diff(self.starts[self.offsets]) + np.diff(self.offsets) * count
        return numbers * count // _UNIT + 1

    def work(self, states: int, order: int, soft: bool, sums: int) -> np.ndarray:
        """Approximate ns for the scores and the best path (soft: all paths) of each sequence, (n,).

        states : of a token; sums : number of weights that each block of sequences sums up

        These sums take time as well: if they are long, a block must have more work.
        """
        tokens = np.diff(self.offsets)
        padded = -(-states // 8) * 8
        scores = tokens * (0.1 * self.width * padded)
        if self.is_sparse:
            scores = np.diff(self.starts[self.offsets]) * (5.0 + 0.5 * states)
        steps = padded * float(states) ** order
        paths = 90.0 + 8.0 * padded + 0.7 * steps if soft else 30.0 + 0.15 * steps
        share = min(1.0, _BLOCK / max(1.0, _SUM * sums))
        return share * (scores + tokens * paths) + 1.0

    def check_room(self, states: int, copies: int) -> None:
        """Refuse a sequence if so many copies of its states take too much memory."""
        counts = np.diff(self.offsets)
        if len(counts) and int(np.max(counts)) * states * copies > MOST_STATES:
            row = int(np.argmax(counts))
            raise self.error(
                row,
                f"has {counted(counts[row], 'token')}: a search with {copies:,d} times "
                f"{states:,d} states "
                f"takes too much memory; expected at most {MOST_STATES:,d} numbers",
            )

    @property
    def inputs(self) -> Any:
        """The rows of all tokens, (tokens, width): a dense array or a csr_array."""
        if not self.is_sparse:
            return self.dense
        _, indices, values, starts = self.own_rows
        parts = (np.ascontiguousarray(values), indices, narrowed(starts))
        return sparse.csr_array(parts, shape=(len(self.labels), self.width))

    @property
    def own_rows(self) -> "Rows":
        """The same rows as flat arrays, without SciPy; ``starts`` counts from 0."""
        if not self.is_sparse:
            return stored(self.dense)
        own = slice(int(self.starts[0]), int(self.starts[-1]))
        return Rows(self.dense, self.indices[own], self.values[own], self.starts - self.starts[0])

    @property
    def is_sorted(self) -> bool:
        """Whether the indices of each sparse row increase; dense rows have none."""
        _, indices, _, starts = self.own_rows
        begins = np.zeros(len(indices) + 1, dtype=bool)
        begins[starts] = True
        return bool(np.all(begins[1:-1] | (indices[1:] >= indices[:-1])))

    def with_inputs(self, inputs: Any) -> Self:
        """The same sequences and labels with other rows, (tokens, any width), dense or sparse."""
        if inputs.shape[0] != len(self.labels):
            raise LssvmError(
                f"{counted(inputs.shape[0], 'row')} for {counted(len(self.labels), 'token')}"
            )
        return self._with_rows(stored(inputs))

    def scaled(self, scales: Scales) -> Self:
        """With scaled features; values of dense rows change in place. Raises DataError."""
        rows = stored(scales.resized(self.width).applied(self.inputs))
        values = rows.values if len(rows.starts) else rows.dense.ravel()
        lost = np.flatnonzero(~np.isfinite(values))
        if len(lost):
            token = lost[0] // max(1, self.width)
            if len(rows.starts):
                token = np.searchsorted(rows.starts, lost[0], side="right") - 1
            row = int(np.searchsorted(self.offsets, token, side="right")) - 1
            raise self.error(
                row, "has a value that overflows when it is scaled; expected smaller ones"
            )
        return self._with_rows(rows)

    def _with_rows(self, rows: "Rows") -> Self:
        return replace(
            self, dense=rows.dense, indices=rows.indices, values=rows.values, starts=rows.starts
        )

    @cached_property
    def arrays(self) -> TokenArrays:
        """The tokens as the kernels read them."""
        values, alike = self.values, is_one(self.values)
        if alike:
            values = np.ones(int(np.max(np.diff(self.starts), initial=1)))
        return TokenArrays(self.dense, self.indices, values, self.starts, self.offsets, alike)

    @cached_property
    def columns(self) -> Columns:
        """The sparse rows of all tokens by column."""
        return by_column(self.starts, self.indices, self.values, self.width)

    def slice(self, start: int, stop: int) -> Self:
        """Sequences start..stop-1 as views of the same arrays, positions from 0."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        block = super().slice(start, stop)
        return replace(
            block,
            dense=self.dense if self.is_sparse else self.dense[first:last],
            starts=self.starts[first : last + 1],
            offsets=block.offsets - first,
            labels=self.labels[first:last],
            tags=self.tags[first:last],
            rows=self.rows[first:last],
        )

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen sequences, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        tokens, offsets = gathered(self.offsets, rows)
        return replace(
            self._with_rows(stored(self.inputs[tokens])),
            offsets=offsets,
            labels=self.labels[tokens],
            tags=self.tags[tokens],
            rows=self.rows[tokens],
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of features, labels, sequences and costs, in hexadecimal."""
        names = np.frombuffer("\n".join(self.vocabulary.labels).encode(), dtype=np.uint8)
        rows = self.own_rows
        parts = (rows.dense, rows.starts, rows.indices, rows.values)
        return digest(self.width, names, *parts, self.offsets, self.labels, self.costs)


class Tags(NamedTuple):
    """The labels of tokens.

    names : distinct labels, None if unknown; codes : (tokens,) int32, rows of ``names``
    """

    names: tuple[str | None, ...]
    codes: np.ndarray

    @classmethod
    def of(cls, tags: Sequence[str | None]) -> Self:
        """The labels of tokens that are given one by one."""
        known: dict[str | None, int] = {}
        codes = [known.setdefault(tag, len(known)) for tag in tags]
        return cls(tuple(known), np.array(codes, dtype=np.int32))


class Rows(NamedTuple):
    """The rows of tokens as stored in SequenceExamples."""

    dense: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    starts: np.ndarray


def stored(inputs: Any) -> Rows:
    """The rows of tokens, (tokens, width); a sparse array stays sparse, anything else dense."""
    if isinstance(inputs, Rows):
        return inputs
    empty = np.empty(0, dtype=np.int64)
    if not sparse.issparse(inputs):
        dense = np.ascontiguousarray(inputs, dtype=np.float64)
        return Rows(dense, empty.astype(np.int32), np.empty(0), empty)
    values = inputs.data.astype(np.float64, copy=False)
    return Rows(
        np.empty((0, inputs.shape[1])),
        inputs.indices.astype(np.int32, copy=False),
        ones(len(values)) if np.all(values == 1.0) else values,
        inputs.indptr.astype(np.int64, copy=False),
    )


def ones(count: int) -> np.ndarray:
    """``count`` values of 1, stored as one number; read-only."""
    return np.broadcast_to(np.float64(1.0), (count,))


def is_one(values: np.ndarray) -> bool:
    """Whether values are stored as :func:`ones` gives them."""
    return values.strides == (0,)


def packed(
    inputs: Any,
    tags: Sequence[str | None] | Tags,
    offsets: np.ndarray,
    vocabulary: Vocabulary,
    *,
    costs: np.ndarray | None = None,
    identifiers: Sequence[str] | None = None,
    rows: Lines | None = None,
    lines: np.ndarray | None = None,
    files: np.ndarray | None = None,
    paths: Sequence[str] = ("memory",),
) -> SequenceExamples:
    """Sequences from the rows and true labels of all tokens.

    inputs : (tokens, width), kept dense or sparse as given, or ``Rows``
    tags : (tokens,) true labels by name, None where unknown
    offsets : (n + 1,)
    costs : (n,), 1 by default; identifiers, lines, files : (n,); rows : (tokens,)
    """
    n = len(offsets) - 1
    number: dict[str | None, int] = {name: i for i, name in enumerate(vocabulary.labels)}
    names, codes = tags if isinstance(tags, Tags) else Tags.of(tags)
    labels = np.array([number.get(name, -1) for name in names], dtype=np.int32)[codes]
    told = np.array([name is not None for name in names], dtype=bool)[codes]
    features = stored(inputs)
    return SequenceExamples(
        dense=features.dense,
        indices=features.indices,
        values=features.values,
        starts=features.starts,
        offsets=np.asarray(offsets, dtype=np.int64),
        labels=labels,
        vocabulary=vocabulary,
        costs=np.ones(n) if costs is None else np.asarray(costs, dtype=np.float64),
        identifiers=_objects(identifiers or [str(i) for i in range(1, n + 1)]),
        tags=_objects(names)[codes],
        rows=np.full(len(codes), None, dtype=object) if rows is None else rows,
        lines=np.arange(1, n + 1) if lines is None else np.asarray(lines, dtype=np.int64),
        files=np.zeros(n, dtype=np.int32) if files is None else np.asarray(files, dtype=np.int32),
        paths=tuple(paths),
        labelled=bool(told.all()),
    )


def _objects(items: Sequence[object]) -> np.ndarray:
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found
