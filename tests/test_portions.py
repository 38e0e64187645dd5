"""What of long vectors is sent, and what it becomes again."""

import numpy as np
import pytest

from lssvm import sparse
from lssvm.oracle.tree import Node
from lssvm.plane import Plane
from lssvm.problem import KernelRows
from lssvm.training.distributed import portions
from lssvm.training.distributed.portions import Few, Portion, Readers, Reads


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(portions, "SHORT", 8)


class Rows(KernelRows):
    """Rows that are scored against three columns; two more weights follow."""

    def columns_per_row(self, examples):
        return 3

    def known_inputs(self):
        return None


class Inputs:
    def __init__(self, features, width=10):
        rows = np.zeros((len(features), width))
        rows[np.arange(len(features)), features] = 1.0
        self.inputs = sparse.csr_array(rows)


def test_weights_that_are_read_come_as_they_were_and_all_others_are_0():
    examples = {0: Inputs([1, 4]), 1: Inputs([4, 9]), 2: Inputs(range(10))}
    here, there = (Readers(lambda number: Reads.of(Rows(), examples[number])) for _ in "ab")
    w = np.random.default_rng(0).normal(size=32)
    part = portions.sent(w, here, [0, 1])
    assert isinstance(part, Portion)
    assert len(part.values) == 3 * 3 + 2
    found = portions.received(part, there, [0, 1])
    read = np.repeat(np.isin(np.arange(10), [1, 4, 9]), 3)
    assert np.array_equal(found, np.where(np.append(read, [True, True]), w, 0.0))
    assert portions.sent(w, here, [0, 2]) is w
    assert portions.received(w, there, [0, 2]) is w


def test_examples_that_changed_are_looked_at_again():
    examples = {0: Inputs([1])}
    readers = Readers(lambda number: Reads.of(Rows(), examples[number]))
    assert len(portions.sent(np.ones(32), readers, [0]).values) == 5
    examples[0] = Inputs([1, 2])
    readers.forget(0)
    assert len(portions.sent(np.ones(32), readers, [0]).values) == 8


def test_what_is_short_dense_or_not_known_is_sent_whole():
    dense = Inputs([1])
    dense.inputs = dense.inputs.toarray()
    assert Reads.of(Rows(), dense) is None
    assert Reads.of(object(), Inputs([1])) is None
    assert Reads.of(Rows(), Inputs([1], width=2)) is None
    with pytest.raises(RuntimeError, match="not known which"):
        portions.received(Portion(4, np.ones(1)), Readers(lambda number: None), [0])


@pytest.mark.parametrize("places", [[], [3], [0, 31], range(0, 32, 4), range(32)])
def test_sums_come_back_to_the_last_bit(places):
    gradient = np.zeros(32)
    gradient[list(places)] = np.random.default_rng(0).normal(size=len(places))
    gradient[5] = -0.0
    (sent,) = portions.brief([Node(1, 2, Plane(gradient, 0.5), 0.25)])
    assert isinstance(sent.plane.gradient, Few) == (len(places) < 16)
    found = portions.whole(sent.plane)
    assert found.gradient.tobytes() == gradient.tobytes()
    assert found.gradient.flags.writeable
    assert (sent.level, sent.place, found.loss, sent.slack) == (1, 2, 0.5, 0.25)


def test_short_sums_and_other_answers_are_sent_as_they_are():
    plane = Plane(np.zeros(4), 0.0)
    (node, other) = portions.brief([Node(0, 0, plane), (3, None)])
    assert node.plane is plane
    assert other == (3, None)
    assert portions.brief((plane, 1.5)) == (plane, 1.5)
