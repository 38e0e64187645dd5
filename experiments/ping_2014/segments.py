"""Models of partly labelled photographs, compared with logistic regression of single nodes.

This is used for superpixels (``table4``) and for patches (``photographs``). Training is stochastic
(sub)gradient descent on F itself, Algorithm 1 of Ping, Liu & Ihler (ICML 2014), from w = 0. A few
epochs are enough. Graphs of photographs have cycles, so inference is belief propagation
(mixed-product for mssvm), and no method could certify a gap.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from experiments.ping_2014.partial_labels import (
    LABELLED,
    MODELS,
    application_of,
    in_memory,
    labelled_part,
    trained,
)
from lssvm.applications.mrf.graphs import Graphs
from lssvm.config import Config, set_values
from lssvm.errors import MissingExtraError
from lssvm.formats.mrf_text import GraphFile
from lssvm.output.tables import mean_and_error

SINGLE = "logistic"  # logistic regression of single nodes
METHODS = (*MODELS, LABELLED, SINGLE)
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


def _field(
    graphs: GraphFile, others: GraphFile, method: str, C: float, settings: Settings
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train a random field: its predicted states of the other graphs' nodes, and the record."""
    whole = in_memory(graphs)
    model = "ssvm" if method == LABELLED else method
    examples = in_memory(labelled_part(graphs), whole.classes) if method == LABELLED else whole
    config = Config.from_dict(
        {
            "application": {
                "name": "mrf",
                "inference": "bp",
                "sweeps": 10,
                "tolerance": 1e-2,
                "initialisation": "zero",
            },
            "objective": {"model": model, "C": C},
            "solver": {"method": "sgd", "epochs": settings.epochs, "batch_size": BATCH},
        }
    )
    found = trained(config, {}, examples)
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


def table(
    outcomes: Sequence[Outcome], test: GraphFile, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Accuracy by method: of all labelled nodes, the mean over classes, and of each class."""
    rows = []
    known = test.labels >= 0
    truth = test.labels[known]
    classes = [k for k in range(len(names)) if np.any(truth == k)]
    columns = {each.method: each.states[known] == truth for each in outcomes}
    for name, chosen in (
        ("all", [np.ones(len(truth), dtype=bool)]),
        ("mean of classes", [truth == k for k in classes]),
        *((names[k], [truth == k]) for k in classes),
    ):
        means = {
            method: 100 * float(np.mean([np.mean(right[own]) for own in chosen]))
            for method, right in columns.items()
        }
        rows.append({"class": name, **{method: f"{mean:.1f}" for method, mean in means.items()}})
    return rows


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
