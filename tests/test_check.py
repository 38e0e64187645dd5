"""What ``lssvm check`` finds in data, and how long it takes."""

import time
from pathlib import Path

import numpy as np
import pytest

from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.cli import info
from lssvm.config import load_config

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_slice_has_the_fingerprint_of_a_copy(path):
    config = load_config(str(path), [])
    examples = config.create_application().read(config.sources("train"))
    for row in {0, len(examples) // 2, len(examples) - 1}:
        copy = examples.take(np.array([row]))
        assert examples.slice(row, row + 1).fingerprint() == copy.fingerprint()


def rows(values):
    matrix = np.array(values, dtype=float)
    return in_memory(matrix, np.zeros(len(matrix), dtype=np.int32), ("a",), 1)


def test_up_to_three_examples_in_two_files_are_named():
    train, test = rows([[1, 2], [3, 4], [1, 2], [5, 6], [7, 8]]), rows([[3, 4], [0, 0], [1, 2]])

    def told(own):
        pairs = ((each, info._fingerprints(each)) for each in (own, train))
        return info._shared("test", *pairs)

    assert told(test) == [
        "data.test: 2 examples are also in data.train: memory:1 = memory:2, memory:3 = memory:1"
    ]
    assert told(train)[0].endswith(
        "memory:1 = memory:1, memory:2 = memory:2, memory:4 = memory:4, …"
    )
    assert told(test.take(np.array([1]))) == []


def test_the_time_of_comparing_grows_no_faster_than_the_examples():
    def seconds(n):
        examples = rows(np.arange(4 * n).reshape(n, 4))
        best = np.inf
        for _ in range(3):
            began = time.process_time()
            assert len(info._fingerprints(examples)) == n
            best = min(best, time.process_time() - began)
        return best

    assert seconds(16_000) < 4 * 16 * seconds(1_000)
