"""The main job: configuration → examples → CCCP with restarts → model.

>>> from lssvm.config import load_config
>>> from lssvm.training.session import learn
>>> learn(load_config("motif.yaml")).save("motif.model")  # doctest: +SKIP
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from lssvm.applications import feature_space
from lssvm.applications.base import Application
from lssvm.applications.feature_space import Linear, Space, Training
from lssvm.config import Config
from lssvm.errors import ApplicationFault, LssvmError
from lssvm.model import Model
from lssvm.oracle import INEXACT, DataOracle, Executor
from lssvm.training import checkpoint as checkpoints
from lssvm.training import record
from lssvm.training.cccp import Observer, Rules, Run
from lssvm.training.checkpoint import Progress, Setting
from lssvm.training.held_out import Enough, HeldOut, metric_of
from lssvm.training.setup import new_run, new_solver, rules_of
from lssvm.training.setup import rehearse as rehearse_run

_WEIGHT = 8  # bytes


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
    application, examples, held = _read(config)
    saving = Saving(checkpoint, checkpoint_every, resume) if checkpoint else None
    return learn_on(
        application,
        examples,
        config,
        threads=threads,
        observer=observer,
        saving=saving,
        initial=initial,
        held=held,
    )


def _read(config: Config) -> tuple[Application, Any, Any]:
    """The application, its examples of training, and the held-out ones, None if there are none."""
    application = config.create_application()
    examples = application.read(config.sources("train"))
    held = application.read(config.sources("validate")) if config.data.validate_ else None
    return application, examples, held


class Rehearsed(NamedTuple):
    """What training would begin with: the application and its examples."""

    application: Application
    examples: Any
    held: Any


def rehearse(
    config: Config,
    *,
    threads: int = 1,
    resumed: Path | None = None,
    initial: Model | None = None,
) -> Rehearsed:
    """Do everything that :func:`learn` does up to its first pass, and one prediction.

    resumed : the checkpoint to go on from, if any

    Raises LssvmError where ``learn`` would.
    """
    application, examples, held = _read(config)
    ready = _ready(application, examples, config, initial, held)
    if resumed is not None:
        restarts = config.cccp.restarts if ready.w0 is None else 1
        checkpoints.load(resumed, ready.key, _setting(application, ready, config, restarts))
    problem = ready.problem
    with threadpool_limits(1), Executor(threads) as executor:
        oracle = DataOracle(application, problem.examples, executor)
        w = rehearse_run(application, problem.examples, oracle, config, ready.w0)
        for part in (ready.examples, held):
            if part is not None:
                shown, weights = problem.space.prepared(part, w)
                found = application.score(part, application.predict(weights, shown))
        if held is not None and config.held_out.every:
            metric_of(config.held_out.metric, found)
    return Rehearsed(application, examples, held)


class Ready(NamedTuple):
    """What a run begins with.

    examples : as training takes them
    w0 : first weights that are given, or None; key : of its checkpoints
    """

    examples: Any
    w0: np.ndarray | None
    problem: Training
    key: str


def _ready(
    application: Application, examples: Any, config: Config, initial: Model | None, held: Any
) -> Ready:
    """Check everything that can be checked before the first pass. Raises LssvmError."""
    examples = _trainable(application, examples, config)
    if held is not None and not held.labelled:
        raise LssvmError("data.validate: examples without label; expected labelled ones")
    w0 = _initial_weights(application, examples, config, initial)
    problem = _problem(application, examples, config)
    data = [examples.fingerprint(), *([held.fingerprint()] if held is not None else [])]
    key = checkpoints.identity(config.to_dict(), " ".join(data), w0)
    return Ready(examples, w0, problem, key)


def _setting(application: Application, ready: Ready, config: Config, restarts: int) -> Setting:
    """What a checkpoint of this run must fit."""
    problem = ready.problem
    dimension = application.dimension(problem.examples)
    solver = new_solver(config, dimension, 0, (problem.gram, problem.labels))
    C = rules_of(config, len(ready.examples), application.hidden).C
    return Setting(solver, dimension, problem.examples.costs, restarts, C)


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
    held: Any = None,
) -> Model:
    """Train on examples in memory; see :func:`learn`.

    held : labelled examples that the model is scored on, and what is on the way to it, if the
        section ``held_out`` says so
    """
    observer = observer or Observer()
    began = time.perf_counter()
    ready = _ready(application, examples, config, initial, held)
    examples, w0, problem, key = ready
    metric = problem.gram, problem.labels
    restarts = config.cccp.restarts if w0 is None else 1
    progress = Progress()
    if saving is not None and saving.resume:
        setting = _setting(application, ready, config, restarts)
        progress = checkpoints.load(saving.path, key, setting)
    rules = rules_of(config, len(examples), application.hidden)
    with (
        threadpool_limits(1),
        Executor(threads) as executor,
        checkpoints.stoppable() as signalled,
    ):
        oracle = DataOracle(application, problem.examples, executor)
        watching = _watching(application, held, config, problem, progress, observer, rules.C)
        between = _keeper(saving, key, progress, signalled, watching)
        qp_seconds, osqp_calls = 0.0, 0
        for restart in range(len(progress.finished), restarts):
            observer.restarted(restart + 1, restarts)
            if progress.run is None:
                progress.run = new_run(
                    application, problem.examples, oracle, config, restart, w0, between, metric
                )
            run = progress.run
            w = _proceeded(run, oracle, rules, observer, restart, between, watching)
            progress.best_w = w if record.is_best(run, progress.finished) else progress.best_w
            progress.finished.append(record.of_restart(run, config.seed, restart, progress.scores))
            progress.run = None
            qp_seconds += run.solver.seconds
            osqp_calls += run.solver.osqp_calls
            between()  # a signal that came since the last pass
        w, records = progress.best_w, progress.finished
        model = _finish(application, examples, config, problem.space, w, records, observer, held)
        seconds = (oracle.seconds, qp_seconds, time.perf_counter() - began)
        observer.finished(record.summary(model.record, config.solver.method, osqp_calls, *seconds))
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
    so the bundle is carried along with w. Where hidden values can be exchanged all values of C
    begin anew. Returns one model for each configuration, the best of its restarts.
    """
    observer = observer or Observer()
    first = configs[0]
    examples = _trainable(application, examples, first)
    problem = _problem(application, examples, first)
    metric = problem.gram, problem.labels
    finished: list[list[dict[str, Any]]] = [[] for _ in configs]
    weights = [np.empty(0) for _ in configs]
    with threadpool_limits(1), Executor(threads) as executor:
        oracle = DataOracle(application, problem.examples, executor)
        for restart in range(first.cccp.restarts):
            run: Run | None = None
            for place, config in enumerate(configs):
                rules = rules_of(config, len(examples), application.hidden)
                if run is None or application.exchangeable:
                    run = new_run(
                        application, problem.examples, oracle, config, restart, None, metric=metric
                    )
                else:
                    run.solver.begin_problem()
                    primal, looseness = run.solver.primal(rules.C), config.cccp.looseness
                    run = Run(run.solver, looseness, run.total_cost, objective=primal)
                run.proceed(oracle, rules, observer, restart)
                if record.is_best(run, finished[place]):
                    weights[place] = run.solver.w
                finished[place].append(record.of_restart(run, config.seed, restart))
        return [
            _finish(application, examples, config, problem.space, w, records, observer)
            for config, w, records in zip(configs, weights, finished, strict=True)
        ]


def classify(model: Model, examples: Any, *, top: int = 1) -> Any:
    """The model's predictions for examples that its application has read."""
    model, examples = prepared(model, examples)
    with threadpool_limits(1):
        return model.application.predict(model.w, examples, top)


def prepared(model: Model, examples: Any) -> tuple[Model, Any]:
    """Examples as the model's weights take them, and the model of these weights.

    Both are as they were unless the model has a kernel.
    """
    with threadpool_limits(1):
        examples, w = model.space.prepared(examples, model.w)
    return replace(model, w=w, space=Linear()), examples


def _trainable(application: Application, examples: Any, config: Config) -> Any:
    """The examples as training takes them. Raises LssvmError if it cannot."""
    examples = application.for_training(examples)
    if len(examples) == 0:
        raise LssvmError("there are no examples to train on; expected at least one")
    if not np.any(examples.costs > 0):
        raise LssvmError("the cost of every example is 0; expected one that is greater")
    if not application.decomposes and np.any(examples.costs != examples.costs[0]):
        name = application.options.name
        raise LssvmError(
            f"the loss of application {name!r} is that of the whole data set: "
            "examples cannot have costs of their own"
        )
    check_weights(application, examples, config)
    return examples


def check_weights(application: Application, examples: Any, config: Config) -> None:
    """Raise DataError if the weights for training data take more memory than ``data.max_mb``."""
    if config.kernel.type == "linear":
        dimension = application.dimension(examples)
        what = f"a model of {dimension:,d} weights"
        config.data.limit.check(f"{config.origin}: data.train", dimension * _WEIGHT, what)


def _problem(application: Application, examples: Any, config: Config) -> Training:
    with threadpool_limits(1):
        return feature_space.training(config.kernel, application, examples)


def _initial_weights(
    application: Application, examples: Any, config: Config, initial: Model | None
) -> np.ndarray | None:
    if initial is None:
        return None
    if config.kernel.type != "linear" or initial.space.arrays():
        raise LssvmError("weights of a kernel cannot be started from; expected kernel.type: linear")
    expected = application.dimension(examples)
    if len(initial.w) != expected or type(initial.application) is not type(application):
        raise LssvmError(
            f"the initial model has {len(initial.w)} weights of application "
            f"{initial.config['application']['name']!r}; expected {expected} weights of "
            f"{application.options.name!r}"
        )
    mine, theirs = application.state(), initial.application.state()
    for name in mine.keys() | theirs.keys():
        if not np.array_equal(mine.get(name, ()), theirs.get(name, ())):
            raise LssvmError(
                f"the initial model has other {name} than the training data; expected the same"
            )
    return initial.w


def _watching(
    application: Application,
    held: Any,
    config: Config,
    problem: Training,
    progress: Progress,
    observer: Observer,
    C: float,
) -> HeldOut | None:
    section = config.held_out
    if held is None or not section.every:
        return None
    # Linear, or products of features: neither needs weights to prepare examples for them.
    examples, _ = problem.space.prepared(held, np.empty(0))
    return HeldOut(
        application,
        examples,
        section.every,
        section.patience,
        section.metric,
        progress.scores,
        observer,
        C,
    )


def _proceeded(
    run: Run,
    oracle: DataOracle,
    rules: Rules,
    observer: Observer,
    restart: int,
    between: Callable[[], None],
    watching: HeldOut | None,
) -> np.ndarray:
    """The weights that a run ends with: the best point, or the best one on held-out examples.

    Unless the latter is the former at the end of a run, its objective is evaluated by one more
    pass; 0 is what bounds it from below where hidden values make it another convex problem's.
    """
    try:
        run.proceed(oracle, rules, observer, restart, between)
        if watching is not None:
            watching.score(run)
    except Enough:
        run.done = True
    if watching is None:
        return run.solver.w
    w = watching.scores.w
    if not watching.scores.stopped and np.array_equal(w, run.solver.w):
        return w
    run.objective, run.concave, run.certified = run.solver.objective_at(oracle, rules.C, w)
    run.passes, run.completions = run.passes + 1, run.completions + 1
    run.lower = 0.0 if rules.hidden else run.solver.lower
    run.gap = (run.objective - run.lower) / run.objective if run.objective > 0.0 else 0.0
    return w


def _keeper(
    saving: Saving | None,
    key: str,
    progress: Progress,
    signalled: Callable[[], int],
    watching: HeldOut | None,
) -> Callable[[], None]:
    """What is done between two passes: score held-out examples, save now and then, and stop when
    a signal came."""
    written = [-1, -1]

    def between() -> None:
        run, number = progress.run, signalled()
        if watching is not None and run is not None:
            watching.look(run)
        if saving is not None:
            now = [run.iteration, int(run.passes) // saving.every] if run is not None else written
            if now != written or number:
                checkpoints.save(saving.path, key, progress)
                written[:] = now
        if number:
            raise checkpoints.interrupted(number, saving.path if saving else None)

    return between


def _check_losses(charged: float, room: float, size: float) -> None:
    """Raise ApplicationFault where training predictions lose more than F has room for.

    For the best output ŷ of any w, U⁺ ≥ Δ(y, ŷ) + w · Φ(ŷ) and U⁻ ≤ w · Φ(ŷ).

    charged : C Σ c_i Δ_i; room : C Σ c_i (U⁺_i − U⁻_i); size : of what that sums up
    """
    if charged - room > INEXACT * (charged + size):
        raise ApplicationFault(
            f"the losses of the predictions for the training data add up to {charged:.6g}, times "
            f"C, but the objective bounds them by {room:.6g}: loss-augmented inference does not "
            "find its maximum, or prediction does not"
        )


def _finish(
    application: Application,
    examples: Any,
    config: Config,
    space: Space,
    w: np.ndarray,
    records: list[dict[str, Any]],
    observer: Observer,
    held: Any = None,
) -> Model:
    """The model of the best restart, with the record of how it was trained."""
    space, w = space.reduced(w)
    model = Model(application, config.to_dict(), w, {}, application.summary(w, examples), space)
    predictions = classify(model, examples)
    if config.objective.slack_norm == 1:
        best = min(records, key=lambda record: record["objective"])
        C = rules_of(config, len(examples), application.hidden).C
        room = best["objective"] - 0.5 * space.squared_norm(w)
        losses = application.training_losses(examples, predictions)
        if best["certified"] and losses is not None:
            charged = C * float(examples.costs @ losses)
            if charged - room > INEXACT * (charged + abs(best["objective"])):
                size = C * application.completed(w, examples).size(w)
                _check_losses(charged, room, size + abs(best["objective"]))
    metrics = application.score(examples, predictions)
    warnings = application.training_warnings(examples, predictions)
    validation = application.score(held, classify(model, held)) if held is not None else None
    if validation is not None and not config.held_out.every:
        name = config.held_out.metric or next(iter(validation))
        value, passes = validation.get(name), sum(each["passes"] for each in records)
        if value is not None:
            observer.scored(passes, name, float(value))
    whole = record.of_training(records, config.seed, w, examples, metrics, validation, warnings)
    for text in whole["warnings"]:
        observer.warned(text)
    return replace(model, record=whole)
