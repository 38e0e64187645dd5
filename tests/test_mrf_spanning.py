"""The bound by spanning forests: above U⁺, convex, exact on trees."""

import numpy as np
import pytest
from mrf_cases import Problem
from scipy.optimize import approx_fprime
from test_mrf_propagation import application, grids

from lssvm.applications.mrf import spanning
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.training.session import learn_on

FORMS = [
    ("lssvm", (None, None)),
    ("hcrf", (None, None)),
    ("loss_augmented_likelihood", (None, None)),
    ("epsilon", (0.25, 0.25)),
]


def without_cycle(nodes, ends):
    groups = list(range(nodes))
    for a, b in ends.tolist():
        if groups[a] == groups[b]:
            return False
        groups = [groups[a] if group == groups[b] else group for group in groups]
    return True


@pytest.mark.parametrize("seed", range(5))
def test_forests_have_no_cycles_and_hold_every_edge(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        nodes = int(rng.integers(1, 9))
        pairs = [(a, b) for a in range(nodes) for b in range(a) if rng.random() < 0.6]
        ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        found = spanning.forests(nodes, ends)
        assert found.shape[1] == len(ends)
        assert np.all(found.any(axis=0))
        assert all(without_cycle(nodes, ends[row]) for row in found)


@pytest.mark.parametrize(("model", "epsilons"), FORMS)
@pytest.mark.parametrize("shape", ["tree", "loop", "any"])
def test_the_bound_is_above_and_its_planes_are_below_it(model, epsilons, shape):
    rng = np.random.default_rng(0)
    looser = 0
    for _ in range(60):
        problem = Problem(rng, model, epsilons, shape)
        # No table over three nodes: every loop is parted.
        app = application(model, epsilons, inference="spanning-forests", max_table=9)
        w, v = rng.normal(size=(2, problem.d))
        plane, upper = app.augmented(w, problem.examples)
        value, _ = problem.convex(w)
        assert upper == plane.value(w) >= value - 1e-9
        assert app.augmented(v, problem.examples)[1] >= plane.value(v) - 1e-9
        looser += upper > value + 1e-6
        if shape == "tree":
            assert upper == pytest.approx(value, abs=1e-9)
    assert (looser > 0) == (shape != "tree")


def test_a_graph_that_fits_is_exact():
    problem = Problem(np.random.default_rng(1), "hcrf", shape="any")
    w = np.random.default_rng(2).normal(size=problem.d)
    app = application("hcrf", inference="spanning-forests")
    assert app.augmented(w, problem.examples)[1] == problem.app.augmented(w, problem.examples)[1]


def test_its_gradient_equals_differences():
    rng = np.random.default_rng(3)
    examples = grids(rng, 3, 2)
    app = application("hcrf", inference="spanning-forests", max_table=4)
    w = rng.normal(size=examples.classes.dimension)
    slopes = approx_fprime(w, lambda v: app.augmented(v, examples)[1], 1e-6)
    np.testing.assert_allclose(app.augmented(w, examples)[0].gradient, slopes, atol=1e-4)


@pytest.mark.parametrize("model", ["lssvm", "hcrf"])
def test_training_with_it_has_a_certified_gap(model):
    values = {
        "application": {"name": "mrf", "inference": "spanning-forests", "max_table": 16},
        "objective": {"model": model, "C": 0.1},
    }
    settings = Config.from_dict(values)
    app = settings.create_application()
    found = learn_on(app, grids(np.random.default_rng(4), 4, 4), settings)
    assert found.record["certified"]
    assert found.record["gap"] <= 1e-3


def test_a_completion_that_is_too_wide_is_refused():
    examples = grids(np.random.default_rng(5), 3, 1)
    examples.labels[:] = -2
    app = application("lssvm", inference="spanning-forests", max_table=4)
    with pytest.raises(DataError, match=r"has width \d: exact inference needs a factor"):
        app.completed(np.zeros(app.dimension(examples)), examples)
