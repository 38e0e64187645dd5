"""The main job: configuration → examples → CCCP with restarts → model.

>>> from lssvm.config import load_config
>>> from lssvm.train import learn
>>> learn(load_config("motif.yaml")).save("motif.model")  # doctest: +SKIP
"""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lssvm import checkpoint as checkpoints
from lssvm.applications.base import Application, FirstProblem
from lssvm.cccp import Observer, Rules, Run, Summary
from lssvm.checkpoint import Progress
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executors import DataOracle, Executor
from lssvm.model import Model
from lssvm.plane import Plane
from lssvm.solvers.bundle import Bundle
from lssvm.solvers.qp import SimplexQP


def learn(
    config: Config,
    *,
    threads: int = 1,
    observer: Observer | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 100,
    resume: bool = False,
    initial: Model | None = None,
) -> Model:
    """Read the training data that the configuration names and train on them.

    checkpoint : file written after every CCCP iteration and every ``checkpoint_every``
        passes, and read first if ``resume``
    initial : a model of the same application whose weights are the starting point

    Raises LssvmError for bad configuration or data, Interrupted after a signal.
    """
    application = config.create_application()
    examples = application.read(config.sources("train"))
    saving = Saving(checkpoint, checkpoint_every, resume) if checkpoint else None
    return learn_on(
        application,
        examples,
        config,
        threads=threads,
        observer=observer,
        saving=saving,
        initial=initial,
    )


@dataclass(frozen=True)
class Saving:
    """Where and how often a checkpoint is written, and whether to go on from it."""

    path: Path
    every: int = 100
    resume: bool = False


def learn_on(
    application: Application,
    examples: Any,
    config: Config,
    *,
    threads: int = 1,
    observer: Observer | None = None,
    saving: Saving | None = None,
    initial: Model | None = None,
) -> Model:
    """Train on examples in memory; see :func:`learn`."""
    observer = observer or Observer()
    began = time.perf_counter()
    w0 = _initial_weights(application, examples, initial)
    restarts = config.cccp.restarts if w0 is None else 1
    key = checkpoints.identity(config.to_dict(), examples.fingerprint(), w0)
    progress = Progress()
    if saving is not None and saving.resume:
        progress = checkpoints.load(saving.path, key)
    rules = rules_of(config, len(examples))
    with (
        threadpool_limits(1),
        Executor(threads) as executor,
        checkpoints.stoppable() as signalled,
    ):
        oracle = DataOracle(application, examples, executor)
        between = _keeper(saving, key, progress, signalled)
        best: Run | None = None
        for restart in range(len(progress.finished), restarts):
            observer.restarted(restart + 1, restarts)
            if progress.run is None:
                progress.run = new_run(application, examples, oracle, config, restart, w0)
            run = progress.run
            run.proceed(oracle, rules, observer, restart, between)
            if _is_best(run, progress.finished):
                best, progress.best_w = run, run.bundle.w
            progress.finished.append(_restart_record(run, config.seed, restart))
            progress.run = None
        seconds = time.perf_counter() - began
        w, records = progress.best_w, progress.finished
        model = _finish(application, examples, config, w, records, observer)
        observer.finished(_summary(model.record, oracle, best, seconds))
    return model


def learn_path(
    application: Application,
    examples: Any,
    configs: Sequence[Config],
    *,
    threads: int = 1,
    observer: Observer | None = None,
) -> list[Model]:
    """Train for several values of C, each start going on where the last value ended.

    The configurations differ in ``objective.C`` alone. Cuts of Σ c_i U⁺_i do not contain C,
    so the bundle is carried along with w. Returns one model for each configuration, the best
    of its restarts.
    """
    observer = observer or Observer()
    first = configs[0]
    finished: list[list[dict[str, Any]]] = [[] for _ in configs]
    weights = [np.empty(0) for _ in configs]
    with threadpool_limits(1), Executor(threads) as executor:
        oracle = DataOracle(application, examples, executor)
        for restart in range(first.cccp.restarts):
            run = new_run(application, examples, oracle, first, restart, None)
            for place, config in enumerate(configs):
                rules = rules_of(config, len(examples))
                if place:
                    run = Run(
                        run.bundle,
                        config.cccp.looseness,
                        run.total_cost,
                        objective=run.bundle.primal(rules.C),
                    )
                run.proceed(oracle, rules, observer, restart)
                if _is_best(run, finished[place]):
                    weights[place] = run.bundle.w
                finished[place].append(_restart_record(run, config.seed, restart))
        return [
            _finish(application, examples, config, w, records, observer)
            for config, w, records in zip(configs, weights, finished, strict=True)
        ]


def classify(model: Model, examples: Any, *, top: int = 1) -> Any:
    """The model's predictions for examples that its application has read."""
    with threadpool_limits(1):
        return model.application.predict(model.w, examples, top)


def rules_of(config: Config, n: int) -> Rules:
    """When to stop. ``c_scaling: mean`` is turned into a weight of the sum here, once."""
    C = config.objective.C / (n if config.objective.c_scaling == "mean" else 1)
    return Rules(
        C,
        n,
        config.solver.epsilon,
        config.cccp.looseness,
        config.cccp.tolerance,
        config.cccp.max_iterations,
        config.solver.max_passes,
    )


def new_run(
    application: Application,
    examples: Any,
    oracle: DataOracle,
    config: Config,
    restart: int,
    w0: np.ndarray | None,
) -> Run:
    """A run that stands before its first pass.

    Its generator is seeded by (seed, restart), so a restart does not depend on the others.
    """
    rng = np.random.default_rng([config.seed, restart])
    first = application.start(examples, rng) if w0 is None else w0
    if isinstance(first, FirstProblem):
        first = _solved(first, oracle.executor, config, rng)
    if isinstance(first, Plane):
        completion, w = first, np.zeros(len(first.gradient))
    else:
        completion, w = oracle.completed(first), first.copy()
    solver = config.solver
    bundle = Bundle(w, completion, SimplexQP(solver.qp), solver.step, solver.max_planes)
    return Run(bundle, config.cccp.looseness, float(np.sum(examples.costs)))


def _solved(
    problem: FirstProblem, executor: Executor, config: Config, rng: np.random.Generator
) -> np.ndarray:
    """The weights that solve a problem without hidden values, to the precision of the last."""
    oracle = DataOracle(problem.application, problem.examples, executor)
    completion = problem.application.start(problem.examples, rng)
    solver, rules = config.solver, rules_of(config, len(problem.examples))
    w = np.zeros(len(completion.gradient))
    bundle = Bundle(w, completion, SimplexQP(solver.qp), solver.step, solver.max_planes)
    return bundle.minimise(
        oracle, rules.C, lambda primal: rules.epsilon * primal, max_passes=rules.max_passes
    ).w


def _initial_weights(
    application: Application, examples: Any, initial: Model | None
) -> np.ndarray | None:
    if initial is None:
        return None
    expected = application.dimension(examples)
    if len(initial.w) != expected or type(initial.application) is not type(application):
        raise LssvmError(
            f"the initial model has {len(initial.w)} weights of application "
            f"{initial.config['application']['name']!r}; expected {expected} weights of "
            f"{application.options.name!r}"
        )
    return initial.w


def _keeper(
    saving: Saving | None, key: str, progress: Progress, signalled: Callable[[], int]
) -> Callable[[], None]:
    """What is done between two passes: save now and then, and stop when a signal came."""
    written = [-1, -1]

    def between() -> None:
        run, number = progress.run, signalled()
        if saving is not None and run is not None:
            now = [run.iteration, run.passes // saving.every]
            if now != written or number:
                checkpoints.save(saving.path, key, progress)
                written[:] = now
        if number:
            raise checkpoints.interrupted(number, saving.path if saving else None)

    return between


def _is_best(run: Run, finished: list[dict[str, Any]]) -> bool:
    return all(run.objective < record["objective"] for record in finished)


def _restart_record(run: Run, seed: int, restart: int) -> dict[str, Any]:
    return {
        "seed": [seed, restart],
        "objective": run.objective,
        "concave": run.concave,
        "lower_bound": run.lower,
        "gap": run.gap,
        "certified": run.certified,
        "converged": run.converged,
        "iterations": run.iteration,
        "passes": run.passes,
        "completions": run.completions,
        "planes": len(run.bundle.planes),
        "history": [[objective, passes] for objective, passes in run.history],
    }


def _finish(
    application: Application,
    examples: Any,
    config: Config,
    w: np.ndarray,
    records: list[dict[str, Any]],
    observer: Observer,
) -> Model:
    """The model of the best restart, with the record of how it was trained."""
    objectives = np.array([record["objective"] for record in records])
    best = records[int(np.argmin(objectives))]
    predictions = application.predict(w, examples)
    record = {
        "objective": best["objective"],
        "convex": best["objective"] - best["concave"],
        "concave": best["concave"],
        "lower_bound": best["lower_bound"],
        "gap": best["gap"],
        "certified": best["certified"],
        "converged": best["converged"],
        "cccp_iterations": best["iterations"],
        "passes": sum(record["passes"] for record in records),
        "completions": sum(record["completions"] for record in records),
        "planes": best["planes"],
        "seed": config.seed,
        "best_restart": int(np.argmin(objectives)),
        "restarts": records,
        "objective_mean": float(objectives.mean()),
        "objective_std": float(objectives.std(ddof=1)) if len(objectives) > 1 else 0.0,
        "training": application.score(examples, predictions),
        "data_sha256": examples.fingerprint(),
        "n_examples": len(examples),
        "warnings": application.training_warnings(examples, predictions),
    }
    if not np.any(w):
        record["warnings"].append(
            "all weights are zero: the loss could not be reduced; try a larger C or more restarts"
        )
    for text in record["warnings"]:
        observer.warned(text)
    arrays = application.summary(w, examples)
    return Model(application, config.to_dict(), w, record, arrays)


def _summary(
    record: dict[str, Any], oracle: DataOracle, best: Run | None, seconds: float
) -> Summary:
    in_qp = best.bundle.seconds if best else 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Summary(
        record["objective"],
        record["convex"],
        record["concave"],
        record["gap"],
        record["certified"],
        record["cccp_iterations"],
        record["passes"],
        record["planes"],
        best.bundle.qp.osqp_calls if best else 0,
        oracle.seconds,
        in_qp,
        max(0.0, seconds - oracle.seconds - in_qp),
        peak / (1 << 20 if sys.platform == "darwin" else 1 << 10),
    )
