"""Random fields as an application: training, prediction, metrics, output, settings."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from mrf_cases import Problem, write_npz
from scipy import optimize
from solver_cases import solving

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import LANES, packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.cli import classify, learn
from lssvm.config import Config, set_values
from lssvm.errors import ConfigError, DataError, LssvmError
from lssvm.executor import Executor
from lssvm.formats.mrf_text import read_graphs
from lssvm.model import Model
from lssvm.oracle import DataOracle, blocks
from lssvm.simulation import mrf as simulate_mrf
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.dual_coordinate_rows import DualCoordinateRows
from lssvm.solvers.n_slack import NSlack
from lssvm.solvers.qp import SimplexQP
from lssvm.solvers.solver import Initialisation
from lssvm.training.session import learn_on

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data" / "mrf"
KINDS = {"n-slack": NSlack, "dual-coordinate": lambda d: DualCoordinateRows(d, batch_size=2)}
SMALL = """\
graph a cost=2
node 1 y 2 1 1:1 2:0.5
node 2 h 2 - 1:1
node 3 y 2 ? 2:-1
edge 1 2 yh
edge 2 3 hy 1:0.5

node 1 y 2 0
node 2 y 2 1 1:2
"""


def config(model="mssvm", C=1.0, **sections):
    values = {
        "application": {"name": "mrf"},
        "data": {"train": "train.txt", "test": "test.txt"},
        "objective": {"model": model, "C": C},
    }
    for name, section in sections.items():
        values[name] = values.get(name, {}) | section
    return Config.from_dict(values, base=DATA)


def read(text, tmp_path, app=None):
    path = tmp_path / "graphs.txt"
    path.write_text(text)
    app = app or MarkovRandomField(MrfOptions())
    return app, app.read([Source(str(path))])


@pytest.mark.parametrize("model", ["lssvm", "mssvm", "hcrf", "loss_augmented_likelihood"])
def test_the_hidden_chain_is_learnt_with_a_certified_gap(model):
    settings = config(model)
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 12)
    found = learn_on(app, examples, settings)
    assert found.record["certified"]
    assert found.record["converged"]
    assert found.record["gap"] <= 1e-3
    (run,) = found.record["restarts"]
    objectives = [objective for objective, _ in run["history"]]
    assert len(objectives) > 1
    assert objectives == sorted(objectives, reverse=True)
    zero = app.predict(np.zeros(len(found.w)), examples)
    best = app.score(examples, app.predict(found.w, examples))["error"]
    assert best < app.score(examples, zero)["error"]


@pytest.mark.parametrize("epsilons", [(1.0, 1.0), (0.5, 1.0)])
def test_the_convex_problem_has_the_optimum_that_scipy_finds(epsilons):
    problem = Problem(np.random.default_rng(0), "epsilon", epsilons, "any", n=6)
    app, examples = problem.app, problem.examples
    w0 = app.start(examples, np.random.default_rng(1))
    completion = app.completed(w0, examples)

    def objective(w):
        plane = app.augmented(w, examples)[0] - completion
        return 0.5 * w @ w + plane.value(w), w + plane.gradient

    known = optimize.minimize(objective, w0, jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
    bundle = Bundle(np.zeros(problem.d), completion, SimplexQP("auto"), 0.1)
    oracle = DataOracle(app, examples, Executor(1))
    solution = bundle.minimise(oracle, 1.0, lambda primal: 1e-6 * abs(primal), max_passes=5000)
    assert solution.lower <= known.fun + 1e-9
    assert solution.primal == pytest.approx(known.fun, rel=1e-5)


def test_lbfgs_and_the_bundle_agree_on_the_hidden_crf():
    found = []
    for method in ("bundle", "lbfgs"):
        settings = config("hcrf", 0.1, solver={"method": method, "epsilon": 1e-5})
        app = settings.create_application()
        examples = app.read(settings.sources("train")).slice(0, 10)
        model = learn_on(app, examples, settings)
        assert model.record["certified"]
        found.append(model.record["objective"])
    assert found[0] == pytest.approx(found[1], rel=1e-3)


@pytest.mark.parametrize("method", list(KINDS))
@pytest.mark.parametrize("epsilons", [(0.0, 1.0), (0.0, 0.0), (1.0, 1.0), (0.5, 1.0), (0.25, 0.5)])
def test_solvers_of_single_graphs_certify_the_optimum_of_the_convex_problem(method, epsilons):
    """P of the first completion has the lowest value that the bundle certifies, by both bounds."""
    problem = Problem(np.random.default_rng(3), "epsilon", epsilons, "any", n=6)
    app, examples = problem.app, problem.examples
    w0 = app.start(examples, np.random.default_rng(1))
    oracle = DataOracle(app, examples, Executor(1))
    completion = app.completed(w0, examples)
    solver = KINDS[method](problem.d)
    solver.initialise(oracle, Initialisation(w0))
    bundle = Bundle(np.zeros(problem.d), completion, SimplexQP("auto"), 0.1)
    found, known = [
        each.minimise(oracle, 2.0, lambda primal: 1e-5 * abs(primal), max_passes=5000)
        for each in (solver, bundle)
    ]

    plane = app.augmented(found.w, examples)[0] - completion
    assert found.primal == pytest.approx(0.5 * found.w @ found.w + 2.0 * plane.value(found.w))
    assert found.primal - found.lower <= 1e-5 * found.primal
    assert known.lower <= found.primal + 1e-12
    assert found.lower <= known.primal + 1e-12


@pytest.mark.parametrize("method", list(KINDS))
@pytest.mark.parametrize("model", ["lssvm", "mssvm", "hcrf", "loss_augmented_likelihood"])
def test_cccp_with_planes_of_single_graphs_lowers_the_objective_itself(model, method):
    settings = config(model, 0.3, solver=solving(method, epsilon=1e-3, batch_size=4))
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 12)
    model = learn_on(app, examples, settings)
    record = model.record
    assert record["certified"]
    assert record["converged"]
    (run,) = record["restarts"]
    objectives = [objective for objective, _ in run["history"]]
    assert len(objectives) > 1
    assert objectives == sorted(objectives, reverse=True)
    difference = app.augmented(model.w, examples)[0] - app.completed(model.w, examples)
    value = 0.5 * model.w @ model.w + 0.3 * difference.value(model.w)
    assert record["objective"] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("method", list(KINDS))
def test_solvers_of_single_graphs_go_on_from_what_they_saved(method):
    problem = Problem(np.random.default_rng(3), "mssvm", shape="any", n=6)
    oracle = DataOracle(problem.app, problem.examples, Executor(1))
    new = KINDS[method]
    first, second = new(problem.d), new(problem.d)
    first.initialise(
        oracle, Initialisation(problem.app.start(problem.examples, np.random.default_rng(1)))
    )
    first.minimise(oracle, 2.0, lambda primal: 0.1 * abs(primal))
    first.complete(oracle)
    assert np.any(first.truth_losses > 1.0)
    values, arrays = first.state()
    second.restore(values, {name: array.copy() for name, array in arrays.items()})
    found = [
        each.minimise(oracle, 2.0, lambda primal: 1e-4 * abs(primal)) for each in (first, second)
    ]
    assert np.array_equal(found[0].w, found[1].w)
    assert found[0].lower == found[1].lower
    assert found[0].primal - found[0].lower <= 1e-4 * found[0].primal


def test_planes_of_propagation_certify_nothing():
    settings = config("mssvm", 0.3, application={"inference": "bp"}, solver={"method": "n-slack"})
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 4)
    model = learn_on(app, examples, set_values(settings, {"solver.max_passes": 5}))
    assert not model.record["certified"]


def test_threads_change_no_bit():
    settings = config("mssvm")
    app = settings.create_application()
    examples = app.read(settings.sources("train"))
    examples = examples.take(np.tile(np.arange(len(examples)), 64))
    w = app.start(examples, np.random.default_rng(0))
    planes = []
    for threads in (1, 2):
        with Executor(threads) as executor:
            oracle = DataOracle(app, examples, executor)
            assert len(oracle.blocks) > 1
            planes.append(oracle.augmented(w)[0])
    np.testing.assert_array_equal(planes[0].gradient, planes[1].gradient)
    assert planes[0].loss == planes[1].loss


def test_blocks_of_graphs_of_one_shape_are_multiples_of_eight(monkeypatch):
    monkeypatch.setattr("lssvm.oracle.BLOCK_RULES", ((50_000, 64),))
    app = config("mssvm").create_application()
    examples = app.read(config("mssvm").sources("train"))
    many = examples.take(np.arange(1003) % len(examples))
    parts = blocks(many)
    assert len(parts) > 1
    assert {len(part) % LANES for part in parts[:-1]} == {0}
    assert sum(len(part) for part in parts) == 1003
    few = Problem(np.random.default_rng(0), "mssvm", n=7).examples
    assert few.together == 1


def test_the_first_weights_are_random_by_seed_or_zero():
    problem = Problem(np.random.default_rng(0), "mssvm")
    first = problem.app.start(problem.examples, np.random.default_rng(1))
    again = problem.app.start(problem.examples, np.random.default_rng(1))
    np.testing.assert_array_equal(first, again)
    assert 0 < np.abs(first).max() < 1
    zero = MarkovRandomField(MrfOptions(initialisation="zero"), Formulation("mssvm"))
    assert not zero.start(problem.examples, np.random.default_rng(1)).any()


def test_a_structural_svm_refuses_what_is_hidden(tmp_path):
    app = MarkovRandomField(MrfOptions(), Formulation("ssvm"))
    _, examples = read(SMALL, tmp_path, app)
    with pytest.raises(DataError) as caught:
        app.start(examples, np.random.default_rng(0))
    assert str(caught.value) == (
        f"{tmp_path}/graphs.txt:1: graph 'a' has a node without a label, '2'; "
        "expected labels, or an objective.model other than ssvm"
    )


def test_a_structural_svm_is_one_convex_problem():
    settings = config("ssvm", application={"initialisation": "zero"})
    problem = Problem(np.random.default_rng(0), "ssvm", n=8)
    found = learn_on(settings.create_application(), problem.examples, settings)
    assert len(found.record["restarts"][0]["history"]) == 1
    assert found.record["certified"]
    assert found.record["converged"]


def test_metrics_and_outputs_count_what_is_known(tmp_path):
    app, examples = read(SMALL, tmp_path)
    names = list(app.feature_names())
    assert names[0] == "y feature 1: 0"
    assert names[-1] == "hy feature 1: 1, 1"
    assert len(names) == app.dimension(examples) == 4 + 2 + 4 + 4
    w = np.zeros(len(names))
    w[names.index("y feature 1: 1")] = 1.0
    found = app.predict(w, examples)
    assert found.states.tolist() == [1, 0, 0, 0, 1]
    assert app.score(examples, found) == {
        "error": 0.0,
        "accuracy": 100.0,
        "loss": 0.0,
        "graphs": 2,
        "labels": 3,
        "missing": 1,
        "hidden": 1,
        "approximate": 0,
        "not_converged": 0,
    }
    worst = app.predict(-w, examples)
    assert app.score(examples, worst)["error"] == pytest.approx(200 / 3)
    assert app.losses(examples, worst).tolist() == [1.0, 1.0]
    file = io.StringIO()
    app.write(examples, found, file)
    assert file.getvalue() == "graph\tnode\tlabel\na\t1\t1\na\t3\t0\n2\t1\t0\n2\t2\t1\n"
    file = io.StringIO()
    app.formats["marginals"](examples, found, file)
    lines = file.getvalue().splitlines()
    assert lines[0] == "graph\tnode\tlabel\tmarginals"
    assert lines[1] == "a\t1\t1\t0.268941 0.731059"
    assert lines[2] == "a\t3\t0\t0.500000 0.500000"
    assert list(app.records(examples, found)) == [
        {"id": "a", "y": {"1": 1, "3": 0}, "h": {"2": 0}, "score": 1.0}
        | {"gold": {"1": 1}, "loss": 0.0},
        {"id": "2", "y": {"1": 0, "2": 1}, "h": {}, "score": 2.0}
        | {"gold": {"1": 0, "2": 1}, "loss": 0.0},
    ]
    assert examples.costs.tolist() == [2.0, 1.0]
    assert app.warnings(examples) == ["1 label is missing: hidden in training"]


def test_more_than_the_best_states_are_refused(tmp_path):
    app, examples = read(SMALL, tmp_path)
    with pytest.raises(LssvmError, match="--top 2: application 'mrf' finds the best states only"):
        app.predict(np.zeros(app.dimension(examples)), examples, 2)


def test_the_commands_train_save_and_predict(tmp_path):
    model, out = str(tmp_path / "m"), str(tmp_path / "out")
    settings = ["--set", "objective.C=0.05", "--set", "solver.epsilon=0.01"]
    path = str(ROOT / "configs" / "mrf.yaml")
    assert CliRunner().invoke(learn, [path, model, "-q", *settings]).exit_code == 0
    done = CliRunner().invoke(
        classify, [str(DATA / "test.txt"), model, out, "--format", "marginals"]
    )
    assert done.exit_code == 0
    assert "error" in done.stdout
    rows = [line.split("\t") for line in Path(out).read_text().splitlines()[1:]]
    assert len(rows) == 600
    for row in rows:
        assert sum(map(float, row[3].split())) == pytest.approx(1.0, abs=2e-6)
    loaded = Model.load(model)
    archive = tmp_path / "test.npz"
    write_npz(archive, read_graphs(DATA / "test.txt"))
    done = CliRunner().invoke(classify, [str(archive), model, out, "--json", "-q"])
    assert done.exit_code == 0
    records = [json.loads(line) for line in Path(out).read_text().splitlines()]
    examples = loaded.application.read([Source(str(DATA / "test.txt"))])
    found = loaded.application.predict(loaded.w, examples)
    assert [row["score"] for row in records] == pytest.approx(found.values.tolist())


def test_the_temperatures_are_kept_with_the_model(tmp_path):
    settings = config("epsilon", objective={"epsilon_y": 0.25, "epsilon_h": 0.5})
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 2)
    learn_on(app, examples, settings).save(tmp_path / "m")
    again = Model.load(tmp_path / "m").application
    assert (again.epsilon_y, again.epsilon_h) == (app.epsilon_y, app.epsilon_h) == (0.25, 0.5)


def test_other_states_or_classes_than_in_training_are_refused_with_their_line(tmp_path):
    app, _ = read(SMALL, tmp_path)
    for line, message in [
        (
            "node 1 z 2 0",
            "2: the class 'z' of nodes was not seen in training; expected a known one",
        ),
        ("node 1 y 3 0", "2: class 'y' has 3 states here; expected 2 as before"),
        (
            "node 1 y 2 0\nnode 2 y 2 0\nedge 1 2 yy",
            "4: the class 'yy' of edges was not seen in training; expected a known one",
        ),
    ]:
        with pytest.raises(DataError) as caught:
            read(f"# comment\n{line}\n", tmp_path, app)
        assert str(caught.value) == f"{tmp_path}/graphs.txt:{message}"
    text = "node 1 y 2 0\nnode 2 z 3 0\nedge 1 2 e\nedge 2 1 e\n"
    with pytest.raises(DataError, match=r":4: class 'e' has 3 and 2 states at its ends here; exp"):
        read(text, tmp_path)
    _, examples = read("node 1 y 2 0 1:1 5:1\n", tmp_path, app)
    assert examples.values.tolist() == [1.0]


def test_files_are_joined_in_order(tmp_path):
    (tmp_path / "a").write_text(SMALL)
    one = MarkovRandomField(MrfOptions()).read([Source(str(tmp_path / "a"))])
    files = [
        (Source("a"), read_graphs(tmp_path / "a")),
        (Source("b", cost=3.0), read_graphs(tmp_path / "a")),
    ]
    both = packed(files)
    assert len(both) == 4
    assert both.costs.tolist() == [2.0, 1.0, 2.0, 3.0]
    assert both.take(np.array([2, 3])).ends.tolist() == one.ends.tolist()
    np.testing.assert_array_equal(both.tables, np.tile(one.tables, 2))


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ({"model": "epsilon"}, "objective.epsilon_y: missing; expected a number"),
        ({"model": "epsilon", "epsilon_y": 1.0}, "objective.epsilon_h: missing; expected a number"),
        (
            {"model": "mssvm", "epsilon_h": 1.0},
            "objective.epsilon_h: expected objective.model: epsilon",
        ),
        (
            {"model": "lssvm", "epsilon_y": 0.0},
            "objective.epsilon_y: expected objective.model: epsilon",
        ),
        ({"model": "epsilon", "epsilon_y": -1.0, "epsilon_h": 1.0}, "objective.epsilon_y"),
        ({"model": "crf"}, "objective.model: application 'mrf' has no model 'crf'"),
    ],
)
def test_temperatures_are_for_one_model(objective, message):
    with pytest.raises(ConfigError) as caught:
        Config.from_dict({"application": {"name": "mrf"}, "objective": objective})
    assert message in str(caught.value)


def test_lbfgs_takes_smooth_temperatures_only():
    def settings(epsilon_y, epsilon_h):
        objective = {"model": "epsilon", "epsilon_y": epsilon_y, "epsilon_h": epsilon_h}
        values = {"application": {"name": "mrf"}, "objective": objective}
        return Config.from_dict(values | {"solver": {"method": "lbfgs"}})

    assert settings(0.5, 0.1).objective.epsilon_h == 0.1
    with pytest.raises(
        ConfigError, match=r"lbfgs needs objective\.epsilon_y and epsilon_h above 0"
    ):
        settings(0.0, 1.0)
    with pytest.raises(ConfigError, match=r"lbfgs needs a smooth objective\.model"):
        config("mssvm", solver={"method": "lbfgs"})


def test_simulated_chains_are_those_of_the_repository(tmp_path):
    simulate_mrf.write_chains(tmp_path)
    for name in ("train.txt", "test.txt"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_sampled_states_follow_their_distribution():
    rng = np.random.default_rng(0)
    chains = simulate_mrf.drawn(rng)
    counts, expected = np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(4000):
        x, states = simulate_mrf.sampled(rng, chains, 2)
        counts[tuple(states)] += 1
        scores = chains.symbols[0, x[0]][:, None] + chains.symbols[1, x[1]] + chains.pairs[0]
        shares = np.exp(scores)
        expected += shares / shares.sum()
    np.testing.assert_allclose(counts / 4000, expected / 4000, atol=0.03)


BARE = "node a y 2 ? 1:1\nnode b h 2 -\n"


def test_a_graph_without_labels_does_not_keep_the_others_from_being_scored(tmp_path):
    app, examples = read(f"{SMALL}\n{BARE}", tmp_path)
    assert examples.labelled
    score = app.score(examples, app.predict(np.zeros(app.dimension(examples)), examples))
    assert (score["graphs"], score["labels"], score["error"]) == (3, 3, pytest.approx(200 / 3))


def test_graphs_without_any_label_have_no_error_and_nothing_is_learnt_from_them(tmp_path):
    app, examples = read(BARE, tmp_path)
    assert not examples.labelled
    score = app.score(examples, app.predict(np.zeros(app.dimension(examples)), examples))
    assert score["error"] is score["accuracy"] is None
    with pytest.raises(DataError) as caught:
        app.start(examples, np.random.default_rng(0))
    assert str(caught.value) == (
        f"{tmp_path}/graphs.txt:1: graph '1' has no labels, and no other graph has any; "
        "expected labels"
    )


def test_graphs_without_any_feature_are_refused(tmp_path):
    app, examples = read("node a y 2 0\nnode b y 2 1\n", tmp_path)
    with pytest.raises(
        DataError, match=r"txt:1: graph '1' has no features, and no other graph has any"
    ):
        app.start(examples, np.random.default_rng(0))
