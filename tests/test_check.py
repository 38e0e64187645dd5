"""What ``lssvm check`` finds in data, and how long it takes."""

import time
from pathlib import Path

import numpy as np
import pytest

from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.cli import info
from lssvm.config import Config, load_config

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


TREES = ["(S (N he) (V runs))", "(S (N she) (V runs))", "(S (N it) (V is) (A so))"]
QUERIES = ["1 qid:{0} 1:1 2:.5\n0 qid:{0} 1:2\n", "1 qid:{0} 2:1\n0 qid:{0} 1:3 2:0\n"]
# application, examples of training, and one that has names or features of its own
NAMED = {
    "multiclass": (["a 1:1\n", "b 1:2\n", "a 1:3\n"], "new 1:1\n"),
    "parsing": ([f"{tree}\n" for tree in TREES], "(S (N zebras) (V run))\n"),
    "precision_at_k": ([text.format(i) for i, text in enumerate(QUERIES)], "1 qid:9 7:1\n"),
    "sequence": (["one A\n\n", "two B\n\n"], "three C\n\n"),
}


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", NAMED)
def test_examples_in_two_files_are_found_whatever_else_is_in_them(name, dense, tmp_path):
    own, new = NAMED[name]
    if name in ("multiclass", "precision_at_k") and not dense:
        own = [text.replace("\n", " 50:1\n") for text in own]
    (tmp_path / "train.txt").write_text("".join(own))
    (tmp_path / "test.txt").write_text(new + own[1])
    options = {"sequence": {"columns": ["word", "label"]}, "precision_at_k": {"k": 1}}.get(name, {})
    values = {"application": {"name": name, **options}, "data": {"train": "train.txt"}}
    values["data"]["test"] = "test.txt"
    facts = info.data_facts(Config.from_dict(values, base=tmp_path))
    places = [("test.txt", new.count("\n") + 1), ("train.txt", own[0].count("\n") + 1)]
    where = [f"{tmp_path / file}:{line}" for file, line in places]
    told = f"data.test: 1 example is also in data.train: {' = '.join(where)}"
    assert facts["warnings"][-1] == told


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
