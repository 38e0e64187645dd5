"""The number of inference calls that each solver needs to come close to the lowest objective.

    python -m experiments.benchmarks.passes --out out/bench-passes

The data are chains of 40 nodes in which outputs and hidden nodes alternate (``hidden_fields``,
σ_h = 0.1), 20 of them for training, as in Table 2 of Ping, Liu & Ihler (ICML 2014). C is 0.1 and 1
per chain, the middle and the end of the grid there. The models are those of the paper, whose
objective F is not convex, and two models for which the hidden nodes are given too, so that F is
convex: structural SVM and CRF. All solvers of a trial start from the same random weights.

One unit is inference over all chains, loss-augmented or completing. It is counted until F at the
solver's point is at most (1 + 1e-2) and (1 + 1e-3) times the lowest F that any solver found on the
same trial. F itself is evaluated before every pass, which is not counted (for stochastic descent
after every epoch, at the mean of the points and at the last point; the lower F counts). The table
shows medians over the trials, or – if half of them never come so close within the budget, and the
mean relative excess of the lowest F of the solver over the lowest F of all solvers.

- bundle, n-slack, dual-coordinate and gradient work inside CCCP, each time to a certified relative
  gap of 1e-4; lbfgs works on F, until CCCP's problem at its last point has such a gap.
- sgd, 1, sgd, 8 and sgd, all work on F. They make a step after one chain, after eight chains and
  after all chains (Algorithm 1 of the paper), for as many epochs as the budget allows. Learning
  rates are found by trial, which is counted.
- scipy is SciPy's L-BFGS-B on F, for comparison with lbfgs; both are for smooth models.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from experiments.common import command
from experiments.ping_2014.hidden_fields import Draw, drawn, graphs, sampled
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output.tables import text_table, write_results
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run, rules_of

STREAM = 0x70617373
SHARES = (1e-2, 1e-3)
PEER = "scipy"
SMOOTH = {"lbfgs", PEER}
METHODS: dict[str, dict[str, Any]] = {
    "bundle": {"method": "bundle"},
    "n-slack": {"method": "n-slack"},
    "dual-coordinate": {"method": "dual-coordinate"},
    "gradient": {"method": "gradient"},
    "lbfgs": {"method": "lbfgs"},
    PEER: {},
    "sgd, 1": {"method": "sgd", "batch_size": 1},
    "sgd, 8": {"method": "sgd", "batch_size": 8},
    "sgd, all": {"method": "sgd", "batch_size": 10**6},
}


class Model(NamedTuple):
    """name : the model of the objective; hidden : whether every other node is hidden"""

    name: str
    hidden: bool


MODELS = {
    "MSSVM": Model("mssvm", True),
    "LSSVM": Model("lssvm", True),
    "HCRF": Model("hcrf", True),
    "SSVM, all given": Model("ssvm", False),
    "CRF, all given": Model("hcrf", False),
}
Path = list[tuple[float, float]]  # inference calls so far, and F


class Plan(NamedTuple):
    """The size of the experiment: nodes, chains, values of C, trials, and the budget."""

    nodes: int = 40
    chains: int = 20
    grid: tuple[float, ...] = (0.1, 1.0)
    trials: int = 5
    budget: int = 1000


FULL = Plan()
QUICK = Plan(10, 8, (0.1,), 2, 60)


class Task(NamedTuple):
    """One model with one C on one trial, to be trained by all solvers."""

    C: float
    model: str
    trial: int


class SpentError(Exception):
    """Raised when the budget is used up."""


def experiment(arguments: command.Arguments) -> str:
    """Run all solvers on all trials, and write the table."""
    plan = QUICK if arguments.quick else FULL
    tasks = [
        Task(C, model, trial) for C in plan.grid for model in MODELS for trial in range(plan.trials)
    ]
    found = arguments.solved(solve, plan, tasks)
    rows = [row for group in found for row in group]
    text = reported(rows, plan)
    write_results(arguments.out, "passes", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """Run every solver on one task: a row for each."""
    model = MODELS[task.model]
    paths = {}
    for name in METHODS:
        if name not in SMOOTH or model.name == "hcrf":
            oracle, config = problem(plan, task, METHODS[name])
            follow = descended if name == PEER else followed
            paths[name] = follow(oracle, config, plan.budget)
    lowest = min(value for path in paths.values() for _, value in path)
    return [
        {
            **task._asdict(),
            "solver": name,
            **{f"to {share:g}": reached(path, lowest, share) for share in SHARES},
            "lowest": min(value for _, value in path),
            "excess": min(value for _, value in path) / lowest - 1.0,
            "inference": path[-1][0],
        }
        for name, path in paths.items()
    ]


def problem(plan: Plan, task: Task, solver: Mapping[str, Any]) -> tuple[DataOracle, Config]:
    """The oracle for the chains of a trial, and the settings."""
    model, rng = MODELS[task.model], np.random.default_rng([STREAM, task.trial])
    field = drawn(rng, Draw(plan.nodes, 1))
    x, states = sampled(rng, field, plan.chains)
    if not model.hidden:
        field = replace(field, hidden=np.zeros_like(field.hidden))
    examples = graphs(field, x, states)
    epochs = {"epochs": plan.budget} if "batch_size" in solver else {}
    config = Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": model.name, "C": task.C},
            "solver": {"epsilon": 1e-4, **epochs, **solver},
            "cccp": {"tolerance": 1e-5, "max_iterations": plan.budget},
            "seed": task.trial,
        }
    )
    application = config.create_application()
    application.dimension(examples)
    return DataOracle(application, examples, Executor()), config


def first_weights(oracle: DataOracle, config: Config) -> np.ndarray:
    """The point at which all solvers begin."""
    rng = np.random.default_rng([config.seed, 0])
    return oracle.application.start(oracle.examples, rng)


def followed(oracle: DataOracle, config: Config, budget: int) -> Path:
    """F during a run of the configured solver, until it ends or the budget is used up."""
    beside = DataOracle(oracle.application, oracle.examples, oracle.executor)
    run = new_run(oracle, config, 0, None)
    rules = rules_of(config, len(oracle.examples), oracle.application.hidden)
    solver: Any = run.solver
    path: Path = []
    last = None

    def look() -> None:
        nonlocal last
        if solver.w is not last:
            last = solver.w
            points = [last, solver.point] if config.solver.method == "sgd" else [last]
            value = min(objective(beside, rules.C, point)[0] for point in points)
            path.append((run.passes + run.completions, value))
        if run.passes + run.completions >= budget:
            raise SpentError

    try:
        run.proceed(oracle, rules, Observer(), between=look)
        look()
    except SpentError:
        pass
    return path


def descended(oracle: DataOracle, config: Config, budget: int) -> Path:
    """F during SciPy's quasi-Newton steps on F itself, from where all solvers begin."""
    path: Path = []

    def valued(w: np.ndarray) -> tuple[float, np.ndarray]:
        found = objective(oracle, config.objective.C, w)
        path.append((oracle.passes + oracle.completions, found[0]))
        return found

    options = {"maxfun": budget // 2, "maxiter": budget, "ftol": 1e-12, "gtol": 1e-8}
    optimize.minimize(
        valued, first_weights(oracle, config), jac=True, method="L-BFGS-B", options=options
    )
    return path


def objective(oracle: DataOracle, C: float, w: np.ndarray) -> tuple[float, np.ndarray]:
    """F at w and a subgradient of F; inference is exact on a chain."""
    difference = oracle.augmented(w)[0] - oracle.completed(w)
    value = 0.5 * float(w @ w) + C * difference.value(w)
    return value, w + C * difference.gradient


def reached(path: Path, lowest: float, share: float) -> float | None:
    """The inference calls until F is at most (1 + share) times the lowest; None if it never is."""
    return next((count for count, value in path if value <= lowest * (1.0 + share)), None)


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table of medians over the trials."""
    table, keys = [], ("C", "model", "solver")
    for place in itertools.product(plan.grid, MODELS, METHODS):
        own = [row for row in rows if tuple(row[key] for key in keys) == place]
        if own:
            cells = {
                f"to {share:g}": middle([row[f"to {share:g}"] for row in own]) for share in SHARES
            }
            excess = float(np.mean([row["excess"] for row in own]))
            named = dict(zip(keys, place, strict=True))
            table.append({**named, **cells, "above": f"{excess:.1e}"})
    title = f"Inference over all {plan.chains} chains, medians of {plan.trials} trials"
    return text_table(title, table)


def middle(counts: Sequence[float | None]) -> str:
    """The median, where runs that never came so close count as infinite, and their number."""
    median = float(np.median([np.inf if count is None else count for count in counts]))
    never = sum(count is None for count in counts)
    text = f"{median:.0f}" if np.isfinite(median) else "–"
    return f"{text} ({never} never)" if never else text


if __name__ == "__main__":
    command.main(
        "The inference that each solver needs to come close to the lowest objective.",
        None,
        "short chains, two trials, a small budget",
        experiment,
        {"trials": STREAM},
    )
