"""Belief propagation against exact inference: equal on trees, a lower bound elsewhere."""

import itertools

import numpy as np
import pytest
from mrf_cases import Graph, Problem, graph_file

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.formats.mrf_text import HIDDEN
from lssvm.train import learn_on

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
        mixed = application(model, table=8)
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
    found = application("mssvm", table=4).predict(w, examples)
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
    assert app.score(examples, found)["unsettled"] == 4
    assert app.training_warnings(examples, found) == [
        "belief propagation did not converge for 4 of 4 graphs at the end"
    ]


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
