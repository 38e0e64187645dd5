"""Features of alignments that are given by the partner of each letter.

An alignment of x and z is a set of pairs, here an array with the letter of z, or -1, for each
letter of x; the letters of z increase.
"""

from dataclasses import dataclass

import numpy as np

from lssvm.kernels import _alignment
from lssvm.kernels.alignment_arrays import AlignmentArrays


@dataclass(frozen=True)
class Counts:
    """What k alignments are made of.

    rows : (m,) the alignment of each pair of letters, increasing; pairs : (m,) code of x times the
        number of codes plus code of z
    gaps : (k, 2) float64, numbers of gaps, and of their letters after the first one
    """

    rows: np.ndarray
    pairs: np.ndarray
    gaps: np.ndarray


def counted(
    arrays: AlignmentArrays,
    partners: np.ndarray,
    model: tuple[float, float, int],
    codes: int,
    given: np.ndarray | bool = False,
) -> Counts:
    """What the alignments of all pairs of sequences are made of.

    partners : (letters of every x,), one pair of sequences after another
    model : as in ``_alignment.best``
    codes : number of codes
    given : (p,) with free ends, whether the shorter of two gaps at an end counts and the longer
        one is free, whatever they score; else the one that scores more counts, as in the kernel
    """
    sizes, starts = arrays.sizes, arrays.starts
    count = len(sizes)
    places = np.flatnonzero(partners >= 0)
    rows = np.searchsorted(starts, places, side="right") - 1
    i, j = places - starts[rows], partners[places].astype(np.int64)
    x = arrays.codes[arrays.places[arrays.x[rows]] + i].astype(np.int64)
    z = arrays.codes[arrays.places[arrays.z[rows]] + j]
    inside = np.flatnonzero(rows[1:] == rows[:-1])
    gaps = np.zeros((count, 2))
    for of in (i, j):
        _add(gaps, rows[inside], of[inside + 1] - of[inside] - 1)
    firsts = np.searchsorted(rows, np.arange(count))
    lasts = np.searchsorted(rows, np.arange(count), side="right") - 1
    some = np.flatnonzero(lasts >= firsts)
    none = np.flatnonzero(lasts < firsts)
    every = np.arange(count)
    before = np.column_stack([i[firsts[some]], j[firsts[some]]])
    after = sizes[some] - 1 - np.column_stack([i[lasts[some]], j[lasts[some]]])
    if model[2] == _alignment.GLOBAL:
        for of in (0, 1):
            _add(gaps, some, before[:, of])
            _add(gaps, some, after[:, of])
            _add(gaps, every[none], sizes[none, of])
    elif model[2] == _alignment.FREE:
        fixed = np.broadcast_to(given, count)[some]
        _add(gaps, some, _charged(before, model, fixed))
        _add(gaps, some, _charged(after, model, fixed))
    return Counts(rows, x * codes + z, gaps)


def _add(gaps: np.ndarray, rows: np.ndarray, letters: np.ndarray) -> None:
    """Count gaps of so many letters, 0 where there is none."""
    found = letters > 0
    size = len(gaps)
    gaps[:, 0] += np.bincount(rows[found], minlength=size)
    gaps[:, 1] += np.bincount(rows[found], weights=letters[found] - 1.0, minlength=size)


def _charged(ends: np.ndarray, model: tuple[float, float, int], fixed: np.ndarray) -> np.ndarray:
    """Letters of the gap that counts of the two at an end; 0 where there are not two."""
    scores = np.where(ends > 0, model[0] + (ends - 1.0) * model[1], 0.0)
    chosen = np.where(scores[:, 0] >= scores[:, 1], ends[:, 0], ends[:, 1])
    chosen = np.where(fixed, ends.min(axis=1), chosen)
    return np.where(np.all(ends > 0, axis=1), chosen, 0)
