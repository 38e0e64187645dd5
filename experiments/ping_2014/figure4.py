"""A noisy image with missing labels: Figure 4 of Ping, Liu & Ihler (ICML 2014).

    python -m experiments.ping_2014.figure4 --out out/mssvm-figure4

A scene of 20 × 40 pixels has five labels, 1 to 5. An image is the labels plus noise N(0, 5), drawn
independently at every pixel. Of the labels of the training images 10 % to 95 % are missing at
random; they become their hidden variables. The tables and figures give the accuracy on new images
of the scene and on the missing pixels of the training images, by the share that is missing, with
standard errors over the trials. There are two settings:

- *the paper's*: ten images to train on, ten to test on, five trials. A pixel has its value, once
  for each label, and an edge has a weight for each pair of labels, e_y ⊗ x and e_y ⊗ e_y'. C is 1
  for each image, as in section 7.1; section 7.2 does not state it.
- *more features*: one image to train on, three to test on, three trials. A pixel has 1 and its
  value divided by the standard deviation of the noise; an edge has 1 and the difference of these
  values, with separate weights for right and down. C is chosen for each model and share by the mean
  accuracy on the new images of trials that are not among these; the smallest C is chosen if several
  are equal.

The paper leaves the following open, or we could not read it there. Scene: each of the labels 1 to 4
has a quarter of the image, and 5 is an ellipse in the middle. 5 is the variance of the noise.

Training starts from a structural SVM of the labelled pixels alone, with the edges between two of
them ("labelled only", also shown), which uses nothing of what is missing. The grid is too wide for
exact inference. Belief propagation (for mssvm mixed-product) is used throughout, so that no gap is
certified; the table shows the number of training images whose messages had not converged at the
end. To keep the run short, convex problems end at a gap of 5 % or after 40 passes, and CCCP after
twelve iterations. Messages are damped and have a hundred sweeps in training. hcrf is smooth and is
trained by L-BFGS. Its line search evaluates the objective itself, while the planes of belief
propagation, which are no bounds, lead the bundle to weights for which the approximation of
log Σ exp is far too low.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014.partial_labels import (
    LABELLED,
    MODELS,
    SOLVERS,
    application_of,
    in_memory,
    labelled_part,
    trained,
)
from lssvm.applications.mrf.graphs import Graphs
from lssvm.config import Config, set_values
from lssvm.errors import counted
from lssvm.formats.image_list import Grid, as_graphs
from lssvm.formats.mrf_text import MISSING, Features, GraphFile
from lssvm.model import Model
from lssvm.output import plots as report
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results

HEIGHT, WIDTH, LABELS = 20, 40, 5
VARIANCE = 5.0
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
    "solver": {"epsilon": 0.05, "max_passes": 40},
    "cccp": {"tolerance": 0.1, "max_iterations": 12},
}
PREDICTION = {"application.sweeps": 200, "application.tolerance": 1e-4}


class Setting(NamedTuple):
    """Images to train and to test on, trials, and values of C.

    choosing : trials to choose C on, if there are several values
    plain : whether the features are the paper's alone
    """

    images: int
    tests: int
    trials: int
    grid: tuple[float, ...]
    choosing: int
    plain: bool


class Plan(NamedTuple):
    """The size of the experiment: shares missing, and the settings by name."""

    shares: tuple[float, ...]
    settings: Mapping[str, Setting]


PAPER, MORE = "the paper's", "more features"
FULL = Plan(
    (0.1, 0.5, 0.95),
    {PAPER: Setting(10, 10, 5, (1.0,), 0, True), MORE: Setting(1, 3, 3, (0.3, 3.0), 2, False)},
)
QUICK = Plan(
    (0.5,),
    {PAPER: Setting(1, 1, 1, (1.0,), 0, True), MORE: Setting(1, 1, 1, (0.3,), 0, False)},
)


class Task(NamedTuple):
    """One model of one trial."""

    setting: str
    share: float
    method: str
    trial: int
    C: float


def experiment(arguments: command.Arguments) -> str:
    """Choose C where it is open, run all trials, and write the figures and the tables."""
    report.check_installed()
    plan = QUICK if arguments.quick else FULL
    cells = [
        (name, share, method)
        for name in plan.settings
        for share in plan.shares
        for method in METHODS
    ]
    chosen = {cell: plan.settings[cell[0]].grid[0] for cell in cells}
    tasks = [
        Task(*cell, CHOOSING + trial, C)
        for cell in cells
        for C in plan.settings[cell[0]].grid
        for trial in range(plan.settings[cell[0]].choosing)
    ]
    chosen |= best(arguments.solved(solve, plan, tasks))
    tasks = [
        Task(*cell, trial, chosen[cell])
        for cell in cells
        for trial in range(plan.settings[cell[0]].trials)
    ]
    rows = arguments.solved(solve, plan, tasks)
    text = "\n".join(reported(arguments.out, name, plan, rows) for name in plan.settings)
    settings = {name: setting._asdict() for name, setting in plan.settings.items()}
    facts = {"plan": {"shares": plan.shares, "settings": settings}}
    write_results(arguments.out, "figure4", text, rows, facts)
    return text


def reported(out: Path, name: str, plan: Plan, rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the figure of a setting; its table."""
    own = [row for row in rows if row["setting"] == name]
    draw(out / ("figure4.png" if name == PAPER else "figure4-more.png"), own)
    setting = plan.settings[name]
    title = (
        f"{name}: {counted(setting.images, 'image')} to train on, {setting.tests} to test on; "
        f"accuracy (%), mean ± standard error over {counted(setting.trials, 'trial')}"
    )
    return text_table(title, summarised(own))


def scene() -> np.ndarray:
    """The labels of all images, (HEIGHT, WIDTH) int."""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    labels = 2 * (2 * row >= HEIGHT) + (2 * column >= WIDTH)
    down, right = (row + 0.5) / HEIGHT - 0.5, (column + 0.5) / WIDTH - 0.5
    return np.where(down**2 + right**2 < 0.09, LABELS - 1, labels)


def image(name: str, labels: np.ndarray, rng: np.random.Generator, unit: float) -> Grid:
    """A noisy image of the scene that has these labels.

    unit : by which the values of the pixels, 1 to LABELS plus noise, are divided
    """
    values = 1 + scene() + np.sqrt(VARIANCE) * rng.normal(size=labels.shape)
    return Grid(name, values[:, :, None] / unit, labels)


def graphs_of(grids: Sequence[Grid], plain: bool) -> GraphFile:
    """The graphs of images, with the features of the paper if ``plain``: see the module."""
    graphs = as_graphs(grids, LABELS)
    if not plain:
        return graphs
    nodes, edges = graphs.node_features, graphs.edge_features
    value, constant = nodes.indices == 1, edges.indices == 0
    return replace(
        graphs,
        node_features=Features(
            np.arange(len(graphs.labels) + 1), nodes.indices[value] - 1, nodes.values[value]
        ),
        edge_classes=["pair"] * len(graphs.ends),
        edge_features=Features(
            np.arange(len(graphs.ends) + 1), edges.indices[constant], edges.values[constant]
        ),
    )


def solve(plan: Plan, task: Task) -> dict[str, Any]:
    """Draw the images of a trial, train and test: a row of the results."""
    began = time.process_time()
    setting = plan.settings[task.setting]
    unit = 1.0 if setting.plain else float(np.sqrt(VARIANCE))
    rng = np.random.default_rng([task.trial, round(1000 * task.share)])
    truth = scene()
    missing = rng.random((setting.images, *truth.shape)) < task.share
    training = [
        image(f"training {number}", np.where(hidden, MISSING, truth), rng, unit)
        for number, hidden in enumerate(missing)
    ]
    partly = graphs_of(training, setting.plain)
    examples = in_memory(partly)
    tests = [image(f"test {number}", truth, rng, unit) for number in range(setting.tests)]
    test = in_memory(graphs_of(tests, setting.plain), examples.classes)
    model = trained_for(task, partly, examples)
    settings = {"objective.model": model.config["objective"]["model"], **PREDICTION}
    application = application_of(
        set_values(Config.from_dict(model.config), settings), examples.classes
    )
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


def trained_for(task: Task, partly: GraphFile, examples: Graphs) -> Model:
    """The structural SVM of the labelled pixels or, from its weights, the model of the task."""
    config = Config.from_dict({**TRAINING, "objective": {"C": task.C, "c_scaling": "sum"}})
    part = in_memory(labelled_part(partly), examples.classes)
    model = trained(config, {"objective.model": "ssvm"}, part)
    if task.method == LABELLED:
        return model
    chosen = {
        "objective.model": task.method,
        "solver.method": SOLVERS.get(task.method, "bundle"),
    }
    return trained(config, chosen, examples, model)


def best(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, float, str], float]:
    """The C of highest mean test accuracy for each cell; the smallest on ties."""
    found: dict[tuple[str, float, str], dict[float, list[float]]] = {}
    for row in rows:
        values = found.setdefault((row["setting"], row["share"], row["method"]), {})
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
        "one image, one share, one trial, one value of C",
        experiment,
        {"first trial": 0},
    )
