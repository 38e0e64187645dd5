import csv
import json

import numpy as np
import pytest
from scipy import optimize

from experiments.benchmarks import passes
from experiments.benchmarks.passes import Plan, Task
from experiments.common import command
from lssvm.training.session import learn_on

PLAN = Plan(6, 4, (0.1, 0.5), 2, 30)


@pytest.mark.parametrize("model", ["HCRF", "MSSVM", "CRF, all given"])
def test_the_slope_of_f_is_that_of_finite_differences(model):
    oracle, config = passes.problem(PLAN, Task(0.1, model, 0), {})
    w0 = passes.first_weights(oracle, config)
    rng = np.random.default_rng(0)
    for _ in range(3):
        w = w0 + 0.3 * rng.normal(size=len(w0))
        error = optimize.check_grad(
            lambda w: passes.objective(oracle, 0.5, w)[0],
            lambda w: passes.objective(oracle, 0.5, w)[1],
            w,
        )
        assert error < 1e-4


def test_nothing_is_hidden_where_all_nodes_are_given():
    hidden, _ = passes.problem(PLAN, Task(0.1, "MSSVM", 0), {})
    given, config = passes.problem(PLAN, Task(0.1, "SSVM, all given", 0), {})
    assert np.sum(hidden.examples.labels < 0) == 4 * 3
    assert np.all(given.examples.labels >= 0)
    assert len(passes.first_weights(given, config)) == given.examples.classes.dimension
    known = hidden.examples.labels >= 0
    np.testing.assert_array_equal(hidden.examples.labels[known], given.examples.labels[known])


@pytest.mark.parametrize("method", ["bundle", "gradient", "sgd, 1"])
def test_a_path_ends_where_training_ends(method):
    plan = PLAN._replace(budget=10**6)
    task, limits = Task(0.1, "HCRF", 1), {"epochs": 5} if method == "sgd, 1" else {}
    oracle, config = passes.problem(plan, task, passes.METHODS[method] | limits)
    w0 = passes.first_weights(oracle, config)
    path = passes.followed(oracle, config, plan.budget)
    counts, values = np.array(path).T
    assert np.all(np.diff(counts) > 0)
    assert values[0] == pytest.approx(passes.objective(oracle, 0.1, w0)[0])
    application, examples = oracle.application, oracle.examples
    record = learn_on(application, examples, config).record
    assert values[-1] == pytest.approx(record["objective"], rel=1e-9)
    assert counts[-1] == pytest.approx(record["passes"] + record["completions"], abs=1.5)


def test_the_budget_ends_a_path():
    oracle, config = passes.problem(PLAN, Task(0.1, "MSSVM", 0), {"method": "gradient"})
    path = passes.followed(oracle, config, 12)
    assert 10 <= path[-1][0] <= 12
    assert oracle.passes + oracle.completions <= 12


def test_the_first_that_is_close_enough_counts_and_medians_know_the_others():
    path = [(1.0, 20.0), (3.0, 10.2), (5.0, 10.05), (9.0, 10.0)]
    assert passes.reached(path, 10.0, 1e-2) == 5.0
    assert passes.reached(path, 9.0, 1e-2) is None
    assert passes.middle([3.0, 5.0, None]) == "5 (1 never)"
    assert passes.middle([3.0, None, None]) == "– (2 never)"
    assert passes.middle([3.0, 5.0, 6.0]) == "5"


def test_the_experiment_writes_table_and_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(passes, "QUICK", PLAN)
    text = passes.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "passes.txt").read_text() == text + "\n"
    with (tmp_path / "passes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * (3 * 7 + 2 * 9)
    for row in rows:
        assert float(row["excess"]) >= 0.0
        assert float(row["inference"]) <= PLAN.budget + 4
    places = {(row["C"], row["model"], row["trial"]) for row in rows}
    assert len(places) == 2 * 5 * 2
    for place in places:
        own = [row for row in rows if (row["C"], row["model"], row["trial"]) == place]
        assert min(float(row["excess"]) for row in own) == 0.0
        assert ("lbfgs" in {row["solver"] for row in own}) == ("CRF" in place[1])
    assert json.loads((tmp_path / "passes.json").read_text())["plan"]["nodes"] == 6
