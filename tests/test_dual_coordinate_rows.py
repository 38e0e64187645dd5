"""Dual coordinate ascent over sparse rows: its kernel, its optimum, its memory, its state."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st
from mrf_cases import Problem
from scipy import sparse
from test_dual_coordinate import FORMS
from test_enumeration import FORMULATIONS, Labels, labelled

from lssvm.applications.base import Formulation, Maxima, Options
from lssvm.config import load_config, set_values
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.kernels import _sparse_examples
from lssvm.oracle import DataOracle
from lssvm.solvers import dual_coordinate_rows
from lssvm.solvers.dual_coordinate import DualCoordinate
from lssvm.solvers.dual_coordinate_rows import DualCoordinateRows
from lssvm.solvers.example_planes import UNKNOWN
from lssvm.solvers.n_slack import NSlack
from lssvm.solvers.solver import Initialisation
from lssvm.solvers.stored_rows import StoredRows, table_of
from lssvm.training.setup import new_solver

ROOT = Path(__file__).parent.parent


def plugin(rng, rescaling="margin", norm=1):
    """An application in Python that lists its outputs, and examples with costs."""
    pairs = labelled(rng)
    return Labels(Options(name="labels"), Formulation("ssvm", rescaling, norm)), pairs


def graphs(rng, epsilons):
    problem = Problem(rng, "epsilon", epsilons, "any", n=6)
    return problem.app, problem.examples


CASES = {
    **FORMS,
    **{
        f"plug-in, {rescaling}, {norm}": lambda rng, own=(rescaling, norm): plugin(rng, *own)
        for rescaling, norm in FORMULATIONS
        if norm
    },
    **{
        f"graphs, {epsilons}": lambda rng, own=epsilons: graphs(rng, own)
        for epsilons in ((0.0, 1.0), (0.0, 0.0), (1.0, 1.0), (0.5, 1.0), (0.25, 0.5))
    },
}
FEW = ["sequences, sparse", "plug-in, slack, 2", "graphs, (0.0, 1.0)"]


def begun(case, kind, seed=0, threads=1, **options):
    """A solver that stands before its first pass, and its oracle."""
    application, examples = CASES[case](np.random.default_rng(seed))
    oracle = DataOracle(application, examples, Executor(threads))
    solver = kind(application.dimension(examples), application.formulation.slack_norm, **options)
    first = application.start_each(examples, np.random.default_rng(1))
    if isinstance(first, Maxima):
        first = oracle.found(first)
    solver.initialise(oracle, Initialisation(first))
    return oracle, solver


def solve(oracle, solver, epsilon=1e-6, C=0.7, **options):
    return solver.minimise(oracle, C, lambda primal: epsilon * abs(primal), **options)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_its_optimum_is_that_of_the_n_slack_method(case, seed):
    found = [solve(*begun(case, kind, seed), 1e-5) for kind in (DualCoordinateRows, NSlack)]
    mine, other = found
    assert mine.converged
    assert mine.certified
    assert mine.lower <= other.primal * (1 + 1e-12)
    assert other.lower <= mine.primal * (1 + 1e-12)
    # ½‖w‖² makes P strongly convex: ½‖w − w*‖² is at most the gap.
    near = sum(np.sqrt(2.0 * max(0.0, each.primal - each.lower)) for each in found)
    assert np.linalg.norm(mine.w - other.w) <= near * (1 + 1e-6)


@pytest.mark.parametrize("case", CASES)
def test_w_is_the_sum_of_the_rows_and_the_bound_is_the_dual_of_the_multipliers(case):
    oracle, solver = begun(case, DualCoordinateRows)
    solution = solve(oracle, solver, 1e-3)
    sets, planes = solver.sets, solver.sets.planes
    matrix = sets.matrix(np.arange(len(sets))).toarray()
    alpha = planes.alpha[planes.planes()]
    np.testing.assert_allclose(planes.w, -(matrix.T @ alpha), atol=1e-10)
    assert np.all(alpha >= 0.0)
    sums = np.bincount(sets.owner, alpha, minlength=len(oracle.costs))
    if solver.norm == 1:
        assert np.all(sums <= planes.limits * (1 + 1e-9))
    value = alpha @ sets.losses - 0.5 * planes.w @ planes.w
    if solver.norm == 2:
        value -= 0.5 * float(np.sum(sets.side_by_side().shares(sums**2)))
    assert value <= solution.primal * (1 + 1e-12)
    assert sets.dual() == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_no_plane_is_above_inference_wherever_it_is_asked(case):
    oracle, solver = begun(case, DualCoordinateRows)
    solve(oracle, solver, 1e-2)
    rng, sets = np.random.default_rng(3), solver.sets
    for scale in (0.0, 0.1, 1.0, 10.0):
        w = scale * rng.normal(size=len(solver.w))
        most = oracle.augmented_each(w).uppers - solver._completed(w)
        heights = sets.losses + sets.matrix(np.arange(len(sets))) @ w
        assert np.all(heights <= most[sets.owner] + 1e-9 * (1.0 + scale))


@pytest.mark.parametrize("case", FEW)
def test_products_are_those_of_the_rows_and_symmetric_to_the_last_bit(case):
    oracle, solver = begun(case, DualCoordinateRows)
    solve(oracle, solver, 1e-2)
    planes, at, known = solver.sets.planes, 0, 0
    every = solver.sets.matrix(np.arange(len(solver.sets))).toarray()
    for count, room, first in zip(planes.counts, planes.rooms, planes.first_product, strict=True):
        block = planes.products[first : first + room * room].reshape(room, room)[:count, :count]
        np.testing.assert_array_equal(block, block.T)
        own, at = every[at : at + count], at + count
        there = block != UNKNOWN
        np.testing.assert_allclose(block[there], (own @ own.T)[there], atol=1e-10)
        known += int(there.sum())
    assert known > 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30), st.floats(0.0, 1.0))
def test_rows_are_stored_and_packed_as_differences(seed, n, d, density):
    rng = np.random.default_rng(seed)

    def drawn(count):
        values = rng.integers(-2, 3, size=(count, d)) * (rng.random((count, d)) < density)
        return sparse.csr_array(values.astype(np.float64))

    truth, rows = drawn(n), StoredRows(np.ones(n), d, 1, np.inf)
    w, table = rng.normal(size=d), table_of(truth)
    chosen = rng.integers(n, size=2 * n).astype(np.int32)
    np.testing.assert_allclose(_sparse_examples.scores(table, chosen, w), truth[chosen] @ w)
    for _ in range(4):
        owner = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        found = drawn(len(owner))
        before = rows.count
        rows.answer(owner, found, table, rng.random(len(owner)))
        assert np.all(rows.answers[owner] == np.arange(rows.count - len(owner), rows.count))
        assert rows.count == len(owner) + (before if rows.count > len(owner) else 0)
        for number, expected in zip(
            rows.answers[owner], (found - truth[owner]).toarray(), strict=True
        ):
            row, span = np.zeros(d), slice(rows.begins[number], rows.ends[number])
            assert np.all(np.diff(rows.indices[span]) > 0)
            assert np.all(rows.values[span] != 0.0)
            row[rows.indices[span]] = rows.values[span]
            np.testing.assert_array_equal(row, expected)
            assert rows.squares[number] == pytest.approx(expected @ expected)


def asked(oracle):
    """What mini-batches the solver asks for from now on, in their order."""
    batches, own = [], oracle.augmented_chosen

    def augmented_chosen(w, rows):
        batches.append(rows.copy())
        return own(w, rows)

    oracle.augmented_chosen = augmented_chosen
    return batches


def test_an_epoch_asks_for_each_example_once_but_for_those_that_rest_or_cost_nothing(monkeypatch):
    oracle, solver = begun("sequences", DualCoordinateRows, batch_size=3)
    oracle.costs[[2, 7]] = 0.0
    solver.initialise(oracle, Initialisation(np.zeros(len(solver.w))))
    solver._begin(oracle, 1.0)
    monkeypatch.setattr(dual_coordinate_rows, "SECONDS", np.inf)
    solver.kept_planes.rests[[0, 5]] = [1, 2]
    order, batches = solver.order.copy(), asked(oracle)
    assert solver._proceed(oracle, 0.0)
    expected = [i for i in order if i not in (0, 2, 5, 7)]
    np.testing.assert_array_equal(np.concatenate(batches), expected)
    assert [len(batch) for batch in batches] == [3, 3, 2]
    np.testing.assert_array_equal(solver.kept_planes.rests[[0, 5]], [0, 1])


@pytest.mark.parametrize("case", FEW)
def test_pauses_and_threads_change_no_bit(case, monkeypatch):
    found = []
    for seconds, threads in ((0.05, 1), (0.0, 1), (0.05, 2)):
        monkeypatch.setattr(dual_coordinate_rows, "SECONDS", seconds)
        solution = solve(*begun(case, DualCoordinateRows, threads=threads))
        found.append((solution.w.tobytes(), solution.primal, solution.lower))
    assert found[0] == found[1] == found[2]


class StopError(Exception):
    pass


def interrupted(case, first, every, **options):
    """The solution of a run that is stopped often, and goes on from its state each time."""
    oracle, solver = begun(case, DualCoordinateRows, **options)
    for stop in itertools.count(first, every):
        left = iter(range(stop))

        def between(gap, goal, left=left):
            if next(left, None) is None:
                raise StopError

        try:
            return solve(oracle, solver, between=between)
        except StopError:
            values, arrays = solver.state()
            arrays = {name: array.copy() for name, array in arrays.items()}
            w, primal = solver.w.copy(), solver.primal(solver.C)
            solver = DualCoordinateRows(solver.dimension, solver.norm, **options)
            solver.restore(values, arrays)
            np.testing.assert_array_equal(solver.w, w)
            assert solver.primal(solver.C) == primal
    raise AssertionError


@pytest.mark.parametrize(
    ("case", "room"),
    [*((case, None) for case in FEW), ("sequences, sparse", 1.2), ("graphs, (0.0, 1.0)", 1.2)],
)
def test_a_run_goes_on_from_its_state_as_if_it_had_not_been_stopped(case, room, monkeypatch):
    """Also where memory is short, so that planes are dropped on the way."""
    monkeypatch.setattr(dual_coordinate_rows, "SECONDS", 0.0)
    options = {"batch_size": 2, "seed": 5}
    if room:
        options["max_bytes"] = room * least_room(case, options)
    drops = dropping(monkeypatch)
    whole = solve(*begun(case, DualCoordinateRows, **options))
    assert bool(drops) == bool(room)
    other = interrupted(case, 3, 7, **options)
    assert other.w.tobytes() == whole.w.tobytes()
    assert (other.primal, other.lower) == (whole.primal, whole.lower)


def taken(solver):
    """Bytes that the planes take."""
    return 12 * solver.sets._live() + solver.sets.planes.needed(solver.sets.planes.rooms)


def least_room(case, options):
    """Bytes that the planes with weight at the optimum take."""
    oracle, solver = begun(case, DualCoordinateRows, **options)
    solve(oracle, solver)
    _sparse_examples.drop(solver.sets.kernel, solver.sets.planes, 0)
    solver.sets.planes.tighten()
    return taken(solver)


def dropping(monkeypatch):
    """How many planes were dropped for want of memory, each time."""
    drops, own = [], _sparse_examples.drop

    def drop(kernel, planes, age):
        before = len(planes)
        own(kernel, planes, age)
        drops.append(before - len(planes))

    monkeypatch.setattr(_sparse_examples, "drop", drop)
    return drops


def test_planes_without_weight_are_dropped_where_memory_is_short(monkeypatch):
    case, options = "sequences, long", {"batch_size": 2, "seed": 5}
    oracle, free = begun(case, DualCoordinateRows, **options)
    solve(oracle, free)
    room = 1.15 * least_room(case, options)
    drops = dropping(monkeypatch)
    oracle, small = begun(case, DualCoordinateRows, max_bytes=room, **options)
    solution = solve(oracle, small)
    assert solution.converged
    assert max(drops) > 0
    assert taken(small) <= room < taken(free)
    oracle, tiny = begun(case, DualCoordinateRows, max_bytes=room / 5, **options)
    with pytest.raises(LssvmError, match=r"the planes of 3 examples take .* solver.max_cache_mb"):
        solve(oracle, tiny)
    values, arrays = free.state()
    tiny = DualCoordinateRows(free.dimension, max_bytes=room / 5, seed=5)
    with pytest.raises(LssvmError, match="max_cache_mb"):
        tiny.restore(values, arrays)


@pytest.mark.parametrize("kind", [DualCoordinate, DualCoordinateRows])
def test_a_run_that_ends_before_its_first_certificate_computes_one(kind):
    case = "sequences, sparse"
    best = solve(*begun(case, kind))
    for passes in (1, 2, 3):
        oracle, solver = begun(case, kind)
        short = solve(oracle, solver, max_passes=passes)
        assert solver.problem_passes <= max(passes, 2)
        assert not short.converged
        assert short.lower < best.primal <= short.primal * (1 + 1e-6) < np.inf
        value, _, exact = solver.objective_at(oracle, 0.7, short.w)
        assert exact
        assert short.primal == pytest.approx(value, rel=1e-12)


class Bounded(toy.Toy):
    """Inference of which a bound is known alone, a little above what it finds."""

    def augmented_each(self, w, examples):
        found = super().augmented_each(w, examples)
        return Maxima(found.values, found.losses, found.values + 1e-3, found.outputs)


def test_upper_bounds_make_the_objective_of_inexact_inference():
    app, pairs = toy.random_problem(1, n=15, n_hidden=1)
    app = Bounded(app.tables, app.losses)
    oracle, solver = DataOracle(app, pairs, Executor(1)), DualCoordinateRows(5)
    solver.initialise(oracle, Initialisation(oracle.found(app.completed_each(np.zeros(5), pairs))))
    solution = solver.minimise(oracle, 1.0, lambda primal: 0.0, max_passes=40)
    at = app.augmented_each(solution.w, pairs)
    truth = app.completed_each(solution.w, pairs).values
    value = 0.5 * solution.w @ solution.w + pairs.costs @ (at.uppers - truth)
    assert solution.primal == pytest.approx(value, rel=1e-12)
    assert not solution.converged
    share = 1e-3 * pairs.costs.sum()
    assert 0.99 * share <= solution.primal - solution.lower <= 1.2 * share
    assert solver.objective_at(oracle, 1.0, solution.w)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("application", "model", "kind"),
    [
        ("sequence", "ssvm", DualCoordinate),
        ("sequence", "crf", DualCoordinateRows),
        ("latent_sequence", "lssvm", DualCoordinate),
        ("latent_sequence", "hcrf", DualCoordinateRows),
        ("mrf", "mssvm", DualCoordinateRows),
    ],
)
def test_rows_are_kept_where_inference_of_the_model_is_not_compiled_by_example(
    application, model, kind
):
    config = set_values(
        load_config(ROOT / "configs" / f"{application}.yaml"),
        {
            "objective.model": model,
            "solver.method": "dual-coordinate",
            "solver.batch_size": 5,
            "solver.max_cache_mb": 2,
        },
    )
    own = config.create_application()
    solver = new_solver(own, own.read(config.sources("train")), config)
    assert type(solver) is kind
    assert solver.max_bytes == 2e6
    if kind is DualCoordinateRows:
        assert solver.batch_size == 5


def test_costs_of_a_path_scale_the_multipliers_along():
    oracle, solver = begun("sequences", DualCoordinateRows)
    for C in (0.1, 0.3, 1.0):
        solution = solve(oracle, solver, 1e-4, C)
        other = solve(*begun("sequences", NSlack), 1e-4, C)
        assert solution.converged
        assert solution.lower <= other.primal * (1 + 1e-12)
        assert other.lower <= solution.primal * (1 + 1e-12)
