"""Explanations of predicted labels and sites, and pictures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.motif import motif_matrix
from lssvm.applications.motif.motif_output import STRANDS, Predictions
from lssvm.applications.motif.sequences import Sequences
from lssvm.applications.picturing import Picturer, precision_recall, roc
from lssvm.errors import LssvmError
from lssvm.formats.fasta import LETTERS

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

LABELS: Mapping[str, int] = {"+1": 1, "1": 1, "-1": -1}
WIDTH = 60  # letters of a line
PLACES = 20  # parts of a sequence
NUCLEOTIDES = "acgtn"  # by code, the last one any ambiguous letter
COMPLEMENTS = np.array([3, 2, 1, 0, 4])


class MotifExplainer(Explainer[Sequences, Predictions], Picturer[Sequences, Predictions]):
    """Scores relative to those without a site, which are 0."""

    length: int

    def as_truth(self, w: np.ndarray, examples: Sequences, predictions: Predictions) -> Sequences:
        """The predicted labels as true ones."""
        return replace(examples, labels=predictions.y, labelled=True)

    def rival(
        self, w: np.ndarray, examples: Sequences, predictions: Predictions, label: str | None
    ) -> Rival | None:
        """The label +1 or -1, by default the one that was not predicted."""
        if label is not None and label not in LABELS:
            raise LssvmError(f"--against {label}: is no label; expected +1 or -1")
        chosen = -int(predictions.y[0]) if label is None else LABELS[label]
        if chosen > 0 and not examples.windows[0]:
            if label is None:
                return None
            raise LssvmError(
                f"--against {label}: {examples.identifiers[0]} has no window of {self.length} "
                "unambiguous letters; expected -1"
            )
        other = replace(examples, labels=np.array([chosen], dtype=np.int8), labelled=True)
        return Rival(f"{chosen:+d}", self.completed(w, other))

    def shown(self, examples: Sequences, predictions: Predictions) -> list[str]:
        """The sequence in small letters, the best site in capitals."""
        size = int(examples.offsets[1] - examples.offsets[0])
        letters = examples.flat.astype(np.int64)
        if examples.turned[0]:
            letters = COMPLEMENTS[letters[::-1]]
        text = "".join(NUCLEOTIDES[letter] for letter in letters.tolist())
        lines = []
        start = int(predictions.starts[0, 0]) if predictions.starts.size else -1
        if start >= 0:
            stop = start + self.length
            text = text[:start] + text[start:stop].upper() + text[stop:]
            strand = STRANDS[predictions.strands[0, 0]]
            lines.append(f"best site: {start + 1} to {stop}, strand {strand}")
        lines += [f"{k + 1:>6} {text[k : k + WIDTH]}" for k in range(0, size, WIDTH)]
        return lines

    def model_figures(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> "Iterator[Figure]":
        """The logo, and the probabilities of letters."""
        from lssvm.output.charts import Logo, Table

        p = motif_matrix.probabilities(w, arrays)
        heights = [motif_matrix.information_content(row[None]) for row in p]
        yield Logo(
            title="Motif",
            note=f"Consensus {motif_matrix.consensus(p)}. A column is as high as its information "
            "content.",
            letters=LETTERS,
            heights=(p * np.array(heights)[:, None]).tolist(),
            y_label="bits",
            top=2.0,
        )
        rows = [(place, *np.round(row, 3).tolist()) for place, row in enumerate(p, 1)]
        heads = ("position", *LETTERS)
        yield Table(title="Probabilities of letters", heads=heads, rows=rows)

    def data_figures(
        self, w: np.ndarray, examples: Sequences, predictions: Predictions
    ) -> "Iterator[Figure]":
        """Curves of the ranking by score, and where sites are."""
        from lssvm.output.charts import Lines, Series

        truth, scores = examples.labels > 0, predictions.values
        if truth.any() and not truth.all():
            yield roc(truth, scores)
        if truth.any():
            yield precision_recall(truth, scores)
        starts, sizes = predictions.starts[:, 0], np.diff(examples.offsets)
        some = (starts >= 0) & (sizes > self.length)
        series = []
        for hue, (name, own) in enumerate((("positives", truth), ("negatives", ~truth))):
            chosen = some & own
            if np.any(chosen):
                middles = (starts[chosen] + self.length / 2) / sizes[chosen]
                counts, edges = np.histogram(middles, PLACES, (0.0, 1.0))
                shares = 100.0 * counts / counts.sum()
                series.append(Series(name, (edges[:-1] + edges[1:]) / 2, shares, hue=hue))
        if series:
            yield Lines(
                title="Places of the best sites",
                note="Share of sequences whose best site has its middle there.",
                series=series,
                x_label="place in the sequence, from its start (0) to its end (1)",
                y_label="% of sequences",
                from_zero=True,
            )
