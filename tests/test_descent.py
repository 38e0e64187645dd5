"""Descent: on F itself and inside CCCP, against enumeration, the bundle and an exact solver."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import toy
from click.testing import CliRunner
from mrf_cases import Problem
from solver_cases import solving
from test_checkpoint import Stopper, essentials

from lssvm.applications.per_example import Pairs
from lssvm.cli import learn
from lssvm.cli.group import cv, show
from lssvm.config import Config
from lssvm.config.checks import unfit
from lssvm.config.yaml12 import Document, Place
from lssvm.errors import ConfigError, LssvmError, StoppedError
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.plane import Plane
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.gradient import Gradient
from lssvm.solvers.qp import SimplexQP
from lssvm.solvers.sgd import Sgd
from lssvm.solvers.steps import Steps
from lssvm.training.cccp import Observer
from lssvm.training.session import Saving, learn_on

ROOT = Path(__file__).parents[1]


def enumerated(app, pairs, w, C):
    """F at w and a subgradient of it, by looking at every output and hidden value."""
    value, slope = 0.5 * w @ w, w.copy()
    for x, y, cost in zip(pairs.inputs, pairs.outputs, pairs.costs, strict=True):
        scores = app.tables[x] @ w
        augmented = scores + app.losses[y][:, None]
        found = np.unravel_index(np.argmax(augmented), augmented.shape)
        h = np.argmax(scores[y])
        value += C * cost * (augmented.max() - scores[y].max())
        slope += C * cost * (app.tables[x][found] - app.tables[x, y, h])
    return value, slope


def oracle_of(app, pairs):
    return DataOracle(app, pairs, Executor(1))


def problem(seed, n_hidden=1, **options):
    app, pairs = toy.random_problem(seed, n_hidden=n_hidden, **options)
    oracle = oracle_of(app, pairs)
    return app, pairs, oracle, app.start(pairs, np.random.default_rng(seed))


def config(method, C=0.3, **solver):
    values = {
        "application": {"name": "multiclass"},
        "objective": {"C": C},
        "solver": {"method": method, **solver},
    }
    return Config.from_dict(values)


@pytest.mark.parametrize("seed", range(20))
def test_a_step_on_f_is_along_the_difference_of_the_subgradients(seed):
    app, pairs, oracle, _ = problem(seed, n_hidden=3)
    rng = np.random.default_rng(seed)
    w = rng.integers(-8, 9, 5) / 8
    solver = Sgd(w, Steps(0.01, "constant"), epochs=3, batch_size=len(pairs), average=False)
    solver.minimise(oracle, 0.5, lambda primal: 0.0)
    for _ in range(3):
        w = w - 0.01 * enumerated(app, pairs, w, 0.5)[1]
    np.testing.assert_allclose(solver.w, w, rtol=1e-12)
    value, _ = enumerated(app, pairs, solver.w, 0.5)
    assert solver.primal(0.5) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("method", ["sgd", "gradient"])
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_of_the_record_is_f_at_the_weights(seed, method):
    app, pairs, _, _ = problem(seed, n_hidden=3, n=20)
    model = learn_on(app, pairs, config(**solving(method, max_passes=100, epochs=5)))
    value, _ = enumerated(app, pairs, model.w, 0.3)
    assert model.record["objective"] == pytest.approx(value, rel=1e-12)
    assert value < enumerated(app, pairs, np.zeros(5), 0.3)[0]
    assert model.record["concave"] <= 0.0 or np.any(model.w)


@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_enclose_the_optimum_of_an_exact_solver(seed, C):
    pytest.importorskip("clarabel")
    app, pairs, oracle, completion = problem(seed)
    optimum, _ = toy.convex_optimum(app, pairs, completion, C)
    for steps in (Steps(), Steps(0.1), Steps(1.0), Steps(0.01, "constant")):
        solver = Gradient(np.zeros(5), completion, steps)
        solution = solver.minimise(oracle, C, lambda primal: 0.0, max_passes=300)
        assert solution.certified
        assert solution.lower <= optimum * (1 + 1e-9)
        assert optimum <= solution.primal * (1 + 1e-9)
        assert solution.lower > 0.0
        assert solution.gap == pytest.approx(1 - solution.lower / solution.primal)
    automatic = Gradient(np.zeros(5), completion)
    goal = 1e-2 * optimum
    solution = automatic.minimise(oracle, C, lambda primal: goal, max_passes=20_000)
    assert solution.converged
    assert solution.primal - optimum <= goal


@pytest.mark.parametrize("rate", [None, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_on_a_convex_problem_sgd_and_the_bundle_agree(seed, rate):
    _, _, oracle, completion = problem(seed, n=40)
    bundle = Bundle(np.zeros(5), completion, SimplexQP())
    known = bundle.minimise(oracle, 0.3, lambda primal: 1e-6 * primal)
    for block in (1, 7, 40):
        solver = Sgd(np.zeros(5), Steps(rate), epochs=150, batch_size=block)
        found = solver.minimise(oracle, 0.3, lambda primal: 0.0)
        assert found.gap == np.inf
        assert found.lower == -np.inf
        assert not found.certified
        assert known.lower <= found.primal
        assert found.primal <= known.primal * 1.01


def test_chosen_steps_raise_the_bound_and_the_best_point_never_rises():
    _, _, oracle, completion = problem(0, n=30)
    solver = Gradient(np.zeros(5), completion)
    seen = []

    def look(gap, goal):
        dual = solver._dual()
        move = -solver.C * (solver.mean - completion.gradient)
        seen.append((solver.primal(1.0), solver.lower, dual, np.abs(solver.point - move).max()))

    solver.minimise(oracle, 1.0, lambda primal: 1e-2 * primal, between=look)
    primals, lowers, duals, offsets = np.array(seen).T
    assert len(seen) > 20
    assert np.all(np.diff(primals[1:]) <= 0.0)  # at w = 0 outputs tie: any other point is taken
    assert np.all(np.diff(lowers) >= 0.0)
    assert np.all(np.diff(duals) >= 0.0)
    assert np.all(lowers >= duals)
    assert offsets.max() <= 1e-10


def test_a_chosen_step_is_the_best_along_its_way():
    """The dual after any other share of the same step is lower."""
    _, _, oracle, completion = problem(1, n=30)
    solver = Gradient(np.zeros(5), completion)
    solver.minimise(oracle, 1.0, lambda primal: 0.0, max_passes=7)
    mean, loss, best = solver.mean, solver.mean_loss, None
    slope = solver.point + solver.cut - completion.gradient
    share = (solver._here() - solver._dual()) / (slope @ slope)
    assert 0.0 < share < 1.0

    def dual(share):
        move = mean + share * (solver.cut - mean) - completion.gradient
        level = loss + share * (solver.cut_loss - loss) - completion.loss
        return level - 0.5 * move @ move

    best = dual(share)
    assert all(dual(other) <= best for other in np.linspace(0.0, 1.0, 101))
    solver._step()
    assert solver._dual() == pytest.approx(best, rel=1e-12)


def test_the_plane_kept_stays_a_bound_when_the_completion_changes():
    app, pairs, oracle, completion = problem(2, n_hidden=3, n=20)
    solver = Gradient(np.zeros(5), completion)
    rng = np.random.default_rng(0)
    for _ in range(4):
        solver.minimise(oracle, 0.5, lambda primal: 0.02 * primal)
        assert solver.lower <= solver.primal(0.5)
        before = solver.primal(0.5)
        solver.complete(oracle)
        assert solver.primal(0.5) <= before * (1 + 1e-12)
        assert solver.primal(0.5) == pytest.approx(enumerated(app, pairs, solver.w, 0.5)[0])
        mean = Plane(solver.mean, solver.mean_loss)
        for w in rng.normal(size=(50, 5)):
            assert mean.value(w) <= oracle.augmented(w)[0].value(w) + 1e-9


def test_the_mean_is_weighted_by_the_number_of_the_step():
    _, _, oracle, _ = problem(0, n=24)
    points = []

    class Watched(Sgd):
        def _slope(self, part, w, runs):
            points.append(w)
            return super()._slope(part, w, runs)

    solver = Watched(np.zeros(5), Steps(0.02), epochs=4, batch_size=5, seed=3)
    solver.minimise(oracle, 0.5, lambda primal: 0.0)
    points = np.array([*points[1:], solver.point])
    assert len(points) == solver.taken == 4 * 5
    weights = np.arange(1, len(points) + 1)
    np.testing.assert_allclose(solver.mean, weights @ points / weights.sum(), rtol=1e-12)
    means, lasts = (
        oracle.augmented(w)[0].value(w) - oracle.completed(w).value(w)
        for w in (solver.mean, points[-1])
    )
    lower = min(
        0.5 * solver.mean @ solver.mean + 0.5 * means, 0.5 * points[-1] @ points[-1] + 0.5 * lasts
    )
    assert solver.primal(0.5) == pytest.approx(lower, rel=1e-12)


def test_sizes_of_steps():
    assert [Steps(0.5).size(t) for t in range(3)] == [0.5, 1 / 3, 0.25]
    assert [Steps(0.5, "constant").size(t) for t in range(3)] == [0.5, 0.5, 0.5]
    far = 10**6
    assert Steps(0.5).size(far) * far == pytest.approx(1.0, rel=1e-5)


def test_an_epoch_takes_every_run_once_and_sums_to_all():
    _, _, oracle, _ = problem(0, n_hidden=3, n=22)
    parts = oracle.parts(5)
    assert [len(part.costs) for part in parts] == [5, 5, 5, 5, 2]
    w = np.random.default_rng(0).normal(size=5)
    total = sum(part.augmented(w)[0].gradient for part in parts)
    np.testing.assert_allclose(total, oracle.augmented(w)[0].gradient, rtol=1e-12)
    assert oracle.parts(22) == oracle.parts(100) == [oracle]
    assert oracle.seconds >= sum(part.seconds for part in parts) > 0.0
    seen = []

    class Watched(Sgd):
        def _slope(self, part, w, runs):
            seen.append(part.examples.inputs)
            return super()._slope(part, w, runs)

    Watched(np.zeros(5), Steps(0.1), epochs=2, batch_size=5).minimise(
        oracle, 0.5, lambda primal: 0.0
    )
    runs = [part.examples.inputs for part in parts]
    assert sorted(seen[:5]) == sorted(seen[5:]) == runs
    assert seen[:5] != seen[5:] or seen[:5] != runs


def test_passes_are_counted_by_their_share_of_the_examples():
    app, pairs, _, _ = problem(0, n_hidden=3, n=22)
    for average, evaluations in ((True, 2), (False, 1)):
        settings = config("sgd", epochs=7, batch_size=5, learning_rate=0.1, average=average)
        record = learn_on(app, pairs, settings).record
        assert record["passes"] == 7 + evaluations
        assert record["completions"] == record["passes"] - 1  # the first is that of the start
        assert record["cccp_iterations"] == 1


@pytest.mark.parametrize("seed", range(8))
def test_the_rate_that_is_found_is_no_worse_than_its_neighbours(seed):
    _, _, oracle, _ = problem(seed, n_hidden=3, n=30)
    solver = Sgd(np.zeros(5), epochs=1, batch_size=3, seed=seed)
    solver.C = 1.0
    parts = oracle.parts(3)
    assert len(parts) == 10
    rate = solver._calibrated(parts)
    order = np.random.default_rng(seed).permutation(10)

    def end(rate):
        w = np.zeros(5)
        for taken, k in enumerate(order):
            plane = parts[k].augmented(w)[0] - parts[k].completed(w)
            w = w - rate / (1 + rate * taken) * (w + 10 * plane.gradient)
        return 0.5 * w @ w + oracle.augmented(w)[0].value(w) - oracle.completed(w).value(w)

    start = end(0.0)
    first = min(
        1.0,
        start
        / np.sum((oracle.augmented(np.zeros(5))[0] - oracle.completed(np.zeros(5))).gradient ** 2),
    )
    if end(rate) < start:
        assert end(rate) <= min(end(rate / 2), end(min(1.0, 2 * rate))) * (1 + 1e-12)
    else:
        assert rate == pytest.approx(first)
        assert all(end(first / 2**k) >= start for k in range(12))


def test_a_first_completion_takes_the_place_of_completing_at_zero():
    _, _, oracle, completion = problem(3, n_hidden=3)
    solver = Sgd(np.zeros(5), Steps(0.1), epochs=1, batch_size=100, average=False, first=completion)
    solver.minimise(oracle, 0.5, lambda primal: 0.0)
    zero = np.zeros(5)
    slope = 0.5 * (oracle.augmented(zero)[0].gradient - completion.gradient)
    np.testing.assert_allclose(solver.w, -0.1 * slope, rtol=1e-12)
    assert not np.allclose(completion.gradient, oracle.completed(zero).gradient)


class Truthful(toy.Toy):
    """Nothing is hidden."""

    hidden: ClassVar[bool] = False


@pytest.mark.parametrize("given", [False, True])
def test_without_hidden_values_the_truth_is_that_of_the_run(given):
    """Steps begin at w = 0, or at the weights of a first model."""
    app, pairs, _, _ = problem(0, n=22)
    app = Truthful(app.tables, app.losses)
    settings = config("sgd", C=0.5, epochs=1, batch_size=5, learning_rate=0.01, average=False)
    w, order = np.zeros(5), np.random.default_rng(0).permutation(5)
    initial = None
    if given:
        first = learn_on(app, pairs, settings)
        w = np.random.default_rng(1).normal(size=5)
        initial = Model(app, first.config, w, first.record, {})
    model = learn_on(app, pairs, settings, initial=initial)
    for taken, k in enumerate(order):
        rows = slice(5 * k, min(5 * k + 5, 22))
        run = Pairs(
            *(part[rows] for part in (pairs.inputs, pairs.outputs, pairs.names, pairs.costs))
        )
        slope = w + 5 * (enumerated(app, run, w, 0.5)[1] - w)
        w = w - 0.01 / (1 + 0.01 * taken) * slope
    np.testing.assert_allclose(model.w, w, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"learning_rate": 0.0}, "solver.learning_rate: expected a number greater than 0, got 0.0"),
        ({"learning_rate": 1.5}, "solver.learning_rate: expected a number of at most 1, got 1.5"),
        ({"epochs": 0}, "solver.epochs: expected a number of at least 1, got 0"),
        ({"decay": "invers"}, "solver.decay: expected 'inverse' or 'constant', got 'invers'"),
        (
            {"learning_ratee": 0.1},
            "solver.learning_ratee: unknown key; did you mean 'learning_rate'?",
        ),
        ({"average": 1}, "solver.average: expected true or false, got 1"),
        ({"cache": 2}, "solver.cache: a cache needs the solver bundle or cutting-plane"),
    ],
)
def test_faults_of_the_settings_are_told(text, message):
    with pytest.raises(ConfigError) as caught:
        config("sgd", **text)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["sgd", "gradient"])
def test_what_descent_cannot_do_is_refused(method):
    values = config(method).to_dict()
    with pytest.raises(ConfigError, match=f"{method} cannot solve objective.slack_norm: 2; expe"):
        Config.from_dict({**values, "objective": {"slack_norm": 2}})
    with pytest.raises(ConfigError, match=f"rbf cannot be trained by solver.method: {method}"):
        Config.from_dict({**values, "kernel": {"type": "rbf"}})


def test_a_loss_over_the_whole_data_set_has_no_stochastic_descent():
    class Whole(toy.Toy):
        decomposes: ClassVar[bool] = False

    section = {"application": {"name": "whole"}, "objective": {}, "solver": {"method": "sgd"}}
    ((_, message),) = unfit(Whole, Document(section, {(): Place((0, 0, 0), "c.yaml")}))
    assert message == (
        "solver.method: sgd needs a loss of each example, which application 'whole' does not "
        "have; expected bundle, proximal, cutting-plane or gradient"
    )
    section["solver"]["method"] = "gradient"
    assert unfit(Whole, Document(section, {(): Place((0, 0, 0), "c.yaml")})) == []


def test_the_command_says_that_no_gap_is_known(tmp_path):
    path, log = tmp_path / "model", tmp_path / "log"
    settings = ["--set", "solver.method=sgd", "--set", "solver.epochs=3", "--log", str(log)]
    done = CliRunner().invoke(learn, [str(ROOT / "configs/multiclass.yaml"), str(path), *settings])
    assert done.exit_code == 0
    assert "gap: none known (descent)" in done.stderr
    assert (
        "no gap is known; more solver.epochs show whether the objective still falls" in done.stderr
    )
    assert "not reached" not in done.stderr
    row = done.stderr.splitlines()[1].split()
    assert row[:2][0] == "1"
    assert row[4] == "none"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["gap"] for event in events if "gap" in event] == [None, None]
    record = Model.load(path).record
    assert record["gap"] is None
    assert record["lower_bound"] is None
    assert not record["certified"]
    shown = CliRunner().invoke(show, [str(path)])
    assert "no gap is known (solver sgd)" in shown.stdout
    assert "NOT reached" not in shown.stdout


@pytest.mark.parametrize("method", ["bundle", "lbfgs", "gradient", "sgd"])
def test_with_belief_propagation_nothing_is_certified(method):
    values = {
        "application": {"name": "mrf", "inference": "bp"},
        "data": {"train": "train.txt"},
        "objective": {"model": "hcrf", "C": 0.1},
        "solver": {"method": method},
    }
    settings = Config.from_dict(values, base=ROOT / "data" / "mrf")
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 12)
    record = learn_on(app, examples, settings).record
    assert not record["certified"]
    values["application"] = {"name": "mrf", "inference": "exact"}
    exact = Config.from_dict(values, base=ROOT / "data" / "mrf")
    known = learn_on(
        app := exact.create_application(), app.read(exact.sources("train")).slice(0, 12), exact
    )
    assert record["objective"] == pytest.approx(known.record["objective"], rel=1e-3)
    assert known.record["certified"] == (method != "sgd")


def test_cross_validation_takes_solvers_without_a_gap(tmp_path):
    path, table = tmp_path / "cv.yaml", tmp_path / "cv.json"
    path.write_text(
        "application: {name: multiclass}\n"
        f"data: {{train: {ROOT / 'data' / 'multiclass' / 'train.txt'}}}\n"
        "objective: {model: ssvm}\n"
        "solver: {method: sgd, epochs: 2}\n"
        "search: {grid: {objective.C: [0.1, 1]}, folds: 3}\n"
    )
    done = CliRunner().invoke(cv, [str(path), "--json", str(table), "--jobs", "1"])
    assert done.exit_code == 0
    runs = json.loads(table.read_text())["runs"]
    assert [run["gap"] for run in runs] == [None] * 6
    assert "not converged" in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.strip().startswith("0.1"))
    assert row[-2] == "0"


TEMPERATURES = {
    "lssvm": ("lssvm", (None, None)),
    "mssvm": ("mssvm", (None, None)),
    "hcrf": ("hcrf", (None, None)),
    "equal": ("epsilon", (0.5, 0.5)),
    "apart": ("epsilon", (0.25, 1.0)),
}


TRAINED = [(name, method) for name in TEMPERATURES for method in ("gradient", "sgd")]
TRAINED += [(name, "lbfgs") for name in ("hcrf", "equal", "apart")]  # smooth


@pytest.mark.parametrize(("name", "method"), TRAINED)
def test_the_objective_of_random_fields_is_that_of_enumeration(name, method):
    model, epsilons = TEMPERATURES[name]
    for seed in range(3):
        found = Problem(np.random.default_rng(seed), model, epsilons, "tree", n=5)
        objective = {"model": model, "C": 0.5}
        if model == "epsilon":
            objective |= dict(zip(("epsilon_y", "epsilon_h"), epsilons, strict=True))
        settings = Config.from_dict(
            {
                "application": {"name": "mrf"},
                "objective": objective,
                "solver": solving(method, epochs=20, max_passes=200),
            }
        )
        trained = learn_on(found.app, found.examples, settings)
        record, w = trained.record, trained.w
        value = 0.5 * w @ w + 0.5 * (found.convex(w)[0] - found.concave(w)[0])
        assert record["objective"] == pytest.approx(value, rel=1e-10)
        zero = 0.5 * (found.convex(0 * w)[0] - found.concave(0 * w)[0])
        assert value <= zero * (1 + 1e-9)
        assert record["certified"] == (method != "sgd")


def hidden_chains(C=1.0, count=10, **solver):
    """The hidden conditional random field of a few chains."""
    values = {
        "application": {"name": "mrf"},
        "data": {"train": "train.txt"},
        "objective": {"model": "hcrf", "C": C},
        "solver": {"method": "lbfgs", "epsilon": 1e-4, **solver},
    }
    settings = Config.from_dict(values, base=ROOT / "data" / "mrf")
    app = settings.create_application()
    return settings, app, app.read(settings.sources("train")).slice(0, count)


def test_a_constant_rate_ends_by_the_norm_of_the_gradient_as_algorithm_2_does():
    settings, app, examples = hidden_chains(
        C=0.1, method="gradient", learning_rate=0.1, decay="constant", gradient_norm=1e-3
    )
    oracle = oracle_of(app, examples)
    completion = oracle.completed(np.zeros(app.dimension(examples)))
    solver = Gradient.from_config(settings, app.dimension(examples), 0, None)
    solver.measure_from(completion)
    solution = solver.minimise(oracle, 0.1, lambda primal: 0.0)
    assert solution.converged
    w, norms = np.zeros_like(solution.w), []
    while not norms or norms[-1] > 1e-3:
        plane, _ = oracle.augmented(w)
        slope = w + 0.1 * (plane.gradient - completion.gradient)
        norms.append(float(np.linalg.norm(slope)))
        w = w - 0.1 * slope
    assert solver.taken == len(norms) - 1
    assert solver.problem_passes == len(norms)
    # P is strongly convex, so the gradient bounds the gap; the last plane alone proves as much.
    assert solution.primal - solution.lower <= 0.5 * norms[-1] ** 2 + 1e-12


class Rows(Observer):
    def __init__(self):
        self.rows = []

    def iterated(self, row):
        self.rows.append(row)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_lbfgs_on_f_certifies_the_convex_problem_at_its_last_point(C):
    settings, app, examples = hidden_chains(C)
    seen = Rows()
    trained = learn_on(app, examples, settings, observer=seen)
    record, oracle = trained.record, oracle_of(app, examples)
    assert record["certified"]
    assert record["converged"]
    assert record["gap"] <= 1e-4
    assert [row.decrease >= 0.0 for row in seen.rows] == [True] * len(seen.rows)
    bundle = Bundle(trained.w.copy(), oracle.completed(trained.w), SimplexQP())
    known = bundle.minimise(oracle, C, lambda primal: 1e-5 * primal)
    assert record["lower_bound"] <= known.primal
    assert known.lower <= record["objective"]
    plane, completion = oracle.augmented(trained.w)[0], oracle.completed(trained.w)
    slope = trained.w + C * (plane.gradient - completion.gradient)
    bound = record["objective"] - 0.5 * slope @ slope
    assert record["lower_bound"] >= bound - 1e-12 * abs(bound)


def test_lbfgs_on_f_needs_less_inference_than_the_bundle_inside_cccp():
    spent = {}
    for method in ("lbfgs", "bundle"):
        settings, app, examples = hidden_chains(method=method)
        record = learn_on(app, examples, settings).record
        spent[method] = record["passes"] + record["completions"], record["objective"]
    assert spent["lbfgs"][0] < spent["bundle"][0]
    assert spent["lbfgs"][1] <= spent["bundle"][1] * (1 + 1e-3)


def test_lbfgs_on_f_is_resumed_to_the_same_bytes(tmp_path):
    settings, app, examples = hidden_chains()
    whole = learn_on(app, examples, settings)
    path, stops, model = tmp_path / "checkpoint", 0, None
    while model is None:
        saving = Saving(path, 3, resume=stops > 0)
        try:
            model = learn_on(app, examples, settings, saving=saving, observer=Stopper(4))
        except StoppedError:
            stops += 1
    assert stops > 3
    assert essentials(model) == essentials(whole)


def test_a_given_completion_makes_the_first_problem_of_lbfgs_and_later_points_are_completed():
    settings, app, examples = hidden_chains()
    oracle = oracle_of(app, examples)
    given = oracle.completed(np.random.default_rng(0).normal(size=app.dimension(examples)))
    app.start = lambda examples, rng: given
    seen = Rows()
    model = learn_on(app, examples, settings, observer=seen)
    assert len(seen.rows) > 1
    assert model.record["certified"]
    assert model.record["objective"] < seen.rows[0].objective
    assert model.record["completions"] > len(seen.rows)


@pytest.mark.parametrize(
    ("method", "model", "expected"),
    [
        ("sgd", "ssvm", "descent on the objective itself, "),
        ("lbfgs", "crf", "descent on the objective itself, "),
        ("gradient", "ssvm", "1 CCCP iteration, "),
        ("bundle", "ssvm", "1 CCCP iteration, "),
    ],
)
def test_a_run_is_told_as_what_it_was(method, model, expected, tmp_path):
    data = Path(__file__).parents[1] / "data" / "sequence" / "train.conll"
    config = tmp_path / "c.yaml"
    config.write_text(
        "application: {name: sequence, columns: [word, tag, label]}\n"
        f"data: {{train: {data}}}\nobjective: {{model: {model}}}\n"
        f"solver: {json.dumps(solving(method, epochs=2, epsilon=0.1))}\n"
    )
    result = CliRunner().invoke(learn, [str(config), str(tmp_path / "m")])
    assert result.exit_code == 0, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith(expected)]
    assert ("plane" in line) == expected.startswith("1 CCCP")


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12, 1e200])
def test_features_of_any_scale_end_the_search_for_a_rate(scale):
    """A rate is found, or features that are too large for any are refused."""
    problem = Problem(np.random.default_rng(2), "mssvm", n=8)
    examples = replace(problem.examples, values=problem.examples.values * scale)
    settings = Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": "mssvm", "C": 1.0},
            "solver": {"method": "sgd", "epochs": 3},
        }
    )
    if scale < 1e200:
        found = learn_on(problem.app, examples, settings)
        assert np.all(np.isfinite(found.w))
    else:
        with pytest.raises(LssvmError, match="the slope of F is too long for float64; rescale"):
            learn_on(problem.app, examples, settings)
