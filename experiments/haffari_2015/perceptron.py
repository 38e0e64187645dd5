"""A structured perceptron with deterministic OR, after MultiR (Hoffmann et al., ACL 2011).

Every mention has one of L relations or none, the bag those of its mentions. For each bag in turn,
the best labels of all mentions are found; if they give other relations than the true ones, the
weights move towards the best labels that give the true ones and away from those that were found.
MultiR finds the former greedily, as a cover by edges; here they are exact, by assignment. The
weights of all steps are averaged. Bags with more relations than mentions are skipped. The score of
a relation is by how much it exceeds every other label, none among them, on its best mention.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from lssvm.applications.relation.bags import Bags


class Mentions(NamedTuple):
    """Sparse rows: features and values of row m are those at starts[m] .. starts[m + 1] − 1."""

    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


def trained(bags: Bags, relations: int, epochs: int, seed: int) -> np.ndarray:
    """Averaged weights (features, L + 1), none being the last column."""
    matrix = bags.inputs
    rows = Mentions(matrix.indptr, matrix.indices, matrix.data)
    truth = bags.truth(relations)
    w = np.zeros((matrix.shape[1], relations + 1))
    drift = np.zeros_like(w)  # Σ of steps, each times the number of bags before it
    usable, seen = np.flatnonzero(bags.reachable), 0
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        for bag in rng.permutation(usable).tolist():
            first, last = int(bags.places[bag]), int(bags.places[bag + 1])
            scores = np.array([_scores(w, rows, m) for m in range(first, last)])
            found = scores.argmax(axis=1)
            if set(found.tolist()) - {relations} != set(np.flatnonzero(truth[bag]).tolist()):
                right = completed(scores, np.flatnonzero(truth[bag]))
                _step(w, drift, rows, first, right, found, seen)
            seen += 1
    return w - drift / max(1, seen)


def completed(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The best labels (m,) that use each of ``labels`` and otherwise only none; scores (m, L + 1).

    There are at least as many mentions as labels.
    """
    none = scores.shape[1] - 1
    allowed = np.append(labels, none)
    best = allowed[scores[:, allowed].argmax(axis=1)]
    if len(labels):
        regrets = scores[:, labels] - scores[np.arange(len(best)), best][:, None]
        mentions, chosen = linear_sum_assignment(regrets, maximize=True)
        best[mentions] = labels[chosen]
    return best


def predicted(w: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
    """Which relations each bag has, (n, L) bool, and their scores, (n, L)."""
    scores = bags.inputs @ w
    relations = w.shape[1] - 1
    found = np.zeros((len(bags), relations + 1), dtype=bool)
    pair = np.repeat(np.arange(len(bags)), bags.mention_counts)
    found[pair, scores.argmax(axis=1)] = True
    highest = np.sort(scores, axis=1)[:, -2:]
    rival = np.where(scores == highest[:, 1:], highest[:, :1], highest[:, 1:])
    above = (scores - rival)[:, :relations]
    return found[:, :relations], np.maximum.reduceat(above, bags.places[:-1], axis=0)


def _scores(w: np.ndarray, rows: Mentions, mention: int) -> np.ndarray:
    own = slice(rows.starts[mention], rows.starts[mention + 1])
    return rows.values[own] @ w[rows.indices[own]]


def _step(
    w: np.ndarray,
    drift: np.ndarray,
    rows: Mentions,
    first: int,
    right: np.ndarray,
    found: np.ndarray,
    seen: int,
) -> None:
    """Move the weights from the labels that were found to the right ones."""
    for place in np.flatnonzero(right != found).tolist():
        own = slice(rows.starts[first + place], rows.starts[first + place + 1])
        indices, values = rows.indices[own], rows.values[own]
        for label, sign in ((right[place], 1.0), (found[place], -1.0)):
            w[indices, label] += sign * values
            drift[indices, label] += seen * sign * values
