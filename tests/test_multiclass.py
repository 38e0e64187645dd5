import bz2
import gzip
import io
import itertools
import json
import lzma
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import class_cases
import numpy as np
import pytest
from click.testing import CliRunner
from refusals import check_broken_training_file, told
from scipy import sparse

from lssvm.applications.base import Formulation, Source
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import LossMatrix, Multiclass, MulticlassOptions
from lssvm.cli import classify, learn, main
from lssvm.config import Config, load_config
from lssvm.errors import ApplicationCrashError, DataError, LssvmError, ModelError
from lssvm.executor import Executor
from lssvm.formats.loss_matrix import read_loss_matrix
from lssvm.formats.svmlight import read_svmlight
from lssvm.kernels.arrays import RowArrays
from lssvm.model import Model
from lssvm.oracle import DataOracle, blocks
from lssvm.simulation import classes as simulate_classes
from lssvm.training.session import learn_on

ROOT = Path(__file__).parents[1]


def classifier(formulation=None, **options):
    return Multiclass(MulticlassOptions(**options), formulation)


def fixed(classes="abc", features=2, formulation=None, **options):
    app = classifier(formulation, **options)
    app.fix(list(classes), features)
    return app


@pytest.fixture
def read(tmp_path, monkeypatch):
    """What an application reads from a text."""
    monkeypatch.chdir(tmp_path)

    def _read(app, text, name="x.txt", **source):
        Path(name).write_text(text, encoding="utf-8")
        return app.read([Source(name, **source)])

    return _read


# inference


@pytest.mark.parametrize(("rescaling", "norm"), class_cases.FORMULATIONS)
@pytest.mark.parametrize("loss", ["zero_one", "matrix"])
def test_inference_equals_enumeration(loss, rescaling, norm):
    rng = np.random.default_rng([norm, rescaling == "slack", loss == "matrix"])
    for trial in range(200):
        count, features = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        classes = [f"c{k:02d}" for k in range(count)]
        losses = 1.0 - np.eye(count)
        given = "zero_one"
        if loss == "matrix":
            losses = losses * rng.integers(8 if norm == 0 else 0, 17, (count, count)) / 8
            given = LossMatrix(labels=tuple(classes), rows=tuple(map(tuple, losses.tolist())))
        app = fixed(
            classes, features, class_cases.formulation(rescaling, norm), loss=given, bias=0.0
        )
        examples, x, labels = class_cases.rows_of(rng, app, classes, features)
        w = rng.integers(-8, 9, features * count) / 8 * (trial > 4)

        def phi(row, k, count=count):
            return np.outer(row, np.eye(count)[k]).ravel()

        class_cases.check_against_enumeration(app, examples, x, labels, phi, losses, w)


def test_dense_and_sparse_rows_give_the_same_answers():
    rng = np.random.default_rng(1)
    app = fixed([str(k) for k in range(21)], 33)
    x = rng.normal(size=(150, 34)) * (rng.random((150, 34)) < 0.4)
    labels, w = rng.integers(0, 21, 150), rng.normal(size=34 * 21)
    dense = in_memory(x, labels, app.classes, 21)
    thin = in_memory(sparse.csr_array(x), labels, app.classes, 21)
    for ask in (lambda e: app.augmented(w, e)[0].gradient, lambda e: app.scores(w, e)):
        np.testing.assert_allclose(ask(dense), ask(thin), rtol=1e-11, atol=1e-11)
    scores = x @ w.reshape(34, 21)
    np.testing.assert_allclose(app.scores(w, dense), scores, rtol=1e-11, atol=1e-11)
    each = [app.augmented_each(w, examples) for examples in (dense, thin)]
    np.testing.assert_array_equal(each[0].outputs, each[1].outputs)
    rows = np.array([0, 3, 149])
    found = [app.gradients(e, m, rows) for e, m in zip((dense, thin), each, strict=True)]
    assert found[0].nnz == np.count_nonzero(x[rows])
    assert (found[0] != found[1]).nnz == 0


def test_a_plane_of_each_example_adds_up_to_the_plane_of_all():
    rng = np.random.default_rng(2)
    for rescaling, norm in class_cases.FORMULATIONS:
        app = fixed("abcde", 7, class_cases.formulation(rescaling, norm))
        examples = in_memory(rng.normal(size=(60, 8)), rng.integers(0, 5, 60), app.classes, 5)
        examples = replace(examples, costs=rng.random(60))
        w = rng.normal(size=40)
        plane, _ = app.augmented(w, examples)
        each = app.augmented_each(w, examples)
        gradients = app.gradients(examples, each, np.arange(60))
        np.testing.assert_allclose(examples.costs @ gradients.toarray(), plane.gradient, atol=1e-12)
        assert examples.costs @ each.losses == pytest.approx(plane.loss)
        np.testing.assert_allclose(gradients @ w + each.losses, each.values, atol=1e-12)


def test_planes_bound_the_sum_from_below_and_the_truth_is_searched():
    rng = np.random.default_rng(3)
    for rescaling, norm in class_cases.FORMULATIONS:
        app = fixed("abcde", 7, class_cases.formulation(rescaling, norm))
        examples = in_memory(rng.normal(size=(60, 8)), rng.integers(0, 5, 60), app.classes, 5)
        plane, _ = app.augmented(rng.normal(size=40), examples)
        truth = app.completed(np.zeros(40), examples)
        for scale in (0.0, 0.1, 1.0, 10.0):
            v = scale * rng.normal(size=40)
            value = app.augmented(v, examples)[1]
            assert value >= plane.value(v) - 1e-9
            assert value >= truth.value(v) - 1e-9


@pytest.fixture
def data():
    """An application with bias, 200 random rows in memory and weights."""
    rng = np.random.default_rng(13)
    app = fixed("abcdefghij", 12)
    rows = np.hstack([rng.normal(size=(200, 12)), np.ones((200, 1))])
    return app, in_memory(rows, rng.integers(0, 10, 200), app.classes, 10), rng.normal(size=130)


def test_a_score_does_not_depend_on_the_rows_beside_it(data):
    app, examples, w = data
    whole = app.scores(w, examples)
    for start, stop in ((0, 1), (1, 18), (18, 42), (42, 200)):
        part = examples.slice(start, stop)
        np.testing.assert_array_equal(app.scores(w, part), whole[start:stop])
    rows = np.array([199, 0, 7, 7])
    np.testing.assert_array_equal(app.scores(w, examples.take(rows)), whole[rows])
    thin = examples.with_inputs(sparse.csr_array(examples.inputs))
    whole = app.scores(w, thin)
    np.testing.assert_array_equal(app.scores(w, thin.slice(11, 70)), whole[11:70])
    np.testing.assert_array_equal(
        app.scores(w, thin.slice(5, 90).take(rows[1:])), whole[rows[1:] + 5]
    )


def test_threads_and_blocks_give_the_same_sums(data):
    app, examples, w = data
    edges = (0, 1, 17, 130, 200)
    parts = [examples.slice(a, b) for a, b in itertools.pairwise(edges)]
    whole, _ = app.augmented(w, examples)
    planes = [app.augmented(w, part)[0] for part in parts]
    np.testing.assert_allclose(sum(p.gradient for p in planes), whole.gradient, atol=1e-11)
    assert sum(p.loss for p in planes) == pytest.approx(whole.loss)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda part: app.augmented(w, part)[0].gradient.tobytes(), parts * 8))
    assert found == [plane.gradient.tobytes() for plane in planes] * 8


def test_other_rows_may_take_the_place_of_the_given_ones(data):
    app, examples, _ = data
    units = examples.with_inputs(sparse.eye_array(200, format="csr"))
    assert units.width == 200
    w = np.random.default_rng(5).normal(size=2000)
    np.testing.assert_array_equal(app.scores(w, units), w.reshape(200, 10))
    plane = app.completed(w, units)
    expected = np.zeros((200, 10))
    expected[np.arange(200), examples.labels] = 1.0
    np.testing.assert_array_equal(plane.gradient, expected.ravel())


def test_blocks_are_few_where_the_weights_are_long():
    def count(rows, classes):
        examples = in_memory(rows, np.zeros(rows.shape[0]), "a", classes)
        return len(blocks(examples))

    assert count(np.zeros((20_000, 20)), 10) == 16
    assert count(np.zeros((3_000, 400)), 400) == 4
    thin = sparse.random_array((2_000, 5_000), density=0.01, format="csr", rng=0)
    assert count(thin, 4) == 1
    assert blocks(in_memory(sparse.csr_array((3, 2)), np.zeros(3), "a", 1))[0].sizes.tolist() == [
        1,
        1,
        1,
    ]


def test_rows_in_memory_are_not_copied():
    rows = np.random.default_rng(6).normal(size=(50, 4))
    examples = in_memory(rows, np.zeros(50), "ab", 2)
    assert np.shares_memory(examples.dense, rows)
    assert np.shares_memory(examples.slice(3, 9).inputs, rows)


def test_the_kernel_refuses_what_does_not_fit():
    app = fixed("ab", 2, bias=0.0)
    examples = in_memory(np.zeros((3, 2)), [0, 1, 0], "ab", 2)
    with pytest.raises(ApplicationCrashError, match="do not fit"):
        app.augmented(np.zeros(6), examples)
    with pytest.raises(ApplicationCrashError, match="do not fit 2 columns"):
        app.augmented(np.zeros(5), examples)
    with pytest.raises(ApplicationCrashError, match=r"2 at 1 is not in 0\.\.1"):
        app.augmented(np.zeros(4), replace(examples, labels=np.array([0, 2, 0], dtype=np.int32)))
    none, no_place = np.empty(0), np.empty(0, dtype=np.int32)
    starts, one = np.array([0, 2, 1]), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="do not fit 1 examples"):
        RowArrays(np.empty((0, 0)), none, no_place, starts, 1, 2)
    with pytest.raises(ValueError, match="1 features; expected 2 or more"):
        RowArrays(np.empty((0, 0)), np.ones(1), one + 1, np.array([0, 1]), 1, 1)


# training


def solved(app_options, objective, rows, epsilon=1e-6):
    config = Config.from_dict(
        {
            "application": {"name": "multiclass", **app_options},
            "objective": {"model": "ssvm", **objective},
            "solver": {"epsilon": epsilon},
        }
    )
    app = config.create_application()
    app.fix([str(k) for k in range(10)], rows.width)
    return app, learn_on(app, rows, config)


def digits():
    datasets = pytest.importorskip("sklearn.datasets")
    selection = pytest.importorskip("sklearn.model_selection")
    rows, labels = datasets.load_digits(return_X_y=True)
    split = selection.train_test_split(
        rows / 16, labels, train_size=1000, random_state=0, stratify=labels
    )
    return [np.ascontiguousarray(part) for part in split]


def test_digits_reach_the_optimum_of_crammer_and_singer_and_its_predictions():
    svm = pytest.importorskip("sklearn.svm")
    train, test, labels, _ = digits()
    names = [str(k) for k in range(10)]
    app, model = solved({"bias": 0.0}, {"C": 1.0}, in_memory(train, labels, names, 10), 1e-6)
    # The optimum that several solvers agree on is 73.112.
    assert model.record["gap"] <= 1e-6
    assert 73.1115 <= model.record["objective"] <= 73.1125 * (1 + 1e-6)
    peer = svm.LinearSVC(
        C=1.0, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer.fit(train, labels)
    found = app.predict(model.w, in_memory(test, np.zeros(len(test)), names, 10)).labels
    np.testing.assert_array_equal(found, peer.predict(test))


def test_training_with_two_threads_gives_the_same_bytes(monkeypatch):
    monkeypatch.setattr("lssvm.oracle.BLOCK_RULES", ((100_000, 64),))
    rng = np.random.default_rng(23)
    rows = rng.normal(size=(3000, 20))
    labels = np.argmax(rows[:, :10] + rng.normal(size=(3000, 10)), axis=1)
    examples = in_memory(rows, labels, [str(k) for k in range(10)], 10)
    config = Config.from_dict({"application": {"name": "multiclass"}, "objective": {"C": 0.01}})
    app = config.create_application()
    app.fix(examples.label_names, 19)
    assert len(DataOracle(app, examples, Executor(1)).blocks) > 2
    models = [learn_on(app, examples, config, threads=threads) for threads in (1, 2)]
    assert models[0].w.tobytes() == models[1].w.tobytes()


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_objective_is_the_lowest_that_a_general_solver_finds(rescaling):
    """Every constraint of every example, by Clarabel."""
    clarabel = pytest.importorskip("clarabel")
    rng = np.random.default_rng(7)
    n, width, classes, C = 12, 3, 4, 0.7
    rows, labels = rng.normal(size=(n, width)), rng.integers(0, classes, n)
    losses = rng.uniform(0.5, 2.0, (classes, classes)) * (1 - np.eye(classes))
    names = [str(k) for k in range(classes)]
    matrix = {"labels": names, "rows": losses.tolist()}
    config = Config.from_dict(
        {
            "application": {"name": "multiclass", "loss": matrix, "bias": 0.0},
            "objective": {"model": "ssvm", "C": C, "rescaling": rescaling},
            "solver": {"epsilon": 1e-6},
        }
    )
    app = config.create_application()
    app.fix(names, width)
    model = learn_on(app, in_memory(rows, labels, names, classes), config)
    constraints, bounds = [], []
    for i in range(n):
        for k in set(range(classes)) - {labels[i]}:
            delta = losses[labels[i], k]
            slope = np.outer(rows[i], np.eye(classes)[k] - np.eye(classes)[labels[i]]).ravel()
            factor = delta if rescaling == "slack" else 1.0
            constraints.append(np.concatenate([factor * slope, -np.eye(n)[i]]))
            bounds.append(-delta)
    constraints += list(np.hstack([np.zeros((n, width * classes)), -np.eye(n)]))
    bounds += [0.0] * n
    d = width * classes
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.concatenate([np.ones(d), np.zeros(n)]))),
        np.concatenate([np.zeros(d), np.full(n, C)]),
        sparse.csc_matrix(np.array(constraints)),
        np.array(bounds),
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    assert model.record["objective"] == pytest.approx(solution.obj_val, rel=2e-6)


def test_one_label_for_all_is_told(read):
    config = Config.from_dict({"application": {"name": "multiclass"}, "objective": {"C": 1e-6}})
    app = config.create_application()
    examples = read(app, "a 1:1\na 1:2\nb 1:1\n")
    (warning,) = learn_on(app, examples, config).record["warnings"]
    assert warning == (
        "all 3 predictions on the training data are of class 'a' (the data have the classes "
        "'a', 'b'); consider class_costs: balanced"
    )


# the data


def test_labels_are_words_in_their_order_and_numbers_in_theirs(read):
    app = classifier()
    read(app, "pine 1:1\noak 1:1\n-1 1:1\n")
    assert app.classes == ("-1", "oak", "pine")
    app = classifier()
    read(app, "10 1:1\n9 1:1\n-1 1:1\n2.5 1:1\n")
    assert app.classes == ("-1", "2.5", "9", "10")
    app = classifier()
    read(app, "nan 1:1\n9 1:1\n10 1:1\n")
    assert app.classes == ("10", "9", "nan")


@pytest.mark.parametrize("text", ["b 1:1 2:2 3:3\na 2:5\n", "b 2:1\na\na 9:4\na\n"])
@pytest.mark.parametrize("bias", [0.0, 2.5])
def test_rows_are_as_the_file_has_them_and_the_constant_comes_last(read, text, bias):
    app = classifier(bias=bias)
    examples = read(app, text)
    lines = text.splitlines()
    width = 3 if "3:3" in text else 9
    expected = np.zeros((len(lines), width + (bias > 0)))
    for row, line in enumerate(lines):
        for pair in line.split()[1:]:
            index, value = pair.split(":")
            expected[row, int(index) - 1] = float(value)
        if bias:
            expected[row, width] = bias
    assert bool(len(examples.starts)) == (width == 9)
    found = examples.inputs
    np.testing.assert_array_equal(found.toarray() if width == 9 else found, expected)
    assert [examples.label_names[y] for y in examples.labels] == [line[0] for line in lines]
    assert app.dimension(examples) == expected.shape[1] * 2
    names = app.feature_names()
    assert names[:3] == ["feature 1 × a", "feature 1 × b", "feature 2 × a"]
    assert len(names) == app.dimension(examples)
    assert names[-1] == (f"feature {width} × b" if not bias else "bias × b")


def test_files_have_costs_and_classes_have_factors(read, tmp_path):
    app = classifier(class_costs={"b": 4.0})
    (tmp_path / "y.txt").write_text("b 1:1\n? 1:2\n")
    (tmp_path / "x.txt").write_text("a 1:1\nb 3:1\n")
    examples = app.read([Source("x.txt", None, 0.5), Source("y.txt", "b", 2.0)])
    assert examples.costs.tolist() == [0.5, 0.5, 2.0, 2.0]
    assert app.for_training(examples).costs.tolist() == [0.5, 2.0, 8.0, 8.0]
    assert examples.files.tolist() == [0, 0, 1, 1]
    assert examples.lines.tolist() == [1, 2, 1, 2]
    assert list(examples.names) == ["1", "2", "3", "4"]
    wrong = "x.txt:1: label 'a'; the configuration says that all are 'b'"
    assert told(classifier().read, [Source("x.txt", "b")]) == wrong
    wrong = "x.txt: class_costs: no example has label 'z'; expected one of 'a'"
    assert told(read, classifier(class_costs={"z": 2.0}), "a 1:1\n") == wrong


def test_what_training_did_not_see_is_counted_and_never_right(read):
    app = classifier(bias=0.0)
    read(app, "a 1:1\na 1:1\nb 2:1\nb 2:1\n")
    test = read(app, "a 1:1 5:3\nc 1:1\nz 2:1\n", "test.txt")
    assert test.label_names == ("a", "b", "c", "z")
    assert app.warnings(test) == [
        "2 examples have labels that training does not have, and cannot be right: 'c', 'z'",
        "1 value beyond feature 2, the last one in training: left out",
    ]
    w = np.eye(2).ravel()
    predictions = app.predict(w, test)
    score = app.score(test, predictions)
    assert score["error"] == pytest.approx(200 / 3)
    assert score["loss"] == pytest.approx(2 / 3)
    assert score["unseen_labels"] == 2
    assert [record["loss"] for record in app.records(test, predictions)] == [0.0, 1.0, 1.0]
    file = io.StringIO()
    app.write_confusion(test, predictions, file)
    rows = [line.split("\t") for line in file.getvalue().splitlines()]
    assert rows == [
        ["true", "a", "b"],
        *[[n, *c] for n, c in zip("abcz", ["10", "00", "10", "01"], strict=True)],
    ]
    wrong = "test.txt:2: label 'c' is not a label of the model; expected one of its labels"
    assert told(app.start, test, np.random.default_rng(0)) == wrong


def test_a_fold_may_lack_labels(data):
    app, examples, w = data
    fold = examples.take(np.flatnonzero(examples.labels > 6))
    assert app.dimension(fold) == 130
    assert app.augmented(w, fold)[0].gradient.shape == (130,)
    assert set(app.groups(fold).tolist()) == {7, 8, 9}
    assert app.score(fold, app.predict(w, fold))["examples"] == len(fold)
    assert app.warnings(fold) == []


def test_rows_without_labels_can_be_predicted_but_not_trained_on(read):
    app = classifier()
    read(app, "a 1:1\nb 1:2\n")
    unknown = read(app, "? 1:1\n? 1:3\n")
    assert not unknown.labelled
    predictions = app.predict(np.array([0.0, 1.0, 0.5, 0.0]), unknown)
    assert [record["y"] for record in app.records(unknown, predictions)] == ["b", "b"]
    with pytest.raises(LssvmError, match="there are no labels to compare with; expected labels"):
        app.write_confusion(unknown, predictions, io.StringIO())
    for ask, message in (
        (lambda: app.start(unknown, None), "x.txt:1: no label ('?'); expected one for training"),
        (lambda: read(classifier(), "? 1:1\n"), "x.txt: no labels; expected labels for training"),
        (
            lambda: app.start(read(app, "a 1:1\n? 1:3\n"), None),
            "x.txt:2: no label ('?'); expected one for training",
        ),
    ):
        assert told(ask) == message


def test_the_fingerprint_sees_features_labels_and_costs(read):
    text = "a 1:1 2:2\nb 1:3\n"
    base = read(classifier(), text).fingerprint()
    assert read(classifier(), text).fingerprint() == base
    for other in (text.replace("3", "4"), "b 1:1 2:2\na 1:3\n", text.replace("b", "c")):
        assert read(classifier(), other).fingerprint() != base
    assert read(classifier(), text, cost=2.0).fingerprint() != base
    thin = read(classifier(), "a 1:1\nb 9:3\nb 5:1\n")
    assert thin.take(np.array([1])).fingerprint() == thin.slice(1, 2).fingerprint()
    assert thin.take(np.array([1])).fingerprint() != thin.slice(2, 3).fingerprint()


def test_a_model_keeps_classes_features_and_losses(read, tmp_path):
    (tmp_path / "l.txt").write_text("b a\nb 0 2\na 3 0\n")
    (tmp_path / "c.yaml").write_text(
        "application: {name: multiclass, loss: l.txt}\ndata: {train: x.txt}\n"
    )
    (tmp_path / "x.txt").write_text("b 1:1 7:1\na 2:1\nb 1:2\n")
    config = load_config("c.yaml")
    app = config.create_application()
    model = learn_on(app, app.read(config.sources("train")), config)
    model.save("m")
    (tmp_path / "l.txt").unlink()
    loaded = Model.load("m")
    assert loaded.application.classes == ("a", "b")
    assert loaded.application.features == 7
    np.testing.assert_array_equal(loaded.application.losses, [[0.0, 3.0], [2.0, 0.0]])
    test = read(loaded.application, "a 1:1 8:4\n", "t.txt")
    assert loaded.application.dimension(test) == len(loaded.w)
    for state in ({}, {"labels": np.array(["a"])}, {**app.state(), "more": np.zeros(1)}):
        with pytest.raises(ModelError, match=r"is missing|is not known"):
            classifier().restore(state)


def test_a_number_of_hidden_values_is_refused(data):
    app, examples, w = data
    wrong = "--top 3: there is no hidden value; expected no --top"
    assert told(app.predict, w, examples, top=3, kind=LssvmError) == wrong


# scores


def test_scores_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(11)
    for trial in range(30):
        count = int(rng.integers(2, 7))
        names = [f"c{k}" for k in range(count + trial % 2)]
        app = fixed(names[:count], 3)
        truth = rng.integers(0, rng.integers(1, len(names) + 1), 40)
        examples = in_memory(rng.normal(size=(40, 4)), truth, names, count)
        predictions = app.predict(rng.normal(size=4 * count), examples)
        score = app.score(examples, predictions)
        found = predictions.labels
        assert score["error"] == pytest.approx(100 * (1 - metrics.accuracy_score(truth, found)))
        f1 = metrics.f1_score(truth, found, average="macro", zero_division=0)
        assert score["macro_f1"] == pytest.approx(100 * f1)
        table = metrics.confusion_matrix(truth, found, labels=range(len(names)))[:, :count]
        np.testing.assert_array_equal(app.confusion(examples, predictions), table)


def test_without_slack_losses_below_one_are_refused():
    matrix = LossMatrix(labels=("a", "b"), rows=((0.0, 0.5), (1.0, 0.0)))
    with pytest.raises(LssvmError, match="without slack"):
        fixed(["a", "b"], 1, class_cases.formulation("margin", 0), loss=matrix, bias=0.0)


def test_the_loss_is_that_of_the_matrix():
    losses = [[0.0, 2.0], [5.0, 0.0]]
    app = fixed("ab", 1, bias=0.0, loss=LossMatrix(labels=("a", "b"), rows=losses))
    examples = in_memory(np.array([[1.0], [-1.0], [1.0], [-1.0]]), [0, 0, 1, 1], "ab", 2)
    score = app.score(examples, app.predict(np.array([1.0, 0.0]), examples))
    assert (score["error"], score["loss"]) == (50.0, (0 + 2 + 5 + 0) / 4)


# files

MATRIX = "a b c\na 0 1 2\nb 1 0 2\nc 3 3 0\n"
BROKEN_MATRIX = {
    "empty": ("", "x: no labels"),
    "comments alone": ("# nothing\n", "x: no labels"),
    "a label twice": ("a b a\n", "x:1: label 'a' is named twice"),
    "a row missing": ("a b\na 0 1\n", "x: no row for label 'b'"),
    "a row twice": ("a b\na 0 1\na 0 1\n", "x:3: label 'a' has a row already"),
    "a row of another label": ("a b\na 0 1\nc 0 1\n", "x:3: label 'c' is not in the first line"),
    "a short row": ("a b\na 0\n", "x:2: 1 loss of 'a'; expected 2"),
    "a long row": ("a b\na 0 1 1\n", "x:2: 3 losses of 'a'; expected 2"),
    "an empty label": ("\ta\t\n", "x:1: column 2 is empty"),
    "an empty loss": ("\ta\tb\na\t0\t\n", "x:2: column 3 is empty"),
    "an empty row name": ("\ta\tb\n\t0\t1\n", "x:2: column 1 (label) is empty"),
    "blanks among tabs": ("\ta\tb\na\t0 1\n", "x:2: 1 loss of 'a', with tabs between them"),
    "a blank for a tab": ("\ta\tb\na 0 1\n", "x:2: no tab"),
    "words": ("a b\na 0 one\n", "x:2: loss 'one' is not a number"),
    "a negative loss": ("a b\na 0 -1\n", "x:2: loss '-1' is negative; expected at least 0"),
    "an infinite loss": (
        "a b\na 0 inf\n",
        "x:2: loss 'inf' is not finite; expected a finite number",
    ),
    "a loss that is not a number": (
        "a b\na 0 nan\n",
        "x:2: loss 'nan' is not finite; expected a finite number",
    ),
    "a cost of being right": ("a b\na 1 1\n", "x:2: the loss of 'a' where it is true is 1"),
}


def test_a_loss_matrix_is_read_in_any_order_of_rows(tmp_path):
    lines = MATRIX.splitlines()
    for text in (MATRIX, "\r\n".join(["# losses", lines[0], lines[3], "", *lines[1:3]])):
        (tmp_path / "x").write_text("\ufeff" + text, encoding="utf-8")
        labels, losses = read_loss_matrix(tmp_path / "x")
        assert labels == ("a", "b", "c")
        np.testing.assert_array_equal(losses, [[0, 1, 2], [1, 0, 2], [3, 3, 0]])


@pytest.mark.parametrize("corner", ["", "\t"])
def test_labels_of_a_loss_matrix_with_tabs_may_hold_blanks(tmp_path, corner):
    text = f"{corner}wild cat\tdog\nwild cat\t0\t2\t# far\ndog\t1\t0\n"
    (tmp_path / "x").write_text(text)
    labels, losses = read_loss_matrix(tmp_path / "x")
    assert labels == ("wild cat", "dog")
    np.testing.assert_array_equal(losses, [[0, 2], [1, 0]])


@pytest.mark.parametrize("name", BROKEN_MATRIX)
def test_a_broken_loss_matrix_gives_one_clear_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text, wrong = BROKEN_MATRIX[name]
    Path("x").write_text(text)
    message = told(read_loss_matrix, "x")
    assert message.startswith(wrong)
    assert "; expected " in message


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_files_of_words_may_be_compressed_and_come_from_windows(tmp_path, packed):
    text = "\ufeffoak 1:1 2:0.5 # first\r\n\r\n# none\r\nGO:7 qid:3 2:1\r\n+1"
    (tmp_path / "x").write_bytes(packed(text.encode()))
    found = read_svmlight(tmp_path / "x", words=True)
    assert found.words == ("oak", "GO:7", "+1")
    assert found.labels.tolist() == [0, 1, 2]
    assert found.lines.tolist() == [1, 4, 5]
    assert found.offsets.tolist() == [0, 2, 3, 3]
    assert found.queries.tolist() == [-1, 0, -1]


# the commands

CONFIG = "application: {name: multiclass}\ndata: {train: train.txt, test: train.txt}\n"
TRAIN = "oak 1:1 2:0.5\noak 1:1.5\npine 2:1\npine 1:0.1 2:1.2\nash 1:-1 2:-1\nash 1:-1.2\n"

BROKEN = {
    "empty": b"",
    "blank lines": b"\n \n",
    "comments alone": b"# nothing\n",
    "binary": bytes(range(256)),
    "not UTF-8": b"a 1:1 # \xff\n",
    "truncated gzip": b"\x1f\x8b\x08\x00",
    "truncated bzip2": bz2.compress(TRAIN.encode() * 50)[:40],
    "truncated xz": b"\xfd7zXZ\x00\x00\x04",
    "no label": b"1:1 2:1\n",
    "a qid for a label": b"qid:1 1:1\n",
    "an empty qid": b"a qid: 1:1\n",
    "a qid in the last place": b"a 1:1 qid:1\n",
    "a feature without a value": b"a 1:\n",
    "a feature without a colon": b"a 1\n",
    "two labels": b"a b 1:1\n",
    "a value of words": b"a 1:one\n",
    "a value of three parts": b"a 1:2:3\n",
    "a value that is not a number": b"a 1:nan\n",
    "an infinite value": b"a 1:inf\n",
    "a value beyond all bounds": b"a 1:1e999\n",
    "a negative index": b"a -1:1\n",
    "indices that decrease": b"a 2:1 1:1\n",
    "an index twice": b"a 2:1 2:1\n",
    "an index beyond all bounds": b"a 99999999999:1\n",
    "more weights than there can be": b"a 2000000000:1\nb 1:1\n",
    "labels that are not known": b"? 1:1\n? 1:2\n",
    "a label that is not known": b"a 1:1\n? 1:2\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CONFIG)
    Path("train.txt").write_text(TRAIN)
    return tmp_path


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gives_one_line_and_exit_code_2(folder, name):
    check_broken_training_file(BROKEN[name])


@pytest.mark.parametrize(
    "setting",
    ["bias=-1", "bias=.inf", "loss=absent.txt", "loss=3", "class_costs={oak: 0}", "depth=3"],
)
def test_a_wrong_option_gives_one_line_and_exit_code_2(folder, setting):
    result = CliRunner().invoke(learn, ["c.yaml", "model", "--set", f"application.{setting}"])
    assert result.exit_code == 2, result.exception
    (message,) = result.stderr.splitlines()
    assert message.startswith("error: --set application.")
    assert not Path("model").exists()


def test_a_label_without_a_loss_is_told_by_its_line(folder):
    Path("l.txt").write_text("oak pine\noak 0 1\npine 1 0\n")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "--set", "application.loss=./l.txt"])
    assert result.exit_code == 2
    message = "label 'ash' is not in the loss matrix; expected one that is"
    assert result.stderr == f"error: train.txt:5: {message}\n"


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_the_commands_train_predict_and_score(folder):
    run(learn, "c.yaml", "model", "-q")
    result = run(classify, "c.yaml", "model", "labels")
    metrics = dict(row.split() for row in result.stdout.splitlines())
    assert list(metrics) == ["error", "macro_f1", "loss", "examples", "unseen_labels"]
    assert metrics["error"] == "0"
    assert Path("labels").read_text().split() == [row.split()[0] for row in TRAIN.splitlines()]
    rows = run(classify, "c.yaml", "model", "-", "-q", "--format", "scores").stdout.splitlines()
    for row in rows:
        label, *scores = row.split()
        assert label == ["ash", "oak", "pine"][int(np.argmax(list(map(float, scores))))]
    table = run(classify, "c.yaml", "model", "-", "-q", "--format", "confusion").stdout
    assert [row.split("\t") for row in table.splitlines()] == [
        ["true", "ash", "oak", "pine"],
        ["ash", "2", "0", "0"],
        ["oak", "0", "2", "0"],
        ["pine", "0", "0", "2"],
    ]
    result = run(classify, "c.yaml", "model", "-", "-q", "--json")
    record = json.loads(result.stdout.splitlines()[0])
    assert (record["id"], record["y"], record["gold"], record["loss"]) == ("1", "oak", "oak", 0.0)
    assert "feature 1 × " in run(main, "show", "model", "--top", "1").stdout
    assert run(main, "check", "c.yaml").stdout
    result = CliRunner().invoke(classify, ["c.yaml", "model", "x", "--top", "2"])
    assert result.stderr == "error: --top 2: there is no hidden value; expected no --top\n"


def test_check_names_the_classes(folder):
    lines = run(main, "check", "c.yaml").stdout.splitlines()
    assert lines[2] == "  examples by class: ash: 2, oak: 2, pine: 2"
    facts = json.loads(run(main, "check", "c.yaml", "--json").stdout)
    assert facts["splits"]["train"]["classes"] == {"ash": 2, "oak": 2, "pine": 2}


@pytest.mark.parametrize("command", ["check", "learn", "classify"])
def test_a_row_of_several_labels_is_refused_with_what_to_do(folder, command):
    run(learn, "c.yaml", "model", "-q")
    Path("train.txt").write_text("1 1:1\n3 2:1\n\n1,3 1:1 2:1\n")
    message = (
        "error: train.txt:4: '1,3' is several labels; expected one, without a comma: "
        "learn one model for each label (this one against the rest)\n"
    )
    calls = {
        "check": (main, ["check", "c.yaml"]),
        "learn": (learn, ["c.yaml", "other"]),
        "classify": (classify, ["train.txt", "model", "labels"]),
    }
    function, arguments = calls[command]
    result = CliRunner().invoke(function, arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


def test_a_number_with_and_without_its_sign_is_one_label(folder):
    Path("train.txt").write_text("+1 1:1\n-1 2:1\n1 1:2\n-1 2:2\n")
    assert "examples by class: -1: 2, +1: 2\n" in run(main, "check", "c.yaml").stdout
    run(learn, "c.yaml", "model", "-q")
    Path("test.txt").write_text("1 1:3\n-1 2:3\n1 1:1\n")
    result = run(classify, "test.txt", "model", "labels")
    assert Path("labels").read_text() == "+1\n-1\n+1\n"
    assert "error         0\n" in result.stdout
    assert "unseen_labels 0\n" in result.stdout


def test_the_label_of_a_source_may_have_a_sign(read):
    app = classifier()
    examples = read(app, "1 1:1\n? 2:1\n", label="+1")
    assert (app.classes, examples.labels.tolist()) == (("+1",), [0, 0])


def test_labels_that_only_look_alike_are_several(read):
    app = classifier()
    read(app, "1 1:1\n1.0 1:1\n01 1:1\n+x 1:1\nx 1:1\n")
    assert set(app.classes) == {"1", "1.0", "01", "+x", "x"}


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_both_rescalings_train(folder, rescaling):
    run(
        learn,
        "c.yaml",
        "m",
        "-q",
        "--set",
        f"objective.rescaling={rescaling}",
        "--set",
        "objective.C=10",
    )
    assert "error         0\n" in run(classify, "c.yaml", "m", "p").stdout


def test_the_starter_configuration_trains(folder):
    Path("starter.yaml").write_text(run(main, "init", "multiclass").stdout)
    run(learn, "starter.yaml", "model", "-q")
    assert Path("model").stat().st_size > 0


def test_cross_validation_stratifies_by_class(folder):
    Path("train.txt").write_text(TRAIN * 3)
    grid = "search={grid: {objective.C: [0.1, 1]}, folds: 3}"
    assert "validation error" in run(main, "cv", "c.yaml", "--jobs", "1", "--set", grid).stdout


def test_the_shipped_rows_are_made_by_the_documented_command(tmp_path):
    simulate_classes.write_classes(tmp_path)
    names = ["multiclass/train.txt", "multiclass/test.txt", "multiclass/losses.txt"]
    names += ["taxonomy/train.txt", "taxonomy/test.txt", "taxonomy/taxonomy.txt"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (ROOT / "data" / name).read_bytes()


@pytest.mark.parametrize("name", ["multiclass", "taxonomy"])
def test_the_shipped_configuration_beats_chance_by_far(name, tmp_path):
    model = str(tmp_path / "m")
    run(learn, f"{ROOT}/configs/{name}.yaml", model, "-q")
    run(
        classify,
        f"{ROOT}/configs/{name}.yaml",
        model,
        f"{tmp_path}/p",
        "--metrics",
        f"{tmp_path}/j",
    )
    assert json.loads((tmp_path / "j").read_text())["error"] < 30.0


@pytest.mark.parametrize("norm", [0, 1, 2])
def test_losses_of_many_classes_that_are_0_or_1_take_no_memory(norm):
    app = classifier(Formulation("ssvm", "margin", norm), loss="zero_one")
    app.fix(["a", "b", "c"], 1)
    for found in (app.losses, app.margins):
        np.testing.assert_array_equal(found, 1.0 - np.eye(3))
    tracemalloc.start()
    app.fix([str(k) for k in range(2000)], 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2e6  # 8 bytes for each of 4 million pairs would be 32 MB
    assert (app.losses[7, 7], app.losses[7, 8], app.losses[1999, 0]) == (0.0, 1.0, 1.0)


def test_quadratic_slack_takes_the_square_root_of_the_loss():
    app = classifier(Formulation("ssvm", "slack", 2), loss="zero_one")
    app.fix(["a", "b"], 1)
    np.testing.assert_array_equal(app.margins, np.sqrt(app.losses))


def test_letters_choose_solver_rescaling_slack_and_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["a 1:1 2:0.5", "b 1:-1", "a 1:2", "b 2:-1 3:1"]
    Path("rows.txt").write_text("\n".join(rows) + "\n")
    text = "application: {name: multiclass}\ndata: {train: rows.txt}\n"
    Path("rows.yaml").write_text(text)
    letters = ["-p", "2", "-o", "1", "-t", "1", "-d", "2", "-g", "0.5", "-r", "1"]
    result = CliRunner().invoke(learn, ["rows.yaml", "m", "-q", *letters])
    assert result.exit_code == 0, result.output
    config = Model.load("m").config
    assert config["objective"]["rescaling"] == "slack"
    assert config["objective"]["slack_norm"] == 2
    assert config["solver"]["method"] == "n-slack"
    kernel = {key: config["kernel"][key] for key in ("type", "degree", "gamma", "coef0")}
    assert kernel == {"type": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}


def test_weights_of_other_labels_are_not_started_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ab.txt").write_text("a 1:1\nb 2:1\n")
    Path("xy.txt").write_text("x 1:1\ny 2:1\n")
    for name in ("ab", "xy"):
        text = f"application: {{name: multiclass}}\ndata: {{train: {name}.txt}}\n"
        Path(f"{name}.yaml").write_text(text)
    assert CliRunner().invoke(learn, ["ab.yaml", "ab.model", "-q"]).exit_code == 0
    same = CliRunner().invoke(learn, ["ab.yaml", "again.model", "-q", "--init", "ab.model"])
    assert same.exit_code == 0
    other = CliRunner().invoke(learn, ["xy.yaml", "xy.model", "-q", "--init", "ab.model"])
    assert other.exit_code == 2
    assert "labels of the initial model and of the training data differ" in other.output


def test_labelled_rows_among_others_can_be_trained_on(tmp_path):
    """As in a fold of a search that happens to have them alone."""
    path = tmp_path / "some.txt"
    path.write_text("a 1:1\nb 1:2\n? 1:3\n")
    options = {"name": "multiclass", "loss": "zero_one"}
    application = Config.from_dict({"application": options}).create_application()
    examples = application.read([Source(str(path))])
    application.start(examples.take(np.array([1, 0])), np.random.default_rng(0))
    with pytest.raises(DataError, match=r"some\.txt:3: no label \('\?'\); expected one"):
        application.start(examples.take(np.array([1, 2])), np.random.default_rng(0))
