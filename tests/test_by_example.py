"""The solvers that keep planes by example: bounds, optima of other solvers, warm starts."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import toy
from scipy import sparse

from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.solvers import bundle
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.dual_coordinate_rows import DualCoordinateRows
from lssvm.solvers.n_slack import NSlack
from lssvm.solvers.qp import SimplexQP
from lssvm.solvers.solver import Initialisation
from lssvm.solvers.working_sets import WorkingSets
from lssvm.training import session as train
from lssvm.training.cccp import Observer, Rules, Run

SEQUENCES = Path(__file__).parents[1] / "data" / "sequence"
KINDS = {"n-slack": NSlack, "dual-coordinate": lambda d: DualCoordinateRows(d, batch_size=3)}


def prepared(seed, kind, **sizes):
    app, pairs = toy.random_problem(seed, **sizes)
    oracle = DataOracle(app, pairs, Executor(1))
    solver = KINDS[kind](app.tables.shape[-1])
    first = app.start_each(pairs, np.random.default_rng(seed))
    solver.initialise(oracle, Initialisation(oracle.found(first)))
    return app, pairs, oracle, solver, app.start(pairs, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("signal", [0.0, 3.0])
def test_lower_optimum_and_primal_are_in_order_and_agree(kind, C, signal):
    pytest.importorskip("clarabel")
    app, pairs, oracle, solver, completion = prepared(1, kind, n=20, d=6, signal=signal)
    solution = solver.minimise(oracle, C, lambda primal: 1e-4 * primal, max_passes=3000)
    _, w = toy.convex_optimum(app, pairs, completion, C)
    plane, _ = oracle.augmented(w)
    optimum = 0.5 * w @ w + C * (plane - completion).value(w)
    assert solution.certified
    assert solution.converged
    assert solution.lower <= optimum * (1 + 1e-9)
    assert optimum <= solution.primal * (1 + 1e-9)
    assert solution.primal <= optimum * (1 + 2e-4)
    at, _ = oracle.augmented(solution.w)
    direct = 0.5 * solution.w @ solution.w + C * (at - completion).value(solution.w)
    assert solution.primal == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_solver_finds_the_same_optimum(seed):
    for C in (0.1, 1.0, 10.0):
        found = []
        for kind in KINDS:
            _, _, oracle, solver, _ = prepared(seed, kind, n=15)
            found.append(solver.minimise(oracle, C, lambda primal: 1e-4 * primal, max_passes=5000))
        app, pairs = toy.random_problem(seed, n=15)
        for step in (0.1, 1.0):
            completion = app.start(pairs, np.random.default_rng(seed))
            bundle = Bundle(np.zeros(5), completion, SimplexQP(), step)
            oracle = DataOracle(app, pairs, Executor(1))
            found.append(bundle.minimise(oracle, C, lambda primal: 1e-4 * primal))
        for one, other in itertools.permutations(found, 2):
            assert one.converged
            assert one.lower <= other.primal * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_that_costs_nothing_is_left_out(kind):
    app, pairs = toy.random_problem(7, n=12)
    pairs.costs[[0, 5, 11]] = 0.0
    found = []
    for examples in (pairs, pairs.take(np.flatnonzero(pairs.costs))):
        oracle, solver = DataOracle(app, examples, Executor(1)), KINDS[kind](app.tables.shape[-1])
        solver.initialise(oracle, Initialisation(np.zeros(app.tables.shape[-1])))
        found.append(solver.minimise(oracle, 1.0, lambda primal: 1e-5 * primal, max_passes=5000))
    assert all(one.converged for one in found)
    assert found[0].primal == pytest.approx(found[1].primal, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_passes_the_primal_nor_falls(kind):
    _, _, oracle, solver, _ = prepared(2, kind, n=12)
    seen = []

    def between(gap, goal):
        assert gap >= 0.0
        seen.append(solver.lower)

    solver.minimise(oracle, 1.0, lambda primal: 1e-4 * primal, between=between, max_passes=3000)
    assert all(a <= b for a, b in itertools.pairwise(seen))


@pytest.mark.parametrize("kind", KINDS)
def test_a_moved_completion_leaves_every_plane_valid(kind):
    app, pairs, oracle, solver, _ = prepared(3, kind, n=12, n_hidden=4)
    solver.minimise(oracle, 1.0, lambda primal: 1e-2 * primal, max_passes=500)
    solver.complete(oracle)
    w = np.random.default_rng(0).normal(size=5)
    truth = app.completed_each(solver.w, pairs)
    completion = app.gradients(pairs, truth, np.arange(12)) @ w
    best = app.augmented_each(w, pairs).values - completion
    planes = solver.sets.losses + solver.sets.matrix(np.arange(len(solver.sets))) @ w
    assert np.all(planes <= best[solver.sets.owner] + 1e-9)
    solution = solver.minimise(oracle, 1.0, lambda primal: 1e-4 * primal, max_passes=3000)
    assert solution.converged


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "C"), [(seed, C) for seed in range(5) for C in (0.1, 10.0)])
def test_the_objective_of_hidden_values_never_rises(kind, seed, C):
    app, pairs, oracle, solver, _ = prepared(seed, kind, n=20, n_hidden=4, signal=1.0)
    run = Run(solver, 0.1, float(pairs.costs.sum()))
    rows = []
    observer = Observer()
    observer.iterated = rows.append
    run.proceed(oracle, Rules(C, 1e-3, max_passes=3000), observer)
    objectives = [row.objective for row in rows]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(objectives))
    assert run.converged
    assert np.any(solver.w)
    total = 0.5 * solver.w @ solver.w
    for x, y, cost in zip(pairs.inputs, pairs.outputs, pairs.costs, strict=True):
        scores = app.tables[x] @ solver.w
        plus = (scores + app.losses[y][:, None]).max()
        total += C * cost * (plus - scores[y].max())
    assert run.objective == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_worse_point_never_takes_the_place_of_the_best(kind):
    _, _, oracle, solver, _ = prepared(4, kind, n=12)
    solver.minimise(oracle, 1.0, lambda primal: 1e-3 * primal, max_passes=3000)
    solver.complete(oracle)
    best, w = solver.primal(1.0), solver.w.copy()
    solver._ask(oracle, 100.0 + w, keep=False)
    assert solver.primal(1.0) == best
    np.testing.assert_array_equal(solver.w, w)


@pytest.mark.parametrize("norm", [0, 2])
def test_other_slacks_agree_with_a_general_solver(norm):
    clarabel = pytest.importorskip("clarabel")
    app, pairs = toy.random_problem(5, n=10, n_hidden=1, d=12, signal=6.0)
    app.losses[:] = 1.0 - np.eye(3)
    oracle = DataOracle(app, pairs, Executor(1))
    solver = NSlack(12, norm)
    solver.initialise(oracle, Initialisation(np.zeros(12)))
    C = 0.7
    solution = solver.minimise(oracle, C, lambda primal: 1e-6 * primal, max_passes=500)
    rows, bounds = [], []
    for x, y in zip(pairs.inputs, pairs.outputs, strict=True):
        for y_hat in range(3):
            slack = np.zeros(10)
            slack[x] = -float(norm == 2)
            difference = app.tables[x, y_hat, 0] - app.tables[x, y, 0]
            rows.append(np.concatenate([difference, slack]))
            bounds.append(-app.losses[y, y_hat])
    weight = C * pairs.costs if norm == 2 else np.ones(10)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    optimum = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.concatenate([np.ones(12), weight]))),
        np.zeros(22),
        sparse.csc_matrix(np.array(rows)),
        np.array(bounds),
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    assert solution.converged
    assert solution.lower <= optimum.obj_val * (1 + 1e-6)
    assert solution.primal == pytest.approx(optimum.obj_val, rel=2e-6)


USED_UP = (
    r"^no feasible w was found within solver\.max_passes \(hard margin\); expected "
    r"a larger solver\.max_passes, or objective\.slack_norm: 1 or 2$"
)


def hard_margin(file, **values):
    return Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "data": {"train": {"path": str(file)}},
            "objective": {"slack_norm": 0, "C": values.pop("C", 1.0)},
            "solver": {"method": "n-slack", "epsilon": 1e-6, **values},
        }
    )


def write_rows(path, seed, apart):
    """60 rows of three classes around the corners of a triangle."""
    rng = np.random.default_rng(seed)
    corners = apart * np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
    lines = []
    for label in np.arange(60) % 3:
        x, y = corners[label] + rng.uniform(-1.0, 1.0, size=2)
        lines.append(f"{'abc'[label]} 1:{x:.3f} 2:{y:.3f}\n")
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("seed", range(5))
def test_without_slack_C_has_no_meaning_and_every_output_is_separated(tmp_path, seed):
    file = write_rows(tmp_path / "rows", seed, apart=1.5)
    found = [train.learn(hard_margin(file, C=C)) for C in (1e-4, 1.0, 1e4)]
    for model in found:
        assert model.record["converged"]
        assert model.record["training"]["error"] == 0.0
        assert model.record["objective"] == pytest.approx(found[0].record["objective"], rel=2e-6)
        examples = model.application.read(hard_margin(file).sources("train"))
        upper = model.application.augmented_each(model.w, examples).uppers
        truth = model.application.completed_each(model.w, examples).values
        assert np.max(upper - truth) <= 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_data_that_cannot_be_separated_are_refused(tmp_path, seed):
    file = write_rows(tmp_path / "rows", seed, apart=0.5)
    saving = tmp_path / "m.checkpoint"
    with pytest.raises(LssvmError, match=r"cannot be separated: .* objective\.slack_norm: 1 or 2"):
        train.learn(hard_margin(file), checkpoint=saving, checkpoint_every=1)
    with pytest.raises(LssvmError, match=USED_UP):
        train.learn(hard_margin(file, max_passes=1))


def test_every_w_without_slack_is_longer_than_the_bound_says():
    for seed in range(20):
        sets = random_sets(0, seed, d=30)
        matrix, losses = sets.matrix(np.arange(len(sets))).toarray(), sets.losses
        w = np.linalg.lstsq(matrix, -losses, rcond=None)[0]
        assert np.all(losses + matrix @ w <= 1e-9)
        sets.sweep(np.arange(5), 1)
        assert 0.0 < sets.least_norm() <= np.linalg.norm(w) * (1 + 1e-9)
        assert not sets.inseparable()


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_cuts_of_kept_planes_save_passes_and_change_no_optimum(step):
    values = {
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": "train.conll"},
        "objective": {"C": 0.3},
        "solver": {"epsilon": 1e-2, "method": "bundle" if step < 1.0 else "cutting-plane"},
    }
    plain = train.learn(Config.from_dict(values, base=SEQUENCES))
    values["solver"]["cache"] = 10
    cached = train.learn(Config.from_dict(values, base=SEQUENCES))
    assert cached.record["passes"] < plain.record["passes"]
    assert cached.record["passes_saved"] > 0
    assert plain.record["passes_saved"] == 0
    assert cached.record["lower_bound"] <= plain.record["objective"]
    assert plain.record["lower_bound"] <= cached.record["objective"]
    assert cached.record["gap"] <= 1e-2


def test_kept_planes_are_not_asked_for_ever(monkeypatch):
    monkeypatch.setattr(bundle, "MOST_CACHED_CUTS", 2)
    monkeypatch.setattr(bundle, "CACHE_SHARE", -np.inf)  # every cut of kept planes seems to help
    values = {
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": "train.conll"},
        "solver": {"method": "bundle", "cache": 10, "max_passes": 5},
    }
    record = train.learn(Config.from_dict(values, base=SEQUENCES)).record
    assert 0 < record["passes_saved"] <= 2 * record["passes"]


def test_sweeps_over_kept_planes_are_counted_as_passes_saved():
    _, _, oracle, solver, _ = prepared(1, "n-slack", n=20, d=6)
    rounds, settle = [], solver.sets.settle
    solver.sets.settle = lambda *limits: rounds.append(settle(*limits)) or rounds[-1]
    solver.minimise(oracle, 1.0, lambda primal: 1e-6 * primal, max_passes=3000)
    assert solver.passes_saved == sum(rounds) - len(rounds) > 0


def small_room(**solver):
    values = {
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": "train.conll"},
        "solver": {"max_cache_mb": 0.02, **solver},
    }
    return train.learn(Config.from_dict(values, base=SEQUENCES))


@pytest.mark.parametrize("method", ["n-slack", "dual-coordinate"])
def test_planes_that_take_too_much_memory_are_told(method):
    with pytest.raises(LssvmError, match=r"more than solver\.max_cache_mb"):
        small_room(method=method)


def test_a_cache_without_room_drops_planes_and_the_run_goes_on():
    assert small_room(cache=10).record["gap"] <= 1e-3


def random_sets(norm, seed=0, gram=None, labels=0, d=8):
    rng = np.random.default_rng(seed)
    sets = WorkingSets(
        rng.uniform(0.5, 2.0, size=5), d, norm, *(() if gram is None else (gram, labels))
    )
    for _ in range(4):
        rows = sparse.csr_array(rng.normal(size=(5, d)) * (rng.random((5, d)) < 0.6))
        sets.append(np.arange(5), rows, rng.uniform(0.0, 2.0, size=5))
    return sets


@pytest.mark.parametrize("norm", [1, 2])
def test_steps_raise_the_dual_within_the_bounds_and_keep_w(norm):
    sets, before = random_sets(norm), 0.0
    for turn in range(30):
        sets.sweep(np.arange(5), 2)
        if turn % 3 == 0:
            sets.climb(10)
        assert sets.dual() >= before - 1e-12
        before = sets.dual()
        assert np.all(sets.alpha >= 0.0)
        if norm == 1:
            assert np.all(sets.sums() <= sets.limits * (1 + 1e-9))
        matrix = sets.matrix(np.arange(len(sets)))
        np.testing.assert_allclose(sets.w, -(matrix.T @ sets.alpha), atol=1e-12)
    assert sets.gap() <= 1e-6 * before


def test_a_kernel_gives_what_its_explicit_features_give():
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(4, 3)), 2
    explicit = np.kron(rows, np.eye(labels))
    dual = random_sets(1, gram=rows @ rows.T, labels=labels, d=4 * labels)
    plain = WorkingSets(dual.limits, 3 * labels)
    matrix = dual.matrix(np.arange(len(dual)))
    for first in range(0, len(dual), 5):
        part = sparse.csr_array(matrix[first : first + 5] @ explicit)
        plain.append(np.arange(5), part, dual.losses[first : first + 5])
    for sets in (dual, plain):
        for _ in range(300):
            sets.sweep(np.arange(5), 2)
            sets.climb(10)
        assert sets.gap() <= 1e-8 * sets.dual()
    assert dual.dual() == pytest.approx(plain.dual(), rel=1e-8)
    np.testing.assert_allclose(dual.kernel_scores(), explicit @ plain.w, atol=1e-4)


def test_dropped_planes_leave_the_others_as_they_are():
    sets = random_sets(1)
    sets.sweep(np.arange(5), 3)
    kept = np.flatnonzero(sets.alpha > 0.0)
    expected = sets.matrix(kept).toarray(), sets.alpha[kept].copy(), sets.owner[kept].copy()
    sets.evict(1)
    np.testing.assert_array_equal(sets.matrix(np.arange(len(sets))).toarray(), expected[0])
    np.testing.assert_array_equal(sets.alpha, expected[1])
    np.testing.assert_array_equal(sets.owner, expected[2])
    for i in range(5):
        own = sets.slots[i, : sets.counts[i]]
        np.testing.assert_array_equal(own, np.flatnonzero(sets.owner == i))
