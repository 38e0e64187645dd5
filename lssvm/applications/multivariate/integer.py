"""The best labels of the mentions of one pair by mixed-integer programming (HiGHS in SciPy).

    maximise  Σ_m Σ_l s(m, l) x(m, l) + Σ_l g(l) z(l)

x(m, l) says whether mention m has label l, one of them or none; z(l) whether label l is used:
z(l) ≤ Σ_m x(m, l), and z(l) ≥ x(m, l) for every m.
"""

import numpy as np

from lssvm import sparse

_NODES = 1_000  # of the search tree
_LARGEST = 2_000  # labels of all mentions
_TOLERANCE = 1e-6  # of constraints in HiGHS, as a share of the bound


def best(scores: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Labels of M mentions, their value, and an upper bound of the best value.

    scores : (M, L + 1), the last column of none; gains : (L,) what a used label adds

    Labels whose use is free stand with none: each mention has one best of them. Returns None if
    the problem is too large.
    """
    free = np.append(gains == 0.0, True)
    if scores.shape[0] * int(np.count_nonzero(~free)) > _LARGEST:
        return None
    ways = np.flatnonzero(~free)
    idle = np.where(free, scores, -np.inf)
    first = np.argmax(idle[:, ::-1], axis=1)  # none before the last label
    first = len(gains) - first
    reduced = np.column_stack([scores[:, ways], np.max(idle, axis=1)])
    chosen, bound = _solved(reduced, gains[ways])
    labels = np.where(chosen == len(ways), first, np.append(ways, 0)[chosen])
    used = np.zeros(len(gains) + 1, dtype=bool)
    used[labels] = True
    value = float(scores[np.arange(len(labels)), labels].sum() + gains[used[:-1]].sum())
    return labels.astype(np.int32), value, bound


def _solved(scores: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, float]:
    """Labels of M mentions, and an upper bound of the best value."""
    from scipy.optimize import LinearConstraint, milp  # takes longer to import than a short run

    M, L = scores.shape[0], len(gains)
    x = np.arange(M * (L + 1)).reshape(M, L + 1)
    z = x.size + np.arange(L)
    size = x.size + L
    one = _rows(x.ravel(), np.repeat(np.arange(M), L + 1), np.ones(x.size), (M, size))
    labels = np.arange(L)
    count = _rows(
        np.concatenate([z, x[:, :L].T.ravel()]),
        np.concatenate([labels, np.repeat(labels, M)]),
        np.concatenate([np.ones(L), -np.ones(M * L)]),
        (L, size),
    )
    pairs = np.arange(M * L)
    each = _rows(
        np.concatenate([x[:, :L].ravel(), np.tile(z, M)]),
        np.concatenate([pairs, pairs]),
        np.concatenate([np.ones(M * L), -np.ones(M * L)]),
        (M * L, size),
    )
    objective = np.concatenate([scores.ravel(), gains])
    found = milp(
        -objective,
        integrality=np.ones(size),
        bounds=(0.0, 1.0),
        constraints=[
            LinearConstraint(one, 1.0, 1.0),
            LinearConstraint(sparse.vstack([count, each], "csr"), -np.inf, 0.0),
        ],
        options={"mip_rel_gap": 0.0, "node_limit": _NODES},
    )
    bound = _bound(scores, gains)
    if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
        proved = -float(found.mip_dual_bound)
        bound = min(bound, proved + _TOLERANCE * (1.0 + abs(proved)))
    if found.x is None:
        chosen = np.argmax(scores, axis=1)
    else:
        chosen = np.argmax(found.x[: x.size].reshape(M, L + 1), axis=1)
    return chosen, bound


def _bound(scores: np.ndarray, gains: np.ndarray) -> float:
    """What no labelling exceeds: the best label of each mention, and all gains above 0."""
    return float(scores.max(axis=1).sum() + np.maximum(gains, 0.0).sum())


def _rows(
    columns: np.ndarray, rows: np.ndarray, values: np.ndarray, shape: tuple[int, int]
) -> "sparse.csr_array":
    return sparse.csr_array((values, (rows, columns)), shape=shape)
