"""Rows of features with one label each, packed once for the kernel."""

import hashlib
import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.applications.apart import share_edges
from lssvm.applications.base import Source
from lssvm.applications.names import LazyNames
from lssvm.applications.scaling import Scales
from lssvm.errors import DataError
from lssvm.formats.svmlight import SvmLight, read_svmlight
from lssvm.kernels.arrays import RowArrays
from lssvm.offsets import cumulated, narrowed

DENSE_FROM = 0.25  # share of values given: below it rows are kept sparse
UNKNOWN = "?"  # an unknown label in a file
_SHOWN = 20  # characters of a wrong label that a message quotes
_AT_ONCE = 1_000_000  # numbers that are copied at a time
_BLOCK = 100_000  # work from which examples are cut into blocks
_DENSE_SUMS = 256  # least multiply-adds of a block for each of its sums
_SPARSE_SUMS = 16  # the same for sparse rows, whose multiply-adds take longer

Inputs = Any  # (n, width) float64: an array, or scipy's csr_array


class Numbers(LazyNames):
    """The numbers of examples as their names, made on demand."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def name(self, place: int) -> str:
        """The name at a place."""
        return str(self._numbers[place])


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """n examples.

    dense : (n, width) float64, C order; (0, 0) if the rows are sparse
    values, indices : float64 and int32, sparse rows one after another; empty if dense
    starts : (n + 1,) int64, where each sparse row starts, and the end; empty if dense
    width : features, the constant one included
    columns : columns of w that a row is scored against
    labels : (n,) int32, rows of ``label_names``, -1: not known
    label_names : the classes of training, followed by labels that only these data have
    costs : (n,) float64
    numbers : (n,) int64, place in the input, from 1
    lines : (n,) int64; files : (n,) int32, row of ``paths``
    left_out : number of values left out because training has no such feature
    labelled : whether all labels are known
    """

    dense: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray
    width: int
    columns: int
    labels: np.ndarray
    label_names: tuple[str, ...]
    costs: np.ndarray
    numbers: np.ndarray
    lines: np.ndarray
    files: np.ndarray
    paths: tuple[str, ...]
    left_out: int = 0
    labelled: bool = True

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def rows(self) -> RowArrays:
        """The rows as the kernel reads them."""
        return RowArrays(self.dense, self.values, self.indices, self.starts, len(self), self.width)

    @property
    def names(self) -> Numbers:
        """The number of each example in the input."""
        return Numbers(self.numbers)

    @property
    def shares(self) -> np.ndarray:
        """Where examples of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def sizes(self) -> np.ndarray:
        """Work of each example, (n,) int64: multiply-adds of its scores, or less if w is long.

        Each block of examples has its own sums of the length of w, and the memory for them costs
        more time than the scores of a few rows: if w is long, there should be few blocks.
        """
        thin = len(self.starts) > 0
        values = np.diff(self.starts) if thin else np.full(len(self), self.width)
        own_sums = (_SPARSE_SUMS if thin else _DENSE_SUMS) * self.width * self.columns
        share = min(1.0, _BLOCK / max(1, own_sums))
        return np.maximum(1, share * self.columns * values).astype(np.int64)

    @property
    def inputs(self) -> Inputs:
        """The rows as a matrix (n, width), views of the same arrays."""
        if not len(self.starts):
            return self.dense
        first, last = self.starts[0], self.starts[-1]
        parts = (self.values[first:last], self.indices[first:last], narrowed(self.starts - first))
        return sparse.csr_array(parts, shape=(len(self), self.width))

    def with_inputs(self, matrix: Inputs) -> "LabelledRows":
        """The same labels and costs with other rows, dense or sparse."""
        return replace(self, **_arrays(matrix), width=matrix.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored sparsely."""
        return len(self.starts) > 0

    def scaled(self, scales: Scales) -> "LabelledRows":
        """With scaled features; values of dense rows change in place. Raises DataError."""
        found = self.with_inputs(scales.resized(self.width).applied(self.inputs))
        lost = np.flatnonzero(
            ~np.isfinite(found.values if found.is_sparse else found.dense.ravel())
        )
        if len(lost):
            place = lost[0]
            row = np.searchsorted(found.starts, place, side="right") - 1
            row = row if found.is_sparse else place // self.width
            raise self.error(
                int(row), "a value overflows when it is scaled; expected smaller values"
            )
        return found

    def slice(self, start: int, stop: int) -> "LabelledRows":
        """Examples start..stop-1 as views of the same arrays."""
        return replace(
            self,
            dense=self.dense[start:stop],
            starts=self.starts[start : stop + 1],
            labels=self.labels[start:stop],
            costs=self.costs[start:stop],
            numbers=self.numbers[start:stop],
            lines=self.lines[start:stop],
            files=self.files[start:stop],
        )

    @property
    def known(self) -> np.ndarray:
        """Whether the label of each row is known, (n,) bool."""
        return self.labels >= 0

    def take(self, rows: np.ndarray) -> "LabelledRows":
        """A copy of the chosen examples, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            **_arrays(self.inputs[rows]),
            labels=self.labels[rows],
            costs=self.costs[rows],
            numbers=self.numbers[rows],
            lines=self.lines[rows],
            files=self.files[rows],
        )

    def fingerprint(self) -> str:
        """SHA-256 of features, labels and costs, in hexadecimal."""
        digest = hashlib.sha256(repr((self.width, self.label_names)).encode())
        first, last = (self.starts[0], self.starts[-1]) if len(self.starts) else (0, 0)
        parts = (self.dense, self.values[first:last], self.indices[first:last])
        for array in (*parts, np.diff(self.starts), self.labels, self.costs):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def identity(self, row: int) -> str:
        """A fingerprint of one example, whatever labels the others have."""
        label = int(self.labels[row])
        names = self.label_names[label : label + 1] if label >= 0 else ()
        labels = np.minimum(self.labels[row : row + 1], 0)
        return replace(self.slice(row, row + 1), labels=labels, label_names=names).fingerprint()

    def error(self, row: int | None, message: str) -> DataError:
        """An error that points to an example, or to the first file."""
        if row is None:
            return DataError(self.paths[0], None, message)
        return DataError(self.paths[self.files[row]], int(self.lines[row]), message)


def in_memory(
    inputs: Inputs, labels: np.ndarray, label_names: Sequence[str], columns: int
) -> LabelledRows:
    """Examples from a matrix (n, width) and labels (n,), rows of ``label_names``.

    A C-contiguous float64 matrix is not copied. columns : see :class:`LabelledRows`
    """
    count = len(labels)
    return LabelledRows(
        **_arrays(inputs),
        width=inputs.shape[1],
        columns=columns,
        labels=np.asarray(labels, dtype=np.int32),
        label_names=tuple(label_names),
        costs=np.ones(count),
        numbers=np.arange(1, count + 1),
        lines=np.arange(1, count + 1),
        files=np.zeros(count, dtype=np.int32),
        paths=("memory",),
    )


def read_file(source: Source, base: int | None, why: str) -> SvmLight:
    """An SVM-light file with labels as words. Raises DataError.

    If a source has a label, each row has this label or none (``?``). A row has one label: several
    labels separated by commas, as in multi-label files, are refused.
    """
    file = read_svmlight(source.path, words=True, limit=source.limit, base=base, why=why)
    return relabelled(source, file)


def with_labels_alike(files: Sequence[SvmLight], classes: Sequence[str]) -> list[SvmLight]:
    """The files, with ``+1`` and ``1`` (and other numbers) written as they first occur.

    classes : labels of training, which come before those of the files
    """
    known = set(classes)
    first: dict[str, str] = {_unsigned(name): name for name in reversed(classes)}
    found = []
    for file in files:
        words = alike(file.words, first, known)
        number = {word: row for row, word in enumerate(dict.fromkeys(words))}
        rows = np.array([number[word] for word in words], dtype=file.labels.dtype)
        found.append(replace(file, labels=rows[file.labels], words=tuple(number)))
    return found


def alike(words: Sequence[str], first: dict[str, str], known: Container[str] = ()) -> list[str]:
    """Words as they first occur. first : those so far, by what they are without ``+``"""
    return [word if word in known else first.setdefault(_unsigned(word), word) for word in words]


def first_lines(file: SvmLight) -> dict[str, int]:
    """The line of the first row with each label of a file."""
    rows = np.zeros(len(file.words), dtype=np.int64)
    rows[file.labels[::-1]] = np.arange(len(file.labels))[::-1]  # the last of equal ones stays
    return dict(zip(file.words, file.lines[rows].tolist(), strict=True))


def _unsigned(word: str) -> str:
    """A number without the sign ``+``; other words as they are."""
    bare = word.removeprefix("+")
    return bare if bare[:1].isdigit() else word


def relabelled(source: Source, file: SvmLight) -> SvmLight:
    """The file with the label of its source, if that has one. Raises DataError."""
    several = next((word for word in file.words if "," in word), None)
    if several is not None:
        row = np.flatnonzero(file.labels == file.words.index(several))[0]
        message = (
            f"{several[:_SHOWN]!r} is several labels; expected one, without a comma: "
            "learn one model for each label (this one against the rest)"
        )
        raise DataError(source.path, int(file.lines[row]), message)
    if source.label is None:
        return file
    given = (UNKNOWN, _unsigned(source.label))
    other = np.array([_unsigned(word) not in given for word in file.words])
    wrong = np.flatnonzero(other[file.labels])
    if len(wrong):
        word = file.words[file.labels[wrong[0]]]
        message = f"label {word!r}; the configuration says that all are {source.label!r}"
        raise DataError(source.path, int(file.lines[wrong[0]]), message)
    return replace(file, labels=np.zeros_like(file.labels), words=(source.label,))


def sorted_labels(files: Sequence[SvmLight]) -> tuple[str, ...]:
    """The labels that occur, in the order of their numbers if all are numbers, else as words."""
    return in_order({word for file in files for word in file.words} - {UNKNOWN})


def in_order(words: Iterable[str]) -> tuple[str, ...]:
    """Labels in the order of their numbers if all are numbers, else as words."""
    try:
        numbers = {word: float(word) for word in words}
    except ValueError:
        return tuple(sorted(words))
    if not all(map(math.isfinite, numbers.values())):
        return tuple(sorted(words))
    return tuple(sorted(words, key=lambda word: (numbers[word], word)))


def packed(
    files: list[SvmLight],
    sources: Sequence[Source],
    classes: Sequence[str],
    features: int,
    bias: float,
    columns: int,
    dense: bool | None = None,
) -> LabelledRows:
    """The examples of files that were read, features beyond ``features`` left out.

    files : emptied, so that their arrays do not stay in memory beside those of the examples
    classes : labels of training; other labels get higher numbers
    bias : the value of the appended constant feature; 0: there is none
    columns : see :class:`LabelledRows`
    dense : whether the rows become so; by default, if many of their values are given
    """
    others = [word for word in sorted_labels(files) if word not in set(classes)]
    names = (*classes, *others)
    number = {word: row for row, word in enumerate(names)} | {UNKNOWN: -1}
    labels = [np.array([number[w] for w in file.words], np.int32)[file.labels] for file in files]
    costs = [np.full(len(own), source.cost) for own, source in zip(labels, sources, strict=True)]
    counts = [len(own) for own in labels]
    lines = np.concatenate([file.lines for file in files])
    arrays, left_out = _laid_out(files, features, bias, dense)
    found = LabelledRows(
        **arrays,
        width=features + (bias > 0.0),
        columns=columns,
        labels=np.concatenate(labels),
        label_names=names,
        costs=np.concatenate(costs),
        numbers=np.arange(1, sum(counts) + 1),
        lines=lines,
        files=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        paths=tuple(source.path for source in sources),
        left_out=left_out,
    )
    return replace(found, labelled=bool(found.known.all()))


def _laid_out(
    files: list[SvmLight], features: int, bias: float, dense: bool | None
) -> tuple[dict[str, Any], int]:
    """The arrays of the rows, and the number of values left out. files : emptied"""
    single = len(files) == 1
    values = files[0].values if single else np.concatenate([file.values for file in files])
    indices = files[0].indices if single else np.concatenate([file.indices for file in files])
    starts = cumulated(np.concatenate([np.diff(file.offsets) for file in files]))
    files.clear()
    known = indices < features
    left_out = int(len(known) - np.count_nonzero(known))
    if left_out:
        kept_before = cumulated(known)
        values, indices, starts = values[known], indices[known], kept_before[starts]
    if dense is None:
        dense = len(values) >= DENSE_FROM * (len(starts) - 1) * features
    if dense:
        if np.all(np.diff(starts) == features):  # then the indices are 0, 1, 2 …
            indices = np.empty(0, dtype=np.int32)
        return _dense(values, indices, starts, features, bias), left_out
    if bias > 0.0:
        values, indices = (
            np.insert(array, starts[1:], last)
            for array, last in ((values, bias), (indices, features))
        )
        starts = starts + np.arange(len(starts))
    return {"dense": np.empty((0, 0)), "values": values, "indices": indices, "starts": starts}, (
        left_out
    )


def _dense(
    values: np.ndarray, indices: np.ndarray, starts: np.ndarray, features: int, bias: float
) -> dict[str, Any]:
    """The arrays of dense rows. indices : empty if every row has all features"""
    count = len(starts) - 1
    matrix = np.zeros((count, features + (bias > 0.0)))
    if bias > 0.0:
        matrix[:, features] = bias
    at_once = max(1, _AT_ONCE // max(1, features))
    for first in range(0, count, at_once):
        last = min(first + at_once, count)
        entries = slice(starts[first], starts[last])
        if len(indices) < len(values):
            matrix[first:last, :features] = values[entries].reshape(-1, features)
        else:
            row = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
            matrix[row, indices[entries]] = values[entries]
    return _arrays(matrix)


def _arrays(matrix: Inputs) -> dict[str, Any]:
    """A matrix as the kernel takes it."""
    if sparse.issparse(matrix):
        return {
            "dense": np.empty((0, 0)),
            "values": np.ascontiguousarray(matrix.data, dtype=np.float64),
            "indices": np.ascontiguousarray(matrix.indices, dtype=np.int32),
            "starts": np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        }
    return {
        "dense": np.ascontiguousarray(matrix, dtype=np.float64),
        "values": np.empty(0),
        "indices": np.empty(0, dtype=np.int32),
        "starts": np.empty(0, dtype=np.int64),
    }
