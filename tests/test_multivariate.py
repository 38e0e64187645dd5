"""The kernel of losses over a data set finds what a search over all numbers of labels finds."""

import itertools

import numpy as np
import pytest

from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.kernels import _multivariate


def loss_of(square, scale, positives, kept, extra):
    """scale (1 − F)."""
    errors = square * (positives - kept) + extra
    return scale * (errors / ((1 + square) * kept + errors)) if errors else 0.0


def first_highest(prices, count):
    """The places of the ``count`` highest prices, of equal ones the first."""
    return sorted(sorted(range(len(prices)), key=lambda k: -prices[k])[:count])


def worst_of_all(prices, truth, square, scale):
    """The labels (m,) that the docstring of ``worst`` names, from every pair of numbers."""
    true, other = np.flatnonzero(truth), np.flatnonzero(~truth)
    right = [sum(sorted(prices[true])[len(true) - k :]) for k in range(len(true) + 1)]
    wrong = [sum(sorted(prices[other])[len(other) - k :]) for k in range(len(other) + 1)]
    numbers = itertools.product(range(len(true), -1, -1), range(len(other) + 1))
    kept, extra = max(
        numbers,
        key=lambda own: loss_of(square, scale, len(true), *own) + right[own[0]] + wrong[own[1]],
    )
    chosen = np.zeros(len(prices), dtype=bool)
    chosen[true[first_highest(prices[true], kept)]] = True
    chosen[other[first_highest(prices[other], extra)]] = True
    return chosen, loss_of(square, scale, len(true), kept, extra) + right[kept] + wrong[extra]


def random_prices(rng, shape):
    """Whole numbers of 1/8: sums are exact, ties and zeros, positive and negative, are many."""
    prices = rng.integers(-16, 17, shape) / 8 * (rng.random(shape) < rng.choice([0.1, 0.5, 1.0]))
    return prices * rng.choice([0.0, 1.0, 4.0])


@pytest.mark.parametrize("macro", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_worst_labels_are_those_of_a_search_over_all_numbers(seed, macro):
    rng = np.random.default_rng([seed, macro])
    n, kinds = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    truth = rng.random((n, kinds)) < rng.choice([0.0, 0.1, 0.5, 1.0])
    loss = FLoss(truth, float(rng.choice([0.5, 1.0, 2.0])) ** 2, macro)
    prices = random_prices(rng, (n, kinds))
    some = max(1, int(truth.any(axis=0).sum()))
    parts = range(kinds) if macro else [slice(None)]
    chosen, total = np.zeros_like(truth), 0.0
    for part in parts:
        own, right = prices[:, part].ravel(), truth[:, part].ravel()
        scale = (n / some * right.any()) if macro else n
        found, value = worst_of_all(own, right, loss.square, scale)
        chosen[:, part] = found.reshape(chosen[:, part].shape)
        total += value
    found, value = loss.worst(prices)
    assert value == pytest.approx(total, abs=1e-9)
    assert loss.value(found) + prices[found].sum() == pytest.approx(total, abs=1e-9)
    np.testing.assert_array_equal(found, chosen)


@pytest.mark.parametrize("seed", range(60))
def test_the_highest_numbers_are_those_of_a_search_over_all(seed):
    rng = np.random.default_rng(seed)
    positives, others = int(rng.integers(0, 25)), int(rng.integers(0, 60))
    most = int(rng.integers(positives, positives + others + 1))
    square, scale = float(rng.choice([0.25, 1.0, 4.0])), float(rng.integers(1, 30))
    cuts = rng.normal(size=(int(rng.integers(1, 6)), 3)) * [30.0, 1.0, 0.1]
    best = max(
        loss_of(square, scale, positives, kept, extra) + (cuts @ [1.0, kept, extra]).min()
        for kept in range(positives + 1)
        for extra in range(max(0, min(others, most - kept)) + 1)
    )
    kept, extra, value = _multivariate.highest_counts(cuts, positives, others, most, square, scale)
    assert value == pytest.approx(best, abs=1e-9)
    own = loss_of(square, scale, positives, kept, extra) + (cuts @ [1.0, kept, extra]).min()
    assert own == pytest.approx(value, abs=1e-9)
    assert 0 <= kept <= positives
    assert 0 <= extra <= max(0, min(others, most - kept))


def test_labels_are_counted_by_their_kind():
    rng = np.random.default_rng(0)
    chosen, truth = rng.random((2, 50, 3)) < 0.4
    both, own = _multivariate.counts(chosen.view(np.uint8), truth.view(np.uint8))
    np.testing.assert_array_equal(both, (chosen & truth).sum(axis=0))
    np.testing.assert_array_equal(own, chosen.sum(axis=0))


def test_without_labels_nothing_is_chosen():
    chosen, value = FLoss(np.zeros((0, 3), dtype=bool), 1.0, True).worst(np.zeros((0, 3)))
    assert (chosen.shape, value) == ((0, 3), 0.0)


def test_the_kernel_refuses_arrays_that_do_not_fit():
    prices, truth = np.zeros((4, 2)), np.zeros((4, 2), dtype=np.uint8)
    values, ends, begins = _multivariate.split(prices, truth)
    with pytest.raises(ValueError, match="4 x 2 prices do not fit 3 x 2 labels"):
        _multivariate.split(prices, truth[:3])
    with pytest.raises(ValueError, match="scales do not fit"):
        _multivariate.worst(prices, truth, values, ends, begins, 1.0, np.ones(3))
    with pytest.raises(ValueError, match="end at 5 and begin at 4 of 4"):
        _multivariate.worst(prices, truth, values, ends + 5, begins, 1.0, np.ones(2))
    with pytest.raises(ValueError, match="4 x 2 labels do not fit 3 x 2"):
        _multivariate.counts(truth[:3], truth)
    with pytest.raises(ValueError, match="cuts are 0 x 3"):
        _multivariate.highest_counts(np.zeros((0, 3)), 1, 1, 1, 1.0, 1.0)
