"""CCCP: F never rises, the bundle goes on, runs stop where they should."""

import itertools

import numpy as np
import pytest
import toy

from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.qp import SimplexQP
from lssvm.training.cccp import Observer, Rules, Run


class Recorder(Observer):
    def __init__(self):
        self.rows, self.gaps = [], []

    def iterated(self, row):
        self.rows.append(row)

    def passed(self, passes, gap, goal, not_converged, objective):
        self.gaps.append((gap, goal))


def solved(app, pairs, C, seed=0, **rules):
    oracle = DataOracle(app, pairs, Executor(1))
    completion = app.start(pairs, np.random.default_rng(seed))
    bundle = Bundle(np.zeros(app.tables.shape[-1]), completion, SimplexQP())
    run = Run(bundle, 0.1, float(pairs.costs.sum()))
    recorder = Recorder()
    run.proceed(oracle, Rules(C, **rules), recorder)
    return run, recorder, oracle


def objective(app, pairs, w, C):
    """F(w) from its definition, every (y, h) enumerated."""
    total = 0.5 * w @ w
    for x, y, cost in zip(pairs.inputs, pairs.outputs, pairs.costs, strict=True):
        scores = app.tables[x] @ w
        plus = (scores + app.losses[y][:, None]).max()
        total += C * cost * (plus - scores[y].max())
    return total


PROBLEMS = [(seed, C) for seed in range(10) for C in (0.01, 1.0, 100.0)]


@pytest.mark.parametrize(("seed", "C"), PROBLEMS)
def test_the_objective_never_rises_and_is_what_the_definition_says(seed, C):
    app, pairs = toy.random_problem(seed, n=20, n_hidden=4, signal=1.0)
    run, recorder, _ = solved(app, pairs, C, seed)
    objectives = [row.objective for row in recorder.rows]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(objectives))
    assert run.objective == objectives[-1]
    assert run.objective == pytest.approx(objective(app, pairs, run.solver.w, C), rel=1e-9)
    assert all(gap >= 0.0 for gap, _ in recorder.gaps)


@pytest.mark.parametrize(("seed", "C"), PROBLEMS)
def test_a_converged_run_is_certified_and_settled(seed, C):
    app, pairs = toy.random_problem(seed, n=20, n_hidden=4)
    run, recorder, _ = solved(app, pairs, C, seed, epsilon=1e-4, tolerance=1e-4)
    assert run.converged
    assert run.gap <= 1e-4
    settled = C * pairs.costs.sum() * 1e-4
    assert run.gap * run.objective <= settled * 1.001
    assert recorder.rows[-1].decrease < settled


@pytest.mark.parametrize("seed", range(5))
def test_costs_in_another_unit_with_C_to_match_change_nothing(seed):
    runs = []
    for unit in (1.0, 1024.0):
        app, pairs = toy.random_problem(seed, n=20, n_hidden=4, signal=1.0)
        pairs.costs[:] *= unit
        run, recorder, _ = solved(app, pairs, 1.0 / unit, seed, tolerance=1e-2)
        runs.append((run.objective, run.passes, [row.objective for row in recorder.rows]))
    assert runs[0] == runs[1]


def test_training_again_from_the_answer_gains_nothing():
    app, pairs = toy.random_problem(5, n=20, signal=1.0)
    run, _, oracle = solved(app, pairs, 1.0, epsilon=1e-6, tolerance=1e-6)
    bundle = Bundle(run.solver.w, oracle.completed(run.solver.w), SimplexQP())
    again = Run(bundle, 0.1, float(pairs.costs.sum()))
    again.proceed(oracle, Rules(1.0, 1e-6, tolerance=1e-6), Observer())
    assert again.objective >= run.objective - 1e-5 * run.objective


def test_passes_and_completions_are_those_of_the_oracle():
    app, pairs = toy.random_problem(1, n=20)
    run, recorder, oracle = solved(app, pairs, 1.0)
    assert run.passes == oracle.passes == recorder.rows[-1].passes
    assert run.completions == oracle.completions == run.iteration


def test_the_iterations_allowed_are_kept_and_the_run_says_so():
    app, pairs = toy.random_problem(2, n=20, signal=1.0)
    run, _, _ = solved(app, pairs, 10.0, max_iterations=1)
    assert run.iteration == 1
    assert not run.converged


def test_a_problem_without_hidden_values_is_solved_to_its_convex_optimum():
    pytest.importorskip("clarabel")
    app, pairs = toy.random_problem(3, n=20, n_hidden=1)
    run, _, oracle = solved(app, pairs, 1.0, epsilon=1e-7, tolerance=1e-9)
    optimum, _ = toy.convex_optimum(app, pairs, oracle.completed(np.zeros(5)), 1.0)
    assert run.objective == pytest.approx(optimum, rel=1e-6)
