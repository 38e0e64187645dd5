"""Precision, recall and F with intervals, by resampling the bags of the test data."""

from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.relation import relation_metrics

RESAMPLES = 2000
SEED = 1


class Outcome(NamedTuple):
    """What a method says of n bags with M relations, M ≥ L.

    truth : (n, M) bool; found : (n, L) bool; scores : (n, L)
    """

    truth: np.ndarray
    found: np.ndarray
    scores: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Facts of each bag that are true, found, and both, (n, 3)."""
        own = self.truth[:, : self.found.shape[1]] & self.found
        return np.column_stack([x.sum(axis=1) for x in (self.truth, self.found, own)])


def f_of(counts: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """F_β of sums of true, found and both, (..., 3), in percent."""
    weight = beta * beta
    true, found, both = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    return 100.0 * (1.0 + weight) * both / np.maximum(weight * true + found, 1e-300)


def best_threshold(outcome: Outcome) -> float:
    """The score from which on relations are predicted with the highest F1; the highest such one."""
    count = outcome.scores.shape[1]
    order = np.argsort(-outcome.scores, axis=None, kind="stable")
    scores = outcome.scores.ravel()[order]
    both = np.cumsum(outcome.truth[:, :count].ravel()[order])
    found = np.arange(1, len(scores) + 1)
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))  # of equal scores
    sums = np.column_stack([np.full(len(ends), outcome.truth.sum()), found[ends], both[ends]])
    return float(scores[ends[int(np.argmax(f_of(sums)))]])


def above(outcome: Outcome, threshold: float) -> Outcome:
    """The same scores, with every relation predicted whose score is not below a threshold."""
    return outcome._replace(found=outcome.scores >= threshold)


def resampled(counts: np.ndarray) -> np.ndarray:
    """Sums over bags drawn with replacement, (RESAMPLES, 3); the same bags for every method."""
    n = len(counts)
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1.0 / n), RESAMPLES)
    return times @ counts


def interval(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of resampled values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def measured(outcome: Outcome) -> dict[str, Any]:
    """The figures of a method, in percent."""
    counts = outcome.counts
    true, found, both = (float(x) for x in counts.sum(axis=0))
    precision, recall, f1 = relation_metrics.shares(true, found, both)
    drawn = resampled(counts)
    low, high = interval(f_of(drawn))
    ranked = relation_metrics.all_scores(
        outcome.truth, outcome.found, outcome.scores, [""] * outcome.truth.shape[1]
    )
    return {
        "precision": 100.0 * precision,
        "recall": 100.0 * recall,
        "f1": 100.0 * f1,
        "f1_low": low,
        "f1_high": high,
        "f0.5": float(f_of(counts.sum(axis=0), 0.5)),
        "f2": float(f_of(counts.sum(axis=0), 2.0)),
        **{name: ranked[name] for name in ("average_precision", "pr_auc", "P@100", "P@200")},
    }


def difference(first: Outcome, second: Outcome, beta: float = 1.0) -> tuple[float, float, float]:
    """By how much F_β of the first exceeds that of the second, and the 95 % interval of it."""
    sums = [outcome.counts.sum(axis=0) for outcome in (first, second)]
    drawn = [f_of(resampled(outcome.counts), beta) for outcome in (first, second)]
    low, high = interval(drawn[0] - drawn[1])
    return float(f_of(sums[0], beta) - f_of(sums[1], beta)), low, high
