"""ModLat on trees, forests and loops: enumeration of all y and h, covariances, refusals."""

import itertools
import re

import numpy as np
import pytest
from mrf_cases import Problem, learnable
from scipy import optimize

from experiments.ping_2014 import modlat
from experiments.ping_2014.hidden_fields import Draw, drawn, graphs, sampled
from experiments.ping_2014.modlat import ExpectedLoss, dissimilarity, fitted_uncertain, tilted
from experiments.ping_2014.trials import Method, config_of
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.errors import DataError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.session import learn_on

K = 3  # most states of a node


def exact():
    return MarkovRandomField(MrfOptions(inference="exact")).inference


def charging(problem, shares):
    app = ExpectedLoss(shares)
    app.dimension(problem.examples)
    return app


def eighths(rng, problem):
    """Shares of the states of all nodes that are multiples of 1/8."""
    return rng.integers(0, 9, (len(problem.examples.labels), K)) / 8


def all_states(problem, i, truth=False):
    graph = problem.graphs[i]
    return itertools.product(
        *(
            [graph.labels[j]] if truth and graph.labels[j] >= 0 else graph.states(j)
            for j in range(len(graph.classes))
        )
    )


def expected_loss(problem, i, shares, states):
    """Wrong labels, and for nodes without one the shares of the other states."""
    labels = problem.graphs[i].labels
    return sum(
        float(s != y) if y >= 0 else 1.0 - own[s]
        for y, s, own in zip(labels, states, shares, strict=True)
    )


@pytest.mark.parametrize("shape", ["tree", "any"])
def test_the_expected_loss_is_charged_exactly(shape):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape=shape, n=2, copies=seed % 3)
        examples, shares = problem.examples, eighths(rng, problem)
        app = charging(problem, shares)
        for zero in (False, True):
            w = problem.weights(rng, zero)
            total = 0.0
            for i, cost in enumerate(examples.costs):
                own = shares[slice(*examples.node_offsets[i : i + 2])]
                total += cost * max(
                    float(problem.phi(i, states) @ w) + expected_loss(problem, i, own, states)
                    for states in all_states(problem, i)
                )
            plane, upper = app.augmented(w, examples)
            assert plane.value(w) == upper == total
            assert len(plane.gradient) == problem.d
        other = rng.normal(size=problem.d)
        assert plane.value(other) <= app.augmented(other, examples)[1] + 1e-9
        parts = [app.augmented(w, examples.slice(k, k + 1))[1] for k in range(len(examples))]
        assert sum(parts) == upper


def test_the_charge_moves_no_score_of_the_application():
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = Problem(rng, n=4)
        own = tilted(problem.examples)
        w = problem.weights(rng)
        added = np.zeros(len(own.places))
        first = problem.app.completed(w, problem.examples)
        second = problem.app.completed(own.weights(w, added), own.graphs)
        np.testing.assert_array_equal(first.gradient, second.gradient[: problem.d])
        assert len(set(own.places.tolist())) == len(own.places)
        assert own.places.min(initial=problem.d) >= problem.d


def enumerated(problem, theta, predicted, beta):
    """The dissimilarity and its gradient as a covariance, all h enumerated."""
    value, gradient = 0.0, np.zeros(problem.d)
    for i, cost in enumerate(problem.examples.costs):
        labels = np.array(problem.graphs[i].labels)
        own = predicted[slice(*problem.examples.node_offsets[i : i + 2])]
        states = np.array(list(all_states(problem, i, truth=True)))
        features = np.array([problem.phi(i, row) for row in states])
        scores = features @ theta
        p = np.exp(scores - scores.max())
        p /= p.sum()
        wrong = np.sum((states != own)[:, labels < 0], axis=1)
        apart = np.sum((states[:, None] != states[None])[:, :, labels < 0], axis=2)
        value += cost * (p @ wrong - beta * p @ apart @ p)
        slopes = wrong - 2.0 * beta * apart @ p
        gradient += cost * (p * (slopes - p @ slopes)) @ features
    return value, gradient


@pytest.mark.parametrize("beta", [0.0, 0.3])
@pytest.mark.parametrize("shape", ["tree", "any"])
def test_the_dissimilarity_and_its_slope_are_those_of_enumeration(shape, beta):
    inference = exact()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape=shape, n=3)
        theta = 2.0 * rng.normal(size=problem.d) if seed % 5 else np.zeros(problem.d)
        predicted = problem.app.predict(rng.normal(size=problem.d), problem.examples).states
        found = dissimilarity(inference, problem.examples, predicted, theta, beta)
        value, slope = enumerated(problem, theta, predicted, beta)
        assert found[0] == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(found[1], slope, atol=1e-9)


def test_the_slope_is_that_of_finite_differences():
    inference = exact()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape="any", n=3)
        theta, examples = rng.normal(size=problem.d), problem.examples
        predicted = problem.app.predict(rng.normal(size=problem.d), examples).states
        numbers = optimize.approx_fprime(
            theta,
            lambda t, h=predicted, own=examples: dissimilarity(inference, own, h, t, 0.3)[0],
            1e-6,
        )
        slope = dissimilarity(inference, examples, predicted, theta, 0.3)[1]
        np.testing.assert_allclose(slope, numbers, atol=1e-5)


def chain(seed):
    rng = np.random.default_rng(seed)
    field = drawn(rng, Draw(9, 1, states=K))
    return graphs(field, *sampled(rng, field, 12))


def trees(seed):
    return learnable(np.random.default_rng(seed))


@pytest.mark.parametrize(("data", "C"), [(chain, 0.1), (trees, 1.0)])
def test_it_learns_and_finds_the_same_again(data, C):
    training = data(0)
    model, again = fitted_uncertain(training, C), fitted_uncertain(training, C)
    np.testing.assert_array_equal(model.w, again.w)
    zero = model.application.predict(np.zeros_like(model.w), training)
    found = model.application.predict(model.w, training)
    errors = [model.application.score(training, p)["error"] for p in (found, zero)]
    assert errors[0] < errors[1] - 20.0
    oracle = DataOracle(model.application, training, Executor(1))
    plane = oracle.augmented(model.w)[0] - oracle.completed(model.w)
    value = 0.5 * model.w @ model.w + C * plane.value(model.w)
    assert model.record["objective"] == pytest.approx(value, rel=1e-9)
    assert model.record["certified"]


def test_without_turns_it_is_the_latent_structural_svm():
    training = chain(1)
    model = fitted_uncertain(training, 0.1, turns=0)
    latent = MarkovRandomField(MrfOptions())
    latent.classes = training.classes
    plain = learn_on(latent, training, config_of(Method("lssvm", {"method": "bundle"}), 0.1))
    # A loss that is the same for all h adds a constant: 4 hidden nodes, wrong with 2 of 3.
    added = 0.1 * 12 * 4 * 2 / 3
    assert model.record["objective"] - added == pytest.approx(plain.record["objective"], rel=0.05)


def test_theta_lowers_what_it_minimises():
    training = trees(1)
    inference = exact()
    zero = np.zeros(training.classes.dimension)
    predicted = MarkovRandomField(MrfOptions())
    predicted.classes = training.classes
    states = predicted.predict(np.random.default_rng(0).normal(size=len(zero)), training).states
    theta = modlat.fitted_theta(inference, training, states, zero, 1.0, 0.1)
    before = dissimilarity(inference, training, states, zero, 0.1)[0]
    value, slope = dissimilarity(inference, training, states, theta, 0.1)
    assert 0.5 * theta @ theta + value < before
    assert np.max(np.abs(theta + slope)) < 1e-3


def test_a_graph_that_is_too_wide_is_refused():
    rng = np.random.default_rng(0)
    grid = drawn(rng, Draw(3, 3, states=K))
    examples = graphs(grid, *sampled(rng, grid, 2))
    app = ExpectedLoss(np.full((len(examples.labels), K), 1 / K), table=26)
    app.dimension(examples)
    expected = re.escape(
        "graph '0' has width 2: exact inference needs a factor of 27 entries; expected at most 26 "
        "(application.max_table)"
    )
    with pytest.raises(DataError, match=f"{expected}$"):
        app.augmented(np.zeros(examples.classes.dimension), examples)
