"""Blocks in threads: results in order, errors, and what is in memory."""

import gc
import threading
import weakref

import numpy as np
import pytest

from lssvm.executor import Executor
from lssvm.oracle import blocks
from lssvm.plane import Plane, total


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 97])
def test_results_come_in_the_order_of_the_blocks(threads, count):
    pauses = np.random.default_rng(0).integers(0, 3000, count)
    with Executor(threads) as executor:
        found = executor.map(lambda k: (k, sum(range(pauses[k])))[0], range(count))
    assert found == list(range(count))


def test_blocks_are_shared_among_the_threads():
    both, users = threading.Barrier(2, timeout=60), set()

    def work(block):
        if block < 2:
            both.wait()  # passed only by two threads at once
        users.add(threading.get_ident())

    with Executor(2) as executor:
        executor.map(work, range(10))
    assert len(users) == 2
    assert threading.get_ident() in users


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_the_first_block_that_fails_is_raised(threads):
    started = []

    def work(block):
        started.append(block)
        if block in (20, 21, 22):
            raise ValueError(f"block {block}")

    with Executor(threads) as executor:
        with pytest.raises(ValueError, match="block 20"):
            executor.map(work, range(10_000))
        assert len(started) < 10_000
        assert executor.map(abs, range(50)) == list(range(50))


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_while_a_result_is_taken_is_raised(threads):
    def take(result):
        if result == 7:
            raise ValueError("full")

    with Executor(threads) as executor, pytest.raises(ValueError, match="full"):
        executor.in_order(abs, range(50), take)


class Result:
    """Something that can be counted while it is alive."""


def test_results_are_taken_as_they_come():
    alive, most = weakref.WeakSet(), [0]
    gate = threading.Event()

    def work(block):
        if block == 1:
            assert gate.wait(60)  # until the other thread has taken block 0 and begun a third
        if block == 2:
            gate.set()
        result = Result()
        alive.add(result)
        most[0] = max(most[0], len(alive))
        return result

    with Executor(1) as executor:
        executor.in_order(work, [0] * 30, lambda result: None)
    assert most[0] <= 2
    taken = []
    with Executor(2) as executor:
        executor.in_order(work, range(3), lambda result: taken.append(type(result)))
    gc.collect()
    assert taken == [Result] * 3
    assert not alive


def test_a_sum_of_planes_has_the_same_bits_however_it_is_made():
    rng = np.random.default_rng(0)
    planes = [Plane(rng.normal(size=9), float(rng.normal())) for _ in range(40)]
    expected = planes[0].gradient.copy()
    for plane in planes[1:]:
        expected = expected + plane.gradient
    before = [plane.gradient.copy() for plane in planes]
    found = total(planes)
    assert found.gradient.tobytes() == expected.tobytes()
    assert found.loss == sum((plane.loss for plane in planes[1:]), planes[0].loss)
    assert all(np.array_equal(a, b.gradient) for a, b in zip(before, planes, strict=True))
    assert total(planes[:1]).gradient is planes[0].gradient


class Numbers:
    """Examples that only count."""

    def __init__(self, first, last):
        self.first, self.last = first, last

    def __len__(self):
        return self.last - self.first

    def slice(self, start, stop):
        return Numbers(self.first + start, self.first + stop)


@pytest.mark.parametrize(
    ("milliseconds", "count"),
    [
        (0.3, 1),
        (0.6, 2),
        (3.2, 12),
        (17, 16),
        (49, 24),
        (50, 26),
        (128, 64),
        (6_000, 64),
        (20_000, 200),
    ],
)
def test_short_passes_have_few_blocks_and_long_ones_enough_for_many_machines(milliseconds, count):
    n = 100_000
    work = np.full(n, milliseconds * 1e6 / n)
    found = blocks(Numbers(0, n), work)
    assert len(found) == count
    assert [own.first for own in found[1:]] == [own.last for own in found[:-1]]
    assert (found[0].first, found[-1].last) == (0, n)
    sizes = [len(own) for own in found]
    assert max(sizes) - min(sizes) <= 2
