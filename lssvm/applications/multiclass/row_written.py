"""Scores of classes that were written one a line."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.reading import Source
from lssvm.applications.written import (
    Scores,
    Written,
    WrittenScorer,
    class_counts,
    label_table,
    read_lines,
)
from lssvm.errors import DataError


class RowWritten(WrittenScorer[LabelledRows, Any]):
    """Classes of rows."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A label on each line; what follows it, such as scores, is left out."""
        examples: LabelledRows = self.read(sources)  # type: ignore[attr-defined]
        if not examples.labelled:
            raise DataError(sources[0].path, None, "labels are not known ('?'); expected labels")
        words = [line.split()[0] for line in read_lines(path, len(examples), "row")]
        number: dict[str, int] = {}
        labels: list[str] = []
        for name in (*examples.label_names, *words):
            if number.setdefault(_as_label(name), len(labels)) == len(labels):
                labels.append(name)
        found = np.array([number[_as_label(word)] for word in words], dtype=np.int64)
        counts = class_counts(examples.labels.astype(np.int64), found, len(labels))

        def metrics(sums: np.ndarray, count: int) -> Scores:
            true, predicted, right = sums.reshape(3, -1)
            some = true + predicted > 0.0
            f1 = 200.0 * right[some] / (true + predicted)[some]
            error = 100.0 * (count - float(right.sum())) / count
            return {"error": error, "accuracy": 100.0 - error, "macro_f1": float(np.mean(f1))}

        sums = np.asarray(counts.sum(axis=0)).reshape(3, -1)
        wrong = (found != examples.labels).astype(float).tolist()
        table = label_table(labels, sums, "label")
        return Written(list(examples.names), "row", counts, metrics, {"error": wrong}, table)


def _as_label(word: str) -> str:
    """``+1`` and ``1`` are the same label."""
    return word.removeprefix("+") if word[1:].isdecimal() else word
