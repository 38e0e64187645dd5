"""Ranking metrics in the definitions of LETOR (Qin, Liu, Xu & Li, 2010).

P@k is the share of relevant documents among the first k, always divided by k. Average precision
is the mean, over a query's relevant documents, of the precision at their ranks. NDCG@k sums
gains 2^label − 1, divided by 1 at ranks 1 and 2 and by log2(rank) beyond, and divides by the
highest such sum of the query: unlike trec_eval's nDCG, whose gains are the labels and whose
discount is log2(rank + 1). Every metric is the mean over all queries; a query without a
relevant document (for NDCG: without a positive label) counts as 0.

For a query with fewer than k documents, P@k still divides by k and NDCG@k is that of all its
documents. LETOR's own scripts differ there: both count such an NDCG@k as 0, and that of version 3
such a P@k too.
"""

import numpy as np

CUTOFFS = (1, 3, 5, 10)


def ranked(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Documents in the order of their query and falling score; ties in the order of the input.

    scores : (documents,); offsets : (n + 1,), from 0
    Returns positions in ``scores``, (documents,): query i's are in offsets[i]:offsets[i + 1].
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((-scores, query))


def by_query(
    labels: np.ndarray, relevant: np.ndarray, offsets: np.ndarray, order: np.ndarray, k: int
) -> dict[str, np.ndarray]:
    """MAP, P@1, 3, 5, 10 and k, and NDCG@1, 3, 5, 10 of every query, (n,) each.

    labels, relevant : (documents,); offsets : (n + 1,), from 0; order : see :func:`ranked`
    """
    hits = relevant[order].astype(np.float64)
    gains = np.exp2(np.maximum(labels, 0.0)) - 1.0
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rank = np.arange(len(order)) - np.repeat(offsets[:-1], np.diff(offsets))
    ideal = np.lexsort((-gains, query))
    n = len(offsets) - 1

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(query, weights=values, minlength=n)

    total = summed(hits)
    before = np.cumsum(hits) - np.repeat(np.cumsum(total) - total, np.diff(offsets))
    found = {"MAP": _share(summed(hits * before / (rank + 1)), total)}
    for name, cut in (*((f"P@{cut}", cut) for cut in CUTOFFS), ("P@k", k)):
        found[name] = summed(hits * (rank < cut)) / cut
    discounts = 1.0 / np.maximum(1.0, np.log2(np.maximum(rank + 1, 1)))
    for cut in CUTOFFS:
        kept = discounts * (rank < cut)
        found[f"NDCG@{cut}"] = _share(summed(gains[order] * kept), summed(gains[ideal] * kept))
    return found


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def curves(
    gains: np.ndarray, relevant: np.ndarray, offsets: np.ndarray, order: np.ndarray, most: int
) -> dict[str, np.ndarray]:
    """P@k and NDCG@k of every query for k = 1 … most, (n, most) each.

    gains : (documents,); the others as in :func:`by_query`
    """
    n = len(offsets) - 1
    query = np.repeat(np.arange(n), np.diff(offsets))
    rank = np.arange(len(order)) - np.repeat(offsets[:-1], np.diff(offsets))
    ideal = np.lexsort((-gains, query))
    near = rank < most
    discounts = 1.0 / np.maximum(1.0, np.log2(np.maximum(rank + 1, 1)))

    def cumulated(values: np.ndarray) -> np.ndarray:
        table = np.zeros((n, most))
        table[query[near], rank[near]] = values[near]
        return np.cumsum(table, axis=1)

    hits = cumulated(relevant[order].astype(np.float64))
    found, best = cumulated(gains[order] * discounts), cumulated(gains[ideal] * discounts)
    return {
        "P@k": hits / np.arange(1, most + 1),
        "NDCG@k": np.divide(found, best, out=np.zeros((n, most)), where=best > 0),
    }
