"""Scores of label sequences that were written in columns, the prediction in the last one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.reading import Source
from lssvm.applications.sequence import entity_spans, sequence_metrics
from lssvm.applications.sequence.entity_spans import Spans
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.written import (
    Scores,
    Written,
    WrittenScorer,
    label_table,
    read_lines,
    shares,
)
from lssvm.errors import DataError


class SequenceWritten(WrittenScorer[SequenceExamples, Any]):
    """Label sequences."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A token on each line with its label in the last column, as for conlleval."""
        examples: SequenceExamples = self.read(sources)  # type: ignore[attr-defined]
        if not examples.labelled:
            raise DataError(sources[0].path, None, "a token has no label; expected labels")
        lines = read_lines(path, len(examples.labels), "token")
        words = np.array([line.split()[-1] for line in lines], dtype=object)
        names, truth = sequence_metrics.numbered(
            examples.vocabulary.labels, examples.labels, examples.tags
        )
        names, found = sequence_metrics.numbered(
            names, np.array([_number(names, word) for word in words.tolist()]), words
        )
        return written(examples, names, truth, found)


def written(
    examples: SequenceExamples, names: Sequence[str], truth: np.ndarray, found: np.ndarray
) -> Written:
    """Counts of each sequence: tokens, wrong ones, whether one is wrong; entities by type."""
    starts = examples.offsets[:-1]
    wrong = truth != found
    tokens = np.diff(examples.offsets).astype(float)
    errors = np.add.reduceat(wrong.astype(float), starts)
    kinds, entities = _entities(names, truth, found, examples.offsets)
    columns = [np.column_stack([tokens, errors, errors > 0]), *entities]

    def metrics(sums: np.ndarray, count: int) -> Scores:
        scores: Scores = {
            "error": 100.0 * sums[1] / sums[0],
            "accuracy": 100.0 - 100.0 * sums[1] / sums[0],
            "sequence_error": 100.0 * sums[2] / count,
        }
        if kinds:
            of_all = sums[3:].reshape(3, -1).sum(axis=1)
            precision, recall, f1 = (value or 0.0 for value in shares(*of_all))
            scores |= {"precision": precision, "recall": recall, "f1": f1}
        return scores

    each: dict[str, Sequence[float | None]] = {"tokens": tokens.tolist(), "errors": errors.tolist()}
    table = None
    if kinds:
        sums = np.array([counts.sum(axis=0) for counts in entities])
        table = label_table(kinds, sums, "entity")
        each["f1"] = [
            shares(*row)[2] for row in zip(*(c.sum(axis=1) for c in entities), strict=True)
        ]
    return Written(examples.names, "sequence", np.hstack(columns), metrics, each, table)


def _entities(
    names: Sequence[str], truth: np.ndarray, found: np.ndarray, offsets: np.ndarray
) -> tuple[list[str], list[np.ndarray]]:
    """Types, and true, found and common entities of each sequence by type, (n, types) each.

    Entities are those that conlleval counts; there are no types if labels describe none.
    """
    used = np.bincount(truth, minlength=len(names)) + np.bincount(found, minlength=len(names)) > 0
    occurring = [name for name, occurs in zip(names, used, strict=True) if occurs]
    if sequence_metrics.family_of(occurring) is None:
        return [], []
    kinds = list(dict.fromkeys(name[2:] for name in names))
    mine, their = entity_spans.tags_of(names, [truth, found], offsets)
    true, guessed = entity_spans.lenient(mine), entity_spans.lenient(their)
    n = len(offsets) - 1
    bounds = (
        1 + offsets[:-1] + np.arange(n)
    )  # an O stands before the first sequence, and after each

    def counted(spans: Spans) -> np.ndarray:
        rows = np.searchsorted(bounds, spans.first, side="right") - 1
        places = rows * len(kinds) + spans.kind
        return np.bincount(places, minlength=n * len(kinds)).reshape(n, -1).astype(float)

    both = Spans(*(column[_in(true, guessed)] for column in true))
    tables = [counted(spans) for spans in (true, guessed, both)]
    some = np.flatnonzero(tables[0].any(axis=0) | tables[1].any(axis=0))
    return [kinds[kind] or "entity" for kind in some], [table[:, some] for table in tables]


def _in(one: Spans, other: Spans) -> np.ndarray:
    """Which entities of ``one`` are in ``other``, (entities,) bool."""
    if not len(other.first):
        return np.zeros(len(one.first), dtype=bool)
    near = np.minimum(np.searchsorted(other.first, one.first), len(other.first) - 1)
    same = (one.first == other.first[near]) & (one.stop == other.stop[near])
    return same & (one.kind == other.kind[near])


def _number(names: Sequence[str], word: str) -> int:
    return names.index(word) if word in names else -1
