"""Files whose indices count from 0 are read as such, and refused where a model counts from 1."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from refusals import told

from lssvm.applications.base import Source
from lssvm.applications.index_base import IndexBase
from lssvm.applications.multiclass.labelled_rows import read_file
from lssvm.cli import classify, learn, main
from lssvm.formats.svmlight import read_svmlight
from lssvm.model import Model

TRAIN = {
    "multiclass": "a {0}:1 {1}:2\nb {1}:-1 {2}:1.5\na {0}:2\nb {2}:1\n",
    "taxonomy": "a/x {0}:1 {1}:2\nb {1}:-1 {2}:1.5\na/y {0}:2\nb {2}:1\n",
    "precision_at_k": "1 qid:1 {0}:1 {1}:2\n0 qid:1 {1}:-1 {2}:1.5\n1 qid:2 {0}:2\n0 qid:2 {2}:1\n",
}
CONFIG = """\
application: {{name: {name}{options}}}
data: {{train: train.txt}}
objective: {{model: {model}, C: 1}}
"""


def counted(name, base):
    return TRAIN[name].format(base, base + 1, base + 2)


@pytest.fixture(params=TRAIN)
def name(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return request.param


def trained(name, text, base="auto"):
    """The model of a training file with that index_base, and what was told."""
    Path("train.txt").write_text(text, encoding="utf-8")
    options = (", k: 1" if name == "precision_at_k" else "") + f", index_base: {base}"
    model = "lssvm" if name == "precision_at_k" else "ssvm"
    Path("c.yaml").write_text(CONFIG.format(name=name, options=options, model=model), "utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model"])
    assert result.exit_code == 0, result.stderr
    return Model.load("model"), result.stderr


def predicted(text):
    Path("test.txt").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(classify, ["test.txt", "model", "out.txt"])
    shown = Path("out.txt").read_text(encoding="utf-8") if result.exit_code == 0 else ""
    return shown, result.stderr


@pytest.mark.parametrize("base", ["auto", 0])
def test_a_file_that_counts_from_0_is_read_as_one_that_counts_from_1(name, base):
    one, _ = trained(name, counted(name, 1))
    of_one = predicted(counted(name, 1))
    zero, _ = trained(name, counted(name, 0), base)
    np.testing.assert_array_equal(zero.w, one.w)
    assert predicted(counted(name, 0)) == of_one
    shown = CliRunner().invoke(main, ["show", "model"]).stdout
    assert set(re.findall(r"feature (\d+)", shown)) == {"0", "1", "2"}


def test_what_was_found_is_said_and_what_was_chosen_is_not(name):
    said = "an index 0 occurs in training, so indices count from 0"
    for base, count in (("auto", 1), (0, 0)):
        _, told_in_training = trained(name, counted(name, 0), base)
        assert told_in_training.count(said) == count
        assert CliRunner().invoke(main, ["check", "c.yaml"]).stdout.count(said) == count
    _, told_in_training = trained(name, counted(name, 1))
    assert said not in told_in_training


def test_an_index_0_is_refused_where_the_model_counts_from_1(name):
    trained(name, counted(name, 1))
    shown, message = predicted(counted(name, 0))
    assert not shown
    assert message == (
        "error: test.txt:1: index '0' is out of range; expected 1 to 2,147,483,647, because "
        "the indices of the model count from 1 (index_base)\n"
    )


def test_an_index_0_is_refused_where_the_options_count_from_1(name):
    trained(name, counted(name, 1), 1)
    Path("train.txt").write_text(counted(name, 0), encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model"])
    assert result.exit_code == 2
    assert result.stderr == (
        "error: train.txt:1: index '0' is out of range; expected 1 to 2,147,483,647, because "
        "index_base is 1 (0 and auto accept it)\n"
    )


def test_a_model_that_counts_from_0_takes_files_without_that_index(name):
    trained(name, counted(name, 0))
    before, _ = predicted(counted(name, 0))
    without = re.sub(r" 0:\S+", "", counted(name, 0))
    after, _ = predicted(without + counted(name, 0).replace("qid:", "qid:9"))
    assert after.endswith(before)


def test_all_training_files_count_alike(tmp_path):
    sources = []
    for number, text in enumerate(["1 1:1 2:2\n", "1 0:3\n"]):
        path = tmp_path / str(number)
        path.write_text(text, encoding="utf-8")
        sources.append(Source(str(path)))
    found = IndexBase("auto").read(sources, read_file)
    assert [file.indices.tolist() for file in found] == [[1, 2], [0]]
    assert {file.base for file in found} == {0}


def test_indices_are_columns_whatever_they_count_from(tmp_path):
    path = tmp_path / "x"
    path.write_text("1 0:1 4:2\n1 2:1\n", encoding="utf-8")
    for base in (0, None):
        found = read_svmlight(path, base=base)
        assert (found.base, found.dimension, found.highest) == (0, 5, 4)
        assert found.indices.tolist() == [0, 4, 2]
    path.write_text("1 1:1 4:2\n1 2:1\n", encoding="utf-8")
    for base, columns in ((None, [0, 3, 1]), (1, [0, 3, 1]), (0, [1, 4, 2])):
        found = read_svmlight(path, base=base)
        assert found.indices.tolist() == columns
        assert found.highest == 4
    found = read_svmlight(path).counted_from(0)
    assert (found.indices.tolist(), found.highest) == ([1, 4, 2], 4)


def test_an_index_0_that_follows_another_is_told_as_such(tmp_path):
    path = tmp_path / "x"
    path.write_text("1 1:1 0:2\n", encoding="utf-8")
    expected = f"{path}:1: index 0 follows 1; expected increasing indices"
    assert told(read_svmlight, path, base=None) == expected
