"""Alignment of sequences with learnt scores of substitutions and gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.applications.alignment.alignment_output import aligned_rows
from lssvm.estimators.base import Hidden, refused_as_value_error
from lssvm.estimators.lists import Measured
from lssvm.estimators.watching import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class Aligner(Measured, Hidden):
    """Learns scores by which the best alignment is the true one, or the homolog ranks first.

    Parameters
    ----------
    task : pairs, the alignment of two sequences is the output; homolog: which candidate is the
        homolog of a native
    alphabet : protein, dna, or the letters themselves
    mode : local or global; free_ends : a gap at an end costs nothing
    gaps : affine or linear
    prior : none, or a matrix that is added to all scores: its name, such as BLOSUM62, or the
        scores by letter and letter
    shift : task pairs: a letter counts as rightly aligned at most so many letters from its partner
    model : ssvm, with given alignments; lssvm: task homolog, alignments are hidden

    For the others see ``Hidden`` and ``Structured``.

    Examples
    --------
    >>> from lssvm.estimators import Aligner
    >>> X, y = [("ACGTT", "ACTT")], [("ACGTT", "AC-TT")]
    >>> aligner = Aligner(alphabet="dna", mode="global", C=10).fit(X, y)
    >>> aligner.predict(X)
    [('ACGTT', 'AC-TT')]
    """

    task: str = "pairs"
    alphabet: str = "protein"
    mode: str = "local"
    free_ends: bool = False
    gaps: str = "affine"
    prior: str | Mapping[str, Mapping[str, float]] = "none"
    shift: int = 0
    model: str = "ssvm"

    _application: ClassVar[str] = "alignment"
    _kinds = ("string",)
    _own = ("task", "alphabet", "mode", "free_ends", "gaps", "prior", "shift")

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn scores.

        X : n pairs of sequences; with ``task="homolog"`` n pairs of a native and the list of its
            candidates. Sequences are strings, or objects of Biopython
        y : n pairs of aligned rows, strings with gaps; with ``task="homolog"`` which candidate is
            the homolog, from 0, or a tuple of that and the pair of aligned rows
        sample_weight : (n,) the costs of the examples, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        self._train(callback, X, y, costs=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> Any:
        """The aligned rows of each pair; with ``task="homolog"`` the best candidates, (n,)."""
        if self.task == "homolog":
            return self._classified(self._examples(X)).chosen
        return self.align(X)

    def align(self, X: Sequence[Any]) -> list[tuple[str, str]]:
        """The best alignment of each pair, or of each native with its best candidate."""
        examples = self._examples(X)
        found = self._classified(examples).found
        return [aligned_rows(examples, found, row)[:2] for row in range(len(examples))]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of truly aligned pairs that are found (Q), or of homologs that rank first."""
        found = self.metrics(X, y)
        if self.task == "homolog":
            return float(found["accuracy"] or 0.0) / 100.0
        return float(found["q_score"] or 0.0)

    @property
    def substitution_(self) -> np.ndarray:
        """The scores of pairs of letters, in the order of the alphabet, (letters, letters)."""
        scoring = self._fitted.scoring
        table: np.ndarray = scoring.scores(self.model_.w)[0][: scoring.size, : scoring.size]
        return table

    def to_matrix(self, path: str | Path) -> None:
        """Write the scores as a rounded matrix in the format of BLAST. Raises ValueError."""
        application = self._fitted
        with refused_as_value_error():
            application.exports["matrix"](self.model_.w, self.model_.arrays, path)
