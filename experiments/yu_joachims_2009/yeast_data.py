"""Yeast origins of replication (ARS) and intergenic DNA as sequences of equal length.

The module reads two FASTA files with the fields ``chr``, ``start`` and ``end`` (counted from 1,
both inclusive) in their headers:

- ``ars_R64.fa``: the ARS of the S. cerevisiae genome, forward strand
- ``intergenic_R64.fa.gz``: regions without a feature, with the flag
  ``sgd_ars_within_100bp`` and, where it is known, ``oridb_within_500bp``

Of every ARS of at least 240 bases, the middle 240 are taken; annotated sites are not used. Of every
intergenic region of at least 240 bases that is not flagged, 240 bases at a random position are
taken. Repeats are left out, so that no copy of a test sequence is used for training: a crop is
dropped if more than a quarter of its 16-mers, on either strand, occur in crops kept before.

As a script, the module writes the small data set that is shipped; for that it does not use
``oridb_within_500bp``:

    python -m experiments.yu_joachims_2009.yeast_data --data FOLDER --out data/motif
"""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, LssvmError
from lssvm.formats.fasta import read_fasta
from lssvm.output.tables import make_folder
from lssvm.simulation.background import AMBIGUOUS
from lssvm.simulation.dna import spelled, write_fasta

ARS_FILE = "ars_R64.fa"
INTERGENIC_FILE = "intergenic_R64.fa.gz"
LENGTH = 240
REPEAT_WORD = 16
REPEAT_SHARE = 0.25
TEST_SHARE = 1 / 3
NEGATIVES_PER_ARS = 2


@dataclass(frozen=True)
class Crops:
    """Sequences of LENGTH bases each.

    names : n names
    places : n texts such as ``chr=1 start=708 end=947``
    codes : (n, LENGTH) uint8, A, C, G, T = 0..3
    """

    names: list[str]
    places: list[str]
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: Iterable[int]) -> "Crops":
        """The chosen crops, in the order of ``rows``."""
        chosen = [int(row) for row in rows]
        return Crops(
            [self.names[i] for i in chosen], [self.places[i] for i in chosen], self.codes[chosen]
        )


def yeast_crops(
    folder: Path, rng: np.random.Generator, *, away_from: Iterable[str]
) -> tuple[Crops, Crops]:
    """The ARS crops and the intergenic crops, in the order of the files, without repeats.

    away_from : names of the flags that must be 0 in an intergenic header

    Raises DataError if a file cannot be read or a header lacks a field.
    """
    ars = _crops(folder / ARS_FILE, (), None)
    intergenic = _crops(folder / INTERGENIC_FILE, tuple(away_from), rng)
    seen: set[int] = set()
    return _without_repeats(ars, seen), _without_repeats(intergenic, seen)


def _crops(path: Path, flags: tuple[str, ...], rng: np.random.Generator | None) -> Crops:
    """One crop of every record that is long enough: its middle, or at random if rng is given."""
    records = read_fasta(path)
    names, places, rows = [], [], []
    for i, description in enumerate(records.descriptions):
        fields = dict(word.partition("=")[::2] for word in description.split())
        missing = [name for name in ("chr", "start", *flags) if name not in fields]
        if missing or not fields["start"].isdecimal():
            wanted = missing[0] if missing else "start"
            message = f"no '{wanted}=' with a value in the header of {records.names[i]!r}"
            raise DataError(path, int(records.lines[i]), message)
        first, last = records.offsets[i], records.offsets[i + 1]
        spare = int(last - first) - LENGTH
        if spare < 0 or any(fields[flag] != "0" for flag in flags):
            continue
        shift = spare // 2 if rng is None else int(rng.integers(spare + 1))
        row = records.letters[first + shift : first + shift + LENGTH]
        if (row >= AMBIGUOUS).any():
            continue
        start = int(fields["start"]) + shift
        names.append(records.names[i])
        places.append(f"chr={fields['chr']} start={start} end={start + LENGTH - 1}")
        rows.append(row)
    return Crops(names, places, np.array(rows, dtype=np.uint8).reshape(-1, LENGTH))


def _without_repeats(crops: Crops, seen: set[int]) -> Crops:
    """The crops that are no repeats; their words are added to ``seen``."""
    kept = []
    for i, row in enumerate(crops.codes):
        words = _words(row)
        if sum(word in seen for word in words) <= REPEAT_SHARE * len(words):
            kept.append(i)
            seen.update(words)
    return crops.take(kept)


def _words(row: np.ndarray) -> list[int]:
    """The 16-mers of a sequence as numbers, each the smaller one of its two strands."""
    count = len(row) - REPEAT_WORD + 1
    given, other = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for j in range(REPEAT_WORD):
        given = 4 * given + row[j : j + count]
        other = other + ((3 - row[j : j + count].astype(np.int64)) << (2 * j))
    return np.minimum(given, other).tolist()


def write_crops(path: Path, crops: Crops) -> None:
    """Write the crops as FASTA, with their places in the headers."""
    headers = [f"{name} {place}" for name, place in zip(crops.names, crops.places, strict=True)]
    write_fasta(path, zip(headers, spelled(crops.codes), strict=True))


def write_shipped(data: Path, out: Path, seed: int) -> list[str]:
    """Choose, split and write: a third for testing, and two intergenic crops for each ARS.

    Returns a line for each file. Raises DataError like :func:`yeast_crops`.
    """
    lines = []
    rng = np.random.default_rng(seed)
    ars, intergenic = yeast_crops(data, rng, away_from=("sgd_ars_within_100bp",))
    make_folder(out)
    for name, crops, count in (
        ("ars", ars, len(ars)),
        ("intergenic", intergenic, NEGATIVES_PER_ARS * len(ars)),
    ):
        order = rng.permutation(len(crops))[:count]
        test = round(TEST_SHARE * count)
        for suffix, rows in (("-test", order[:test]), ("", order[test:])):
            write_crops(out / f"{name}{suffix}.fa", crops.take(np.sort(rows)))
            lines.append(f"{name}{suffix}.fa: {len(rows)} sequences")
    return lines


def main() -> None:
    """The command line of the script."""
    parser = argparse.ArgumentParser(description="Write the yeast data set that is shipped.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the two FASTA files")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument(
        "--seed", type=int, default=0, help="random seed of the choice (default: 0)"
    )
    options = parser.parse_args()
    try:
        print("\n".join(write_shipped(options.data, options.out, options.seed)))
    except LssvmError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
