"""Planes: sums, combinations and lower bounds, for any numbers that add up without rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import random_problem

from lssvm import plane as planes_module
from lssvm.plane import Plane, Planes, total

D = 3
eighths = st.integers(-64, 64).map(lambda n: n / 8)  # sums and products of these are exact
vectors = st.lists(eighths, min_size=D, max_size=D).map(np.array)
planes = st.builds(Plane, vectors, eighths)
stacks = st.lists(planes, min_size=1, max_size=40)


def stacked(listed):
    stack = Planes(D)
    for plane in listed:
        stack.append(plane)
    return stack


@given(planes, planes, vectors)
def test_values_of_sums_and_differences_are_those_of_the_values(a, b, w):
    assert (a + b).value(w) == a.value(w) + b.value(w)
    assert (a - b).value(w) == a.value(w) - b.value(w)
    assert abs(a.value(w)) <= a.size(w)


@given(stacks, vectors)
def test_a_total_is_the_sum_in_any_grouping_and_leaves_its_parts_alone(listed, w):
    before = [plane.gradient.copy() for plane in listed]
    assert total(listed).value(w) == sum(plane.value(w) for plane in listed)
    middle = len(listed) // 2
    parts = [part for part in (listed[:middle], listed[middle:]) if part]
    assert total([total(part) for part in parts]).value(w) == total(listed).value(w)
    for plane, gradient in zip(listed, before, strict=True):
        np.testing.assert_array_equal(plane.gradient, gradient)


@given(stacks, vectors, st.data())
def test_a_stack_holds_the_planes_and_combines_them(listed, w, data):
    stack = stacked(listed)
    assert len(stack) == len(listed)
    np.testing.assert_array_equal(
        stack.losses + stack.dots(w), [plane.value(w) for plane in listed]
    )
    coefficients = data.draw(st.lists(eighths, min_size=len(listed), max_size=len(listed)))
    expected = sum(c * plane.value(w) for c, plane in zip(coefficients, listed, strict=True))
    assert stack.combine(np.array(coefficients)).value(w) == expected


@given(stacks, st.data())
def test_what_is_kept_of_a_stack_is_what_was_chosen(listed, data):
    rows = sorted(data.draw(st.sets(st.integers(0, len(listed) - 1))))
    stack = stacked(listed)
    stack.keep(np.array(rows, dtype=int))
    stack.append(listed[0])
    expected = stacked([*(listed[row] for row in rows), listed[0]])
    np.testing.assert_array_equal(stack.gradients, expected.gradients)
    np.testing.assert_array_equal(stack.losses, expected.losses)


@given(stacks, vectors, st.data())
def test_no_convex_combination_lies_above_the_maximum_of_the_planes(listed, w, data):
    shares = st.lists(st.integers(0, 8), min_size=len(listed), max_size=len(listed)).filter(any)
    weights = np.array(data.draw(shares), dtype=float)
    mean = stacked(listed).combine(weights / weights.sum()).value(w)
    highest = max(plane.value(w) for plane in listed)
    assert mean <= highest + 1e-12 * max(plane.size(w) for plane in listed)


@pytest.mark.parametrize("seed", range(3))
@given(w=st.lists(eighths, min_size=5, max_size=5), v=st.lists(eighths, min_size=5, max_size=5))
def test_a_plane_of_the_data_touches_at_its_point_and_is_a_lower_bound_everywhere(seed, w, v):
    application, examples = random_problem(seed)
    w, v = np.array(w), np.array(v)
    plane, upper = application.augmented(w, examples)
    assert plane.value(w) == pytest.approx(upper, abs=1e-10)
    elsewhere = application.augmented(v, examples)[0].value(v)
    assert plane.value(v) <= elsewhere + 1e-10


def test_products_of_long_differences_are_those_of_all_at_once(monkeypatch):
    rng = np.random.default_rng(2)
    stack, origin, w = Planes(50), rng.normal(size=50), rng.normal(size=50)
    for _ in range(4):
        stack.append(Plane(rng.normal(size=50), float(rng.normal())))
    differences = stack.gradients - origin
    one, other = Plane(stack.gradients[0], 3.0), Plane(stack.gradients[1], -1.0)
    for piece in (50, 7):  # pieces of one and of eight parts
        monkeypatch.setattr(planes_module, "_PIECE", piece)
        np.testing.assert_allclose(stack.gram(origin), differences @ differences.T, rtol=1e-12)
        assert one.above(other, w) == pytest.approx((one - other).value(w), rel=1e-12)
