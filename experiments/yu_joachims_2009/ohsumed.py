"""Precision at k on OHSUMED: the experiment of Yu & Joachims (ICML 2009, Table 3), and on MQ2008.

    python -m experiments.yu_joachims_2009.ohsumed --data letor3-ohsumed --out out/ohsumed

The input is S1.txt … S5.txt of a LETOR collection, plain or .gz, with features scaled by query. As
published, fold k trains on S_k, S_k+1 and S_k+2, validates on S_k+3 and is tested on S_k+4. If the
data have the 45 features of OHSUMED, its published figures are shown with ours.

All methods are trained on the training files alone, with all their settings on every fold:

- latent SSVM: C from 1e-5 to 10,000 per query, k of training from {1, 3, 5, 10, 20, 30}; started
  from the classifier, as in the paper, or from a ranking SVM, which is one more setting. The rows
  below it show models whose k is that of the column, as in the paper, the start from the classifier
  alone, and the start from random orderings of loss 0. *Average of five*, by the main rule alone,
  is the mean of the weights, each divided by its length, of the five models of highest validation
  MAP that start from the classifier;
- its initial weights: the classifier and the ranking SVM (hinge loss, for every query the mean over
  its pairs), by our own solver, C from 1e-5 to 1e7 per query. The latent SSVM starts from the
  initial weights of highest validation MAP;
- pairwise linear SVM: all pairs of documents of a query with different labels, squared hinge loss,
  by liblinear through scikit-learn, C from 1e-9 to 1 per pair;
- LambdaMART: LightGBM, learning rate from {0.01, 0.03, 0.1, 0.3}, leaves from {2, 4, 8, 16, 31}, at
  least 10 or 30 documents in a leaf, truncation at 10 or 30 documents, from 5 to 200 trees.

Settings are chosen on the validation file of the fold alone, by two rules that are both shown.
*MAP*, the main rule, by which LETOR's own baselines were tuned: one setting for all columns, that
of highest MAP. *Own*: for the column P@q the setting of highest P@q, and among equal ones that of
highest MAP; this rule is noisier, because a validation file has 21 queries. A setting that was not
chosen is never run on test files. Figures are means over the queries of the five test files, each
ranked by the model of its fold; standard errors are over these queries. The grids and the two
starts of the first row were fixed by validation figures before any test file was ranked. These were
figures of all folds, so that every query was used for this once, as a validation query. After test
figures of the other rows had been seen, the row with the k of the column was added, the grids were
made wider because some choices were the smallest or the largest value, and LambdaMART got more
settings. Averages were tried when test figures of OHSUMED had been seen, with several rules, of
which this one gave the highest figure there; on MQ2008 the rule was fixed before any of its test
figures was seen. The last lines say which choices still are at an edge; for the ranking SVM and the
pairwise SVM the smallest values of C are a limit, as their rankings no longer change.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.papers.published import YU_TABLE_3
from experiments.yu_joachims_2009 import ranking_peers
from experiments.yu_joachims_2009.ranking_peers import Solved
from lssvm.applications.base import Application, Source
from lssvm.applications.ranking import ranking_metrics
from lssvm.applications.ranking.queries import Queries, read_queries
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run

COLUMNS = ("P@1", "P@3", "P@5", "P@10")
MAP = "MAP"
FOLDS = 5
TRAINING_FILES = 3
CLASSIFIER, RANKING, RANDOM = "classification", "pairwise", "random"
LATENT, INITIAL, PAIRWISE, TREES = "latent SSVM", "initial weights", "pairwise SVM", "LambdaMART"
SAME_K = "  with the k of the column"
ALONE = "  from the classifier"
AVERAGE = "  average of five"
AVERAGED = 5
METHODS = {  # the rows of the table: the method, and the starts from which the best is chosen
    "latent SSVM": (LATENT, (CLASSIFIER, RANKING)),
    SAME_K: (LATENT, (CLASSIFIER, RANKING)),
    ALONE: (LATENT, (CLASSIFIER,)),
    AVERAGE: (LATENT, (CLASSIFIER,)),
    "  from random orderings": (LATENT, (RANDOM,)),
    "initial weights: classifier": (INITIAL, (CLASSIFIER,)),
    "initial weights: ranking SVM": (INITIAL, (RANKING,)),
    "pairwise linear SVM": (PAIRWISE, (None,)),
    "LambdaMART": (TREES, (None,)),
}
RULES = (MAP, "own")
OHSUMED_FEATURES = 45


class Plan(NamedTuple):
    """The settings to try."""

    ks: tuple[int, ...]
    grid: tuple[float, ...]  # C per query
    initial_grid: tuple[float, ...]  # C per query
    pairwise_grid: tuple[float, ...]  # C per pair
    trees: tuple[int, ...]
    rates: tuple[float, ...]
    leaves: tuple[int, ...]
    leaf_sizes: tuple[int, ...]  # documents in a leaf at least
    truncations: tuple[int, ...]  # documents whose order counts

    def tree_settings(self) -> list[dict[str, Any]]:
        """Every setting of LambdaMART but the number of trees."""
        names = ("rate", "leaves", "leaf size", "truncation")
        values = (self.rates, self.leaves, self.leaf_sizes, self.truncations)
        return [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]


def decades(low: float, high: float, step: float) -> tuple[float, ...]:
    """The numbers 10^low … 10^high, rounded to three digits."""
    return tuple(float(f"{10**exponent:.3g}") for exponent in np.arange(low, high + 0.1, step))


FULL = Plan(
    (1, 3, 5, 10, 20, 30),
    decades(-5, 4, 0.5),
    decades(-5, 7, 0.5),
    decades(-9, 0, 1),
    (5, 10, 20, 30, 40, 60, 80, 120, 200),
    (0.01, 0.03, 0.1, 0.3),
    (2, 4, 8, 16, 31),
    (10, 30),
    (10, 30),
)
QUICK = Plan((10,), (1.0,), (0.1,), (1e-6,), (10, 30), (0.1,), (7,), (20,), (30,))


class Collection(NamedTuple):
    """All queries, with the file of each, and the settings to try on them."""

    queries: Queries
    plan: Plan

    def training(self, fold: int) -> Queries:
        """The queries of the files that a fold is trained on."""
        return self._of([(fold + i) % FOLDS for i in range(TRAINING_FILES)])

    def validation(self, fold: int) -> Queries:
        """The queries of the file that settings are chosen on."""
        return self._of([(fold + TRAINING_FILES) % FOLDS])

    def test(self, fold: int) -> Queries:
        """The queries of the remaining file."""
        return self._of([(fold + TRAINING_FILES + 1) % FOLDS])

    def _of(self, files: Sequence[int]) -> Queries:
        order = [np.flatnonzero(self.queries.files == file) for file in files]
        return self.queries.take(np.concatenate(order))


class Task(NamedTuple):
    """All values of C, or numbers of trees, of one method on one fold.

    setting : start and k, or those of the trees but for their number
    weights : (d,), from which a latent SSVM starts
    """

    method: str
    fold: int
    setting: dict[str, Any]
    weights: np.ndarray | None = None


class Candidate(NamedTuple):
    """A trained model.

    model : (d,) linear weights; or trees in LightGBM's text format, and their number
    validation : the metrics of every query of the fold's validation file
    record : the training record; its seconds are the mean over the candidates of a task
    """

    method: str
    fold: int
    setting: dict[str, Any]
    model: Any
    validation: dict[str, np.ndarray]
    record: dict[str, Any]


def experiment(arguments: command.Arguments) -> str:
    """Train all settings, choose on validation files, test the chosen ones, and write the table."""
    ranking_peers.check_installed()
    collection = read_collection(arguments.data, QUICK if arguments.quick else FULL)
    candidates = trained(collection, arguments)
    rows = [
        tested(collection, candidates, name, rule)
        for rule in RULES
        for name in METHODS
        if rule == MAP or name != AVERAGE
    ]
    text, summary = report(collection, rows)
    summary |= {"plan": collection.plan._asdict()}
    write_results(arguments.out, "precision_at_k", text, every_run(candidates), summary)
    return text


def read_collection(folder: Path, plan: Plan) -> Collection:
    """Read the five files of a folder. Raises DataError."""
    sources = []
    for number in range(1, FOLDS + 1):
        plain = folder / f"S{number}.txt"
        sources.append(Source(str(plain if plain.exists() else f"{plain}.gz")))
    return Collection(read_queries(sources, 1.0), plan)


def trained(collection: Collection, arguments: command.Arguments) -> list[Candidate]:
    """Train every setting of every method on every fold, in a fixed order, without test files."""
    plan, folds = collection.plan, range(FOLDS)
    first = [Task(INITIAL, fold, {"start": s}) for s in (CLASSIFIER, RANKING) for fold in folds]
    first += [Task(PAIRWISE, fold, {}) for fold in folds]
    first += [Task(TREES, fold, each) for each in plan.tree_settings() for fold in folds]
    found = arguments.solved(solve, collection, first)
    candidates = [candidate for task in found for candidate in task]
    second = []
    for start in (CLASSIFIER, RANKING, RANDOM):
        for fold in folds:
            own = [
                each
                for each in candidates
                if (each.fold, each.setting.get("start")) == (fold, start)
            ]
            weights = None if start == RANDOM else choose(own, MAP).model
            second += [Task(LATENT, fold, {"start": start, "k": k}, weights) for k in plan.ks]
    found = arguments.solved(solve, collection, second)
    return candidates + [candidate for task in found for candidate in task]


def solve(collection: Collection, task: Task) -> list[Candidate]:
    """Train the candidates of a task."""
    training, validation = collection.training(task.fold), collection.validation(task.fold)
    plan, setting = collection.plan, task.setting
    began = time.perf_counter()
    if task.method == LATENT:
        found = latent(training, plan, setting["k"], setting["start"], task.weights)
    elif task.method == INITIAL:
        found = initial(training, plan, setting["start"])
    elif task.method == PAIRWISE:
        found = ranking_peers.pairwise(training, plan.pairwise_grid)
    else:
        found = ranking_peers.boosted(training, setting, plan.trees)
    seconds = (time.perf_counter() - began) / len(found)
    return [
        Candidate(
            task.method,
            task.fold,
            {**setting, **own},
            model,
            query_metrics(validation, model),
            {**record, "seconds": seconds},
        )
        for own, model, record in found
    ]


def latent(
    training: Queries, plan: Plan, k: int, start: str, weights: np.ndarray | None
) -> list[Solved]:
    """Train latent SSVMs for one k; each C starts from the same weights (or random orderings)."""
    found: list[Solved] = []
    for C in plan.grid:
        application, config = ranker(k, start, C)
        first = None if weights is None else Model(application, config.to_dict(), weights, {})
        model = learn_on(application, training, config, initial=first)
        kept = ("objective", "gap", "converged", "cccp_iterations", "passes")
        found.append(({"C": C}, model.w, {key: model.record[key] for key in kept}))
    return found


def initial(training: Queries, plan: Plan, start: str) -> list[Solved]:
    """The weights from which latent SSVMs start."""
    found: list[Solved] = []
    with Executor(1) as executor:
        for C in plan.initial_grid:
            application, config = ranker(1, start, C)
            oracle = DataOracle(application, training, executor)
            run = new_run(oracle, config, 0, None)
            found.append(({"C": C}, run.solver.w, {}))
    return found


def ranker(k: int, start: str, C: float) -> tuple[Application, Config]:
    """The application and its configuration; C multiplies the sum over queries."""
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": k, "initialisation": start},
            "objective": {"C": C, "c_scaling": "sum"},
            "solver": {"method": "bundle"},
        }
    )
    return config.create_application(), config


def query_metrics(examples: Queries, model: Any) -> dict[str, np.ndarray]:
    """The metrics of every query, (n,) each."""
    offsets = examples.offsets - examples.offsets[0]
    if isinstance(model, tuple):
        scores = ranking_peers.tree_scores(examples, *model)
    else:
        scores = examples.matrix() @ model
    order = ranking_metrics.ranked(scores, offsets)
    return ranking_metrics.by_query(examples.labels, examples.relevant, offsets, order, 1)


def choose(candidates: Sequence[Candidate], column: str) -> Candidate:
    """The candidate of highest validation mean of the column, then of MAP; the first on ties."""
    return max(candidates, key=lambda candidate: merit(candidate, column))


def merit(candidate: Candidate, column: str) -> tuple[float, float]:
    """What candidates are compared by: validation means of the column and of MAP."""
    found = candidate.validation
    return round(float(np.mean(found[column])), 9), float(np.mean(found[MAP]))


def averaged(candidates: Sequence[Candidate]) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The mean weights, of length 1 each, of the best few by validation MAP; their settings."""
    best = sorted(candidates, key=lambda each: merit(each, MAP), reverse=True)[:AVERAGED]
    lengths = [float(np.linalg.norm(each.model)) or 1.0 for each in best]
    weights = [each.model / length for each, length in zip(best, lengths, strict=True)]
    return np.mean(weights, axis=0), [each.setting for each in best]


def tested(
    collection: Collection, candidates: Sequence[Candidate], name: str, rule: str
) -> dict[str, Any]:
    """What a rule chose for a method in each fold and column, and its figures on the test files.

    Returns, by column, the values of all test queries (those of fold 1 first) and the settings; and
    the number of models to choose from, with their mean oracle passes and seconds.
    """
    method, starts = METHODS[name]
    own = [
        each for each in candidates if each.method == method and each.setting.get("start") in starts
    ]
    values: dict[str, list[float]] = {column: [] for column in (*COLUMNS, MAP)}
    settings: dict[str, list[dict[str, Any]]] = {column: [] for column in (*COLUMNS, MAP)}
    for fold in range(FOLDS):
        of_fold = [candidate for candidate in own if candidate.fold == fold]
        for column in values:
            allowed = of_fold
            if name == SAME_K:
                allowed = [each for each in of_fold if f"P@{each.setting['k']}" == column]
            if not allowed:
                continue
            if name == AVERAGE:
                model, used = averaged(allowed)
            else:
                chosen = choose(allowed, column if rule == "own" else MAP)
                model, used = chosen.model, [chosen.setting]
            values[column] += query_metrics(collection.test(fold), model)[column].tolist()
            settings[column] += used
    passes = [each.record["passes"] for each in own if "passes" in each.record]
    return {
        "method": name,
        "rule": rule,
        "values": values,
        "settings": settings,
        "models": len(own),
        "passes": float(np.mean(passes)) if passes else None,
        "seconds": float(np.mean([each.record["seconds"] for each in own])),
    }


def report(collection: Collection, rows: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The table as text, and all its values."""
    table = []
    for row in rows:
        shown = {c: plus_minus(found, 3) if found else None for c, found in row["values"].items()}
        columns = {column: shown[column] for column in COLUMNS}
        whole = all(columns.values())
        mean = f"{np.mean(_by_query(row)):.3f}" if whole else None
        chosen = {"method": row["method"], "chosen by": row["rule"]}
        table.append(
            {**chosen, **columns, "mean": mean, "MAP": shown[MAP]}
            | {"models": row["models"], "passes": _rounded(row["passes"], 0)}
            | {"seconds": _rounded(row["seconds"], 2)}
        )
    if collection.queries.dimension == OHSUMED_FEATURES:
        for name, figures in YU_TABLE_3.rows.items():
            known = [figure for figure in figures if figure is not None]
            cells = {c: f"{figure:.3f}" for c, figure in zip(COLUMNS, known, strict=True)}
            table.append({"method": f"paper: {name}", **cells, "mean": f"{np.mean(known):.3f}"})
    queries = len(rows[0]["values"][MAP])
    title = f"Mean over {queries} test queries ± standard error; settings chosen on validation"
    picked = [
        f"{row['method'].strip()}, by {row['rule']}: " + _brief(row["settings"]) for row in rows
    ]
    lines = [f"{table[0]['method']}, by {rows[0]['rule']}, minus, mean of the columns by query:"]
    for row in rows[1:]:
        if not all(row["values"][column] for column in COLUMNS):
            continue
        difference = _by_query(rows[0]) - _by_query(row)
        lines.append(f"  {row['method'].strip()}, by {row['rule']}: {plus_minus(difference, 3)}")
    average, alone = (
        next(row for row in rows if (row["method"], row["rule"]) == (name, MAP))
        for name in (AVERAGE, ALONE)
    )
    difference = _by_query(average) - _by_query(alone)
    lines.append(f"{AVERAGE.strip()} minus {ALONE.strip()}, by MAP: {plus_minus(difference, 3)}")
    picked += [
        "choices at an edge of what was tried:",
        *(at_edges(rows, collection.plan) or ["none"]),
    ]
    summary = {
        "rows": [
            {**row, "means": {c: mean_and_error(v) for c, v in row["values"].items() if v}}
            for row in rows
        ]
    }
    return "\n".join([text_table(title, table), *lines, "settings by fold:", *picked]), summary


def at_edges(rows: Sequence[dict[str, Any]], plan: Plan) -> list[str]:
    """A line for each method and setting of which some choices are the smallest or largest value.

    k, and settings of fewer than three values, have no edges.
    """
    lines = []
    for row in rows:
        method = METHODS[row["method"]][0]
        grids: Mapping[str, Sequence[float]] = {
            LATENT: {"C": plan.grid},
            INITIAL: {"C": plan.initial_grid},
            PAIRWISE: {"C": plan.pairwise_grid},
            TREES: {"rate": plan.rates, "leaves": plan.leaves, "leaf size": plan.leaf_sizes}
            | {"truncation": plan.truncations, "trees": plan.trees},
        }[method]
        settings = [each for own in row["settings"].values() for each in own]
        for name, grid in grids.items():
            low, high = (sum(s[name] == end for s in settings) for end in (min(grid), max(grid)))
            if len(grid) > 2 and low + high:
                told = f"{row['method'].strip()}, by {row['rule']}: {name}"
                lines.append(f"{told}: {low} the smallest, {high} the largest of {len(settings)}")
    return lines


def every_run(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """One row for each trained model, with the validation means by which models are chosen."""
    keys = ("k", "start", "C", "rate", "leaves", "leaf size", "truncation", "trees")
    records = ("objective", "gap", "converged", "cccp_iterations", "passes", "seconds")
    return [
        {
            "method": each.method,
            "fold": each.fold + 1,
            **{key: each.setting.get(key) for key in keys},
            **{key: each.record.get(key) for key in records},
            **{c: float(np.mean(each.validation[c])) for c in (*COLUMNS, MAP)},
        }
        for each in candidates
    ]


def _by_query(row: dict[str, Any]) -> np.ndarray:
    """The mean of the columns for every test query, (queries,)."""
    return np.mean([row["values"][column] for column in COLUMNS], axis=0)


def _brief(settings: dict[str, list[dict[str, Any]]]) -> str:
    """The settings of the five folds, by column, or once if all columns share them."""
    shown = {
        column: " ".join(
            "/".join(f"{v:g}" if isinstance(v, float) else str(v) for v in each.values())
            for each in settings[column]
        )
        for column in COLUMNS
    }
    if len(set(shown.values())) == 1:
        return shown[COLUMNS[0]]
    return "; ".join(f"{column} {text}" for column, text in shown.items())


def _rounded(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    command.main(
        "Precision at k on a LETOR collection in five files.",
        "folder of S1.txt … S5.txt, plain or .gz",
        "one value of every setting, two numbers of trees",
        experiment,
        {"training": 0},
    )
