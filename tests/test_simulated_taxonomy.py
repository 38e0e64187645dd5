"""Simulated taxonomies: that they are what is said of them, and that the study tells it."""

import json

import numpy as np
import pytest
from paper_cases import found_of

from experiments.common import command
from experiments.tsochantaridis_2004 import simulated_taxonomy as study

pytest.importorskip("matplotlib")


def test_examples_have_the_means_of_their_classes_and_the_tree_its_parents():
    one = study.world(0.5, 3, 2)
    train, test = one.collection.train, one.collection.test
    assert len(set(train.labels)) == 27
    assert train.matrix.shape == (54, study.FEATURES)
    assert train.labels[:27] == train.labels[27:] == one.names
    assert test.matrix.shape == (27 * study.TESTS, study.FEATURES)
    sums = sum(test.matrix[k :: len(one.names)].mean() for k in range(27)) / 27
    assert sums == pytest.approx(one.means.mean(), abs=0.03)
    assert one.collection.parents["1/0/2"] == "1/0"
    assert one.collection.parents["1"] == study.ROOT
    again = study.world(0.5, 3, 9)
    np.testing.assert_array_equal(again.collection.train.matrix[:54], train.matrix)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_share_in_common_is_that_of_the_simulation(share):
    """The upper levels have half of it each; siblings of the lowest level share both."""
    found = [study.common_share(study.world(share, draw, 20).collection) for draw in range(8)]
    error = np.std(found, ddof=1) / np.sqrt(8)
    assert abs(np.mean(found) - share) < max(3 * error, 0.02)


def test_variance_of_the_means_does_not_depend_on_the_share():
    for share in (0.0, 0.9):
        spread = [np.mean(study.world(share, draw, 1).means ** 2) for draw in range(20)]
        assert np.mean(spread) == pytest.approx(study.VARIANCE, rel=0.15)


def test_the_tree_is_told_where_it_is_better_or_worse():
    cells = [
        {"share": 0.5, "size": size}
        | {f"tree − flat, {loss}, accuracy": pair for loss in study.PAIRS}
        for size, pair in ((2, (3.0, 1.0)), (4, (-3.0, 1.0)), (8, (1.0, 1.0)), (9, (1.0, np.nan)))
    ]
    assert study.verdicts(cells)[:2] == [
        "the tree has a better accuracy, 0/1 loss (share/a class): 0.5/2",
        "the tree has a worse accuracy, 0/1 loss (share/a class): 0.5/4",
    ]


def test_the_study_writes_its_table_and_every_run(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "CHILDREN", 2)
    monkeypatch.setattr(study, "TESTS", 5)
    monkeypatch.setattr(study, "FILES", {})
    monkeypatch.setattr(study, "QUICK", study.Plan((2, 4), (0.0, 0.75), (1.0,), 2))
    text = study.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "taxonomy-simulated.txt").read_text() == text + "\n"
    assert (tmp_path / "difference.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "taxonomy-simulated.json").read_text())
    assert len(summary["runs"]) == 2 * 2 * 2 * 4
    own = {
        method: [
            run["accuracy"]
            for run in summary["runs"]
            if (run["share"], run["size"], run["method"]) == (0.75, 4, method)
        ]
        for method in ("tree 0/1", "flat 0/1")
    }
    apart = np.subtract(own["tree 0/1"], own["flat 0/1"])
    figure = found_of("taxonomy-simulated", tmp_path).rows["4 a class"][1]
    assert figure == pytest.approx((apart.mean(), apart.std(ddof=1) / np.sqrt(2)))
