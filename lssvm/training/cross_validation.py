"""Cross-validation: a grid of settings, folds and seeds, in parallel processes.

The data are cut into k folds, stratified by the classes of the application, or as they are given:
each file is a fold. For test fold f
the next fold is the validation fold and the other k − 2 are trained on, as in Yu & Joachims
(ICML 2009, section 5.1). The setting is selected on the validation fold and scored on the
test fold: the test fold is never used for selection. Several seeds are several runs of every
setting; a setting is judged by its mean over them.

Along ``objective.C`` each model is warm-started from the one of the next smaller value, with its
cutting planes, unless hidden values are permutation-symmetric (see ``session.learn_path``). Folds,
seeds and all other settings are independent tasks, so the results do not depend on the number of
processes.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.applications.base import Application
from lssvm.config import Config, set_values
from lssvm.errors import LssvmError, ModelError, counted, nearest
from lssvm.output.plain import finite
from lssvm.output.tables import mean_and_error, plus_minus, text_table
from lssvm.training.checkpoint import identity
from lssvm.training.held_out import sign_of
from lssvm.training.journal import Journal
from lssvm.training.prediction import classify
from lssvm.training.reading import Told, ignore, read_training
from lssvm.training.session import learn_path
from lssvm.training.tasks import run_tasks

C_KEY = "objective.C"
FOLD_STREAM = 0x466F6C64  # keeps the draw of the folds apart from the runs' own generators

Scores = dict[str, float | None]


@dataclass(frozen=True)
class FoldRun:
    """One trained model: a setting, a fold and a seed.

    setting : row of ``CrossValidation.settings``; fold : the test fold, from 0
    validation, test : the application's metrics on these folds
    """

    setting: int
    fold: int
    seed: int
    objective: float
    gap: float | None
    certified: bool
    converged: bool
    iterations: int
    passes: int
    validation: Scores
    test: Scores


@dataclass(frozen=True)
class CrossValidation:
    """The outcome: every run, and what follows from them.

    settings : values by dotted key, in the order of the grid
    runs : in the order of setting, fold and seed
    criterion : the metric by which settings are selected on validation folds
    """

    settings: list[dict[str, Any]]
    runs: list[FoldRun]
    folds: int
    criterion: str

    @property
    def chosen(self) -> list[int]:
        """The setting selected for each test fold; the first of equally good ones."""
        return [int(row) for row in self._criteria().argmin(axis=0)]

    @property
    def best(self) -> dict[str, Any]:
        """The setting that is best on average over all validation folds."""
        return self.settings[int(self._criteria().mean(axis=1).argmin())]

    def best_of_seeds(self) -> "CrossValidation":
        """The same, of each setting and fold only the run of lowest objective.

        So seeds count as restarts do: the first of equal ones is kept, whatever its scores.
        """
        kept: dict[tuple[int, int], FoldRun] = {}
        for run in self.runs:
            other = kept.setdefault((run.setting, run.fold), run)
            if run.objective < other.objective:
                kept[run.setting, run.fold] = run
        return replace(self, runs=list(kept.values()))

    def test(self, metric: str) -> np.ndarray:
        """The metric on each test fold at the setting selected for it, (folds,).

        The mean over seeds; NaN where the metric is not defined in a fold.
        """
        table = self._table("test", metric)
        return table[self.chosen, np.arange(self.folds)]

    def summary(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        scores = {}
        for metric in self.runs[0].test:
            mean, error = mean_and_error(_defined(self.test(metric)))
            scores[metric] = {"mean": finite(mean), "standard_error": finite(error)}
        return {
            "criterion": self.criterion,
            "folds": self.folds,
            "settings": self.settings,
            "chosen": self.chosen,
            "best": self.best,
            "test": scores,
            "runs": [asdict(run) for run in self.runs],
        }

    def rows(self) -> list[dict[str, Any]]:
        """One flat row a run, for a CSV file."""
        return [
            {
                **self.settings[run.setting],
                **{key: value for key, value in asdict(run).items() if not isinstance(value, dict)},
                **{f"validation.{name}": value for name, value in run.validation.items()},
                **{f"test.{name}": value for name, value in run.test.items()},
            }
            for run in self.runs
        ]

    def text(self) -> str:
        """A table of the settings, and the scores of those that were selected."""
        criteria = self._table("validation", self.criterion)
        chosen = self.chosen
        rows = []
        for number, setting in enumerate(self.settings):
            runs = [run for run in self.runs if run.setting == number]
            rows.append(
                {
                    **setting,
                    "objective": plus_minus(run.objective for run in runs),
                    f"validation {self.criterion}": plus_minus(_defined(criteria[number])),
                    "passes": round(float(np.mean([run.passes for run in runs]))),
                    "not converged": sum(run.gap is not None and not run.converged for run in runs),
                    "selected in folds": chosen.count(number),
                }
            )
        seeds = len({run.seed for run in self.runs})
        title = f"{self.folds} folds, {counted(seeds, 'seed')}: mean ± standard error"
        lines = [text_table(title, rows), "test folds, each at the setting selected without it:"]
        for metric in self._measures():
            values = _defined(self.test(metric))
            digits = 3 if all(abs(value) <= 1 for value in values) else 2
            few = len(values) < self.folds
            where = f" (defined in {len(values)} of {self.folds} folds)" if few else ""
            lines.append(f"  {metric:<12} {plus_minus(values, digits) if values else '–'}{where}")
        if any(self.settings):
            best = " ".join(f"--set {key}={value}" for key, value in self.best.items())
            lines.append(f"best over all validation folds: {best}")
        return "\n".join(lines)

    def _measures(self) -> list[str]:
        """The metrics that say how good a model is; those that only count the data do not."""
        first = self.runs[0].test
        return [
            name for name in first if not all(isinstance(run.test[name], int) for run in self.runs)
        ]

    def _table(self, split: str, metric: str) -> np.ndarray:
        """Mean of a metric over seeds, (settings, folds); NaN where a seed has none."""
        sums = np.zeros((len(self.settings), self.folds))
        counts = np.zeros_like(sums)
        for run in self.runs:
            value = getattr(run, split)[metric]
            sums[run.setting, run.fold] += np.nan if value is None else value
            counts[run.setting, run.fold] += 1
        return sums / counts

    def _criteria(self) -> np.ndarray:
        """What is minimised when a setting is selected, (settings, folds)."""
        table = self._table("validation", self.criterion)
        sign = sign_of(self.criterion)
        return np.where(np.isnan(table), np.inf, sign * table)


@dataclass(frozen=True)
class Task:
    """What one process works on at a time: all values of C for one fold and one seed."""

    variant: int
    fold: int
    seed: int


@dataclass(frozen=True)
class Study:
    """What is compared, and on which data; sent to every process once.

    settings : values by dotted key, in the order of the grid
    paths : for each variant (a setting but for C) its settings' numbers, by increasing C
    applications, examples : by variant
    fold : (n,) int, the fold of each example
    counted : (n,) bool, the examples that validation and test scores look at
    """

    config: Config
    settings: list[dict[str, Any]]
    paths: list[list[int]]
    applications: list[Application]
    examples: list[Any]
    fold: np.ndarray
    counted: np.ndarray

    @property
    def tasks(self) -> list[Task]:
        """All tasks, in a fixed order."""
        search, first = self.config.search, self.config.seed
        return [
            Task(variant, fold, seed)
            for variant in range(len(self.paths))
            for fold in range(search.fold_count)
            for seed in range(first, first + search.seeds)
        ]


def cross_validate(
    config: Config,
    *,
    jobs: int = 1,
    criterion: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    checkpoint: Path | None = None,
    resume: bool = False,
    data: Mapping[str, Any] | None = None,
    warned: Told = ignore,
) -> CrossValidation:
    """Cross-validate the grid of ``config.search`` on the training data.

    data : examples in memory, in the place of the files of ``data.train``: the arguments of the
        application's ``examples_from`` by name, such as ``{"X": X, "y": y}``
    jobs : processes; with 1 everything runs in this one. Workers take their place if the key
        executor says so
    criterion : metric by which a setting is selected, by default the application's first
    progress : told how many of how many tasks are done
    checkpoint : file to which each finished run is added, and which is read first if ``resume``;
        it stays, for whoever keeps the results to remove
    warned : told of bad examples that were skipped

    Raises LssvmError for bad data, an unknown criterion, more folds than examples, or a
    checkpoint of another configuration or other data.
    """
    study = study_of(config, data=data, warned=warned)
    journal = Journal(checkpoint, _identity(study), resume=resume) if checkpoint else None
    return evaluate(study, jobs=jobs, criterion=criterion, progress=progress, journal=journal)


def chosen(config: Config, found: CrossValidation) -> Config:
    """The configuration with the setting that is best on average over all validation folds."""
    return _applied(config, found.best)


def study_of(
    config: Config,
    *,
    groups: np.ndarray | None = None,
    counted: Callable[[Any], np.ndarray] | None = None,
    data: Mapping[str, Any] | None = None,
    warned: Told = ignore,
) -> Study:
    """Read the data and lay out the comparison.

    data, warned : see :func:`cross_validate`
    groups : (n,) the classes to stratify by, by default the application's
    counted : which of the examples are scored, by default all; all can be trained on
    """
    settings = _settings(config)
    variants: dict[str, list[int]] = {}
    for number, setting in enumerate(settings):
        rest = {key: value for key, value in setting.items() if key != C_KEY}
        variants.setdefault(repr(rest), []).append(number)
    paths = [sorted(path, key=lambda i: settings[i].get(C_KEY, 0.0)) for path in variants.values()]
    known: dict[str, tuple[Application, Any]] = {}
    pairs = []
    for path in paths:
        variant = _applied(config, settings[path[0]])
        key = variant.application.model_dump_json()
        if key not in known:
            known[key] = read_training(variant, data, warned)
        pairs.append(known[key])
    application, examples = pairs[0]
    if groups is None:
        groups = application.groups(examples)
    rng = np.random.default_rng([config.seed, FOLD_STREAM])
    folds = config.search.folds
    if isinstance(folds, int):
        fold = assign_folds(len(examples), folds, rng, groups)
    else:
        fold = given_folds(config, examples, folds)
    return Study(
        config,
        settings,
        paths,
        [application for application, _ in pairs],
        [examples for _, examples in pairs],
        fold,
        np.ones(len(examples), dtype=bool) if counted is None else counted(examples),
    )


def evaluate(
    study: Study,
    *,
    jobs: int = 1,
    executor: str | None = None,
    workers: int | None = None,
    criterion: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    journal: Journal | None = None,
) -> CrossValidation:
    """Train and score every task of a study; see :func:`cross_validate`.

    executor, workers : take the place of these keys of the configuration
    journal : holds the runs of finished tasks, and is told those of every other one
    """
    tasks = study.tasks
    found = _kept(study, journal) if journal else {}
    left = [number for number in range(len(tasks)) if number not in found]

    def finished(place: int, runs: list[FoldRun]) -> None:
        number = left[place]
        if journal:
            entry = journal.add({"task": number, "runs": [asdict(run) for run in runs]})
            runs = [FoldRun(**values) for values in entry["runs"]]
        found[number] = runs

    run_tasks(
        _solve,
        study,
        [tasks[number] for number in left],
        jobs=jobs,
        executor=executor or study.config.executor,
        workers=workers or study.config.workers,
        progress=lambda done, of: progress(len(tasks) - of + done, len(tasks)),
        finished=finished,
    )
    every = itertools.chain(*found.values())
    runs = sorted(every, key=lambda run: (run.setting, run.fold, run.seed))
    metrics = list(runs[0].validation)
    if criterion is not None and criterion not in metrics:
        near = nearest(criterion, metrics)
        raise LssvmError(f"unknown criterion {criterion!r}{near} (known: {', '.join(metrics)})")
    folds = study.config.search.fold_count
    return CrossValidation(study.settings, runs, folds, criterion or metrics[0])


def _identity(study: Study) -> str:
    """A hash of everything that decides the runs."""
    data = dict.fromkeys(examples.fingerprint() for examples in study.examples)
    return identity(study.config.to_dict(), " ".join(data), None)


def _kept(study: Study, journal: Journal) -> dict[int, list[FoldRun]]:
    """The runs in a journal by the number of their task. Raises ModelError."""
    found, tasks = {}, study.tasks
    for entry in journal.entries:
        try:
            number, runs = entry["task"], [_checked(values) for values in entry["runs"]]
            task = tasks[number] if type(number) is int and number >= 0 else None
        except (KeyError, TypeError, IndexError):
            task = None
        places = [(run.setting, run.fold, run.seed) for run in runs] if task else []
        if task is None or places != [
            (setting, task.fold, task.seed) for setting in study.paths[task.variant]
        ]:
            raise ModelError(f"{journal.path}: damaged: it has runs that the search has not")
        found[number] = runs
    return found


def _checked(values: Any) -> FoldRun:
    """A run from plain values. Raises TypeError where one is of another kind."""
    run = FoldRun(**values)
    kinds: dict[str, tuple[type, ...]] = {
        "gap": (int, float, type(None)),
        "certified": (bool,),
        "converged": (bool,),
        "objective": (int, float),
        "passes": (int, float),
        "validation": (dict,),
        "test": (dict,),
    }
    for place in fields(FoldRun):
        if type(getattr(run, place.name)) not in kinds.get(place.name, (int,)):
            raise TypeError(place.name)
    for value in (*run.validation.values(), *run.test.values()):
        if not isinstance(value, int | float | None):
            raise TypeError("scores")
    return run


def assign_folds(
    n: int, folds: int, rng: np.random.Generator, groups: np.ndarray | None = None
) -> np.ndarray:
    """A random fold for each of n examples, (n,) from 0; sizes differ by at most one.

    The members of each group are dealt out in turn, so each fold has its share of every
    group, give or take one. Raises LssvmError if there are fewer examples than folds.
    """
    if n < folds:
        raise LssvmError(f"{folds} folds need at least {folds} examples; there are {n}")
    groups = np.zeros(n, dtype=int) if groups is None else groups
    order = rng.permutation(n)
    order = order[np.argsort(groups[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % folds
    return fold


def given_folds(config: Config, examples: Any, names: Sequence[str]) -> np.ndarray:
    """The place among ``names`` of the file that each example comes from, (n,).

    Raises LssvmError if the files are not those of data.train, each once, or have no examples.
    """
    entries = [entry.path for entry in config.files("train")]
    if sorted(names) != sorted(entries) or len(set(names)) < len(names):
        raise LssvmError(
            f"{config.origin}: search.folds: {', '.join(names)}; expected the files of data.train "
            f"as they are written there, each once: {', '.join(entries)}"
        )
    files, paths = getattr(examples, "files", None), getattr(examples, "paths", ())
    if files is None:
        raise LssvmError(
            f"search.folds: application {config.application.name!r} does not tell which file an "
            "example comes from; expected a number of folds"
        )
    sources = {
        source.path: name for source, name in zip(config.sources("train"), entries, strict=True)
    }
    places = np.array([names.index(sources[path]) if path in sources else -1 for path in paths])
    fold = places[files]
    empty = [name for place, name in enumerate(names) if not np.any(fold == place)]
    if empty:
        raise LssvmError(f"search.folds: no example is from {empty[0]}; expected some in each file")
    return fold.astype(np.int64)


def _solve(study: Study, task: Task) -> list[FoldRun]:
    """Train all values of C for one variant, fold and seed, and score the models."""
    application, examples = study.applications[task.variant], study.examples[task.variant]
    path = study.paths[task.variant]
    configs = [
        _applied(study.config, {**study.settings[number], "seed": task.seed}) for number in path
    ]
    held = (task.fold, (task.fold + 1) % study.config.search.fold_count)
    training = examples.take(np.flatnonzero(~np.isin(study.fold, held)))
    test, validation = (
        examples.take(np.flatnonzero((study.fold == fold) & study.counted)) for fold in held
    )
    runs = []
    for number, model in zip(path, learn_path(application, training, configs), strict=True):
        scores = [application.score(part, classify(model, part)) for part in (validation, test)]
        record = model.record
        runs.append(
            FoldRun(
                number,
                task.fold,
                task.seed,
                record["objective"],
                record["gap"],
                record["certified"],
                record["converged"],
                record["cccp_iterations"],
                record["passes"],
                *scores,
            )
        )
    return runs


def _settings(config: Config) -> list[dict[str, Any]]:
    """Every combination of the grid's values, the last key varying fastest."""
    grid = config.search.grid
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _applied(config: Config, setting: Mapping[str, Any]) -> Config:
    return set_values(config, {"search.grid": {}, **setting})


def _defined(values: np.ndarray) -> list[float]:
    return [float(value) for value in values if np.isfinite(value)]
