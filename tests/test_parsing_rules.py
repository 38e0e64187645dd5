"""Max-rule trees, the best few trees and flat trees against enumeration."""

import functools

import numpy as np
import parsing_cases as cases
import pytest

from lssvm.applications.parsing.best_trees import Forest
from lssvm.kernels import _parsing, _parsing_soft

KINDS = {"plain": {}, "spans": {"spans": True}, "free": {"free": True}, "parts": {"parts": 2}}


@functools.cache
def made(seed, kind):
    """A random problem, which several tests use."""
    return cases.Case(seed, **KINDS[kind])


def anchored(case, derivation, order):
    """The rules of a tree as read, each with its words and, for chains, its layer."""
    grammar = case.grammar
    nodes, _ = cases.nodes_of(grammar, derivation)
    found, layers = [], {}
    for r, start, end in reversed(nodes):
        binary = grammar.split[2][r] >= 0
        below = layers.get((start, end), 0)
        top = grammar.split[0][r] < 0  # the root takes what is below it in any layer
        layers[start, end] = 0 if binary or top else below + 1
        middle = order(derivation)[len(nodes) - 1 - len(found)] if binary else None
        found.append((int(grammar.whole[r]), start, end, layers[start, end], middle))
    return found


def splits(case):
    def order(derivation):
        rules = np.array(derivation, dtype=np.int32)
        columns = _parsing.spans_of(case.grammar, rules, np.array([0, len(rules)]))
        return columns[2].tolist()

    return order


@pytest.mark.parametrize("kind", KINDS)
def test_max_rule_trees_have_the_highest_product_of_posteriors(kind):
    for seed in range(200):
        case = made(seed, kind)
        scores = np.array(list(map(case.score, case.all)))
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = splits(case)
        posteriors, trees = {}, {}
        for derivation, share in zip(case.all, shares, strict=True):
            own = anchored(case, derivation, order)
            for key in own:
                posteriors[key] = posteriors.get(key, 0.0) + share
            trees[cases.as_read(case.grammar, derivation)] = own
        values = {tree: sum(np.log(posteriors[key]) for key in own) for tree, own in trees.items()}
        _, rules, _ = _parsing_soft.by_rules(
            case.grammar, case.sentences, case.w, case.spans, case.emissions
        )
        assert values[tuple(rules.tolist())] == pytest.approx(max(values.values()), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_few_derivations_are_those_of_enumeration(kind):
    for seed in range(200):
        case = made(seed, kind)
        charts = _parsing.charts(
            case.grammar, case.sentences, 0, case.w, case.spans, case.emissions
        )
        forest = Forest(case.grammar, case.w, charts, len(case.tags), 7)
        found = forest.best(7)
        scores = sorted(map(case.score, case.all), reverse=True)
        assert [value for value, _ in found] == scores[:7]
        assert len({tuple(rules) for _, rules in found}) == len(found)
        for value, rules in found:
            assert tuple(rules) in case.all
            assert case.score(tuple(rules)) == value
