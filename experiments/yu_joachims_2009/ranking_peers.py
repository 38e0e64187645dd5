"""Rankers of other libraries, for comparison with ours; the extra ``bench`` installs them."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lssvm.applications.ranking.queries import Queries
from lssvm.errors import MissingExtraError

PRECISION = 1e-2  # of the pairwise SVM
Solved = tuple[dict[str, Any], Any, dict[str, Any]]  # own setting, model, record


def check_installed() -> None:
    """Raise MissingExtraError if a package is missing."""
    for package in ("lightgbm", "sklearn"):
        _peer(package)


def pairwise(training: Queries, grid: Sequence[float]) -> list[Solved]:
    """Linear SVMs on differences of two documents; half of the pairs are taken in reverse order.

    They end where the gradient has fallen to a hundredth, which is within 0.5 % of the lowest
    objective on OHSUMED and saves four fifths of the time for the largest C.
    """
    svm = _peer("sklearn").svm
    matrix, offsets = training.matrix(), training.offsets
    better, worse = [], []
    for first, last in itertools.pairwise(offsets):
        labels = training.labels[first:last]
        pairs = np.argwhere(labels[:, None] > labels[None, :]) + first
        better.append(pairs[:, 0])
        worse.append(pairs[:, 1])
    differences = matrix[np.concatenate(better)] - matrix[np.concatenate(worse)]
    signs = np.where(np.arange(len(differences)) % 2, 1, -1)
    differences *= signs[:, None]
    found: list[Solved] = []
    for C in grid:
        solver = svm.LinearSVC(C=C, dual=False, fit_intercept=False, tol=PRECISION)
        solver.fit(differences, signs)
        found.append(({"C": C}, solver.coef_[0].copy(), {}))
    return found


def boosted(training: Queries, setting: Mapping[str, Any], trees: Sequence[int]) -> list[Solved]:
    """LambdaMART, cut off after each number of trees.

    setting : rate, leaves, leaf size (documents in a leaf at least), and truncation (documents
        from the top whose order counts)
    """
    lightgbm = _peer("lightgbm")
    data = lightgbm.Dataset(
        training.matrix(), training.labels, group=np.diff(training.offsets), params={"verbose": -1}
    )
    settings = {
        "objective": "lambdarank",
        "num_leaves": setting["leaves"],
        "learning_rate": setting["rate"],
        "min_data_in_leaf": setting["leaf size"],
        "lambdarank_truncation_level": setting["truncation"],
        "num_threads": 1,
        "deterministic": True,
        "seed": 0,
        "verbose": -1,
    }
    text = lightgbm.train(settings, data, max(trees)).model_to_string()
    return [({"trees": count}, (text, count), {}) for count in trees]


def tree_scores(examples: Queries, text: str, count: int) -> np.ndarray:
    """The scores of the documents by the first ``count`` trees of a model, (documents,)."""
    booster = _peer("lightgbm").Booster(model_str=text)
    return booster.predict(examples.matrix(), num_iteration=count, num_threads=1)


def _peer(package: str) -> Any:
    """Import a package of the extra ``bench``. Raises MissingExtraError."""
    try:
        if package == "lightgbm":
            import lightgbm

            return lightgbm
        import sklearn.svm

        return sklearn
    except ImportError:
        raise MissingExtraError("this experiment", package, "bench") from None
