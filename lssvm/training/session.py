"""The main job: configuration → examples → CCCP with restarts → model.

>>> from lssvm import learn, load_config
>>> learn(load_config("motif.yaml")).save("motif.model")  # doctest: +SKIP
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lssvm.applications.base import Application, Examples
from lssvm.config import Config
from lssvm.model import Model
from lssvm.oracle import DataOracle, Executor
from lssvm.training import checkpoint as checkpoints
from lssvm.training import record, setup
from lssvm.training.blas import one_thread
from lssvm.training.cccp import Observer, Run
from lssvm.training.checkpoint import Progress, Setting
from lssvm.training.ending import Stage, model_of
from lssvm.training.held_out import HeldOut, metric_of
from lssvm.training.keeper import Keeper, Saving
from lssvm.training.prediction import classify, prepared
from lssvm.training.problem import TrainingData, problem_of, read

__all__ = [
    "Saving",
    "Session",
    "TrainingData",
    "classify",
    "learn",
    "learn_on",
    "learn_path",
    "prepared",
    "rehearse",
]


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
    data = read(config)
    return learn_on(
        data.application,
        data.examples,
        config,
        threads=threads,
        observer=observer,
        saving=Saving(checkpoint, checkpoint_every, resume) if checkpoint else None,
        initial=initial,
        held=data.held,
    )


def learn_on(
    application: Application,
    examples: Examples,
    config: Config,
    *,
    threads: int = 1,
    observer: Observer | None = None,
    saving: Saving | None = None,
    initial: Model | None = None,
    held: Examples | None = None,
    scored: bool = True,
) -> Model:
    """Train on examples in memory; see :func:`learn`.

    held : labelled examples that the model is scored on, and what is on the way to it, if the
        section ``held_out`` says so
    scored : False: the finished model is not scored, which can take longer than to train it
    """
    data = TrainingData(application, examples, held)
    with Executor(threads) as executor:
        session = Session(
            data, [config], executor, initial=initial, observer=observer, scored=scored
        )
        if saving is not None and saving.resume:
            session.resume(saving.path)
        with checkpoints.stoppable() as signalled:
            session.keeper = Keeper(saving, session.key, signalled)
            (model,) = session.run()
    return model


def learn_path(
    application: Application,
    examples: Examples,
    configs: Sequence[Config],
    *,
    threads: int = 1,
    observer: Observer | None = None,
    scored: bool = True,
) -> list[Model]:
    """Train for several values of C, each start going on where the last value ended.

    The configurations differ in ``objective.C`` alone. Cuts of Σ c_i U⁺_i do not contain C,
    so the bundle is carried along with w. Where hidden values can be exchanged all values of C
    begin anew. Returns one model for each configuration, the best of its restarts.

    scored : as in :func:`learn_on`
    """
    data = TrainingData(application, examples)
    with Executor(threads) as executor:
        return Session(data, configs, executor, observer=observer, scored=scored).run()


def rehearse(
    config: Config,
    *,
    threads: int = 1,
    resumed: Path | None = None,
    initial: Model | None = None,
) -> TrainingData:
    """Do everything that :func:`learn` does up to its first pass, and one prediction.

    resumed : the checkpoint to go on from, if any

    Returns the data that training would begin with. Raises LssvmError where ``learn`` would.
    """
    data = read(config)
    with Executor(threads) as executor:
        session = Session(data, [config], executor, initial=initial)
        if resumed is not None:
            session.resume(resumed)
        session.rehearse()
    return data


class _EarlyStopError(Exception):
    """Leaves the solver's loop: held-out scores have not become better for long enough."""


class Session:
    """Training on one data set, for one value of C or along a path of several.

    problem : the data, checked; restarts : how often training begins anew
    stages : for each value of C its configuration, its rules and its progress
    oracle : of the examples, with the executor's threads; observer : told how the runs go on
    keeper : saves the progress of a session with one value of C, and stops it after a signal
    scored : whether finished models are scored
    """

    def __init__(
        self,
        data: TrainingData,
        configs: Sequence[Config],
        executor: Executor,
        *,
        initial: Model | None = None,
        observer: Observer | None = None,
        scored: bool = True,
    ) -> None:
        """Check everything that can be checked before the first pass. Raises LssvmError.

        configs : as they follow each other; they differ in ``objective.C`` alone
        initial : a model of the same application whose weights are the starting point
        """
        self.began = time.perf_counter()
        self.problem = problem_of(data, configs[0], initial)
        self.restarts = configs[0].cccp.restarts if self.problem.w0 is None else 1
        self.observer = observer or Observer()
        self.keeper = Keeper()
        self.scored = scored
        self.stages = [self._stage(config, Progress()) for config in configs]
        self.oracle = DataOracle(data.application, self.problem.training.examples, executor)
        self.solver_seconds, self.osqp_calls = 0.0, 0

    @property
    def key(self) -> str:
        """What tells the checkpoints of this session from others."""
        return self.problem.key(self.stages[0].config)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of a session with one value of C.

        Raises ModelError if it is another session's, or damaged.
        """
        (stage,), problem = self.stages, self.problem
        solver = setup.new_solver(stage.config, problem.dimension, 0, problem.metric)
        costs = problem.training.examples.costs
        setting = Setting(solver, problem.dimension, costs, self.restarts, stage.rules.C)
        progress = checkpoints.load(path, self.key, setting)
        self.stages = [self._stage(stage.config, progress)]

    def run(self) -> list[Model]:
        """Train; returns a model for each configuration, the best of its restarts.

        Raises LssvmError where the application fails, Interrupted after a signal.
        """
        with one_thread():
            for restart in range(len(self.stages[0].progress.finished), self.restarts):
                self.observer.restarted(restart + 1, self.restarts)
                before: Run | None = None
                for stage in self.stages:
                    before = self._start(stage, restart, before)
            return [self._ended(stage) for stage in self.stages]

    def rehearse(self) -> None:
        """Do what the first run does up to its first pass, that pass, and one prediction.

        Raises LssvmError where :meth:`run` would.
        """
        application, examples, held = self.problem.data
        config, training, w0 = self.stages[0].config, self.problem.training, self.problem.w0
        with one_thread():
            w = setup.rehearse(application, training.examples, self.oracle, config, w0)
            for part in (examples, held):
                if part is not None:
                    shown, weights = training.space.prepared(part, w)
                    found = application.score(part, application.predict(weights, shown))
        if held is not None and config.held_out.every:
            metric_of(config.held_out.metric, found)

    def _stage(self, config: Config, progress: Progress) -> Stage:
        """One value of C, and how far it has come."""
        (application, examples, held), section = self.problem.data, config.held_out
        watching = None
        if held is not None and section.every:
            # Linear, or products of features: neither needs weights to prepare examples for them.
            with one_thread():
                shown, _ = self.problem.training.space.prepared(held, np.empty(0))
            watching = HeldOut(application, shown, section, progress.scores, self.observer)
        rules = setup.rules_of(config, len(examples), application.hidden)
        return Stage(config, rules, progress, watching)

    def _start(self, stage: Stage, restart: int, before: Run | None) -> Run:
        """One restart for one value of C, to its end.

        before : the run for the value of C before, if there is one
        """
        progress = stage.progress
        if progress.run is None:
            progress.run = self._begun(stage, restart, before)
        run, solver = progress.run, progress.run.solver
        carried = before is not None and before.solver is solver
        seconds, calls = (solver.seconds, solver.osqp_calls) if carried else (0.0, 0)
        w = self._proceeded(stage, run, restart)
        self.solver_seconds += solver.seconds - seconds
        self.osqp_calls += solver.osqp_calls - calls
        if record.is_best(run, progress.finished):
            progress.best_w = w
        seed, scores = stage.config.seed, progress.scores
        progress.finished.append(record.of_restart(run, seed, restart, scores))
        progress.run = None
        self._between(stage)  # a signal that came since the last pass
        return run

    def _begun(self, stage: Stage, restart: int, before: Run | None) -> Run:
        """A run before its first pass; it takes over what ``before`` knows, if that is allowed."""
        application, problem, config = self.problem.data.application, self.problem, stage.config
        if before is None or application.exchangeable:
            return setup.new_run(
                application,
                problem.training.examples,
                self.oracle,
                config,
                restart,
                problem.w0,
                lambda: self._between(stage),
                problem.metric,
            )
        before.solver.begin_problem()
        primal = before.solver.primal(stage.rules.C)
        return Run(before.solver, config.cccp.looseness, before.total_cost, objective=primal)

    def _proceeded(self, stage: Stage, run: Run, restart: int) -> np.ndarray:
        """The weights that a run ends with, (d,): the best point, or the best on held-out examples.

        Unless the latter is the former at the end of a run, its objective is evaluated by one more
        pass; 0 is what bounds it from below where hidden values make it another convex problem's.
        """
        rules, watching, solver = stage.rules, stage.watching, run.solver
        try:
            run.proceed(self.oracle, rules, self.observer, restart, lambda: self._between(stage))
            if watching is not None:
                watching.score(run)
        except _EarlyStopError:
            run.done = True
        if watching is None:
            return solver.w
        w = watching.scores.w
        if not watching.scores.stopped and np.array_equal(w, solver.w):
            return w
        run.objective, run.concave, run.certified = solver.objective_at(self.oracle, rules.C, w)
        run.passes, run.completions = run.passes + 1, run.completions + 1
        run.lower = 0.0 if rules.hidden else solver.lower
        run.gap = (run.objective - run.lower) / run.objective if run.objective > 0.0 else 0.0
        return w

    def _between(self, stage: Stage) -> None:
        """What is done between two passes: score held-out examples, and save or stop."""
        run = stage.progress.run
        watching = stage.watching
        if run is not None and watching is not None and watching.look(run, stage.rules.C):
            raise _EarlyStopError
        self.keeper.keep(stage.progress)

    def _ended(self, stage: Stage) -> Model:
        """The finished model; its observer is told."""
        model = model_of(self.problem, stage, self.observer, self.scored)
        spent = record.Spent(self.oracle.seconds, self.solver_seconds, self.osqp_calls)
        method, seconds = stage.config.solver.method, time.perf_counter() - self.began
        self.observer.finished(record.summary(model.record, method, spent, seconds))
        return model
