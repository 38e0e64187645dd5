"""DNA sequences packed for the motif kernel: read once, indexed once, shared by all blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.base import Source
from lssvm.applications.packing import Packed, digest
from lssvm.errors import DataError
from lssvm.formats.fasta import AMBIGUOUS, LETTERS, Fasta, fasta_parts, read_fasta
from lssvm.kernels import _motif
from lssvm.kernels.arrays import MotifArrays
from lssvm.offsets import cumulated, gathered


@dataclass(frozen=True, eq=False)
class Sequences(Packed):
    """n labelled DNA sequences. Positions count from 0 in the flat arrays.

    If both strands are read, a sequence is stored in the orientation whose letters come first in
    the order A, C, G, T, ambiguous, so that nothing depends on the strand in the file;
    ``windows_turned`` gives the place of a window in the other orientation.

    letters : (size,) uint8, 0..3 for A, C, G, T and 4 for an ambiguous letter
    words : (size + padding,), contexts : (size,), see ``lssvm.kernels._motif.index``
    opposite : (size,) contexts on the other strand if both are read, else (0,)
    bounds : (m, 2) int64, start and end of each run of unambiguous letters
    offsets : (n + 1,) int64, where each sequence starts, and the end of the last
    runs : (n + 1,) int64, first row of each sequence in ``bounds``
    labels : (n,) int8, +1 or -1, 0 if unknown
    unread : (n,) object, the text that a header has instead of a label, or ""
    windows : (n,) int64, number of window starts on one strand
    turned : (n,) bool, whether the file has the other orientation
    left_out : number of sequences without a window that were removed for training
    """

    KIND: ClassVar = "record"
    OFFSETS: ClassVar = ("offsets", "runs")
    EACH: ClassVar = ("labels", "unread", "windows", "turned")

    letters: np.ndarray
    words: np.ndarray
    contexts: np.ndarray
    opposite: np.ndarray
    bounds: np.ndarray
    offsets: np.ndarray
    runs: np.ndarray
    labels: np.ndarray
    unread: np.ndarray
    windows: np.ndarray
    turned: np.ndarray
    left_out: int = 0

    @cached_property
    def arrays(self) -> MotifArrays:
        """The sequences as the kernels read them."""
        return MotifArrays(
            words=self.words,
            contexts=self.contexts,
            opposite=self.opposite,
            offsets=self.offsets,
            runs=self.runs,
            bounds=self.bounds,
            labels=self.labels,
            costs=self.costs,
            both=len(self.opposite) > 0,
        )

    @property
    def shares(self) -> np.ndarray:
        """Where sequences of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def sizes(self) -> np.ndarray:
        """Length of each sequence, (n,) int64."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> "Sequences":
        """A copy of the chosen sequences, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        positions, offsets = gathered(self.offsets, rows)
        chosen, runs = gathered(self.runs, rows)
        shift = np.repeat(offsets[:-1] - self.offsets[rows], np.diff(runs))
        return replace(
            self,
            letters=self.letters[positions],
            words=np.append(self.words[positions], np.zeros(_motif.PADDING, dtype=np.uint8)),
            contexts=self.contexts[positions],
            opposite=self.opposite[positions] if len(self.opposite) else self.opposite,
            bounds=self.bounds[chosen] + shift[:, None],
            offsets=offsets,
            runs=runs,
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of letters, lengths, labels and costs, in hexadecimal."""
        return digest(self.flat, self.offsets - self.offsets[0], self.labels, self.costs)

    @property
    def flat(self) -> np.ndarray:
        """The letters of these sequences alone, one after another."""
        return self.letters[self.offsets[0] : self.offsets[-1]]

    @property
    def known(self) -> np.ndarray:
        """Whether the label of each sequence is known, (n,) bool."""
        return self.labels != 0

    def site(self, row: int, start: int, length: int, strand: int) -> np.ndarray:
        """Letters of a window as the motif reads them: the reverse complement on strand 1."""
        first = self.offsets[row] + start
        letters = self.letters[first : first + length]
        return 3 - letters[::-1] if strand else letters

    def text(self, row: int, start: int, length: int, strand: int) -> str:
        """The same letters as text."""
        return "".join(LETTERS[letter] for letter in self.site(row, start, length, strand))

    def windows_turned(
        self, starts: np.ndarray, strands: np.ndarray, length: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Windows in the orientation of the file, from windows in the stored one; and back.

        starts, strands : (n, k) windows of each sequence, start -1 where there is none
        """
        moved = self.turned[:, None] & (starts >= 0)
        mirrored = self.sizes[:, None] - length - starts
        return np.where(moved, mirrored, starts), np.where(moved, 1 - strands, strands)

    def nth_window(self, rows: np.ndarray, ranks: np.ndarray, length: int) -> np.ndarray:
        """Start, within its sequence, of the window of the given rank on the given strand.

        rows, ranks : (k,) sequences and, for each, a rank below its number of windows
        """
        before = cumulated(_windows(self.bounds, length))
        positions = before[self.runs[rows]] + ranks
        run = np.searchsorted(before, positions, side="right") - 1
        return self.bounds[run, 0] + positions - before[run] - self.offsets[rows]


class Reading(NamedTuple):
    """How sequences are read.

    order : largest number of context letters of a background feature
    length : letters of a window
    both : whether both strands are read
    empty : whether records without letters are taken
    """

    order: int
    length: int
    both: bool = False
    empty: bool = False


def read_sequences(sources: Sequence[Source], reading: Reading) -> Sequences:
    """The records of FASTA files, in order.

    Raises DataError if a file cannot be read, or if the label of a header is not the one that
    the configuration gives.
    """
    files = [
        read_fasta(source.path, source.limit, given=source.label is not None, empty=reading.empty)
        for source in sources
    ]
    return packed(files, sources, reading)


def sequence_parts(sources: Sequence[Source], reading: Reading) -> Iterator[Sequences]:
    """The records of :func:`read_sequences` in parts, in order. Raises DataError."""
    for number, source in enumerate(sources):
        given = source.label is not None
        for part in fasta_parts(source.path, source.limit, given=given, empty=reading.empty):
            found = packed([part], [source], reading)
            yield replace(
                found,
                files=np.full(len(found), number, dtype=np.int32),
                paths=tuple(source.path for source in sources),
            )


def packed(files: Sequence[Fasta], sources: Sequence[Source], reading: Reading) -> Sequences:
    """The records of files that were read, in order. Raises DataError."""
    order, length, both, _ = reading
    letters = np.concatenate([file.letters for file in files])
    sizes = np.concatenate([np.diff(file.offsets) for file in files])
    offsets = cumulated(sizes)
    turned = np.zeros(len(sizes), dtype=bool)
    opposite = np.empty(0, dtype=np.uint16)
    if both:
        letters, turned = _motif.canonical(letters, offsets)
        opposite = _opposite(letters, offsets, order)
    words, contexts = _motif.index(letters, offsets, order)
    bounds = _runs(letters, offsets)
    runs = np.searchsorted(bounds[:, 0], offsets).astype(np.int64)
    before = cumulated(_windows(bounds, length))
    labels = np.concatenate([_labels(*pair) for pair in zip(sources, files, strict=True)])
    costs = [
        np.where(np.isnan(file.costs), source.cost, file.costs)
        for source, file in zip(sources, files, strict=True)
    ]
    return Sequences(
        letters=letters,
        words=words,
        contexts=contexts,
        opposite=opposite,
        bounds=bounds,
        offsets=offsets,
        runs=runs,
        labels=labels,
        unread=np.concatenate([file.unread for file in files]),
        turned=turned,
        costs=np.concatenate(costs),
        windows=before[runs[1:]] - before[runs[:-1]],
        identifiers=np.concatenate([file.names for file in files]),
        lines=np.concatenate([file.lines for file in files]),
        files=np.repeat(np.arange(len(files), dtype=np.int32), [len(f.lines) for f in files]),
        paths=tuple(source.path for source in sources),
        labelled=bool(np.all(labels)),
    )


def labels_alone(examples: Sequences) -> Sequences:
    """The labels of sequences, without letters and names."""
    names, whole = np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    letters, contexts = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint16)
    return replace(
        examples,
        letters=letters,
        words=letters,
        contexts=contexts,
        opposite=contexts,
        bounds=np.empty((0, 2), dtype=np.int64),
        offsets=whole,
        runs=whole,
        unread=names,
        windows=whole,
        turned=whole.astype(bool),
        identifiers=names,
        lines=whole,
        files=whole.astype(np.int32),
    )


def joined_labels(parts: Sequence[Sequences]) -> Sequences:
    """The labels of several parts that :func:`labels_alone` gave."""
    labels, costs = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "costs")
    )
    lost = sum(part.left_out for part in parts)
    return replace(parts[0], labels=labels, costs=costs, left_out=lost)


def unlabelled(sequences: Sequences, row: int) -> str:
    """What is wrong with a record that needs a label and has none."""
    text = sequences.unread[row]
    return f"has no label (label={text} is not one)" if text else "has no label"


def _opposite(letters: np.ndarray, offsets: np.ndarray, order: int) -> np.ndarray:
    """The background feature of each position on the other strand, (size,) uint16."""
    backwards = letters[::-1]
    complement = np.where(backwards == AMBIGUOUS, AMBIGUOUS, 3 - backwards).astype(np.uint8)
    contexts = _motif.index(complement, offsets[-1] - offsets[::-1], order)[1]
    return np.ascontiguousarray(contexts[::-1])


def _labels(source: Source, file: Fasta) -> np.ndarray:
    """The labels of one file: from the configuration, or from its headers."""
    if source.label is None:
        return file.labels
    if source.label not in ("+1", "1", "-1"):
        message = f"label {source.label!r} in the configuration is not known; expected +1 or -1"
        raise DataError(source.path, None, message)
    given = int(source.label)
    other = np.flatnonzero((file.labels != 0) & (file.labels != given))
    if len(other):
        row = int(other[0])
        message = (
            f"record {file.names[row]!r} has label {file.labels[row]:+d}, the configuration "
            f"gives {given:+d} to its file; expected one label"
        )
        raise DataError(source.path, int(file.lines[row]), message)
    return np.full(len(file.labels), given, dtype=np.int8)


def _runs(letters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Start and end of each maximal run of unambiguous letters within a sequence, (m, 2)."""
    known = letters != AMBIGUOUS
    first = known.copy()
    first[1:] &= ~known[:-1]
    filled = np.diff(offsets) > 0
    starts, ends = offsets[:-1][filled], offsets[1:][filled] - 1
    first[starts] = known[starts]
    last = known.copy()
    last[:-1] &= ~known[1:]
    last[ends] = known[ends]
    return np.column_stack([np.flatnonzero(first), np.flatnonzero(last) + 1]).astype(np.int64)


def _windows(bounds: np.ndarray, length: int) -> np.ndarray:
    return np.maximum(bounds[:, 1] - bounds[:, 0] - length + 1, 0)
