"""1 − precision among the k rows that are most surely not of the class left out.

A labelling gives k of n rows classes other than the one left out, and a of them are right:

    Δ = n (1 − a / k)

(Prec@k of Joachims, ICML 2005, there for two classes.) With k fixed it is a sum over the rows, so
that the best k rows by what each gains make the exact maximum. The true labels, which are not k as
a rule, are among the labellings with Δ = 0, so that no example is worse off than with them.
"""

import numpy as np


def rows_at(percent: float, n: int) -> int:
    """k, a share of n rows in percent: at least one row."""
    return min(n, max(1, round(n * percent / 100.0)))


def worst(scores: np.ndarray, truth: np.ndarray, count: int) -> tuple[np.ndarray, float, float]:
    """The labels (n,) for which Δ and scores add up to most, their Δ, and the sum. Exact.

    scores : (n, K + 1), the class left out last; truth : (n,) places in its columns; count : k
    Ties go to the true labels, then to the first rows, and to the right class of a row.
    """
    n, last = len(scores), scores.shape[1] - 1
    every, price = np.arange(n), n / count
    right = np.where(truth < last, scores[every, truth] - price, -np.inf)
    wrong = scores[:, :last].copy()
    some = np.flatnonzero(truth < last)
    wrong[some, truth[some]] = -np.inf
    other = wrong.argmax(axis=1)
    gains = np.maximum(right, wrong[every, other]) - scores[:, last]
    taken = first(gains, count)
    labels = np.full(n, last)
    labels[taken] = np.where(right >= wrong[every, other], truth, other)[taken]
    loss = n - price * float(np.count_nonzero((labels == truth) & (truth < last)))
    value = loss + float(scores[every, labels].sum())
    true = float(scores[every, truth].sum())
    return (truth, 0.0, true) if true >= value else (labels, loss, value)


def first(gains: np.ndarray, count: int) -> np.ndarray:
    """The rows of the ``count`` highest gains, of equal ones the first; increasing."""
    return np.sort(np.argsort(-gains, kind="stable")[:count])


def missed(scores: np.ndarray, truth: np.ndarray, count: int) -> float:
    """1 − precision of the ``count`` rows that exceed the class left out by most.

    scores : as in :func:`worst`; truth : (n,), −1 for a label that training does not have
    """
    last = scores.shape[1] - 1
    best = scores[:, :last].argmax(axis=1)
    taken = first(scores[np.arange(len(scores)), best] - scores[:, last], count)
    return 1.0 - float(np.mean(best[taken] == truth[taken]))
