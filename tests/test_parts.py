"""Predicting part after part writes and scores what predicting everything at once does."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.cli import classify, learn
from lssvm.formats import conll_columns, svmlight, text
from lssvm.model import Model

ROOT = Path(__file__).parent.parent
CONFIGS = {
    "multiclass": "{name: multiclass}",
    "taxonomy": "{name: taxonomy}",
    "precision_at_k": "{name: precision_at_k, k: 2}",
    "sequence": "{name: sequence, columns: [word, pos, label], templates: [word, 'word[1] & pos']}",
    "latent_sequence": "{name: latent_sequence, columns: [word, pos, label], templates: [word]}",
}
FORMATS = {
    "multiclass": ["labels", "scores", "confusion"],
    "taxonomy": ["labels", "scores", "confusion"],
    "precision_at_k": ["scores", "trec"],
    "sequence": ["conll", "tags"],
    "latent_sequence": ["conll", "tags"],
}
EXAMPLES = dict.fromkeys(CONFIGS, 300) | {
    "sequence": 200,
    "latent_sequence": 200,
    "precision_at_k": 60,
}
WHOLE = {"confusion", "trec"}  # formats, and for ranking JSON too
TRAINED = """\
application: {application}
data: {{train: train.txt}}
objective: {{model: {model}, C: 1}}
solver: {{epsilon: 0.1}}
cccp: {{max_iterations: 2}}
"""


def rows(rng, count, labels, unseen=()):
    """Lines of an SVM-light file, sparse and noisy."""
    lines = []
    for number in range(count):
        label = rng.integers(len(labels))
        picked = np.flatnonzero(rng.random(30) < 0.2)
        values = rng.normal(size=len(picked)) + (picked % len(labels) == label)
        name = unseen[number % len(unseen)] if unseen and number % 7 == 0 else labels[label]
        features = " ".join(f"{i + 1}:{v:.3f}" for i, v in zip(picked, values, strict=True))
        lines.append(f"{name} {features} # {number}\n")
    return "".join(lines)


def queries(rng, count):
    """Documents of queries of five, one with a docid."""
    lines = rows(rng, count, ["0", "1", "2"]).splitlines(keepends=True)
    named = [line.replace(" ", f" qid:q{k // 5} ", 1) for k, line in enumerate(lines)]
    return "".join(named).replace("# 0", "# docid = D0")


def sentences(rng, count, labels=("O", "B-X", "I-X")):
    """Sentences of a CoNLL file with words that training does not have, and documents."""
    lines = []
    for number in range(count):
        for _ in range(rng.integers(1, 6)):
            word = rng.integers(40)
            label = labels[word % 3] if rng.random() < 0.9 else labels[rng.integers(len(labels))]
            lines.append(f"w{word} p{word % 5} {label}\n")
        lines.append("\n" if number % 5 else "-DOCSTART- -X- O\n\n")
    return "".join(lines)


@pytest.fixture(params=CONFIGS)
def name(request, tmp_path, monkeypatch):
    """An application whose model lies in the folder at hand, with a file of test examples."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    if "sequence" in request.param:
        train, test = sentences(rng, 60), sentences(rng, 200, ("O", "B-X", "I-X", "B-Y"))
    elif request.param == "precision_at_k":
        train, test = queries(rng, 80), queries(rng, 300)
    else:
        labels = ["a/x", "a/y", "b"] if request.param == "taxonomy" else ["1", "-1", "dog"]
        unseen = ["a/z", "a/w"] if request.param == "taxonomy" else ["+3", "3", "cat"]
        train, test = rows(rng, 80, labels), rows(rng, 300, labels, unseen)
    Path("train.txt").write_text(train, encoding="utf-8")
    Path("test.txt").write_text(test, encoding="utf-8")
    model = "lssvm" if request.param in ("latent_sequence", "precision_at_k") else "ssvm"
    config = TRAINED.format(application=CONFIGS[request.param], model=model)
    Path("c.yaml").write_text(config, encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code in (0, 3), result.stderr
    return request.param


def outcome(*options, path="test.txt"):
    """What the command wrote and said."""
    for left in ("out.txt", "m.json"):
        Path(left).unlink(missing_ok=True)
    arguments = [path, "model", "out.txt", "--metrics", "m.json", *options]
    result = CliRunner().invoke(classify, arguments)
    written = [
        Path(p).read_text("utf-8") if Path(p).exists() else None for p in ("out.txt", "m.json")
    ]
    return result.exit_code, result.stdout, result.stderr, written


def in_small_parts(monkeypatch, size=500):
    """Read blocks of a few lines, and parts of a few blocks. Returns the sizes of parts."""
    application, sizes = type(Model.load("model").application), []
    read_parts = application.read_parts

    def counted(self, sources):
        for part in read_parts(self, sources):
            sizes.append(len(part))
            yield part

    monkeypatch.setattr(application, "read_parts", counted)
    monkeypatch.setattr(text, "_PIECE", size)
    monkeypatch.setattr(svmlight, "_PART", 40)
    monkeypatch.setattr(conll_columns, "_PART", 30)
    return sizes


def test_predictions_and_scores_are_those_of_all_examples_at_once(name, monkeypatch):
    kinds = [["--format", kind] for kind in FORMATS[name]] + [["--json"], ["-q"]]
    whole = [outcome(*kind) for kind in kinds]
    assert all(code == 0 and metrics for code, _, _, (_, metrics) in whole)
    sizes = in_small_parts(monkeypatch)
    for kind, expected in zip(kinds, whole, strict=True):
        sizes.clear()
        assert outcome(*kind) == expected, kind
        whole_only = kind[-1] in WHOLE or (name, kind) == ("precision_at_k", ["--json"])
        assert len(sizes) > 5 or whole_only
        assert sum(sizes) == (0 if whole_only else EXAMPLES[name])


@pytest.mark.parametrize("kernel", ["type: rbf, gamma: 0.1", "type: poly, degree: 2"])
def test_models_with_kernels_predict_in_parts(tmp_path, monkeypatch, kernel):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("train.txt").write_text(rows(rng, 60, ["a", "b", "c"]), encoding="utf-8")
    Path("test.txt").write_text(rows(rng, 200, ["a", "b", "c"]), encoding="utf-8")
    config = TRAINED.format(application="{name: multiclass}", model="ssvm")
    config = config.replace("{epsilon: 0.1}", "{method: n-slack, epsilon: 0.1}")
    Path("c.yaml").write_text(f"{config}kernel: {{{kernel}}}\n", encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code == 0, result.stderr
    expected = outcome("--format", "scores")
    assert expected[0] == 0
    sizes = in_small_parts(monkeypatch)
    assert outcome("--format", "scores") == expected
    assert len(sizes) > 5


def test_several_files_are_predicted_one_after_another(name, monkeypatch):
    text = Path("c.yaml").read_text(encoding="utf-8")
    Path("c.yaml").write_text(
        text.replace("train.txt}", "train.txt, test: [test.txt, train.txt]}"), encoding="utf-8"
    )
    expected = outcome("--json", path="c.yaml")
    assert expected[0] == 0
    in_small_parts(monkeypatch)
    assert outcome("--json", path="c.yaml") == expected


def test_queries_that_go_on_after_others_are_read_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = queries(np.random.default_rng(0), 300).splitlines(keepends=True)
    Path("train.txt").write_text("".join(lines[:80]), encoding="utf-8")
    Path("test.txt").write_text("".join(lines[::2] + lines[1::2]), encoding="utf-8")
    config = TRAINED.format(application=CONFIGS["precision_at_k"], model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code in (0, 3)
    expected = outcome()
    sizes = in_small_parts(monkeypatch)
    assert outcome() == expected
    assert sizes == [60]


def test_a_query_may_be_longer_than_many_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = queries(np.random.default_rng(0), 300).splitlines(keepends=True)
    Path("train.txt").write_text("".join(lines[:80]), encoding="utf-8")
    long = [re.sub(r"qid:\S+", "qid:long", line) for line in lines]
    Path("test.txt").write_text("".join(lines[:70] + long + lines[70:]), encoding="utf-8")
    config = TRAINED.format(application=CONFIGS["precision_at_k"], model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code in (0, 3)
    expected = outcome()
    sizes = in_small_parts(monkeypatch)
    assert outcome() == expected
    assert len(sizes) > 2


def test_a_broken_line_far_down_leaves_what_was_there(name, monkeypatch):
    content = Path("test.txt").read_text(encoding="utf-8")
    Path("test.txt").write_text(content + "a 1:x y z\n", encoding="utf-8")
    expected = outcome()
    assert (expected[0], expected[3]) == (2, [None, None])
    in_small_parts(monkeypatch)
    assert outcome() == expected


def test_files_without_labels_are_predicted_and_not_scored(name, monkeypatch):
    bare = re.sub(r"(?m)^\S+ (?=\d+:|#|qid:)", "? ", Path("test.txt").read_text(encoding="utf-8"))
    bare = re.sub(r"(?m) [OBI]\S*$", " ?", bare)
    Path("test.txt").write_text(bare, encoding="utf-8")
    refused = outcome()
    assert refused[0] == 2
    assert "no labels" in refused[2]
    arguments = ["test.txt", "model", "out.txt"]
    expected = CliRunner().invoke(classify, arguments), Path("out.txt").read_text("utf-8")
    in_small_parts(monkeypatch)
    assert outcome() == refused
    again = CliRunner().invoke(classify, arguments), Path("out.txt").read_text("utf-8")
    assert again[1] == expected[1]
    assert (again[0].stdout, again[0].stderr) == (expected[0].stdout, expected[0].stderr)


def test_examples_of_a_file_whose_labels_are_not_known_are_counted(name, monkeypatch):
    lines = Path("test.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    for place in range(0, len(lines), 9):
        lines[place] = re.sub(r"^\S+ (?=\d+:|#|qid:)", "? ", lines[place])
        lines[place] = re.sub(r" [OBI]\S*$", " ?", lines[place])
    Path("test.txt").write_text("".join(lines), encoding="utf-8")
    expected = outcome()
    refused = name == "precision_at_k"  # which wants all labels or none
    assert expected[0] == (2 if refused else 0)
    assert ("no label" if refused else "without labels: they are not scored") in expected[2]
    in_small_parts(monkeypatch)
    assert outcome() == expected


def test_predictions_go_to_standard_output_as_they_come(name, monkeypatch):
    expected = CliRunner().invoke(classify, ["test.txt", "model", "-", "--json"])
    assert expected.exit_code == 0
    in_small_parts(monkeypatch)
    found = CliRunner().invoke(classify, ["test.txt", "model", "-", "--json"])
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert [json.loads(line)["id"] for line in found.stdout.splitlines()][-1] in (
        "300",
        "200",
        "q59",
    )
