"""The bundle method with second derivatives, and what it is told of smoothed maxima."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize

from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.ranking.queries import Queries
from lssvm.applications.ranking.ranking_start import Classifier
from lssvm.cli import learn
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.solvers.choice import NARROW, Sizes, chosen
from lssvm.solvers.needs import Asked
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_solver

WIDTHS = (4.0, 1.0, 0.1, 1e-3)


def queries(rng, sizes, features, sparse=False, grid=0, noise=1.0):
    """Queries in memory whose first feature tells the relevant documents, up to noise."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    count = int(offsets[-1])
    labels = (rng.random(count) < 0.3).astype(float)
    rows = rng.normal(size=(count, features))
    rows[:, 0] = labels + noise * rows[:, 0]
    if grid:
        rows = np.round(grid * rows) / grid
    none, whole = np.empty(0), np.empty(0, dtype=np.int64)
    stored = {"dense": none, "indices": whole.astype(np.int32), "values": none, "starts": whole}
    if sparse:
        rows[rng.random(rows.shape) < 0.6] = 0.0
        places = np.nonzero(rows)
        counts = np.bincount(places[0], minlength=count)
        stored["indices"], stored["values"] = places[1].astype(np.int32), rows[places]
        stored["starts"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    else:
        cuts = itertools.pairwise(offsets.tolist())
        stored["dense"] = np.concatenate([rows[a:b].T.ravel() for a, b in cuts])
    n = len(sizes)
    examples = Queries(
        offsets=offsets,
        labels=labels,
        relevant=labels.astype(np.uint8),
        **stored,
        dimension=features,
        costs=rng.integers(1, 9, n) / 4,
        positions=np.arange(count),
        documents=np.arange(count).astype(str).astype(object),
        named=np.ones(count, dtype=bool),
        identifiers=np.arange(n).astype(str).astype(object),
        lines=offsets[:-1] + 1,
        files=np.zeros(n, dtype=np.int32),
        paths=("simulated",),
        labelled=True,
    )
    return examples, rows


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def data(request):
    """A ranking for k = 2, queries and their rows; some queries have no choice."""
    examples, rows = queries(np.random.default_rng(0), [7, 1, 4, 2, 9, 3], 3, request.param, 8)
    return PrecisionAtK(RankingOptions(k=2)), examples, rows


def points(rng, d):
    return [np.zeros(d), *(scale * rng.normal(size=d) for scale in (0.1, 1.0, 10.0))]


def smoothed_by_definition(keys, k, width):
    """max Σ p u + t/2 Σ p (1 − p) over shares from 0 to 1 that sum to k, by SciPy."""
    found = minimize(
        lambda p: -(p @ keys + 0.5 * width * p @ (1 - p)),
        np.full(len(keys), k / len(keys)),
        jac=lambda p: -(keys + width * (0.5 - p)),
        bounds=[(0, 1)] * len(keys),
        constraints={"type": "eq", "fun": lambda p: p.sum() - k, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return -found.fun


@pytest.mark.parametrize("width", WIDTHS[:3])
def test_the_smoothed_maximum_is_that_of_its_quadratic_program(data, width):
    app, examples, rows = data
    for w in points(np.random.default_rng(1), 3):
        expected = 0.0
        for i in np.flatnonzero(app.trained(examples)):
            own = slice(*examples.offsets[i : i + 2])
            relevant = examples.relevant[own].astype(float)
            best = smoothed_by_definition(rows[own] @ w - relevant, 2, width)
            expected += examples.costs[i] * (min(2.0, relevant.sum()) + best) / 2
        found = app.smoothed(w, examples, width)
        assert found.tangent.value(w) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("start", [False, True], ids=["ranking", "classifier"])
def test_smoothed_planes_are_bounds_and_their_distance_is_known(data, width, start):
    app, examples, _ = data
    problem, rng = Classifier(0.5) if start else app, np.random.default_rng(2)
    others = points(rng, 3) + [rng.normal(size=3) for _ in range(30)]
    uppers = [problem.augmented(v, examples)[1] for v in others]
    for w in points(np.random.default_rng(3), 3):
        found = problem.smoothed(w, examples, width)
        for v, upper in zip(others, uppers, strict=True):
            assert found.plane.value(v) <= upper + 1e-12 * found.plane.size(v)
        exact = problem.augmented(w, examples)[1]
        assert found.plane.value(w) + found.slack == pytest.approx(exact, rel=1e-12, abs=1e-12)
        assert 0.0 <= found.slack <= found.bulge + 1e-12
        assert found.bulge <= 0.5 * width * examples.costs.sum()


@pytest.mark.parametrize("start", [False, True], ids=["ranking", "classifier"])
def test_second_derivatives_are_those_of_the_gradient(data, start):
    app, examples, _ = data
    problem, rng, seen = Classifier(0.5) if start else app, np.random.default_rng(4), 0
    for w in points(rng, 3)[1:] * 3:
        w = w + rng.normal(size=3)
        found = problem.smoothed(w, examples, 1.0).curvature
        assert np.array_equal(found, found.T)
        slopes = []
        for j in range(3):
            step = 1e-6 * np.eye(3)[j]
            high, low = (problem.smoothed(w + s, examples, 1.0) for s in (step, -step))
            slopes.append((high.plane.gradient - low.plane.gradient) / 2e-6)
        np.testing.assert_allclose(found, np.array(slopes), rtol=1e-4, atol=1e-5)
        seen += bool(np.any(found))
    assert seen > 3


def test_smoothed_planes_become_those_of_the_maxima_as_the_width_goes_to_0(data):
    app, examples, _ = data
    for w in points(np.random.default_rng(5), 3)[1:]:
        w = w + 1e-3 * np.random.default_rng(6).random(3)
        plane, _ = app.augmented(w, examples)
        found = app.smoothed(w, examples, 1e-9).plane
        np.testing.assert_allclose(found.gradient, plane.gradient, atol=1e-12)
        assert found.loss == pytest.approx(plane.loss)


def test_threads_give_the_same_bytes():
    examples, _ = queries(np.random.default_rng(7), [40] * 1500, 12)
    app, w, answers = PrecisionAtK(RankingOptions(k=5)), np.full(12, 0.1), []
    for threads in (1, 2):
        with Executor(threads) as executor:
            oracle = DataOracle(app, examples, executor)
            assert len(oracle.blocks) > 1
            found = oracle.smoothed(w, 0.5)
            parts = found.plane.gradient, found.curvature, found.slack, found.bulge
            answers.append([np.asarray(part).tobytes() for part in parts])
    assert answers[0] == answers[1]


class Passes(Observer):
    """Notes the end of a run."""

    def finished(self, summary):
        self.summary = summary


def trained(examples, method, C=1.0, **application):
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 5, **application},
            "objective": {"C": C},
            "solver": {"method": method, "epsilon": 1e-3},
        }
    )
    observer = Passes()
    model = learn_on(config.create_application(), examples, config, observer=observer)
    return model, observer.summary


def test_it_solves_the_first_problem_to_the_bound_of_the_bundle():
    examples, _ = queries(np.random.default_rng(8), [30] * 80, 10, noise=0.7)
    for C, weight in itertools.product((0.1, 10.0), (0.5, 3.0)):
        problem, found = Classifier(weight), []
        for method in ("bundle", "bundle-newton"):
            solver = new_solver_for(method, examples)
            oracle = DataOracle(problem, examples, Executor(1))
            found.append(solver.minimise(oracle, C, lambda primal: 1e-5 * primal))
        for one, other in (found, found[::-1]):
            assert one.converged
            assert one.lower <= other.primal
            assert one.primal == pytest.approx(other.primal, rel=2e-5)


def new_solver_for(method, examples):
    config = Config.from_dict(
        {"application": {"name": "precision_at_k"}, "solver": {"method": method}}
    )
    return new_solver(config.create_application(), examples, config)


@pytest.mark.parametrize("initialisation", ["classification", "pairwise", "random"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_it_comes_as_low_as_the_bundle_at_a_certified_gap(C, initialisation):
    examples, _ = queries(np.random.default_rng(9), [30] * 60, 8, noise=1.5)
    plain, newton = (
        trained(examples, method, C, initialisation=initialisation)[1]
        for method in ("bundle", "bundle-newton")
    )
    assert newton.certified
    assert newton.gap <= 1e-3
    assert newton.objective <= 1.02 * plain.objective  # of local minima


def test_it_needs_a_third_of_the_passes_of_the_bundle():
    examples, _ = queries(np.random.default_rng(10), [60] * 300, 40, noise=1.5)
    plain, newton = (trained(examples, method)[1] for method in ("bundle", "bundle-newton"))
    assert newton.passes < plain.passes / 3
    assert newton.objective <= plain.objective * (1 + 1e-3)


def test_equal_features_of_any_size_are_solved():
    examples, _ = queries(np.random.default_rng(11), [20] * 40, 4)
    for size in (1e-6, 1.0, 1e6):
        dense = examples.dense.copy()
        for a, b in itertools.pairwise(examples.offsets.tolist()):
            block = dense[4 * a : 4 * b].reshape(4, b - a)
            block[2] = block[3] = size * block[0]
        summary = trained(replace(examples, dense=dense), "bundle-newton")[1]
        assert summary.gap <= 1e-3


def test_squares_of_features_beyond_float64_are_told():
    examples, _ = queries(np.random.default_rng(12), [20] * 4, 2)
    large = replace(examples, dense=1e160 * examples.dense)
    oracle = DataOracle(PrecisionAtK(RankingOptions(k=2)), large, Executor(1))
    with pytest.raises(LssvmError, match="squares of the features are too large for float64"):
        oracle.smoothed(np.zeros(2), 1.0)


def test_auto_takes_it_for_few_weights_where_maxima_can_be_smoothed():
    asked = Asked("toy", False, False, True, frozenset(), "lssvm", False, 1, curved=True)
    found = [
        chosen(one, Sizes(d, 1e9), kernel=False, cache=cache)[0]
        for one, d, cache in (
            (asked, NARROW, False),
            (asked, NARROW + 1, False),
            (asked, NARROW, True),
            (asked._replace(curved=False), NARROW, False),
        )
    ]
    assert found == ["bundle-newton", "bundle", "bundle", "bundle"]


def test_an_application_without_smoothed_maxima_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.svm").write_text("1 1:1\n2 2:1\n")
    (tmp_path / "c.yaml").write_text(
        "application: {name: multiclass}\ndata: {train: t.svm}\nsolver: {method: bundle-newton}\n"
    )
    result = CliRunner().invoke(learn, ["c.yaml", "m"])
    assert result.exit_code == 2
    assert "solver.method: bundle-newton needs smoothed maxima, which application" in result.stderr


def test_a_part_of_queries_has_the_fingerprint_of_a_copy():
    for sparse in (False, True):
        examples, _ = queries(np.random.default_rng(13), [3, 5, 2, 4], 6, sparse)
        part, copy = examples.slice(1, 3), examples.take(np.array([1, 2]))
        assert part.fingerprint() == copy.fingerprint() != examples.fingerprint()


def test_more_weights_than_second_derivatives_have_room_for_are_refused():
    settings = {"method": "bundle-newton", "max_cache_mb": 10}
    config = Config.from_dict({"application": {"name": "precision_at_k"}, "solver": settings})
    application = config.create_application()
    for width, refused in ((130, False), (160, True)):
        examples, _ = queries(np.random.default_rng(0), [4] * 3, width, noise=0.7)
        if not refused:
            new_solver(application, examples, config)
            continue
        with pytest.raises(LssvmError, match=r"of 160 weights take 13 MB, more than solver\.max_c"):
            new_solver(application, examples, config)
