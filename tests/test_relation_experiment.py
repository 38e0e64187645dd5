"""The experiment on relations: its data, its baselines and its figures."""

import gzip
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import relation_files as files
from paper_cases import found_of
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from experiments.common import command
from experiments.haffari_2015 import bags as binary
from experiments.haffari_2015 import (
    evaluation,
    kept,
    merged,
    perceptron,
    relation,
    riedel,
    simulated,
)
from experiments.haffari_2015.evaluation import Outcome
from lssvm.applications.base import Source
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.errors import DataError
from lssvm.formats.relation_bags import read_bags

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))


# the data


def bag(labels, *mentions):
    lines = [str(len(labels)), *map(str, labels), str(len(mentions)), *mentions]
    return "".join(f"{line}\n" for line in lines)


def folder_of(tmp_path, **parts):
    for name, bags in parts.items():
        file = riedel.SUBSET if name == "subset" else riedel.PARTS[name]
        (tmp_path / file).write_text(f"{len(bags)}\n3\n" + "".join(bags))
    return tmp_path


def test_bags_of_several_parts_are_left_out_of_training_first(tmp_path):
    both, swapped = bag([1], "1 1:1", "1 2:1"), bag([2], "1 2:1", "1 1:1")
    only = [bag([1], f"1 {j}:1") for j in range(10, 20)]
    none = [bag([], f"1 {j}:2") for j in range(20, 30)]
    out = tmp_path / "out"
    out.mkdir()
    folder = folder_of(
        tmp_path,
        train=[both, *only[:4], only[8]],
        valid=[only[4], only[8], swapped],
        test=[only[5], both],
        subset=[only[0], *none],
    )
    found, told = riedel.divide(folder, out)
    texts = {name: Path(source.path).read_text() for name, source in found.items()}
    assert texts["test"].count("1 1:1\n1 2:1\n") == 1
    assert "1 1:1\n" not in texts["train"] + texts["valid"]
    assert only[8] not in texts["train"]
    assert only[8] in texts["valid"]
    assert sum(text.count(each) for text in texts.values() for each in none) == len(none)
    assert [sum(each in texts[name] for each in none) for name in texts] == [5, 3, 2]
    assert told[0].startswith("test: 2 bags with and 2 without relation; 0 that also occur")
    assert told[2].startswith("train: 4 bags with and 5 without relation; 2 that also occur")
    for source in found.values():
        read_bags(source.path)


def test_missing_bags_are_one_line(tmp_path):
    with pytest.raises(DataError, match=r"is missing; expected the bags of Riedel et al\.$"):
        riedel.divide(tmp_path, tmp_path)


@pytest.mark.skipif(not (DATA / "riedel-nyt-lsvm").exists(), reason="the bags are not there")
def test_the_public_bags_are_divided_as_the_protocol_says(tmp_path):
    _, told = riedel.divide(DATA / "riedel-nyt-lsvm", tmp_path)
    assert told == [
        "test: 1,758 bags with and 178 without relation; 0 that also occur in another part are "
        "left out",
        "valid: 1,086 bags with and 109 without relation; 2 that also occur in another part are "
        "left out",
        "train: 3,262 bags with and 330 without relation; 0 that also occur in another part are "
        "left out",
    ]


# the baselines


def test_completion_of_the_perceptron_is_the_best_of_all_labellings():
    rng = np.random.default_rng(0)
    for _ in range(100):
        mentions, relations = int(rng.integers(1, 5)), 3
        scores = rng.integers(-8, 9, (mentions, relations + 1)) / 8.0
        labels = np.sort(rng.permutation(relations)[: rng.integers(0, min(3, mentions) + 1)])
        best = max(
            sum(scores[m, label] for m, label in enumerate(each))
            for each in itertools.product([*labels.tolist(), relations], repeat=mentions)
            if set(each) >= set(labels.tolist())
        )
        found = perceptron.completed(scores, labels)
        assert set(found.tolist()) - {relations} == set(labels.tolist())
        assert scores[np.arange(mentions), found].sum() == best


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    path = tmp_path_factory.mktemp("bags") / "t.txt"
    path.write_text(files.drawn_text(np.random.default_rng(1), 80)[0].replace("?", "0"))
    application = Relation(RelationOptions())
    return application.read([Source(str(path))]), len(application.relations)


def test_averaged_weights_are_the_mean_of_those_of_all_steps(bags, monkeypatch):
    examples, relations = bags
    steps = []
    own = perceptron._step

    def recorded(w, *rest):
        own(w, *rest)
        steps.append((rest[-1], w.copy()))

    monkeypatch.setattr(perceptron, "_step", recorded)
    found = perceptron.trained(examples, relations, 2, 0)
    seen = 2 * int(examples.reachable.sum())
    total, last = np.zeros_like(found), np.zeros_like(found)
    changes = dict(steps)
    for number in range(seen):
        last = changes.get(number, last)
        total += last
    assert len(changes) > 10
    np.testing.assert_allclose(found, total / seen, atol=1e-9)


def test_scores_of_the_perceptron_are_positive_for_what_it_predicts(bags):
    examples, relations = bags
    w = np.random.default_rng(2).normal(size=(examples.inputs.shape[1], relations + 1))
    found, scores = perceptron.predicted(w, examples)
    np.testing.assert_array_equal(found, scores > 0)


def test_merged_features_are_sums_over_mentions(bags):
    examples, _ = bags
    rows = merged.merged(examples).toarray()
    dense = examples.inputs.toarray()
    for i, (a, b) in enumerate(itertools.pairwise(examples.places)):
        np.testing.assert_allclose(rows[i], dense[a:b].sum(axis=0))


def test_one_best_predicts_one_relation_or_none(bags):
    examples, relations = bags
    model = merged.trained(examples, relations, 1.0)
    found, chances = merged.predicted(model, examples, relations)
    assert set(found.sum(axis=1).tolist()) == {0, 1}
    assert (chances >= 0).all()
    assert (chances.sum(axis=1) <= 1 + 1e-9).all()
    best = chances.argmax(axis=1)[found.any(axis=1)]
    np.testing.assert_array_equal(found.argmax(axis=1)[found.any(axis=1)], best)


def test_one_best_has_the_probabilities_of_one_against_the_rest(bags):
    examples, relations = bags
    single = examples.take(np.flatnonzero(examples.label_counts == 1))
    model = OneVsRestClassifier(LogisticRegression(C=2.0, solver="liblinear"))
    expected = model.fit(merged.merged(single), single.labels).predict_proba(merged.merged(single))
    _, found = merged.predicted(merged.trained(single, relations, 2.0), single, relations)
    np.testing.assert_allclose(found[:, model.classes_], expected, atol=1e-12)


# fits that are kept


def test_kept_fits_are_those_of_the_same_settings_data_and_version(tmp_path, monkeypatch):
    settings = {"beta": 0.5, "grid": (0.1, 1.0), "epsilon": 1e-2}
    place = kept.place(tmp_path / "fits", "F", settings, "data")
    assert place.facts is None
    place.write({"w": np.arange(3.0)}, {"gap": 0.25})
    again = kept.place(tmp_path / "fits", "F", dict(reversed(settings.items())), "data")
    assert again.facts == {"gap": 0.25}
    assert again.arrays["w"].tolist() == [0.0, 1.0, 2.0]
    assert kept.place(tmp_path / "fits", "F", settings, "other").facts is None
    for name in settings:
        other = kept.place(tmp_path / "fits", "F", {**settings, name: 7}, "data")
        assert other.facts is None
    monkeypatch.setattr(kept.lssvm, "__version__", "another")
    assert kept.place(tmp_path / "fits", "F", settings, "data").facts is None
    monkeypatch.undo()
    Path(f"{place.stem}.npz").unlink()
    assert again.facts is None


def test_fingerprints_are_of_what_files_hold_in_their_order(tmp_path):
    for name, text in (("a", "xy"), ("b", "z"), ("c", "x"), ("d", "yz")):
        (tmp_path / name).write_text(text)
    paths = {name: tmp_path / name for name in "abcd"}
    found = [kept.fingerprint([paths[name] for name in names]) for names in ("ab", "ba", "cd")]
    assert len(set(found)) == 3


def test_the_experiment_makes_again_only_what_is_not_kept(tmp_path, monkeypatch):
    folder = files_of_experiment(tmp_path)
    arguments = command.Arguments(folder, tmp_path / "out", quick=True, jobs=1)
    arguments.out.mkdir()
    first = results(arguments)
    names = sorted(path.name for path in (arguments.out / "fits").iterdir())
    made, own = [], relation.trained

    def counted(application, train, path, beta, effort):
        made.append((beta, effort))
        return own(application, train, path, beta, effort)

    for module in (relation, simulated):
        monkeypatch.setattr(module, "trained", counted)
    assert results(arguments) == first
    assert made == []
    shown = found_of("relation", arguments.out).rows
    assert [figures[2][0] for figures in shown.values()] == [row["f1"] for row in first["runs"]]
    for path in (arguments.out / "fits").glob("F_1-*.npz"):
        path.unlink()
    assert results(arguments) == first
    assert made == [(1.0, relation.QUICK.choosing), (1.0, relation.QUICK.final)]
    assert sorted(path.name for path in (arguments.out / "fits").iterdir()) == names


def files_of_experiment(tmp_path):
    """Bags whose relation is that of one of their features."""
    rng = np.random.default_rng(5)

    def drawn(count, none=False):
        found = []
        for _ in range(count):
            label = 0 if none else int(rng.integers(1, 4))
            features = [sorted({label + 1, *rng.integers(5, 60, 3).tolist()}) for _ in range(2)]
            rows = [f"{len(x)} " + " ".join(f"{j}:1" for j in x) for x in features]
            found.append(bag([label] if label else [], *rows))
        return found

    return folder_of(
        tmp_path, train=drawn(40), valid=drawn(20), test=drawn(20), subset=drawn(20, none=True)
    )


def results(arguments):
    """What the experiment finds, without what it measures of time and memory."""
    relation.experiment(arguments)
    told = json.loads((arguments.out / "relation.json").read_text())
    told["simulation"].pop("passes")
    timed = ("seconds", "inference")
    for rows in (told["runs"], told["tried"]):
        rows[:] = [{key: x for key, x in row.items() if key not in timed} for row in rows]
    return told


# figures


def test_intervals_are_those_of_resampled_bags():
    rng = np.random.default_rng(0)
    truth, found = rng.random((400, 2)) < 0.4, rng.random((400, 2)) < 0.4
    outcome = Outcome(truth, found, found.astype(float))
    told = evaluation.measured(outcome)
    assert told["f1_low"] < told["f1"] < told["f1_high"]
    assert evaluation.difference(outcome, outcome) == (0.0, 0.0, 0.0)
    values = []
    for _ in range(500):
        rows = rng.integers(400, size=400)
        both = (truth[rows] & found[rows]).sum()
        values.append(200 * both / (truth[rows].sum() + found[rows].sum()))
    low, high = np.quantile(values, [0.025, 0.975])
    assert told["f1_low"] == pytest.approx(low, abs=0.8)
    assert told["f1_high"] == pytest.approx(high, abs=0.8)


def test_f_of_counts_follows_the_definition():
    assert evaluation.f_of(np.array([10, 20, 5])) == pytest.approx(100 * 2 * 5 / 30)
    assert evaluation.f_of(np.array([10, 20, 5]), 2.0) == pytest.approx(100 * 5 * 5 / (40 + 20))


def test_simulated_parts_are_different_pairs(tmp_path):
    texts = {
        split: Path(simulated.drawn(simulated.QUICK, 0.5, split, tmp_path)[0].path).read_text()
        for split in simulated.SEEDS
    }
    assert len(set(texts.values())) == 3


@pytest.mark.skipif(not (DATA / "riedel-nyt-lsvm").exists(), reason="the bags are not there")
def test_the_short_run_writes_its_tables_and_figures(tmp_path):
    arguments = ["--data", str(DATA / "riedel-nyt-lsvm"), "--out", str(tmp_path), "--quick"]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.haffari_2015.relation", *arguments, "--jobs", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("Hamming", "F_1", "perceptron", "one best", "F_β-trained"):
        assert name in done.stdout
    written = {path.name for path in tmp_path.iterdir()}
    figures = {"precision-recall.png", "objective.png", "training.png"}
    assert written >= {"relation.txt", "relation.csv", "relation.json", *figures}


# binary bags


def mil_folder(tmp_path, rows, folds):
    for name, lines in {"musk1": rows, "musk1_folds5x10": ["bag,rep1", *folds]}.items():
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.writelines(f"{line}\n" for line in lines)
    return tmp_path


def test_binary_bags_are_written_as_pairs_with_one_relation(tmp_path):
    rows = ["1,1,0.5,-2", "0,2,1e-3,0", "1,1,3,4", "0,2,7,8", "1,3,9,9"]
    source, folds = binary.written(
        mil_folder(tmp_path, rows, ["1,6", "2,9", "3,1"]), tmp_path, "musk1"
    )
    application = Relation(RelationOptions())
    found = application.read([source])
    assert folds.tolist() == [6, 9, 1]
    assert found.places.tolist() == [0, 2, 4, 5]
    assert found.truth(1).ravel().tolist() == [True, False, True]
    values = [[0.5, -2], [3, 4], [0.001, 0], [7, 8], [9, 9]]
    np.testing.assert_array_equal(found.inputs.toarray(), np.column_stack([values, np.ones(5)]))


def test_binary_bags_without_files_or_with_other_folds_are_one_line(tmp_path):
    with pytest.raises(DataError, match="is missing; expected comma-separated bags"):
        binary.written(tmp_path, tmp_path, "musk1")
    with pytest.raises(DataError, match="has 1 bags; expected the 2 bags of the data"):
        binary.written(mil_folder(tmp_path, ["1,1,1", "0,2,1"], ["1,6"]), tmp_path, "musk1")


def test_bags_are_scaled_by_the_training_bags_alone(bags):
    examples, _ = bags
    half = len(examples) // 2
    train, other = examples.take(np.arange(half)), examples.take(np.arange(half, len(examples)))
    first, second = binary.scaled(train, other)
    rows = train.inputs.toarray()[:, :-1]
    varied = rows.std(axis=0) > 0
    own = first.inputs.toarray()
    np.testing.assert_allclose(own[:, :-1].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(own[:, :-1].std(axis=0)[varied], 1.0)
    assert (own[:, -1] == 1.0).all()
    expected = (other.inputs.toarray()[:, :-1] - rows.mean(axis=0))[:, varied]
    expected /= rows.std(axis=0)[varied]
    np.testing.assert_allclose(second.inputs.toarray()[:, :-1][:, varied], expected, atol=1e-12)


def test_settings_of_binary_bags_are_never_chosen_on_test_bags(monkeypatch):
    seen = []

    def fitted(application, bags, inside, outside, loss, C, plan):
        seen.append((inside.copy(), outside.copy(), C))
        f1 = {0.1: 1, 1.0: 3, 10.0: 3}[C]
        one = np.arange(4)[:, None] < f1
        return Outcome(np.ones((4, 1), dtype=bool), one, one.astype(float)), None

    folds = np.repeat(np.arange(1, 11), 2)
    monkeypatch.setattr(binary, "fitted", fitted)
    monkeypatch.setattr(binary.Relation, "read", lambda self, sources: None)
    plan = binary.Plan(("musk1",), 10, (0.1, 1.0, 10.0), 1, 1)
    files_of = binary.Files({"musk1": None}, {"musk1": folds}, plan)
    fit = binary.solve(files_of, binary.Task("musk1", "F_1", 9))
    assert fit.C == 1.0
    for inside, outside, _ in seen[:3]:
        assert sorted(set(folds[outside].tolist())) == [1, 10]
        assert sorted(set(folds[inside].tolist())) == [2, 3, 4, 5, 6, 7, 8]
    inside, outside, C = seen[3]
    assert (C, set(folds[outside].tolist())) == (1.0, {9})
    assert (inside == ~outside).all()


@pytest.mark.skipif(not (DATA / "mil").exists(), reason="the bags are not there")
def test_the_short_run_on_binary_bags_writes_its_table(tmp_path):
    arguments = ["--data", str(DATA / "mil"), "--out", str(tmp_path), "--quick", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.haffari_2015.bags", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {
        (row["set"], row["loss"]): row
        for row in json.loads((tmp_path / "bags.json").read_text())["runs"]
    }
    assert set(rows) == {(name, loss) for name in ("musk1", "elephant") for loss in binary.LOSSES}
    assert all(row["met"] == 1.0 for (_, loss), row in rows.items() if loss == "F_1")
    assert all(row["f1"] > 50.0 for row in rows.values())
    shown = found_of("bags", tmp_path)
    for name in ("musk1", "elephant"):
        own = [rows[name, loss]["f1"] for loss in binary.LOSSES]
        assert [figure[0] for figure in shown.rows[name]] == own


def test_the_best_threshold_is_the_one_of_all():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth, scores = rng.random((6, 3)) < 0.4, rng.integers(-3, 4, (6, 2)) / 2
        own = evaluation.Outcome(truth, scores > 0, scores)

        def f1(threshold, own=own):
            return evaluation.f_of(evaluation.above(own, threshold).counts.sum(axis=0))

        found = evaluation.best_threshold(own)
        best = max(f1(threshold) for threshold in np.unique(scores))
        assert f1(found) == best
        assert not any(f1(higher) == best for higher in np.unique(scores[scores > found]))
