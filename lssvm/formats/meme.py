"""Formats of the MEME suite: minimal motif files (written) and background files (read)."""

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.text import open_text

LETTERS = "ACGT"
_NEVER_SEEN = (
    "a tuple that does not occur needs a pseudocount, as fasta-get-markov -pseudo 1 adds, or a "
    "background file of lower order"
)
_TOLERANCE = 0.02  # of the sum of the frequencies of one length: files give three digits


def write_motif(
    file: IO[str],
    probabilities: np.ndarray,
    background: np.ndarray,
    *,
    name: str,
    alternative: str,
    sites: int,
    both: bool,
) -> None:
    """Write one motif in MEME's minimal format, version 4.

    probabilities : (l, 4), probability of A, C, G, T at each position
    background : (4,), letter frequencies outside of the motif
    name, alternative : the two names of the motif, single words
    sites : number of sites from which the motif was made
    both : whether sites were searched on both strands
    """
    frequencies = " ".join(f"{x} {p:.6f}" for x, p in zip(LETTERS, background, strict=True))
    file.write(f"MEME version 4\n\nALPHABET= {LETTERS}\n\nstrands: {'+ -' if both else '+'}\n\n")
    file.write(f"Background letter frequencies\n{frequencies}\n\nMOTIF {name} {alternative}\n")
    file.write(
        f"letter-probability matrix: alength= 4 w= {len(probabilities)} nsites= {sites} E= 0\n"
    )
    for row in probabilities:
        file.write(" " + "  ".join(f"{p:.6f}" for p in row) + "\n")
    file.write("\n")


def read_background(path: str | Path) -> dict[str, float]:
    """Frequencies of all tuples of up to m + 1 letters, from a background file of order m.

    Each line is a tuple of DNA letters (either case, U counts as T) and its frequency; ``#``
    begins a comment. Raises DataError, with the line, if a line is not of that form or a
    tuple is missing, given twice or without a positive frequency.
    """
    frequencies: dict[str, float] = {}
    first: dict[str, int] = {}
    with open_text(path) as lines:
        for number, line in lines:
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 2:
                message = (
                    f"{line.strip()!r} has {counted(len(words), 'word')}; expected a tuple "
                    "and its frequency"
                )
                raise DataError(path, number, message)
            letters = words[0].upper().replace("U", "T")
            if letters.strip(LETTERS):
                raise DataError(path, number, f"tuple {words[0]!r} is not DNA; expected A, C, G, T")
            if letters in first:
                message = f"tuple {letters!r} is given twice, first on line {first[letters]}"
                raise DataError(path, number, f"{message}; expected it once")
            first[letters] = number
            frequencies[letters] = _frequency(path, number, words[1])
    try:
        return complete_background(frequencies)
    except ValueError as error:
        raise DataError(path, None, error) from None


def _frequency(path: str | Path, number: int, word: str) -> float:
    try:
        value = tokens.finite(word, "frequency")
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        message = (
            f"frequency {tokens.cut(word)!r} cannot be used; expected a number above 0, at most 1"
        )
        raise DataError(path, number, message + (f" ({_NEVER_SEEN})" if value == 0 else ""))
    return value


def complete_background(frequencies: Mapping[str, float]) -> dict[str, float]:
    """The frequencies in order of length, then alphabet.

    Raises ValueError if they are not those of all tuples of 1, 2, …, m + 1 letters, or do
    not sum to 1 for each length.
    """
    longest = max(map(len, frequencies), default=0)
    if not longest:
        raise ValueError("no frequencies; expected those of A, C, G and T at least")
    ordered = {}
    for length in range(1, longest + 1):
        total = 0.0
        for letters in map("".join, itertools.product(LETTERS, repeat=length)):
            if not 0 < frequencies.get(letters, math.nan) <= 1:
                wrong = "has no frequency" if letters not in frequencies else "is not in (0, 1]"
                message = (
                    f"tuple {letters!r} {wrong}; expected all tuples of up to "
                    f"{counted(longest, 'letter')}"
                )
                message += f" ({_NEVER_SEEN})" if frequencies.get(letters) == 0 else ""
                raise ValueError(message)
            ordered[letters] = float(frequencies[letters])
            total += ordered[letters]
        if abs(total - 1) > _TOLERANCE:
            raise ValueError(
                f"the frequencies of tuples of length {length} sum to {total:.4g}; expected 1"
            )
    unknown = [letters for letters in frequencies if letters not in ordered]
    if unknown:
        raise ValueError(f"tuple {unknown[0]!r} is not DNA; expected A, C, G, T")
    return ordered


def log_conditionals(frequencies: Mapping[str, float], order: int) -> np.ndarray:
    """ln p(letter | context) for every context of 0, 1, …, order letters, one after another.

    The result has 4 + 16 + … + 4^(order + 1) entries, those of one context length in
    alphabetical order of context and letter. ``order`` is at most that of the frequencies.
    """
    tables = []
    for length in range(1, order + 2):
        joint = np.array(
            [frequencies["".join(x)] for x in itertools.product(LETTERS, repeat=length)]
        )
        table = joint.reshape(-1, 4)
        tables.append(np.log(table / table.sum(axis=1, keepdims=True)).ravel())
    return np.concatenate(tables)
