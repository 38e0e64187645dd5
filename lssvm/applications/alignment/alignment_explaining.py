"""Explanations of predicted homologs and alignments, and pictures."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.alignment import alignment_output, inference
from lssvm.applications.alignment.alignment_output import Predictions
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.inference import Alignments
from lssvm.applications.alignment.scoring import Scoring
from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.picturing import Picturer
from lssvm.errors import LssvmError
from lssvm.plane import Plane

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

MOST_RANKS = 50
FIRST = 3  # alignments that are shown


class AlignmentExplainer(
    Explainer[AlignmentExamples, Predictions], Picturer[AlignmentExamples, Predictions]
):
    """Candidates with their alignments; the scores of a prior are part of the weights."""

    hidden: bool
    pairs: bool
    prior: np.ndarray
    scoring: Scoring

    def scoring_weights(self, w: np.ndarray) -> np.ndarray:
        """w + w₀."""
        return w + self.prior

    def as_truth(
        self, w: np.ndarray, examples: AlignmentExamples, predictions: Predictions
    ) -> AlignmentExamples:
        """The predicted candidate with its alignment as the true one."""
        return _with_truth(examples, int(predictions.chosen[0]), predictions.found)

    def truth_plane(self, w: np.ndarray, examples: AlignmentExamples) -> Plane:
        """(w + w₀) · Φ of the true candidate, with w₀ · Φ in the loss part."""
        plane = self.completed(w, examples)
        if self.hidden:
            return plane
        return Plane(plane.gradient, plane.loss + float(self.prior @ plane.gradient))

    def rival(
        self,
        w: np.ndarray,
        examples: AlignmentExamples,
        predictions: Predictions,
        label: str | None,
    ) -> Rival | None:
        """A candidate by its name, or the one with the second highest score."""
        names = [examples.name(k) for k in range(1, int(np.diff(examples.offsets)[0]))]
        if label is not None and (self.pairs or label not in names):
            known = "no --against" if self.pairs else f"one of {', '.join(names[:3])} …"
            raise LssvmError(f"--against {label}: is no candidate; expected {known}")
        if len(names) < 2 and label is None:
            return None
        values = np.array(predictions.values)
        values[predictions.chosen[0]] = -np.inf
        chosen = int(np.argmax(values)) if label is None else names.index(label)
        found = inference.best(w, examples.pairs(np.array([chosen])), self.scoring)
        plane = self.truth_plane(w, _with_truth(examples, chosen, found))
        return Rival(names[chosen], plane)

    def shown(self, examples: AlignmentExamples, predictions: Predictions) -> list[str]:
        """The best alignment with the predicted candidate."""
        file = io.StringIO()
        alignment_output.write_text(examples, predictions, file)
        return file.getvalue().rstrip().splitlines()

    def model_figures(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> "Iterator[Figure]":
        """The substitution matrix, and the scores of gaps."""
        from lssvm.output.charts import Heat

        table, (first, other, _) = self.scoring.scores(w)
        count = self.scoring.size
        letters = list(self.scoring.letters)
        yield Heat(
            title="Substitution scores",
            note=f"The first letter of a gap scores {first:.4g}, every other one {other:.4g}.",
            rows=letters,
            columns=letters,
            values=table[:count, :count].tolist(),
            row_label="letter",
            column_label="letter",
            signed=True,
        )

    def data_figures(
        self, w: np.ndarray, examples: AlignmentExamples, predictions: Predictions
    ) -> "Iterator[Figure]":
        """At which rank homologs are, and the first alignments."""
        from lssvm.output.charts import Lines, Series, Text

        if not self.pairs:
            ranks = np.array(
                [
                    1 + np.sum(own > own[truth])
                    for own, truth in zip(
                        np.split(predictions.values, examples.candidates[1:-1]),
                        examples.truth,
                        strict=True,
                    )
                ]
            )
            most = int(np.diff(examples.candidates).max())
            places = np.arange(1, min(most, MOST_RANKS) + 1)
            shares = [100.0 * float(np.mean(ranks <= place)) for place in places]
            yield Lines(
                title="Ranks of the homologs",
                note="Share of natives whose homolog is among the first candidates.",
                series=[Series("homologs", places, shares)],
                x_label="first candidates",
                y_label="% of natives",
                from_zero=True,
            )
        file = io.StringIO()
        few = np.arange(min(FIRST, len(examples)))
        own = examples.take(few)
        found: Predictions = self.predict(w, own)  # type: ignore[attr-defined]
        alignment_output.write_text(own, found, file)
        yield Text(title="First alignments", lines=file.getvalue().rstrip().splitlines())


def _with_truth(examples: AlignmentExamples, chosen: int, found: Alignments) -> Any:
    """One example with another true candidate and its alignment."""
    partners = np.array(examples.partners)
    own = slice(int(examples.places[0]), int(examples.places[1]))
    partners[own] = found.partners
    return replace(
        examples,
        partners=partners,
        truth=np.array([chosen]),
        aligned=np.ones(1, dtype=bool),
        labelled=True,
    )
