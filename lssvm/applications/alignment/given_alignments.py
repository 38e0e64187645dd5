"""Sequences and alignments that are given in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.reading import (
    UNKNOWN,
    SequenceFile,
    of_homologs,
    of_pairs,
    packed,
)
from lssvm.applications.alignment.scoring import Scoring
from lssvm.applications.given import MEMORY, costs_of, lengths_of
from lssvm.errors import LssvmError, counted
from lssvm.formats.gapped_fasta import (
    CANDIDATE,
    DECOY,
    GAP,
    HOMOLOG,
    NATIVE,
    GappedFasta,
    encoded,
)


class _Example(NamedTuple):
    """One example: its rows, the native first, which is the true one, whether it is aligned."""

    rows: list[np.ndarray]
    truth: int
    aligned: bool


class FromSequences:
    """Examples from texts, packed as the records of a file are."""

    options: Any
    scoring: Scoring

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> AlignmentExamples:
        """The sequences that are given in memory, packed as those of files are.

        X : n pairs. With ``task: pairs`` those of two sequences; with ``task: homolog`` those of a
            native and the list of its candidates. Sequences are strings, or objects of Biopython
        y : n outputs; None, in it or instead of it: not known. With ``task: pairs`` an output is
            the pair of the aligned rows, strings with gaps; with ``task: homolog`` it is which
            candidate is the homolog, from 0, or a tuple of that and the pair of aligned rows
        costs : (n,) the costs c_i of the examples, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> settings = {"name": "alignment", "task": "pairs", "alphabet": "dna"}
        >>> config = Config.from_dict({"application": settings, "objective": {"model": "ssvm"}})
        >>> application = config.create_application()
        >>> examples = application.examples_from([("ACGT", "AGT")], [("ACGT", "A-GT")])
        >>> examples.partners[:4], examples.aligned
        (array([ 0, -1,  1,  2], dtype=int32), array([ True]))
        """
        if not len(X):
            raise LssvmError("X: no examples; expected at least one")
        if y is not None and len(y) != len(X):
            raise LssvmError(
                f"y has {counted(len(y), 'output')}, X has {len(X):,d}; expected as many"
            )
        known = [None] * len(X) if y is None else y
        pairs = self.options.task == "pairs"
        make = _pair if pairs else _natives
        examples = [make(*row) for row in zip(range(1, len(X) + 1), X, known, strict=True)]
        file = _file(examples, costs_of(costs, len(X)), pairs)
        return packed([(0, file)], [MEMORY], self.scoring)


def _row(number: int, sequence: Any) -> np.ndarray:
    """The symbols of a sequence or of a row. Raises LssvmError."""
    text = getattr(sequence, "seq", sequence)
    if not isinstance(text, str) and not hasattr(text, "translate"):
        raise LssvmError(f"X: example {number} has the sequence {text!r:.40}; expected text")
    found = encoded(MEMORY.path, number, str(text)) if len(text) else np.empty(0, np.uint8)
    if np.all(found == GAP):
        raise LssvmError(f"X: example {number} has a sequence without letters; expected some")
    return found


def _sequence(number: int, sequence: Any) -> np.ndarray:
    row = _row(number, sequence)
    if np.any(row == GAP):
        raise LssvmError(f"X: example {number} has a sequence with gaps; expected none")
    return row


def _aligned(number: int, rows: Any, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The two rows of an alignment of two sequences. Raises LssvmError."""
    found = [_row(number, row) for row in rows]
    if len(found) != 2 or len(found[0]) != len(found[1]):
        sizes = " and ".join(str(len(row)) for row in found)
        raise LssvmError(f"y: example {number} has rows of {sizes} symbols; expected two equal")
    for row, sequence in zip(found, sequences, strict=True):
        if not np.array_equal(row[row != GAP], sequence):
            raise LssvmError(
                f"y: example {number} has a row of other letters than its sequence in X"
            )
    return found


def _pair(number: int, given: Any, rows: Any) -> _Example:
    """Two sequences, and their alignment if it is known."""
    if isinstance(given, str) or len(given) != 2:
        raise LssvmError(f"X: example {number} is {given!r:.40}; expected two sequences")
    sequences = [_sequence(number, own) for own in given]
    if rows is None:
        return _Example(sequences, UNKNOWN, False)
    return _Example(_aligned(number, rows, sequences), 0, True)


def _natives(number: int, given: Any, output: Any) -> _Example:
    """A native and its candidates; which is the homolog, and their alignment, if known."""
    if isinstance(given, str) or len(given) != 2 or isinstance(given[1], str) or not len(given[1]):
        raise LssvmError(
            f"X: example {number} is {given!r:.40}; expected (native, list of candidates)"
        )
    rows = [_sequence(number, own) for own in (given[0], *given[1])]
    truth, alignment = output if isinstance(output, tuple) else (output, None)
    if truth is None:
        return _Example(rows, UNKNOWN, False)
    if not 0 <= int(truth) < len(rows) - 1:
        raise LssvmError(
            f"y: example {number} has the homolog {truth}; expected 0 to {len(rows) - 2}"
        )
    place = int(truth) + 1
    if alignment is not None:
        rows[0], rows[place] = _aligned(number, alignment, (rows[0], rows[place]))
    return _Example(rows, int(truth), alignment is not None)


def _file(examples: Sequence[_Example], costs: np.ndarray, pairs: bool) -> SequenceFile:
    """The examples as a file has them. Rows of one length are aligned only where that is known."""
    rows = [row for example in examples for row in example.rows]
    counts = [len(example.rows) for example in examples]
    first = np.cumsum([0, *counts[:-1]])
    of_row = np.repeat(np.arange(1, len(examples) + 1), counts)
    roles = np.full(len(rows), DECOY, dtype=np.int8)
    for start, count, example in zip(first.tolist(), counts, examples, strict=True):
        if example.truth == UNKNOWN:
            roles[start : start + count] = CANDIDATE
        else:
            roles[start + 1 + example.truth] = HOMOLOG
        roles[start] = NATIVE
    of_example = np.zeros(len(rows))
    of_example[first] = costs
    names = tuple(f"{n}.{k}" for n, count in enumerate(counts, 1) for k in range(count))
    found = GappedFasta(
        names, ("",) * len(rows), of_row, np.concatenate(rows), lengths_of(rows), roles, of_example
    )
    file = of_pairs(MEMORY.path, found, first, first + 1) if pairs else of_homologs(found)
    aligned = np.array([example.aligned for example in examples])
    known = np.repeat(np.repeat(aligned, counts), np.diff(file.places))
    return replace(
        file,
        aligned=aligned,
        truth=np.array([example.truth for example in examples]),
        partners=np.where(known, file.partners, -1).astype(np.int32),
    )
