"""Labels of mentions and losses over a data set are what enumeration finds."""

import itertools

import numpy as np
import pytest
import relation_cases as cases
from scipy.optimize import linear_sum_assignment

from lssvm.applications.multivariate import integer
from lssvm.applications.multivariate.decomposition import Limits, decomposed
from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import Labelling, chosen_by, in_turn
from lssvm.kernels import _relation
from lssvm.kernels.relation_arrays import BagArrays

DATA_SETS = 300
MANY = 10**6


def eighths(rng, *shape):
    return rng.integers(-16, 17, shape) / 8


def random_bags(rng, n=4, mentions=3, relations=3):
    counts = rng.integers(1, mentions + 1, n)
    places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return BagArrays(eighths(rng, int(places[-1]), relations + 1), places)


def scores_of(bags, row):
    return bags.scores[bags.places[row] : bags.places[row + 1]]


def labels_of(bags, found, row):
    return found.labels[bags.places[row] : bags.places[row + 1]].tolist()


def random_truth(rng, bags):
    counts = np.diff(bags.places)
    return [
        frozenset(rng.permutation(bags.labels)[: rng.integers(0, count + 1)].tolist())
        for count in counts
    ]


def matrix(sets, relations):
    return np.array([[k in own for k in range(relations)] for own in sets])


def test_completion_is_the_best_labelling_with_the_relations_of_each_pair():
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        bags = random_bags(rng)
        truth, n = random_truth(rng, bags), len(bags.places) - 1
        found = Labelling.empty(bags)
        short = chosen_by(bags, matrix(truth, 3), np.arange(n), found)
        assert not len(short)
        for row in range(n):
            best = cases.best_by_set(scores_of(bags, row))[truth[row]]
            labels = labels_of(bags, found, row)
            assert cases.used(labels, 3) == truth[row]
            assert found.values[row] == best
            assert sum(scores_of(bags, row)[np.arange(len(labels)), labels]) == best


def assigned(weights):
    """The greatest sum of weights (R, C) of different rows and columns."""
    return weights[linear_sum_assignment(weights, maximize=True)].sum()


@pytest.mark.parametrize("seed", range(40))
def test_large_pairs_are_assigned_as_scipy_does(seed):
    rng = np.random.default_rng(seed)
    mentions, relations = int(rng.integers(1, 120)), int(rng.integers(1, 60))
    common = rng.integers(-16, 17, (mentions, 1)) / 8  # which all relations want most
    scores = eighths(rng, mentions, relations + 1) + 4.0 * common
    bags = BagArrays(scores, np.array([0, mentions]))
    found, row = Labelling.empty(bags), np.zeros(1, dtype=np.int64)
    used = rng.permutation(relations)[: min(mentions, relations)]
    chosen_by(bags, np.isin(np.arange(relations), used)[None], row, found)
    own = scores[:, [*used, relations]]
    top = own.max(axis=1)
    assert found.values[0] == top.sum() + assigned((own - top[:, None])[:, :-1].T)
    assert cases.used(labels_of(bags, found, 0), relations) == frozenset(used.tolist())
    gains = np.abs(eighths(rng, 1, relations))
    found.improve(bags, gains, row, 1)
    top = scores.max(axis=1)
    weights = np.maximum(scores[:, :-1] - top[:, None] + gains, 0.0)
    assert found.values[0] == top.sum() + assigned(weights)


def test_sums_of_labels_are_those_of_their_pairs():
    rng = np.random.default_rng(0)
    bags = random_bags(rng, n=50)
    labels = rng.integers(0, 4, len(bags.scores)).astype(np.int32)
    truth = rng.random((50, 3)) < 0.5
    used = _relation.used(bags, labels).view(bool)
    scores = [scores_of(bags, row) for row in range(50)]
    own = np.split(labels, bags.places[1:-1])
    sums = [s[np.arange(len(k)), k].sum() for s, k in zip(scores, own, strict=True)]
    expected = np.column_stack([sums, (used & truth).sum(axis=1), (used & ~truth).sum(axis=1)])
    found = _relation.sums(bags, labels, truth.view(np.uint8))
    np.testing.assert_array_equal(found, expected)


def test_the_best_labels_at_any_prices_are_those_of_enumeration():
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        bags = random_bags(rng, mentions=4, relations=4)
        n = len(bags.places) - 1
        gains = eighths(rng, n, 4)
        found = Labelling.empty(bags)
        found.improve(bags, gains, np.arange(n), MANY)
        assert np.all(found.excess == 0.0)
        for row in range(n):
            every = cases.best_by_set(scores_of(bags, row))
            best = max(value + sum(gains[row, k] for k in own) for own, value in every.items())
            own = cases.used(labels_of(bags, found, row), 4)
            assert found.values[row] == best == every[own] + sum(gains[row, k] for k in own)


@pytest.mark.parametrize("seed", range(20))
def test_few_label_sets_give_valid_bounds_and_integer_programming_the_rest(seed):
    rng = np.random.default_rng(seed)
    bags = random_bags(rng, mentions=6, relations=6)
    n = len(bags.places) - 1
    gains = -np.abs(eighths(rng, n, 6))
    exact, few = Labelling.empty(bags), Labelling.empty(bags)
    exact.improve(bags, gains, np.arange(n), MANY)
    left = _relation.best(bags, gains, np.arange(n), 1, few.labels, few.values, few.excess)
    assert np.all(few.values <= exact.values)
    assert np.all(exact.values <= few.values + few.excess)
    for row in left.tolist():
        labels, value, bound = integer.best(scores_of(bags, row), gains[row])
        assert value == pytest.approx(exact.values[row], abs=1e-9)
        own = sum(gains[row, k] for k in cases.used(labels.tolist(), 6))
        assert value == pytest.approx(
            scores_of(bags, row)[np.arange(len(labels)), labels].sum() + own
        )
        assert exact.values[row] <= bound <= exact.values[row] + 1e-3


def test_integer_programming_is_asked_for_some_pair_of_those_data_sets():
    asked = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bags = random_bags(rng, mentions=6, relations=6)
        n = len(bags.places) - 1
        gains, few = -np.abs(eighths(rng, n, 6)), Labelling.empty(bags)
        asked += len(
            _relation.best(bags, gains, np.arange(n), 1, few.labels, few.values, few.excess)
        )
    assert asked > 0


@pytest.mark.parametrize("macro", [False, True])
def test_the_worst_loss_at_any_prices_is_that_of_enumeration(macro):
    for seed in range(DATA_SETS // 6):
        rng = np.random.default_rng(seed)
        for scale in (0, 4, 16):  # three data sets of each seed
            n, relations, beta = int(rng.integers(1, 4)), 3, float(rng.choice([0.5, 1.0, 2.0]))
            truth = rng.random((n, relations)) < rng.choice([0.0, 0.3, 0.7])
            prices = rng.integers(-scale, scale + 1, (n, relations)) / 8
            loss = FLoss(truth, beta**2, macro)
            reference = cases.macro_loss if macro else cases.micro_loss
            sets = [frozenset(np.flatnonzero(row).tolist()) for row in truth]
            best = -np.inf
            for bits in itertools.product([False, True], repeat=n * relations):
                chosen = np.array(bits).reshape(n, relations)
                others = [frozenset(np.flatnonzero(row).tolist()) for row in chosen]
                own = reference(sets, others, beta, n)
                assert loss.value(chosen) == pytest.approx(own, abs=1e-12)
                best = max(best, own + prices[chosen].sum())
            chosen, value = loss.worst(prices)
            assert value == pytest.approx(best, abs=1e-12)
            assert loss.value(chosen) + prices[chosen].sum() == pytest.approx(value, abs=1e-12)


def true_maximum(bags, truth, loss):
    """U⁺ by enumeration of the reachable relations of all pairs together."""
    each = [list(cases.best_by_set(scores_of(bags, row)).items()) for row in range(len(truth))]
    best = -np.inf
    for combination in itertools.product(*each):
        chosen = matrix([own for own, _ in combination], bags.labels)
        best = max(best, loss.value(chosen) + sum(value for _, value in combination))
    return best


def bounded(seed, macro, counts, iterations=20, relations=3):
    """The bounds of a tiny data set, and what is between them."""
    rng = np.random.default_rng(seed)
    bags = random_bags(rng, n=int(rng.integers(1, 4)), mentions=2, relations=relations)
    truth = random_truth(rng, bags)
    n = len(truth)
    loss = FLoss(matrix(truth, relations), float(rng.choice([0.5, 1.0, 2.0])) ** 2, macro)
    right = Labelling.empty(bags)
    chosen_by(bags, loss.truth, np.arange(n), right)
    carried = np.zeros((3, 2) if counts else (n, relations))
    limits = Limits(iterations, False, MANY, counts)
    found = decomposed(bags, loss, right, carried, limits, in_turn)
    return bags, loss, found, true_maximum(bags, truth, loss)


@pytest.mark.parametrize(("macro", "counts"), [(False, False), (True, False), (False, True)])
def test_the_decomposition_bounds_the_maximum_and_often_meets_it(macro, counts):
    met = 0
    for seed in range(DATA_SETS):
        bags, loss, found, best = bounded(seed, macro, counts)
        room = 1e-9 * (1.0 + abs(best))
        assert found.value <= best + room
        assert found.upper >= best - room
        places = np.arange(len(found.labels))
        own = loss.value(_relation.used(bags, found.labels).view(bool))
        assert found.loss == pytest.approx(own, abs=1e-12)
        assert found.value == pytest.approx(own + bags.scores[places, found.labels].sum())
        met += found.met
    assert met >= DATA_SETS // 4


@pytest.mark.parametrize(("macro", "counts"), [(False, False), (True, False), (False, True)])
def test_the_maximum_with_a_single_relation_is_that_of_enumeration(macro, counts):
    for seed in range(DATA_SETS):
        bags, loss, found, best = bounded(seed, macro, counts, iterations=1, relations=1)
        places = np.arange(len(found.labels))
        own = loss.value(_relation.used(bags, found.labels).view(bool))
        assert own == pytest.approx(found.loss, abs=1e-12)
        assert own + bags.scores[places, found.labels].sum() == pytest.approx(best, abs=1e-12)
        assert found.upper == pytest.approx(best, abs=1e-12)
        assert found.met


def test_a_pair_without_mentions_never_has_the_single_relation():
    bags = BagArrays(np.array([[1.0, 0.0]]), np.array([0, 0, 1]))
    loss, right = FLoss(np.array([[False], [True]]), 1.0, False), Labelling.empty(bags)
    chosen_by(bags, loss.truth, np.arange(2), right)
    limits = Limits(1, False, MANY, True)
    found = decomposed(bags, loss, right, np.zeros((3, 2)), limits, in_turn)
    assert found.labels.tolist() == [1]  # Δ = 2 without the true label, more than its score 1
    assert (found.value, found.upper) == (2.0, 2.0)


@pytest.mark.parametrize("counts", [False, True])
def test_more_steps_never_widen_the_bounds(counts):
    for seed in range(30):
        few, many = (bounded(seed, False, counts, steps)[2] for steps in (3, 40))
        assert many.upper <= few.upper + 1e-12
        assert many.value >= few.value - 1e-12


@pytest.mark.parametrize("seed", range(30))
def test_evidence_is_the_difference_of_the_best_labels_with_and_without_a_relation(seed):
    rng = np.random.default_rng(seed)
    bags = random_bags(rng)
    n, found = len(bags.places) - 1, Labelling.empty(bags)
    found.improve(bags, np.zeros((n, 3)), np.arange(n), 1)
    margins, mentions = np.zeros((n, 3)), np.zeros((n, 3), dtype=np.int32)
    _relation.evidence(bags, found.labels, margins, mentions)
    for row in range(n):
        every = cases.best_by_set(scores_of(bags, row))
        for k in range(3):
            using = max(value for own, value in every.items() if k in own)
            other = max(value for own, value in every.items() if k not in own)
            assert margins[row, k] == using - other
            assert 0 <= mentions[row, k] < len(scores_of(bags, row))


def test_the_kernel_refuses_arrays_that_do_not_fit():
    bags = random_bags(np.random.default_rng(0))
    n, m = len(bags.places) - 1, len(bags.scores)
    labels, values, rows = np.zeros(m, dtype=np.int32), np.zeros(n), np.arange(n)
    with pytest.raises(ValueError, match="do not fit"):
        _relation.best(bags, np.zeros((n, 2)), rows, 1, labels, values, values.copy())
    with pytest.raises(ValueError, match="is not in 0"):
        _relation.best(bags, np.zeros((n, 3)), rows + n, 1, labels, values, values.copy())
    with pytest.raises(ValueError, match="do not fit"):
        _relation.best(bags, np.zeros((n, 3)), rows, 1, labels[1:], values, values.copy())
    many = np.arange(n + 1) * 4
    with pytest.raises(ValueError, match=r"label 3 is not in 0\.\.2"):
        _relation.complete(bags, rows, many, np.full(4 * n, 3, np.int32), labels, values)
    with pytest.raises(ValueError, match="fewer mentions than labels"):
        _relation.complete(bags, rows, many, np.zeros(4 * n, np.int32), labels, values)
    with pytest.raises(ValueError, match="sets 2 x 3 do not fit 4 bags"):
        _relation.complete_chosen(bags, np.zeros((2, 3), np.uint8), rows, labels, values)
    with pytest.raises(ValueError, match="sets 4 x 2 do not fit 4 bags of 3 labels"):
        _relation.sums(bags, labels, np.zeros((n, 2), np.uint8))
    with pytest.raises(ValueError, match="not all in 0"):
        _relation.sums(bags, labels + 9, np.zeros((n, 3), np.uint8))
    with pytest.raises(ValueError, match="not all in 0"):
        _relation.evidence(bags, labels + 9, np.zeros((n, 3)), np.zeros((n, 3), np.int32))
