"""Exact inference in random fields against enumeration, for every model and temperature."""

import itertools

import numpy as np
import pytest
from mrf_cases import STATES, Problem
from scipy.optimize import approx_fprime

from lssvm.applications.mrf import by_graph, plans
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.applications.mrf.plans import FIRST, SECOND
from lssvm.errors import DataError
from lssvm.kernels import _mrf

MODELS = {
    "ssvm": [(None, None)],
    "lssvm": [(None, None)],
    "mssvm": [(None, None)],
    "hcrf": [(None, None)],
    "loss_augmented_likelihood": [(None, None)],
    "epsilon": list(itertools.product([0.0, 0.25, 1.0], [0.0, 0.125, 2.0])),
}
FORMS = [(model, epsilons) for model, grid in MODELS.items() for epsilons in grid]
SHAPES = ("tree", "loop", "any")


@pytest.mark.parametrize(("model", "epsilons"), FORMS)
def test_values_and_gradients_equal_enumeration(model, epsilons):
    rng = np.random.default_rng([len(model), *(int(8 * (e or 0)) for e in epsilons)])
    for trial in range(100):  # three graphs each
        problem = Problem(rng, model, epsilons, SHAPES[trial % 3])
        w = problem.weights(rng, trial % 10 == 0) * (1 if trial % 2 else 3)
        plane, upper = problem.app.augmented(w, problem.examples)
        value, gradient = problem.convex(w)
        assert upper == plane.value(w)
        completion = problem.app.completed(w, problem.examples)
        truth, slope = problem.concave(w)
        if problem.epsilon_y == problem.epsilon_h == 0:
            assert upper == value
            assert completion.value(w) == truth
            assert completion.loss == 0.0
        assert upper == pytest.approx(value, abs=1e-10)
        assert completion.value(w) == pytest.approx(truth, abs=1e-10)
        if problem.epsilon_y > 0 and problem.epsilon_h > 0:
            np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=1e-10)
        if problem.epsilon_h > 0:
            np.testing.assert_allclose(completion.gradient, slope, rtol=0, atol=1e-10)
        v = problem.weights(rng)
        assert problem.convex(v)[0] >= plane.value(v) - 1e-10
        assert problem.concave(v)[0] >= completion.value(v) - 1e-10


@pytest.mark.parametrize(("model", "epsilons"), FORMS)
def test_each_graph_apart_equals_enumeration(model, epsilons, monkeypatch):
    rng = np.random.default_rng([len(model), *(int(8 * (e or 0)) for e in epsilons)])
    for trial in range(70):  # three graphs each
        problem = Problem(rng, model, epsilons, SHAPES[trial % 3])
        monkeypatch.setattr(by_graph, "COPIES", [1, 2 * problem.d, 2**20][trial % 3])
        app, examples, w = problem.app, problem.examples, problem.weights(rng, trial % 10 == 0)
        linear = problem.epsilon_y == problem.epsilon_h == 0
        found, completed = app.augmented_each(w, examples), app.completed_each(w, examples)
        for i in range(len(examples)):
            outer = problem.outer(i, labels=True)
            temperatures = problem.epsilon_y, problem.epsilon_h
            value, *_ = problem.annealed(i, w, outer, *temperatures, app.charged)
            truth, *_ = problem.annealed(i, w, [], 0.0, problem.epsilon_h, truth=True)
            tolerance = 0 if linear else 1e-10
            assert abs(found.values[i] - value) <= tolerance
            assert abs(completed.values[i] - truth) <= tolerance
        assert np.array_equal(found.uppers, found.values)
        rows = np.arange(len(examples))
        for each, plane in (
            (found, app.augmented(w, examples)[0]),
            (completed, app.completed(w, examples)),
        ):
            gradients = app.gradients(examples, each, rows)
            total = examples.costs @ gradients
            np.testing.assert_allclose(total, plane.gradient, rtol=0, atol=1e-12)
            np.testing.assert_allclose(each.losses + gradients @ w, each.values, atol=1e-12)
            assert examples.costs @ each.losses == pytest.approx(plane.loss, abs=1e-12)
            second = app.gradients(examples, each, rows[1:2])
            assert np.array_equal(second.toarray(), gradients.toarray()[1:2])


@pytest.mark.parametrize(("model", "epsilons"), FORMS)
def test_gradients_equal_differences(model, epsilons):
    rng = np.random.default_rng(3)
    for trial in range(6):
        problem = Problem(rng, model, epsilons, SHAPES[trial % 3])
        w = rng.normal(size=problem.d)
        plane, _ = problem.app.augmented(w, problem.examples)
        slopes = approx_fprime(w, lambda v, p=problem: p.app.augmented(v, p.examples)[1], 1e-6)
        np.testing.assert_allclose(plane.gradient, slopes, atol=2e-4)
        plane = problem.app.completed(w, problem.examples)
        slopes = approx_fprime(
            w, lambda v, p=problem: p.app.completed(v, p.examples).value(v), 1e-6
        )
        np.testing.assert_allclose(plane.gradient, slopes, atol=2e-4)


@pytest.mark.parametrize("zero", [True, False])
def test_maxima_are_attained_by_one_state_of_each_node_ties_included(zero):
    rng = np.random.default_rng(4)
    for trial in range(200):
        problem = Problem(rng, "lssvm", shape=SHAPES[trial % 3])
        w = problem.weights(rng, zero)
        found = problem.app.predict(w, problem.examples)
        start = 0
        for i, graph in enumerate(problem.graphs):
            states = tuple(found.states[start : start + len(graph.classes)])
            start += len(graph.classes)
            best = problem.annealed(i, w, [], 0.0, 0.0)[0]
            assert problem.phi(i, states) @ w == found.values[i] == best
            if zero:
                assert set(states) == {0}


@pytest.mark.parametrize("model", ["mssvm", "hcrf", "loss_augmented_likelihood"])
def test_prediction_is_the_marginal_map(model):
    rng = np.random.default_rng(5)
    for trial in range(100):
        problem = Problem(rng, model, shape=SHAPES[trial % 3])
        w = rng.normal(size=problem.d)
        found = problem.app.predict(w, problem.examples)
        start = 0
        for i, graph in enumerate(problem.graphs):
            n = len(graph.classes)
            value, _, _, marginals = problem.annealed(i, w, problem.outer(i), 0.0, 1.0)
            assert found.values[i] == pytest.approx(value, abs=1e-10)
            np.testing.assert_array_equal(found.states[start : start + n], marginals.argmax(axis=1))
            start += n


def test_marginals_equal_enumeration():
    rng = np.random.default_rng(6)
    for trial in range(100):
        problem = Problem(rng, "mssvm", shape=SHAPES[trial % 3])
        w = rng.normal(size=problem.d)
        found, start = problem.app.marginals(w, problem.examples), 0
        for i, graph in enumerate(problem.graphs):
            marginals = problem.annealed(i, w, [], 0.0, 1.0)[3]
            for j, name in enumerate(graph.classes):
                own = found[start : start + STATES[name]]
                np.testing.assert_allclose(own, marginals[j, : STATES[name]], rtol=0, atol=1e-10)
                start += STATES[name]
        assert start == len(found)


def test_both_parts_fall_monotonically_to_their_limit_as_the_temperature_of_h_falls():
    rng = np.random.default_rng(7)
    for trial in range(50):
        rows = []
        shape, seed = SHAPES[trial % 3], int(rng.integers(1 << 30))
        for epsilon in (2.0, 1.0, 0.5, 0.1, 1e-2, 1e-4, 0.0):
            problem = Problem(np.random.default_rng(seed), "epsilon", (0.0, epsilon), shape)
            w = np.random.default_rng(seed).normal(size=problem.d)
            convex = problem.app.augmented(w, problem.examples)[1]
            rows.append((convex, problem.app.completed(w, problem.examples).value(w)))
        differences = np.diff(np.array(rows), axis=0)
        assert np.all(differences <= 1e-12)
        np.testing.assert_allclose(rows[-2], rows[-1], atol=1e-2)


@pytest.mark.parametrize("copies", [2, 7, 10])
@pytest.mark.parametrize("model", ["lssvm", "mssvm", "hcrf"])
def test_graphs_of_one_shape_are_as_if_each_were_alone(model, copies):
    rng = np.random.default_rng([copies, len(model)])
    for trial in range(25):
        problem = Problem(rng, model, shape=SHAPES[trial % 3], n=1 + trial % 2, copies=copies)
        w, examples = problem.weights(rng, trial == 0), problem.examples
        plane, upper = problem.app.augmented(w, examples)
        assert upper == pytest.approx(problem.convex(w)[0], abs=1e-10)
        completion = problem.app.completed(w, examples)
        truth, slope = problem.concave(w)
        assert completion.value(w) == pytest.approx(truth, abs=1e-10)
        if model == "hcrf":
            np.testing.assert_allclose(plane.gradient, problem.convex(w)[1], rtol=0, atol=1e-10)
            np.testing.assert_allclose(completion.gradient, slope, rtol=0, atol=1e-10)
        w = rng.normal(size=problem.d)
        for inference in ("exact", "bp"):
            app = MarkovRandomField(MrfOptions(inference=inference), problem.app.formulation)
            whole, start = app.predict(w, examples), 0
            for i in range(len(examples)):
                alone = app.predict(w, examples.slice(i, i + 1))
                assert alone.values[0] == pytest.approx(whole.values[i], abs=1e-12)
                stop = start + len(alone.states)
                np.testing.assert_array_equal(alone.states, whole.states[start:stop])
                start = stop


@pytest.mark.parametrize("room", [0, 200, 2000])
@pytest.mark.parametrize("model", ["lssvm", "mssvm", "hcrf"])
def test_what_does_not_fit_in_memory_is_worked_out_again(model, room, monkeypatch):
    # 0: no probabilities kept, each graph alone; 200: some kept; 2000: some graphs side by side.
    monkeypatch.setattr(_mrf, "LARGE", room)
    rng = np.random.default_rng(room)
    for trial in range(30):
        problem = Problem(rng, model, shape=SHAPES[trial % 3], n=2, copies=6)
        w = problem.weights(rng)
        plane, upper = problem.app.augmented(w, problem.examples)
        assert upper == pytest.approx(problem.convex(w)[0], abs=1e-10)
        completion = problem.app.completed(w, problem.examples)
        truth, slope = problem.concave(w)
        assert completion.value(w) == pytest.approx(truth, abs=1e-10)
        if model == "hcrf":
            np.testing.assert_allclose(plane.gradient, problem.convex(w)[1], rtol=0, atol=1e-10)
            np.testing.assert_allclose(completion.gradient, slope, rtol=0, atol=1e-10)


def test_the_smallest_temperature_is_the_maximum():
    rng = np.random.default_rng(11)
    for inference in ("exact", "bp"):
        problem = Problem(rng, "epsilon", (5e-324, 5e-324), n=2, copies=4)
        app = MarkovRandomField(MrfOptions(inference=inference), problem.app.formulation)
        w = problem.weights(rng)
        plane, _ = app.augmented(w, problem.examples)
        best = Problem(np.random.default_rng(11), "lssvm", n=2, copies=4).convex
        assert np.all(np.isfinite(plane.gradient))
        if inference == "exact":
            assert plane.value(w) == pytest.approx(best(w)[0], abs=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
def test_beliefs_of_graphs_of_one_shape_are_exact_on_trees(scale):
    rng = np.random.default_rng(int(np.log10(scale)) + 10)
    for model in ("hcrf", "lssvm", "loss_augmented_likelihood"):
        for _ in range(20):
            problem = Problem(rng, model, n=1, copies=8)
            app = MarkovRandomField(
                MrfOptions(inference="bp", damping=0.0, tolerance=1e-13), problem.app.formulation
            )
            w = scale * rng.normal(size=problem.d)
            plane, _ = app.augmented(w, problem.examples)
            assert plane.value(w) == pytest.approx(problem.convex(w)[0], rel=1e-9)
            completion = app.completed(w, problem.examples)
            assert completion.value(w) == pytest.approx(problem.concave(w)[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
def test_sums_hold_at_any_scale_of_the_weights(scale):
    rng = np.random.default_rng(8)
    for trial in range(60):
        problem = Problem(rng, "mssvm", shape=SHAPES[trial % 3])
        w = scale * rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        assert upper == pytest.approx(problem.convex(w)[0], rel=1e-12)
        assert np.all(np.isfinite(plane.gradient))
        problem = Problem(rng, "epsilon", (0.5, 1e-3), SHAPES[trial % 3])
        w = scale * rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        assert upper == pytest.approx(problem.convex(w)[0], rel=1e-12)
        assert np.all(np.isfinite(plane.gradient))


def test_a_graph_that_is_too_wide_is_refused_with_its_width():
    rng = np.random.default_rng(9)
    while True:
        problem = Problem(rng, "lssvm", shape="any", n=1, max_table=3, inference="exact")
        if problem.graphs[0].edges:
            break
    with pytest.raises(DataError, match=r"memory:1: graph 'g0' has width 1: .* at most 3 \(app"):
        problem.app.augmented(np.zeros(problem.d), problem.examples)


@pytest.mark.parametrize("length", [2, 5, 40])
def test_a_hidden_chain_between_outputs_is_wide_only_where_it_is_summed_first(length):
    states = np.full(2 * length, 2)
    chain = [(j, j + 1) for j in range(length - 1)]
    leaves = [(j, length + j) for j in range(length)]
    ends = np.array(chain + leaves)
    outputs_in_chain = np.repeat([SECOND, FIRST], length).astype(np.int8)
    hidden_in_chain = outputs_in_chain[::-1].copy()
    widths = []
    for groups in (np.full(2 * length, FIRST, np.int8), outputs_in_chain):
        made = plans.plan(states, ends, groups, 4)
        widths.append(max(len(others) for _, others, *_ in made.steps))
    assert widths == [1, 1]
    if length < 10:
        made = plans.plan(states, ends, hidden_in_chain, 2**length * 2)
        assert max(len(others) for _, others, *_ in made.steps) >= length - 1
    else:
        with pytest.raises(plans.TooWideError) as caught:
            plans.plan(states, ends, hidden_in_chain, 1 << 20)
        assert caught.value.width >= 20


def test_blocks_and_copies_give_the_same_sums():
    rng = np.random.default_rng(10)
    problem = Problem(rng, "mssvm", shape="any", n=9)
    w, examples = rng.normal(size=problem.d), problem.examples
    whole, _ = problem.app.augmented(w, examples)
    parts = [problem.app.augmented(w, examples.slice(a, a + 3))[0] for a in (0, 3, 6)]
    np.testing.assert_allclose(sum(part.gradient for part in parts), whole.gradient, atol=1e-12)
    assert sum(part.loss for part in parts) == pytest.approx(whole.loss, abs=1e-12)
    order = rng.permutation(9)
    copied, _ = problem.app.augmented(w, examples.take(order))
    np.testing.assert_allclose(copied.gradient, whole.gradient, atol=1e-12)
    assert examples.take(np.arange(9)).fingerprint() == examples.fingerprint()
    assert examples.take(order).fingerprint() != examples.fingerprint()
    found = problem.app.predict(w, examples)
    inner = problem.app.predict(w, examples.slice(3, 6))
    own = slice(int(examples.node_offsets[3]), int(examples.node_offsets[6]))
    np.testing.assert_array_equal(inner.states, found.states[own])
