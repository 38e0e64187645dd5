"""Scores of classes of sequences that were written as a table of sites."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.motif.sequences import Sequences
from lssvm.applications.reading import Source
from lssvm.applications.written import (
    Scores,
    Written,
    WrittenScorer,
    as_score,
    by_example,
    distinct_names,
    place_of,
    read_table,
    shares,
)
from lssvm.errors import DataError

_COLUMNS = ("sequence_name", "prediction", "score")


class SitesWritten(WrittenScorer[Sequences, Any]):
    """Classes and sites of sequences."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A table with the columns sequence_name, prediction and score, best sites first.

        Of several sites of a sequence the first one counts. A score "." ranks below all others.
        """
        examples: Sequences = self.read(sources)  # type: ignore[attr-defined]
        if not examples.labelled:
            raise DataError(sources[0].path, None, "a sequence has no label; expected labels")
        found, values = _predicted(path, list(examples.identifiers), sources[0].path)
        truth = examples.labels > 0
        wrong = (found != truth).astype(float)
        _, places = np.unique(values, return_inverse=True)

        def metrics(times: np.ndarray, count: int) -> Scores:
            positives, predicted = float(times @ truth), float(times @ found)
            precision, recall, f1 = shares(positives, predicted, times @ (truth & found))
            return {
                "error": 100.0 * float(times @ wrong) / count,
                "precision": precision,
                "recall": recall,
                "f1": f1,
                "roc_auc": _roc_auc(times * truth, times * ~truth, places),
            }

        counts = by_example(len(examples))
        names = list(examples.identifiers)
        return Written(names, "sequence", counts, metrics, {"error": wrong.tolist()})


def _predicted(path: str, names: list[str], gold: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether each sequence is predicted to have the motif, (n,) bool, and its score, (n,)."""
    places = distinct_names(names, gold, "sequence")
    found, values = np.zeros(len(names), dtype=np.int8), np.full(len(names), -np.inf)
    for number, (name, label, score) in read_table(path, _COLUMNS):
        place = place_of(places, name, path, number, "sequence")
        if found[place]:
            continue
        if label not in ("+1", "1", "-1"):
            raise DataError(path, number, f"expected the prediction +1 or -1, got {label[:40]!r}")
        found[place] = int(label)
        if score != ".":
            values[place] = as_score(path, number, score)
    if not np.all(found):
        lost = names[int(np.argmin(np.abs(found)))]
        raise DataError(path, None, f"has no prediction for sequence {lost!r}; expected one")
    return found > 0, values


def _roc_auc(positives: np.ndarray, negatives: np.ndarray, places: np.ndarray) -> float | None:
    """That of examples that count several times. places : (n,) rank of each score, from 0."""
    true, other = (np.bincount(places, weights=times) for times in (positives, negatives))
    whole = true.sum() * other.sum()
    below = np.cumsum(other) - other / 2.0
    return float(true @ below) / whole if whole else None
