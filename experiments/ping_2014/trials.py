"""What the simulations of Ping, Liu & Ihler (ICML 2014) share: trials, methods, choice of C.

A trial draws a field, and from it instances for training, validation and test. Every method sees
the same instances, so that methods are compared by paired differences over trials. Each method is
reported twice: with C = 1, as in the paper, and with the C of the lowest error on 100 validation
instances, which the paper does not have; the smallest one if several are equal. Test instances are
used for these two models alone.

A method is a model and a way to train it. With CCCP, every convex problem is solved to a certified
gap by the solver that lssvm chooses: the bundle for MSSVM, dual coordinate ascent for LSSVM, and
for HCRF L-BFGS, whose steps are on the objective itself, which is smooth, and which certifies the
last convex problem in the same way. SGD makes a step after every four instances, for fifty epochs,
and returns the mean of its points or the last point. Inference is exact throughout, also on the
grids, where the paper uses belief propagation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common.paired import p_value
from experiments.ping_2014.hidden_fields import Draw, Field, drawn, graphs, sampled
from lssvm.applications.base import Application
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.mrf import MarkovRandomField
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.output.tables import mean_and_error, plus_minus
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run, rules_of

STREAM = 0x6D73736D
TRAINING, VALIDATION, TEST = 20, 100, 100  # instances
TRIALS = 20
FIXED, PICKED = "1", "picked"  # how C is found
GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # values of C per instance
EPSILON, TOLERANCE = 1e-2, 1e-2
KEPT = ("objective", "gap", "certified", "converged", "passes", "cccp_iterations")
RESULTS = ("C", "accuracy", *KEPT)


class Method(NamedTuple):
    """model : the name of the objective; solver : the settings of its section

    fit : a function that trains instead, given the training instances and C
    """

    model: str
    solver: Mapping[str, Any]
    fit: Callable[[Graphs, float], Model] | None = None


CCCP = {
    "MSSVM": Method("mssvm", {}),
    "LSSVM": Method("lssvm", {}),
    "HCRF": Method("hcrf", {}),
}
SGD = {
    name: Method(method.model, {"method": "sgd", "batch_size": 4, "epochs": 50})
    for name, method in CCCP.items()
}
PAIRS = (("MSSVM", "HCRF"), ("HCRF", "LSSVM"), ("MSSVM", "LSSVM"))


TRUTH = "the field itself"


class Trial(NamedTuple):
    """A field, and instances drawn from it."""

    field: Field
    training: Graphs
    validation: Graphs
    test: Graphs


def new_trial(draw: Draw, number: int, training: int = TRAINING, test: int = TEST) -> Trial:
    """The trial of this number; its held-out instances do not depend on how many train."""
    rng = np.random.default_rng([STREAM, number])
    field = drawn(rng, draw)
    x, states = sampled(rng, field, VALIDATION + test)
    held = graphs(field, x, states)
    x, states = sampled(rng, field, training)
    return Trial(
        field,
        graphs(field, x, states),
        held.take(np.arange(VALIDATION)),
        held.take(np.arange(VALIDATION, VALIDATION + test)),
    )


def config_of(method: Method, C: float) -> Config:
    """The settings of a method."""
    return Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": method.model, "C": C},
            "solver": {"epsilon": EPSILON, **method.solver},
            "cccp": {"tolerance": TOLERANCE},
        }
    )


def fitted(method: Method, training: Graphs, C: float) -> Model:
    """Train the method with this C."""
    if method.fit is not None:
        return method.fit(training, C)
    config = config_of(method, C)
    application = config.create_application()
    assert isinstance(application, MarkovRandomField)
    application.classes = training.classes
    return learn_on(application, training, config)


def descent(config: Config, training: Graphs) -> list[np.ndarray]:
    """The points of stochastic (sub)gradient descent before every epoch and at the end.

    config : with ``solver.method: sgd``
    """
    application = config.create_application()
    application.restore(training.classes.arrays())
    points: list[np.ndarray] = []
    with Executor() as executor:
        oracle = DataOracle(application, training, executor)
        run = new_run(oracle, config, 0, None)
        solver: Any = run.solver

        def look() -> None:
            if len(points) <= solver.epoch:
                points.append(solver.point)

        rules = rules_of(config, len(training), application.hidden)
        run.proceed(oracle, rules, Observer(), between=look)
    return points


def log_likelihood(w: np.ndarray, examples: Graphs) -> float:
    """The mean of log p(y | x) per label, where p(y, h | x) ∝ exp(w · Φ)."""
    application = config_of(CCCP["HCRF"], 1.0).create_application()
    application.dimension(examples)
    labelled = application.completed(w, examples).value(w)
    plane, _ = application.augmented(w, examples)
    return (labelled - plane.value(w)) / int(np.sum(examples.labels[examples.nodes] >= 0))


def accuracy(model: Model, examples: Graphs) -> float:
    """The share of correct labels, in percent."""
    return _accuracy(model.application, model.w, examples)


def true_accuracy(trial: Trial, model: str) -> float:
    """The test accuracy, in percent, of the field's own weights with the prediction of a model."""
    application = config_of(Method(model, {}), 1.0).create_application()
    application.dimension(trial.test)
    return _accuracy(application, trial.field.weights, trial.test)


def _accuracy(application: Application, w: np.ndarray, examples: Graphs) -> float:
    found = application.score(examples, application.predict(w, examples))["accuracy"]
    assert found is not None
    return found


def chosen(method: Method, trial: Trial, grid: Sequence[float] = GRID) -> tuple[float, Model]:
    """The C of highest validation accuracy, the first if several are equal, and its model."""
    return _best(trial, {C: fitted(method, trial.training, C) for C in grid})


def _best(trial: Trial, models: Mapping[float, Model]) -> tuple[float, Model]:
    right = {C: accuracy(model, trial.validation) for C, model in models.items()}
    best = max(right, key=lambda C: right[C])
    return best, models[best]


def results(
    method: Method, trial: Trial, grid: Sequence[float] | None = GRID
) -> list[dict[str, Any]]:
    """Train and test with C = 1 and, if there is a grid, with the C that is chosen from it.

    Returns a row for each with ``rule`` and the values of RESULTS.
    """
    models = {C: fitted(method, trial.training, C) for C in sorted({*(grid or ()), 1.0})}
    rows = [_row(FIXED, 1.0, models[1.0], trial)]
    if grid:
        best, model = _best(trial, {C: models[C] for C in grid})
        rows.append(_row(PICKED, best, model, trial))
    return rows


def _row(rule: str, C: float, model: Model, trial: Trial) -> dict[str, Any]:
    found = {"C": C, "accuracy": accuracy(model, trial.test), **model.record}
    return {"rule": rule, **{key: _plain(found.get(key)) for key in RESULTS}}


def true_result(trial: Trial, model: str = "mssvm") -> dict[str, Any]:
    """The same values as a row of ``results``, for the weights of the field itself."""
    return {"rule": None, **dict.fromkeys(RESULTS), "accuracy": true_accuracy(trial, model)}


def _plain(value: Any) -> Any:
    """None if no gap is known, because JSON has no infinity."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def at_an_edge(rows: Sequence[Mapping[str, Any]], grid: Sequence[float], **place: Any) -> str:
    """A sentence: how often the C that was chosen is the smallest or the largest of the grid."""
    chosen = by_trial(rows, "C", rule=PICKED, **place)
    low, high = sum(min(grid) == C for C in chosen), sum(max(grid) == C for C in chosen)
    return (
        f"of {len(chosen)} choices of C, {low} are the smallest of the grid ({min(grid):g}) and "
        f"{high} the largest ({max(grid):g})"
    )


def by_trial(
    rows: Sequence[Mapping[str, Any]], measure: str = "accuracy", **place: Any
) -> list[float]:
    """The measure in rows with these values, such as ``method="HCRF"``, in the order of trials."""
    own = [row for row in rows if all(row[key] == value for key, value in place.items())]
    return [row[measure] for row in sorted(own, key=lambda row: row["trial"])]


def differences(
    values: Mapping[str, Sequence[float]], pairs: Sequence[tuple[str, str]] = PAIRS
) -> list[str]:
    """A line for each pair of methods: the mean paired difference, its error, p of the t-test."""
    lines = []
    for first, second in pairs:
        if first in values and second in values:
            own = np.array(values[first]), np.array(values[second])
            p = p_value(*own)
            text = f"{first} − {second}: {plus_minus(own[0] - own[1])}"
            lines.append(text + (f" (p = {p:.2g})" if p is not None else ""))
    return lines


def beside(values: Sequence[float], paper: float | None) -> dict[str, Any]:
    """Mean and error, the paper's mean, and the distance of the means in our standard errors."""
    mean, error = mean_and_error(values)
    apart = abs(mean - paper) / error if paper is not None and error > 0 else None
    return {
        "accuracy": plus_minus(values),
        "paper": None if paper is None else f"{paper:.2f}",
        "errors apart": None if apart is None else f"{apart:.1f}",
    }
