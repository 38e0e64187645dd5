"""Belief propagation against exact inference: equal on trees, a lower bound elsewhere."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from mrf_cases import Graph, Problem, graph_file
from solver_cases import solving

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.inference import AUGMENTED, COMPLETED
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.cli import classify, learn
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.formats.mrf_text import HIDDEN
from lssvm.oracle import blocks
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on

SQUARE = """node a y 2 0 1:1
node b h 2 - 1:2
node c y 2 1 1:-1
node d h 2 - 1:0.5
edge a b yh
edge b c hy
edge c d yh
edge d a hy
"""
LOOPY = {"inference": "bp", "damping": 0.0, "tolerance": 1e-13}


def application(model, epsilons=(None, None), **options):
    return MarkovRandomField(MrfOptions(**options), Formulation(model, "margin", 1, *epsilons))


def grid(rng, side, hidden=True):
    """A grid whose nodes are y and h in turn, as the squares of a chessboard."""
    places = list(itertools.product(range(side), repeat=2))
    classes = ["h" if (a + b) % 2 and hidden else "z" for a, b in places]
    labels = [HIDDEN if name == "h" else int(rng.integers(2)) for name in classes]
    edges = {}
    for j, (a, b) in enumerate(places):
        for other in ((a + 1, b), (a, b + 1)):
            if other in places:
                k = places.index(other)
                edges[(j, k, classes[j] + classes[k])] = np.ones(1)
    return Graph(classes, labels, [rng.normal(size=2) for _ in places], edges)


def grids(rng, side, n, hidden=True):
    graphs = [grid(rng, side, hidden) for _ in range(n)]
    return packed([(Source("memory"), graph_file(graphs))])


@pytest.mark.parametrize(
    ("model", "epsilons"),
    [
        ("hcrf", (None, None)),
        ("loss_augmented_likelihood", (None, None)),
        ("epsilon", (0.25, 0.25)),
        ("lssvm", (None, None)),
    ],
)
@pytest.mark.parametrize("schedule", ["sequential", "parallel"])
def test_on_trees_it_is_exact(model, epsilons, schedule):
    rng = np.random.default_rng(0)
    for _ in range(100):
        problem = Problem(rng, model, epsilons, "tree")
        loopy = application(model, epsilons, schedule=schedule, **LOOPY)
        w = rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        found, bound = loopy.augmented(w, problem.examples)
        assert bound == np.inf
        assert found.value(w) == pytest.approx(upper, abs=1e-9)
        np.testing.assert_allclose(found.gradient, plane.gradient, atol=1e-9)
        plane = problem.app.completed(w, problem.examples)
        found = loopy.completed(w, problem.examples)
        assert found.value(w) == pytest.approx(plane.value(w), abs=1e-9)
        np.testing.assert_allclose(found.gradient, plane.gradient, atol=1e-9)
        exact = problem.app.marginals(w, problem.examples)
        np.testing.assert_allclose(loopy.marginals(w, problem.examples), exact, atol=1e-9)
        if schedule == "sequential":  # in parallel mixed-product may swing between two states
            assert np.all(loopy.predict(w, problem.examples).converged)


@pytest.mark.parametrize("model", ["lssvm", "mssvm"])
@pytest.mark.parametrize("shape", ["tree", "loop", "any"])
def test_rounded_states_give_planes_below_and_values_that_are_those_of_the_states(model, shape):
    rng = np.random.default_rng(1)
    for _ in range(60):
        problem = Problem(rng, model, shape=shape)
        loopy = application(model, inference="bp")
        w = rng.normal(size=problem.d)
        plane, _ = loopy.augmented(w, problem.examples)
        for v in (w, 3 * rng.normal(size=problem.d)):
            assert plane.value(v) <= problem.convex(v)[0] + 1e-9
        found, start = loopy.predict(w, problem.examples), 0
        for i, graph in enumerate(problem.graphs):
            outer = problem.outer(i)
            states = found.states[start : start + len(graph.classes)]
            start += len(graph.classes)
            graph.labels = [int(states[j]) if j in outer else HIDDEN for j in range(len(states))]
            value = problem.annealed(i, w, [], 0.0, problem.epsilon_h, truth=True)[0]
            if model == "lssvm":  # hidden states are rounded as well
                value = problem.phi(i, states) @ w
            assert found.values[i] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("zero", [True, False])
def test_a_tie_goes_to_the_lowest_state(zero):
    problem = Problem(np.random.default_rng(2), "lssvm", shape="loop")
    loopy = application("lssvm", inference="bp")
    found = loopy.predict(np.zeros(problem.d), problem.examples)
    assert set(found.states.tolist()) == {0}


def test_mixed_product_mostly_finds_the_marginal_map_of_small_grids():
    rng = np.random.default_rng(3)
    examples = grids(rng, 3, 200)
    w = rng.normal(size=examples.classes.dimension)
    best = application("mssvm", inference="exact").predict(w, examples)
    found = application("mssvm", inference="bp").predict(w, examples)
    losses = best.values - found.values
    assert losses.min() > -1e-9
    assert np.mean(losses < 1e-9) > 0.5
    zero = application("lssvm", inference="exact").predict(w, examples)
    assert np.mean(losses) < np.mean(best.values - zero.values)


def test_graphs_that_fit_are_exact_beside_others_that_do_not():
    rng = np.random.default_rng(4)
    graphs = [grid(rng, side) for side in (2, 4, 2, 3, 4)]
    examples = packed([(Source("memory"), graph_file(graphs))])
    examples.costs[:] = rng.random(5)
    w = rng.normal(size=examples.classes.dimension)
    for model in ("lssvm", "mssvm", "hcrf"):
        mixed = application(model, max_table=8)
        found = mixed.predict(w, examples)
        parts = {
            "exact": application(model, inference="exact"),
            "bp": application(model, inference="bp"),
        }
        plane, upper = mixed.augmented(w, examples)
        assert upper == np.inf
        gradient, loss, start = 0.0, 0.0, 0
        for i, kind in enumerate(("exact", "bp", "exact", "bp", "bp")):
            own = examples.slice(i, i + 1)
            alone = parts[kind].predict(w, own)
            stop = start + len(alone.states)
            np.testing.assert_array_equal(found.states[start:stop], alone.states)
            assert found.values[i] == pytest.approx(alone.values[0], abs=1e-12)
            start = stop
            part, _ = parts[kind].augmented(w, own)
            gradient, loss = gradient + part.gradient, loss + part.loss
        np.testing.assert_allclose(plane.gradient, gradient, atol=1e-12)
        assert plane.loss == pytest.approx(loss, abs=1e-9)


def test_a_sum_given_the_states_that_is_too_wide_is_left_to_beliefs_too():
    rng = np.random.default_rng(5)
    graph = grid(rng, 3)
    graph.classes = ["z"] + ["h"] * 8
    graph.labels = [1] + [HIDDEN] * 8
    graph.edges = {
        (a, b, graph.classes[a] + graph.classes[b]): np.ones(1) for a, b, _ in graph.edges
    }
    examples = packed([(Source("memory"), graph_file([graph]))])
    w = 0.2 * rng.normal(size=examples.classes.dimension)
    exact = application("mssvm", inference="exact").predict(w, examples)
    found = application("mssvm", max_table=4).predict(w, examples)
    assert found.states[0] == exact.states[0]
    assert found.values[0] == pytest.approx(exact.values[0], rel=0.05)


@pytest.mark.parametrize("model", ["lssvm", "mssvm", "hcrf"])
def test_training_with_it_says_that_the_gap_is_not_certified(model):
    values = {
        "application": {"name": "mrf", "inference": "bp", "sweeps": 30},
        "objective": {"model": model, "C": 0.1},
        "cccp": {"max_iterations": 2},
        "solver": {"epsilon": 0.05},
    }
    settings = Config.from_dict(values)
    app = settings.create_application()
    examples = grids(np.random.default_rng(6), 3, 4)
    found = learn_on(app, examples, settings)
    assert not found.record["certified"]
    assert np.all(np.isfinite(found.w))


def test_beliefs_that_do_not_settle_are_counted():
    rng = np.random.default_rng(7)
    app = application("mssvm", inference="bp", sweeps=1)
    examples = grids(rng, 3, 4)
    found = app.predict(rng.normal(size=app.dimension(examples)), examples)
    assert app.score(examples, found)["not_converged"] == 4
    assert app.training_warnings(examples, found) == [
        "belief propagation did not converge for 4 of 4 graphs at the end"
    ]


@pytest.mark.parametrize("labelled", [True, False])
def test_predictions_by_propagation_are_marked_counted_and_told(labelled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    text = "\n\n".join(SQUARE.replace("1:1", f"1:{rng.normal():.3f}") for _ in range(3))
    chain = text.split("\n\n")[0].rsplit("edge", 1)[0]  # without an edge it is a chain
    Path("x.txt").write_text(f"{text}\n\n{chain}")
    Path("c.yaml").write_text(
        "application: {name: mrf, max_table: 4, sweeps: 1}\ndata: {train: x.txt}\n"
        "objective: {model: lssvm, C: 10}\nsolver: {max_passes: 5}\n"
    )
    invoke = CliRunner().invoke
    assert invoke(learn, ["c.yaml", "m", "-q"]).exit_code in (0, 3)
    unknown = re.sub(r"^(node \S+ \S+ \S+) \d", r"\1 ?", Path("x.txt").read_text(), flags=re.M)
    if not labelled:
        Path("x.txt").write_text(unknown)
    result = invoke(classify, ["x.txt", "m", "out", "--json"])
    assert result.exit_code == 0, result.stderr
    told = "3 of 4 predictions are approximate, by belief propagation, which did not converge for "
    assert f"warning: {told}3 of them\n" in result.stderr
    records = [json.loads(line) for line in Path("out").read_text().splitlines()]
    marks = [(record.get("approximate"), record.get("converged")) for record in records]
    assert marks == [(True, False)] * 3 + [(None, None)]
    assert ("approximate   3" in result.stdout) == labelled
    result = invoke(classify, ["x.txt", "m", "out", "--format", "marginals"])
    sentence = "marginals: belief propagation did not converge in 3 of 3 runs"
    assert f"warning: {sentence}\n" in result.stderr
    assert invoke(classify, ["x.txt", "m", "out", "-q"]).stderr == ""


class Counting(MarkovRandomField):
    """Counts by itself what is asked and what does not converge."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seen = []
        infer = self.inference.infer

        def counted(task, *given, **named):
            found = infer(task, *given, **named)
            if task in (AUGMENTED, COMPLETED):
                self.seen.append((int(np.sum(~found.converged)), len(found.converged)))
            return found

        self.inference.infer = counted


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["bundle", "n-slack", "sgd"])
def test_every_iteration_tells_how_often_beliefs_did_not_settle(threads, method, monkeypatch):
    monkeypatch.setattr("lssvm.oracle.BLOCK_RULES", ((1000, 64),))
    values = {
        "application": {"name": "mrf", "inference": "bp", "sweeps": 12},
        "objective": {"model": "mssvm", "C": 5.0},
        "cccp": {"max_iterations": 3},
        "solver": solving(method, epsilon=0.05, epochs=4, batch_size=20),
    }
    settings = Config.from_dict(values)
    app = Counting(settings.application, settings.objective.formulation())
    observer, rows, between = Observer(), [], []
    observer.iterated = rows.append
    observer.passed = lambda passes, gap, goal, not_converged, objective: between.append(
        not_converged
    )
    examples = grids(np.random.default_rng(6), 3, 60)
    assert len(blocks(examples)) > 1
    learn_on(app, examples, settings, threads=threads, observer=observer)
    told = [row.not_converged["propagation"] for row in rows]
    assert len(told) == (1 if method == "sgd" else 3)
    assert np.sum(told, axis=0).tolist() == np.sum(app.seen, axis=0).tolist()
    assert all(0 < failed < runs for failed, runs in told)
    earlier = sum(some["propagation"][1] for some in between if some)
    assert 0 < earlier < sum(runs for _, runs in told)
    assert app.not_converged() == {}


def test_the_lines_and_the_log_of_a_run_tell_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text(SQUARE)
    (tmp_path / "c.yaml").write_text(
        "application: {name: mrf, inference: bp, sweeps: 1}\ndata: {train: x.txt}\n"
        "objective: {model: hcrf, C: 1}\nsolver: {method: bundle, max_passes: 3}\n"
        "cccp: {max_iterations: 1}\n"
    )
    for sweeps, failed in ((1, 5), (200, 0)):  # of three passes and two completions
        told = ["c.yaml", "m", "--log", "l", "--set", f"application.sweeps={sweeps}", "-v", "3"]
        lines = CliRunner().invoke(learn, told).stderr.splitlines()
        (line,) = [line for line in lines if line.startswith("   1 ")]
        assert line.endswith("  belief propagation did not converge in 5 of 5 runs") == bool(failed)
        log = [json.loads(line) for line in Path("l").read_text().splitlines()]
        (row,) = [row for row in log if row["event"] == "iteration"]
        assert row["not_converged"] == {"propagation": [failed, 5]}
        passes = [row["not_converged"] for row in log if row["event"] == "pass"]
        assert passes[-1] == {"propagation": [failed // 5, 1]}


def test_exact_inference_has_nothing_to_settle():
    app = application("mssvm", inference="auto")
    examples = grids(np.random.default_rng(7), 3, 4)
    app.augmented(np.zeros(app.dimension(examples)), examples)
    assert app.not_converged() == {}


def test_graphs_that_were_not_left_to_it_do_not_count():
    rng = np.random.default_rng(4)
    graphs = [grid(rng, side) for side in (2, 4, 2, 3, 4)]
    examples = packed([(Source("memory"), graph_file(graphs))])
    app = application("hcrf", max_table=8, sweeps=1)
    app.augmented(rng.normal(size=app.dimension(examples)), examples)
    assert app.not_converged() == {"propagation": (3, 3)}


def test_both_schedules_settle_at_the_same_beliefs():
    rng = np.random.default_rng(10)
    examples = grids(rng, 3, 20)
    w = 0.3 * rng.normal(size=examples.classes.dimension)
    found = [
        application("hcrf", schedule=schedule, **LOOPY).marginals(w, examples)
        for schedule in ("sequential", "parallel")
    ]
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize(("schedule", "equal"), [("parallel", True), ("sequential", False)])
def test_the_order_of_edges_matters_to_a_sequence_of_updates_alone(schedule, equal):
    rng = np.random.default_rng(11)
    graph = grid(rng, 3)
    app = application("hcrf", inference="bp", sweeps=3, schedule=schedule)
    examples = packed([(Source("memory"), graph_file([graph]))])
    w = rng.normal(size=app.dimension(examples))
    before = app.marginals(w, examples)
    graph.edges = dict(reversed(graph.edges.items()))
    turned = packed([(Source("memory"), graph_file([graph]))], examples.classes)
    after = app.marginals(w, turned)
    assert np.allclose(before, after, rtol=0, atol=1e-12) == equal


def test_two_temperatures_above_zero_are_refused():
    problem = Problem(np.random.default_rng(8), "epsilon", (0.5, 1.0), "loop")
    app = application("epsilon", (0.5, 1.0), inference="bp")
    with pytest.raises(LssvmError, match="belief propagation needs epsilon_y: 0, or epsilon_y equ"):
        app.augmented(np.zeros(problem.d), problem.examples)


@pytest.mark.parametrize("scale", [1e-6, 1e3, 1e6])
def test_beliefs_hold_at_any_scale_of_the_weights(scale):
    rng = np.random.default_rng(9)
    for model in ("hcrf", "mssvm"):
        problem = Problem(rng, model, shape="tree")
        w = scale * rng.normal(size=problem.d)
        loopy = application(model, **LOOPY)
        plane, _ = loopy.augmented(w, problem.examples)
        assert np.all(np.isfinite(plane.gradient))
        assert plane.value(w) == pytest.approx(problem.convex(w)[0], rel=1e-9)
