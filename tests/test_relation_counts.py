"""The worst relations for F_β by prices of errors, compared with all label sets."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from lssvm.applications.relation import inference
from lssvm.applications.relation.counts import CARRIED, Answers, Errors, counted
from lssvm.applications.relation.decomposition import Limits
from lssvm.applications.relation.f_beta import FLoss
from lssvm.applications.relation.inference import in_turn
from lssvm.kernels.relation_arrays import BagArrays

LIMITS = Limits(60, False, 4096)


def drawn(rng):
    """Up to 4 pairs × 3 mentions × 3 relations, scores that are multiples of 1/8; their truth."""
    pairs, relations = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    counts = rng.integers(1, 4, pairs)
    places = np.concatenate([[0], np.cumsum(counts)])
    scores = rng.integers(-24, 25, (places[-1], relations + 1)) / 8.0 * rng.choice([0, 0.25, 1])
    scores[:, -1] = 0.0
    truth = np.zeros((pairs, relations), dtype=bool)
    for row, count in enumerate(counts):
        own = rng.permutation(relations)[: int(rng.integers(0, min(count, relations) + 1))]
        truth[row, own] = True
    if not truth.any():
        truth[0, 0] = True
    return BagArrays(scores, places.astype(np.int64)), truth


def best_scores(bags, row):
    """The highest score of a pair for each set of relations that its mentions can use."""
    own = bags.scores[bags.places[row] : bags.places[row + 1]]
    none, found = own.shape[1] - 1, {}
    for labels in itertools.product(range(none + 1), repeat=len(own)):
        key = frozenset(labels) - {none}
        score = sum(own[m, label] for m, label in enumerate(labels))
        found[key] = max(found.get(key, -np.inf), score)
    return found


def largest(bags, truth, loss):
    """U⁺ by all label sets of all pairs."""
    best = -np.inf
    each = [best_scores(bags, row) for row in range(len(truth))]
    for chosen in itertools.product(*each):
        used = np.array([[j in own for j in range(truth.shape[1])] for own in chosen])
        score = sum(scores[own] for scores, own in zip(each, chosen, strict=True))
        best = max(best, loss.value(used) + score)
    return best


def solved(bags, truth, beta, carried=None, limits=LIMITS):
    loss = FLoss(truth, beta * beta, False)
    rows = SimpleNamespace(
        label_places=np.concatenate([[0], np.cumsum(truth.sum(axis=1))]).astype(np.int64),
        labels=np.nonzero(truth)[1].astype(np.int32),
        label_span=slice(0, int(truth.sum())),
    )
    rows = inference.completed(bags, _Sized(len(truth), rows))
    carried = np.zeros((CARRIED, 2)) if carried is None else carried
    return counted(bags, loss, rows, carried, limits, in_turn), loss


class _Sized:
    """The truth of pairs, as completion reads it."""

    def __init__(self, count, rows):
        self._count, self._rows = count, rows

    def __len__(self):
        return self._count

    def __getattr__(self, name):
        return getattr(self._rows, name)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_bounds_hold_the_true_maximum_between_them(beta):
    rng, met = np.random.default_rng(int(10 * beta)), 0
    for _ in range(100):
        bags, truth = drawn(rng)
        found, loss = solved(bags, truth, beta)
        expected = largest(bags, truth, loss)
        assert found.upper >= expected - 1e-9
        assert found.value <= expected + 1e-9
        used = inference.Labelling(found.labels, None, None).used(bags)
        score = bags.scores[np.arange(len(found.labels)), found.labels].sum()
        assert found.value == pytest.approx(loss.value(used) + score, abs=1e-9)
        met += found.upper - found.value <= 1e-5 * len(truth)
    assert met >= 60


def test_a_pass_that_begins_where_the_last_one_ended_asks_less():
    rng = np.random.default_rng(3)
    asked = {True: 0, False: 0}
    for _ in range(20):
        bags, truth = drawn(rng)
        first, _ = solved(bags, truth, 1.0)
        for warm in (True, False):
            carried = first.multipliers if warm else None
            short, _ = solved(bags, truth, 1.0, carried, Limits(CARRIED, False, 4096))
            asked[warm] += short.upper - first.upper <= 1e-9
    assert asked[True] == 20
    assert asked[False] < 20


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_slopes_are_those_of_the_loss_and_none_is_steeper_than_told(beta):
    errors = Errors(10.0, beta * beta, 7, 50)
    for k, m in itertools.product((0.0, 2.0, 6.5, 7.0), (0.0, 1.0, 40.0)):
        h = 1e-6
        expected = [
            (errors.loss(k + h, m) - errors.loss(k - h, m)) / (2 * h),
            (errors.loss(k, m + h) - errors.loss(k, m - h)) / (2 * h),
        ]
        np.testing.assert_allclose(errors.slopes(k, m), expected, rtol=1e-5, atol=1e-8)
        assert max(errors.slopes(k, m)) <= errors.steepest


def test_the_highest_bound_is_that_of_all_counts():
    rng = np.random.default_rng(5)
    for _ in range(30):
        errors, answers = Errors(9.0, float(rng.choice([0.25, 1, 4])), 6, 11), Answers()
        for _ in range(int(rng.integers(1, 6))):
            a, b = rng.random(2) * 2
            answers.rows.append((a, b, float(rng.normal(5, 3)), 0.0, 0.0, 0.0))
        best = max(
            errors.loss(k, m) + min(v - a * k - b * m for a, b, v, *_ in answers.rows)
            for k in range(7)
            for m in range(12)
        )
        value, k, m = errors.highest(answers)
        assert value == pytest.approx(best, abs=1e-12)
        own = errors.loss(k, m) + min(v - a * k - b * m for a, b, v, *_ in answers.rows)
        assert own == pytest.approx(best, abs=1e-12)
