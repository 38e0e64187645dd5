"""Scores of predictions that were written to a file, by whatever program, without a model."""

import math
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from lssvm import sparse
from lssvm.applications.guard import named
from lssvm.applications.prediction import P
from lssvm.applications.reading import Source
from lssvm.errors import DataError, LssvmError, counted
from lssvm.formats.text import open_text
from lssvm.problem import E

if TYPE_CHECKING:
    from lssvm.output.charts import Table

Scores = dict[str, float | None]
_AT_ONCE = 2_000_000  # numbers of samples that are in memory at a time


@dataclass(frozen=True)
class Written:
    """Predictions for n examples beside the truth. Every metric depends on sums over examples.

    names : of the examples; what : the word for one
    counts : (n, k) array or csr_array; metrics : from sums over examples, (k,), and their number
    each : metrics of single examples by name, (n,) each; None where one has none
    labels : figures by label, where there are labels
    """

    names: Sequence[str]
    what: str
    counts: Any
    metrics: Callable[[np.ndarray, int], Scores]
    each: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    labels: "Table | None" = None

    def scores(self) -> Scores:
        """The metrics of all examples."""
        whole = np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()
        return self.metrics(whole, len(self.names))

    def intervals(
        self, samples: int, rng: np.random.Generator, share: float = 0.95
    ) -> dict[str, tuple[float, float] | None]:
        """Percentile intervals of the metrics over bootstrap samples of the examples.

        Efron & Tibshirani (1993), chapter 13. None where a metric is not defined in some sample.
        """
        n = len(self.names)
        found: dict[str, list[float | None]] = {}
        counts = self.counts if sparse.issparse(self.counts) else np.asarray(self.counts)
        step = max(1, _AT_ONCE // max(1, n))
        for first in range(0, samples, step):
            size = min(step, samples - first)
            draws = rng.integers(n, size=(size, n))
            times = np.stack([np.bincount(row, minlength=n) for row in draws]).astype(np.float64)
            for sums in times @ counts:
                for name, value in self.metrics(np.asarray(sums).ravel(), n).items():
                    found.setdefault(name, []).append(value)
        ends = (50.0 * (1.0 - share), 50.0 * (1.0 + share))
        intervals: dict[str, tuple[float, float] | None] = {}
        for name, values in found.items():
            known = [value for value in values if value is not None]
            low, high = np.percentile(known, ends) if len(known) == samples else (0.0, 0.0)
            intervals[name] = (float(low), float(high)) if len(known) == samples else None
        return intervals


class WrittenScorer(ABC, Generic[E, P]):
    """Scores files of predictions."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """The predictions of a file for the examples of the sources, which have labels.

        The application was just made: nothing was read with it. Raises DataError, and LssvmError
        by default.
        """
        raise LssvmError(
            f"{named(self)}cannot score files of predictions; expected lssvm-classify, which "
            "scores what it predicts"
        )


def read_lines(path: str, count: int, what: str) -> list[str]:
    """The lines of a file that are not empty, as many as expected. Raises DataError."""
    with open_text(path) as file:
        lines = [(number, line.strip()) for number, line in file]
    rows = [line for _, line in lines if line]
    if len(rows) != count:
        wrong = f"has {counted(len(rows), 'prediction')}; expected {count:,d}, one for each {what}"
        raise DataError(path, None, wrong)
    return rows


def read_table(path: str, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The chosen columns of a table with tabs and a header, with the number of each line.

    Raises DataError for a header without these columns, and for a line of another length.
    """
    with open_text(path) as file:
        rows = ((number, line.rstrip("\r\n").split("\t")) for number, line in file if line.strip())
        number, heads = next(rows, (1, list[str]()))
        lost = [name for name in columns if name not in heads]
        if lost:
            wrong = f"the header has no column {lost[0]!r}; expected {', '.join(columns)}"
            raise DataError(path, number, wrong)
        places = [heads.index(name) for name in columns]
        for number, words in rows:
            if len(words) != len(heads):
                wrong = (
                    f"has {counted(len(words), 'column')}; expected {len(heads)} as in the header"
                )
                raise DataError(path, number, wrong)
            yield number, [words[place] for place in places]


def as_score(path: str, number: int, text: str) -> float:
    """A finite number. Raises DataError."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(path, number, f"expected a score, got {text[:40]!r}")
    return score


def distinct_names(names: Sequence[str], path: str, what: str) -> dict[str, int]:
    """The place of each name. Raises DataError if one occurs twice."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if places.setdefault(name, place) != place:
            wrong = f"has two {what}s {name!r}; expected distinct names"
            raise DataError(path, None, wrong)
    return places


def place_of(places: Mapping[Any, int], name: Any, path: str, number: int, what: str) -> int:
    """The place of a name that a line gives. Raises DataError for an unknown one."""
    if name not in places:
        shown = " ".join(name) if isinstance(name, tuple) else name
        wrong = f"{what} {shown!r} is not in the file of labels; expected one of it"
        raise DataError(path, number, wrong)
    return places[name]


def by_example(count: int) -> "sparse.csr_array":
    """One column for each example: sums are then how often each example was drawn."""
    rows = np.arange(count)
    return sparse.csr_array((np.ones(count), (rows, rows)), shape=(count, count))


def class_counts(truth: np.ndarray, found: np.ndarray, size: int) -> "sparse.csr_array":
    """For each example 1 in the columns of its true label, its prediction, and both if equal.

    truth, found : (n,) below ``size``; returns (n, 3 size)
    """
    n = len(truth)
    right = np.flatnonzero(truth == found)
    rows = np.concatenate([np.arange(n), np.arange(n), right])
    columns = np.concatenate([truth, size + found, 2 * size + truth[right]])
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, 3 * size))


def shares(true: Any, found: Any, right: Any) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1 in percent; None where they are 0 / 0."""
    return (
        100.0 * float(right) / float(found) if found else None,
        100.0 * float(right) / float(true) if true else None,
        200.0 * float(right) / float(true + found) if true + found else None,
    )


def label_table(names: Sequence[str], sums: np.ndarray, what: str) -> "Table":
    """Precision, recall and F1 of labels. sums : (3, labels) true, found and right."""
    from lssvm.output.charts import Table

    rows = []
    for name, true, found, right in zip(names, *sums, strict=True):
        if true or found:
            rows.append((name, *shares(true, found, right), int(true), int(found)))
    heads = (what, "precision", "recall", "f1", "true", "predicted")
    return Table(title=f"By {what}", heads=heads, rows=rows)
