"""Slow answers about alignments, straight from the definitions."""

import itertools
from functools import cache

import numpy as np

GLOBAL, FREE, LOCAL = 0, 1, 2


@cache
def alignments(n, m):
    """Every alignment of n and m letters: increasing pairs of positions."""
    return [
        tuple(zip(i, j, strict=True))
        for k in range(min(n, m) + 1)
        for i in itertools.combinations(range(n), k)
        for j in itertools.combinations(range(m), k)
    ]


def gap(model, letters):
    return model[0] + (letters - 1) * model[1] if letters else 0.0


def ends(model, a, b):
    """The scores of an end of a and b letters; several where a choice is left."""
    if model[2] == LOCAL or (model[2] == FREE and (a == 0 or b == 0)):
        return [0.0]
    if model[2] == FREE:
        return [gap(model, a), gap(model, b)]
    return [gap(model, a) + gap(model, b)]


def scores(x, z, table, model, pairs, bonus=lambda i, j: 0.0):
    """The scores of one alignment, one for each choice of free ends."""
    n, m = len(x), len(z)
    if not pairs:
        return [gap(model, n) + gap(model, m) if model[2] == GLOBAL else 0.0]
    inside = sum(table[x[i], z[j]] + bonus(i, j) for i, j in pairs)
    for (i, j), (k, o) in itertools.pairwise(pairs):
        inside += gap(model, k - i - 1) + gap(model, o - j - 1)
    first = ends(model, *pairs[0])
    last = ends(model, n - 1 - pairs[-1][0], m - 1 - pairs[-1][1])
    return [inside + a + b for a in first for b in last]


def every_score(x, z, table, model, bonus=lambda i, j: 0.0):
    return [
        score
        for pairs in alignments(len(x), len(z))
        for score in scores(x, z, table, model, pairs, bonus)
    ]


def pairs_of(partners):
    return tuple((i, int(j)) for i, j in enumerate(partners) if j >= 0)


def log_sum(values):
    values = np.asarray(values)
    return float(values.max() + np.log(np.sum(np.exp(values - values.max()))))
