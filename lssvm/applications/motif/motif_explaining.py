"""Explanations of predicted labels and sites."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.motif.motif_output import STRANDS, Predictions
from lssvm.applications.motif.sequences import Sequences
from lssvm.errors import LssvmError

LABELS: Mapping[str, int] = {"+1": 1, "1": 1, "-1": -1}
WIDTH = 60  # letters of a line
NUCLEOTIDES = "acgtn"  # by code, the last one any ambiguous letter
COMPLEMENTS = np.array([3, 2, 1, 0, 4])


class MotifExplainer(Explainer[Sequences, Predictions]):
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
