"""DNA sequences that are given in memory."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.given import MEMORY, costs_of, lengths_of, numbered
from lssvm.applications.motif.sequences import Reading, Sequences, packed
from lssvm.errors import LssvmError, counted
from lssvm.formats.fasta import Fasta, letters_of

_SIGNS = {"+1": 1, "1": 1, "1.0": 1, "True": 1, "-1": -1, "-1.0": -1, "False": -1, "None": 0}


class FromTexts:
    """Examples from texts, packed as the records of a file are."""

    @property
    @abstractmethod
    def _reading(self) -> Reading:
        """How sequences are read."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> Sequences:
        """The sequences that are given in memory, packed as those of files are.

        X : n sequences: strings, or objects of Biopython (Seq, SeqRecord)
        y : (n,) labels, +1 or -1, or truth values; None, in it or instead of it: not known
        costs : (n,) the costs c_i of the sequences, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> settings = {"application": {"name": "motif", "length": 3}}
        >>> application = Config.from_dict(settings).create_application()
        >>> examples = application.examples_from(["ACGTN", "ttga"], [+1, -1])
        >>> examples.letters, examples.offsets
        (array([0, 1, 2, 3, 4, 3, 3, 2, 0], dtype=uint8), array([0, 5, 9]))
        >>> examples.labels, examples.windows
        (array([ 1, -1], dtype=int8), array([2, 2]))
        """
        letters = [_letters(row, sequence) for row, sequence in enumerate(X, 1)]
        n = len(letters)
        if not n:
            raise LssvmError("X: no sequences; expected at least one")
        bare = next((row for row, own in enumerate(letters, 1) if not len(own)), None)
        reading = self._reading
        if bare is not None and not reading.empty:
            raise LssvmError(f"X: sequence {bare} has no letters; expected some")
        names = np.empty(n, dtype=object)
        names[:] = [str(number) for number in range(1, n + 1)]
        unread = np.empty(n, dtype=object)
        unread[:] = ""
        file = Fasta(
            names=names,
            descriptions=("",) * n,
            lines=numbered(n),
            letters=np.concatenate(letters),
            offsets=lengths_of(letters),
            labels=_labels(y, n),
            unread=unread,
            costs=costs_of(costs, n),
        )
        return packed([file], [MEMORY], reading)


def _letters(row: int, sequence: Any) -> np.ndarray:
    """The letters of one sequence. Raises LssvmError."""
    text = getattr(sequence, "seq", sequence)
    if not isinstance(text, str) and not hasattr(text, "translate"):
        raise LssvmError(f"X: sequence {row} is {text!r:.40}; expected text")
    try:
        return letters_of(str(text))
    except ValueError as error:
        raise LssvmError(f"X: sequence {row}: {error}") from None


def _labels(y: Sequence[Any] | None, n: int) -> np.ndarray:
    """The labels, (n,) int8, 0 where they are not known. Raises LssvmError."""
    if y is None:
        return np.zeros(n, dtype=np.int8)
    values = list(y)
    if len(values) != n:
        raise LssvmError(
            f"{counted(len(values), 'label')} for {counted(n, 'sequence')}; expected one for each"
        )
    wrong = next((value for value in values if str(value) not in _SIGNS), None)
    if wrong is not None:
        raise LssvmError(f"y: label {wrong!r:.40}; expected +1 or -1")
    return np.array([_SIGNS[str(value)] for value in values], dtype=np.int8)
