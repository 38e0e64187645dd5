"""Scores of rankings that were written as svm_rank writes them: a score for each document."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.ranking import ranking_metrics
from lssvm.applications.ranking.queries import Queries
from lssvm.applications.reading import Source
from lssvm.applications.written import Scores, Written, WrittenScorer, as_score, read_lines
from lssvm.errors import DataError


class RankingWritten(WrittenScorer[Queries, Any]):
    """Rankings of documents."""

    k: int

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A score on each line, in the order of the documents in the input."""
        examples: Queries = self.read(sources)  # type: ignore[attr-defined]
        if not examples.labelled:
            raise DataError(sources[0].path, None, "labels are not known ('?'); expected labels")
        lines = read_lines(path, len(examples.labels), "document")
        scores = np.array([as_score(path, number, line) for number, line in enumerate(lines, 1)])
        scores = scores[examples.positions]
        order = ranking_metrics.ranked(scores, examples.offsets)
        found = ranking_metrics.by_query(
            examples.labels, examples.relevant, examples.offsets, order, self.k
        )
        names = list(found)

        def metrics(sums: np.ndarray, count: int) -> Scores:
            return {name: float(one) / count for name, one in zip(names, sums, strict=True)}

        each = {name: values.tolist() for name, values in found.items()}
        return Written(
            examples.names, "query", np.column_stack(list(found.values())), metrics, each
        )
