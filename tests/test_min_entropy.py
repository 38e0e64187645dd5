"""M3E on trees, forests and loops: enumeration of all y and h, slopes, limits, refusals."""

import re

import numpy as np
import pytest
from mrf_cases import Problem, graph_file, learnable, random_graph
from scipy import optimize
from scipy.special import logsumexp

from experiments.ping_2014.hidden_fields import Draw, drawn, graphs, sampled
from experiments.ping_2014.min_entropy import MinEntropy, fitted_min_entropy
from lssvm.applications.base import Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.errors import DataError, LssvmError
from lssvm.executor import Executor
from lssvm.formats.mrf_text import HIDDEN
from lssvm.oracle import DataOracle

ALPHAS = [0.5, 2.0, 10.0, np.inf]


def order(problem, alpha, **options):
    """M3E for the graphs of a problem."""
    app = MinEntropy(alpha, **options)
    app.dimension(problem.examples)
    return app


def entropies(problem, i, w, outer, alpha):
    """G of all y of graph i by their states, from the scores of all h."""
    states = problem.all_states(i)[:, outer]
    order = np.lexsort(states.T[::-1]) if outer else np.arange(len(states))
    keys = [*dict.fromkeys(map(tuple, states[order].tolist()))]
    scores = (problem.all_features(i) @ w)[order].reshape(len(keys), -1)
    return dict(zip(keys, entropy(scores, alpha), strict=True))


def entropy(scores, alpha):
    """log Σ exp(s) less the Rényi entropy of order α of the h of each row, by its definition."""
    if alpha == np.inf:
        return scores.max(axis=1)
    total = logsumexp(scores, axis=1)
    return total - np.log(np.sum(np.exp(scores - total[:, None]) ** alpha, axis=1)) / (1 - alpha)


def same(found, expected, alpha):
    """Equal: exactly so where all sums are exact."""
    return found == expected if alpha == np.inf else found == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("shape", ["tree", "any"])
def test_planes_are_those_of_all_outputs(shape, alpha):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape=shape, n=3, copies=seed % 3)
        app = order(problem, alpha)
        for zero in (False, True):
            w = problem.weights(rng, zero)
            largest = truth = 0.0
            for i, cost in enumerate(problem.examples.costs):
                outer = problem.outer(i, labels=True)
                values = entropies(problem, i, w, outer, alpha)
                labels = tuple(problem.graphs[i].labels[j] for j in outer)
                largest += cost * max(
                    value + sum(a != b for a, b in zip(y, labels, strict=True))
                    for y, value in values.items()
                )
                truth += cost * values[labels]
            plane, upper = app.augmented(w, problem.examples)
            assert plane.value(w) == upper
            assert same(upper, largest, alpha)
            assert same(app.completed(w, problem.examples).value(w), truth, alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("shape", ["tree", "any"])
def test_the_prediction_is_the_largest_of_all_outputs(shape, alpha):
    for seed in range(70):
        rng = np.random.default_rng(100 + seed)
        problem = Problem(rng, shape=shape, n=3, copies=seed % 2)
        app = order(problem, alpha)
        for zero in (False, True):
            w = problem.weights(rng, zero)
            found = app.predict(w, problem.examples)
            for i in range(len(problem.graphs)):
                own = slice(*problem.examples.node_offsets[i : i + 2])
                outer = problem.outer(i)
                values = entropies(problem, i, w, outer, alpha)
                y = tuple(found.states[own][outer].tolist())
                assert same(found.values[i], max(values.values()), alpha)
                assert same(values[y], max(values.values()), alpha)
                same_y = np.all(problem.all_states(i)[:, outer] == y, axis=1)
                best = np.max(problem.all_features(i)[same_y] @ w)
                assert float(problem.phi(i, found.states[own]) @ w) == best
                if zero:  # all y tie
                    assert not np.any(found.states[own])


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_neighbouring_hidden_nodes_between_three_outputs_are_one_term(alpha):
    rng = np.random.default_rng(0)
    for _ in range(10):
        problem = Problem(rng, n=1)
        while (2, 3) not in components(problem.graphs[0]):
            problem = Problem(rng, n=1)
        w = problem.weights(rng)
        values = entropies(problem, 0, w, problem.outer(0), alpha)
        found = order(problem, alpha).predict(w, problem.examples)
        assert found.values[0] == pytest.approx(max(values.values()), abs=1e-12)


def components(graph):
    """For each component of hidden nodes how many it has, and the outputs that it touches."""
    part = {j: {j} for j, y in enumerate(graph.labels) if y == HIDDEN}
    for a, b, _ in graph.edges:
        if a in part and b in part:
            whole = part[a] | part[b]
            part |= dict.fromkeys(whole, whole)
    ends = [(a, b) for a, b, _ in graph.edges] + [(b, a) for a, b, _ in graph.edges]
    return {(len(own), len({b for a, b in ends if a in own} - own)) for own in part.values()}


@pytest.mark.parametrize("alpha", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("shape", ["tree", "any"])
def test_the_slopes_are_those_of_finite_differences(shape, alpha):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape=shape, n=3)
        app, examples = order(problem, alpha), problem.examples
        w = rng.normal(size=problem.d)
        augmented = optimize.approx_fprime(
            w, lambda w, app=app, own=examples: app.augmented(w, own)[1], 1e-6
        )
        completed = optimize.approx_fprime(
            w, lambda w, app=app, own=examples: app.completed(w, own).value(w), 1e-6
        )
        np.testing.assert_allclose(app.augmented(w, examples)[0].gradient, augmented, atol=1e-4)
        np.testing.assert_allclose(app.completed(w, examples).gradient, completed, atol=1e-4)


@pytest.mark.parametrize("shape", ["tree", "any"])
def test_the_largest_order_is_the_latent_structural_svm(shape):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, shape=shape, n=4)
        w, examples = rng.normal(size=problem.d), problem.examples
        ours, latent = order(problem, np.inf), problem.app
        first, second = ours.augmented(w, examples)[0], latent.augmented(w, examples)[0]
        np.testing.assert_allclose(first.gradient, second.gradient, rtol=1e-12, atol=1e-12)
        assert first.loss == pytest.approx(second.loss, abs=1e-9)
        np.testing.assert_allclose(
            ours.completed(w, examples).gradient, latent.completed(w, examples).gradient
        )
        np.testing.assert_array_equal(
            ours.predict(w, examples).states, latent.predict(w, examples).states
        )
        near = order(problem, 1e5)
        assert near.augmented(w, examples)[1] == pytest.approx(first.value(w), rel=1e-3)


def test_on_large_trees_the_largest_order_finds_what_the_application_finds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        trees = [random_graph(rng, "tree", most=40) for _ in range(6)]
        examples = packed([(Source("memory"), graph_file(trees))])
        w = rng.integers(-8, 9, examples.classes.dimension) / 8
        ours, latent = MinEntropy(np.inf), MarkovRandomField(MrfOptions())
        assert ours.augmented(w, examples)[1] == latent.augmented(w, examples)[1]
        np.testing.assert_array_equal(
            ours.predict(w, examples).values, latent.predict(w, examples).values
        )


def test_blocks_add_up_and_each_graph_is_as_if_it_were_alone():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        problem = Problem(rng, n=4, copies=4)
        w, examples = rng.normal(size=problem.d), problem.examples
        app = order(problem, 2.0)
        whole, states = app.augmented(w, examples)[0], app.predict(w, examples)
        parts = [examples.slice(k, min(k + 3, 8)) for k in range(0, 8, 3)]
        planes = [app.augmented(w, part)[0] for part in parts]
        assert sum(plane.value(w) for plane in planes) == pytest.approx(whole.value(w))
        np.testing.assert_allclose(
            sum(plane.gradient for plane in planes), whole.gradient, atol=1e-12
        )
        found = [app.predict(w, part) for part in parts]
        np.testing.assert_array_equal(np.concatenate([p.states for p in found]), states.states)
        again = order(problem, 2.0).predict(w, examples.take(np.arange(7, -1, -1)))
        np.testing.assert_allclose(again.values[::-1], states.values, rtol=1e-12, atol=1e-12)


STAR = "\n".join(
    [
        "graph first",
        "node a y 2 1 1:1",
        "",
        "graph star",
        "node h h 2 - 1:1",
        *(f"node y{k} y 2 0 1:{k}" for k in range(9)),
        *(f"edge h y{k} hy" for k in range(9)),
    ]
)


def test_a_graph_whose_outputs_need_a_large_table_is_refused(tmp_path):
    path = tmp_path / "star.txt"
    path.write_text(STAR)
    app = MinEntropy(2.0, table=1023)
    examples = app.read([Source(str(path))])
    w = np.zeros(app.dimension(examples))
    expected = re.escape(
        f"{path}:4: graph 'star' has width 9, as hidden nodes have to be summed out first: exact "
        "inference needs a factor of 1,024 entries; expected at most 1,023 (application.max_table)"
    )
    with pytest.raises(DataError, match=f"^{expected}$"):
        app.augmented(w, examples)
    with pytest.raises(DataError, match=f"^{expected}$"):
        app.predict(w, examples)
    enough = MinEntropy(2.0, table=1024)
    enough.dimension(examples)
    assert enough.augmented(w, examples)[1] == 10.0  # all labels wrong, and G = 0 at w = 0


@pytest.mark.parametrize("alpha", [1.0, 0.0, -2.0, float("nan")])
def test_other_orders_are_refused(alpha):
    expected = f"alpha {alpha:g}: expected a number above 0 other than 1"
    with pytest.raises(LssvmError, match=f"^{re.escape(expected)}$"):
        MinEntropy(alpha)


def test_it_learns_the_chain_and_finds_the_same_again():
    rng = np.random.default_rng(0)
    field = drawn(rng, Draw(9, 1, states=3))
    training = graphs(field, *sampled(rng, field, 12))
    model, again = fitted_min_entropy(training, 0.1), fitted_min_entropy(training, 0.1)
    np.testing.assert_array_equal(model.w, again.w)
    _check_learnt(model, training, 0.1)


def test_it_learns_trees_of_several_shapes_with_missing_labels():
    training = learnable(np.random.default_rng(0))
    _check_learnt(fitted_min_entropy(training, 1.0), training, 1.0)


def _check_learnt(model, training, C):
    zero = model.application.predict(np.zeros_like(model.w), training)
    found = model.application.predict(model.w, training)
    errors = [model.application.score(training, p)["error"] for p in (found, zero)]
    assert errors[0] < errors[1] - 20.0
    oracle = DataOracle(model.application, training, Executor(1))
    plane = oracle.augmented(model.w)[0] - oracle.completed(model.w)
    value = 0.5 * model.w @ model.w + C * plane.value(model.w)
    assert model.record["objective"] == pytest.approx(value, rel=1e-9)
