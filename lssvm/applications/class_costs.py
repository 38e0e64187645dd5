"""Costs by class, so that a frequent class does not outweigh a rare one in training.

In applications whose examples have one label each, the option ``class_costs`` multiplies the cost
c_i of each training example by a factor of its class: the factor that is given, or with
``balanced`` n / (K n_c), where n is the number of training examples, K the number of their classes
and n_c the number of examples of the class (``class_weight`` in scikit-learn). The total cost of
every class is then n / K. In cross-validation n, K and n_c are those of the training part. Metrics
of training, validation and test data count every example once.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

BALANCED = "balanced"
DESCRIPTION = (
    "factors of the costs of training examples by label, 1 for labels that are not named; or "
    "balanced: n / (K n_c), for n examples, K classes, and n_c examples of a class"
)
_SHOWN = 3  # labels that a message names

Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ClassCosts = Literal["balanced"] | dict[str, Factor]


def weighted(
    costs: np.ndarray,
    class_costs: str | Mapping[str, float],
    labels: np.ndarray,
    names: Sequence[str],
) -> np.ndarray:
    """The costs times the factors of the classes, (n,).

    costs : (n,) the costs of the examples themselves
    class_costs : ``balanced`` or factors by label
    labels : (n,) int, rows of ``names``
    """
    counts = np.bincount(labels, minlength=len(names))
    return costs * factors_of(class_costs, counts, names)[labels]


def factors_of(
    class_costs: str | Mapping[str, float], counts: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    """The factors of the classes, (K,). counts : (K,) the number of examples of each"""
    if isinstance(class_costs, str):
        return int(counts.sum()) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return np.array([class_costs.get(name, 1.0) for name in names])


def collapse(
    predicted: np.ndarray,
    labels: np.ndarray,
    names: Sequence[str],
    class_costs: str | Mapping[str, float],
) -> list[str]:
    """A warning if all predictions are of one class and the labels are not.

    predicted, labels : (n,) int, rows of ``names``
    """
    there = np.flatnonzero(np.bincount(labels)).tolist()
    if len(there) < 2 or np.any(predicted != predicted[0]):
        return []
    classes = listed([names[row] for row in there])
    advice = "a larger objective.C" if class_costs == BALANCED else "class_costs: balanced"
    return [
        f"all {len(predicted):,d} predictions on the training data are of class "
        f"{names[predicted[0]]!r} (the data have the classes {classes}); consider {advice}"
    ]


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return f"{shown} and {len(names) - _SHOWN:,d} more" if len(names) > _SHOWN else shown
