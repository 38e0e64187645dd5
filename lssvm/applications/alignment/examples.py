"""Sequences packed for alignment."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.packing import Packed, digest
from lssvm.kernels.alignment_arrays import AlignmentArrays
from lssvm.offsets import cumulated, gathered

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

    @property
    def shares(self) -> np.ndarray:
        """Where examples of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

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
