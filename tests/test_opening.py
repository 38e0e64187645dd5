"""Block steps that a bundle begins with: exact line searches, valid cuts, the dual they reach."""

import numpy as np
import pytest
from mrf_cases import Problem

from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import total
from lssvm.solvers import opening
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.opening import opened, parts_of
from lssvm.solvers.qp import SimplexQP

MODELS = ("ssvm", "lssvm", "mssvm", "hcrf")


def problem(model, seed, n=12):
    rng = np.random.default_rng(seed)
    case = Problem(rng, model, shape="any", n=n)
    oracle = DataOracle(case.app, case.examples, Executor(1))
    return oracle, case.app.start(case.examples, rng), rng


def dual(cut, completion, C, point):
    return C * (cut.loss - completion.loss) - 0.5 * point @ point


@pytest.mark.parametrize("model", MODELS)
def test_the_cut_is_valid_and_holds_the_dual_point(model, monkeypatch):
    for seed in range(20):
        oracle, w0, rng = problem(model, seed)
        C = float(rng.choice([0.1, 1.0, 10.0]))
        completion = oracle.completed(w0)
        values = []
        for epochs in (1, 2, 5):
            monkeypatch.setattr(opening, "EPOCHS", epochs)
            point, cut = opened(oracle.parts(2), C, w0)
            np.testing.assert_allclose(
                point, C * (completion.gradient - cut.gradient), atol=1e-9 * C
            )
            values.append(dual(cut, completion, C, point))
            for w in (np.zeros(len(w0)), w0, point, rng.normal(size=len(w0))):
                upper = oracle.augmented(w)[1]
                assert cut.value(w) <= upper + 1e-9 * (1.0 + abs(upper))
                primal = 0.5 * w @ w + C * (upper - completion.value(w))
                assert values[-1] <= primal + 1e-9 * (1.0 + primal)
        assert 0.0 <= values[0] <= values[1] <= values[2]
        assert values[2] > 0.0


def test_with_one_part_a_step_goes_to_the_minimum_between_two_planes():
    oracle, w0, _ = problem("lssvm", 1)
    completion, first = oracle.completed(w0), oracle.augmented(np.zeros(len(w0)))[0]
    C = 0.5
    opening_point, cut = opened([Once(oracle, first)], C, w0)
    move = first - completion
    best = max(
        dual(total([completion, scaled(move, share)]), completion, C, -C * share * move.gradient)
        for share in np.linspace(0, 1, 1001)
    )
    assert dual(cut, completion, C, opening_point) == pytest.approx(best, rel=1e-5)


def scaled(plane, share):
    return type(plane)(share * plane.gradient, share * plane.loss)


class Once:
    """An oracle that finds the same plane wherever it is asked."""

    def __init__(self, oracle, plane):
        self.completed, self.plane = oracle.completed, plane

    def augmented(self, w):
        return self.plane, self.plane.value(w)


@pytest.mark.parametrize("model", MODELS)
def test_a_bundle_that_opens_so_certifies_the_same_optimum(model):
    oracle, w0, _ = problem(model, 3)
    found = []
    for size in (0, 1):
        bundle = Bundle(w0.copy(), oracle.completed(w0), SimplexQP("auto"), opening=size)
        before = oracle.passes
        found.append(bundle.minimise(oracle, 2.0, lambda primal: 1e-5 * abs(primal)))
        assert bundle.problem_passes == oracle.passes - before + size * opening.EPOCHS  # in parts
    assert found[0].lower <= found[1].primal
    assert found[1].lower <= found[0].primal
    assert found[1].primal - found[1].lower <= 1e-5 * found[1].primal


def test_few_examples_or_many_weights_are_not_parted():
    assert parts_of(7, 10) == 0
    assert parts_of(8, 10) == 1
    assert parts_of(6400, 10) == 100
    assert parts_of(1000, opening.ROOM // 16) == 63
    assert parts_of(1000, opening.ROOM) == 0
