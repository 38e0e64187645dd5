"""Features on like scales: learnt on training data, kept with the model, applied to all data."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from lssvm.applications import scaling
from lssvm.cli import classify, learn, main
from lssvm.config import load_config
from lssvm.errors import DataError, ModelError
from lssvm.model import Model

KINDS = ("max_abs", "standard", "range")
SIZES = np.array([1.0, 1e3, 1e-3, 50.0])


def expected(kind, matrix, centred, rows=None):
    """The definition: rows (the same ones if left out) scaled as ``matrix`` teaches."""
    rows = matrix if rows is None else rows
    shift = np.zeros(matrix.shape[1])
    if kind == "max_abs":
        factor = np.abs(matrix).max(axis=0)
    elif kind == "standard":
        factor = np.sqrt(np.mean((matrix - matrix.mean(axis=0)) ** 2, axis=0))
        shift = matrix.mean(axis=0) if centred else shift
    else:
        factor = matrix.max(axis=0) - matrix.min(axis=0)
        shift = matrix.min(axis=0) if centred else shift
    if kind != "max_abs":
        factor = np.where(matrix.min(axis=0) == matrix.max(axis=0), 1.0, factor)
    return (rows - shift) / np.where(factor > 0, factor, 1.0)


def random_rows(rng, n, share):
    """(n, 4) values of very different sizes, and a constant column behind them."""
    matrix = np.where(rng.random((n, 4)) < share, rng.normal(1.0, 1.0, (n, 4)) * SIZES, 0.0)
    return np.column_stack([matrix, np.full(n, 0.1 if share == 1 else 0.0)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 25_000])
def test_scales_are_what_their_names_say(kind, n):
    rng = np.random.default_rng(n)
    for share, layout in ((1, np.array), (0.3, sparse.csr_array)):
        matrix = random_rows(rng, n, share)
        scales = scaling.learnt(kind, layout(matrix))
        centred = layout is np.array
        found = scales.applied(layout(matrix))
        found = found if centred else found.toarray()
        np.testing.assert_allclose(found, expected(kind, matrix, centred), rtol=1e-9, atol=1e-12)


def test_a_constant_is_not_divided_by_the_rounding_of_its_mean():
    matrix = np.full((1000, 1), 0.1)
    assert np.all(scaling.learnt("standard", matrix).applied(matrix.copy()) == 0.0)
    assert scaling.learnt("standard", matrix).factors.tolist() == [1.0]


def test_large_and_tiny_values_have_scales_too():
    matrix = np.array([[1e308, 1e-310], [-1e308, 2e-310]])
    for kind in KINDS:
        scales = scaling.learnt(kind, matrix)
        assert np.all(np.isfinite(scales)), kind
        assert np.all(scales.factors > 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two classes that small features tell apart beside large ones that tell nothing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    for name in ("train", "test"):
        y = rng.integers(2, size=80)
        x = rng.normal(size=(80, 3)) * [1e-3, 1e3, 1.0]
        x[:, 0] += 2e-3 * y
        lines = [
            f"{'ab'[c]} qid:{i // 8 + 1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(r))
            for i, (c, r) in enumerate(zip(y.tolist(), x.tolist(), strict=True))
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        ranked = [line.replace("a ", "0 ", 1).replace("b ", "1 ", 1) for line in lines]
        (tmp_path / f"{name}.rank").write_text("\n".join(ranked) + "\n")
        thin = [" ".join(line.split()[: 3 + i % 3]) for i, line in enumerate(lines)]
        wide = [*thin, "a qid:99 40:1"] if name == "train" else thin
        (tmp_path / f"{name}.thin").write_text("\n".join(wide) + "\n")
        thin = [" ".join(line.split()[: 3 + i % 3]) for i, line in enumerate(ranked)]
        wide = [*thin, "0 qid:99 40:1"] if name == "train" else thin
        (tmp_path / f"{name}.thinrank").write_text("\n".join(wide) + "\n")
    return tmp_path


def configured(application, ending, **options):
    values = {"name": application, **options}
    lines = [f"  {key}: {value}" for key, value in values.items()]
    text = "application:\n" + "\n".join(lines) + "\n"
    text += f"data: {{train: train.{ending}, test: test.{ending}}}\nobjective: {{C: 1}}\n"
    with open("c.yaml", "w") as file:
        file.write(text)


def run(command, *words, code=0):
    result = CliRunner().invoke(command, list(words))
    assert result.exit_code == code, result.output
    return result


CASES = [
    ("multiclass", "txt", {}),
    ("multiclass", "thin", {}),
    ("sequence", "txt", {"format": "svm_hmm"}),
    ("sequence", "thin", {"format": "svm_hmm", "bias": 1}),
    ("latent_sequence", "txt", {"format": "svm_hmm", "substates": 2}),
    ("precision_at_k", "rank", {"k": 3}),
    ("precision_at_k", "thinrank", {"k": 3}),
]


def rows_of(application, examples):
    """The features of all rows without those that the application appends, (rows, k)."""
    if application.options.name == "precision_at_k":
        return examples.matrix()
    inputs = examples.inputs
    dense = inputs.toarray() if sparse.issparse(inputs) else inputs
    return dense[:, :3] if dense.shape[1] < 40 else dense[:, :40]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "ending", "options"), CASES)
def test_test_data_are_scaled_as_training_data_teach(folder, name, ending, options, kind):
    def read(scale):
        configured(name, ending, **options, scaling=scale)
        config = load_config("c.yaml", [])
        application = config.create_application()
        parts = [application.read(config.sources(split)) for split in ("train", "test")]
        return application, [rows_of(application, part) for part in parts]

    _, (plain, other) = read("none")
    application, (train, test) = read(kind)
    centred = not ending.startswith("thin")
    width = other.shape[1]
    np.testing.assert_allclose(train, expected(kind, plain, centred), rtol=1e-9, atol=1e-12)
    goal = expected(kind, plain[:, :width], centred, other)
    np.testing.assert_allclose(test, goal, rtol=1e-9, atol=1e-12)
    again = load_config("c.yaml", []).create_application()
    again.restore(application.state())
    assert {k: v.tolist() for k, v in again.state().items()} == {
        k: v.tolist() for k, v in application.state().items()
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["rank", "thinrank"])
def test_queries_are_scaled_by_themselves(folder, ending, kind):
    configured("precision_at_k", ending, k=3)
    config = load_config("c.yaml", [])
    plain = config.create_application().read(config.sources("train"))
    edges, matrix = plain.offsets, plain.matrix()
    configured("precision_at_k", ending, k=3, scaling=f"query_{kind}")
    config = load_config("c.yaml", [])
    application = config.create_application()
    found = application.read(config.sources("train")).matrix()
    for a, b in pairwise(edges):
        goal = expected(kind, matrix[a:b], ending == "rank")
        np.testing.assert_allclose(found[a:b], goal, rtol=1e-9, atol=1e-12)
    assert application.state() == {}


@pytest.mark.parametrize(("name", "ending", "options"), CASES)
def test_a_model_scales_what_it_predicts_for(folder, name, ending, options):
    configured(name, ending, **options, scaling="standard")
    told = run(learn, "c.yaml", "m").stderr
    assert ("does not centre" in told) == ending.startswith("thin")
    run(classify, "c.yaml", "m", "p", "--metrics", "metrics.json")
    metrics = json.loads((folder / "metrics.json").read_text())
    config = load_config("c.yaml", [])
    application = config.create_application()
    application.read(config.sources("train"))
    test = application.read(config.sources("test"))
    found = application.score(test, application.predict(Model.load("m").w, test))
    assert metrics["loss"] == pytest.approx(found["loss"])


def test_scaling_finds_what_large_features_hide(folder):
    errors = {}
    for kind in ("none", *KINDS):
        configured("multiclass", "txt", scaling=kind)
        run(learn, "c.yaml", "m", "-q", "--set", "objective.C=1", "--set", "solver.method=bundle")
        run(classify, "c.yaml", "m", "p", "--metrics", "metrics.json")
        errors[kind] = json.loads((folder / "metrics.json").read_text())["error"]
    assert max(errors[kind] for kind in KINDS) < 30 < errors["none"]


def stored(**parts):
    """The state of scales, but for some of its arrays."""
    usual = {"features": np.arange(3), "shifts": np.zeros(3), "factors": np.ones(3)}
    return {f"scaling_{name}": array for name, array in {**usual, **parts}.items()}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "'scaling_features' is missing"),
        ({"scaling_features": np.arange(3)}, "'scaling_shifts' is missing"),
        (stored(shifts=np.zeros(2)), "expected float64"),
        (stored(factors=np.zeros(3)), "scaling_factors"),
        (stored(shifts=np.array([0, np.nan, 0])), "nan"),
        (stored(features=np.array([0, 2, 1])), "does not rise"),
        (stored(features=np.array([0, 1, 10**7])), "scaling_features"),
        (stored(features=np.array([-1, 1, 2])), "scaling_features"),
    ],
)
@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[5]], ids=lambda case: case[0])
def test_impossible_scales_are_refused(folder, case, arrays, message):
    name, ending, options = case
    configured(name, ending, **options, scaling="range")
    config = load_config("c.yaml", [])
    application = config.create_application()
    application.read(config.sources("train"))
    state = {k: v for k, v in application.state().items() if k not in scaling.STATE}
    with pytest.raises(ModelError, match=message):
        config.create_application().restore({**state, **arrays})
    configured(name, ending, **options)
    with pytest.raises(ModelError, match="not known"):
        load_config("c.yaml", []).create_application().restore(application.state())


def test_attributes_of_columns_have_no_scales(folder):
    configured("sequence", "txt", scaling="range")
    told = run(learn, "c.yaml", "m", code=2).stderr
    assert "scaling: range is for numeric features, format: svm_hmm; expected none" in told


@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[5]], ids=lambda case: case[0])
def test_a_value_that_overflows_is_refused_with_its_place(folder, case):
    name, ending, options = case
    (folder / f"test.{ending}").write_text(f"{'1' if ending == 'rank' else 'a'} qid:1 1:1e308\n")
    configured(name, ending, **options, scaling="max_abs")
    config = load_config("c.yaml", [])
    application = config.create_application()
    application.read(config.sources("train"))
    with (
        warnings.catch_warnings(),
        pytest.raises(DataError, match=rf"test\.{ending}:1: .*overflow"),
    ):
        application.read(config.sources("test"))


@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[2], CASES[5]], ids=lambda case: case[0])
def test_check_warns_of_scales_that_differ(folder, case):
    name, ending, options = case
    configured(name, ending, **options)
    told = [line for line in run(main, "check", "c.yaml").stdout.splitlines() if "scales" in line]
    assert len(told) == 1
    assert told[0].startswith(
        "warning: data.train: the scales of features differ much, and training may be slow: "
        "feature 2 is up to "
    )
    assert ", feature 1 up to 0.00" in told[0]
    assert "expected application.scaling: max_abs, standard" in told[0]
    configured(name, ending, **options, scaling="max_abs")
    assert "scales" not in run(main, "check", "c.yaml").stdout


def test_a_run_that_falls_short_says_that_scales_differ(folder):
    configured("multiclass", "txt")
    told = run(learn, "c.yaml", "m", "--set", "solver.max_passes=2", code=3).stderr
    assert "feature 2 is up to " in told
    last = told.splitlines()[-1]
    assert "the requested precision was not reached (the passes ran out, gap " in last
    assert last.endswith("); set application.scaling, as the scales of features differ much")
    assert Model.load("m").record["uneven"] in Model.load("m").record["warnings"]


def test_a_run_that_stalls_does_not_advise_more_passes(folder, monkeypatch):
    monkeypatch.setattr("lssvm.solvers.solver.STALLED_PASSES", 1)
    configured("multiclass", "txt", scaling="standard")
    words = ("c.yaml", "m", "--set", "solver.epsilon=1e-15", "--set", "solver.method=bundle")
    told = run(learn, *words, code=3).stderr.splitlines()[-1]
    assert "(the solver stalled: its passes no longer narrow the gap, gap " in told
    assert told.endswith("); raise solver.epsilon; more passes would not help")
    record = Model.load("m").record
    assert record["stalled"] is record["restarts"][0]["stalled"] is True
    assert "uneven" not in record


def test_a_model_keeps_scales_of_features_that_occur_alone(folder):
    (folder / "train.txt").write_text("a 1000000:4\nb 3:2 7:-8\n")
    configured("multiclass", "txt", scaling="max_abs")
    config = load_config("c.yaml", [])
    application = config.create_application()
    application.read(config.sources("train"))
    state = application.state()
    assert state["scaling_features"].tolist() == [2, 6, 999_999]
    assert state["scaling_factors"].tolist() == [2, 8, 4]
    again = config.create_application()
    again.restore(state)
    for one, other in zip(application.scaler.scales, again.scaler.scales, strict=True):
        np.testing.assert_array_equal(one, other)
