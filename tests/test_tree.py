"""Sums by the tree of block numbers: the same bits in any order and by any number of workers."""

import weakref
from itertools import pairwise

import numpy as np
import pytest

from lssvm.oracle.tree import Node, TreeSum
from lssvm.plane import Plane


def leaves(count, seed=0):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 9, (count, 5))
    gradients = scale * rng.normal(size=(count, 5))
    losses, slacks = rng.normal(size=(2, count))
    return [
        Node(0, k, Plane(gradients[k], float(losses[k])), float(slacks[k])) for k in range(count)
    ]


def by_definition(nodes):
    """The left part has as many blocks as the largest power of two below their number."""
    if len(nodes) == 1:
        plane, slack = nodes[0].plane, nodes[0].slack
        return np.array([*plane.gradient, plane.loss, slack])
    left = 1 << (len(nodes) - 1).bit_length() - 1
    return by_definition(nodes[:left]) + by_definition(nodes[left:])


def bits(tree):
    plane, slack = tree.total()
    return np.array([*plane.gradient, plane.loss, slack]).tobytes()


def summed(nodes):
    tree = TreeSum()
    for node in nodes:
        tree.add(node)
    return tree


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 11, 64, 100])
def test_the_sum_is_that_of_the_tree_in_any_order_of_blocks(count):
    expected = by_definition(leaves(count)).tobytes()
    rng = np.random.default_rng(count)
    assert bits(summed(leaves(count))) == expected
    for _ in range(5):
        nodes = leaves(count)
        assert bits(summed([nodes[k] for k in rng.permutation(count)])) == expected


@pytest.mark.parametrize("count", [5, 64, 100])
def test_partial_sums_of_any_shares_of_the_blocks_give_the_same_bits(count):
    expected = by_definition(leaves(count)).tobytes()
    rng = np.random.default_rng(count)
    for workers in (1, 2, 3, 4, 7):
        nodes, owners = leaves(count), rng.integers(0, workers, count)
        shares = [[node for node, o in zip(nodes, owners, strict=True) if o == k] for k in range(9)]
        found = TreeSum()
        for share in shares[::-1]:
            for node in summed(share).nodes:
                found.add(node)
        assert bits(found) == expected


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_blocks_that_follow_each_other_become_a_few_sums(workers):
    edges = np.linspace(0, 64, workers + 1).astype(int)
    for first, last in pairwise(edges.tolist()):
        assert len(summed(leaves(64)[first:last]).nodes) <= 2 * np.log2(64)
    assert len(summed(leaves(64)).nodes) == 1
    assert len(summed(leaves(64)[32:]).nodes) == 1


def test_sums_are_fixed_and_the_order_of_blocks_matters_to_rounding():
    nodes = leaves(100)
    in_turn = sum((node.plane.gradient for node in nodes[1:]), nodes[0].plane.gradient)
    assert summed(leaves(100)).total()[0].gradient.tobytes() != in_turn.tobytes()


def test_gradients_of_blocks_are_not_overwritten():
    nodes, untouched = leaves(11), leaves(11)
    summed(nodes).total()
    for node, before in zip(nodes, untouched, strict=True):
        np.testing.assert_array_equal(node.plane.gradient, before.plane.gradient)


def test_no_more_gradients_are_in_memory_than_the_tree_has_levels():
    tree, seen, most = TreeSum(), [], 0
    for k in range(64):
        gradient = np.ones(3)
        seen.append(weakref.ref(gradient))
        tree.add(Node(0, k, Plane(gradient, 0.0)))
        del gradient
        most = max(most, sum(each() is not None for each in seen))
        assert len(tree.nodes) <= 6
    assert most <= 6
    np.testing.assert_array_equal(tree.total()[0].gradient, 64.0)
