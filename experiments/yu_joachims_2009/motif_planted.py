"""Planted motifs: the latent SSVM compared with the oracle that knows what was planted.

    python -m experiments.yu_joachims_2009.motif_planted --out out/motif-planted

The data (see ``lssvm.simulation.motif``) are 200 training and 2,000 test sequences of 200 letters.
Half of them contain a site of a motif of 11 letters, each of which is kept with probability 0.95 or
0.85; the seeds are 1000 to 1009. The oracle is the Bayes rule of the simulation: no method has a
lower error, up to chance.

The settings were fixed beforehand on data of other seeds: C = 0.1 for the summed loss; a background
of order 3, the default, and one of order 0; first sites by default and, for comparison, random
first sites as in the papers. Each setting is trained from a single start and from five starts, of
which the one with the lowest objective is kept; the test sequences are not used for that.

Error is the share of test sequences with the wrong label. Site recall is the share of the test
sequences with a site whose best window starts exactly there, whatever their predicted label: a
motif that is learnt with a shift of a few letters may classify well, but its recall is zero. A run
is called close if neither is more than three points worse than the oracle's.
"""

import csv
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from lssvm.config import Config
from lssvm.output.tables import make_folder, text_table, write_results
from lssvm.simulation import motif as simulate
from lssvm.training.session import learn

SIZES = {"n": 200, "n_test": 2000, "length": 200, "width": 11}
C = 0.1
ORDERS = (3, 0)
RESTARTS = (1, 5)
CLOSE = 3.0  # percentage points

Row = dict[str, Any]


class Plan(NamedTuple):
    """The size of the experiment."""

    conservations: tuple[float, ...]
    starts: tuple[str, ...]
    seeds: tuple[int, ...]


FULL = Plan((0.95, 0.85), ("seeds", "random"), tuple(range(1000, 1010)))
QUICK = Plan((0.95,), ("seeds",), (1000, 1001))


class Task(NamedTuple):
    """One simulated data set, on which all settings are trained."""

    conservation: float
    seed: int


def experiment(arguments: command.Arguments) -> str:
    """Simulate, train and test everything (with --quick a small part), and write the tables."""
    plan = QUICK if arguments.quick else FULL
    tasks = [Task(*pair) for pair in itertools.product(plan.conservations, plan.seeds)]
    found = arguments.solved(
        trained,
        (arguments.out, plan.starts),
        tasks,
    )
    rows = sorted(itertools.chain(*found), key=_place)
    text, summary = report(rows)
    write_results(arguments.out, "motif_planted", text, rows, summary)
    return text


def trained(shared: tuple[Path, Sequence[str]], task: Task) -> list[Row]:
    """Simulate one data set, and train and test every setting on it.

    shared : the folder of the results and the options ``start`` to try
    """
    out, starts = shared
    folder = out / f"conservation-{task.conservation}-seed-{task.seed}"
    make_folder(folder)
    simulate.write_motif(folder, seed=task.seed, conservation=task.conservation, **SIZES)
    oracle = json.loads((folder / "truth.json").read_text())["oracle"]["test"]
    rows = []
    for order, start, restarts in itertools.product(ORDERS, starts, RESTARTS):
        config = configuration(folder, order, start, restarts)
        began = time.perf_counter()
        model = learn(config)
        seconds = time.perf_counter() - began
        examples = model.application.read(config.sources("test"))
        predictions = model.application.predict(model.w, examples)
        truth = true_starts(folder / "test-sites.tsv", list(examples.identifiers))
        rows.append(
            {
                "conservation": task.conservation,
                "order": order,
                "start": start,
                "restarts": restarts,
                "seed": task.seed,
                "oracle_error": 100 * oracle["error"],
                "error": model.application.score(examples, predictions)["error"],
                "oracle_recall": 100 * oracle["site_recall"],
                "recall": 100 * simulate.site_recall(truth, predictions.starts[:, 0]),
                "objective": model.record["objective"],
                "train_error": model.record["training"]["error"],
                "converged": all(record["converged"] for record in model.record["restarts"]),
                "passes": model.record["passes"],
                "seconds": round(seconds, 3),
            }
        )
    return rows


def configuration(folder: Path, order: int, start: str, restarts: int) -> Config:
    """The configuration for the data that ``simulate.write_motif`` wrote into ``folder``."""
    return Config.from_dict(
        {
            "application": {
                "name": "motif",
                "length": SIZES["width"],
                "background_order": order,
                "initialisation": start,
            },
            "data": {"train": "train.fa", "test": "test.fa"},
            "objective": {"C": C, "c_scaling": "sum"},
            "cccp": {"restarts": restarts},
        },
        base=folder,
    )


def true_starts(path: Path, names: Sequence[str]) -> np.ndarray:
    """The start of the planted site of each named sequence, from 0; -1 if it has none."""
    with open(path, encoding="ascii", newline="") as file:
        starts = {
            row["sequence_name"]: int(row["start"]) - 1
            for row in csv.DictReader(file, delimiter="\t")
        }
    return np.array([starts.get(name, -1) for name in names])


def close(row: Row) -> bool:
    """Whether error and site recall are at most three points worse than the oracle's."""
    slack = CLOSE + 1e-9
    return bool(
        row["error"] - row["oracle_error"] <= slack
        and row["oracle_recall"] - row["recall"] <= slack
    )


def report(rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """The tables as text, the summary of all settings first, and the summary as plain values."""
    summary, tables = [], []
    for (conservation, order, start), group in itertools.groupby(rows, key=_setting):
        runs = list(group)
        for restarts in RESTARTS:
            chosen = [run for run in runs if run["restarts"] == restarts]
            summary.append(
                {
                    "conservation": conservation,
                    "order": order,
                    "start": start,
                    "kept": "single" if restarts == 1 else f"best of {restarts}",
                    "close to oracle": f"{sum(map(close, chosen))} of {len(chosen)}",
                    "error - oracle's": f"{_mean(chosen, 'error'):+.2f}",
                    "recall - oracle's": f"{_mean(chosen, 'recall'):+.2f}",
                    "not converged": sum(not run["converged"] for run in chosen),
                    "seconds": f"{np.mean([run['seconds'] for run in chosen]):.2f}",
                }
            )
        title = f"Conservation {conservation}, background of order {order}, start: {start}"
        tables.append(text_table(title, by_seed(runs)))
    first = text_table(
        f"Runs within {CLOSE:g} points of the oracle in test error and in site recall; "
        "mean differences in points",
        summary,
    )
    return "\n\n".join([first, *tables]), {"C": C, "summary": summary}


def by_seed(runs: Sequence[Row]) -> list[Row]:
    """A row for each seed: the oracle's figures, then those of the single and of the best start."""
    table = []
    for seed, group in itertools.groupby(sorted(runs, key=lambda r: r["seed"]), _seed):
        own = sorted(group, key=lambda r: r["restarts"])
        row = {
            "seed": seed,
            "oracle error %": f"{own[0]['oracle_error']:.2f}",
            "oracle recall %": f"{own[0]['oracle_recall']:.1f}",
        }
        for run in own:
            name = "single" if run["restarts"] == 1 else f"best of {run['restarts']}"
            error, recall = run["error"], run["recall"]
            row[f"{name}: error %"] = f"{error:.2f} ({error - run['oracle_error']:+.2f})"
            row[f"{name}: recall %"] = f"{recall:.1f} ({recall - run['oracle_recall']:+.1f})"
            row[f"{name}: close"] = "yes" if close(run) else "no"
        table.append(row)
    return table


def _mean(runs: Sequence[Row], name: str) -> float:
    return float(np.mean([run[name] - run[f"oracle_{name}"] for run in runs]))


def _setting(row: Row) -> tuple[float, int, str]:
    return row["conservation"], row["order"], row["start"]


def _seed(row: Row) -> int:
    return row["seed"]


def _place(row: Row) -> tuple[Any, ...]:
    """The sort key of a table: high conservation, the default order and start come first."""
    return (
        -row["conservation"],
        ORDERS.index(row["order"]),
        FULL.starts.index(row["start"]),
        row["seed"],
        row["restarts"],
    )


if __name__ == "__main__":
    command.main(
        "Planted motifs, compared with the oracle that knows them.",
        None,
        "one conservation, the default initialisation and two seeds",
        experiment,
        {"first data set": FULL.seeds[0]},
    )
