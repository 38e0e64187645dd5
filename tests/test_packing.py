import hashlib
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lssvm.applications.packing import Packed, digest
from lssvm.offsets import cumulated, gathered


@dataclass(frozen=True, eq=False)
class Bags(Packed):
    """Examples of ``values``, each with a colour."""

    KIND: ClassVar = "bag"
    OFFSETS: ClassVar = ("offsets",)
    EACH: ClassVar = ("colours",)

    offsets: np.ndarray
    values: np.ndarray
    colours: np.ndarray

    def take(self, rows):
        positions, offsets = gathered(self.offsets, rows)
        values = self.values[positions]
        return replace(self, offsets=offsets, values=values, **self.each(rows))


def bags(parts):
    n = len(parts)
    return Bags(
        offsets=cumulated([len(part) for part in parts]),
        values=np.array([value for part in parts for value in part]),
        colours=np.arange(n) % 3,
        costs=np.arange(n) / 8,
        identifiers=np.array([f"b{i}" for i in range(n)], dtype=object),
        lines=np.arange(n) + 10,
        files=(np.arange(n) % 2).astype(np.int32),
        paths=("x", "y"),
        labelled=True,
    )


def held(examples):
    """Everything of each example, whatever it shares with others."""
    return [
        (
            examples.values[examples.offsets[i] : examples.offsets[i + 1]].tolist(),
            examples.names[i],
            examples.costs[i],
            examples.colours[i],
            examples.lines[i],
            examples.files[i],
        )
        for i in range(len(examples))
    ]


@given(st.lists(st.lists(st.integers(0, 8), max_size=3), min_size=1, max_size=6), st.data())
def test_slice_and_take_choose_what_indexing_the_list_of_examples_chooses(parts, data):
    examples = bags(parts)
    whole = held(examples)
    assert [part for part, *_ in whole] == parts
    places = st.integers(0, len(parts))
    start, stop = sorted((data.draw(places), data.draw(places)))
    block = examples.slice(start, stop)
    assert held(block) == whole[start:stop]
    assert np.shares_memory(block.values, examples.values) or not examples.values.size
    rows = data.draw(st.lists(st.integers(0, len(parts) - 1), max_size=5))
    assert held(examples.take(np.array(rows, dtype=int))) == [whole[row] for row in rows]
    if stop > start:
        inner = data.draw(st.lists(st.integers(0, stop - start - 1), max_size=3))
        taken = block.take(np.array(inner, dtype=int))
        assert held(taken) == [whole[start + row] for row in inner]


def test_offsets_begin_at_0_and_end_at_the_sum():
    assert cumulated([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert cumulated([]).tolist() == [0]
    small = cumulated(np.full(300, 255, dtype=np.uint8))
    assert small.dtype == np.int64
    assert small[-1] == 300 * 255


def test_a_digest_is_that_of_the_bytes_one_after_another():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    expected = hashlib.sha256(b"12" + array.T.tobytes() + array.tobytes()).hexdigest()
    assert digest(12, array.T, array) == expected
    assert digest(12, array, array) != expected


def test_a_digest_does_not_tell_whether_equal_numbers_are_stored_once():
    for count in (0, 1, 3, 8192, 20_000):
        assert digest(np.broadcast_to(np.float64(1.0), count)) == digest(np.ones(count))


@pytest.mark.parametrize(
    ("row", "text"),
    [(2, "x:12: bag 'b2' is odd; expected even"), (None, "x: is odd; expected even")],
)
def test_an_error_points_to_the_example_or_to_the_first_file(row, text):
    assert str(bags([[], [1], [2]]).error(row, "is odd; expected even")) == text
