"""A label that is not known: hidden in training where that is possible, refused otherwise; in
prediction it has no score. What training refuses, ``lssvm check`` and ``--dry-run`` refuse."""

import itertools
import json

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.base import Source
from lssvm.cli import classify, learn, main
from lssvm.config import Config

MULTICLASS = "application: {name: multiclass}\ndata: {train: train}\n"
HMM = "application: {name: %s, format: svm_hmm}\ndata: {train: train}\n"
CONLL = "application: {name: %s, templates: [word]}\ndata: {train: train}\n"
TAXONOMY = "application: {name: taxonomy, taxonomy: tree}\ndata: {train: train}\n"
MOTIF = "application: {name: motif, length: 3, background_order: 0}\ndata: {train: train}\n"
MRF = "application: {name: mrf}\nobjective: {model: %s}\ndata: {train: train}\n"
PAIRS = "application: {name: coreference, features: [f]}\ndata: {train: train}\n"
RANKING = "application: {name: precision_at_k, k: 1}\ndata: {train: train}\n"
RELATION = "application: {name: relation}\ndata: {train: train}\n"
FACTS = '{"relations": ["r"], "mentions": [{"features": ["f"]}]}\n'
FACTS += '{"relations": [], "mentions": [{"features": ["g"]}]}\n'
FACTS_UNKNOWN = FACTS + '{"relations": null, "mentions": [{"features": ["f"]}]}\n'
ROWS = "a 1:1\nb 1:-1\na 1:2\nb 1:-2\n"
FASTA = ">a label=+1\nACGTACGT\n>b label=-1\nCCGCCCGC\n>c label=%s\nACGAACGT\n"
NODES = "graph {0}\nnode u y 2 {1} 1:1\nnode v y 2 {2} 1:2\nedge u v e\n"
DOCUMENTS = "document a\nclusters 1 1\npair 1 2 1:1\ndocument b\nclusters 1 2\npair 1 2 1:-1\n"
TAGS = "a qid:1 1:1\nb qid:1 2:1\na qid:2 1:1\n%s qid:2 2:1\n"
WORDS = "x a\ny b\n\nx a\ny %s\n"

REFUSED = {  # configuration, training data, other files, what the one line must say
    "multiclass, a row": (MULTICLASS, ROWS + "? 1:3\n", {}, "train:5: no label ('?')"),
    "multiclass, all rows": (MULTICLASS, "? 1:1\n", {}, "train: no labels"),
    "taxonomy, a row": (
        TAXONOMY,
        "x 1:1\n? 1:2\ny 1:3\n",
        {"tree": "x root\ny root\n"},
        "no label ('?')",
    ),
    "sequence, svm_hmm": (HMM % "sequence", TAGS % "?", {}, "train:3: sequence '2' has a token"),
    "sequence, conll": (CONLL % "sequence", WORDS % "?", {}, "train:4: sequence '2' has a token"),
    "sequence, no labels": (CONLL % "sequence", "x\ny\n", {}, "train: no token has a label"),
    "latent sequence, no labels": (
        CONLL % "latent_sequence",
        "x ?\ny ?\n",
        {},
        "train: no token has a label",
    ),
    "motif, a record": (MOTIF, FASTA % "?", {}, "train:5: record 'c' has no label"),
    "motif, all records": (MOTIF, ">a\nACGT\n>b\nACGT\n", {}, "train:1: record 'a' has no label"),
    "mrf, a node": (MRF % "ssvm", NODES.format("a", "0", "?"), {}, "has a node without a label"),
    "mrf, all nodes": (MRF % "lssvm", NODES.format("a", "?", "?"), {}, "has no labels"),
    "coreference, a document": (
        PAIRS,
        DOCUMENTS + "document c\nclusters ? ?\npair 1 2 1:1\n",
        {},
        "train:7: document 'c' has no clusters",
    ),
    "ranking, no relevant document": (
        RANKING,
        "0 qid:1 1:1\n0 qid:1 1:2\n",
        {},
        "no query has a relevant document",
    ),
    "relation, a pair": (RELATION, FACTS_UNKNOWN, {}, "train:3: pair '3' has no known relations"),
    "relation, all pairs": (
        RELATION,
        '{"mentions": [{"features": ["f"]}]}\n',
        {},
        "train: no pair has a relation",
    ),
    "held out, unlabelled": (
        MULTICLASS.replace("train: train", "train: train, validate: held"),
        ROWS,
        {"held": "? 1:1\n"},
        "data.validate: examples without labels",
    ),
    "held out, in part": (
        MULTICLASS.replace("train: train", "train: train, validate: held"),
        ROWS,
        {"held": "? 1:1\na 1:1\n"},
        "data.validate: examples without labels",
    ),
    "held out, unknown metric": (
        MULTICLASS.replace("train: train", "train: train, validate: held")
        + "held_out: {every: 1, metric: auk}\n",
        ROWS,
        {"held": "a 1:1\n"},
        "held_out.metric: 'auk' is not known here",
    ),
    "held out, no file": (
        MULTICLASS.replace("train: train", "train: train, validate: held"),
        ROWS,
        {},
        "held",
    ),
    "kernel, too large": (
        MULTICLASS + "kernel: {type: rbf, max_mb: 1e-9}\nsolver: {method: n-slack}\n",
        ROWS,
        {},
        "kernel.max_mb",
    ),
    "hard margin, loss below 1": (
        "application: {name: multiclass, loss: losses}\nobjective: {slack_norm: 0}\n"
        "solver: {method: n-slack}\ndata: {train: train}\n",
        ROWS,
        {"losses": "a b\na 0 0.5\nb 0.5 0\n"},
        "without slack",
    ),
    "costs of 0": (
        MULTICLASS.replace("train: train", "train: [{path: train, cost: 0}]"),
        ROWS,
        {},
        "cost",
    ),
    "no training data": (MULTICLASS.replace("train: train", "test: train"), ROWS, {}, "data.train"),
    "class without examples": (
        MULTICLASS.replace("multiclass}", "multiclass, class_costs: {z: 2}}"),
        ROWS,
        {},
        "class_costs",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command, *arguments, expect=0):
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == expect, result.stderr
    return result


@pytest.mark.parametrize("name", REFUSED)
def test_what_training_refuses_is_refused_by_check_and_by_a_dry_run(folder, name):
    config, data, others, message = REFUSED[name]
    (folder / "c.yaml").write_text(config)
    (folder / "train").write_text(data)
    for path, text in others.items():
        (folder / path).write_text(text)
    line = run(learn, "c.yaml", "m", "-q", expect=2).stderr
    assert message in line
    assert line.count("\n") == 1
    assert run(learn, "c.yaml", "m", "--dry-run", "-q", expect=2).stderr == line
    assert run(main, "check", "c.yaml", expect=2).stderr == line
    assert not (folder / "m").exists()


def test_a_dry_run_refuses_another_first_model_and_nothing_to_resume(folder):
    (folder / "c.yaml").write_text(MULTICLASS)
    (folder / "train").write_text(ROWS)
    run(learn, "c.yaml", "m", "-q")
    (folder / "train").write_text("a 1:1 2:1\nb 1:2 2:2\n")
    for options in (("--init", "m"), ("--resume",)):
        line = run(learn, "c.yaml", "n", "-q", *options, expect=2).stderr
        assert run(learn, "c.yaml", "n", "-q", "--dry-run", *options, expect=2).stderr == line


@pytest.mark.parametrize(
    ("config", "data", "missing"),
    [
        (HMM % "latent_sequence", TAGS, "?"),
        (CONLL % "latent_sequence", WORDS, "?"),
    ],
)
def test_labels_that_are_missing_are_hidden_where_the_model_has_hidden_values(
    folder, config, data, missing
):
    (folder / "c.yaml").write_text(config)
    (folder / "train").write_text(data % missing)
    facts = json.loads(run(main, "check", "c.yaml", "--json").stdout)
    assert "data.train: 1 label is missing: hidden in training" in (facts["warnings"])
    run(learn, "c.yaml", "m", "--dry-run", "-q")
    run(learn, "c.yaml", "m", "-q")
    (folder / "test").write_text(data % "b")
    run(classify, "test", "m", "p", "--metrics", "known.json")
    assert json.loads((folder / "known.json").read_text())["error"] == 0.0
    run(classify, "train", "m", "p", "--metrics", "part.json")
    part = json.loads((folder / "part.json").read_text())
    assert (part["sequences"], part["tokens"]) == (1, 2)


@pytest.mark.parametrize(
    ("config", "train", "test", "scored"),
    [
        (MULTICLASS, ROWS, "a 1:1\n? 1:1\nb 1:-1\n", "examples"),
        (CONLL % "sequence", WORDS % "b", WORDS % "?", "sequences"),
        (MOTIF, FASTA % "+1", FASTA % "?", None),
        (RELATION + "objective: {C: 10}\n", FACTS, FACTS_UNKNOWN, "pairs"),
        (PAIRS, DOCUMENTS, DOCUMENTS + "document c\nclusters ? ?\npair 1 2 1:1\n", "documents"),
    ],
)
def test_in_prediction_examples_without_label_are_predicted_and_not_scored(
    folder, config, train, test, scored
):
    (folder / "c.yaml").write_text(config)
    (folder / "train").write_text(train)
    (folder / "test").write_text(test)
    run(learn, "c.yaml", "m", "-q")
    result = run(classify, "test", "m", "p", "--metrics", "scores.json")
    assert result.stderr == "1 example without labels: they are not scored\n"
    assert (folder / "p").read_text()
    scores = json.loads((folder / "scores.json").read_text())
    wrong = [scores[name] for name in ("error", "mitre_loss") if name in scores]
    assert (wrong or [100.0 - scores["f1"]]) == [0.0]
    if scored in scores:
        assert scores[scored] in (1, 2)


def test_unknown_labels_are_maximised_over_and_cost_nothing(folder):
    """U⁻ is the best filling of what is missing, U⁺ the best output with Δ over what is known."""
    config = Config.from_dict({"application": {"name": "latent_sequence", "format": "svm_hmm"}})
    app = config.create_application()

    def labelled(tags):
        rows = ["1:1 3:-1", "2:1 3:0.5", "1:-1 2:2"]
        text = "".join(f"{tag} qid:1 {row}\n" for tag, row in zip(tags, rows, strict=True))
        (folder / "x").write_text(text)
        return app.read([Source("x")])

    partly = labelled("ab?")
    whole = {"".join(tags): labelled(tags) for tags in itertools.product("ab", repeat=3)}
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=app.dimension(partly))
        scores = {tags: app.completed(w, examples).value(w) for tags, examples in whole.items()}
        best = max(scores["aba"], scores["abb"])
        assert app.completed(w, partly).value(w) == pytest.approx(best, abs=1e-9)
        most = max(score + (tags[0] != "a") + (tags[1] != "b") for tags, score in scores.items())
        plane, upper = app.augmented(w, partly)
        assert upper == pytest.approx(most, abs=1e-9)
        assert plane.value(w) == pytest.approx(most, abs=1e-9)
