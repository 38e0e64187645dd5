"""Explanations: the score of a prediction is the sum of its contributions."""

import itertools
import json
from functools import cache
from pathlib import Path

import lines
import numpy as np
import pytest
import toy
from click.testing import CliRunner

import lssvm
from lssvm.applications.base import Source
from lssvm.cli import learn, main
from lssvm.config import load_config
from lssvm.errors import LssvmError
from lssvm.model import Model
from lssvm.training.explaining import explain
from lssvm.training.prediction import prepared
from lssvm.training.session import learn as train

ROOT = Path(__file__).parent.parent
QUICK = ["solver.max_passes=20", "cccp.max_iterations=2", "cccp.restarts=1"]
KERNEL = ("kernel.type=rbf", "solver.method=n-slack")
HARD = {
    "multiclass": (),
    "taxonomy": (),
    "sequence": (),
    "sequence, crf": ("objective.model=crf", "solver.method=lbfgs"),
    "latent_sequence": ("objective.model=lssvm", "solver.method=bundle"),
    "precision_at_k": (),
    "coreference": (),
    "coreference-pairs": (),
    "coreference-correlation": (),
    "mrf": ("objective.model=lssvm", "objective.C=0.01"),
    "parsing": (),
    "latent_parsing": ("objective.model=lssvm", "solver.method=bundle"),
    "alignment": (),
    "alignment, hidden": ("objective.model=lssvm",),
    "alignment, prior": ("application.prior=BLOSUM62",),
    "alignment-pairs": (),
    "motif-simulated": (),
    "relation": (),
    "relation, hamming": ("application.loss=hamming", "application.none_weights=true"),
    "multiclass, rbf": KERNEL,
    "multiclass, products": ("kernel.type=poly", "kernel.degree=2", "kernel.explicit=true"),
}
SUMMED = {
    "latent_sequence, hcrf": ("objective.model=hcrf", "solver.method=lbfgs"),
    "mrf, mssvm": ("objective.model=mssvm", "objective.C=0.01"),
    "latent_parsing, hcrf": ("objective.model=hcrf", "solver.method=lbfgs"),
    "motif-simulated, mssvm": ("objective.model=mssvm",),
    "alignment, mssvm": ("objective.model=mssvm", "solver.method=bundle"),
}
APPROXIMATE = {"coreference-correlation", "latent_parsing, hcrf"}


@cache
def trained(name):
    """A model and its labelled test data."""
    settings = {**HARD, **SUMMED}[name]
    config = load_config(ROOT / "configs" / f"{name.partition(',')[0]}.yaml", [*QUICK, *settings])
    model = train(config)
    split = "test" if config.data.test else "train"
    return model, model.application.read(config.sources(split))


def rows(examples):
    return range(min(4, len(examples)))


@pytest.mark.parametrize("name", [*HARD, *SUMMED])
def test_contributions_add_up_to_the_score(name):
    model, examples = trained(name)
    for row in rows(examples):
        found = explain(model, examples, row)
        mine = sum(one.score for one in found.contributions) + found.entropy
        assert mine == pytest.approx(found.score, abs=1e-9)
        assert all(one.value or one.other_value for one in found.contributions)
        if found.against:
            their = sum(one.other for one in found.contributions) + found.other_entropy
            assert their == pytest.approx(found.other_score, abs=1e-9)
            ahead = sum(one.difference for one in found.contributions)
            ahead += found.entropy - found.other_entropy
            assert ahead == pytest.approx(found.margin, abs=1e-9)


@pytest.mark.parametrize("name", HARD)
def test_the_score_is_that_of_the_prediction(name):
    model, examples = trained(name)
    for row in rows(examples):
        found = explain(model, examples, row)
        wanted = found.record["score"]
        if name.startswith("motif"):  # of +1, whatever is predicted
            wanted = max(wanted, 0.0)
        assert found.score == pytest.approx(wanted, abs=1e-8)
        assert found.entropy == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", sorted({*HARD, *SUMMED} - APPROXIMATE))
def test_no_output_scores_higher_than_the_prediction(name):
    model, examples = trained(name)
    for row in rows(examples):
        found = explain(model, examples, row)
        assert found.margin is None or found.margin >= -1e-9
        if found.against == "truth":
            assert found.record["loss"] >= 0


@pytest.mark.parametrize("name", ["multiclass", "taxonomy", "multiclass, rbf"])
def test_against_a_class_is_the_score_of_this_class(name):
    model, examples = trained(name)
    linear, inner = prepared(model, examples)
    scores = linear.application.scores(linear.w, inner)
    for place, label in enumerate(model.application.classes):
        for row in rows(examples):
            found = explain(model, examples, row, against=label)
            assert found.other_score == pytest.approx(scores[row, place])
            assert (found.against, found.other_name) == ("given", label)


def test_a_wrong_prediction_stands_beside_the_truth_and_a_right_one_beside_the_second():
    model, examples = trained("multiclass")
    kinds = set()
    for row in range(len(examples)):
        found = explain(model, examples, row)
        kinds.add(found.against)
        right = found.record["y"] == found.record["gold"]
        assert found.against == ("runner-up" if right else "truth")
        assert found.other_name == (found.record["gold"] if not right else found.other_name)
        assert found.other_name != found.record["y"]
    assert kinds == {"truth", "runner-up"}


def test_contributions_of_a_motif_are_those_of_its_joint_features():
    model, examples = trained("motif-simulated")
    found = explain(model, examples, 0, against="-1")
    site = found.record["h"][0]
    window = (site["start"] - 1, int(site["strand"] == "-"))
    features = model.application.joint_feature(examples, 0, 1, window)
    features = features - model.application.joint_feature(examples, 0, -1)
    wanted = dict(zip(model.feature_names(), model.w * features, strict=True))
    if found.record["y"] > 0:
        for one in found.contributions:
            assert one.score == pytest.approx(wanted[one.feature])


def test_rankings_compare_with_another_document():
    model, examples = trained("precision_at_k")
    found = explain(model, examples, 0)
    first = found.record["h"]
    documents = examples.documents[: len(found.record["y"])]
    scores = dict(zip(documents, found.record["scores"], strict=True))
    other = min(set(scores) - set(first), key=lambda name: scores[name])
    found = explain(model, examples, 0, against=other)
    k = model.application.k
    assert found.margin == pytest.approx((scores[first[-1]] - scores[other]) / k)
    with pytest.raises(LssvmError, match="is among the first ones; expected the docid"):
        explain(model, examples, 0, against=first[0])


def test_features_that_training_does_not_have_change_nothing(tmp_path):
    model, _ = trained("precision_at_k")
    text = Path(ROOT / "data/ranking/test.txt").read_text().splitlines()[0]
    head, _, comment = text.partition("#")
    (tmp_path / "wide").write_text(f"{head} 4000:1 #{comment}\n{text.replace(' 1:', ' 1:1')}\n")
    wide = model.application.read([Source(str(tmp_path / "wide"))])
    found = explain(model, wide, 0)
    assert found.score == pytest.approx(found.record["score"])


def test_sequences_compare_with_given_labels():
    model, examples = trained("sequence")
    labels = explain(model, examples, 0).record["y"]
    other = ["O"] * len(labels)
    found = explain(model, examples, 0, against=" ".join(other))
    assert found.other_name.split() == other
    for text, wrong in (
        ("O", f"1 label for {len(labels)} tokens"),
        ("X " * len(labels), "'X' is"),
    ):
        with pytest.raises(LssvmError, match=wrong):
            explain(model, examples, 0, against=text)


def test_random_fields_compare_with_other_states():
    model, examples = trained("mrf")
    found = explain(model, examples, 0)
    node, state = next(iter(found.record["y"].items()))
    same = explain(model, examples, 0, against=f"{node}={state}")
    assert same.margin == pytest.approx(0.0, abs=1e-9)
    other = explain(model, examples, 0, against=f"{node}={(state + 1) % 2}")
    assert other.margin >= -1e-9
    for text in ("nowhere=0", f"{node}=99", node):
        with pytest.raises(LssvmError, match="expected"):
            explain(model, examples, 0, against=text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("explained")
    train_file = "a 1:1\na 1:2\nb 1:-1 2:1\nb 1:-2\nc 2:3\nc 1:0.1 2:2\n"
    (found / "train.txt").write_text(train_file)
    (found / "test.txt").write_text("a 1:-1\n? 2:1\nz 1:1\n")
    config = "application: {name: multiclass}\ndata: {train: train.txt, test: test.txt}\n"
    (found / "c.yaml").write_text(config)
    run = CliRunner().invoke(learn, [str(found / "c.yaml"), str(found / "m"), "-q"])
    assert run.exit_code == 0, run.output
    return found


def explained(folder, *arguments):
    return CliRunner().invoke(main, ["explain", str(folder / "m"), *map(str, arguments)])


def test_the_command_tells_the_contributions(folder, tmp_path):
    path = tmp_path / "why.json"
    run = explained(folder, folder / "test.txt", "--example", "1", "--top", "1", "--json", path)
    assert run.exit_code == 0, run.output
    lines = run.stdout.splitlines()
    assert lines[0] == "example            1"
    assert any(line.startswith("score of the truth") for line in lines)
    table = lines[lines.index("") + 1 :]
    heads = ["weight", "prediction", "truth", "difference", "feature"]
    assert table[0].split() == heads
    assert table[-1].split()[-1] == "score"
    told = json.loads(path.read_text())
    assert told["prediction"]["gold"] == "a"
    assert told["against"]["kind"] == "truth"
    total = sum(one["contribution"] for one in told["contributions"])
    assert total == pytest.approx(told["score"])
    assert told["margin"] == pytest.approx(told["score"] - told["against"]["score"])
    assert told["others"] == {"features": 0, "score": 0, "against": 0}


def test_an_unknown_truth_gives_way_to_the_second_best(folder):
    unknown = explained(folder, folder / "c.yaml", "--example", "#2")
    assert "score of the runner-up" in unknown.stdout
    unseen = explained(folder, folder / "c.yaml", "--example", "3")
    assert "note: the truth has no score: " in unseen.stdout
    assert "label 'z' is not a label of the model" in unseen.stdout


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (("--example", "x"), "has no such example; expected one of 1, 2, 3, or #1 to #3"),
        (("--example", "#4"), "has no such example"),
        (("--example", "1", "--against", "d"), "--against d: is no class of the model"),
        ((), "Missing option '--example'"),
        (("--example", "1", "--json", "/nowhere/x"), "the folder '/nowhere' does not exist"),
    ],
)
def test_errors_are_one_line(folder, arguments, wrong):
    run = explained(folder, folder / "test.txt", *arguments)
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    assert wrong in line


def test_examples_of_one_name_are_told_by_number(tmp_path):
    model, _ = trained("motif-simulated")
    model.save(tmp_path / "m")
    (tmp_path / "x.fa").write_text(">s\nACGTACGTACGTACGTACGT\n")
    (tmp_path / "y.fa").write_text(">s\nNNNACGTACGTACGTACGTNN\n")
    (tmp_path / "c.yaml").write_text(
        "application: {name: motif, length: 11}\ndata: {train: [x.fa], test: [x.fa, y.fa]}\n"
    )
    run = explained(tmp_path, tmp_path / "c.yaml", "--example", "s")
    assert "2 examples of" in run.stderr
    assert "expected the number of one of them: #1, #2" in run.stderr
    run = explained(tmp_path, tmp_path / "c.yaml", "--example", "#2")
    assert run.exit_code == 0, run.stderr
    assert "     1 nnn" in run.stdout


def test_explain_is_part_of_the_package():
    assert lssvm.explain is explain
    assert "explain" in lssvm.__all__


def test_an_application_of_single_examples_needs_nothing_more():
    application, data = toy.random_problem(0)
    w = np.random.default_rng(1).normal(size=5)
    for row in range(len(data)):
        found = explain(Model(application, {}, w, {}), data, row)
        y, h = application.predict_one(w, data.inputs[row])
        features = application.joint_feature(data.inputs[row], y, h)
        assert found.score == pytest.approx(w @ features)
        told = {one.feature: one.score for one in found.contributions}
        assert told == pytest.approx({f"f{j}": w[j] * features[j] for j in range(5)})


def test_an_application_that_does_not_know_its_features_is_refused(tmp_path):
    application = lines.Lines(lines.LinesOptions(length=2))
    (tmp_path / "x").write_text("1 1 2\n")
    data = application.read([Source(str(tmp_path / "x"))])
    model = Model(application, {}, np.ones(3), {})
    with pytest.raises(LssvmError, match="'lines' cannot explain example '1': the features of"):
        explain(model, data, 0)


@pytest.mark.parametrize("name", ["relation", "relation, hamming"])
def test_other_relations_are_the_best_mentions_that_have_them(name):
    model, examples = trained(name)
    application, w = model.application, prepared(model, examples)[0].w
    relations, kinds = application.relations, set()
    for row in range(40):
        one = examples.take(np.array([row]))
        linear, inner = prepared(model, one)
        weights = linear.w.reshape(-1, application.columns.count)
        scores = np.zeros((int(one.mention_counts[0]), len(relations) + 1))
        scores[:, : weights.shape[1]] = inner.inputs @ weights
        if len(scores) > 3:
            continue
        best = {}
        for labels in itertools.product(range(len(relations) + 1), repeat=len(scores)):
            own = frozenset(labels) - {len(relations)}
            value = sum(scores[m, label] for m, label in enumerate(labels))
            best[own] = max(best.get(own, -np.inf), value)
        first, second = sorted(best.values(), reverse=True)[:2]
        found = explain(model, examples, row)
        kinds.add(found.against)
        assert found.score == pytest.approx(first, abs=1e-9)
        if found.against == "runner-up":
            assert found.other_score == pytest.approx(second, abs=1e-9)
        for own, value in itertools.islice(best.items(), 12):
            label = ", ".join(relations[place] for place in sorted(own)) or "none"
            given = explain(model, examples, row, against=label)
            assert given.other_score == pytest.approx(value, abs=1e-9)
            assert given.other_name == label
    assert kinds == {"truth", "runner-up"}
    assert w.shape == (application.dimension(examples),)


def test_relations_that_cannot_be_compared_are_refused():
    model, examples = trained("relation")
    names = model.application.relations
    row = int(np.argmin(examples.mention_counts))
    assert examples.mention_counts[row] == 1
    for text, wrong in (
        ("nothing", "'nothing' is no relation of the model; expected relations with commas"),
        (",".join(names[:2]), "2 relations need as many mentions, and the pair has 1; expected"),
    ):
        with pytest.raises(LssvmError, match=wrong):
            explain(model, examples, row, against=text)
    found = explain(model, examples, row)
    assert found.shown[0] == "mention: its predicted relation"
    assert len(found.shown) == 3
