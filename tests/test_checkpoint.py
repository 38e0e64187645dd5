"""Interrupted and resumed runs give the bytes of runs that were not interrupted."""

import functools
import itertools
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import toy

from lssvm.applications.base import FirstProblem
from lssvm.config import Config
from lssvm.errors import ModelError, StoppedError
from lssvm.training import checkpoint
from lssvm.training import session as train
from lssvm.training.cccp import Observer
from lssvm.training.session import Saving

METHODS = {
    "bundle": {"epsilon": 1e-5, "max_planes": 12},
    "proximal": {"epsilon": 1e-5, "max_planes": 12},
    "proximal by OSQP": {"epsilon": 1e-4, "max_planes": 12, "qp": "osqp"},
    "n-slack": {"epsilon": 1e-5},
    "dual-coordinate": {"epsilon": 1e-3},
    "gradient": {"epsilon": 1e-2, "max_passes": 20},
    "sgd": {"epochs": 40},
}


def configuration(method="bundle"):
    return Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "objective": {"C": 3.0},
            "cccp": {"restarts": 3},
            "solver": {"method": method.split(" by ")[0], **METHODS[method]},
        }
    )


@pytest.fixture
def config():
    return configuration()


class Stopper(Observer):
    """Sends this process a signal after so many passes."""

    def __init__(self, after, number=signal.SIGINT):
        self.left, self.number = after, number

    def passed(self, passes, gap, goal, not_converged, objective):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)


def essentials(model):
    return model.w.tobytes(), model.record


@functools.cache
def of_whole_run(method):
    """What is essential in the model of a run that is not stopped."""
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    return essentials(train.learn_on(app, pairs, configuration(method)))


@pytest.mark.parametrize(
    ("every", "number"), [(1, signal.SIGINT), (7, signal.SIGTERM), (1000, signal.SIGINT)]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_run_resumed_many_times_equals_one_that_was_not(method, tmp_path, number, every):
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    config = configuration(method)
    path = tmp_path / "model.checkpoint"
    stops, model = 0, None
    while model is None:
        saving = Saving(path, every, resume=stops > 0)
        try:
            model = train.learn_on(
                app, pairs, config, saving=saving, observer=Stopper(11 + stops, number)
            )
        except StoppedError as stop:
            stops, last = stops + 1, stop
    assert stops >= 5
    assert last.exit_code == 128 + number
    assert str(path) in str(last)
    assert essentials(model) == of_whole_run(method)


class Guided(toy.Toy):
    """Takes its first weights from the same outputs with the hidden value fixed to 0."""

    def start(self, examples, rng):
        return FirstProblem(toy.Toy(self.tables[:, :, :1], self.losses), examples)


@pytest.mark.parametrize("kind", ["first problem", "initial model"])
def test_runs_that_begin_at_weights_are_resumed_too(config, tmp_path, kind):
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    initial = None
    if kind == "first problem":
        app = Guided(app.tables, app.losses)
    else:
        initial = train.learn_on(app, pairs, config.model_copy(update={"seed": 5}))
    whole = train.learn_on(app, pairs, config, initial=initial)
    for after in (1, 3):
        saving = Saving(tmp_path / f"{after}.checkpoint")
        with pytest.raises(StoppedError):
            train.learn_on(
                app, pairs, config, saving=saving, initial=initial, observer=Stopper(after)
            )
        again = train.learn_on(
            app, pairs, config, saving=Saving(saving.path, resume=True), initial=initial
        )
        assert essentials(again) == essentials(whole)


def test_a_run_without_a_checkpoint_says_so_when_it_is_stopped(config):
    app, pairs = toy.random_problem(0, n=20)
    with pytest.raises(StoppedError, match="stopped by SIGINT; there is no checkpoint"):
        train.learn_on(app, pairs, config, observer=Stopper(3))


@pytest.mark.parametrize("change", ["config", "data"])
def test_the_checkpoint_of_another_run_is_refused(config, tmp_path, change):
    app, pairs = toy.random_problem(0, n=20)
    path = tmp_path / "checkpoint"
    with pytest.raises(StoppedError):
        train.learn_on(app, pairs, config, saving=Saving(path), observer=Stopper(5))
    if change == "config":
        config = config.model_copy(update={"seed": 1})
    else:
        pairs.costs[0] += 1.0
    with pytest.raises(ModelError, match="belongs to another configuration, other data"):
        train.learn_on(app, pairs, config, saving=Saving(path, resume=True))


def test_a_model_is_no_checkpoint(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(ModelError, match="checkpoint: "):
        checkpoint.load(path, "key", None)


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_no_bit(method):
    app, pairs = toy.random_problem(0, n=60, signal=1.0)
    config = configuration(method)
    assert len(train.DataOracle(app, pairs, train.Executor(1)).blocks) > 1
    one, two = (train.learn_on(app, pairs, config, threads=threads) for threads in (1, 2))
    assert essentials(one) == essentials(two)
    assert np.any(one.w)


def test_a_signal_that_the_run_did_not_ask_for_acts_once_it_has_ended():
    with pytest.raises(KeyboardInterrupt), checkpoint.stoppable():
        os.kill(os.getpid(), signal.SIGINT)
    with checkpoint.stoppable() as signalled:
        os.kill(os.getpid(), signal.SIGINT)
        assert signalled() == signal.SIGINT


class Last(Observer):
    """Sends a signal once a run has found its last objective."""

    def __init__(self, converged):
        self.converged = converged

    def iterated(self, row):
        if row.iteration == self.converged:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("restarts", [1, 2])
def test_a_signal_after_the_last_pass_of_a_start_leaves_a_checkpoint_too(
    config, tmp_path, restarts
):
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    values = config.to_dict()
    config = Config.from_dict(values | {"cccp": {**values["cccp"], "restarts": restarts}})
    whole = train.learn_on(app, pairs, config)
    last = whole.record["cccp_iterations"]
    path = tmp_path / "checkpoint"
    with pytest.raises(StoppedError) as caught:
        train.learn_on(app, pairs, config, saving=Saving(path, 1000), observer=Last(last))
    assert caught.value.exit_code == 143
    again = train.learn_on(app, pairs, config, saving=Saving(path, 1000, resume=True))
    assert essentials(again) == essentials(whole)


class Clocked(Observer):
    """Notes when a checkpoint would be written, by a clock that only passes move."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds, self.written, self.iterations = 0.0, seconds, [], 0
        monkeypatch.setattr("lssvm.training.keeper.time.monotonic", lambda: self.now)
        monkeypatch.setattr("lssvm.training.keeper.checkpoints.save", self.note)

    def note(self, path, key, progress):
        self.written.append((progress.run.iteration, round(progress.run.passes)))

    def passed(self, passes, gap, goal, not_converged, objective):
        self.now += self.seconds

    def iterated(self, row):
        self.iterations += 1


def noted(config, monkeypatch, seconds, restarts, every):
    """What a ``Clocked`` saw of a run."""
    values, observer = config.to_dict(), Clocked(monkeypatch, seconds)
    config = Config.from_dict(values | {"cccp": {**values["cccp"], "restarts": restarts}})
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    train.learn_on(app, pairs, config, saving=Saving(Path("m"), every), observer=observer)
    return observer


@pytest.mark.parametrize("seconds", [0.001, 100.0])
def test_a_checkpoint_follows_an_iteration_only_if_the_last_one_is_old(
    config, monkeypatch, seconds
):
    found = noted(config, monkeypatch, seconds, 1, 1000)
    assert found.iterations > 1
    expected = list(range(found.iterations + 1)) if seconds > 10 else []
    assert [iteration for iteration, _ in found.written] == expected


def test_a_checkpoint_is_written_whenever_so_many_passes_of_a_restart_are_over(config, monkeypatch):
    parts = [passes // 5 for _, passes in noted(config, monkeypatch, 0.0, 2, 5).written]
    assert len(parts) > 2
    assert 0 not in parts
    assert all(a != b for a, b in itertools.pairwise(parts))
    assert parts.count(1) == 2
