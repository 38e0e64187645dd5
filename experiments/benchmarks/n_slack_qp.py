"""The QP of the n-slack method over all planes that are kept: block steps compared with OSQP.

Between two passes, n-slack minimises ½‖w‖² + Σ u_i ξ_i over the planes that it keeps, until the gap
of this problem is a tenth of the gap of the whole problem. Such problems are taken from real runs
and solved twice: by the solver's own method, rounds of block steps and conjugate gradients, and by
OSQP in w and ξ (sparse; the dual would need the dense Gram matrix of the planes). OSQP starts from
the same point, and its precision is raised until its w reaches the same goal. The script computes
the value at w for both; the lower bound comes from many rounds.

Usage: python -m experiments.benchmarks.n_slack_qp [--data FOLDER of letters.npz]
"""

import argparse
import copy
import os
import time
from pathlib import Path

import numpy as np
import osqp
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.common.ocr_letters import load_letters
from lssvm.config import Config, load_config
from lssvm.errors import DataError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.solvers.n_slack import INNER_SHARE
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run, rules_of

ROOT = Path(__file__).parent.parent
PRECISIONS = (1e-3, 1e-4, 1e-5, 1e-6)
ROUNDS = 2000  # rounds for the lower bound
SECONDS = 60.0  # the time that OSQP may use for one problem


def problems(letters):
    """The name, configuration, application and examples of each run."""
    for name, C in (("multiclass", 1.0), ("sequence", 0.1), ("sequence", 1.0)):
        settings = [f"objective.C={C}", "solver.method=n-slack"]
        config = load_config(ROOT / "configs" / f"{name}.yaml", settings)
        application = config.create_application()
        yield f"{name}, C = {C:g}", config, application, application.read(config.sources("train"))
    try:
        words = load_letters(letters, [0])
    except DataError as error:
        print(f"the letters are left out: {error}")
        return
    values = {"application": {"name": "sequence"}, "solver": {"method": "n-slack"}}
    config = Config.from_dict(values | {"objective": {"C": 0.1}})
    words = words.with_inputs(sparse.csr_array(words.dense))
    yield "626 words, C = 0.1", config, config.create_application(), words


class Harvest(Observer):
    """Stores copies of the planes and of the gap whenever sweeps begin."""

    def __init__(self, monitored):
        self.found, self._run = [], monitored

    def passed(self, passes, gap, goal, not_converged, objective):
        """Store a copy; this is called before each pass, and so before its sweeps."""
        solver = self._run.solver
        if len(solver.sets):
            self.found.append((copy.deepcopy(solver.sets), INNER_SHARE * solver.gap(solver.C)))


def harvested(config, application, examples):
    """The inner problems of a run: working sets, and the gap to reach."""
    with Executor(1) as executor:
        oracle = DataOracle(application, examples, executor)
        run = new_run(oracle, config, 0, None)
        harvest = Harvest(run)
        run.proceed(oracle, rules_of(config, len(examples), hidden=False), harvest)
    return harvest.found


def value(sets, w):
    """The value ½‖w‖² + Σ u_i ξ_i over the planes that are kept."""
    heights = np.zeros(len(sets.limits))
    planes = np.arange(len(sets))
    np.maximum.at(heights, sets.owner, sets.losses + sets.dots(planes, w))
    return 0.5 * float(w @ w) + float(sets.limits @ heights)


def by_blocks(sets, goal):
    """The CPU seconds of the solver's own rounds, and their w."""
    own = copy.deepcopy(sets)
    began = time.process_time()
    own.settle(ROUNDS, goal)
    return time.process_time() - began, own.w


def by_osqp(sets, goal, lower):
    """The CPU seconds until OSQP's w reaches the goal, and this w; None if no w does."""
    n, (m, d) = len(sets.limits), (len(sets), sets.dimension)
    began = time.process_time()
    slack = sparse.csr_array((-np.ones(m), (np.arange(m), sets.owner)), shape=(m, n))
    below = sparse.hstack([sets.matrix(np.arange(m)), slack])
    positive = sparse.hstack([sparse.csr_array((n, d)), sparse.eye_array(n)])
    weights = sparse.diags_array(np.append(np.ones(d), np.zeros(n)))
    linear = np.append(np.zeros(d), sets.limits)
    x = np.append(sets.w, sets.slacks())
    y = np.append(sets.alpha, np.zeros(n))
    for epsilon in PRECISIONS:
        problem = osqp.OSQP()
        problem.setup(
            sparse.csc_matrix(weights),
            linear,
            sparse.csc_matrix(sparse.vstack([below, positive])),
            np.append(np.full(m, -np.inf), np.zeros(n)),
            np.append(-sets.losses, np.full(n, np.inf)),
            eps_abs=epsilon,
            eps_rel=epsilon,
            max_iter=100_000,
            time_limit=SECONDS,
            polishing=False,
            verbose=False,
        )
        problem.warm_start(x=x, y=y)
        answer = problem.solve(raise_error=False)
        x, y = np.nan_to_num(answer.x), np.nan_to_num(answer.y)
        spent = time.process_time() - began
        if value(sets, x[:d]) - lower <= goal:
            return spent, x[:d]
        if spent > SECONDS:
            break
    return None


def main():
    """Print one line for each run: the number of problems, their sizes, and the seconds of both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(os.environ.get("LSSVM_DATA", "../shared/data")) / "ocr-letters"
    parser.add_argument("--data", type=Path, default=default, help="folder of letters.npz")
    options = parser.parse_args()
    print("run                  problems  planes  CPU s: block steps    OSQP  OSQP falls short")
    for name, config, application, examples in problems(options.data):
        with threadpool_limits(1):
            found = harvested(config, application, examples)
            rows = [found[k] for k in np.linspace(0, len(found) - 1, 6).astype(int)]
            blocks, others, short = 0.0, 0.0, 0
            for sets, goal in rows:
                best = copy.deepcopy(sets)
                best.settle(ROUNDS, 1e-3 * goal)
                seconds, w = by_blocks(sets, goal)
                assert value(sets, w) - best.dual() <= 1.001 * goal
                blocks += seconds
                answer = by_osqp(sets, goal, best.dual())
                others += answer[0] if answer else SECONDS
                short += answer is None
        planes = max(len(sets) for sets, _ in rows)
        print(f"{name:20} {len(rows):8} {planes:7} {blocks:18.3f} {others:7.2f} {short:17}")


if __name__ == "__main__":
    main()
