"""The QP over the simplex: every method, its certificate, and problems that break solvers."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from lssvm.kernels import _simplex
from lssvm.solvers import qp
from lssvm.solvers.qp import SimplexQP

NATURAL = Path(__file__).parent / "data" / "bundle_duals.npz"


def synthetic(kind, k, C, seed=0):
    """A dual of k cuts, the zero plane among them: (C G / s, b / s), s = max |b|."""
    rng = np.random.default_rng(seed)
    cuts = 1.0 + 3.0 * rng.normal(size=(k, 400))
    offsets = rng.uniform(0.0, 50.0, size=k)
    if kind == "mixed norms":
        cuts *= 10.0 ** rng.uniform(-3, 3, size=(k, 1))
    if kind == "near duplicates":
        cuts = cuts[rng.integers(0, max(k // 3, 1), size=k)] + 1e-7 * rng.normal(size=(k, 400))
    if kind == "low rank":
        cuts = rng.normal(size=(k, 10)) @ rng.normal(size=(10, 400))
    cuts[0], offsets[0] = 0.0, 0.0
    gram = C * cuts @ cuts.T / offsets.max()
    return (gram + gram.T) / 2, offsets / offsets.max()


def value(gram, offsets, beta):
    return offsets @ beta - 0.5 * beta @ gram @ beta


def vertex(k):
    return np.eye(k)[0]


@pytest.mark.parametrize("method", ["auto", "osqp", "exact"])
def test_two_cuts_meet_where_algebra_says(method):
    # max β₁ − ½ · 4 β₁² over β₁ in [0, 1]: β₁ = 1/4.
    gram, offsets = np.diag([0.0, 4.0]), np.array([0.0, 1.0])
    solved = SimplexQP(method).solve(gram, offsets, vertex(2), 1e-10)
    np.testing.assert_allclose(solved.beta, [0.75, 0.25], atol=1e-6)


@pytest.mark.parametrize("method", ["auto", "osqp", "exact"])
def test_a_single_plane_has_all_the_weight(method):
    solved = SimplexQP(method).solve(np.ones((1, 1)), np.ones(1), np.ones(1), 1e-12)
    assert solved.beta == [1.0]
    assert solved.gap == 0.0


@pytest.mark.parametrize("kind", ["plain", "mixed norms", "near duplicates", "low rank"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("k", [20, 100, 300])
def test_the_certified_gap_is_small_on_hard_synthetic_duals(kind, k, C):
    gram, offsets = synthetic(kind, k, C)
    solved = SimplexQP("auto").solve(gram, offsets, vertex(k), 0.0)
    assert solved.gap <= 1e-6 * value(gram, offsets, solved.beta)
    assert solved.beta.min() >= 0.0
    assert solved.beta.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_the_gap_bounds_the_distance_to_an_independent_optimum(C):
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    gram, offsets = synthetic("plain", 40, C)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(gram)),
        -offsets,
        sparse.csc_matrix(np.vstack([np.ones(40), -np.eye(40)])),
        np.concatenate([[1.0], np.zeros(40)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(40)],
        settings,
    ).solve()
    for steps in (1, 5, 50):
        beta, residual = vertex(40), np.empty(40)
        gap = _simplex.pairwise(gram, offsets, beta, residual, 0.0, steps)
        distance = -answer.obj_val - value(gram, offsets, beta)
        assert -1e-9 <= distance <= gap + 1e-9


def natural():
    """(name, Gram matrix, offsets) of duals from real runs, harvested by experiments/benchmarks."""
    with np.load(NATURAL) as saved:
        for key in saved.files:
            name, kind = key.split("|")
            if kind == "losses":
                continue
            C = float(name.split("C=")[1])
            cuts, losses = saved[key].astype(float), saved[f"{name}|losses"]
            for k in (20, 50, 100, 200, len(losses)):
                points = np.vstack([np.zeros(cuts.shape[1]), cuts[:k]])
                offsets = np.concatenate([[0.0], losses[:k]])
                scale = np.abs(offsets).max()
                yield f"{name} k={k}", C * points @ points.T / scale, offsets / scale


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_bundle_duals_of_real_runs_are_solved_to_a_hundred_millionth(method):
    for name, gram, offsets in natural():
        solved = SimplexQP(method).solve(gram, offsets, vertex(len(offsets)), 0.0)
        assert solved.gap <= 1e-8 * value(gram, offsets, solved.beta), name


def test_exact_steps_go_on_from_any_point_of_the_simplex():
    gram, offsets = synthetic("low rank", 60, 1.0)
    best = SimplexQP("exact").solve(gram, offsets, vertex(60), 0.0)
    rng = np.random.default_rng(1)
    for _ in range(20):
        start = rng.dirichlet(np.full(60, 0.1))
        solved = SimplexQP("exact").solve(gram, offsets, start, 0.0)
        assert value(gram, offsets, solved.beta) == pytest.approx(
            value(gram, offsets, best.beta), rel=1e-9
        )


@pytest.mark.parametrize(("k", "d"), [(20, 5), (90, 20)])
def test_exact_steps_stay_on_the_simplex_where_cuts_depend_on_each_other(k, d):
    rng = np.random.default_rng(3)
    for _ in range(100):
        cuts = rng.normal(size=(k, d))
        gram, offsets = cuts @ cuts.T, rng.normal(size=k)
        beta, residual = rng.dirichlet(np.full(k, 0.3)), np.empty(k)
        gap = _simplex.active_set(gram, offsets, beta, residual, 0.0, 5000)
        assert beta.min() >= 0.0
        assert beta.sum() == pytest.approx(1.0, abs=1e-9)
        assert gap <= 1e-8


def test_a_gap_that_is_no_number_is_infinite():
    gram = np.full((2, 2), np.nan)
    assert SimplexQP("exact").solve(gram, np.ones(2), vertex(2), 1e-3).gap == np.inf


def test_the_kernel_refuses_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"Gram matrix \(2, 2\), offsets \(3,\)"):
        _simplex.active_set(np.eye(2), np.ones(3), np.ones(2), np.ones(2), 0.0, 1)


def test_osqp_follows_a_bundle_that_drops_planes():
    gram, offsets = synthetic("plain", 30, 1.0)
    solver = SimplexQP("osqp")
    first = solver.solve(gram, offsets, vertex(30), 1e-6)
    rows = np.flatnonzero(np.arange(30) % 3 != 1)
    before = solver.dual
    solver.keep(rows)
    np.testing.assert_array_equal(solver.dual, before[np.concatenate([[0], rows + 1])])
    smaller = gram[np.ix_(rows, rows)]
    start = first.beta[rows] / first.beta[rows].sum()
    solved = solver.solve(smaller, offsets[rows], start, 1e-6)
    assert solved.gap <= 1e-6


@pytest.mark.parametrize("broken", ["not convex", "not a number"])
def test_osqp_prints_nothing_when_it_cannot_factor(broken, capsys):
    gram = np.array([[1.0, 2.0], [2.0, -5.0 if broken == "not convex" else np.nan]])
    solved = SimplexQP("osqp")._osqp(gram, np.ones(2), np.array([0.5, 0.5]), 1e-6)
    assert solved.gap == np.inf
    assert capsys.readouterr().out == ""


def test_osqp_prints_nothing_when_it_is_interrupted_and_other_threads_may_print(
    monkeypatch, capsys
):
    gram, offsets = synthetic("low rank", 100, 10.0)
    solver, start = SimplexQP("osqp"), vertex(100)
    monkeypatch.setitem(qp.OSQP_SETTINGS, "max_iter", 10**8)
    received, before = [], sys.stdout

    def note(number, frame):
        received.append(number)
        qp.OSQP_SETTINGS["max_iter"] = 100

    def interrupt():
        time.sleep(0.3)
        print("another thread")
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, note)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        solver._osqp(gram, offsets, start, 1e-300)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert received == [signal.SIGINT]
    assert solver.osqp_calls == 2  # it was interrupted, and solved again
    assert capsys.readouterr().out == "another thread\n"
    assert sys.stdout is before
