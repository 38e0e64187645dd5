"""The words of the OCR data of Kassel and Taskar as examples of ``sequence``.

6,877 handwritten words, 52,152 letters of 16 × 8 pixels, 26 labels, 10 folds; the first letter
of each word, a capital, is left out by the source.
"""

import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lssvm.applications.sequence.examples import SequenceExamples, packed
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import DataError

PIXELS = 128
FOLDS = 10
FILE = "letters.npz"


def load_letters(folder: str | Path, folds: Sequence[int] = range(FOLDS)) -> SequenceExamples:
    """The words of some folds, in the order of the file, with pixels 0 or 1 in dense rows.

    Raises DataError if the file is missing or does not have the expected form.
    """
    path = Path(folder) / FILE
    try:
        with np.load(path, allow_pickle=False) as data:
            pixels, letters = data["pixels"], data["labels"]
            offsets, fold = data["word_offsets"], data["word_fold"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError(path, None, f"cannot be read: {error}; expected OCR letters") from None
    rows = np.flatnonzero(np.isin(fold, list(folds)))
    whole = packed(
        pixels.astype(np.float64),
        [string.ascii_lowercase[letter] for letter in letters],
        offsets,
        Vocabulary(tuple(string.ascii_lowercase), PIXELS),
        paths=(str(path),),
    )
    return whole.take(rows)
