"""Models of partly labelled photographs, compared with logistic regression of single nodes.

This is used for superpixels (``table4``) and for patches (``photographs``). Training is stochastic
(sub)gradient descent on F itself, Algorithm 1 of Ping, Liu & Ihler (ICML 2014), from w = 0, a few
epochs; and CCCP as in their Table 4, with the C that was chosen for descent, from the weights of a
structural SVM of the labelled nodes alone. Graphs of photographs have cycles, so inference is
belief propagation (mixed-product for mssvm), and no method could certify a gap. To keep the run
short, a convex problem ends at a gap of 5 % or after 20 passes, and CCCP after three of them; that
of hcrf, which is smooth, is solved by L-BFGS.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

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
from lssvm.errors import MissingExtraError
from lssvm.formats.mrf_text import GraphFile
from lssvm.model import Model
from lssvm.output.tables import mean_and_error

SINGLE = "logistic"  # logistic regression of single nodes
METHODS = (*MODELS, LABELLED, SINGLE)
BY_CCCP = {f"{model}, CCCP": model for model in MODELS}
BATCH = 4  # photographs per step
SETTLED = {"application.sweeps": 100, "application.tolerance": 1e-3, "application.damping": 0.5}


class Parts(NamedTuple):
    """The photographs for training, for choosing C, for the final training, and for testing."""

    train: GraphFile
    validate: GraphFile
    both: GraphFile
    test: GraphFile


class Settings(NamedTuple):
    """Values of C for the models and for logistic regression, and epochs of descent."""

    grid: tuple[float, ...]
    logistic_grid: tuple[float, ...]
    epochs: int


class Outcome(NamedTuple):
    """states : (N,) predicted for the test nodes; record : the training record"""

    method: str
    states: np.ndarray
    record: dict[str, Any]


def check_installed() -> None:
    """Raise MissingExtraError if scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError("this experiment", "scikit-learn", "bench") from None


def solve(shared: tuple[Parts, Settings], method: str) -> Outcome:
    """Choose C on the validation photographs, train, and label the test photographs."""
    parts, settings = shared
    began = time.process_time()
    fit = _single if method == SINGLE else _field
    grid = settings.logistic_grid if method == SINGLE else settings.grid
    right = {}
    for C in grid:
        states, _ = fit(parts.train, parts.validate, method, C, settings)
        known = parts.validate.labels >= 0
        right[C] = 100 * float(np.mean(states[known] == parts.validate.labels[known]))
    best = max(sorted(right), key=right.__getitem__)
    states, record = fit(parts.both, parts.test, method, best, settings)
    record |= {"validation": right[best], "tried": {f"{C:g}": right[C] for C in grid}}
    return Outcome(method, states, {"C": best, **record, "seconds": time.process_time() - began})


def with_cccp(
    outcomes: Sequence[Outcome], solved: Callable[[list[tuple[str, float]]], list[Outcome]]
) -> list[Outcome]:
    """The outcomes and those of CCCP, which ``solved`` makes of names and values of C."""
    chosen = {each.method: each.record["C"] for each in outcomes}
    return [*outcomes, *solved([(name, chosen[model]) for name, model in BY_CCCP.items()])]


def solve_by_cccp(shared: tuple[Parts, Settings], task: tuple[str, float]) -> Outcome:
    """Train a model by CCCP with a value of C, and label the test photographs."""
    parts, settings = shared
    name, C = task
    began = time.process_time()
    model = BY_CCCP[name]
    whole = in_memory(parts.both)
    start = _descended(parts.both, whole, LABELLED, C, settings)
    own = {
        "solver": {"method": SOLVERS.get(model, "bundle"), "epsilon": 0.05, "max_passes": 20},
        "cccp": {"tolerance": 0.1, "max_iterations": 3},
    }
    found = trained(_config(model, C, own), {}, whole, start)
    states, record = _tested(found, whole, parts.test)
    return Outcome(name, states, {"C": C, **record, "seconds": time.process_time() - began})


def _field(
    graphs: GraphFile, others: GraphFile, method: str, C: float, settings: Settings
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train a random field: its predicted states of the other graphs' nodes, and the record."""
    whole = in_memory(graphs)
    return _tested(_descended(graphs, whole, method, C, settings), whole, others)


def _descended(
    graphs: GraphFile, whole: Graphs, method: str, C: float, settings: Settings
) -> Model:
    """A random field by descent. whole : the examples of all graphs"""
    model = "ssvm" if method == LABELLED else method
    examples = in_memory(labelled_part(graphs), whole.classes) if method == LABELLED else whole
    own = {"solver": {"method": "sgd", "epochs": settings.epochs, "batch_size": BATCH}}
    return trained(_config(model, C, own), {}, examples)


def _config(model: str, C: float, training: Mapping[str, Any]) -> Config:
    return Config.from_dict(
        {
            "application": {
                "name": "mrf",
                "inference": "bp",
                "sweeps": 10,
                "tolerance": 1e-2,
                "initialisation": "zero",
            },
            "objective": {"model": model, "C": C},
            **training,
        }
    )


def _tested(found: Model, whole: Graphs, others: GraphFile) -> tuple[np.ndarray, dict[str, Any]]:
    """The predicted states of the other graphs' nodes, and the record."""
    config = _config("ssvm", 1.0, {})
    application = application_of(set_values(config, SETTLED), whole.classes)
    predictions = application.predict(found.w, in_memory(others, whole.classes))
    kept = ("objective", "passes")
    return predictions.states, {
        **{key: found.record[key] for key in kept},
        "not_converged": int(np.sum(~predictions.converged)),
    }


def _single(
    graphs: GraphFile, others: GraphFile, method: str, C: float, settings: Settings
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train logistic regression on the labelled nodes, without edges; see ``_field``."""
    from sklearn.linear_model import LogisticRegression

    known = graphs.labels >= 0
    x, other = (_matrix(in_memory(part)) for part in (graphs, others))
    fitted = LogisticRegression(C=C, max_iter=200, tol=1e-3).fit(x[known], graphs.labels[known])
    return fitted.predict(other), {}


def _matrix(examples: Graphs) -> sparse.csr_array:
    """The features of all nodes."""
    width = examples.classes.node_widths[0]
    whole = sparse.csr_array(
        (examples.values, examples.indices, examples.starts),
        shape=(len(examples.starts) - 1, max(width, *examples.classes.edge_widths)),
    )
    edges = np.diff(examples.edge_offsets)
    nodes = np.diff(examples.node_offsets)
    kept = np.repeat(np.tile([True, False], len(nodes)), np.column_stack([nodes, edges]).ravel())
    return whole[np.flatnonzero(kept)][:, :width]


def accuracies(
    outcomes: Sequence[Outcome], test: GraphFile, names: Sequence[str]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Correct nodes in percent by method, with standard errors over photographs.

    The keys are ``all`` for all labelled nodes, the mean over classes, and each class that occurs.
    As photographs have different numbers of nodes, the errors are those of ratios, to first order.
    """
    known = test.labels >= 0
    truth = test.labels[known]
    photograph = np.repeat(np.arange(len(test.names)), np.diff(test.node_offsets))[known]
    classes = [k for k in range(len(names)) if np.any(truth == k)]
    groups = {
        "all": [np.ones(len(truth), dtype=bool)],
        "mean of classes": [truth == k for k in classes],
        **{names[k]: [truth == k] for k in classes},
    }
    found = {}
    for name, chosen in groups.items():
        found[name] = {
            each.method: _mean_of_ratios(each.states[known] == truth, chosen, photograph)
            for each in outcomes
        }
    return found


def _mean_of_ratios(
    right: np.ndarray, chosen: Sequence[np.ndarray], photograph: np.ndarray
) -> tuple[float, float]:
    """The mean over groups of nodes of the share that is right, and its error, in percent."""
    parts = np.zeros(int(photograph.max()) + 1)
    shares = []
    for own in chosen:
        shares.append(float(np.mean(right[own])))
        residuals = (right[own] - shares[-1]) / (np.sum(own) * len(chosen))
        parts += np.bincount(photograph[own], weights=residuals, minlength=len(parts))
    count = len(np.unique(photograph))
    error = np.sqrt(count / max(count - 1, 1) * np.sum(parts**2))
    return 100 * float(np.mean(shares)), 100 * float(error)


def table(
    outcomes: Sequence[Outcome], test: GraphFile, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The accuracies by class and method as a table."""
    return [
        {"class": name, **{method: f"{mean:.1f} ± {se:.1f}" for method, (mean, se) in row.items()}}
        for name, row in accuracies(outcomes, test, names).items()
    ]


def differences(outcomes: Sequence[Outcome], test: GraphFile) -> list[dict[str, Any]]:
    """The first method minus another: correct nodes of a photograph in percent, mean ± error.

    Photographs without labels are left out; the error is the standard error.
    """
    known = test.labels >= 0
    counts = np.add.reduceat(known, test.node_offsets[:-1], dtype=np.int64)
    shares = {
        each.method: 100
        * np.add.reduceat(known & (each.states == test.labels), test.node_offsets[:-1], dtype=int)[
            counts > 0
        ]
        / counts[counts > 0]
        for each in outcomes
    }
    first, *others = shares
    rows = []
    for other in others:
        mean, error = mean_and_error(shares[first] - shares[other])
        rows.append({"first": first, "second": other, "mean": mean, "error": error})
    return rows


def every_run(outcomes: Sequence[Outcome], head: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each trained model."""
    keys = ("C", "validation", "objective", "passes", "not_converged", "seconds")
    return [
        {**head, "method": each.method, **{key: each.record.get(key) for key in keys}}
        for each in outcomes
    ]
