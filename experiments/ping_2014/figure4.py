"""A noisy image with missing labels: Figure 4 of Ping, Liu & Ihler (ICML 2014).

    python -m experiments.ping_2014.figure4 --out out/mssvm-figure4

A scene of 20 × 40 pixels has five labels, 0 to 4. An image is the labels plus noise N(0, 5), drawn
independently at every pixel. Of the labels of one training image 10 % to 95 % are missing at
random; they become its hidden variables. The table and the figure give the accuracy on three more
images of the scene with new noise, and on the missing pixels of the training image, by the share
that is missing; they are means of 10 trials with their standard errors; the paper has 5.

The paper leaves the following open, or we could not read it there. Scene: each of the labels 0 to 3
has a quarter of the image, and 4 is an ellipse in the middle. 5 is the variance of the noise.
Features: a pixel has 1 and its value divided by the standard deviation of the noise; an edge of the
grid has 1 and the difference of these values, with separate weights for right and down. One image
trains.

Training starts from a structural SVM of the labelled pixels alone, with the edges between two of
them ("labelled only", also shown), which uses nothing of what is missing. C is chosen for each
model and share by the mean accuracy on the new images of trials that are not among these; the
smallest C is chosen if several are equal. The grid is too wide for exact inference. Belief
propagation (for mssvm mixed-product) is used throughout, so that no gap is certified; the table
shows the number of training images whose messages had not converged at the end. To keep the run
short, convex problems end at a gap of 5 % or after 60 passes, and CCCP after twelve iterations.
Messages are damped and have a hundred sweeps in training. hcrf is smooth and is trained by L-BFGS.
Its line search evaluates the objective itself, while the planes of belief propagation, which are no
bounds, lead the bundle to weights for which the approximation of log Σ exp is far too low.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.partial_labels import (
    LABELLED,
    MODELS,
    application_of,
    in_memory,
    labelled_part,
    trained,
)
from lssvm.config import Config, set_values
from lssvm.formats.image_list import Grid, as_graphs
from lssvm.formats.mrf_text import MISSING
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results

HEIGHT, WIDTH, LABELS = 20, 40, 5
VARIANCE = 5.0
IMAGES = 1  # training images of a trial
TESTS = 3  # test images of a trial
CHOOSING = 1_000_000  # the first number of the trials on which C is chosen
METHODS = (*MODELS, LABELLED)
MEASURES = ("test", "missing")
TRAINING = {
    "application": {
        "name": "mrf",
        "inference": "bp",
        "sweeps": 100,
        "damping": 0.5,
        "tolerance": 1e-3,
        "initialisation": "zero",
    },
    "solver": {"epsilon": 0.05, "max_passes": 60},
    "cccp": {"tolerance": 0.1, "max_iterations": 12},
}
SOLVERS = {"hcrf": "lbfgs"}  # solvers other than the bundle
PREDICTION = {"application.sweeps": 200, "application.tolerance": 1e-4}


class Plan(NamedTuple):
    """The size of the experiment: shares missing, values of C, trials, and trials to choose C."""

    shares: tuple[float, ...]
    grid: tuple[float, ...]
    trials: int
    choosing: int


FULL = Plan((0.1, 0.5, 0.8, 0.95), (0.3, 3.0), 10, 2)
QUICK = Plan((0.5,), (0.3,), 1, 1)


class Task(NamedTuple):
    """One model of one trial."""

    share: float
    method: str
    trial: int
    C: float


def experiment(arguments: command.Arguments) -> str:
    """Choose C, run all trials, and write the figure and the table."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    cells = [(share, method) for share in plan.shares for method in METHODS]
    chosen = dict.fromkeys(cells, plan.grid[0])
    if len(plan.grid) > 1:
        tasks = [
            Task(*cell, CHOOSING + trial, C)
            for cell in cells
            for C in plan.grid
            for trial in range(plan.choosing)
        ]
        chosen = best(arguments.solved(solve, None, tasks))
    tasks = [Task(*cell, trial, chosen[cell]) for cell in cells for trial in range(plan.trials)]
    rows = arguments.solved(solve, None, tasks)
    draw(arguments.out / "figure4.png", rows)
    text = text_table(
        f"Accuracy (%), mean ± standard error over {plan.trials} trials", summarised(rows)
    )
    write_results(arguments.out, "figure4", text, rows, {"plan": plan._asdict()})
    return text


def scene() -> np.ndarray:
    """The labels of all images, (HEIGHT, WIDTH) int."""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    labels = 2 * (2 * row >= HEIGHT) + (2 * column >= WIDTH)
    down, right = (row + 0.5) / HEIGHT - 0.5, (column + 0.5) / WIDTH - 0.5
    return np.where(down**2 + right**2 < 0.09, LABELS - 1, labels)


def image(name: str, labels: np.ndarray, rng: np.random.Generator) -> Grid:
    """A noisy image of the scene that has these labels."""
    deviation = np.sqrt(VARIANCE)
    values = scene() + deviation * rng.normal(size=labels.shape)
    return Grid(name, values[:, :, None] / deviation, labels)


def solve(_: None, task: Task) -> dict[str, Any]:
    """Draw the images of a trial, train and test: a row of the results."""
    began = time.process_time()
    rng = np.random.default_rng([task.trial, round(1000 * task.share)])
    truth = scene()
    missing = rng.random((IMAGES, *truth.shape)) < task.share
    partly = as_graphs(
        [
            image(f"training {number}", np.where(hidden, MISSING, truth), rng)
            for number, hidden in enumerate(missing)
        ],
        LABELS,
    )
    examples = in_memory(partly)
    tests = [image(f"test {number}", truth, rng) for number in range(TESTS)]
    test = in_memory(as_graphs(tests, LABELS), examples.classes)
    config = Config.from_dict({**TRAINING, "objective": {"C": task.C, "c_scaling": "sum"}})
    part = in_memory(labelled_part(partly), examples.classes)
    model = trained(config, {"objective.model": "ssvm"}, part)
    if task.method != LABELLED:
        chosen = {"objective.model": task.method}
        chosen["solver.method"] = SOLVERS.get(task.method, "bundle")
        model = trained(config, chosen, examples, model)
    settings = {"objective.model": model.config["objective"]["model"], **PREDICTION}
    application = application_of(set_values(config, settings), examples.classes)
    found = application.predict(model.w, examples).states
    kept = ("objective", "certified", "converged", "passes")
    return {
        **task._asdict(),
        "test": application.score(test, application.predict(model.w, test))["accuracy"],
        "missing": 100 * float(np.mean((found.reshape(missing.shape) == truth)[missing])),
        **{key: model.record[key] for key in kept},
        "not_converged": model.record["training"]["not_converged"],
        "seconds": time.process_time() - began,
    }


def best(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[float, str], float]:
    """The C of highest mean test accuracy for each share and method; the smallest on ties."""
    found: dict[tuple[float, str], dict[float, list[float]]] = {}
    for row in rows:
        values = found.setdefault((row["share"], row["method"]), {})
        values.setdefault(row["C"], []).append(row["test"])
    return {
        cell: max(sorted(values), key=lambda C: float(np.mean(values[C])))
        for cell, values in found.items()
    }


def summarised(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each share and measure; then C, and the images that did not converge, by method."""
    table = []
    for share in dict.fromkeys(row["share"] for row in rows):
        own = {m: [r for r in rows if (r["share"], r["method"]) == (share, m)] for m in METHODS}
        head = {"missing labels": f"{100 * share:g} %"}
        for measure in MEASURES:
            cells = {m: plus_minus((r[measure] for r in own[m]), 1) for m in METHODS}
            pairs = zip(own["mssvm"], own["lssvm"], strict=True)
            paired = plus_minus((first[measure] - second[measure] for first, second in pairs), 1)
            table.append({**head, "pixels": measure, **cells, "mssvm − lssvm": paired})
        for name, value in (("C", lambda r: r[0]["C"]), ("not_converged", _not_converged)):
            table.append({**head, "pixels": name, **{m: f"{value(own[m]):g}" for m in METHODS}})
    return table


def _not_converged(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["not_converged"] for row in rows)


def draw(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a line for each method on new images, and a broken one on missing pixels."""
    lines = []
    shares = sorted({row["share"] for row in rows})
    for measure in MEASURES:
        for hue, method in enumerate(METHODS):
            found = [
                mean_and_error(
                    row[measure] for row in rows if (row["share"], row["method"]) == (share, method)
                )
                for share in shares
            ]
            means, errors = zip(*found, strict=True)
            label = method if measure == "test" else f"{method}, missing pixels"
            x = [100 * share for share in shares]
            lines.append(report.Series(label, x, means, errors, hue, dashed=measure != "test"))
    report.draw_lines(path, lines, x_label="missing labels (%)", y_label="accuracy (%)")


if __name__ == "__main__":
    command.main(
        "A noisy image of five labels, of which some are missing.",
        None,
        "one share, one trial, one value of C",
        experiment,
        {"first trial": 0},
    )
