"""Scores of trees that were written one after another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.parsing import bracket_metrics
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.reading import read_treebank
from lssvm.applications.reading import Source
from lssvm.applications.written import Scores, Written, WrittenScorer, shares
from lssvm.errors import DataError, counted


class TreesWritten(WrittenScorer[Treebank, Any]):
    """Parse trees."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A tree in brackets for each sentence, in the order of the sentences; as evalb counts."""
        options = self.options  # type: ignore[attr-defined]
        gold, learnt = read_treebank(sources, options, None)
        if not gold.labelled:
            raise DataError(sources[0].path, None, "a sentence has no tree; expected trees")
        found, _ = read_treebank([Source(path, limit=sources[0].limit)], options, learnt)
        _check_words(path, gold, found)
        names = list(dict.fromkeys((*gold.label_texts, *found.label_texts)))
        number = {name: place for place, name in enumerate(names)}
        mine, their = (
            np.array([number[name] for name in each.label_texts], dtype=np.int64)
            for each in (gold, found)
        )
        counts = bracket_metrics.count(
            gold.brackets._replace(labels=mine[gold.brackets.labels]),
            found.brackets._replace(labels=their[found.brackets.labels]),
            gold.offsets,
            (mine[gold.tags], their[found.tags]),
            (names, names),
            collins=options.exceptions == "collins",
        )
        return written_counts(list(gold.identifiers), counts)


def _check_words(path: str, gold: Treebank, found: Treebank) -> None:
    """Raise DataError unless both have the same numbers of words."""
    if len(gold) != len(found):
        wrong = f"has {counted(len(found), 'tree')}; expected {len(gold):,d}, one for each sentence"
        raise DataError(path, None, wrong)
    other = np.flatnonzero(gold.lengths != found.lengths)
    if len(other):
        row = int(other[0])
        wrong = (
            f"has {counted(found.lengths[row], 'word')}; expected {gold.lengths[row]} as in "
            "the true tree"
        )
        raise DataError(path, int(found.lines[row]), wrong)


def written_counts(names: list[str], counts: bracket_metrics.Counts) -> Written:
    """The figures of ``bracket_metrics.scores`` for n trees; F1 and crossing brackets of each."""
    crossing, valid = counts.crossing, counts.valid
    marks = np.stack([counts.exact, crossing == 0, crossing <= bracket_metrics.FEW]) & valid
    columns = np.column_stack([*counts, valid, *marks]).astype(np.float64)

    def metrics(sums: np.ndarray, _: int) -> Scores:
        gold, test, matched, crossing, words, tagged, n, *sentences = sums.tolist()
        right, uncrossed, little = (100.0 * part / n if n else None for part in sentences)
        precision, recall, f1 = shares(gold, test, matched)
        return {
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "exact_match": right,
            "crossing": crossing / n if n else None,
            "no_crossing": uncrossed,
            "few_crossing": little,
            "tagging_accuracy": 100.0 * tagged / words if words else None,
        }

    each = {
        "f1": [shares(*row)[2] for row in columns[:, :3].tolist()],
        "crossing": columns[:, 3].tolist(),
    }
    return Written(names, "sentence", columns, metrics, each)
