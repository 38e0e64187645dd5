"""Simulated pairs with mentions: the distribution they are drawn from, and the best rule."""

import itertools

import numpy as np
import pytest

from lssvm.errors import LssvmError
from lssvm.formats.relation_bags import read_bags
from lssvm.simulation import relation


def sets_of(world, mentions):
    """Sets of relations and their chances, of a pair with so many mentions."""
    count = len(world.shares)
    second = relation.SECOND if mentions > 1 and count > 1 else 0.0
    yield (), world.none
    for label, share in enumerate(world.shares):
        yield (label,), (1 - world.none) * share * (1 - second)
        if second:
            yield (label, (label + 1) % count), (1 - world.none) * share * second


def labellings(chosen, mentions):
    """What mentions may express, with chances, given that all of ``chosen`` is expressed."""
    each = {1: relation.EXPRESSED, 2: relation.EXPRESSED_TWO}.get(len(chosen), 0.0)
    chance = {-1: 1 - len(chosen) * each} | dict.fromkeys(chosen, each)
    found = {
        labels: np.prod([chance[label] for label in labels])
        for labels in itertools.product(chance, repeat=mentions)
        if set(chosen) <= set(labels)
    }
    total = sum(found.values())
    return {labels: share / total for labels, share in found.items()}


def posterior(world, patterns):
    """The chance of every relation, by summing over all sets and all labellings."""
    found, total = np.zeros(len(world.shares)), 0.0
    for chosen, share in sets_of(world, len(patterns)):
        for labels, chance in labellings(chosen, len(patterns)).items():
            drawn = np.prod(
                [world.patterns[label, own] for label, own in zip(labels, patterns, strict=True)]
            )
            found[list(chosen)] += share * chance * drawn
            total += share * chance * drawn
    return found / total


@pytest.mark.parametrize("relations", [1, 2, 3, 5])
def test_chances_are_sums_over_all_labellings(relations):
    rng = np.random.default_rng(relations)
    world = relation.facts(relations, 200, 0.4)
    pairs = relation.drawn(rng, world, 300)
    found = relation.chances(world, pairs)
    compared = 0
    for i, (a, b) in enumerate(itertools.pairwise(pairs.places)):
        if b - a <= 4:
            np.testing.assert_allclose(found[i], posterior(world, pairs.patterns[a:b]), rtol=1e-9)
            compared += 1
    assert compared > 200


def test_blocks_of_pairs_do_not_change_their_chances(monkeypatch):
    world = relation.facts(3, 200, 0.4)
    pairs = relation.drawn(np.random.default_rng(0), world, 50)
    whole = relation.chances(world, pairs)
    monkeypatch.setattr(relation, "_AT_ONCE", 7)
    np.testing.assert_array_equal(relation.chances(world, pairs), whole)


def test_pairs_are_drawn_from_the_distribution():
    world = relation.facts(4, 200, 0.3)
    pairs = relation.drawn(np.random.default_rng(1), world, 40_000)
    counts = np.diff(pairs.places)
    assert (1.0 - pairs.truth.any(axis=1).mean()) == pytest.approx(0.3, abs=0.01)
    for mentions in (1, 2, 3):
        chances = {}
        for chosen, share in sets_of(world, mentions):
            key = frozenset(chosen)
            chances[key] = chances.get(key, 0.0) + share
        own = pairs.truth[counts == mentions]
        for chosen, share in chances.items():
            row = np.isin(np.arange(4), list(chosen))
            assert (own == row).all(axis=1).mean() == pytest.approx(share, abs=0.015)
    labels = labellings((0,), 2)
    alone = (counts == 2) & (pairs.truth == [True, False, False, False]).all(axis=1)
    first = pairs.places[:-1][alone]
    for outcome, share in labels.items():
        both = (pairs.expressed[first] == outcome[0]) & (pairs.expressed[first + 1] == outcome[1])
        assert both.mean() == pytest.approx(share, abs=0.02)


def test_a_pair_has_the_relations_that_its_mentions_express():
    world = relation.facts(5, 200, 0.5)
    pairs = relation.drawn(np.random.default_rng(2), world, 500)
    for i, (a, b) in enumerate(itertools.pairwise(pairs.places)):
        expressed = set(pairs.expressed[a:b].tolist()) - {-1}
        assert set(np.flatnonzero(pairs.truth[i]).tolist()) == expressed


def test_patterns_follow_what_is_expressed():
    world = relation.facts(2, 200, 0.2)
    np.testing.assert_allclose(world.patterns.sum(axis=1), 1.0)
    pairs = relation.drawn(np.random.default_rng(3), world, 30_000)
    for label in (-1, 0, 1):
        own = pairs.patterns[pairs.expressed == label]
        shares = np.bincount(own.ravel(), minlength=world.patterns.shape[1]) / own.size
        np.testing.assert_allclose(shares, world.patterns[label], atol=0.006)


def test_no_other_threshold_is_expected_to_do_better():
    found = np.random.default_rng(4).random((40, 3)) ** 3
    rule = relation.best_rule(found)

    def expected(chosen):
        return 2 * found[chosen].sum() / (found.sum() + chosen.sum())

    thresholds = np.append(np.unique(found), 2.0)
    assert expected(rule) == max(expected(found >= bound) for bound in thresholds)


def test_the_files_hold_what_was_drawn_and_the_figures_of_the_best_rule(tmp_path):
    sizes = {"n": 40, "n_test": 500, "relations": 3, "features": 120, "none": 0.3}
    told = relation.write_pairs(tmp_path, seed=5, **sizes)
    world, rng = relation.facts(3, 120, 0.3), np.random.default_rng(5)
    relation.drawn(rng, world, 40)
    pairs = relation.drawn(rng, world, 500)
    file = read_bags(tmp_path / "test.txt")
    np.testing.assert_array_equal(file.places, pairs.places)
    truth = np.zeros_like(pairs.truth)
    rows = np.repeat(np.arange(500), np.diff(file.label_places))
    truth[rows, file.labels] = True
    np.testing.assert_array_equal(truth, pairs.truth)
    first = world.patterns.shape[1]
    for m in range(0, len(pairs.patterns), 50):
        own = slice(file.starts[m], file.starts[m + 1])
        features = np.concatenate([pairs.patterns[m], pairs.words[m] + first]) + 1
        counted = dict(zip(file.indices[own].tolist(), file.values[own].tolist(), strict=True))
        assert counted == {int(j): float((features == j).sum()) for j in np.unique(features)}
    rule = relation.best_rule(relation.chances(world, pairs))
    f1 = 200 * (rule & truth).sum() / (rule.sum() + truth.sum())
    assert f"f1        {f1:.6g}" in told


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"relations": 0}, "relations must be at least 1, got 0"),
        ({"none": 1.0}, "none must be at least 0 and below 1, got 1"),
        ({"features": 108}, "108 features are too few for 5 relations; expected more than 108"),
    ],
)
def test_impossible_sizes_are_refused_before_anything_is_written(tmp_path, sizes, message):
    with pytest.raises(LssvmError) as caught:
        relation.write_pairs(tmp_path / "out", **sizes)
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()
