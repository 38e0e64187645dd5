"""Sequences to align in files that are read apart, wherever they lie."""

from abc import abstractmethod

import numpy as np

from lssvm.applications import base
from lssvm.applications.alignment import alignment_output, inference
from lssvm.applications.alignment.alignment_output import Predictions
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.scoring import Scoring
from lssvm.applications.apart import Ask, Here, LearnsNothing
from lssvm.kernels import _alignment
from lssvm.plane import Plane


class AlignmentsApart(
    base.Application[AlignmentExamples, Predictions], LearnsNothing[AlignmentExamples]
):
    """Alignment whose files are read one by one; it learns nothing from them."""

    scoring: Scoring
    prior: np.ndarray

    @abstractmethod
    def check_start(self, examples: AlignmentExamples) -> None:
        """Raise DataError without true outputs, or without alignments that are needed."""

    @abstractmethod
    def _plane(self, gradient: np.ndarray, loss: float) -> Plane:
        """A plane with the scores of the prior in its loss part."""

    @property
    def starts_given(self) -> bool:
        """Whether training begins with the alignments of the files."""
        return not self.hidden or self.options.initialisation == "given"

    def start(self, examples: AlignmentExamples, rng: np.random.Generator) -> Plane | np.ndarray:
        """The given alignments, or the first w by which hidden ones are found.

        Raises DataError without true outputs, or without alignments that are needed.
        """
        self.check_start(examples)
        if not self.starts_given:
            return self.first_weights()
        if not self.hidden:
            return self.completed(np.zeros(self.scoring.dimension), examples)
        found = inference.truth(examples, self.scoring)
        return self._plane(found.gradient(self.scoring, examples.costs), 0.0)

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> list[Plane] | np.ndarray:
        """The same by shares."""
        if self.starts_given:
            return ask("start_of_share")
        ask("check_start")
        return self.first_weights()

    def first_weights(self) -> np.ndarray:
        """The weights by which hidden alignments are found first."""
        if self.options.initialisation == "zero" or np.any(self.prior):
            return np.zeros(self.scoring.dimension)
        return self.scoring.simple()

    def summary(self, w: np.ndarray, examples: AlignmentExamples) -> dict[str, np.ndarray]:
        """kept_first : (1,), share of first places that are the same by the exported matrix."""
        return self.summary_apart(Here(self, examples), w)

    def summary_apart(self, ask: Ask, w: np.ndarray) -> dict[str, np.ndarray]:
        """The same by shares."""
        kept, counts = zip(*ask("kept_first", w), strict=True)
        return {"kept_first": np.array([sum(kept) / sum(counts)])}

    def kept_first(self, examples: AlignmentExamples, w: np.ndarray) -> tuple[int, int]:
        """How many first places are the same by the exported matrix, and of how many."""
        scores = alignment_output.rounded(w, self.scoring, self.options.matrix_scale)
        first = []
        for table, model in (self.scoring.scores(w), scores):
            values = _alignment.best(examples.pairs(), table, model, traced=False)[0]
            first.append(inference.highest(values, examples.candidates, last=True))
        return int(np.count_nonzero(first[0] == first[1])), len(examples)
