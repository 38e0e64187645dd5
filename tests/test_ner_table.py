import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import sequence_cases
from paper_cases import found_of

from experiments.common import command
from experiments.tsochantaridis_2004 import ner_table
from experiments.tsochantaridis_2004.ner_table import METHODS, Plan, Task
from lssvm.errors import DataError

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data")) / "conll2002-spanish"
PLAN = Plan(40, (0, 1), (0.1, 1.0), (1.0, 10.0), (1.0, 0.1), (1, 3), 10)


@pytest.fixture
def folder(tmp_path):
    shutil.copy(ROOT / "data/sequence/train.conll", tmp_path / ner_table.FILE)
    return tmp_path


@pytest.fixture
def sentences(folder):
    return ner_table.read_sentences(folder / ner_table.FILE, PLAN)


def test_the_scores_of_the_hmm_are_log_probabilities_from_counts(sentences):
    examples, share = sentences.words.slice(0, 25), 0.3
    application = ner_table.application_of(ner_table.config_of(METHODS["HMM"]))
    w = ner_table.hmm(application, examples, share)
    L = examples.label_count
    words = examples.inputs.toarray().argmax(axis=1)
    spans = list(zip(examples.offsets[:-1], examples.offsets[1:], strict=True))
    known = set(words)
    others = sentences.words.slice(25, 40)
    found = application.predict(w, others)
    unknown = 0
    for i, (a, b) in enumerate(zip(others.offsets[:-1], others.offsets[1:], strict=True)):
        path = found.labels[a:b, 0].tolist()
        seen = others.inputs[a:b].toarray().argmax(axis=1).tolist()
        unknown += sum(word not in known for word in seen)
        total = 0.0
        for word, y in zip(seen, path, strict=True):
            both = np.sum((words == word) & (examples.labels == y))
            one = np.sum(examples.labels == y)
            total += np.log((both + share) / (one + share * (len(known) + 1)))
        for before, y in zip([None, *path], [*path, None], strict=True):
            if before is None:
                count, whole = sum(examples.labels[a] == y for a, _ in spans), len(spans)
                total += np.log((count + share) / (whole + share * L))
                continue
            ways = [
                (p, q)
                for a, b in spans
                for p, q in zip(
                    examples.labels[a:b], [*examples.labels[a + 1 : b], None], strict=True
                )
            ]
            count = sum(p == before and q == y for p, q in ways)
            whole = sum(p == before for p, _ in ways)
            total += np.log((count + share) / (whole + share * (L + 1)))
        assert found.scores[i, 0] == pytest.approx(total, rel=1e-9)
    assert unknown > 0


def test_the_averaged_perceptron_is_the_mean_over_all_steps():
    for seed in range(20):
        problem = sequence_cases.Problem(np.random.default_rng(seed))
        n = len(problem.examples)
        found = ner_table.averaged_perceptron(problem.app, problem.examples, [1, 3])
        rng = np.random.default_rng(ner_table.DRAW)
        w, steps = np.zeros(problem.d), []
        for _ in range(3):
            for i in rng.permutation(n):
                outputs = problem.outputs(i)
                best = outputs[int(np.argmax([w @ problem.phi(i, y) for y in outputs]))]
                w = w + problem.phi(i, problem.y[i]) - problem.phi(i, best)
                steps.append(w)
        np.testing.assert_allclose(found[0], np.mean(steps[:n], axis=0), atol=1e-12)
        np.testing.assert_allclose(found[1], np.mean(steps, axis=0), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_the_test_fold_have_no_say(sentences, method):
    found = ner_table.solve(sentences, Task(method, 0))
    spoilt = []
    for examples in (sentences.attributes, sentences.words):
        other = examples.take(np.arange(len(examples)))
        for i in np.flatnonzero(sentences.fold == 0):
            own = slice(other.offsets[i], other.offsets[i + 1])
            other.labels[own] = (other.labels[own] + 1) % other.label_count
        spoilt.append(other)
    changed = ner_table.solve(
        sentences._replace(attributes=spoilt[0], words=spoilt[1]), Task(method, 0)
    )
    for key in ("setting", "train_error", "constraints"):
        assert found[key] == changed[key]
    assert found["test_error"] < changed["test_error"]


def test_the_setting_is_that_of_lowest_error_on_what_was_held_out(sentences):
    inside, outside = sentences.attributes.slice(0, 30), sentences.attributes.slice(30, 40)
    method = METHODS["SVM_2 Δm"]
    grid = (1e-9, 1.0)
    assert ner_table.chosen(method, inside, outside, grid) == 1.0
    errors = [
        ner_table.wrong(fit, outside).mean() for fit in ner_table.fitted(method, inside, grid)
    ]
    assert errors[1] < errors[0]
    # So small that w is nearly 0 for both, with the same labels: the first one is taken.
    assert ner_table.chosen(method, inside, outside, (1e-12, 1e-11)) == 1e-12


def test_the_experiment_writes_its_table_and_every_run(folder, monkeypatch):
    monkeypatch.setattr(ner_table, "QUICK", PLAN._replace(grid=(1.0,), crf_grid=(1.0,), literal=4))
    text = ner_table.experiment(command.Arguments(folder, folder, True, 1))
    assert (folder / "ner.txt").read_text() == text + "\n"
    with (folder / "ner.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["fold"]) for row in rows] == [
        (method, fold) for method in METHODS for fold in "01"
    ]
    summary = json.loads((folder / "ner.json").read_text())
    cells = {(cell["method"], cell["measure"]): cell["mean_and_error"] for cell in summary["cells"]}
    literal = summary["to the letter"]
    assert [each["method"] for each in literal] == ["SVM_2", "SVM_2 Δs", "SVM_2 Δm"]
    for each in literal:
        assert each["C"] == 1.0
        assert 0 < each["constraints"] <= each["bound"]
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        planes = method.startswith("SVM")
        assert all((row["constraints"] != "") == planes for row in own)
        solved = planes or method == "CRF"
        assert {row["converged"] for row in own} == ({"True"} if solved else {""})
        errors = [float(row["test_error"]) for row in own]
        assert cells[method, "test_error"][0] == pytest.approx(np.mean(errors))
        assert ((method, "constraints") in cells) == planes
        assert list(found_of("ner", folder).rows[method][0]) == cells[method, "test_error"]


def test_too_few_sentences_are_told_in_one_line(folder):
    path = folder / ner_table.FILE
    with pytest.raises(DataError, match=r"esp\.train: 200 sentences; expected at least 300$"):
        ner_table.read_sentences(path, ner_table.FULL)
    path.write_text("one word\n")
    with pytest.raises(DataError, match=r"esp\.train: .*no token has a label") as caught:
        ner_table.read_sentences(path, ner_table.FULL)
    assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(DataError, match=r"esp\.train"):
        ner_table.read_sentences(path, ner_table.FULL)


def test_the_real_file_has_nine_labels():
    if not DATA.is_dir():
        pytest.skip(f"no folder conll2002-spanish in LSSVM_DATA ({DATA.parent})")
    found = ner_table.read_sentences(DATA / ner_table.FILE, ner_table.FULL)
    assert len(found.attributes) == len(found.words) == 300
    assert found.attributes.label_count == 9
    np.testing.assert_array_equal(found.attributes.labels, found.words.labels)
    assert np.bincount(found.fold).tolist() == [60] * 5
