"""Scores of relations that were written as a table of facts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lssvm.applications.reading import Source
from lssvm.applications.relation.bags import Bags
from lssvm.applications.written import (
    Scores,
    Written,
    WrittenScorer,
    as_score,
    by_example,
    distinct_names,
    label_table,
    place_of,
    read_table,
    shares,
)
from lssvm.errors import DataError


class FactsWritten(WrittenScorer[Bags, Any]):
    """Relations of pairs of entities."""

    def written(self, path: str, sources: Sequence[Source]) -> Written:
        """A table with the columns pair, relation and score.

        Rows with a score above 0 are the predicted facts. average_precision is None unless every
        pair has a row for every relation of the table.
        """
        examples: Bags = self.read(sources)  # type: ignore[attr-defined]
        if not np.all(examples.known):
            raise DataError(sources[0].path, None, "relations are not known ('?'); expected them")
        names = list(examples.identifiers)
        places = distinct_names(names, sources[0].path, "pair")
        relations = {name: number for number, name in enumerate(examples.relations)}
        known = len(relations)
        rows: dict[tuple[int, int], float] = {}
        for number, (pair, relation, score) in read_table(path, ("pair", "relation", "score")):
            key = (
                place_of(places, pair, path, number, "pair"),
                relations.setdefault(relation, len(relations)),
            )
            if key in rows:
                wrong = f"pair {pair!r} has relation {relation!r} twice; expected each once"
                raise DataError(path, number, wrong)
            rows[key] = as_score(path, number, score)
        if rows and known and min(relation for _, relation in rows) >= known:
            other = list(relations)[known]
            wrong = f"relation {other!r} and all others are not in the file of labels"
            raise DataError(path, None, f"{wrong}; expected some like {next(iter(relations))!r}")
        truth = examples.truth(len(relations))
        facts = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
        scores = np.array(list(rows.values()), dtype=np.float64)
        found = np.zeros_like(truth)
        chosen = facts[scores > 0.0]
        found[chosen[:, 0], chosen[:, 1]] = True
        whole = len(facts) == len(names) * len(np.unique(facts[:, 1]))
        ranking = _Ranking(truth, facts, scores) if whole else None
        return _written(names, list(relations), truth, found, ranking)


class _Ranking:
    """Facts by falling scores, equal ones together."""

    def __init__(self, truth: np.ndarray, facts: np.ndarray, scores: np.ndarray) -> None:
        order = np.argsort(-scores, kind="stable")
        self.pairs = facts[order, 0]
        self.right = truth[self.pairs, facts[order, 1]]
        ranked = scores[order]
        self.last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])

    def average_precision(self, times: np.ndarray, true: float) -> float | None:
        """Σ (R_k − R_{k−1}) P_k in percent; times : how often each pair counts."""
        if not true:
            return None
        drawn = times[self.pairs]
        hits = np.cumsum(drawn * self.right)[self.last]
        precision = hits / np.maximum(np.cumsum(drawn)[self.last], 1.0)
        return 100.0 * float(np.diff(hits, prepend=0.0) @ precision) / true


def _written(
    names: list[str],
    relations: list[str],
    truth: np.ndarray,
    found: np.ndarray,
    ranking: _Ranking | None,
) -> Written:
    both = truth & found
    sums = [facts.sum(axis=1) for facts in (truth, found, both)]

    def metrics(times: np.ndarray, count: int) -> Scores:
        true, predicted, right = (float(times @ one) for one in sums)
        precision, recall, f1 = (value or 0.0 for value in shares(true, predicted, right))
        average = ranking.average_precision(times, true) if ranking else None
        return {
            "f1": f1,
            "precision": precision,
            "recall": recall,
            "average_precision": average,
        }

    each = {"wrong": np.count_nonzero(truth != found, axis=1).astype(float).tolist()}
    columns = np.array([facts.sum(axis=0) for facts in (truth, found, both)])
    table = label_table(relations, columns, "relation")
    return Written(names, "pair", by_example(len(names)), metrics, each, table)
