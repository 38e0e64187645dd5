import csv
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper_cases import found_of

from experiments.common import command
from experiments.tsochantaridis_2004 import taxonomy_table
from experiments.tsochantaridis_2004.taxonomy_table import ALL, Plan, Task
from lssvm.errors import DataError
from lssvm.formats.hierarchical_arff import read_hierarchical_arff

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data")) / "hmc-taxonomy"
LEAVES = ("a/x", "a/y", "b/x", "b/y/z")
ARFF = """\
% a comment
@RELATION small

@ATTRIBUTE one NUMERIC
@ATTRIBUTE two real
@ATTRIBUTE class hierarchical a,a/b,a/b/c, d
@DATA
1,-2.5,a@a/b@a/b/c
0,1e3,d
"""
BROKEN = {
    "empty": ("", "x: no @DATA"),
    "no rows": (ARFF[: ARFF.index("1,-2.5")], "x: no rows"),
    "no class": (ARFF.replace("hierarchical a,a/b,a/b/c, d", "numeric"), "x:7: no attribute"),
    "a nominal attribute": (ARFF.replace("real", "{a,b}"), "x:5: type '{a,b}'"),
    "an attribute after the class": (
        ARFF.replace("@DATA", "@ATTRIBUTE z real\n@DATA"),
        "x:7: an attribute after the class",
    ),
    "an attribute without a type": (ARFF.replace(" real", ""), "x:5: '@ATTRIBUTE'"),
    "another keyword": (ARFF.replace("@RELATION", "@TITLE"), "x:2: '@TITLE'"),
    "too few values": (ARFF.replace("0,1e3", "1e3"), "x:9: 2 values; expected 3"),
    "too many values": (ARFF.replace("0,1e3", "0,0,1e3"), "x:9: 4 values; expected 3"),
    "a missing value": (ARFF.replace("1e3", "?"), "x:9: value 2, '?' is not a number"),
    "a value that is not finite": (ARFF.replace("1e3", "inf"), "x:9: value 2, 'inf' is not"),
    "an unknown class": (ARFF.replace("1e3,d", "1e3,d/e"), "x:9: class 'd/e' is not in"),
    "truncated gzip": (gzip.compress(ARFF.encode())[:40], "x: the gzip stream is cut short"),
}


def test_a_hierarchical_arff_file_is_read(tmp_path):
    for content in (ARFF.encode(), gzip.compress(ARFF.replace("\n", "\r\n").encode())):
        (tmp_path / "x").write_bytes(content)
        found = read_hierarchical_arff(tmp_path / "x")
        np.testing.assert_array_equal(found.matrix, [[1.0, -2.5], [0.0, 1000.0]])
        assert found.labels == ("a/b/c", "d")
        assert found.nodes == ("a", "a/b", "a/b/c", "d")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_arff_file_gives_one_clear_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, wrong = BROKEN[name]
    Path("x").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read_hierarchical_arff("x")
    message = str(caught.value)
    assert message.startswith(wrong)
    assert "; expected " in message
    assert "\n" not in message


def write_arff(path, rng, count):
    nodes = "a,b,a/x,a/y,b/x,b/y,b/y/z"
    lines = [f"@ATTRIBUTE f{j} NUMERIC" for j in range(6)]
    lines += [f"@ATTRIBUTE class hierarchical {nodes}", "@DATA"]
    for row in range(count):
        k = row % len(LEAVES)
        x = rng.normal(size=6) + 3 * np.eye(6)[k]
        lines.append(",".join([*(f"{value:.3f}" for value in x), LEAVES[k]]))
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, count in zip(taxonomy_table.FILES["ImCLEF07D"], (60, 41), strict=True):
        write_arff(tmp_path / name, rng, count)
    return tmp_path


PLAN = Plan((3, ALL), (0.1, 1.0), {"ImCLEF07D": 2})


def test_draws_have_as_many_examples_of_each_class_as_there_are():
    labels = np.array(list("aaaaabbcccc"))
    seen = set()
    for draw in range(20):
        rows = taxonomy_table.drawn(labels, 3, np.random.default_rng(draw))
        assert sorted(labels[rows]) == list("aaabbccc")
        assert (np.diff(rows) > 0).all()
        seen.add(tuple(rows))
    assert len(seen) > 10
    assert len(taxonomy_table.drawn(labels, ALL, np.random.default_rng(0))) == 11


def test_folds_split_every_class_and_the_training_examples_alone():
    labels = np.array(list("aaaabbcc"))
    (first, second), swapped = taxonomy_table.folds(labels, Task("x", 4, 0, "flat 0/1"))
    assert sorted([*first, *second]) == list(range(8))
    for part in (first, second):
        assert sorted(labels[part]) == list("aabc")
    assert [part.tolist() for part in swapped] == [second.tolist(), first.tolist()]
    ((inside, outside),) = taxonomy_table.folds(np.repeat(labels, 50), Task("x", ALL, 0, ""))
    assert sorted([*inside, *outside]) == list(range(400))
    assert 90 < len(outside) < 180


def test_test_rows_are_not_looked_at_before_c_is_chosen(folder):
    collection = taxonomy_table.read_collection(folder, "ImCLEF07D")
    task = Task("ImCLEF07D", 3, 0, "tree Δ")
    found = taxonomy_table.solve(({"ImCLEF07D": collection}, PLAN.grid), task)
    spoiled = collection._replace(test=collection.train)
    other = taxonomy_table.solve(({"ImCLEF07D": spoiled}, PLAN.grid), task)
    assert (found.record["C"], found.record["objective"]) == (
        other.record["C"],
        other.record["objective"],
    )
    assert len(found.right) == 41
    assert len(other.right) == 60


def test_c_is_that_of_lowest_loss_on_what_was_held_out(folder, monkeypatch):
    collection = taxonomy_table.read_collection(folder, "ImCLEF07D")
    config = taxonomy_table.config_of(collection, Task("ImCLEF07D", ALL, 0, "flat 0/1"))
    application, training, _ = taxonomy_table.packed(collection, np.arange(60), config)
    parts = [(np.arange(40), np.arange(40, 60))]
    train = taxonomy_table.learn_path

    def zero_first(application, inside, configs):
        """w = 0 for the first C, which takes the first class everywhere; equal ones for others."""
        assert len(inside) == 40
        models = train(application, inside, configs[-1:])
        return [replace(models[0], w=np.zeros_like(models[0].w)), *models, *models]

    monkeypatch.setattr(taxonomy_table, "learn_path", zero_first)
    grid = (0.5, 1.0, 2.0)
    assert taxonomy_table.chosen(application, training, parts, config, grid) == 1.0


def test_features_are_scaled_by_the_training_rows(folder):
    collection = taxonomy_table.read_collection(folder, "ImCLEF07D")
    config = taxonomy_table.config_of(collection, Task("ImCLEF07D", ALL, 0, "tree Δ"))
    application, training, test = taxonomy_table.packed(collection, np.arange(30), config)
    np.testing.assert_allclose(training.dense[:, :6].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(training.dense[:, :6].std(axis=0), 1 / np.sqrt(6))
    assert (test.dense[:, 6] == 1.0).all()
    assert application.columns.names == ("a", "a/x", "a/y", "b", "b/x", "b/y", "b/y/z")
    assert application.losses.max() == 3.0


def test_the_experiment_writes_its_table_and_every_run(folder, monkeypatch):
    monkeypatch.setattr(taxonomy_table, "QUICK", PLAN)
    text = taxonomy_table.experiment(command.Arguments(folder, folder, True, 1))
    assert (folder / "taxonomy.txt").read_text() == text + "\n"
    with (folder / "taxonomy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * (2 + 1)
    assert {row["converged"] for row in rows} == {"True"}
    assert {row["examples"] for row in rows} == {"12", "60"}
    summary = json.loads((folder / "taxonomy.json").read_text())
    cells = {
        (cell["examples per class"], cell["measure"], cell["method"]): cell["mean_and_error"]
        for cell in summary["cells"]
    }
    own = [float(r["accuracy"]) for r in rows if (r["size"], r["method"]) == ("3", "tree Δ")]
    mean, error = cells["3", "accuracy", "tree Δ"]
    assert mean == pytest.approx(np.mean(own))
    assert error == pytest.approx(np.std(own, ddof=1) / np.sqrt(2))
    mean, error = cells["all", "accuracy", "flat 0/1"]
    assert mean > 70
    assert error == pytest.approx(np.sqrt(mean * (100 - mean) / 40), rel=1e-9)
    shown = found_of("taxonomy", folder)
    assert list(shown.rows["ImCLEF07D, all a class, accuracy"][0]) == [mean, error]
    assert shown.columns == tuple(taxonomy_table.METHODS)


@pytest.mark.parametrize(
    ("name", "train", "test", "features", "labels"),
    [
        ("ImCLEF07A", 10_000, 1_006, 80, 63),
        ("ImCLEF07D", 10_000, 1_006, 80, 26),
        ("Diatoms", 2_065, 1_054, 371, 306),
    ],
)
def test_the_real_files_are_whole(name, train, test, features, labels):
    if not DATA.is_dir():
        pytest.skip(f"no folder hmc-taxonomy in LSSVM_DATA ({DATA.parent})")
    found = taxonomy_table.read_collection(DATA, name)
    assert found.train.matrix.shape == (train, features)
    assert found.test.matrix.shape == (test, features)
    assert len(set(found.train.labels)) == labels
