"""Sums over all label sequences against a plain recursion in logarithms, for many labels."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from lssvm.kernels import _sequence_soft
from lssvm.kernels._sequence import Weights
from lssvm.kernels.arrays import ChainShape, TokenArrays

WIDTH = 5


def recursion(scores, steps):
    """log Z, marginals (T, L) and expected transitions (L, L) of a chain of order 1.

    Logarithms are measured from those of the sums at their position: they stay small.
    """
    forward, backward, logz = [], [np.zeros(len(steps))], 0.0
    for t, own in enumerate(scores):
        found = own + (np.logaddexp.reduce(forward[-1][:, None] + steps, axis=0) if t else 0.0)
        logz += float(np.logaddexp.reduce(found))
        forward.append(found - np.logaddexp.reduce(found))
    for own in scores[:0:-1]:
        found = np.logaddexp.reduce(steps + own + backward[-1], axis=1)
        backward.append(found - found.max())
    shares = normalised(np.array(forward) + backward[::-1], axis=1)
    pairs = np.zeros_like(steps)
    for t in range(1, len(scores)):
        step = forward[t - 1][:, None] + steps + scores[t] + backward[len(scores) - 1 - t]
        pairs += normalised(step, axis=None)
    return logz, shares, pairs


def normalised(logarithms, axis):
    """Their exponentials, divided by the sum."""
    found = np.exp(logarithms - logarithms.max(axis=axis, keepdims=True))
    return found / found.sum(axis=axis, keepdims=True)


def tokens_of(rng, lengths, dense):
    """Tokens of random features, dense or sparse."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = rng.normal(size=(offsets[-1], WIDTH)) * (rng.random((offsets[-1], WIDTH)) < 0.7)
    packed = sparse.csr_array(rows)
    none = np.zeros(0)
    parts = (
        (rows, none.astype(np.int32), none, none.astype(np.int64))
        if dense
        else (
            np.zeros((0, WIDTH)),
            packed.indices.astype(np.int32),
            packed.data,
            packed.indptr.astype(np.int64),
        )
    )
    return TokenArrays(*parts, offsets), rows, offsets


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("scale", "apart"), [(0.5, 1.0), (3.0, 20.0), (3.0, 600.0)])
@pytest.mark.parametrize("L", [1, 2, 7, 8, 9, 16, 17, 26, 33, 41, 70])
def test_every_width_of_the_labels_gives_the_sums_of_a_plain_recursion(L, scale, apart, dense):
    rng = np.random.default_rng([L, int(apart), dense])
    tokens, rows, offsets = tokens_of(rng, [1, 2, 3, 7, 30, 0, 60], dense)
    emissions = scale * rng.normal(size=(WIDTH, L))
    # A few transitions that the tokens must fight against: probabilities of their sums underflow.
    steps = rng.normal(size=(L, L)) - apart * (rng.random((L, L)) < 0.5)
    weights = Weights(
        np.concatenate([emissions.ravel(), steps.ravel()]),
        ChainShape(WIDTH, L, 1, False),
        not dense,
    )
    costs = rng.random(len(offsets) - 1)
    gradient, logz, marginals = _sequence_soft.expectations(tokens, costs, weights)
    slope, pairs = np.zeros((WIDTH, L)), np.zeros((L, L))
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        if a == b:
            continue
        value, shares, counts = recursion(rows[a:b] @ emissions, steps)
        assert logz[i] == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(marginals[a:b], shares, rtol=0, atol=1e-10)
        slope += costs[i] * rows[a:b].T @ shares
        pairs += costs[i] * counts
    expected = np.concatenate([slope.ravel(), pairs.ravel()])
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-9)


def test_the_probabilities_of_a_sequence_of_many_tokens_do_not_drift():
    rng = np.random.default_rng(3)
    tokens, rows, _ = tokens_of(rng, [50_000], dense=True)
    emissions, steps = rng.normal(size=(WIDTH, 9)), 3.0 * rng.normal(size=(9, 9))
    whole = np.concatenate([emissions.ravel(), steps.ravel()])
    weights = Weights(whole, ChainShape(WIDTH, 9, 1, False), False)
    _, logz, marginals = _sequence_soft.expectations(tokens, np.ones(1), weights)
    value, shares, _ = recursion(rows @ emissions, steps)
    assert logz[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(marginals, shares, rtol=0, atol=1e-10)
