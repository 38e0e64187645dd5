"""Inference of parsing against the enumeration of all derivations, to the last bit."""

import functools
import itertools

import numpy as np
import parsing_cases as cases
import pytest

from lssvm.kernels import _parsing

KINDS = {"plain": {}, "spans": {"spans": True}, "free": {"free": True}, "parts": {"parts": 2}}
BLOCKS = [range(k, k + 25) for k in range(0, 200, 25)]


def search(case, task, loss=(0, 0, 0, 0)):
    """Value, margin, upper bound and derivation of the case's sentence."""
    values, margins, uppers, rules, offsets = _parsing.search(
        case.grammar, case.sentences, case.w, case.spans, case.emissions, task, loss
    )
    assert offsets.tolist() == [0, len(rules)]
    return values[0], margins[0], uppers[0], tuple(rules.tolist())


@functools.cache
def built(kind, seed):
    options = dict(KINDS[kind])
    return cases.Case(seed, zero=seed % 5 == 0, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_the_best_derivation_is_that_of_enumeration(kind, seeds):
    for seed in seeds:
        case = built(kind, seed)
        value, _, upper, found = search(case, _parsing.PREDICT)
        assert value == max(map(case.score, case.all))
        assert upper == value
        assert found in case.all
        assert case.score(found) == value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_completion_is_the_best_derivation_of_the_true_tree(kind, seeds):
    for seed in seeds:
        case = built(kind, seed)
        value, margin, _, found = search(case, _parsing.TRUTH)
        same = [d for d in case.all if cases.as_read(case.grammar, d) == case.truth]
        assert value == max(map(case.score, same))
        assert (found in same, case.score(found), margin) == (True, value, 0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "task"), [("brackets", "ADDITIVE"), ("zero_one", "ZERO_ONE")])
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_losses_in_the_chart_are_exact(kind, name, task, seeds):
    for seed in seeds:
        case = built(kind, seed)
        value, margin, upper, found = search(case, getattr(_parsing, task))
        assert value == max(case.loss(d, name) + case.score(d) for d in case.all)
        assert upper == value
        assert margin == case.loss(found, name)
        assert margin + case.score(found) == value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["brackets", "f1"])
@pytest.mark.parametrize("root", [0, 1])
@pytest.mark.parametrize("slack", [0, 1])
def test_losses_of_counts_are_bounded_and_then_exact(kind, name, root, slack):
    gaps = 0
    for seed in range(200):
        case = built(kind, seed)
        loss = (int(name == "f1"), root, slack)
        truth = search(case, _parsing.TRUTH)[0]

        def augmented(d, case=case, truth=truth):
            loss = case.loss(d, name)
            loss = np.sqrt(loss) if root else loss
            score = case.score(d)
            return loss * (1.0 + (score - truth)) + truth if slack else loss + score

        best = max(map(augmented, case.all))
        value, _, upper, found = search(case, _parsing.BOUNDED, (*loss, 0))
        assert value == augmented(found)
        assert value <= best <= upper + 1e-9
        gaps += upper > value + 1e-9
        value, margin, upper, found = search(case, _parsing.BOUNDED, (*loss, 99))
        assert value == best == augmented(found)
        assert margin == (np.sqrt(case.loss(found, name)) if root else case.loss(found, name))
        assert upper <= value + 1e-11
    assert gaps < 100
    if (name, root, slack) == ("brackets", 0, 0):
        assert gaps == 0  # a linear loss leaves none


@pytest.mark.parametrize(("words", "seeds"), [(14, range(4)), (24, [2])])
def test_losses_of_counts_are_exact_where_many_trees_are_left(words, seeds):
    """The trees that the first charts do not exclude are too many to count."""
    for seed in seeds:
        case = cases.Ambiguous(seed, words)
        scores, matched = case.best_scores(), np.arange(words)
        brackets = words - 1
        losses = {0: brackets - matched, 1: 1.0 - 2.0 * matched / (brackets + len(case.golds))}
        for kind, root, slack in itertools.product((0, 1), repeat=3):
            loss = np.sqrt(np.maximum(losses[kind], 0.0)) if root else losses[kind]
            every = loss * (1.0 + (scores - case.score)) + case.score if slack else loss + scores
            best = max(case.score, np.max(every[scores > -np.inf]))
            value, _, upper, _ = search(case, _parsing.BOUNDED, (kind, root, slack, 99))
            assert value == best
            assert upper <= value + 1e-11
