"""How much inference each solver needs to come close to the lowest objective that is found.

    python -m experiments.benchmarks.passes --out out/passes

Chains of 40 nodes with hidden ones between the outputs (``hidden_fields``, σ_h = 0.1), 20 of them
to train on, as in Table 2 of Ping, Liu & Ihler (ICML 2014), with C = 0.1 and 1 a chain, the middle
and the end of the grid there. The models are those of the paper, whose objective F is not convex,
and the two that are left when the hidden nodes are given too, for which it is: structural SVM and
CRF. All solvers of a trial start from the same random weights.

What is counted is inference over all chains, loss-augmented or completing, that a solver asks for:
until F at its point is at most (1 + 1e-2) and (1 + 1e-3) times the lowest F that any solver found
on the same trial. F is evaluated beside, uncounted, before every pass (stochastic descent: after
every epoch; there at the mean and at the last point, of which the lower counts). Given are medians
over the trials, – where half of them never come so close within the budget, and by how much F at
the end is above the lowest one, on average.

- bundle, n-slack, dual-coordinate and gradient work inside CCCP, to a certified relative gap of
  1e-4 each time; lbfgs works on F, to such a gap of CCCP's problem at its last point.
- sgd, 1, sgd, 8 and sgd, all work on F: steps after one chain, eight, and all (the paper's
  Algorithm 1), for as many epochs as the budget allows; rates found by trial, which is counted.
- scipy is SciPy's L-BFGS-B on F, the peer of lbfgs; both are for smooth models.
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
from lssvm.oracle import DataOracle, Executor
from lssvm.output.tables import text_table, write_results
from lssvm.training.cccp import Observer
from lssvm.training.cross_validation import run_tasks
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
    """name : of the objective; hidden : whether every other node is"""

    name: str
    hidden: bool


MODELS = {
    "MSSVM": Model("mssvm", True),
    "LSSVM": Model("lssvm", True),
    "HCRF": Model("hcrf", True),
    "SSVM, all given": Model("ssvm", False),
    "CRF, all given": Model("hcrf", False),
}
Path = list[tuple[float, float]]  # inference so far, and F


class Plan(NamedTuple):
    """Nodes of a chain, chains, values of C, trials, and inference at most."""

    nodes: int = 40
    chains: int = 20
    grid: tuple[float, ...] = (0.1, 1.0)
    trials: int = 5
    budget: int = 1000


FULL = Plan()
QUICK = Plan(10, 8, (0.1,), 2, 60)


class Task(NamedTuple):
    """One model with one C on one trial, with all solvers."""

    C: float
    model: str
    trial: int


class SpentError(Exception):
    """The budget is used up."""


def experiment(arguments: command.Arguments) -> str:
    """Follow all solvers on all trials, write the table."""
    plan = QUICK if arguments.quick else FULL
    tasks = [
        Task(C, model, trial) for C in plan.grid for model in MODELS for trial in range(plan.trials)
    ]
    found = run_tasks(solve, plan, tasks, jobs=arguments.jobs, progress=command.show_progress)
    rows = [row for group in found for row in group]
    text = reported(rows, plan)
    write_results(arguments.out, "passes", text, rows, {"plan": plan._asdict()})
    return text


def solve(plan: Plan, task: Task) -> list[dict[str, Any]]:
    """Follow every solver: a row for each."""
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
    """The chains of a trial behind an oracle, and the settings."""
    model, rng = MODELS[task.model], np.random.default_rng([STREAM, task.trial])
    field = drawn(rng, Draw(plan.nodes, 1))
    x, states = sampled(rng, field, plan.chains)
    if not model.hidden:
        field = replace(field, hidden=np.zeros_like(field.hidden))
    examples = graphs(field, x, states)
    config = Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": model.name, "C": task.C},
            "solver": {"epsilon": 1e-4, "epochs": plan.budget, **solver},
            "cccp": {"tolerance": 1e-5, "max_iterations": plan.budget},
            "seed": task.trial,
        }
    )
    application = config.create_application()
    application.dimension(examples)
    return DataOracle(application, examples, Executor()), config


def first_weights(oracle: DataOracle, config: Config) -> np.ndarray:
    """Where all solvers begin."""
    rng = np.random.default_rng([config.seed, 0])
    return oracle.application.start(oracle.examples, rng)


def followed(oracle: DataOracle, config: Config, budget: int) -> Path:
    """F along a run of the configured solver, until it ends or the budget does."""
    beside = DataOracle(oracle.application, oracle.examples, oracle.executor)
    run = new_run(oracle.application, oracle.examples, oracle, config, 0, None)
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
    """F along quasi-Newton steps on F itself, by SciPy, from where the other solvers begin."""
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
    """F at w and a (sub)gradient of it; inference is exact on a chain."""
    difference = oracle.augmented(w)[0] - oracle.completed(w)
    value = 0.5 * float(w @ w) + C * difference.value(w)
    return value, w + C * difference.gradient


def reached(path: Path, lowest: float, share: float) -> float | None:
    """Inference until F is at most (1 + share) times the lowest, None if it never is."""
    return next((count for count, value in path if value <= lowest * (1.0 + share)), None)


def reported(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """Medians over the trials."""
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
    """The median, those that never came so close as the largest; how many these are, if any."""
    median = float(np.median([np.inf if count is None else count for count in counts]))
    never = sum(count is None for count in counts)
    text = f"{median:.0f}" if np.isfinite(median) else "–"
    return f"{text} ({never} never)" if never else text


if __name__ == "__main__":
    command.main(
        "Inference that each solver needs to come close to the lowest objective.",
        None,
        "short chains, two trials, little inference",
        experiment,
    )
