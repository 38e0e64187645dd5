"""Scores of alignments, or of scores of candidates, that were written to a file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.alignment import inference
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.reading import Source
from lssvm.applications.written import Scores, Written, WrittenScorer, as_score, read_table
from lssvm.errors import DataError, counted


class AlignmentWritten(WrittenScorer[AlignmentExamples, Any]):
    """Candidates by their scores: a homolog and decoys."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A table with the columns native, candidate and score, in the order of the input."""
        examples: AlignmentExamples = self.read(sources)  # type: ignore[attr-defined]
        if self.options.task != "homolog":  # type: ignore[attr-defined]
            wrong = "application.task: pairs has no scores of candidates"
            raise DataError(path, None, f"{wrong}; expected task: homolog, or lssvm-classify")
        if not np.all(examples.truth >= 0):
            raise DataError(sources[0].path, None, "a native has no homolog; expected one")
        values = _values(path, examples)
        own = values[examples.true_places][examples.owners]
        starts = examples.candidates[:-1]
        above = np.add.reduceat(values > own, starts, dtype=np.int64)
        equal = np.add.reduceat(values == own, starts, dtype=np.int64) - 1
        ranks = 1.0 + above + equal / 2.0
        first = inference.highest(values, examples.candidates)
        losses = (first != examples.true_places).astype(np.float64)
        counts = np.column_stack([losses, ranks])

        def metrics(sums: np.ndarray, count: int) -> Scores:
            error = 100.0 * float(sums[0]) / count
            return {
                "error": error,
                "accuracy": 100.0 - error,
                "mean_rank": float(sums[1]) / count,
            }

        names = [examples.name(int(first)) for first in examples.offsets[:-1]]
        return Written(names, "native", counts, metrics, {"rank": ranks.tolist()})


def _values(path: str, examples: AlignmentExamples) -> np.ndarray:
    """The score of every candidate. Raises DataError."""
    count = int(examples.candidates[-1])
    values: list[float] = []
    for number, (native, candidate, score) in read_table(path, ("native", "candidate", "score")):
        if len(values) < count:
            owner = int(examples.owners[len(values)])
            first = int(examples.offsets[owner])
            place = first + 1 + len(values) - int(examples.candidates[owner])
            wanted = examples.name(first), examples.name(place)
            if (native, candidate) != wanted:
                told = f"is about {candidate!r} of {native!r}"
                raise DataError(path, number, f"{told}; expected {wanted[1]!r} of {wanted[0]!r}")
        values.append(as_score(path, number, score))
    if len(values) != count:
        wrong = f"has {counted(len(values), 'score')}; expected {count:,d}, one for each candidate"
        raise DataError(path, None, wrong)
    return np.array(values)
