"""Sequences packed for alignment, and how they are read."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.applications.alignment.scoring import Scoring, ungapped
from lssvm.applications.base import Source
from lssvm.applications.packing import Packed, digest
from lssvm.errors import DataError
from lssvm.formats.gapped_fasta import (
    CANDIDATE,
    GAP,
    HOMOLOG,
    NATIVE,
    GappedFasta,
    read_aligned_pairs,
    read_homologs,
)
from lssvm.formats.multiple_alignment import read_multiple
from lssvm.kernels.alignment_arrays import AlignmentArrays
from lssvm.offsets import cumulated, gathered

UNKNOWN = -1
LANES = 8  # pairs of sequences that the kernel works on side by side


@dataclass(frozen=True, eq=False)
class AlignmentExamples(Packed):
    """n examples: a native sequence x, and the candidates z that it is aligned with.

    codes : (letters,) int32 for the kernel; symbols : (letters,) uint8 ASCII
    partners : (letters,) int32, for each letter of an x that of its true candidate that it is
        aligned with, -1 without or where that is not known
    places : (sequences + 1,) where each sequence begins; sequence_names : (sequences,) object
    offsets : (n + 1,) the sequences of each example, its x first
    truth : (n,) int64, which candidate is the true one, from 0; -1 if unknown
    aligned : (n,) bool, whether the alignment with it is known
    """

    KIND: ClassVar = "example"
    OFFSETS: ClassVar = ("offsets",)
    EACH: ClassVar = ("truth", "aligned")

    codes: np.ndarray
    symbols: np.ndarray
    partners: np.ndarray
    places: np.ndarray
    sequence_names: np.ndarray
    offsets: np.ndarray
    truth: np.ndarray
    aligned: np.ndarray

    @cached_property
    def sizes(self) -> np.ndarray:
        """Cells of the alignments of each example, (n,) int64."""
        first = self.places[self.offsets[:-1]]
        own = self.places[self.offsets[:-1] + 1] - first
        return own * (self.places[self.offsets[1:]] - first - own)

    @property
    def together(self) -> int:
        """How many examples the kernel aligns side by side, if each is one pair."""
        return LANES if self.candidates[-1] == len(self) else 1

    @property
    def known(self) -> np.ndarray:
        """Whether the true output of each example is known, (n,) bool."""
        return self.truth >= 0

    @cached_property
    def candidates(self) -> np.ndarray:
        """Where the candidates of each example begin among all of these examples, (n + 1,)."""
        return cumulated(np.diff(self.offsets) - 1)

    @cached_property
    def owners(self) -> np.ndarray:
        """The example of each candidate."""
        return np.repeat(np.arange(len(self)), np.diff(self.candidates))

    @cached_property
    def true_places(self) -> np.ndarray:
        """Which of all candidates is the true one, (n,); of a known truth only."""
        return self.candidates[:-1] + np.maximum(self.truth, 0)

    @cached_property
    def own_places(self) -> np.ndarray:
        """Where each sequence of these examples begins among the letters of all of them."""
        own = self.places[self.offsets[0] : self.offsets[-1] + 1]
        return own - own[0]

    @property
    def own_letters(self) -> slice:
        """The letters of these examples."""
        return slice(int(self.places[self.offsets[0]]), int(self.places[self.offsets[-1]]))

    def pairs(self, chosen: np.ndarray | None = None) -> AlignmentArrays:
        """The candidates with their natives; chosen : which candidates, by default all.

        Sequences are numbered from the first one of these examples.
        """
        if chosen is None:
            chosen = np.arange(self.candidates[-1])
        of = self.owners[chosen]
        x = self.offsets[of] - self.offsets[0]
        z = x + 1 + chosen - self.candidates[of]
        return AlignmentArrays(self.codes[self.own_letters], self.own_places, x, z)

    def true_partners(self, arrays: AlignmentArrays) -> np.ndarray:
        """The partners of the letters of every x of the arrays."""
        positions, _ = gathered(self.own_places, arrays.x)
        return self.partners[self.own_letters][positions]

    def sequence(self, number: int) -> str:
        """The letters of a sequence, numbered as in :meth:`pairs`."""
        places = self.own_places[number : number + 2] + self.own_letters.start
        return self.symbols[places[0] : places[1]].tobytes().decode("ascii")

    def name(self, number: int) -> str:
        """The name of a sequence, numbered as in :meth:`pairs`."""
        return str(self.sequence_names[self.offsets[0] + number])

    def take(self, rows: np.ndarray) -> "AlignmentExamples":
        """A copy of the chosen examples, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        sequences, offsets = gathered(self.offsets, rows)
        letters, places = gathered(self.places, sequences)
        return replace(
            self,
            codes=self.codes[letters],
            symbols=self.symbols[letters],
            partners=self.partners[letters],
            places=places,
            sequence_names=self.sequence_names[sequences],
            offsets=offsets,
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of letters, lengths, outputs and costs, in hexadecimal."""
        first, last = self.offsets[0], self.offsets[-1]
        letters = slice(self.places[first], self.places[last])
        return digest(
            self.codes[letters],
            self.partners[letters],
            self.places[first : last + 1] - self.places[first],
            self.offsets - first,
            self.truth,
            self.aligned,
            self.costs,
        )


@dataclass(frozen=True)
class SequenceFile:
    """Sequences of a file, and which of them are an example.

    symbols, places : letters without gaps; names : (sequences,)
    partners : (letters,); offsets : (n + 1,); truth, aligned, lines, costs : (n,)
    """

    symbols: np.ndarray
    places: np.ndarray
    names: np.ndarray
    partners: np.ndarray
    offsets: np.ndarray
    truth: np.ndarray
    aligned: np.ndarray
    lines: np.ndarray
    costs: np.ndarray
    identifiers: np.ndarray


def read_examples(
    sources: Sequence[Source], scoring: Scoring, task: str, format: str
) -> AlignmentExamples:
    """The examples of files, in order. Raises DataError."""
    files = []
    for source in sources:
        if source.label is not None:
            message = f"label {source.label!r} is given in the configuration; expected none"
            raise DataError(source.path, None, message)
        files.append(_read(source, task, format))
    return packed(files, sources, scoring)


def packed(
    files: Sequence[SequenceFile], sources: Sequence[Source], scoring: Scoring
) -> AlignmentExamples:
    """The examples of files that were read, in order."""
    symbols = np.concatenate([file.symbols for file in files])
    letters = cumulated([len(file.symbols) for file in files])
    sequences = cumulated([len(file.names) for file in files])
    places = np.concatenate(
        [[0], *(file.places[1:] + start for file, start in zip(files, letters[:-1], strict=True))]
    ).astype(np.int64)
    offsets = np.concatenate(
        [
            [0],
            *(file.offsets[1:] + start for file, start in zip(files, sequences[:-1], strict=True)),
        ]
    ).astype(np.int64)
    truth = np.concatenate([file.truth for file in files])
    aligned = np.concatenate([file.aligned for file in files])
    costs = [
        np.where(np.isnan(file.costs), source.cost, file.costs)
        for source, file in zip(sources, files, strict=True)
    ]
    return AlignmentExamples(
        codes=scoring.encoded(symbols, places),
        symbols=symbols,
        partners=np.concatenate([file.partners for file in files]),
        places=places,
        sequence_names=np.concatenate([file.names for file in files]),
        offsets=offsets,
        truth=truth,
        aligned=aligned,
        costs=np.concatenate(costs),
        identifiers=np.concatenate([file.identifiers for file in files]),
        lines=np.concatenate([file.lines for file in files]),
        files=np.repeat(np.arange(len(files), dtype=np.int32), [len(f.lines) for f in files]),
        paths=tuple(source.path for source in sources),
        labelled=bool(np.all(truth >= 0)),
    )


def _read(source: Source, task: str, format: str) -> SequenceFile:
    if task == "homolog":
        return of_homologs(read_homologs(source.path, source.limit))
    if format == "fasta":
        rows = read_aligned_pairs(source.path, source.limit)
        first = np.arange(0, len(rows.names), 2)
        return of_pairs(source.path, rows, first, first + 1)
    rows = read_multiple(source.path, source.limit)
    first, second = _meeting(rows)
    if not len(first):
        message = "no two rows have letters in one column; expected an alignment"
        raise DataError(source.path, None, message)
    letters = int(np.sum(rows.symbols != GAP)) * (len(rows.names) - 1)
    source.limit.check(source.path, 20 * letters, f"all {len(first):,d} pairs of its rows together")
    return of_pairs(source.path, rows, first, second)


def of_homologs(rows: GappedFasta) -> SequenceFile:
    """Examples of natives and their candidates."""
    symbols, places = ungapped(rows.symbols, rows.offsets)
    natives = np.flatnonzero(rows.roles == NATIVE)
    offsets = np.append(natives, len(rows.roles))
    truth = np.full(len(natives), UNKNOWN)
    aligned = np.zeros(len(natives), dtype=bool)
    partners = np.full(len(symbols), -1, dtype=np.int32)
    for i, (first, last) in enumerate(itertools.pairwise(offsets)):
        own = np.flatnonzero(rows.roles[first:last] == HOMOLOG)
        if not len(own) or rows.roles[first + 1] == CANDIDATE:
            continue
        truth[i] = own[0] - 1
        pair = rows.row(int(first)), rows.row(int(first + own[0]))
        if len(pair[0]) == len(pair[1]):
            aligned[i] = True
            partners[places[first] : places[first + 1]] = _partners(*pair)
    names = np.array(rows.names, dtype=object)
    return SequenceFile(
        symbols, places, names, partners, offsets, truth, aligned, rows.lines[natives],
        rows.costs[natives], names[natives],
    )  # fmt: skip


def of_pairs(path: str, rows: GappedFasta, first: np.ndarray, second: np.ndarray) -> SequenceFile:
    """Examples of two rows each."""
    order = np.column_stack([first, second]).ravel()
    letters, starts = ungapped(rows.symbols, rows.offsets)
    positions, places = gathered(starts, order)
    count = len(first)
    aligned = np.diff(rows.offsets)[first] == np.diff(rows.offsets)[second]
    partners = np.full(len(positions), -1, dtype=np.int32)
    for i in np.flatnonzero(aligned).tolist():
        own = _partners(rows.row(int(first[i])), rows.row(int(second[i])))
        if not np.any(own >= 0):
            message = (
                f"rows {rows.names[first[i]]!r} and {rows.names[second[i]]!r} have no letters in "
                "one column; expected some"
            )
            raise DataError(path, int(rows.lines[second[i]]), message)
        partners[places[2 * i] : places[2 * i + 1]] = own
    names = np.array(rows.names, dtype=object)
    pairs = [f"{a} {b}" for a, b in zip(names[first], names[second], strict=True)]
    return SequenceFile(
        letters[positions], places, names[order], partners, 2 * np.arange(count + 1),
        np.where(aligned, 0, UNKNOWN), aligned, rows.lines[first], rows.costs[first],
        np.array(pairs, dtype=object),
    )  # fmt: skip


def _meeting(rows: GappedFasta) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of rows of a multiple alignment that have letters in one column at least."""
    letters = (rows.symbols != GAP).reshape(len(rows.names), -1).astype(np.float32)
    first, second = np.nonzero(np.triu(letters @ letters.T, 1))
    return first, second


def _partners(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """For each letter of a row the letter of the other one in its column, or -1."""
    of_x, of_z = x != GAP, z != GAP
    place = np.cumsum(of_z) - 1
    return np.where(of_z, place, -1)[of_x].astype(np.int32)
