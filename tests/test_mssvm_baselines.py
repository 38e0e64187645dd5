"""Baselines of the simulations: enumeration of all y and h on short chains, and slopes."""

import itertools

import numpy as np
import pytest
from scipy import optimize
from scipy.special import logsumexp

from lssvm.errors import LssvmError
from lssvm.executors import DataOracle, Executor
from lssvm.experiments import mssvm_baselines as baselines
from lssvm.experiments.hidden_fields import Draw, drawn, graphs, sampled
from lssvm.experiments.mssvm_baselines import ExpectedLoss, MinEntropy, chains_of

K = 3


def data(seed, size=5, n=3, tied=False):
    """Chains with weights and features that are multiples of 1/8, costs of their own."""
    rng = np.random.default_rng(seed)
    field = drawn(rng, Draw(size, 1, states=K, tied=tied))
    examples = graphs(field, *sampled(rng, field, n))
    examples.costs[:] = rng.integers(1, 9, n) / 8
    return rng, examples


def weights(rng, examples, zero=False):
    return rng.integers(-8, 9, examples.classes.dimension) / 8 * (not zero)


def phi(examples, i, states):
    """Φ by the definition of the weights: features, then the states of a node or of both ends."""
    out = np.zeros(examples.classes.dimension)
    size = len(states)
    for item in range(examples.item_offsets[i], examples.item_offsets[i + 1]):
        place = item - examples.item_offsets[i]
        if place < size:
            state = states[place]
        else:
            a, b = examples.ends[examples.edge_offsets[i] + place - size]
            state = states[a] * K + states[b]
        for p in range(examples.starts[item], examples.starts[item + 1]):
            width = examples.tables[item]
            index = examples.bases[item] + examples.indices[p] * width + state
            out[index] += examples.values[p]
    return out


def enumerated(examples, w):
    """For each chain: all y, and the scores and features of all h for each of them."""
    size = int(examples.node_offsets[1])
    outputs, hidden = (size + 1) // 2, size // 2
    for i in range(len(examples)):
        ys, scores, features = [], [], []
        for y in itertools.product(range(K), repeat=outputs):
            rows = []
            for h in itertools.product(range(K), repeat=hidden):
                states = np.empty(size, dtype=int)
                states[::2], states[1::2] = y, h
                rows.append(phi(examples, i, states))
            ys.append(y)
            features.append(np.array(rows))
            scores.append(features[-1] @ w)
        yield np.array(ys), scores, features


def entropies(scores, alpha):
    if alpha == np.inf:
        return np.array([own.max() for own in scores])
    return np.array([(logsumexp(alpha * own) - logsumexp(own)) / (alpha - 1) for own in scores])


@pytest.mark.parametrize("alpha", [0.5, 2.0, 10.0, np.inf])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_m3e_finds_the_largest_of_all_outputs(size, alpha):
    for seed in range(17):
        rng, examples = data(seed, size)
        for zero in (False, True):
            w = weights(rng, examples, zero)
            app = MinEntropy(alpha)
            app.dimension(examples)
            labels = examples.labels.reshape(3, size)[:, ::2]
            total, truth = 0.0, 0.0
            found = app.predict(w, examples)
            for i, (ys, scores, _) in enumerate(enumerated(examples, w)):
                values = entropies(scores, alpha)
                losses = np.sum(ys != labels[i], axis=1)
                total += examples.costs[i] * np.max(values + losses)
                truth += examples.costs[i] * values[np.flatnonzero(losses == 0)[0]]
                assert found.values[i] == pytest.approx(values.max(), abs=1e-12)
                y = found.states.reshape(3, size)[i, ::2]
                own = np.flatnonzero(np.all(ys == y, axis=1))[0]
                assert values[own] == pytest.approx(values.max(), abs=1e-12)
            plane, upper = app.augmented(w, examples)
            assert plane.value(w) == upper == pytest.approx(total, abs=1e-11)
            assert app.completed(w, examples).value(w) == pytest.approx(truth, abs=1e-11)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 10.0])
def test_the_slopes_of_m3e_are_those_of_finite_differences(alpha):
    for seed in range(5):
        rng, examples = data(seed, tied=seed % 2 == 1)
        app = MinEntropy(alpha)
        w = rng.normal(size=app.dimension(examples))
        augmented = optimize.approx_fprime(
            w, lambda w, app=app, own=examples: app.augmented(w, own)[1], 1e-6
        )
        completed = optimize.approx_fprime(
            w, lambda w, app=app, own=examples: app.completed(w, own).value(w), 1e-6
        )
        np.testing.assert_allclose(app.augmented(w, examples)[0].gradient, augmented, atol=1e-4)
        np.testing.assert_allclose(app.completed(w, examples).gradient, completed, atol=1e-4)


def test_the_largest_order_is_the_latent_structural_svm():
    rng, examples = data(0)
    w = rng.normal(size=examples.classes.dimension)
    ours, latent = MinEntropy(np.inf), ExpectedLoss(np.zeros((0, K)))
    for app in (ours, latent):
        app.dimension(examples)
    parent = super(ExpectedLoss, latent)
    first, second = ours.augmented(w, examples)[0], parent.augmented(w, examples)[0]
    np.testing.assert_allclose(first.gradient, second.gradient, rtol=1e-12)
    assert first.loss == pytest.approx(second.loss)
    np.testing.assert_allclose(
        ours.completed(w, examples).gradient, latent.completed(w, examples).gradient
    )
    np.testing.assert_array_equal(
        ours.predict(w, examples).states, latent.predict(w, examples).states
    )
    near = MinEntropy(1e4)
    near.dimension(examples)
    assert near.augmented(w, examples)[1] == pytest.approx(first.value(w), rel=1e-3)


def test_the_expected_loss_is_charged_exactly():
    for seed in range(30):
        rng, examples = data(seed, size=5 - seed % 2)
        shares = rng.dirichlet(np.ones(K), len(examples.labels))
        app = ExpectedLoss(shares)
        app.dimension(examples)
        w = weights(rng, examples, zero=seed % 3 == 0)
        labels = examples.labels.reshape(3, -1)
        own = shares.reshape(*labels.shape, K)
        total = 0.0
        size, hidden = labels.shape[1], labels.shape[1] // 2
        for i, (ys, scores, _) in enumerate(enumerated(examples, w)):
            best = -np.inf
            for y, values in zip(ys, scores, strict=True):
                wrong = np.sum(y != labels[i, ::2])
                for value, h in zip(
                    values, itertools.product(range(K), repeat=hidden), strict=True
                ):
                    expected = sum(1 - own[i, 2 * j + 1, s] for j, s in enumerate(h))
                    best = max(best, value + wrong + expected)
            total += examples.costs[i] * best
        plane, upper = app.augmented(w, examples)
        assert plane.value(w) == upper == pytest.approx(total, abs=1e-11)
        other = rng.normal(size=len(w))
        assert plane.value(other) <= app.augmented(other, examples)[1] + 1e-9
        parts = [app.augmented(w, examples.slice(k, k + 1))[1] for k in range(3)]
        assert sum(parts) == pytest.approx(upper)
        assert size == 5 - seed % 2


@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_the_dissimilarity_is_that_of_enumeration_and_its_slope_that_of_differences(beta):
    for seed in range(8):
        rng, examples = data(seed, size=5 - seed % 2)
        chains = chains_of(examples)
        theta = rng.normal(size=examples.classes.dimension)
        labels = examples.labels.reshape(3, -1)[:, ::2]
        hidden = chains.states.shape[1] // 2
        predicted = rng.integers(0, K, (3, hidden))
        value, slope = baselines.dissimilarity(chains, predicted, theta, beta)
        total = 0.0
        all_h = np.array(list(itertools.product(range(K), repeat=hidden)))
        for i, (ys, scores, _) in enumerate(enumerated(examples, theta)):
            own = scores[np.flatnonzero(np.all(ys == labels[i], axis=1))[0]]
            p = np.exp(own - logsumexp(own))
            wrong = np.sum(all_h != predicted[i], axis=1)
            apart = np.sum(all_h[:, None] != all_h[None], axis=2)
            total += examples.costs[i] * (p @ wrong - beta * p @ apart @ p)
        assert value == pytest.approx(total, abs=1e-12)
        numbers = optimize.approx_fprime(
            theta,
            lambda t, own=chains, h=predicted: baselines.dissimilarity(own, h, t, beta)[0],
            1e-6,
        )
        np.testing.assert_allclose(slope, numbers, atol=1e-5)


def test_features_and_scores_are_those_of_the_application():
    rng, examples = data(4, tied=True)
    chains = chains_of(examples)
    w = rng.normal(size=examples.classes.dimension)
    nodes, pairs = chains.scores(w)
    states = rng.integers(0, K, (3, 5))
    for i in range(3):
        score = sum(nodes[i, t, states[i, t]] for t in range(5))
        score += sum(pairs[i, t, states[i, t], states[i, t + 1]] for t in range(4))
        assert score == pytest.approx(phi(examples, i, states[i]) @ w)
    weighted = baselines.weights_of(states[:, ::2], baselines.one_hot(states[:, 1::2], K))
    expected = sum(c * phi(examples, i, states[i]) for i, c in enumerate(examples.costs))
    np.testing.assert_allclose(chains.gradient(*weighted), expected, rtol=1e-12)


def test_both_learn_the_chain_and_find_the_same_again():
    rng = np.random.default_rng(0)
    field = drawn(rng, Draw(9, 1, states=K))
    training = graphs(field, *sampled(rng, field, 12))
    for fit in (baselines.fitted_min_entropy, baselines.fitted_uncertain):
        model, again = fit(training, 0.1), fit(training, 0.1)
        np.testing.assert_array_equal(model.w, again.w)
        zero = model.application.predict(np.zeros_like(model.w), training)
        found = model.application.predict(model.w, training)
        errors = [model.application.score(training, p)["error"] for p in (found, zero)]
        assert errors[0] < errors[1] - 20.0
        oracle = DataOracle(model.application, training, Executor(1))
        plane = oracle.augmented(model.w)[0] - oracle.completed(model.w)
        value = 0.5 * model.w @ model.w + 0.1 * plane.value(model.w)
        assert model.record["objective"] == pytest.approx(value, rel=1e-9)


def test_without_turns_the_second_is_the_latent_structural_svm():
    rng = np.random.default_rng(1)
    field = drawn(rng, Draw(9, 1, states=K))
    training = graphs(field, *sampled(rng, field, 12))
    model = baselines.fitted_uncertain(training, 0.1, turns=0)
    record = model.record
    # A loss that is the same for all h adds a constant: 4 hidden nodes, wrong with 2 of 3.
    latent = baselines.learn_on(*_latent(training), baselines._config(0.1, 0, {"method": "bundle"}))
    added = 0.1 * 12 * 4 * 2 / 3
    assert record["objective"] - added == pytest.approx(latent.record["objective"], rel=0.05)
    assert record["certified"]


def _latent(training):
    app = baselines.MarkovRandomField(baselines.MrfOptions(), baselines.Formulation("lssvm"))
    app.classes = training.classes
    return app, training


def test_other_graphs_are_refused():
    rng = np.random.default_rng(0)
    grid = drawn(rng, Draw(2, 2, states=K))
    with pytest.raises(LssvmError, match="not all graphs are chains of one length"):
        chains_of(graphs(grid, *sampled(rng, grid, 2)))
    _, examples = data(0)
    examples.labels[1] = 0
    with pytest.raises(LssvmError, match="outputs and hidden nodes in turn"):
        chains_of(examples)
    _, examples = data(0)
    examples.ends[0] = (2, 3)
    with pytest.raises(LssvmError, match="nodes follow each other"):
        chains_of(examples)
    with pytest.raises(LssvmError, match="alpha 1: expected a number above 0 other than 1"):
        MinEntropy(1.0)
