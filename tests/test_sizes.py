"""The peers of ``make bench-sizes`` solve the same problem."""

import pytest

from experiments.benchmarks import crfsuite_entities, sizes
from experiments.common.usage import usage
from lssvm.applications.base import Source
from lssvm.errors import LssvmError

SENTENCES = """El DA O
ÁRBOL NC B-ORG
de SP I-ORG
X-25bis, Z I-ORG
« Fra O

1.234,5 Z O

nn NN O
ab AA B-PER
"""
OURS = {
    "word": "word[0]",
    "lower": "lower(word[0])",
    "prefix": "prefix(word[0],2)",
    "suffix": "suffix(word[0],3)",
    "brief_shape": "brief_shape(word[0])",
    "word[-1]": "word[-1]",
    "word[1]": "word[1]",
    "word[-1]&word": "word[-1]&word[0]",
    "pos": "pos[0]",
    "pos[-1]": "pos[-1]",
    "pos[1]": "pos[1]",
}


def test_crfsuite_learns_from_the_same_attributes(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(SENTENCES, encoding="utf-8")
    application = sizes.entities_config(tmp_path, "ssvm", 0.1, 1e-2).create_application()
    examples = application.read([Source(str(path))])
    known = application.vocabulary.attributes
    tokens = [
        {known[column] for column in examples.indices[first:last]}
        for first, last in zip(examples.starts[:-1], examples.starts[1:], strict=True)
    ]
    theirs, labels, lengths = [], [], []
    for words, tags, found in crfsuite_entities.sentences(path):
        rows = crfsuite_entities.attributes(words, tags)
        assert all(len(set(row)) == len(row) for row in rows)
        pairs = [[attribute.split("=", 1) for attribute in row] for row in rows]
        theirs += [{f"{OURS[name]}={value}" for name, value in row} for row in pairs]
        labels += found
        lengths.append(len(words))
    assert theirs == tokens
    assert labels == list(examples.tags)
    assert lengths == [5, 1, 2]


def test_usage_is_that_of_the_process():
    code = "import time; x = b'1' * (300 << 20)\nwhile time.process_time() < 0.2: pass"
    found = usage("-c", code)
    assert 0.2 <= found.seconds < 5.0
    assert 300 < found.MB < 1_000
    with pytest.raises(LssvmError, match=r"^exit code 7 of: -c raise SystemExit\(7\)$"):
        usage("-c", "raise SystemExit(7)")


def test_each_problem_has_a_table_of_its_own_columns():
    rows = [
        {"problem": "text", "solver": "a", "seconds of training": 1.0, "MB": 2.6},
        {"problem": "text", "solver": "b", "objective": 3.0},
        {"problem": "ranking 50,000", "MAP": 0.5, "gap": 0.01},
    ]
    first, second = (text.splitlines() for text in sizes.tables(rows).split("\n\n"))
    assert " ".join(first[1].split()) == "problem solver seconds of training MB objective"
    cells = [["text", "a", "1.00", "3"], ["text", "b", "3.00"]]
    assert [line.split() for line in first[3:]] == cells
    assert second[1].split() == ["problem", "MAP", "gap"]
    assert second[3].split() == ["ranking", "50,000", "0.5000", "1.0e-02"]
