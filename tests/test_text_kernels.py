"""Numbers in place of words and codes, against dictionaries; what does not fit is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lssvm.kernels import _codes, _text
from lssvm.kernels.text_arrays import CellBuffers, DistinctWords, RowBuffers, paired, renumbered


def ints(*numbers):
    return np.array(numbers, dtype=np.int32)


def numbered(items):
    """The number of each item in the order of first ones, -1 for None, and the distinct items."""
    known = {}
    return [-1 if item is None else known.setdefault(item, len(known)) for item in items], known


@given(st.lists(st.lists(st.text(max_size=12) | st.none(), max_size=20), max_size=5))
def test_words_are_numbered_in_the_order_of_their_first_ones(blocks):
    words, codes = DistinctWords(), []
    for block in blocks:
        raw, spans = b"", []
        for word in block:
            encoded = b"" if word is None else word.encode()
            spans.append((-1, -1) if word is None else (len(raw), len(raw) + len(encoded)))
            raw += encoded + b" "
        spans = np.array(spans, dtype=np.int32).reshape(-1, 2)
        codes += words.codes(raw or b" ", spans).tolist()
    expected, known = numbered([word for block in blocks for word in block])
    assert codes == expected
    assert words.texts() == tuple(known)
    assert [words.code(word) for word in known] == list(range(len(known)))


def test_many_words_of_all_lengths_are_told_apart():
    expected = [f"{k:0{k % 40}d}" for k in range(20_000)]
    words = DistinctWords()
    assert [words.code(word) for word in expected] == numbered(expected)[0]
    assert words.texts() == tuple(dict.fromkeys(expected))


@pytest.mark.parametrize("high", [3, 5_000])
def test_codes_are_numbered_anew_in_the_order_of_their_first_ones(high):
    rng = np.random.default_rng(high)
    first, second = rng.integers(-1, high, (2, 20_000)).astype(np.int32)
    items = [None if code < 0 else code for code in first.tolist()]
    own = first.copy()
    distinct = renumbered(own, high)
    expected, known = numbered(items)
    assert own.tolist() == expected
    assert distinct.tolist() == list(known)
    pairs = [
        None if min(pair) < 0 else pair
        for pair in zip(first.tolist(), second.tolist(), strict=True)
    ]
    own = first.copy()
    found = paired(own, second)
    expected, known = numbered(pairs)
    assert own.tolist() == expected
    assert list(zip(*(part.tolist() for part in found), strict=True)) == list(known)


BLOCK, HEADERS = b"1 1:1\n", np.empty((4, 4), np.int32)
CODES, FOUND = np.zeros(256, np.uint8), np.empty(8, np.uint8)


def fitted(buffers, length=64):
    buffers.fit(length)
    return buffers


WRONG = {
    "room": lambda: _text.rows(BLOCK * 20, 0, 0, True, 1, 9, fitted(RowBuffers())),
    "room for cells": lambda: _text.cells(BLOCK * 20, 0, 2, False, fitted(CellBuffers())),
    "room for graphs": lambda: _text.graph_lines(BLOCK * 20, 0, 9, fitted(RowBuffers())),
    "end": lambda: _text.rows(b"1 1:1", 0, 0, True, 1, 9, fitted(RowBuffers())),
    "end of cells": lambda: _text.cells(b"a b", 0, 2, False, fitted(CellBuffers())),
    "no columns": lambda: _text.cells(BLOCK, 0, 0, False, fitted(CellBuffers())),
    "end of graphs": lambda: _text.graph_lines(b"node a", 0, 9, fitted(RowBuffers())),
    "end of letters": lambda: _text.letters(b"AC", 0, CODES, FOUND, HEADERS),
    "codes": lambda: _text.letters(BLOCK, 0, CODES[:9], FOUND, HEADERS),
    "headers": lambda: _text.letters(BLOCK, 0, CODES, FOUND, np.empty((4, 3), np.int32)),
    "span": lambda: _codes.intern(b"ab", ints(1, 3)[None], 0, ints(0), DistinctWords()),
    "codes of words": lambda: _codes.intern(b"ab", ints(0, 1)[None], 0, ints(), DistinctWords()),
    "table of words": lambda: _codes.spread(np.zeros(4, np.uint32), 4, ints(-1, -1, -1, -1)),
    "table of codes": lambda: _codes.scatter(np.arange(4), ints(-1, -1, -1, -1)),
    "code": lambda: renumbered(ints(0, 7), 7),
    "pairs": lambda: paired(ints(0, 1), ints(0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(name):
    with pytest.raises(
        ValueError, match=r"^(rows|cells|graph|letters|Row|Cell|intern|spread|sc|re)"
    ):
        WRONG[name]()
