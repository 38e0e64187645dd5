"""Random fields one at a time in compiled code: against enumeration, and solved by visits."""

import itertools

import numpy as np
import pytest
from click.testing import CliRunner
from mrf_cases import Problem
from test_mrf_propagation import grids

from lssvm.applications.base import Formulation
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.cli import learn
from lssvm.config import Config
from lssvm.errors import DataError, LssvmError
from lssvm.executor import Executor
from lssvm.kernels import _dual_coordinate
from lssvm.offsets import cumulated
from lssvm.oracle import DataOracle
from lssvm.solvers import dual_coordinate
from lssvm.solvers.example_planes import UNKNOWN, ExamplePlanes
from lssvm.training import setup
from lssvm.training.cccp import Observer

MODELS = ("ssvm", "lssvm")
SHAPES = ("tree", "loop", "any")
C = 0.7


def problem_of(rng, model, shape="any", n=4, copies=8, **options):
    """Graphs of a few shapes, one of which costs nothing; options as of Problem."""
    problem = Problem(rng, model, shape=shape, n=n, copies=copies, **options)
    problem.examples.costs[0] = 0.0
    return problem


def config_of(model, method="dual-coordinate", epsilon=1e-7):
    return Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": model, "C": C},
            "solver": {"method": method, "epsilon": epsilon},
        }
    )


def trained(problem, model, method="dual-coordinate", epsilon=1e-7, threads=1):
    """The run of a solver to its gap."""
    config, examples = config_of(model, method, epsilon), problem.examples
    with Executor(threads) as executor:
        oracle = DataOracle(problem.app, examples, executor)
        run = setup.new_run(oracle, config, 0, None)
        rules = setup.rules_of(config, len(examples), hidden=problem.app.hidden)
        run.proceed(oracle, rules, Observer())
    return run


def asked(problem, w):
    """Completion, its scores, heights above it and the scores that come with them."""
    oracle, n = problem.app.example_oracle(problem.examples), len(problem.examples)
    planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=False, exact=False)
    truth, scores, out = oracle.truth.copy(), np.zeros(n), np.empty((2, n))
    inner = oracle.load(w)
    if problem.app.hidden:
        _dual_coordinate.completed(oracle.capsule, planes, inner, 0, n, truth, scores)
    _dual_coordinate.heights(oracle.capsule, planes, truth, inner, 0, n, out)
    return oracle, truth, scores, out


def states_of(problem, oracle, outputs, i):
    """The states of one graph, as a tuple."""
    return tuple(outputs[oracle.places[i] : oracle.places[i + 1]].tolist())


@pytest.mark.parametrize("model", MODELS)
def test_maxima_and_completions_equal_enumeration(model):
    rng = np.random.default_rng(3)
    for trial in range(60):
        problem = Problem(rng, model, shape=SHAPES[trial % 3], copies=2)
        w = problem.weights(rng, trial % 10 == 0)
        oracle, truth, scores, (heights, found) = asked(problem, w)
        for i in range(len(problem.examples)):
            outer = problem.outer(i, labels=True)
            best = problem.annealed(i, w, outer, 0.0, 0.0, charged=True)[0]
            # Sums of multiples of 1/64 are exact.
            assert heights[i] + found[i] == best
            states = states_of(problem, oracle, truth, i)
            score = float(problem.phi(i, states) @ w)
            assert found[i] == score == problem.annealed(i, w, [], 0.0, 0.0, truth=True)[0]
            if problem.app.hidden:
                assert scores[i] == score
            labels = problem.graphs[i].labels
            assert all(y < 0 or y == s for y, s in zip(labels, states, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_of_equal_maxima_it_takes_those_that_the_application_takes(model):
    rng, kept = np.random.default_rng(4), 0
    for trial in range(30):
        problem = Problem(rng, model, shape=SHAPES[trial % 3], copies=2)
        w = np.round(problem.weights(rng, trial % 3 == 0))
        oracle, truth, _, _ = asked(problem, w)
        examples, n = problem.examples, len(problem.examples)
        planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=False, exact=False)
        planes.limits, planes.truth = np.ones(n), truth
        order = np.arange(n, dtype=np.int32)
        maxima = problem.app.augmented_each(w, examples)
        gradients = problem.app.gradients(examples, maxima, np.arange(n)).toarray()
        for i in range(n):
            planes.w[:] = w
            status, *_ = _dual_coordinate.epoch(
                oracle.capsule, planes, order[i : i + 1], 0, 0.0, 60.0, False
            )
            assert status == _dual_coordinate.DONE
            if planes.counts[i]:
                kept += 1
                size = oracle.places[i + 1] - oracle.places[i]
                first = planes.first_output[i]
                states = tuple(planes.outputs[first : first + size].tolist())
                np.testing.assert_array_equal(problem.phi(i, states), gradients[i])
                assert planes.losses[planes.first[i]] == maxima.losses[i]
    assert kept > 30


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_its_optimum_is_that_of_the_n_slack_method(shape, seed):
    mine, other = (
        trained(problem_of(np.random.default_rng(seed), "ssvm", shape), "ssvm", method)
        for method in ("dual-coordinate", "n-slack")
    )
    assert mine.gap <= 1e-7
    assert mine.lower <= other.objective * (1 + 1e-12)
    assert other.lower <= mine.objective * (1 + 1e-12)
    # ½‖w‖² makes P strongly convex: ½‖w − w*‖² is at most the gap.
    near = sum(np.sqrt(2.0 * (run.objective - run.lower)) for run in (mine, other))
    assert np.linalg.norm(mine.solver.w - other.solver.w) <= near * (1 + 1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_with_hidden_nodes_each_convex_problem_is_certified(shape, seed):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, "lssvm", shape)
    run = trained(problem, "lssvm", epsilon=1e-5)
    w = run.solver.w

    def objective(w, completed):
        return 0.5 * float(w @ w) + C * (problem.convex(w)[0] - completed)

    assert run.converged
    truth, slope = problem.concave(w)
    assert run.objective == pytest.approx(objective(w, truth), rel=1e-10)
    falls = [value for value, _ in run.history]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(falls))
    # The lower bound holds everywhere, for the completion that the last problem had.
    for scale in (0.0, 1e-3, 1e-2, 0.1, 1.0):
        other = w + scale * rng.normal(size=len(w))
        assert objective(other, float(slope @ other)) >= run.objective - 1e-4 * run.objective


def kept_planes(problem, planes, truth):
    """Of each graph: the planes that are kept by the definition, their L and their α."""
    for i in range(len(problem.examples)):
        size = planes.places[i + 1] - planes.places[i]
        base = problem.phi(i, truth[planes.places[i] : planes.places[i + 1]])
        first, count = planes.first_output[i], planes.counts[i]
        outputs = planes.outputs[first : first + count * size].reshape(count, size)
        rows = np.array([problem.phi(i, states) - base for states in outputs])
        losses = problem.losses(i, outputs)
        own = slice(planes.first[i], planes.first[i] + count)
        np.testing.assert_array_equal(losses, planes.losses[own])
        yield i, rows.reshape(count, len(base)), losses, planes.alpha[own]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_w_and_products_are_those_of_the_planes_that_are_kept(model, seed):
    problem = problem_of(np.random.default_rng(seed), model)
    run = trained(problem, model, epsilon=1e-4)
    solver = run.solver
    planes, known = solver.planes, 0
    total, gained = np.zeros(problem.d), 0.0
    for i, rows, losses, alpha in kept_planes(problem, planes, solver.truth):
        total -= rows.T @ alpha
        gained += float(alpha @ losses)
        assert alpha.sum() <= planes.limits[i] * (1 + 1e-9)
        count, room, first = planes.counts[i], planes.rooms[i], planes.first_product[i]
        block = planes.products[first : first + room * room].reshape(room, room)[:count, :count]
        np.testing.assert_array_equal(block, block.T)
        found = block != UNKNOWN
        np.testing.assert_allclose(block[found], (rows @ rows.T)[found], atol=1e-12)
        known += int(found.sum())
    assert known > 0
    np.testing.assert_allclose(planes.w, total, atol=1e-10)
    lower = gained - 0.5 * float(total @ total)
    assert solver.lower - 1e-9 <= lower <= solver.objective * (1 + 1e-12)
    oracle = problem.app.example_oracle(problem.examples)
    heights = np.empty(len(planes))
    vector = np.random.default_rng(seed).normal(size=problem.d)
    rows, first = np.arange(len(planes.counts), dtype=np.int32), cumulated(planes.counts)[:-1]
    _dual_coordinate.dots(oracle.capsule, planes, solver.truth, vector, rows, first, heights)
    every = [rows for _, rows, *_ in kept_planes(problem, planes, solver.truth)]
    np.testing.assert_allclose(heights, np.concatenate(every) @ vector, atol=1e-12)


def test_a_product_is_the_same_to_the_last_bit_whichever_plane_is_asked_for():
    rng, compared = np.random.default_rng(8), 0
    problem = problem_of(rng, "ssvm", "tree", n=12, copies=0)
    examples = problem.examples
    examples.values[:] = rng.normal(size=len(examples.values))
    solver = trained(problem, "ssvm", epsilon=1e-2).solver
    planes, oracle = solver.planes, problem.app.example_oracle(examples)
    for i in np.flatnonzero(planes.counts > 1):
        count, room, first = planes.counts[i], planes.rooms[i], planes.first_product[i]
        block = planes.products[first : first + room * room].reshape(room, room)[:count, :count]
        found = []
        for own in range(count):
            # At its own direction a plane is high, and so the first one that is asked for.
            which = np.zeros(len(planes))
            which[planes.counts[:i].sum() + own] = 100.0
            block[:], planes.alpha[:], planes.w[:] = UNKNOWN, 0.0, 0.0
            order, first = np.array([i], dtype=np.int32), cumulated(planes.counts)[:-1]
            _dual_coordinate.combine(
                oracle.capsule, planes, solver.truth, which, order, first, planes.w
            )
            _dual_coordinate.epoch(oracle.capsule, planes, order, 0, 0.0, 60.0, True)
            found.append(block.copy())
        for one, other in itertools.combinations(found, 2):
            both = (one != UNKNOWN) & (other != UNKNOWN)
            np.testing.assert_array_equal(one[both], other[both])
            compared += np.count_nonzero(both)
    assert compared > 20


@pytest.mark.parametrize("model", MODELS)
def test_pauses_and_threads_change_no_bit(model, monkeypatch):
    found = []
    for seconds, threads in ((0.05, 1), (0.0, 1), (0.05, 2)):
        monkeypatch.setattr(dual_coordinate, "SECONDS", seconds)
        run = trained(problem_of(np.random.default_rng(8), model), model, threads=threads)
        found.append((run.solver.w.tobytes(), run.objective, run.lower))
    assert found[0] == found[1] == found[2]


class StopError(Exception):
    """A run is interrupted."""


@pytest.mark.parametrize("model", MODELS)
def test_a_run_goes_on_from_its_state_as_if_it_had_not_been_stopped(model, monkeypatch):
    monkeypatch.setattr(dual_coordinate, "SECONDS", 0.0)
    problem = problem_of(np.random.default_rng(9), model)
    whole, config = trained(problem, model), config_of(model)
    oracle = DataOracle(problem.app, problem.examples, Executor(1))
    rules = setup.rules_of(config, len(problem.examples), hidden=problem.app.hidden)
    run = setup.new_run(oracle, config, 0, None)
    for stop in itertools.count(3, 7):

        def between(countdown=iter(range(stop))):  # noqa: B008
            if next(countdown, None) is None:
                raise StopError

        try:
            run.proceed(oracle, rules, Observer(), between=between)
            break
        except StopError:
            values, arrays = run.solver.state()
            arrays = {name: array.copy() for name, array in arrays.items()}
            run.solver = setup.new_solver(problem.app, problem.examples, config)
            run.solver.restore(values, arrays)
    assert stop > 3
    assert run.solver.w.tobytes() == whole.solver.w.tobytes()
    assert run.lower == whole.lower


WIDE = "has width .* exact inference needs a factor of .* entries; expected at most 20"


def test_where_inference_is_not_exact_it_is_not_offered():
    wide = grids(np.random.default_rng(0), 4, 2, hidden=False)
    for inference in ("auto", "exact", "spanning-forests"):
        options = MrfOptions(inference=inference, max_table=20)
        application = MarkovRandomField(options, Formulation("ssvm"))
        assert not application.has_example_oracle(wide)
        with pytest.raises(DataError, match=WIDE):
            application.example_oracle(wide)
    loopy = MarkovRandomField(MrfOptions(inference="bp"), Formulation("ssvm"))
    assert not loopy.has_example_oracle(wide)
    with pytest.raises(LssvmError, match=r"expected application\.inference: auto or exact"):
        loopy.example_oracle(wide)
    able = MarkovRandomField(MrfOptions(), Formulation("ssvm"))
    assert able.has_example_oracle(wide)


TREES = """\
graph a
node 1 v 2 0 1:1
node 2 v 2 1 1:-1
edge 1 2 e

graph b
node 1 v 2 1 1:-1
node 2 v 2 1 1:-2
edge 1 2 e
"""


@pytest.mark.parametrize(
    ("model", "options", "solver"),
    [
        ("ssvm", "", "dual-coordinate"),
        ("lssvm", "", "dual-coordinate"),
        ("ssvm", ", inference: exact", "dual-coordinate"),
        ("ssvm", ", inference: spanning-forests", "dual-coordinate"),
        ("ssvm", ", inference: bp", "bundle"),
        ("ssvm", ", max_table: 3", "bundle"),
        ("mssvm", "", "bundle"),
        ("hcrf", "", "lbfgs"),
    ],
)
def test_auto_takes_it_where_all_inference_is_a_maximum(
    model, options, solver, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text(TREES)
    config = f"application: {{name: mrf{options}}}\ndata: {{train: t.txt}}\n"
    config += f"objective: {{model: {model}, C: 1}}\nsolver: {{epsilon: 0.1}}\n"
    (tmp_path / "c.yaml").write_text(config)
    result = CliRunner().invoke(learn, ["c.yaml", "m"])
    assert f"solver: {solver}, because" in result.stderr
    assert "Traceback" not in result.output
    named = CliRunner().invoke(learn, ["c.yaml", "n", "--set", "solver.method=dual-coordinate"])
    # The gap is not certified where inference is by belief propagation.
    done = 3 if "bp" in options or "max_table" in options else 0
    assert result.exit_code == named.exit_code == done, result.output + named.output
