"""Tables and figures of Ping et al. on simulated fields: what they rest on, and that they run."""

import csv
import itertools
import json

import numpy as np
import pytest
from paper_cases import found_of
from scipy.special import logsumexp

from experiments.common import command
from experiments.papers.published import PING_TABLE_2
from experiments.ping_2014 import draws as mssvm_draws
from experiments.ping_2014 import figure2 as mssvm_figure2
from experiments.ping_2014 import figure3 as mssvm_figure3
from experiments.ping_2014 import figure5 as mssvm_figure5
from experiments.ping_2014 import table2 as mssvm_table2
from experiments.ping_2014 import table3 as mssvm_table3
from experiments.ping_2014 import trials as mssvm_trials
from experiments.ping_2014.hidden_fields import Draw, drawn, graphs, sampled
from experiments.ping_2014.trials import CCCP, new_trial

SHORT = Draw(6, 1)


def rows_of(folder, name):
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_trial_is_the_same_each_time_and_its_held_out_instances_whatever_it_trains_on():
    large, small = new_trial(SHORT, 3, 8), new_trial(SHORT, 3, 5)
    np.testing.assert_array_equal(large.field.weights, small.field.weights)
    for part in ("test", "validation"):
        assert getattr(large, part).fingerprint() == getattr(small, part).fingerprint()
    assert large.test.fingerprint() != large.validation.fingerprint()
    assert small.training.fingerprint() == new_trial(SHORT, 3, 5).training.fingerprint()
    assert small.training.fingerprint() != new_trial(SHORT, 4, 5).training.fingerprint()


def test_c_is_chosen_on_the_validation_instances_alone():
    trial = new_trial(SHORT, 0, 6)
    grid = (0.01, 1.0)
    for method in CCCP.values():
        C, model = mssvm_trials.chosen(method, trial, grid)
        scores = [
            mssvm_trials.accuracy(
                mssvm_trials.fitted(method, trial.training, value), trial.validation
            )
            for value in grid
        ]
        assert grid[int(np.argmax(scores))] == C
        spoiled = trial._replace(test=trial.training)
        again = mssvm_trials.chosen(method, spoiled, grid)
        assert again[0] == C
        np.testing.assert_array_equal(again[1].w, model.w)
        fixed, row = mssvm_trials.results(method, trial, grid)
        assert (fixed["rule"], fixed["C"], row["rule"], row["C"]) == ("1", 1.0, "picked", C)
        assert row["accuracy"] == mssvm_trials.accuracy(model, trial.test)
        assert row["certified"] is True
        assert row["gap"] <= mssvm_trials.EPSILON


def test_of_equal_values_the_smallest_is_chosen():
    trial = new_trial(SHORT, 0, 6)
    # So small that every model predicts the same.
    C, _ = mssvm_trials.chosen(CCCP["HCRF"], trial, (1e-13, 1e-12))
    assert C == 1e-13


def test_the_true_weights_predict_better_than_any_model_on_average():
    found = [new_trial(Draw(12, 1), number, 4) for number in range(3)]
    truth = np.mean([mssvm_trials.true_accuracy(trial, "mssvm") for trial in found])
    learnt = np.mean([mssvm_trials.results(CCCP["HCRF"], t, (0.1,))[1]["accuracy"] for t in found])
    assert truth > learnt > 25.0


def test_the_log_likelihood_is_that_of_enumeration():
    draw = Draw(4, 1, states=2)
    rng = np.random.default_rng(1)
    field = drawn(rng, draw)
    x, states = sampled(rng, field, 5)
    w = rng.normal(size=len(field.weights))
    nodes, pairs = w[: -field.pairs.size].reshape(4, 3, 2), w[-field.pairs.size :]
    symbols, single, pairs = nodes[:, :2], nodes[:, 2], pairs.reshape(field.pairs.shape)
    total = 0.0
    for own, seen in zip(x, states, strict=True):
        logs = {
            every: sum(symbols[v, own[v], s] + single[v, s] for v, s in enumerate(every))
            + sum(
                table[every[y], every[h]] for (y, h), table in zip(field.ends, pairs, strict=True)
            )
            for every in itertools.product(range(2), repeat=4)
        }
        fitting = [value for every, value in logs.items() if every[::2] == tuple(seen[::2])]
        total += logsumexp(fitting) - logsumexp(list(logs.values()))
    found = mssvm_trials.log_likelihood(w, graphs(field, x, states))
    assert found == pytest.approx(total / 10)


def test_differences_are_paired_and_named():
    values = {"MSSVM": [70.0, 80.0, 75.0], "HCRF": [69.0, 78.0, 75.0]}
    (line,) = mssvm_trials.differences(values)
    assert line.startswith("MSSVM − HCRF: 1.00 ± 0.58 (p = 0.2")


def test_a_mean_is_shown_beside_the_papers():
    cells = mssvm_trials.beside([70.0, 72.0, 74.0], 70.0)
    assert cells == {"accuracy": "72.00 ± 1.15", "paper": "70.00", "errors apart": "1.7"}
    cells = mssvm_trials.beside([70.0, 72.0], None)
    assert (cells["paper"], cells["errors apart"]) == (None, None)


def test_table_2_has_every_method_on_every_field(monkeypatch, tmp_path):
    plan = mssvm_table2.Plan(
        {"chain": SHORT, "grid": Draw(2, 3)},
        {"chain": (0.1, 1.0), "grid": (0.1,)},
        2,
        6,
        (("chain", "SGD"),),
    )
    monkeypatch.setattr(mssvm_table2, "QUICK", plan)
    text = mssvm_table2.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "table2.txt").read_text() == text + "\n"
    rows = rows_of(tmp_path, "table2")
    methods = sum(len(own) for own in mssvm_table2.TRAINERS.values()) + 1
    # The field itself has no C, and three methods have one rule alone on the chain.
    assert len(rows) == 2 * (2 * (2 * methods - 1) - 3)
    assert len(json.loads((tmp_path / "table2.json").read_text())["runs"]) == len(rows)
    own = [
        float(row["accuracy"])
        for row in rows
        if (row["shape"], row["trainer"], row["rule"], row["method"])
        == ("grid", "CCCP", "picked", "LSSVM")
    ]
    (line,) = [
        line
        for line in text.splitlines()
        if line.split()[:4] == ["grid", "CCCP", "picked", "LSSVM"] and "−" not in line
    ]
    assert f"{np.mean(own):.2f} ± {np.std(own, ddof=1) / np.sqrt(2):.2f}" in line
    assert set(PING_TABLE_2.columns) == set(CCCP)
    shown = found_of("mssvm-table2", tmp_path)
    assert shown.rows["grid, CCCP, C picked"][1][0] == pytest.approx(np.mean(own))
    assert set(PING_TABLE_2.rows) <= set(shown.rows)


def test_table_3_means_are_over_all_scales_by_trial(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    plan = mssvm_table3.Plan(6, (10.0, 0.1), (0.1,), 2, 6)
    monkeypatch.setattr(mssvm_table3, "QUICK", plan)
    text = mssvm_table3.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "table3.png").read_bytes().startswith(b"\x89PNG")
    rows = rows_of(tmp_path, "table3")
    assert len(rows) == 2 * 2 * (len(mssvm_table3.METHODS) + len(CCCP) + 1)
    own = np.array(
        [
            [
                float(row["accuracy"])
                for row in rows
                if (row["method"], row["rule"], float(row["sigma"])) == ("HCRF", "1", sigma)
            ]
            for sigma in plan.sigmas
        ]
    ).mean(axis=0)
    (line,) = [line for line in text.splitlines() if line.split()[:2] == ["HCRF", "1"]]
    assert f"{own.mean():.2f} ± {own.std(ddof=1) / np.sqrt(2):.2f}" in line
    shown = found_of("mssvm-table3", tmp_path).rows["mean"][2]
    assert shown == pytest.approx((own.mean(), own.std(ddof=1) / np.sqrt(2)))


def test_figure_3_has_every_size(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    plan = mssvm_figure3.Plan(6, (4, 8), (0.3,), 2, 1, 20)
    monkeypatch.setattr(mssvm_figure3, "QUICK", plan)
    mssvm_figure3.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    for name in ("figure3", "figure3-likelihood"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    rows = rows_of(tmp_path, "figure3")
    assert [(int(row["size"]), int(row["trial"])) for row in rows[:2]] == [(4, 0), (4, 1)]
    assert len(rows) == 2 * 2 * (len(mssvm_figure3.METHODS) + 1)
    for row in rows:
        assert 0 <= float(row["error"]) <= 100
        assert float(row["likelihood"]) < 0
    shown = found_of("mssvm-figure3", tmp_path).rows["4 chains"][0]
    own = [float(row["error"]) for row in rows if (row["size"], row["method"]) == ("4", "MSSVM")]
    assert shown[0] == pytest.approx(np.mean(own))


def test_figure_5_shows_each_epoch_of_the_descent_that_trains_the_model(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(mssvm_figure5, "QUICK", mssvm_figure5.Plan(6, 2, 6))
    mssvm_figure5.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "figure5.png").read_bytes().startswith(b"\x89PNG")
    runs = json.loads((tmp_path / "figure5.json").read_text())["runs"]
    assert [len(run["path"]) for run in runs] == [0, 0] + 6 * [50]
    bound = np.mean([run["own"] for run in runs[:2]])
    assert all(max(run["path"]) < 0 for run in runs[2:])
    shown = found_of("mssvm-figure5", tmp_path)
    assert shown.columns == tuple(CCCP)
    assert shown.rows["of the returned model"][2][0] < bound
    last = [run["path"][-1] for run in runs if run["method"] == "HCRF"]
    assert shown.rows["after the last epoch"][2][0] == pytest.approx(np.mean(last))


def test_draws_are_what_their_names_say(monkeypatch, tmp_path):
    assert mssvm_draws.DRAWS["chain, to the letter"] == mssvm_table2.FULL.draws["chain"]
    assert mssvm_draws.DRAWS["grid, to the letter"] == mssvm_table2.FULL.draws["grid"]
    assert len(set(mssvm_draws.DRAWS.values())) == len(mssvm_draws.DRAWS)
    plan = mssvm_draws.Plan({"chain": SHORT, "grid": Draw(2, 3)}, 2, 6)
    monkeypatch.setattr(mssvm_draws, "QUICK", plan)
    text = mssvm_draws.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    rows = rows_of(tmp_path, "draws")
    assert {(row["draw"], row["C"]) for row in rows if row["C"]} == {
        ("chain", "1.0"),
        ("grid", "1.0"),
    }
    assert "The paper's grid: MSSVM 74.12, LSSVM 71.96, HCRF 73.51" in text


def test_figure_2_follows_algorithm_1_step_by_step(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    plan = mssvm_figure2.Plan(6, 0.1, (0.05, 0.01), 10, 2, 6)
    monkeypatch.setattr(mssvm_figure2, "QUICK", plan)
    mssvm_figure2.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    for name in ("figure2", "figure2-error"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    rows = rows_of(tmp_path, "figure2")
    assert len(rows) == 3 * 2 * 2 * 11
    trial = new_trial(Draw(6, 1), 1, 6)
    for (name, method), rate in itertools.product(CCCP.items(), plan.rates):
        own = [
            row
            for row in rows
            if (row["method"], row["trial"], float(row["rate"])) == (name, "1", rate)
        ]
        assert [int(row["step"]) for row in own] == list(range(11))
        config = mssvm_trials.config_of(method, plan.C)
        application = config.create_application()
        application.dimension(trial.training)
        w = application.start(trial.training, np.random.default_rng([config.seed, 0]))
        for row in own:
            plane = application.augmented(w, trial.training)[0]
            plane = plane - application.completed(w, trial.training)
            value = 0.5 * float(w @ w) + plan.C * plane.value(w)
            assert float(row["objective"]) == pytest.approx(value, rel=1e-9)
            assert float(row["excess"]) >= 0
            w = w - rate * (w + plan.C * plane.gradient)


def test_steps_until_a_level_are_medians_over_trials():
    excess = np.array([[50.0, 9.0, 0.5], [50.0, 20.0, 9.0], [50.0, 8.0, 2.0]])
    assert mssvm_figure2._median(excess, 10.0, 2) == "1"
    assert mssvm_figure2._median(excess, 1.0, 2) == "> 2"
