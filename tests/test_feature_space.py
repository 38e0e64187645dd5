"""Kernels: against the explicit map, general solvers, scikit-learn and enumeration."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sequence_cases
from click.testing import CliRunner
from scipy import sparse

from lssvm import cli
from lssvm.applications import feature_space
from lssvm.applications.feature_space import Kernel, KernelFunction, Products, Support
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.config import Config
from lssvm.errors import ConfigError, LssvmError, ModelError
from lssvm.model import Model
from lssvm.training.checkpoint import StoppedError
from lssvm.training.cross_validation import cross_validate
from lssvm.training.session import Saving, classify, learn, learn_on, prepared

POLY = {"type": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}
TREE = {"0": "left", "1": "left", "2": "right", "left": "root", "right": "root"}


def config_of(application, kernel, **objective):
    method = "n-slack" if kernel.get("type", "linear") != "linear" else "bundle"
    return Config.from_dict(
        {
            "application": application,
            "kernel": kernel,
            "objective": {"model": "ssvm", "C": 1.0, **objective},
            "solver": {"method": method, "epsilon": 1e-6},
        }
    )


def classes(rng, options, kernel, count=40, density=0.5, **objective):
    """Random rows of three classes, some of them twice, half for training and half not."""
    config = config_of({"bias": 0.0, **options}, kernel, **objective)
    application = config.create_application()
    x = rng.normal(size=(count, 5)) * (rng.random((count, 5)) < density)
    x[3] = x[1]
    y = rng.integers(0, 3, count)
    application.fix(["0", "1", "2"], 5)
    matrix = sparse.csr_array(x) if density < 1 else x
    rows = in_memory(matrix, y, ["0", "1", "2"], len(application.columns))
    return config, application, rows.slice(0, count // 2), rows.slice(count // 2, count)


def sequences(rng, options, kernel, count=12, **objective):
    config = config_of({"name": "sequence", **options}, kernel, **objective)
    sizes = rng.integers(1, 6, 2 * count)
    tokens = int(sizes.sum())
    x = rng.normal(size=(tokens, 6)) * (rng.random((tokens, 6)) < 0.6)
    tags = rng.choice(list("abc"), tokens).tolist()
    vocabulary = Vocabulary(("a", "b", "c"), 6)
    rows = packed(sparse.csr_array(x), tags, np.cumsum([0, *sizes]), vocabulary)
    return config, config.create_application(), rows.slice(0, count), rows.slice(count, 2 * count)


PROBLEMS = {
    "multiclass": lambda kernel, **o: classes(
        np.random.default_rng(0), {"name": "multiclass"}, kernel, **o
    ),
    "dense rows": lambda kernel, **o: classes(
        np.random.default_rng(1), {"name": "multiclass"}, kernel, density=1, **o
    ),
    "taxonomy": lambda kernel, **o: classes(
        np.random.default_rng(2), {"name": "taxonomy", "taxonomy": TREE}, kernel, **o
    ),
    "sequence": lambda kernel, **o: sequences(np.random.default_rng(3), {}, kernel, **o),
    "second order": lambda kernel, **o: sequences(
        np.random.default_rng(4), {"order": 2, "ends": True}, kernel, **o
    ),
}
FORMS = [("margin", 1), ("margin", 2), ("slack", 1), ("slack", 2)]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("rescaling", "norm"), FORMS)
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_a_kernel_and_its_explicit_map_give_one_model(name, rescaling, norm, coef0):
    found = []
    for explicit in (False, True):
        kernel = {**POLY, "coef0": coef0, "explicit": explicit}
        problem = PROBLEMS[name](kernel, rescaling=rescaling, slack_norm=norm, C=0.5)
        config, application, training, others = problem
        model = learn_on(application, training, config)
        assert model.record["converged"]
        found.append((model, classify(model, training), classify(model, others)))
    (dual, *one), (plain, *other) = found
    for a, b in itertools.permutations([dual.record, plain.record]):
        assert a["lower_bound"] <= b["objective"] * (1 + 1e-12)
    assert dual.space.squared_norm(dual.w) == pytest.approx(plain.space.squared_norm(plain.w), 1e-2)
    # Outputs of training examples may be equally good at the optimum: their scores agree.
    np.testing.assert_array_equal(one[1].labels, other[1].labels)
    for a, b in zip(one, other, strict=True):
        values = [getattr(p, "values", getattr(p, "scores", None)) for p in (a, b)]
        np.testing.assert_allclose(*values, atol=0.02 * np.abs(values[1]).max())


def test_an_explicit_map_goes_with_every_solver():
    lowest, highest = [], []
    for method in ("bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate"):
        config, application, training, _ = PROBLEMS["multiclass"]({**POLY, "explicit": True})
        settings = config.to_dict() | {"solver": {"method": method, "epsilon": 1e-4}}
        record = learn_on(application, training, Config.from_dict(settings)).record
        lowest.append(record["lower_bound"])
        highest.append(record["objective"])
    assert max(lowest) <= min(highest) * (1 + 1e-12)
    assert max(highest) <= min(highest) * (1 + 2e-4)


@pytest.mark.parametrize("kind", ["rbf", "poly"])
@pytest.mark.parametrize("norm", [1, 2])
def test_training_agrees_with_a_general_solver_over_all_planes(kind, norm):
    clarabel = pytest.importorskip("clarabel")
    kernel = {"type": kind, "gamma": 0.7} | ({"degree": 3, "coef0": 0.5} if kind == "poly" else {})
    config, application, training, _ = PROBLEMS["dense rows"](kernel, slack_norm=norm)
    x, y, C = training.inputs, training.labels, config.objective.C
    n, K = len(y), 3
    gram = np.array([[value(kernel, a, b) for b in x] for a in x])
    # Variables: coefficients of rows and classes, then slacks.
    weight = np.zeros(n * K + n)
    weight[n * K :] = C if norm == 2 else 0.0
    quadratic = np.diag(weight)
    quadratic[: n * K, : n * K] = np.kron(gram, np.eye(K)) + 1e-12 * np.eye(n * K)
    rows, bounds = [], []
    for i, c in itertools.product(range(n), range(K)):
        row = np.zeros(n * K + n)
        row[c : n * K : K] += gram[i]
        row[y[i] : n * K : K] -= gram[i]
        row[n * K + i] = -1.0
        rows.append(row)
        bounds.append(-float(c != y[i]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    optimum = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(quadratic)),
        np.concatenate([np.zeros(n * K), np.full(n, C if norm == 1 else 0.0)]),
        sparse.csc_matrix(np.array(rows)),
        np.array(bounds),
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    record = learn_on(application, training, config).record
    assert record["lower_bound"] <= optimum.obj_val * (1 + 1e-6)
    assert record["objective"] == pytest.approx(optimum.obj_val, rel=3e-6)


def test_hard_margins_can_be_had_with_a_kernel():
    config, application, training, _ = PROBLEMS["dense rows"](
        {"type": "rbf", "gamma": 2.0}, slack_norm=0
    )
    keep = np.unique(training.inputs, axis=0, return_index=True)[1]
    training = training.take(np.sort(keep))
    model = learn_on(application, training, config)
    assert model.record["converged"]
    ready, rows = prepared(model, training)
    scores = application.scores(ready.w, rows)
    own = scores[np.arange(len(rows)), rows.labels]
    scores[np.arange(len(rows)), rows.labels] = -np.inf
    assert np.min(own - scores.max(axis=1)) >= 1 - 1e-9
    half = 0.5 * model.space.squared_norm(model.w)
    assert half == pytest.approx(model.record["objective"], rel=1e-9)


def value(kernel, a, b):
    """A kernel from its definition."""
    if kernel["type"] == "rbf":
        return np.exp(-kernel["gamma"] * np.sum((a - b) ** 2))
    return (kernel["gamma"] * (a @ b) + kernel["coef0"]) ** kernel["degree"]


@pytest.mark.parametrize("zero", [False, True])
def test_predictions_with_a_kernel_are_those_of_the_definition_for_rows(zero):
    for seed in range(200):
        rng = np.random.default_rng([seed, zero])
        degree, K = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        kernel = {"type": "poly", "degree": degree, "gamma": 0.5, "coef0": int(rng.integers(2))}
        support, x = (rng.integers(-4, 5, (int(rng.integers(1, 6)), 3)) / 8 for _ in range(2))
        as_rows = sparse.csr_array if seed % 2 else np.asarray
        w = rng.integers(-8, 9, len(support) * K) / 8 * (not zero)
        application = config_of({"name": "multiclass", "bias": 0.0}, {}).create_application()
        application.fix([str(k) for k in range(K)], 3)
        examples = in_memory(as_rows(x), np.zeros(len(x)), application.classes, K)
        space = Support(KernelFunction(**kernel), as_rows(support), K)
        model = Model(application, {}, w, {}, space=space)
        found = classify(model, examples)
        for i, row in enumerate(x):
            scores = np.zeros(K)
            for r, coefficients in zip(support, w.reshape(-1, K), strict=True):
                scores += value(kernel, row, r) * coefficients
            assert found.labels[i] == int(np.argmax(scores))
            assert found.values[i] == scores.max()


@pytest.mark.parametrize("zero", [False, True])
def test_predictions_with_a_kernel_are_those_of_enumeration_for_sequences(zero):
    kernel = {"type": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}
    for seed in range(200):
        rng = np.random.default_rng([seed, zero])
        problem = sequence_cases.Problem(rng, order=1 + seed % 2, ends=bool(rng.integers(2)))
        support, L = rng.integers(-4, 5, (2, problem.width)) / 8, problem.L
        space = Support(KernelFunction(**kernel), support, L)
        rest = problem.d - problem.width * L
        w = rng.integers(-8, 9, 2 * L + rest) / 8 * (not zero)
        found = classify(Model(problem.app, {}, w, {}, space=space), problem.examples)
        for i, x in enumerate(problem.x):
            problem.x[i] = np.array([[value(kernel, row, r) for r in support] for row in x])
            outputs = problem.outputs(i)
            scores = [w @ problem.phi(i, y) for y in outputs]
            a, b = problem.examples.offsets[i : i + 2]
            assert tuple(found.labels[a:b, 0]) == outputs[int(np.argmax(scores))]
            assert found.scores[i, 0] == max(scores)


def test_kernels_are_those_of_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(0)
    for wrap in (np.asarray, sparse.csr_array):
        a, b = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
        poly = KernelFunction("poly", 3, 0.3, 0.5)(wrap(a), wrap(b))
        rbf = KernelFunction("rbf", 3, 0.3, 0.5)(wrap(a), wrap(b))
        expected = pairwise.polynomial_kernel(a, b, degree=3, gamma=0.3, coef0=0.5)
        np.testing.assert_allclose(poly, expected, rtol=1e-12)
        np.testing.assert_allclose(rbf, pairwise.rbf_kernel(a, b, gamma=0.3), rtol=1e-12)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_gamma_scale_is_that_of_scikit_learn(wrap):
    svm = pytest.importorskip("sklearn.svm")
    config, application, training, _ = PROBLEMS["dense rows"]({"type": "rbf"})
    machine = svm.SVC(kernel="rbf").fit(training.inputs, training.labels)
    training = training.with_inputs(wrap(training.inputs))
    space = feature_space.training(config.kernel, application, training).space
    assert space.function.gamma == pytest.approx(machine._gamma, rel=1e-12)


def test_rows_that_do_not_vary_have_gamma_one():
    config, application, training, _ = PROBLEMS["dense rows"]({"type": "rbf"})
    training = training.with_inputs(np.ones((len(training), 5)))
    assert feature_space.training(config.kernel, application, training).space.function.gamma == 1.0


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_equal_rows_are_trained_as_one(wrap):
    config, application, training, _ = PROBLEMS["dense rows"](POLY)
    x = np.array([[1.0, 0, 0, 0, 2], [0, 0, 1, 0, 0], [1, 0, -0.0, 0, 2], [0, 0, 0, 0, 0]])
    training = training.slice(0, 4).with_inputs(wrap(x))
    problem = feature_space.training(config.kernel, application, training)
    expected = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1.0]])
    np.testing.assert_array_equal(problem.examples.inputs.toarray(), expected)
    np.testing.assert_allclose(problem.gram, (0.5 * x @ x.T + 1.0)[[0, 1, 3]][:, [0, 1, 3]] ** 2)
    np.testing.assert_array_equal(problem.examples.labels, training.labels)


@pytest.mark.parametrize("chunk", [8, 80, 8_000_000])
def test_products_of_features_have_the_inner_products_of_the_kernel(monkeypatch, chunk):
    monkeypatch.setattr(feature_space, "CHUNK", chunk)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.4)
        settings = Kernel(type="poly", degree=2, gamma=0.7, coef0=seed % 3, explicit=True)
        products = Products.of(sparse.csr_array(x), 1, 0.7, settings)
        mapped = mapped_by(products, x)
        function = KernelFunction("poly", 2, 0.7, float(seed % 3))
        np.testing.assert_allclose(mapped @ mapped.T, function(x, x), atol=1e-12)
        # Of other rows exactly the products that training has, each from its definition.
        others = rng.normal(size=(4, 6))
        extended = np.hstack([others, np.full((4, 1), np.sqrt(settings.coef0 / 0.7))])
        for place, pair in enumerate(products.pairs):
            a, b = divmod(int(pair), 7)
            expected = 0.7 * extended[:, a] * extended[:, b] * (1 if a == b else np.sqrt(2))
            np.testing.assert_allclose(mapped_by(products, others)[:, place], expected, rtol=1e-12)


def mapped_by(products, x):
    examples = in_memory(x, np.zeros(len(x)), ["a"], 1)
    return products.prepared(examples, np.empty(0))[0].inputs.toarray()


def test_products_are_called_by_their_features():
    settings = Kernel(type="poly", degree=2, gamma=1.0, coef0=1.0, explicit=True)
    products = Products.of(np.array([[1.0, 0, 2], [0, 0, 3]]), 2, 1.0, settings)
    linear = [f"{feature} × {label}" for feature in "xyz" for label in "ab"]
    names = products.names([*linear, "a -> b"])
    assert list(names)[::2] == [
        "x × a · x × a",
        "x × a · z × a",
        "x × a",
        "z × a · z × a",
        "z × a",
        "constant, column 1",
        "a -> b",
    ]
    assert names[-1] == "a -> b"
    assert names[1:3] == ["x × b · x × b", "x × a · z × a"]
    assert len(names) == len(products.pairs) * 2 + 1


LINES = ["a 1:1 2:0.5", "b 2:1 3:1", "a 1:0.5 3:0.1", "c 3:2", "b 2:1.5", "c 1:1 2:1 3:1"] * 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("\n".join(LINES) + "\n")
    section = {"type": "rbf", "gamma": 0.5}
    config = {
        "application": {"name": "multiclass"},
        "data": {"train": "rows.txt", "test": "rows.txt"},
        "kernel": section,
        "solver": {"method": "n-slack"},
    }
    (tmp_path / "c.yaml").write_text(json.dumps(config))
    return tmp_path


def run(command, *arguments, expect=0):
    done = CliRunner().invoke(command, list(arguments))
    assert done.exit_code == expect, done.output
    return done


def test_the_commands_train_show_and_use_a_model_with_a_kernel(folder):
    run(cli.learn, "c.yaml", "m")
    model = Model.load(folder / "m")
    rows = model.space.rows.shape[0]
    assert 0 < rows <= 6
    assert model.w.shape == (3 * rows,)
    run(cli.classify, "rows.txt", "m", "labels.txt")
    run(cli.classify, "rows.txt", "m", "scores.txt", "--format", "scores")
    labels = (folder / "labels.txt").read_text().split()
    table = [line.split() for line in (folder / "scores.txt").read_text().splitlines()]
    for label, line, (shown, *scores) in zip(labels, LINES, table, strict=True):
        x = np.zeros(4)
        x[3] = 1.0
        for part in line.split()[1:]:
            feature, number = part.split(":")
            x[int(feature) - 1] = float(number)
        kept = model.space.rows
        kept = kept.toarray() if sparse.issparse(kept) else kept
        k = np.exp(-0.5 * np.sum((kept - x) ** 2, axis=1))
        expected = k @ model.w.reshape(rows, 3)
        np.testing.assert_allclose(np.array(scores, dtype=float), expected, rtol=1e-8)
        assert label == shown == "abc"[int(np.argmax(expected))]
    told = run(cli.main, "show", "m").output
    assert f"support rows {rows}" in " ".join(told.split())
    assert "largest weights" not in told
    facts = json.loads(run(cli.main, "show", "m", "--json").output)
    norm = 2 * (facts["record"]["objective"] - facts["record"]["concave"])
    assert 0 < facts["norm"] ** 2 <= norm * (1 + 1e-9)


def test_an_explicit_model_shows_its_products(folder):
    explicit = "kernel={type: poly, degree: 2, gamma: 1, coef0: 1, explicit: true}"
    run(cli.learn, "c.yaml", "m", "--set", explicit, "--set", "solver.method=bundle")
    told = run(cli.main, "show", "m").output
    assert "products of features" in told
    weights = told.partition("largest weights\n")[2].splitlines()
    names = Model.load(folder / "m").feature_names()
    assert len(weights) == 10
    assert all(line.split(maxsplit=1)[1] in names for line in weights)
    run(cli.classify, "rows.txt", "m", "labels.txt", "--format", "scores")


@pytest.mark.parametrize("explicit", [False, True])
def test_a_saved_model_predicts_the_same_and_has_the_same_bytes(folder, explicit):
    for name in ("dense rows", "sequence"):
        config, application, training, others = PROBLEMS[name]({**POLY, "explicit": explicit})
        models = [learn_on(application, training, config) for _ in range(2)]
        files = [folder / "one", folder / "two"]
        for model, path in zip(models, files, strict=True):
            model.save(path)
        assert files[0].read_bytes() == files[1].read_bytes()
        loaded = Model.load(files[0])
        a, b = classify(models[0], others), classify(loaded, others)
        np.testing.assert_array_equal(a.labels, b.labels)
        assert loaded.space.squared_norm(loaded.w) == models[0].space.squared_norm(models[0].w)


def test_a_resumed_run_gives_the_bytes_of_one_that_was_not_stopped(folder, monkeypatch):
    config, application, training, _ = PROBLEMS["sequence"]({"type": "rbf", "gamma": 0.5})
    whole, stopped = folder / "whole", folder / "stopped"
    learn_on(application, training, config).save(whole)
    saving = Saving(folder / "checkpoint", every=1)
    monkeypatch.setattr("lssvm.training.checkpoint.stoppable", lambda: _Countdown(4))
    with pytest.raises(StoppedError):
        learn_on(application, training, config, saving=saving)
    monkeypatch.undo()
    resumed = Saving(folder / "checkpoint", every=1, resume=True)
    learn_on(application, training, config, saving=resumed).save(stopped)
    assert stopped.read_bytes() == whole.read_bytes()


class _Countdown:
    """Signals after so many passes."""

    def __init__(self, left):
        self.left = left

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __call__(self):
        self.left -= 1
        return 15 if self.left == 0 else 0


def test_cross_validation_searches_the_kernel(folder):
    config = json.loads((folder / "c.yaml").read_text())
    grid = {"kernel.gamma": [0.5, "scale"], "objective.C": [0.1, 1]}
    config["search"] = {"folds": 3, "grid": grid}
    found = cross_validate(Config.from_dict(config, base=folder))
    assert [setting["kernel.gamma"] for setting in found.settings] == [0.5, 0.5, "scale", "scale"]
    assert {run.setting for run in found.runs} == {0, 1, 2, 3}


def test_weights_of_a_kernel_are_no_start(folder):
    config = Config.from_dict(json.loads((folder / "c.yaml").read_text()), base=folder)
    model = learn(config)
    refusal = "--init does not support kernel models; expected kernel.type: linear"
    with pytest.raises(LssvmError, match=refusal):
        learn(config, initial=model)
    linear = json.loads((folder / "c.yaml").read_text()) | {"kernel": {}}
    with pytest.raises(LssvmError, match=refusal):
        learn(Config.from_dict(linear, base=folder), initial=model)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({"type": "rbf"}, "kernel.max_mb: the Gram matrix of 19 distinct rows takes"),
        ({**POLY, "explicit": True}, "kernel.max_mb: the products of two features of 20 rows take"),
    ],
)
def test_what_does_not_fit_into_memory_is_refused(kernel, message):
    config, application, training, _ = PROBLEMS["dense rows"]({**kernel, "max_mb": 0.001})
    with pytest.raises(LssvmError, match=message) as caught:
        learn_on(application, training, config)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "scale"), [({**POLY, "degree": 9}, 1e40), ({**POLY, "explicit": True}, 1e80)]
)
def test_numbers_that_are_too_large_are_refused(kernel, scale):
    config, application, training, _ = PROBLEMS["dense rows"](kernel)
    training = training.with_inputs(training.inputs * scale)
    with pytest.raises(LssvmError, match=r"kernel: \w+ are too large; rescale"):
        learn_on(application, training, config)


REFUSED = {
    "{type: quadratic}": "kernel.type: expected 'linear', 'poly' or 'rbf', got 'quadratic'",
    "{typ: rbf}": "kernel.typ: unknown key; did you mean 'type'? "
    "(known: type, degree, gamma, coef0, explicit, max_mb)",
    "[rbf]": 'kernel: expected a mapping, got ["rbf"]',
    "rbf": "kernel: expected a mapping, got 'rbf'",
    "{type: 2}": "kernel.type: expected 'linear', 'poly' or 'rbf', got 2",
    "{type: poly, degree: 0}": "kernel.degree: expected a number of at least 1, got 0",
    "{type: poly, degree: 2.5}": "kernel.degree: expected a whole number, got 2.5",
    "{type: poly, degree: two}": "kernel.degree: expected a whole number, got 'two'",
    "{type: rbf, gamma: 0}": "kernel.gamma: expected a number greater than 0 or 'scale', got 0",
    "{type: rbf, gamma: -1}": "kernel.gamma: expected a number greater than 0 or 'scale', got -1",
    "{type: rbf, gamma: auto}": "kernel.gamma: expected a number or 'scale', got 'auto'",
    "{type: rbf, gamma: [1]}": "kernel.gamma: expected a number or 'scale', got [1]",
    "{type: poly, coef0: -1}": "kernel.coef0: expected a number of at least 0, got -1",
    "{type: poly, coef0: one}": "kernel.coef0: expected a number, got 'one'",
    "{type: rbf, max_mb: 0}": "kernel.max_mb: expected a number greater than 0, got 0",
    "{type: rbf, max_mb: lots}": "kernel.max_mb: expected a number, got 'lots'",
    "{type: rbf, explicit: 1}": "kernel.explicit: expected true or false, got 1",
    "{type: rbf, explicit: true}": "kernel.explicit: there are no explicit features for type: "
    "rbf, degree: 3; expected poly of degree 2",
    "{type: poly, explicit: true}": "kernel.explicit: there are no explicit features for type: "
    "poly, degree: 3; expected poly of degree 2",
    "{explicit: true}": "kernel.explicit: there are no explicit features for type: linear, "
    "degree: 3; expected poly of degree 2",
    "{type: rbf}": "kernel.type: rbf cannot be trained by solver.method: bundle; expected auto, "
    "n-slack, or explicit: true with degree: 2",
}


@pytest.mark.parametrize("text", REFUSED)
def test_settings_that_make_no_sense_are_refused_in_one_line(folder, text):
    done = CliRunner().invoke(
        cli.learn, ["c.yaml", "m", "--set", f"kernel={text}", "--set", "solver.method=bundle"]
    )
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line == f"error: --set kernel: {REFUSED[text].removeprefix('kernel: ')}"


def test_an_application_without_kernels_refuses_them():
    settings = {"application": {"name": "precision_at_k"}, "kernel": {"type": "rbf"}}
    refusal = "kernel.type: application 'precision_at_k' has no kernels; expected linear"
    with pytest.raises(ConfigError, match=refusal):
        Config.from_dict(settings)


@pytest.mark.parametrize("explicit", [False, True])
def test_a_damaged_kernel_is_refused_in_one_line(folder, explicit):
    config, application, training, _ = PROBLEMS["multiclass"]({**POLY, "explicit": explicit})
    model = learn_on(application, training, config)
    damaged = {
        "gamma": np.empty(0),
        "shape": np.array([1]),
        "pairs" if explicit else "indptr": np.arange(10**4),
    }
    for name, array in damaged.items():
        arrays = model.space.arrays() | {name: array}
        space = SimpleNamespace(arrays=lambda kept=arrays: kept, names=lambda names: names)
        replace(model, space=space).save(folder / "m")
        with pytest.raises(ModelError, match=f"m: damaged: array '{name}' ") as caught:
            Model.load(folder / "m")
        assert "\n" not in str(caught.value)
