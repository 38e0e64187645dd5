"""Precision, recall and their curve for relations of pairs.

A fact is a pair with one of its relations. Precision, recall and F1 are of the predicted facts:
over all facts together (micro), for each relation, and the mean over relations that are true or
predicted somewhere (macro). The curve ranks all candidates (pair, relation) by their scores, as in
Mintz et al. (ACL 2009); candidates with equal scores enter together. Average precision is
Σ (R_k − R_{k−1}) P_k, the area is that under the straight lines between the points, which begin at
recall 0 and precision 1. All as scikit-learn defines them. A true relation that training does not
have is never found: it counts as missed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

CUTS = (100, 200, 500)  # k of P@k
_DRAWN = 1000  # points of a drawn curve
_WHATS = ("precision", "recall", "f1")


class Counts(NamedTuple):
    """Facts of each relation: (relations,) int64 each."""

    true: np.ndarray
    found: np.ndarray
    both: np.ndarray


class Curve(NamedTuple):
    """Points (k,) where candidates enter, by falling score.

    precision, recall : float64, shares
    """

    precision: np.ndarray
    recall: np.ndarray


def counts(truth: np.ndarray, found: np.ndarray) -> Counts:
    """Facts of each relation.

    truth : (n, M) bool, M ≥ L: relations that training does not have come last; found : (n, L) bool
    """
    own = found.shape[1]
    true = truth.sum(axis=0, dtype=np.int64)
    predicted, both = np.zeros_like(true), np.zeros_like(true)
    predicted[:own] = found.sum(axis=0)
    both[:own] = (truth[:, :own] & found).sum(axis=0)
    return Counts(true, predicted, both)


def shares(true: float, found: float, both: float) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 where there are no facts."""
    precision, recall = both / max(found, 1), both / max(true, 1)
    return precision, recall, 2.0 * both / max(true + found, 1)


def f_beta(true: float, found: float, both: float, beta: float) -> float:
    """F_β = (1 + β²) both / (β² true + found); 1 if there are no facts at all."""
    weight = beta * beta
    total = weight * true + found
    return (1.0 + weight) * both / total if total else 1.0


def wrong(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """How many relations of each pair are wrong, the Hamming loss, (n,) int64."""
    own = found.shape[1]
    return (truth[:, :own] != found).sum(axis=1) + truth[:, own:].sum(axis=1)


def curve(truth: np.ndarray, scores: np.ndarray) -> Curve:
    """The precision-recall curve. truth : (n, M) bool, see :func:`counts`; scores : (n, L)."""
    positive = np.ascontiguousarray(truth[:, : scores.shape[1]]).ravel()
    flat = scores.ravel()
    order = np.argsort(-flat, kind="stable")
    ranked = flat[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else order
    hits = np.cumsum(positive[order])[last]
    return Curve(hits / (last + 1), hits / max(1, np.count_nonzero(truth)))


def thinned(points: Curve) -> Curve:
    """The points that are drawn: all, or evenly spread ones, the first and the last included."""
    last = len(points.recall) - 1
    kept = np.unique(np.linspace(0, last, min(last + 1, _DRAWN)).astype(np.int64))
    return Curve(points.precision[kept], points.recall[kept])


def average_precision(points: Curve) -> float:
    """Σ (R_k − R_{k−1}) P_k."""
    return float(np.sum(np.diff(points.recall, prepend=0.0) * points.precision))


def area(points: Curve) -> float:
    """The area under the lines from (recall 0, precision 1) through all points."""
    recall = np.concatenate([[0.0], points.recall])
    precision = np.concatenate([[1.0], points.precision])
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2.0))


def precision_at(truth: np.ndarray, scores: np.ndarray, k: int) -> float | None:
    """The share of true candidates among the k with the highest scores; None if there are fewer.

    Of equal scores the first pair counts, and of one pair the first relation.
    """
    flat = scores.ravel()
    if len(flat) < k:
        return None
    bound = np.partition(flat, len(flat) - k)[len(flat) - k]
    above, equal = np.flatnonzero(flat > bound), np.flatnonzero(flat == bound)
    chosen = np.concatenate([above, equal[: k - len(above)]])
    return float(np.mean(truth[chosen // scores.shape[1], chosen % scores.shape[1]]))


def all_scores(
    truth: np.ndarray, found: np.ndarray, scores: np.ndarray, names: Sequence[str]
) -> dict[str, float | None]:
    """All metrics in percent, by name.

    truth : (n, M) bool; found : (n, L) bool; scores : (n, L); names : of the M relations
    """
    facts = counts(truth, found)
    micro = shares(*(float(part.sum()) for part in facts))
    each = {
        name: shares(*map(float, row))
        for name, row in zip(names, np.column_stack(facts).tolist(), strict=True)
        if row[0] or row[1]
    }
    macro = np.mean(list(each.values()), axis=0) if each else np.zeros(3)
    result: dict[str, float | None] = {}
    for place in (2, 0, 1):  # F1 first: held-out data are scored by the first metric
        result[_WHATS[place]] = 100.0 * micro[place]
    result |= {f"macro_{what}": 100.0 * float(v) for what, v in zip(_WHATS, macro, strict=True)}
    result |= _ranked(truth, scores)
    for place, what in enumerate(_WHATS):
        result |= {f"{what} ({name})": 100.0 * own[place] for name, own in each.items()}
    return result


def _ranked(truth: np.ndarray, scores: np.ndarray) -> Mapping[str, float | None]:
    """The metrics of the ranking of all candidates, in percent."""
    result: dict[str, float | None] = {"average_precision": None, "pr_auc": None}
    if truth.any():
        points = curve(truth, scores)
        result = {
            "average_precision": 100.0 * average_precision(points),
            "pr_auc": 100.0 * area(points),
        }
    for k in CUTS:
        share = precision_at(truth, scores, k)
        result[f"P@{k}"] = None if share is None else 100.0 * share
    return result
