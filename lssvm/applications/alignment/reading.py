"""Examples of alignment from files, whole or in parts."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.scoring import Scoring, ungapped
from lssvm.applications.base import Source
from lssvm.errors import DataError, counted
from lssvm.formats.gapped_fasta import (
    CANDIDATE,
    GAP,
    HOMOLOG,
    NATIVE,
    GappedFasta,
    aligned_pair_parts,
    homolog_parts,
    read_aligned_pairs,
    read_homologs,
)
from lssvm.formats.multiple_alignment import read_multiple
from lssvm.offsets import cumulated, gathered

UNKNOWN = -1
PART = 2_000_000  # letters of a part of the pairs of a multiple alignment


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
    files = [(number, _read(source, task, format)) for number, source in enumerate(sources)]
    return packed(files, sources, scoring)


def read_example_parts(
    sources: Sequence[Source], scoring: Scoring, task: str, format: str
) -> Iterator[AlignmentExamples]:
    """The examples of :func:`read_examples` in parts. Raises DataError."""
    for number, source in enumerate(sources):
        for file in _read_parts(source, task, format):
            yield packed([(number, file)], sources, scoring)


def packed(
    numbered: Sequence[tuple[int, SequenceFile]], sources: Sequence[Source], scoring: Scoring
) -> AlignmentExamples:
    """The examples of files, each with the number of its source."""
    files = [file for _, file in numbered]
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
    costs = [
        np.where(np.isnan(file.costs), sources[number].cost, file.costs)
        for number, file in numbered
    ]
    counts = [len(file.lines) for file in files]
    return AlignmentExamples(
        codes=scoring.encoded(symbols, places),
        symbols=symbols,
        partners=np.concatenate([file.partners for file in files]),
        places=places,
        sequence_names=np.concatenate([file.names for file in files]),
        offsets=offsets,
        truth=truth,
        aligned=np.concatenate([file.aligned for file in files]),
        costs=np.concatenate(costs),
        identifiers=np.concatenate([file.identifiers for file in files]),
        lines=np.concatenate([file.lines for file in files]),
        files=np.repeat(np.array([number for number, _ in numbered], dtype=np.int32), counts),
        paths=tuple(source.path for source in sources),
        labelled=bool(np.all(truth >= 0)),
    )


def _check_source(source: Source) -> None:
    if source.label is not None:
        message = f"label {source.label!r} is given in the configuration; expected none"
        raise DataError(source.path, None, message)


def _read(source: Source, task: str, format: str) -> SequenceFile:
    _check_source(source)
    if task == "homolog":
        return of_homologs(read_homologs(source.path, source.limit))
    if format == "fasta":
        return _in_turn(source.path, read_aligned_pairs(source.path, source.limit))
    rows, first, second = _multiple(source)
    letters = int(np.sum(rows.symbols != GAP)) * (len(rows.names) - 1)
    pairs = f"the set of {counted(len(first), 'pair')} of its rows"
    source.limit.check(source.path, 20 * letters, pairs)
    return of_pairs(source.path, rows, first, second)


def _read_parts(source: Source, task: str, format: str) -> Iterator[SequenceFile]:
    """The same in parts; the rows of a multiple alignment are kept, not its pairs."""
    _check_source(source)
    if task == "homolog":
        yield from map(of_homologs, homolog_parts(source.path, source.limit))
    elif format == "fasta":
        for rows in aligned_pair_parts(source.path, source.limit):
            yield _in_turn(source.path, rows)
    else:
        rows, first, second = _multiple(source)
        sizes = np.diff(ungapped(rows.symbols, rows.offsets)[1])
        letters = np.cumsum(sizes[first] + sizes[second])
        ends = np.flatnonzero(np.diff(letters // PART)) + 1
        for begin, end in itertools.pairwise([0, *ends.tolist(), len(first)]):
            yield of_pairs(source.path, rows, first[begin:end], second[begin:end])


def _multiple(source: Source) -> tuple[GappedFasta, np.ndarray, np.ndarray]:
    """The rows of a multiple alignment, and the pairs of rows that are examples."""
    rows = read_multiple(source.path, source.limit)
    first, second = _meeting(rows)
    if not len(first):
        message = "no two rows have letters in one column; expected an alignment"
        raise DataError(source.path, int(rows.lines[0]), message)
    return rows, first, second


def _in_turn(path: str, rows: GappedFasta) -> SequenceFile:
    """Each two rows that follow each other."""
    first = np.arange(0, len(rows.names), 2)
    return of_pairs(path, rows, first, first + 1)


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
