"""Classes of rows with F_β over the whole data set: inference, certified gaps, training, scores."""

import itertools
import os
import signal

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, fbeta_score

from lssvm.applications.base import Formulation
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass, MulticlassOptions
from lssvm.applications.multivariate.decomposition import NOT_MET
from lssvm.config import Config
from lssvm.errors import ConfigError, DataError, LssvmError, StoppedError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training import session, setup
from lssvm.training.cccp import Observer

SSVM = Formulation("ssvm")
DATA_SETS = 300
MEASURES = ["b", None]  # left out; None: mean over classes
C = 0.5


def problem(rng, n, classes=3, features=2, left_out=None, beta=1.0, **options):
    """An application and rows, all classes occurring if n allows; multiples of 1/4."""
    app = Multiclass(
        MulticlassOptions(loss="f_beta", bias=0.0, left_out=left_out, beta=beta, **options), SSVM
    )
    app.fix(tuple("abcdefgh"[:classes]), features)
    labels = rng.permutation(np.concatenate([np.arange(classes), rng.integers(0, classes, n)]))[:n]
    x = rng.integers(-4, 5, (n, features)) / 4
    return app, in_memory(x, labels.astype(np.int32), app.classes, classes), x, labels


def delta(app, truth, found):
    """n (1 − F_β) from the definition."""
    square = app.options.beta**2

    def wrong(classes):
        right = sum(np.sum((truth == k) & (found == k)) for k in classes)
        missed = sum(np.sum((truth == k) & (found != k)) for k in classes)
        extra = sum(np.sum((truth != k) & (found == k)) for k in classes)
        errors = square * missed + extra
        return errors / ((1 + square) * right + errors) if errors else 0.0

    if app.left_out is not None:
        last = app.classes.index(app.left_out)
        return len(truth) * wrong([k for k in range(len(app.classes)) if k != last])
    return len(truth) * np.mean([wrong([k]) for k in np.unique(truth)])


def outputs(app, labels):
    return [
        np.array(each) for each in itertools.product(range(len(app.classes)), repeat=len(labels))
    ]


def phi(x, labels, classes):
    """Σ Φ of these labels, (d,)."""
    return (x.T @ np.eye(classes)[labels]).ravel()


@pytest.mark.parametrize("left_out", MEASURES)
def test_inference_bounds_the_maximum_of_enumeration_and_often_meets_it(left_out):
    met, gap = 0, []
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        n, beta = int(rng.integers(1, 5)), float(rng.choice([0.5, 1.0, 2.0]))
        app, examples, x, labels = problem(rng, n, left_out=left_out, beta=beta, iterations=25)
        w = rng.integers(-8, 9, 6) / 8 * (seed > 3)
        every = outputs(app, labels)
        best = max(delta(app, labels, own) + phi(x, own, 3) @ w for own in every)
        plane, upper = app.augmented(w, examples)
        room = 1e-9 * (1.0 + abs(best))
        assert plane.value(w) <= best + room
        assert upper >= best - room
        assert any(
            np.array_equal(plane.gradient, phi(x, own, 3))
            and plane.loss == pytest.approx(delta(app, labels, own), abs=1e-12)
            for own in every
        )
        met += upper <= best + room and plane.value(w) >= best - room
        gap.append(best - plane.value(w))
    assert met >= DATA_SETS // 4
    assert np.mean(np.array(gap) < 1e-9) >= 0.8


def test_with_two_classes_one_of_them_left_out_inference_is_exact():
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        app, examples, x, labels = problem(rng, 5, classes=2, left_out="b", iterations=1)
        w = rng.integers(-8, 9, 4) / 8
        best = max(delta(app, labels, y) + phi(x, y, 2) @ w for y in outputs(app, labels))
        plane, upper = app.augmented(w, examples)
        assert plane.value(w) == pytest.approx(best, abs=1e-12)
        assert upper == plane.value(w)
    assert app.not_converged() == {NOT_MET: (0, 1)}


def optimum(rows, bounds, linear):
    """min ½‖w‖² + C max over rows of (row · w + bound) − C linear · w, by Clarabel."""
    d = rows.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.append(np.ones(d), 0.0))),
        np.append(-C * linear, C),
        sparse.csc_matrix(np.column_stack([rows, -np.ones(len(rows))])),
        -np.asarray(bounds),
        [clarabel.NonnegativeConeT(len(rows))],
        settings,
    ).solve()
    return found.obj_val


def configuration(**options):
    return Config.from_dict(
        {
            "application": {"name": "multiclass", "bias": 0.0, "loss": "f_beta", **options},
            "objective": {"C": C},
            "solver": {"method": "bundle", "epsilon": 1e-3, "max_passes": 15},
        }
    )


@pytest.mark.parametrize("left_out", MEASURES)
@pytest.mark.parametrize("seed", range(20))
def test_the_certified_gap_holds_the_optimum(seed, left_out):
    rng = np.random.default_rng(seed)
    app, examples, x, labels = problem(rng, 3, left_out=left_out, iterations=25)
    every = outputs(app, labels)
    rows = np.array([phi(x, own, 3) for own in every])
    best = optimum(rows, [delta(app, labels, own) for own in every], phi(x, labels, 3))
    oracle = DataOracle(app, examples, Executor())
    run = setup.new_run(oracle, configuration(), 0, None)
    solution = run.solver.minimise(
        oracle, C, lambda primal: 1e-4 * primal, 0.0, 25, lambda gap, goal: None
    )
    room = 1e-6 * (1.0 + abs(best))
    assert solution.lower <= best + room
    assert solution.primal >= best - room
    assert solution.certified
    if solution.converged:
        assert solution.primal - best <= 2e-4 * (1.0 + abs(best))


@pytest.mark.parametrize("left_out", MEASURES)
def test_threads_change_no_byte_and_the_loss_is_what_is_printed(left_out):
    rng = np.random.default_rng(1)
    app, examples, _, labels = problem(rng, 120, features=5, left_out=left_out, iterations=10)
    config = configuration(left_out=left_out, iterations=10)
    model = session.learn_on(app, examples, config)
    assert session.learn_on(app, examples, config, threads=3).w.tobytes() == model.w.tobytes()
    predictions = app.predict(np.asarray(model.w), examples)
    told = app.score(examples, predictions)["loss"]
    assert told == pytest.approx(delta(app, labels, predictions.labels) / 120)
    assert told < 1.0


class Interrupting(Observer):
    """Sends this process a signal after so many passes."""

    def __init__(self, after):
        self.left = after

    def passed(self, passes, gap, goal, not_converged, objective):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("left_out", MEASURES)
def test_a_resumed_run_ends_in_the_same_bytes(left_out, tmp_path):
    rng = np.random.default_rng(1)
    app, examples, _, _ = problem(rng, 60, features=5, left_out=left_out, iterations=5)
    config = configuration(left_out=left_out, iterations=5)
    whole = session.learn_on(app, examples, config)
    path, stops, model = tmp_path / "m.checkpoint", 0, None
    while model is None:
        saving = session.Saving(path, 1, resume=stops > 0)
        try:
            model = session.learn_on(
                app, examples, config, saving=saving, observer=Interrupting(4 + stops)
            )
        except StoppedError:
            stops += 1
    assert stops > 1
    assert model.w.tobytes() == whole.w.tobytes()
    assert model.record == whole.record


# precision at k percent


def at_percent(rng, n, classes, percent):
    app = Multiclass(
        MulticlassOptions(loss="precision", bias=0.0, left_out="b", percent=percent), SSVM
    )
    app.fix(tuple("abcdefgh"[:classes]), 2)
    labels = rng.integers(0, classes, n)
    x = rng.integers(-4, 5, (n, 2)) / 4
    return app, in_memory(x, labels.astype(np.int32), app.classes, classes), x, labels


def of_precision(labels, count, classes):
    """Every labelling with ``count`` classes other than b (1), its Δ, and the true one with 0."""
    found = [(np.array(labels), 0.0)]
    for each in itertools.product(range(classes), repeat=len(labels)):
        own = np.array(each)
        if np.sum(own != 1) == count:
            right = np.sum((own != 1) & (own == labels))
            found.append((own, len(labels) * (1 - right / count)))
    return found


@pytest.mark.parametrize("classes", [2, 3])
def test_the_worst_precision_is_that_of_enumeration(classes):
    for seed in range(DATA_SETS // 2):
        rng = np.random.default_rng(seed)
        n, percent = int(rng.integers(1, 6)), float(rng.choice([1, 20, 50, 100]))
        app, examples, x, labels = at_percent(rng, n, classes, percent)
        w = rng.integers(-8, 9, 2 * classes) / 8 * (seed > 3)
        count = min(n, max(1, round(n * percent / 100)))
        every = of_precision(labels, count, classes)
        best = max(loss + phi(x, own, classes) @ w for own, loss in every)
        plane, upper = app.augmented(w, examples)
        assert plane.value(w) == upper == pytest.approx(best, abs=1e-12)
        assert any(
            np.array_equal(plane.gradient, phi(x, own, classes))
            and plane.loss == pytest.approx(loss, abs=1e-12)
            for own, loss in every
        )


@pytest.mark.parametrize("seed", range(50))
def test_the_certified_gap_of_precision_holds_the_optimum(seed):
    rng = np.random.default_rng(seed)
    app, examples, x, labels = at_percent(rng, 4, 3, 50.0)
    config = configuration(loss="precision", left_out="b", percent=50.0)
    told = []

    class Last(Observer):
        def iterated(self, row):
            told.append(row)

    session.learn_on(app, examples, config, observer=Last())
    every = of_precision(labels, 2, 3)
    rows = np.array([phi(x, own, 3) for own, _ in every])
    best = optimum(rows, [loss for _, loss in every], phi(x, labels, 3))
    row = told[-1]
    room = 1e-6 * (1.0 + abs(best))
    assert row.objective >= best - room
    assert row.objective * (1.0 - row.gap) <= best + room


def test_the_loss_of_precision_is_that_of_the_surest_rows():
    rng = np.random.default_rng(3)
    app, examples, x, labels = at_percent(rng, 40, 3, 25.0)
    w = rng.normal(size=6)
    scores = x @ w.reshape(2, 3)
    sure = np.argsort(scores[:, 1] - np.maximum(scores[:, 0], scores[:, 2]), kind="stable")[:10]
    best = np.where(scores[:, 0] >= scores[:, 2], 0, 2)
    expected = 1 - np.mean(best[sure] == labels[sure])
    assert app.score(examples, app.predict(w, examples))["loss"] == pytest.approx(expected)


def test_training_for_precision_finds_what_is_sure():
    rng = np.random.default_rng(0)
    labels = (rng.random(300) < 0.3).astype(int)  # the base rate of b is 30 %
    x = np.column_stack([labels + 0.8 * rng.normal(size=300), np.ones(300)])
    app = Multiclass(MulticlassOptions(loss="precision", bias=0.0, left_out="a", percent=10), SSVM)
    app.fix(("a", "b"), 2)
    examples = in_memory(x, labels.astype(np.int32), app.classes, 2)
    model = session.learn_on(
        app, examples, configuration(loss="precision", left_out="a", percent=10.0)
    )
    surest = np.argsort(-x[:, 0], kind="stable")[:30]  # only the first feature tells rows apart
    best = 1.0 - np.mean(labels[surest])
    assert app.score(examples, app.predict(model.w, examples))["loss"] == pytest.approx(best)
    assert best < 0.5 < 1.0 - np.mean(labels)


def test_precision_without_a_class_left_out_is_refused():
    with pytest.raises(
        ConfigError, match="precision needs left_out; expected the label of a class"
    ):
        configuration(loss="precision")


def test_the_loss_of_predictions_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    for left_out, beta in itertools.product(MEASURES, (0.5, 1.0)):
        app, examples, _, labels = problem(rng, 60, left_out=left_out, beta=beta)
        predictions = app.predict(rng.normal(size=6), examples)
        chosen = {"average": "macro"} if left_out is None else {"average": "micro"}
        kept = [0, 2] if left_out else None
        found = fbeta_score(labels, predictions.labels, beta=beta, labels=kept, **chosen)
        assert app.whole_loss(examples, predictions) == pytest.approx(1.0 - found)


def test_labels_that_training_does_not_have_count_as_missed():
    app, _, x, _ = problem(np.random.default_rng(0), 4, left_out="b")
    labels = np.array([0, 1, 2, 3], dtype=np.int32)
    examples = in_memory(x, labels, (*app.classes, "new"), 3)
    predictions = app.predict(np.random.default_rng(1).normal(size=6), examples)
    expected = f1_score(labels, predictions.labels, labels=[0, 2, 3], average="micro")
    assert app.whole_loss(examples, predictions) == pytest.approx(1.0 - expected)


@pytest.mark.parametrize("method", ["n-slack", "dual-coordinate", "sgd"])
def test_solvers_by_example_are_refused(method):
    with pytest.raises(ConfigError, match="needs a loss of each example"):
        Config.from_dict(
            {
                "application": {"name": "multiclass", "loss": "f_beta"},
                "solver": {"method": method},
            }
        )


def test_what_no_solver_can_do_is_refused():
    with pytest.raises(ConfigError, match="expected another objective or loss, as no solver"):
        Config.from_dict(
            {
                "application": {"name": "multiclass", "loss": "f_beta"},
                "objective": {"slack_norm": 2},
                "solver": {"method": "n-slack"},
            }
        )


@pytest.mark.parametrize(
    "formulation", [Formulation("ssvm", "slack"), Formulation("ssvm", slack_norm=2)]
)
def test_other_formulations_are_refused(formulation):
    with pytest.raises(LssvmError, match="margin rescaling and linear slack"):
        Multiclass(MulticlassOptions(loss="f_beta"), formulation)


def test_a_class_left_out_that_no_row_has_is_refused():
    app = Multiclass(MulticlassOptions(loss="f_beta", left_out="none"), SSVM)
    with pytest.raises(DataError, match="left_out: no example has label 'none'"):
        app.examples_from([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(DataError, match="all examples have label 'none'"):
        app.examples_from([[1.0], [2.0]], ["none", "none"])


def test_planes_by_example_are_refused_and_other_losses_keep_them():
    app, examples, _, _ = problem(np.random.default_rng(0), 4)
    for ask in (
        lambda: app.augmented_each(np.zeros(6), examples),
        lambda: app.example_oracle(examples),
    ):
        with pytest.raises(LssvmError, match="the loss of each row"):
            ask()
    other = Multiclass(MulticlassOptions(bias=0.0, left_out="zzz"), SSVM)
    other.fix(app.classes, 2)
    assert other.has_example_oracle(examples)
    assert not app.has_example_oracle(examples)
    assert np.isfinite(other.augmented_each(np.zeros(6), examples).values).all()
