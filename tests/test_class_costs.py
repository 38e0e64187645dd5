"""Costs by class: what training multiplies, what it leaves alone, and what it tells."""

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications import class_costs
from lssvm.applications.base import Source
from lssvm.cli import learn
from lssvm.cli.group import main
from lssvm.config import Config
from lssvm.errors import ConfigError
from lssvm.model import Model
from lssvm.training.session import classify, learn_on, learn_path

SITE = "TGACTCACG"


def planted(path, positives, negatives, seed, size=60):
    """Random sequences, the first ones with a site that is kept to nine tenths."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGT"))[rng.integers(4, size=(positives + negatives, size))]
    lines = []
    for i, row in enumerate(letters):
        if i < positives:
            place = int(rng.integers(size - len(SITE)))
            kept = rng.random(len(SITE)) < 0.9
            row[place : place + len(SITE)][kept] = np.array(list(SITE))[kept]
        lines.append(f">s{i} label={'+1' if i < positives else '-1'}\n{''.join(row)}\n")
    path.write_text("".join(lines))
    return [Source(str(path))]


def rows(path, counts, seed):
    """Rows of five features about a point of each class, in the order of the classes."""
    rng = np.random.default_rng(seed)
    lines = []
    for name, count in counts.items():
        for row in rng.normal(size=(count, 5)) + rng.normal(size=5):
            lines.append(f"{name} " + " ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row)))
    path.write_text("\n".join(lines) + "\n")
    return [Source(str(path))]


def motif(costs=None, **settings):
    section = {"name": "motif", "length": 9, "background_order": 0, "class_costs": costs or {}}
    return Config.from_dict({"application": section, "objective": {"C": 0.1}, **settings})


def multiclass(costs=None, solver="bundle", **settings):
    section = {"name": "multiclass", "class_costs": costs or {}}
    return Config.from_dict(
        {"application": section, "objective": {"C": 0.1}, "solver": {"method": solver}, **settings}
    )


def trained(config, sources):
    application = config.create_application()
    examples = application.read(sources)
    return learn_on(application, examples, config)


def test_balanced_factors_are_those_of_scikit_learn():
    weights = pytest.importorskip("sklearn.utils.class_weight")
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.choice([0, 2, 3], size=40, p=[0.7, 0.25, 0.05])
        costs = rng.random(40)
        found = class_costs.weighted(costs, "balanced", labels, list("abcd"))
        expected = costs * weights.compute_sample_weight("balanced", labels)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_factors_multiply_the_own_costs_by_name():
    labels, costs = np.array([1, 0, 1, 2]), np.array([1.0, 2.0, 0.5, 0.0])
    found = class_costs.weighted(costs, {"b": 4.0, "a": 0.25}, labels, ["a", "b", "c"])
    assert found.tolist() == [4.0, 0.5, 2.0, 0.0]


@pytest.mark.parametrize("model", ["lssvm", "mssvm"])
def test_class_costs_of_motifs_are_costs_of_their_examples(tmp_path, model):
    sources = planted(tmp_path / "x.fa", 6, 18, 0)
    objective = {"C": 0.1, "model": model}
    own = trained(motif({"+1": 2.0, "-1": 2 / 3}, objective=objective), sources)
    balanced = trained(motif("balanced", objective=objective), sources)
    plain = trained(motif(objective=objective), sources)
    text = (tmp_path / "x.fa").read_text()
    text = text.replace("=+1", "=+1 cost=2").replace("=-1", f"=-1 cost={2 / 3!r}")
    (tmp_path / "x.fa").write_text(text)
    written = trained(motif(objective=objective), sources)
    assert balanced.w.tobytes() == own.w.tobytes() == written.w.tobytes()
    assert balanced.w.tobytes() != plain.w.tobytes()
    assert balanced.record["data_sha256"] == written.record["data_sha256"]


@pytest.mark.parametrize(
    "solver", ["bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate", "sgd"]
)
def test_every_solver_takes_balanced_costs(tmp_path, solver):
    sources = rows(tmp_path / "x.txt", {"a": 40, "b": 10, "c": 5}, 1)
    factors = {name: 55 / (3 * n) for name, n in (("a", 40), ("b", 10), ("c", 5))}
    balanced = trained(multiclass("balanced", solver), sources)
    assert balanced.w.tobytes() == trained(multiclass(factors, solver), sources).w.tobytes()
    assert balanced.w.tobytes() != trained(multiclass(None, solver), sources).w.tobytes()


def test_a_kernel_and_a_taxonomy_take_balanced_costs(tmp_path):
    sources = rows(tmp_path / "x.txt", {"a/x": 20, "a/y": 8, "b/z": 4}, 2)
    factors = {name: 32 / (3 * n) for name, n in (("a/x", 20), ("a/y", 8), ("b/z", 4))}
    for settings in (
        {"kernel": {"type": "rbf", "gamma": 0.5}, "solver": {"method": "n-slack"}},
        {},
    ):
        name = "multiclass" if settings else "taxonomy"
        found = [
            trained(
                Config.from_dict({"application": {"name": name, "class_costs": costs}, **settings}),
                sources,
            )
            for costs in ("balanced", factors, {})
        ]
        assert found[0].w.tobytes() == found[1].w.tobytes()
        assert found[0].w.tobytes() != found[2].w.tobytes()


def test_balanced_costs_of_a_fold_are_those_of_its_training_part(tmp_path):
    sources = rows(tmp_path / "x.txt", {"a": 30, "b": 10, "c": 2}, 3)
    part = np.r_[0:10, 30:40]  # no c
    config = multiclass("balanced")
    application = config.create_application()
    examples = application.read(sources)
    (balanced,) = learn_path(application, examples.take(part), [config])
    config = multiclass({"a": 1.0, "b": 1.0, "c": 7.0})
    application = config.create_application()
    (plain,) = learn_path(application, application.read(sources).take(part), [config])
    assert balanced.w.tobytes() == plain.w.tobytes()
    whole = trained(multiclass("balanced"), sources)
    assert whole.w.tobytes() != balanced.w.tobytes()


def test_metrics_count_every_example_once(tmp_path):
    sources = rows(tmp_path / "x.txt", {"a": 40, "b": 10}, 4)
    config = multiclass("balanced")
    application = config.create_application()
    examples = application.read(sources)
    model = learn_on(application, examples, config, held=examples)
    plain = multiclass().create_application()
    same = plain.read(sources)
    expected = plain.score(same, plain.predict(model.w, same))
    assert model.record["training"] == model.record["validation"] == expected


@pytest.mark.parametrize("strands", ["given", "both"])
def test_thirty_among_three_thousand_are_found_with_balanced_costs(tmp_path, strands):
    settings = {"name": "motif", "length": 9, "background_order": 0, "strands": strands}
    sources = planted(tmp_path / "x.fa", 30, 3000, 5)
    held = planted(tmp_path / "y.fa", 30, 3000, 6)
    recall = {}
    for costs in ({}, "balanced"):
        config = Config.from_dict(
            {"application": settings | {"class_costs": costs}, "objective": {"C": 0.1}}
        )
        model = trained(config, sources)
        examples = model.application.read(held)
        score = model.application.score(examples, classify(model, examples))
        recall[bool(costs)] = score["recall"]
        if costs:
            assert model.described()["consensus"] in (SITE, "CGTGAGTCA")
            assert model.record["warnings"] == []
            assert score["roc_auc"] > 0.9
        else:
            assert model.record["warnings"] == [
                "all 3,030 predictions on the training data are of class '-1' (the data have the "
                "classes '-1', '+1'); consider class_costs: balanced"
            ]
    assert recall[False] == 0
    assert recall[True] > 70


def test_predictions_of_one_class_are_told_where_people_look(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted(tmp_path / "x.fa", 5, 60, 7)
    (tmp_path / "c.yaml").write_text(
        "application: {name: motif, length: 9, class_costs: {+1: 0.5}}\n"
        "data: {train: x.fa}\nobjective: {C: 0.01}\n"
    )
    told = (
        "all 65 predictions on the training data are of class '-1' (the data have the classes "
        "'-1', '+1'); consider class_costs: balanced"
    )
    result = CliRunner().invoke(learn, ["c.yaml", "m"])
    assert result.exit_code == 0
    assert told in result.stderr
    assert Model.load("m").record["warnings"] == [told]
    assert Model.load("m").config["application"]["class_costs"] == {"+1": 0.5}
    assert f"warning: {told}" in CliRunner().invoke(main, ["show", "m"]).stdout
    names = ["a", "b"]
    (again,) = class_costs.collapse(np.array([0, 0]), np.array([0, 1]), names, "balanced")
    assert again.endswith("consider a larger objective.C")
    assert class_costs.collapse(np.array([0, 1]), np.array([0, 1]), names, {}) == []
    assert class_costs.collapse(np.array([0, 0]), np.array([0, 0]), names, {}) == []


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"a": 2.0}, "label 'a' is not known; expected +1 or -1"),
        ({"1": 2.0, "+1": 3.0}, "label '+1' is given twice; expected it once"),
        ("balance", "expected 'balanced' or a mapping, got 'balance'"),
        ({"+1": 0}, "expected 'balanced' or a number greater than 0"),
    ],
)
def test_what_is_no_cost_of_a_class_is_refused_by_name(costs, message):
    with pytest.raises(ConfigError) as caught:
        motif(costs)
    assert message in str(caught.value)
    assert str(caught.value).startswith("configuration: application.class_costs: ")
