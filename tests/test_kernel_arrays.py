"""What kernels are given fits: few arguments, as their stubs say, and arrays that are checked."""

import ast
import importlib
import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lssvm.kernels.arrays import (
    ClassArrays,
    GraphArrays,
    MentionArrays,
    MotifArrays,
    QueryArrays,
    RowArrays,
    TokenArrays,
)
from lssvm.kernels.dual_arrays import DualArrays, PlaneArrays, SpaceArrays
from lssvm.kernels.relation_arrays import BagArrays

ROOT = Path(__file__).parent.parent
KERNELS = sorted(path.stem for path in (ROOT / "cython_ext").glob("*.pyx"))
MOST_ARGUMENTS = 7


def ints(*numbers):
    return np.array(numbers, dtype=np.int32)


def longs(*numbers):
    return np.array(numbers, dtype=np.int64)


def reals(*numbers):
    return np.array(numbers, dtype=np.float64)


SPARSE = {"starts": longs(0, 1, 2), "indices": ints(0, 2), "values": reals(1, 2)}
PLANES = PlaneArrays(ints(0, 1, 2), reals(1, 2, 3), longs(0, 1), longs(1, 3))
SPACE = SpaceArrays(np.zeros(3), np.zeros(3), np.zeros((0, 0)), 0)
MENTIONS = MentionArrays(
    mentions=longs(0, 2, 4),
    pairs=longs(0, 1, 2),
    rows=ints(0, 0),
    tables=longs(0, 1, 2),
    **SPARSE,
    costs=np.ones(2),
    reach=5,
)
MOTIFS = MotifArrays(
    words=np.zeros(22, np.uint8),
    contexts=np.arange(6, dtype=np.uint16),
    opposite=np.zeros(0, np.uint16),
    offsets=longs(0, 3, 6),
    runs=longs(0, 1, 2),
    bounds=np.array([[0, 3], [4, 6]]),
    labels=np.array([1, -1], np.int8),
    costs=np.ones(2),
    both=False,
)
QUERIES = QueryArrays(np.zeros(0), ints(0, 2), reals(1, 2), longs(0, 1, 2), longs(0, 2), 3)
ROWS = RowArrays(np.zeros((0, 0)), reals(1, 2), ints(0, 2), longs(0, 1, 2), 2, 3)
TOKENS = TokenArrays(np.zeros((0, 3)), ints(0, 2), reals(1, 2), longs(0, 1, 2), longs(0, 2))
CLASSES = ClassArrays(
    2, ints(-1, 0), ints(0, 1), ints(0, 1, 3), ints(0, 0, 1), 1.0 - np.eye(2), False
)
GRAPHS = GraphArrays(
    offsets=longs(0, 3),
    nodes=longs(0, 2),
    edges=longs(0, 1),
    starts=longs(0, 1, 2, 3),
    indices=ints(0, 0, 1),
    values=np.ones(3),
    bases=longs(0, 0, 2),
    sizes=ints(2, 2, 4),
    ends=np.array([[0, 1]], dtype=np.int32),
    labels=ints(0, 1),
    costs=np.ones(1),
)
DUAL = DualArrays(
    planes=PLANES,
    space=SPACE,
    losses=np.zeros(2),
    squares=np.ones(2),
    alpha=np.zeros(2),
    slots=np.full((1, 4), -1, dtype=np.int32),
    counts=ints(0),
    limits=np.ones(1),
    gaps=np.zeros(1),
)
BAGS = BagArrays(np.zeros((3, 2)), longs(0, 1, 3))
WHOLE = (BAGS, PLANES, SPACE, DUAL, MENTIONS, MOTIFS, QUERIES, ROWS, TOKENS, CLASSES, GRAPHS)
DAMAGED = [
    (BAGS, {"places": longs(0, 1, 4)}, r"within 0\.\.3"),
    (BAGS, {"places": longs(0, 2, 1)}, "do not increase"),
    (BAGS, {"scores": np.zeros((3, 0))}, "no column for none"),
    (PLANES, {"values": np.zeros(2)}, "values do not fit"),
    (PLANES, {"ends": longs(1)}, "ends do not fit"),
    (SPACE, {"scores": np.zeros(2)}, "scores do not fit"),
    (SPACE, {"gram": np.zeros((2, 2)), "labels": 2}, "for 3 weights"),
    (DUAL, {"alpha": np.zeros(1)}, "alpha do not fit"),
    (DUAL, {"gaps": np.zeros(2)}, "gaps do not fit"),
    (MENTIONS, {"costs": np.ones(3)}, "mentions do not fit"),
    (MENTIONS, {"pairs": longs(0, 2, 2)}, "pairs do not fit the mentions"),
    (MENTIONS, {"rows": ints(0, 1)}, "rows end after the tables"),
    (MENTIONS, {"rows": ints(-1, 0)}, "rows are below 0"),
    (MENTIONS, {"indices": ints(0, -1)}, "expected 0 or more"),
    (MENTIONS, {"starts": longs(0, 1)}, "tables do not increase"),
    (MOTIFS, {"bounds": np.array([[0, 4], [4, 6]])}, "outside of their sequence"),
    (MOTIFS, {"both": True}, "opposite do not fit"),
    (MOTIFS, {"offsets": longs(0, 3, 7)}, r"within 0\.\.6"),
    (QUERIES, {"width": 2}, "expected 3 or more"),
    (QUERIES, {"offsets": longs(0, 3)}, r"within 0\.\.2"),
    (ROWS, {"width": 2}, "expected 3 or more"),
    (ROWS, {"starts": longs(0, 2, 1)}, "do not increase"),
    (TOKENS, {"offsets": longs(0, 3)}, r"within 0\.\.2"),
    (TOKENS, {"offsets": longs(1, 2)}, "expected 0"),
    (TOKENS, {"indices": ints(0, 3)}, "not below the 3 features"),
    (TOKENS, {"values": reals(1)}, "values do not fit: 1; expected 2"),
    (TOKENS, {"values": reals(1), "starts": longs(0, 2, 2), "alike": True}, "longer rows"),
    (TOKENS, {"values": reals(1, 2), "alike": True}, "not all 1"),
    (CLASSES, {"margins": np.zeros((3, 3))}, "do not fit 2 classes"),
    (CLASSES, {"margins": np.zeros((2, 4))[:, ::2]}, "side by side in a row"),
    (CLASSES, {"margins": np.zeros((2, 2), np.float32)}, "expected float64"),
    (CLASSES, {"parents": ints(-1, 1)}, "not below its parent"),
    (CLASSES, {"places": ints(0, 2)}, "places are not all"),
    (GRAPHS, {"nodes": longs(0, 1)}, "not the nodes and the edges"),
    (GRAPHS, {"ends": np.array([[0, 2]], dtype=np.int32)}, "not nodes of their graph"),
    (GRAPHS, {"bases": longs(0, 0, -1)}, "too low"),
]


@pytest.mark.parametrize("whole", WHOLE, ids=lambda whole: type(whole).__name__)
def test_arrays_of_another_kind_are_refused(whole):
    for name, (kind, dimensions) in whole.KINDS.items():
        array = getattr(whole, name)
        other = np.float32 if kind == np.float64 else np.float64
        for wrong in (array.astype(other), array[None], np.stack([array, array], -1)[..., 0]):
            if wrong.flags.c_contiguous and wrong.dtype == kind and wrong.ndim == dimensions:
                continue  # of one number or none, which is contiguous whatever the stride
            with pytest.raises(ValueError, match=f"{type(whole).__name__}: {name} is "):
                replace(whole, **{name: wrong})


@pytest.mark.parametrize(("whole", "change", "message"), DAMAGED)
def test_arrays_that_do_not_fit_are_refused(whole, change, message):
    with pytest.raises(ValueError, match=message):
        replace(whole, **change)


def test_the_weights_that_are_read_are_counted():
    assert MENTIONS.width == 3
    assert MOTIFS.width == 6
    assert TOKENS.width == 3
    assert GRAPHS.width == 2 + 2 * 4  # the edge: base 2, feature 1, tables of 4


@pytest.mark.parametrize("name", KERNELS)
def test_stubs_say_what_the_kernels_take_and_that_is_little(name):
    kernel = importlib.import_module(f"lssvm.kernels.{name}")
    tree = ast.parse((ROOT / "lssvm" / "kernels" / f"{name}.pyi").read_text(encoding="utf-8"))
    stubs = {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    compiled = {
        key: list(inspect.signature(value).parameters)
        for key, value in vars(kernel).items()
        if not key.startswith("_") and type(value).__name__ == "cython_function_or_method"
    }
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [each for node in classes for each in node.body if isinstance(each, ast.FunctionDef)]
    assert stubs or methods
    assert stubs == compiled
    counts = [len(each.args.args) for each in methods] + [len(each) for each in stubs.values()]
    assert max(counts) <= MOST_ARGUMENTS
