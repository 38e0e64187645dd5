"""Substitution matrices: the text format of BLAST, and matrices that Biopython knows by name.

``#`` begins a comment. The first line has the letters of the columns; then there is one line for
each letter: itself, and its score with each of the columns.

    #  comment
       A  C  G
    A  2 -1 -1
    C -1  3 -2
    G -1 -2  2
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from lssvm.errors import DataError, LssvmError, MissingExtraError, counted, nearest
from lssvm.formats import tokens
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

Matrix = Mapping[str, Mapping[str, float]]  # the score of a letter of x with one of z


def read_blast_matrix(path: str | Path, limit: Limit = DEFAULT) -> dict[str, dict[str, float]]:
    """The scores of a file, by the letter of the row and that of the column.

    Raises DataError, with the line, for letters that are not single or given twice, rows of
    another length, and scores that are not finite.
    """
    columns: list[str] = []
    first = 0  # the line of the columns
    rows: dict[str, dict[str, float]] = {}
    with open_text(path, limit) as lines:
        for number, line in lines:
            words = line.partition("#")[0].split()
            try:
                if words and not columns:
                    columns, first = _letters(words), number
                elif words:
                    rows[words[0]] = _row(words, columns, rows)
            except ValueError as error:
                raise DataError(path, number, error) from None
    if not columns:
        raise DataError(path, None, "no letters; expected a line that names the columns")
    missing = [letter for letter in columns if letter not in rows]
    if missing:
        raise DataError(
            path, first, f"no row of letter {missing[0]!r}; expected one for each column"
        )
    return rows


def _letters(words: list[str]) -> list[str]:
    for word in words:
        if len(word) != 1:
            raise ValueError(f"{tokens.cut(word)!r} is not a letter; expected the columns' letters")
    letters = [word.upper() for word in words]
    twice = next((letter for letter in letters if letters.count(letter) > 1), None)
    if twice:
        raise ValueError(f"letter {twice!r} is given twice; expected distinct letters")
    return letters


def _row(
    words: list[str], columns: list[str], rows: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    letter, *scores = words
    words[0] = letter = letter.upper()
    if letter not in columns:
        raise ValueError(f"row {tokens.cut(letter)!r} has no column; expected a letter that has")
    if letter in rows:
        raise ValueError(f"letter {letter!r} has a row already; expected one row for each letter")
    if len(scores) != len(columns):
        raise ValueError(f"{counted(len(scores), 'score')} of {letter!r}; expected {len(columns)}")
    values = [tokens.finite(word, "score") for word in scores]
    return dict(zip(columns, values, strict=True))


def named_matrix(name: str) -> dict[str, dict[str, float]]:
    """The scores of a matrix that Biopython knows, such as BLOSUM62.

    Raises LssvmError for an unknown name, MissingExtraError without Biopython.
    """
    try:
        from Bio.Align import substitution_matrices
    except ImportError:
        raise MissingExtraError(f"matrix {name}", "Biopython", "bio") from None
    known = substitution_matrices.load()
    if name not in known:
        near = nearest(name, known)
        raise LssvmError(f"matrix {name!r} is not known{near} (known: {', '.join(known)})")
    matrix = substitution_matrices.load(name)
    letters = str(matrix.alphabet) if isinstance(matrix.alphabet, str) else "".join(matrix.alphabet)
    return {a: {b: float(matrix[a, b]) for b in letters} for a in letters}


def write_blast_matrix(
    file: IO[str], letters: str, scores: np.ndarray, comments: Sequence[str]
) -> None:
    """Write whole numbers (letters, letters) in the format, after lines of comments."""
    for comment in comments:
        file.write(f"# {comment}\n")
    width = max(2, *(len(str(score)) for score in np.asarray(scores).ravel().tolist()))
    file.write(" " + "".join(f" {letter:>{width}}" for letter in letters) + "\n")
    for letter, row in zip(letters, np.asarray(scores).tolist(), strict=True):
        file.write(letter + "".join(f" {score:>{width}d}" for score in row) + "\n")
