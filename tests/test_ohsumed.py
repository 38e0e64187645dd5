import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paper_cases import found_of

from experiments.common import command
from experiments.yu_joachims_2009 import ohsumed, ranking_peers
from lssvm.applications.base import Source
from lssvm.applications.ranking.queries import read_queries
from lssvm.errors import DataError
from lssvm.simulation import ranking as simulate_ranking

pytest.importorskip("lightgbm")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
HERE = command.Arguments(Path(), Path(), quick=True, jobs=1)
PLAN = ohsumed.Plan((1, 3), (0.1, 10.0), (0.1, 100.0), (1e-3,), (2, 4), (0.05,), (3,), (5,), (30,))


def write_collection(folder, rng, queries=3, documents=12):
    """Five small files; feature 1 tells a little of the relevance."""
    for number in range(1, 6):
        rows = []
        for query in range(queries):
            for _ in range(documents):
                x = rng.random(4)
                label = int(2 * x[0] + 0.5 * rng.normal() > 1.3)
                features = " ".join(f"{j}:{value:.3f}" for j, value in enumerate(x, 1))
                rows.append(f"{label} qid:{10 * number + query} {features}\n")
        (folder / f"S{number}.txt").write_text("".join(rows))


@pytest.fixture
def collection(tmp_path):
    write_collection(tmp_path, np.random.default_rng(0))
    return ohsumed.read_collection(tmp_path, PLAN)


def test_folds_rotate_as_published(collection):
    def files(part):
        return [int(name) // 10 for name in part.names[::3]]

    for fold, (training, validation, test) in enumerate(
        [
            ([1, 2, 3], 4, 5),
            ([2, 3, 4], 5, 1),
            ([3, 4, 5], 1, 2),
            ([4, 5, 1], 2, 3),
            ([5, 1, 2], 3, 4),
        ]
    ):
        assert files(collection.training(fold)) == training
        assert files(collection.validation(fold)) == [validation]
        assert files(collection.test(fold)) == [test]


def test_training_and_choice_do_not_look_at_test_files(collection, monkeypatch):
    def refuse(*_):
        raise AssertionError("the test file was asked for")

    expected = ohsumed.trained(collection, HERE)
    monkeypatch.setattr(ohsumed.Collection, "test", refuse)
    found = ohsumed.trained(collection, HERE)
    assert [each.setting for each in found] == [each.setting for each in expected]
    assert ohsumed.choose(found, "P@1") in found
    with pytest.raises(AssertionError, match="asked for"):
        ohsumed.tested(collection, found, "LambdaMART", "own")


def test_a_choice_is_the_highest_validation_mean_then_map_then_the_first():
    def candidate(p, average):
        validation = {"P@1": np.array(p), "MAP": np.array(average)}
        return ohsumed.Candidate(ohsumed.TREES, 0, {}, None, validation, {})

    low = candidate([0.0, 1.0], [0.9, 0.9])
    first, better, same = (candidate([1.0, 1.0], [m, m]) for m in (0.2, 0.3, 0.3))
    assert ohsumed.choose([low, first, better, same], "P@1") is better
    assert ohsumed.choose([low, first, better, same], "MAP") is low


def test_an_average_is_of_unit_vectors_of_the_five_best_on_validation_files():
    means = [0.1, 0.7, 0.7, 0.5, 0.9, 0.8, 0.2]
    rows = np.random.default_rng(0).normal(size=(7, 3)) * np.arange(1, 8)[:, None]
    candidates = [
        ohsumed.Candidate(ohsumed.LATENT, 0, {"C": k}, w, {"MAP": np.array([m])}, {})
        for k, (w, m) in enumerate(zip(rows, means, strict=True))
    ]
    found, settings = ohsumed.averaged(candidates)
    assert [each["C"] for each in settings] == [4, 5, 1, 2, 3]
    best = rows[[1, 2, 3, 4, 5]]
    unit = best / np.sqrt(np.sum(best**2, axis=1))[:, None]
    np.testing.assert_allclose(found, unit.sum(axis=0) / 5)


def test_the_latent_svm_begins_with_the_weights_of_highest_validation_map(collection, monkeypatch):
    begun = []
    latent = ohsumed.latent

    def noted(training, plan, k, start, weights):
        begun.append((start, weights))
        return latent(training, plan, k, start, weights)

    monkeypatch.setattr(ohsumed, "latent", noted)
    candidates = ohsumed.trained(collection, HERE)
    expected = []
    for start in ("classification", "pairwise"):
        for fold in range(5):
            own = [
                each
                for each in candidates
                if each.method == ohsumed.INITIAL
                and (each.fold, each.setting["start"]) == (fold, start)
            ]
            assert len(own) == len(PLAN.initial_grid)
            expected += [(start, ohsumed.choose(own, "MAP").model)] * len(PLAN.ks)
    count = len(expected)
    for (start, weights), (other, best) in zip(begun[:count], expected, strict=True):
        assert start == other
        np.testing.assert_array_equal(weights, best)
    assert begun[count:] == [("random", None)] * 5 * len(PLAN.ks)


def test_pairs_weigh_every_pair_of_different_labels(tmp_path):
    (tmp_path / "x").write_text("2 qid:1 1:1\n1 qid:1 2:1\n0 qid:1 3:1\n1 qid:2 1:1\n1 qid:2 2:1\n")
    training = read_queries([Source(str(tmp_path / "x"))], 1.0)
    ((setting, w, _),) = ranking_peers.pairwise(training, [1e-3])
    # At so small a C every pair of query 1 has slope -2: w is 2 C times the summed differences.
    assert setting == {"C": 1e-3}
    np.testing.assert_allclose(w, 2e-3 * np.array([2.0, 0.0, -2.0]), rtol=0.02, atol=2e-5)


def test_the_experiment_writes_its_table_and_every_run(tmp_path, monkeypatch):
    write_collection(tmp_path, np.random.default_rng(1))
    monkeypatch.setattr(ohsumed, "QUICK", PLAN)
    text = ohsumed.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "precision_at_k.txt").read_text() == text + "\n"
    for name in ohsumed.METHODS:
        shown = sum(line.strip().startswith(f"{name.strip()}  ") for line in text.splitlines())
        assert shown == (1 if name == ohsumed.AVERAGE else 2)
    assert "minus, mean of the columns by query" in text
    assert "paper" not in text
    with (tmp_path / "precision_at_k.csv").open() as file:
        rows = list(csv.DictReader(file))
    latent = [row for row in rows if row["method"] == ohsumed.LATENT]
    assert len(latent) == 3 * 5 * len(PLAN.ks) * len(PLAN.grid)
    assert {row["converged"] for row in latent} == {"True"}
    summary = json.loads((tmp_path / "precision_at_k.json").read_text())
    for row in summary["rows"]:
        values = row["values"]["P@1"]
        assert len(values) == 15
        assert row["means"]["P@1"][0] == pytest.approx(np.mean(values))
    shown = found_of("ohsumed", tmp_path).rows
    assert shown["latent SSVM"][0][0] == summary["rows"][0]["means"]["P@1"][0]
    assert {"its initial weights", "ranking SVM"} <= set(shown)


def test_models_of_the_columns_own_k_alone_are_chosen_from_in_their_row(collection):
    better = {"P@1": np.ones(3), "P@3": np.ones(3), "MAP": np.ones(3)}
    worse = {name: np.zeros(3) for name in better}
    own = [
        ohsumed.Candidate(
            ohsumed.LATENT,
            fold,
            {"start": ohsumed.CLASSIFIER, "k": k, "C": C},
            np.array([1.0, 0.0, 0.0, 0.0]),
            {**(better if (k, C) == (3, 10.0) else worse)},
            {"seconds": 0.0},
        )
        for fold in range(5)
        for k, C in ((1, 0.1), (3, 0.1), (3, 10.0))
    ]
    found = ohsumed.tested(collection, own, ohsumed.SAME_K, ohsumed.MAP)
    assert [each["C"] for each in found["settings"]["P@1"]] == [0.1] * 5
    assert [each["C"] for each in found["settings"]["P@3"]] == [10.0] * 5
    assert {each["k"] for each in found["settings"]["P@3"]} == {3}
    assert found["values"]["P@5"] == found["values"]["MAP"] == []
    every = ohsumed.tested(collection, own, "latent SSVM", ohsumed.MAP)
    assert {each["k"] for each in every["settings"]["P@1"]} == {3}


def test_choices_at_an_edge_are_told():
    settings = {"P@1": [{"C": C} for C in (1.0, 10.0, 100.0)]}
    plan = PLAN._replace(pairwise_grid=(1.0, 10.0, 100.0))
    row = {"method": "pairwise linear SVM", "rule": "own", "settings": settings}
    told = "pairwise linear SVM, by own: C: 1 the smallest, 1 the largest of 3"
    assert ohsumed.at_edges([row], plan) == [told]
    wider = plan._replace(pairwise_grid=(0.1, 1.0, 10.0, 100.0, 1e3))
    assert ohsumed.at_edges([row], wider) == []


def test_settings_of_trees_reach_the_library(collection):
    plan = PLAN._replace(rates=(0.25,), leaves=(3, 4), leaf_sizes=(7,), truncations=(9,))
    settings = plan.tree_settings()
    assert [each["leaves"] for each in settings] == [3, 4]
    ((_, (text, count), _),) = ranking_peers.boosted(collection.training(0), settings[1], (2,))
    assert count == 2
    for line in (
        *("[num_leaves: 4]", "[learning_rate: 0.25]", "[min_data_in_leaf: 7]"),
        "[lambdarank_truncation_level: 9]",
    ):
        assert line in text


def test_a_missing_file_is_an_error_of_one_line(tmp_path):
    with pytest.raises(DataError) as caught:
        ohsumed.read_collection(tmp_path, PLAN)
    assert str(caught.value).startswith(f"{tmp_path}/S1.txt.gz: cannot be read: ")
    module = [sys.executable, "-m", "experiments.yu_joachims_2009.ohsumed"]
    done = subprocess.run(
        [*module, "--data", str(tmp_path), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "queries", "documents", "features"),
    [("letor3-ohsumed", 106, 16140, 45), ("letor4-mq2008", 784, 15211, 46)],
)
def test_the_real_collections_are_whole(name, queries, documents, features):
    if not (DATA / name).is_dir():
        pytest.skip(f"no folder {name} in LSSVM_DATA ({DATA})")
    found = ohsumed.read_collection(DATA / name, PLAN).queries
    assert (len(found), len(found.labels), found.dimension) == (queries, documents, features)
    assert len(set(zip(found.query_of, found.documents, strict=True))) == documents


def test_the_shipped_queries_are_made_by_the_documented_command(tmp_path):
    simulate_ranking.write_ranking(tmp_path)
    for name, queries in {"train": 30, "test": 20}.items():
        shipped = ROOT / "data/ranking" / f"{name}.txt"
        assert (tmp_path / f"{name}.txt").read_bytes() == shipped.read_bytes()
        assert len(read_queries([Source(str(shipped))], 1.0)) == queries
