"""The main job: restarts, paths along C, first weights, and errors that name their place."""

import numpy as np
import pytest
import toy

from lssvm.applications.base import FirstProblem
from lssvm.applications.per_example import Pairs
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle, blocks
from lssvm.training import session as train
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run


def config(**sections):
    return Config.from_dict({"application": {"name": "motif", "length": 3}, **sections})


class Watcher(Observer):
    def __init__(self):
        self.summary, self.warnings, self.starts = None, [], []

    def finished(self, summary):
        self.summary = summary

    def warned(self, text):
        self.warnings.append(text)

    def restarted(self, number, of):
        self.starts.append((number, of))


def test_the_restart_of_lowest_objective_is_kept():
    app, pairs = toy.random_problem(0, n=20, n_hidden=4, signal=1.0)
    watcher = Watcher()
    model = train.learn_on(app, pairs, config(cccp={"restarts": 6}), observer=watcher)
    objectives = [restart["objective"] for restart in model.record["restarts"]]
    assert len(set(objectives)) > 1
    assert model.record["objective"] == min(objectives)
    assert model.record["best_restart"] == int(np.argmin(objectives))
    assert model.record["objective_mean"] == pytest.approx(np.mean(objectives))
    assert model.record["objective_std"] == pytest.approx(np.std(objectives, ddof=1))
    assert watcher.starts == [(i, 6) for i in range(1, 7)]
    assert watcher.summary.restarts == 6
    assert watcher.summary.convex + watcher.summary.concave == pytest.approx(min(objectives))


@pytest.mark.parametrize(
    ("hidden", "restarts", "told"), [(False, 2, 1), (False, 1, 0), (True, 2, 0)]
)
def test_restarts_of_a_convex_problem_are_told_to_be_useless(hidden, restarts, told):
    app, pairs = toy.random_problem(0, n=6, n_hidden=1)
    app.hidden = hidden
    lines: list[str] = []
    watcher = Watcher()
    watcher.noted = lines.append
    model = train.learn_on(app, pairs, config(cccp={"restarts": restarts}), observer=watcher)
    found = [line for line in lines if "all restarts end at one minimum" in line]
    assert len(found) == told
    objectives = [restart["objective"] for restart in model.record.get("restarts", [])]
    assert objectives == pytest.approx([model.record["objective"]] * len(objectives), rel=2e-3)


def test_a_restart_does_not_depend_on_the_others():
    app, pairs = toy.random_problem(1, n=20, n_hidden=4)
    many = train.learn_on(app, pairs, config(cccp={"restarts": 3}))
    one = train.learn_on(app, pairs, config(cccp={"restarts": 1}))
    assert many.record["restarts"][0] == one.record["restarts"][0]


def test_mean_scaling_is_sum_scaling_divided_by_the_number_of_examples():
    app, pairs = toy.random_problem(2, n=20)
    mean = train.learn_on(app, pairs, config(objective={"C": 40.0, "c_scaling": "mean"}))
    total = train.learn_on(app, pairs, config(objective={"C": 2.0, "c_scaling": "sum"}))
    np.testing.assert_array_equal(mean.w, total.w)
    assert mean.record["objective"] == total.record["objective"]


def test_a_path_along_C_needs_fewer_passes_and_is_certified_for_every_C():
    app, pairs = toy.random_problem(3, n=40, d=8, signal=2.0)
    settings = [config(objective={"C": C}) for C in (0.1, 0.3, 1.0)]
    path = train.learn_path(app, pairs, settings)
    alone = [train.learn_on(app, pairs, setting) for setting in settings]
    np.testing.assert_array_equal(path[0].w, alone[0].w)
    for model in path:
        assert model.record["converged"]
        assert model.record["gap"] <= 1e-3
    warm, cold = (sum(m.record["passes"] for m in models) for models in (path, alone))
    assert warm < cold


class Unscored(toy.Toy):
    def score(self, examples, predictions):
        raise AssertionError("the model was scored")


def test_a_model_need_not_be_scored():
    app, pairs = toy.random_problem(3, n=20, signal=2.0)
    settings = [config(objective={"C": C}) for C in (0.1, 1.0)]
    quiet = Unscored(app.tables, app.losses)
    model = train.learn_on(quiet, pairs, settings[0], held=pairs, scored=False)
    path = train.learn_path(quiet, pairs, settings, scored=False)
    assert model.record["training"] == {}
    assert model.record["validation"] is None
    for found, scored in zip(path, train.learn_path(app, pairs, settings), strict=True):
        np.testing.assert_array_equal(found.w, scored.w)
        assert found.record | {"training": {}} == scored.record | {"training": {}}
    np.testing.assert_array_equal(model.w, path[0].w)


def test_the_observer_of_a_path_is_told_the_end_of_every_value():
    class Ends(Observer):
        def __init__(self):
            self.summaries = []

        def finished(self, summary):
            self.summaries.append(summary)

    app, pairs = toy.random_problem(3, n=20, n_hidden=4, signal=2.0)
    settings = [config(objective={"C": C}, cccp={"restarts": 2}) for C in (0.1, 1.0)]
    ends = Ends()
    models = train.learn_path(app, pairs, settings, observer=ends)
    assert [each.objective for each in ends.summaries] == [m.record["objective"] for m in models]
    assert all(each.restarts == 2 for each in ends.summaries)


def test_training_from_a_model_starts_at_its_weights():
    app, pairs = toy.random_problem(4, n=20, signal=1.0)
    first = train.learn_on(app, pairs, config())
    again = train.learn_on(app, pairs, config(cccp={"restarts": 5}), initial=first)
    assert len(again.record["restarts"]) == 1
    assert again.record["objective"] <= first.record["objective"] * (1 + 1e-12)


def test_the_model_of_other_weights_is_no_start():
    app, pairs = toy.random_problem(4, n=20)
    small, few = toy.random_problem(4, n=20, d=3)
    other = train.learn_on(small, few, config())
    with pytest.raises(LssvmError, match=r"initial model has 3 weights .* expected 5 weights"):
        train.learn_on(app, pairs, config(), initial=other)


class Guided(toy.Toy):
    """Takes its first weights from the same outputs with the hidden value fixed to 0."""

    def start(self, examples, rng):
        return FirstProblem(toy.Toy(self.tables[:, :, :1], self.losses), examples)


def test_the_first_weights_may_come_from_a_convex_problem():
    app, pairs = toy.random_problem(5, n=20, signal=2.0)
    guided = Guided(app.tables, app.losses)
    model = train.learn_on(guided, pairs, config())
    first = train.learn_on(guided.start(pairs, None).application, pairs, config())
    expected = train.learn_on(
        app, pairs, config(), initial=Model(app, first.config, first.w, first.record, {})
    )
    assert model.record["objective"] == pytest.approx(expected.record["objective"], rel=1e-2)


def test_weights_that_stay_zero_are_warned_of():
    app, pairs = toy.random_problem(0)
    app.tables[:] = 0.0
    watcher = Watcher()
    model = train.learn_on(app, pairs, config(), observer=watcher)
    assert not np.any(model.w)
    assert watcher.warnings == model.record["warnings"]
    assert watcher.warnings[0].startswith("all weights are zero")
    assert watcher.warnings[0].endswith("or more cccp.restarts")
    app.hidden = False  # F is convex then: another beginning leads to the same minimum
    (told,) = train.learn_on(app, pairs, config()).record["warnings"]
    assert "objective.C or a smaller solver.epsilon" in told
    assert "restarts" not in told


def test_a_feature_that_is_not_a_number_is_named_with_its_example():
    app, pairs = toy.random_problem(0)
    app.tables[3, :, :, 2] = np.nan
    with pytest.raises(LssvmError, match="example 'x3': feature 'f2' is not finite"):
        train.learn_on(app, pairs, config())


def test_a_loss_that_is_infinite_is_named_with_its_example():
    app, pairs = toy.random_problem(0)
    app.losses[pairs.outputs[0], :] = np.inf
    with pytest.raises(LssvmError, match="example 'x0': its loss is not finite"):
        train.learn_on(app, pairs, config())


@pytest.mark.parametrize("n", [1, 3, 10, 57])
def test_blocks_cover_the_data_once_and_in_order(n):
    _, pairs = toy.random_problem(0, n=n)
    parts = blocks(pairs)
    assert [x for part in parts for x in part.inputs] == list(range(n))
    assert all(len(part) > 0 for part in parts)


def test_the_oracle_counts_and_times_its_passes():
    app, pairs = toy.random_problem(0, n=30)
    with Executor(2) as executor:
        oracle = DataOracle(app, pairs, executor)
        for _ in range(3):
            plane, upper = oracle.augmented(np.ones(5))
        oracle.completed(np.ones(5))
    assert (oracle.passes, oracle.completions) == (3, 1)
    assert oracle.seconds > 0.0
    whole, bound = app.augmented(np.ones(5), pairs)
    np.testing.assert_allclose(plane.gradient, whole.gradient)
    assert upper == pytest.approx(bound)


def test_a_loss_over_the_whole_data_is_not_cut_into_blocks():
    app, pairs = toy.random_problem(0, n=60)
    assert len(DataOracle(app, pairs, Executor(1)).blocks) > 1
    app.decomposes = False
    assert DataOracle(app, pairs, Executor(1)).blocks == [pairs]
    with pytest.raises(LssvmError, match="examples cannot have costs of their own"):
        train.learn_on(app, pairs, config())


def test_no_examples_and_no_costs_are_refused():
    app, pairs = toy.random_problem(0)
    with pytest.raises(LssvmError, match="no examples to train on"):
        train.learn_on(app, pairs.take(np.arange(0)), config())
    pairs.costs[:] = 0.0
    with pytest.raises(LssvmError, match="cost of every example is 0"):
        train.learn_on(app, pairs, config())


def test_passes_of_a_first_problem_are_counted():
    app, pairs = toy.random_problem(5, n=20, signal=2.0)
    guided = Guided(app.tables, app.losses)
    with Executor(1) as executor:
        oracle = DataOracle(guided, pairs, executor)
        bundle = config(solver={"method": "bundle"})
        run = new_run(oracle, bundle, 0, None)
    assert run.passes > 1
    assert run.completions == oracle.completions == 1


def test_fingerprints_tell_long_and_close_arrays_apart():
    def fingerprint(x):
        return Pairs((x,), (1,), ("a",), np.ones(1)).fingerprint()

    base = np.zeros(2000)
    changed = base.copy()
    changed[1000] = 1.0
    assert fingerprint(base) == fingerprint(base.copy())
    assert fingerprint(base) != fingerprint(changed)
    assert fingerprint(np.array([1 / 3])) != fingerprint(np.array([1 / 3 + 1e-10]))
    assert fingerprint([(1, "a"), {"b": 2}]) == fingerprint([(1, "a"), {"b": 2}])
    with pytest.raises(LssvmError, match="'object' cannot be told apart"):
        fingerprint(object())


def test_predictions_of_a_per_example_application_are_scored_and_written(tmp_path):
    app, pairs = toy.random_problem(6, n=30, signal=3.0)
    model = train.learn_on(app, pairs, config())
    predictions = train.classify(model, pairs)
    scores = app.score(pairs, predictions)
    assert scores == model.record["training"]
    path = tmp_path / "predictions"
    with path.open("w") as file:
        app.write(pairs, predictions, file)
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [row[0] for row in rows] == list(pairs.names)
    records = list(app.records(pairs, predictions))
    assert sum(record["loss"] for record in records) == pytest.approx(30 * scores["loss"])
