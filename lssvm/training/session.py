"""Training: from the configuration and its examples to a model, by CCCP with restarts.

>>> from lssvm import Config, classify, learn, load_config
>>> learn(load_config("motif.yaml")).save("motif.model")  # doctest: +SKIP

Or without files:

>>> config = Config.from_dict({"application": "multiclass", "objective": {"C": 10}})
>>> model = learn(config, data={"X": [[0.0, 1.0], [1.0, 0.0]], "y": ["a", "b"]})
>>> found = classify(model, model.application.examples_from([[0.0, 2.0]]))
>>> [model.application.classes[label] for label in found.labels]
['a']
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lssvm.applications.base import Application, Examples
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.training import checkpoint as checkpoints
from lssvm.training import setup
from lssvm.training.arithmetic import arithmetic
from lssvm.training.cccp import Observer, Run
from lssvm.training.checkpoint import Progress
from lssvm.training.choosing import with_solver
from lssvm.training.distributed.place import check_application, check_solver, crew_of, sent_to
from lssvm.training.ending import model_of
from lssvm.training.held_out import metric_of
from lssvm.training.keeper import Keeper, Saving, resume
from lssvm.training.prediction import classify, prepared
from lssvm.training.problem import Stage, TrainingData, problem_of
from lssvm.training.reading import Told, ignore, read_data, read_held
from lssvm.training.runs import Runs
from lssvm.training.summary import summary
from lssvm.training.whereabouts import Whereabouts

if TYPE_CHECKING:
    from lssvm.training.distributed.crew import Crew
    from lssvm.training.distributed.spread import Spread

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

_ONE_MINIMUM = (
    "cccp.restarts: without hidden values the problem is convex, so all restarts end at one minimum"
)


def learn(
    config: Config,
    *,
    threads: int = 1,
    observer: Observer | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 100,
    resume: bool = False,
    initial: Model | None = None,
    data: Mapping[str, Any] | None = None,
    held: Mapping[str, Any] | None = None,
    executor: str | None = None,
    workers: int | None = None,
) -> Model:
    """Read the training data that the configuration names and train on them.

    data, held : examples in memory, in the place of the files of ``data.train`` and
        ``data.validate``: the arguments of the application's ``examples_from`` by name, such as
        ``{"X": X, "y": y}``
    checkpoint : file written every ``checkpoint_every`` passes and, ten seconds after the last
        time, after a CCCP iteration; read first if ``resume``
    initial : a model of the same application whose weights training begins with
    executor, workers : take the place of these keys of the configuration; they change no model

    Raises LssvmError for bad configuration or data, StoppedError after a signal.
    """
    executor, application = executor or config.executor, config.create_application()
    check_application(application, None, executor)
    check_solver(config, executor)
    observer = observer or Observer()
    with crew_of(application, executor, workers or config.workers) as crew:
        spread = None
        if crew is not None and data is None:
            spread = _read_by(crew, application, config, observer)
        where: Whereabouts | None
        if spread is None:
            read = read_data(config, data, held, observer.warned)
            where = sent_to(crew, read.application)
        else:
            validation = read_held(config, application, held, observer.warned)
            read, where = TrainingData(application, spread, validation), spread.at
        saving = Saving(checkpoint, checkpoint_every, resume) if checkpoint else None
        return _learned(read, where, config, executor, threads, observer, saving, initial)


def _read_by(
    crew: "Crew", application: Application, config: Config, observer: Observer
) -> "Spread | None":
    """The training data that workers have read; None if they cannot."""
    from lssvm.training.distributed.reading import read_by_workers

    with arithmetic():
        return read_by_workers(crew, application, config, observer.noted)


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
    executor: str | None = None,
    workers: int | None = None,
) -> Model:
    """Train on examples in memory; see :func:`learn`.

    held : labelled examples that the model is scored on, and what is on the way to it, if the
        section ``held_out`` says so
    scored : False: the finished model is not scored, which can take longer than to train it
    """
    data = TrainingData(application, examples, held)
    executor = executor or config.executor
    check_application(application, examples, executor)
    check_solver(config, executor)
    with crew_of(application, executor, workers or config.workers) as crew:
        where = sent_to(crew, application)
        return _learned(data, where, config, executor, threads, observer, saving, initial, scored)


def _learned(
    data: TrainingData,
    where: Whereabouts | None,
    config: Config,
    executor: str,
    threads: int,
    observer: Observer | None,
    saving: Saving | None,
    initial: Model | None,
    scored: bool = True,
) -> Model:
    """The model that an executor trains on data that have been read.

    where : the examples are; None: here
    """
    check_application(data.application, data.examples, executor)
    with arithmetic(), Executor(threads) as pool:
        session = Session(
            data, [config], pool, initial=initial, observer=observer, scored=scored, where=where
        )
        check_solver(session.stages[0].config, executor)
        if session.where.dashboard:
            session.observer.noted(f"dashboard of Dask: {session.where.dashboard}")
        if saving is not None and saving.resume:
            session.resume(saving.path)
        with checkpoints.stoppable() as signalled:
            session.runs.keeper = Keeper(saving, session.key, signalled)
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
    """Train for several values of C, each warm-started from the value before.

    The configurations differ in ``objective.C`` alone. Cuts of Σ c_i U⁺_i do not contain C,
    so the bundle is carried along with w. Where hidden values are permutation-symmetric, w = 0 is
    a stationary point near which a warm start would stay, and every value of C begins anew.
    Returns one model for each configuration, the best of its restarts.

    scored : as in :func:`learn_on`
    """
    data = TrainingData(application, examples)
    with arithmetic(), Executor(threads) as executor:
        return Session(data, configs, executor, observer=observer, scored=scored).run()


def rehearse(
    config: Config,
    *,
    threads: int = 1,
    resumed: Path | None = None,
    initial: Model | None = None,
    warned: Told = ignore,
) -> TrainingData:
    """Do everything that :func:`learn` does up to its first pass, and one prediction.

    resumed : the checkpoint to go on from, if any
    warned : told of bad examples that were skipped

    Returns the data that training would begin with. Raises LssvmError where ``learn`` would.
    """
    data = read_data(config, warned=warned)
    check_application(data.application, data.examples, config.executor)
    with arithmetic(), Executor(threads) as executor:
        session = Session(data, [config], executor, initial=initial)
        if resumed is not None:
            session.resume(resumed)
        check_solver(session.stages[0].config, config.executor)
        session.rehearse()
    return data


class Session:
    """Training on one data set, for one value of C or along a path of several.

    problem : the data, checked; restarts : how often training begins anew
    stages : for each value of C its configuration, its rules and its progress
    observer : told how the runs go on; runs : makes them; where : the examples are
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
        where: Whereabouts | None = None,
    ) -> None:
        """Check everything that can be checked before the first pass. Raises LssvmError.

        configs : as they follow each other; they differ in ``objective.C`` alone
        initial : a model of the same application whose weights training begins with
        where : the examples of training are; None: here
        """
        self.began = time.perf_counter()
        self.problem = problem_of(data, configs[0], initial, where)
        self.restarts = configs[0].cccp.restarts if self.problem.w0 is None else 1
        self.observer = observer or Observer()
        self.scored = scored
        n, hidden = len(self.problem.data.examples), data.application.hidden
        self.where = self.problem.where
        examples = self.problem.training.examples
        oracle = DataOracle(self.where.asked, examples, executor, summing=self.where.sums)
        configs, choice = with_solver(configs, self.problem, oracle)
        self.stages = [
            Stage(config, setup.rules_of(config, n, hidden), Progress()) for config in configs
        ]
        self.runs = Runs(self.problem, oracle, self.observer, choice)

    @property
    def key(self) -> str:
        """What tells the checkpoints of this session from others."""
        return self.problem.key(self.stages[0].config)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint. Raises ModelError if it is of another run, or damaged."""
        carried = self.runs.oracle.carried_shape
        resume(self.problem, self.stages[0], self.restarts, path, carried)

    def run(self) -> list[Model]:
        """Train; returns a model for each configuration, the best of its restarts.

        Raises LssvmError where the application fails, StoppedError after a signal.
        """
        if self.restarts > 1 and not self.problem.data.application.hidden:
            self.observer.noted(_ONE_MINIMUM)
        for restart in range(len(self.stages[0].progress.finished), self.restarts):
            if self.runs.stopped:
                break
            self.observer.restarted(restart + 1, self.restarts)
            self._restart(restart)
        models = []
        for stage in self.stages:
            model = model_of(self.problem, stage, self.observer, self.scored)
            seconds = time.perf_counter() - self.began
            method = stage.config.solver.method
            spent, traffic = self.runs.spent(), self.where.traffic
            self.observer.finished(summary(model.record, method, spent, seconds, traffic))
            models.append(model)
        return models

    def _restart(self, restart: int) -> None:
        """One restart for each value of C, after which nothing holds what the solver kept."""
        before: Run | None = None
        for stage in self.stages:
            before = self.runs.restart(stage, restart, before)

    def rehearse(self) -> None:
        """Do what the first run does up to its first pass, that pass, and one prediction.

        Raises LssvmError where :meth:`run` would.
        """
        application, examples, held = self.problem.data
        config, training = self.stages[0].config, self.problem.training
        w = setup.rehearse(self.runs.oracle, config, self.problem.w0)
        for part in (examples, held):
            if part is not None:
                shown, weights = training.space.prepared(part, w)
                found = application.score(part, application.predict(weights, shown))
        if held is not None and config.held_out.every:
            metric_of(config.held_out.metric, found)
