"""Held-out scores: the best point is kept, early stops, resumed runs give the same bytes."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from solver_cases import solving

from lssvm.config import Config
from lssvm.config.sections import HeldOutOptions
from lssvm.errors import ConfigError, LssvmError, StoppedError
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.training import session as train
from lssvm.training.cccp import Observer
from lssvm.training.held_out import HeldOutScorer, Scores, sign_of

DATA = Path(__file__).parents[1] / "data" / "sequence"


PRODUCTS = {"type": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0, "explicit": True}


def configuration(method="bundle", model="ssvm", cache=0, kernel=None, **held):
    values = {
        "kernel": kernel or {},
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": "train.conll", "validate": "test.conll"},
        "objective": {"model": model, "C": 0.3},
        "solver": {"method": method, "epsilon": 1e-4, "cache": cache},
        "held_out": {"every": 2, **held},
    }
    return Config.from_dict(values, base=DATA)


class Watcher(Observer):
    def __init__(self, stop_at=0):
        self.seen, self.stop_at = [], stop_at

    def scored(self, passes, metric, value):
        self.seen.append((passes, metric, value))
        if len(self.seen) == self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("method", "model"),
    [
        ("bundle", "ssvm"),
        ("proximal", "ssvm"),
        ("n-slack", "ssvm"),
        ("dual-coordinate", "ssvm"),
        ("lbfgs", "crf"),
        ("gradient", "ssvm"),
        ("sgd", "ssvm"),
    ],
)
def test_the_best_point_seen_becomes_the_model(method, model):
    config, watcher = configuration(method, model, patience=3), Watcher()
    trained = train.learn(config, observer=watcher)
    values = [value for _, _, value in watcher.seen]
    assert watcher.seen[0][1] == "error"
    held = trained.application.read(config.sources("validate"))
    predictions = train.classify(trained, held)
    assert trained.application.score(held, predictions)["error"] == min(values)
    looks = trained.record["held_out"]
    assert looks["looks"][looks["best"]][1] == min(values)
    steps = np.diff([passes for passes, _, _ in watcher.seen])
    assert np.all(steps[:-1] >= 2)
    assert looks["stopped"] or trained.record["converged"]
    examples = trained.application.read(config.sources("train"))
    oracle = DataOracle(trained.application, examples, Executor(1))
    w = trained.w
    plane = oracle.augmented(w)[0] - oracle.completed(w)
    assert trained.record["objective"] == pytest.approx(0.5 * w @ w + 0.3 * plane.value(w))
    if method == "sgd":
        assert trained.record["lower_bound"] is trained.record["gap"] is None
    else:
        assert trained.record["lower_bound"] <= trained.record["objective"]


@pytest.mark.parametrize("method", ["bundle", "n-slack", "sgd"])
def test_products_of_features_are_scored_as_the_model_that_is_saved(method, tmp_path):
    config, watcher = configuration(method, kernel=PRODUCTS, patience=3), Watcher()
    train.learn(config, observer=watcher).save(tmp_path / "m")
    kept = Model.load(tmp_path / "m")
    held = kept.application.read(config.sources("validate"))
    score = kept.application.score(held, train.classify(kept, held))
    values = [value for _, _, value in watcher.seen]
    assert len(set(values)) > 1
    assert score == kept.record["validation"]
    assert score["error"] == min(values)
    linear = Watcher()
    train.learn(configuration(method, patience=3), observer=linear)
    assert linear.seen != watcher.seen


def test_kernels_that_are_not_written_down_are_not_scored_on_the_way():
    kernel = {"type": "rbf"}
    expected = r"held_out\.every: expected kernel\.type: linear, or kernel\.explicit: true"
    with pytest.raises(ConfigError, match=expected):
        configuration("n-slack", kernel=kernel)


def test_several_restarts_are_not_scored_on_the_way():
    expected = r"expected cccp\.restarts: 1 \(--set cccp\.restarts=1\), or held_out\.every: 0"
    with pytest.raises(ConfigError, match=f"the 3 restarts are compared .*; {expected}"):
        Config.from_dict({**configuration().to_dict(), "cccp": {"restarts": 3}})


def test_another_metric_may_count():
    watcher = Watcher()
    record = train.learn(configuration(metric="accuracy", patience=2), observer=watcher).record
    best = record["held_out"]["best"]
    values = [value for _, _, value in watcher.seen]
    assert best == values.index(max(values))
    assert (sign_of("accuracy"), sign_of("sequence_error"), sign_of("loss")) == (-1, 1, 1)


def test_an_unknown_metric_is_told():
    with pytest.raises(LssvmError, match=r"held_out\.metric: 'f2' is not known here"):
        train.learn(configuration(metric="f2"))


@pytest.mark.parametrize(
    ("method", "cache"),
    [("bundle", 0), ("cutting-plane", 5), ("n-slack", 0), ("dual-coordinate", 0)],
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(method, cache, tmp_path):
    config = configuration(method, cache=cache, patience=4)
    whole = train.learn(config)
    path, stops, found = tmp_path / "checkpoint", 0, None
    while found is None:
        try:
            found = train.learn(
                config, checkpoint=path, resume=stops > 0, observer=Watcher(stop_at=2)
            )
        except StoppedError:
            stops += 1
    assert stops > 0
    assert found.w.tobytes() == whole.w.tobytes()
    assert found.record == whole.record


def test_without_scores_on_the_way_the_finished_model_is_scored():
    watcher = Watcher()
    trained = train.learn(configuration(every=0), observer=watcher)
    held = trained.application.read(configuration().sources("validate"))
    expected = trained.application.score(held, train.classify(trained, held))
    assert trained.record["validation"] == expected
    assert watcher.seen == [(trained.record["passes"], "error", expected["error"])]
    assert trained.record["held_out"] is None
    assert trained.record["converged"]


def test_only_scores_that_end_the_run_count_as_an_early_stop():
    stopped = train.learn(configuration(patience=2)).record
    assert stopped["held_out"]["stopped"]
    assert not stopped["converged"]
    went_on = train.learn(configuration(patience=1000)).record
    assert not went_on["held_out"]["stopped"]
    assert went_on["converged"]


def test_held_out_examples_must_be_labelled(tmp_path):
    bare = tmp_path / "bare.conll"
    bare.write_text("the DT\ncat NN\n")
    values = configuration().to_dict()
    values["data"]["train"][0]["path"] = str(DATA / "train.conll")
    values["data"]["validate"] = [{"path": str(bare)}]
    for every in (0, 2):
        values["held_out"]["every"] = every
        with pytest.raises(LssvmError, match=r"data\.validate: examples without labels"):
            train.learn(Config.from_dict(values))


class Scripted:
    """An application whose scores are given beforehand."""

    def __init__(self, values):
        self.values = iter(values)

    def predict(self, w, examples):
        return None

    def score(self, examples, predictions):
        return {"f1": next(self.values)}


@pytest.mark.parametrize(
    ("values", "far", "seen"),
    [
        ([2, 0, 0, 0, 0, 5, 9, 8, 9, 1], 5, 9),  # of bad points at first nothing follows
        ([2, 0, 0, 0, 0, 5, 9, 8, 9, 1], 0, 3),
        ([2, 0, 0, 0, 0, 0], 3, 5),
        ([3, 2, 3, 4], 0, 3),
    ],
)
def test_patience_begins_when_the_objective_is_near_its_minimum(values, far, seen):
    watching = HeldOutScorer(
        Scripted(values), None, HeldOutOptions(every=1, patience=2), Scores(), Observer()
    )
    for passes in range(1, len(values) + 1):
        solver = SimpleNamespace(
            w=np.array([float(passes)]), primal=lambda C: 1.0, lower=0.4 if passes <= far else 0.6
        )
        if watching.look(SimpleNamespace(passes=passes, solver=solver), 1.0):
            break
    assert len(watching.scores.looks) == seen
    assert watching.scores.stopped
    assert watching.scores.looks[watching.scores.best][1] == max(values[:seen])


def fields(method, inference, **held):
    values = {
        "application": {"name": "mrf", "inference": inference},
        "data": {"train": "train.txt", "validate": "test.txt"},
        "objective": {"model": "mssvm", "C": 0.03},
        "solver": solving(method, epsilon=0.01, epochs=3),
        "held_out": {"every": 1, "metric": "loss", **held},
    }
    return Config.from_dict(values, base=DATA.parent / "mrf")


@pytest.mark.parametrize(
    "method", ["bundle", "proximal", "gradient", "sgd", "n-slack", "dual-coordinate"]
)
@pytest.mark.parametrize("inference", ["exact", "bp"])
def test_with_hidden_values_the_best_point_has_a_finite_objective(method, inference):
    found = train.learn(fields(method, inference, patience=1)).record
    assert found["held_out"]["stopped"]
    assert np.isfinite(found["objective"])
    assert found["certified"] == (inference == "exact")
    assert found["lower_bound"] == (None if method == "sgd" else 0.0)


def test_the_gap_of_the_last_problem_stays_where_its_point_is_the_best(monkeypatch):
    rising = iter(range(1000))
    config = fields("bundle", "exact", patience=1000)
    application = config.create_application()
    examples, held = (application.read(config.sources(part)) for part in ("train", "validate"))
    score = application.score
    monkeypatch.setattr(
        application,
        "score",
        lambda data, found: score(data, found) | ({"loss": -next(rising)} if data is held else {}),
    )
    found = train.learn_on(application, examples, config, held=held).record
    assert found["held_out"]["best"] == len(found["held_out"]["looks"]) - 1
    assert found["certified"]
    assert 0.0 < found["lower_bound"] < found["objective"]
    assert found["gap"] <= 0.01
