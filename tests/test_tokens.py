"""Words that stand for numbers in text files."""

import math
import time

import pytest
from refusals import told

from lssvm.formats import tokens

NO_WHOLE = ["", " 1 ", "1 ", "+1", "-1", "1_000", "²", "١", "1.0", "1e3", "0x10", "１", "one"]
NO_NUMBER = [
    "",
    " 1",
    "1 ",
    "1_0",
    "²",
    "١",
    "1,5",
    "0x10",
    "1e",
    "e5",
    ".",
    "--1",
    "1e5.0",
    "one",
    "infinite",
]


@pytest.mark.parametrize("text", NO_WHOLE)
def test_what_int_takes_besides_digits_is_no_whole_number(text):
    message = told(tokens.whole, text, "count", 0, 2000, kind=ValueError)
    assert message == f"count {text!r} is not a whole number; expected 0 to 2,000"


def test_whole_numbers_are_those_within_bounds():
    assert [tokens.whole(text, "count", 0, 255) for text in ("0", "7", "255", "000255")] == [
        0,
        7,
        255,
        255,
    ]
    for text in ("256", "9" * 5000):
        message = told(tokens.whole, text, "count", 0, 255, "?", kind=ValueError)
        assert message == f"count {tokens.cut(text)!r} is out of range; expected 0 to 255, ?"
    assert "is out of range" in told(tokens.whole, "000", "count", 1, 255, kind=ValueError)
    assert tokens.whole("0" * 5000 + "9", "count", 0, 9) == 9


@pytest.mark.parametrize("text", NO_NUMBER)
def test_what_float_takes_besides_decimal_numbers_is_no_number(text):
    message = told(tokens.finite, text, "cost", kind=ValueError)
    assert message == f"cost {text!r} is not a number; expected one such as 0.5"


@pytest.mark.parametrize("text", ["nan", "NaN", "+inf", "-Infinity"])
def test_numbers_that_are_not_finite_are_called_so(text):
    message = told(tokens.finite, text, "cost", kind=ValueError)
    assert message == f"cost {text!r} is not finite; expected a finite number"


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 5000])
def test_numbers_that_are_too_large_are_called_so(text):
    message = told(tokens.finite, text, "cost", kind=ValueError)
    assert message == f"cost {tokens.cut(text)!r} is too large; expected a finite number"


@pytest.mark.parametrize("text", ["1", "-1", "+1.5", ".5", "5.", "1e3", "1E-3", "-0", "1e-400"])
def test_finite_numbers_are_those_that_python_reads(text):
    assert tokens.finite(text, "cost") == float(text)
    assert math.copysign(1, tokens.finite(text, "cost")) == math.copysign(1, float(text))


def test_costs_are_at_least_0():
    assert tokens.cost("0") == 0.0
    message = "cost '-0.5' is negative; expected at least 0"
    assert told(tokens.cost, "-0.5", kind=ValueError) == message


def test_features_are_pairs_with_increasing_indices():
    indices, values = tokens.features(" 1:0.5 3:-1\t7:0 ", 7)
    assert (indices.tolist(), values.tolist()) == ([1, 3, 7], [0.5, -1.0, 0.0])
    wrong = {
        "1": "'1' is not a feature; expected index:value",
        "²:1": "'²:1' is not a feature; expected index:value",
        "-1:1": "'-1:1' is not a feature; expected index:value",
        "8:1": "index '8' is out of range; expected 1 to 7",
        "0:1": "index '0' is out of range; expected 1 to 7",
        "1:": "value of feature 1 '' is not a number; expected one such as 0.5",
        "1:1:1": "value of feature 1 '1:1' is not a number; expected one such as 0.5",
    }
    for pair, message in wrong.items():
        assert told(tokens.features, pair, 7, kind=ValueError) == message
    message = "index 2 follows 2; expected increasing indices"
    assert told(tokens.features, "2:1 2:1", 7, kind=ValueError) == message


def test_long_words_are_told_in_time():
    began = time.process_time()
    for text in ("9" * 300_000 + "x", "1." + "9" * 300_000 + "x", "1e" + "9" * 300_000 + "x"):
        assert "is not a number" in told(tokens.finite, text, "cost", kind=ValueError)
        assert "is not a" in told(tokens.features, f"1:{text}", 7, kind=ValueError)
        assert "is not a" in told(tokens.features, f"{text}:1", 7, kind=ValueError)
    assert time.process_time() - began < 5  # it would be minutes, were it quadratic
