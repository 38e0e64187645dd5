"""Explanations of rankings, of the mean of the first k documents, and pictures."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.picturing import Picturer
from lssvm.applications.ranking import ranking_metrics
from lssvm.applications.ranking.queries import Queries
from lssvm.errors import LssvmError, counted
from lssvm.kernels import _ranking
from lssvm.plane import Plane

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

MOST_SHOWN = 20  # documents
CURVE = 20  # ranks of the curves
WORST = 10  # queries in a table


class RankingExplainer(Explainer[Queries, "object"], Picturer[Queries, "object"]):
    """The first k documents of a query."""

    k: int

    def truth_plane(self, w: np.ndarray, examples: Queries) -> Plane:
        """w · Φ of the best order with as many relevant documents among the first k as possible."""
        scores = _scores(w, examples)
        if np.any(np.isnan(examples.labels[examples.span])):
            raise examples.error(0, "has no labels; expected labels")
        relevant = examples.relevant[examples.span].astype(bool)
        order = np.lexsort((np.arange(len(scores)), -scores, ~relevant))
        return self._mean(w, examples, order[: self.k])

    def prediction_plane(self, w: np.ndarray, examples: Queries, predictions: "object") -> Plane:
        """w · Φ of the predicted order."""
        return self._mean(w, examples, _order(predictions)[: self.k])

    def rival(
        self, w: np.ndarray, examples: Queries, predictions: "object", label: str | None
    ) -> Rival | None:
        """The first k with another document in the place of the last one, by default the next."""
        order, names = _order(predictions), examples.documents[examples.span]
        first = order[: self.k]
        if label is None:
            if len(order) <= self.k:
                return None
            other = int(order[self.k])
        else:
            places = np.flatnonzero(names == label)
            if not len(places) or places[0] in first:
                wrong = "is among the first ones" if len(places) else "is no document of the query"
                raise LssvmError(
                    f"--against {label}: {wrong}; expected the docid of a document that is not "
                    f"among the first {self.k}"
                )
            other = int(places[0])
        plane = self._mean(w, examples, np.append(first[:-1], other))
        return Rival(f"{names[other]} in the place of {names[first[-1]]}", plane)

    def shown(self, examples: Queries, predictions: "object") -> list[str]:
        """The first documents with their scores, relevant ones marked."""
        order, names = _order(predictions), examples.documents[examples.span]
        scores = predictions.scores  # type: ignore[attr-defined]
        labels = examples.labels[examples.span]
        lines = [f"rank  {'score':>12}  label  document"]
        for rank, place in enumerate(order[: max(self.k, MOST_SHOWN)].tolist(), 1):
            label = "?" if np.isnan(labels[place]) else f"{labels[place]:g}"
            lines.append(f"{rank:>4}  {scores[place]:>12.6g}  {label:>5}  {names[place]}")
        if len(order) > len(lines) - 1:
            lines.append(f"and {len(order) - len(lines) + 1:,d} more")
        return lines

    def data_figures(
        self, w: np.ndarray, examples: Queries, predictions: "object"
    ) -> "Iterator[Figure]":
        """Precision and NDCG at each rank, and the NDCG of queries."""
        from lssvm.output.charts import Lines, Series, Table

        span = examples.span
        labels, relevant = examples.labels[span], examples.relevant[span]
        offsets, order = examples.offsets - examples.offsets[0], _order(predictions)
        gains = np.exp2(np.maximum(labels, 0.0)) - 1.0
        curves = ranking_metrics.curves(gains, relevant, offsets, order, CURVE)
        ranks = list(range(1, CURVE + 1))
        queries = counted(len(examples), "query", "queries")
        yield Lines(
            title="Ranking curves",
            note=f"Means over {queries}; NDCG as LETOR defines it.",
            series=[
                Series(name, ranks, values.mean(axis=0), hue=hue)
                for hue, (name, values) in enumerate(curves.items())
            ],
            x_label="rank k",
            y_label="at k",
            from_zero=True,
        )
        found = ranking_metrics.by_query(labels, relevant, offsets, order, self.k)
        values = found["NDCG@10"]
        yield Lines(
            title="NDCG@10 by query",
            note="Queries from the worst to the best one.",
            series=[
                Series("NDCG@10", list(range(1, len(values) + 1)), np.sort(values), plain=True)
            ],
            x_label="query",
            y_label="NDCG@10",
            from_zero=True,
        )
        names = ("MAP", "P@k", "NDCG@10")
        worst = np.argsort(values, kind="stable")[:WORST].tolist()
        rows = [
            (str(examples.identifiers[i]), *(float(found[name][i]) for name in names))
            for i in worst
        ]
        yield Table(title="Worst queries", heads=("query", *names), rows=rows)

    def _mean(self, w: np.ndarray, examples: Queries, chosen: Sequence[int] | np.ndarray) -> Plane:
        """Sum of the rows of documents, divided by k; features without a weight are left out."""
        coefficients = np.zeros(examples.span.stop - examples.span.start)
        coefficients[np.asarray(chosen, dtype=np.int64)] = 1.0
        gradient = np.zeros(len(w))
        own = _ranking.combination(examples.rows, coefficients) / self.k
        gradient[: len(own)] = own[: len(w)]
        return Plane(gradient, 0.0)


def _order(predictions: "object") -> np.ndarray:
    return np.asarray(predictions.order)  # type: ignore[attr-defined]


def _scores(w: np.ndarray, examples: Queries) -> np.ndarray:
    weights = np.zeros(examples.dimension)
    weights[: len(w)] = w[: examples.dimension]
    return np.asarray(_ranking.scores(examples.rows, weights))
