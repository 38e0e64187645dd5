"""Why a model prefers an output: its score as a sum over named features, beside another output.

>>> from lssvm import Model, explain
>>> explain(model, examples, 0).lines()  # doctest: +SKIP
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.base import Examples, labelled_part
from lssvm.applications.explaining import Rival, alone
from lssvm.applications.feature_space import Support, rows_of, with_rows
from lssvm.errors import DataError, LssvmError
from lssvm.model import Model
from lssvm.output.plain import finite
from lssvm.plane import Plane
from lssvm.training.arithmetic import arithmetic
from lssvm.training.prediction import prepared

TRUTH, SECOND, GIVEN = "truth", "runner-up", "given"
LONGEST = 300  # characters of an output on a line


class Contribution(NamedTuple):
    """What a feature adds to scores.

    weight : w_j; value, other_value : Φ_j of the prediction and of the other output
    """

    feature: str
    weight: float
    value: float
    other_value: float

    @property
    def score(self) -> float:
        """w_j Φ_j of the prediction."""
        return self.weight * self.value + 0.0  # no -0

    @property
    def other(self) -> float:
        """w_j Φ_j of the other output."""
        return self.weight * self.other_value + 0.0

    @property
    def difference(self) -> float:
        """What the prediction is ahead by."""
        return self.weight * (self.value - self.other_value) + 0.0


@dataclass(frozen=True)
class Explanation:
    """The score of a prediction, beside that of another output if there is one.

    record : the example and its prediction as ``lssvm-classify --json`` writes them
    against : ``truth``, ``runner-up`` or ``given``; empty if there is no other output
    other_name : the other output; note : why the truth is not the other output, or empty
    score, other_score : w · Φ, with the entropy where hidden values are summed out
    entropy, other_entropy : that part, 0 if nothing is summed out
    contributions : all that are not 0 for both, those of the largest differences first
    shown : lines that show input, output and hidden value
    """

    record: dict[str, Any]
    against: str
    other_name: str
    note: str
    score: float
    other_score: float
    entropy: float
    other_entropy: float
    contributions: Sequence[Contribution]
    shown: Sequence[str]

    @property
    def margin(self) -> float | None:
        """How much higher the prediction scores than the other output; None without one."""
        return self.score - self.other_score if self.against else None

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """Plain JSON values; top : the number of contributions, by default all."""
        kept = self.contributions[:top]
        rest = self.contributions[len(kept) :]
        found: dict[str, Any] = {"prediction": finite(self.record), "score": self.score}
        if self.entropy or self.other_entropy:
            found["entropy"] = self.entropy
        if self.against:
            found["against"] = {
                "kind": self.against,
                "output": self.other_name,
                "score": self.other_score,
                **({"entropy": self.other_entropy} if "entropy" in found else {}),
            }
            found["margin"] = self.margin
        if self.note:
            found["note"] = self.note
        found["contributions"] = [_row(one, bool(self.against)) for one in kept]
        found["others"] = {
            "features": len(rest),
            "score": sum(one.score for one in rest),
            **({"against": sum(one.other for one in rest)} if self.against else {}),
        }
        return found


def explain(
    model: Model, examples: Examples, row: int, *, against: str | None = None
) -> Explanation:
    """The score of the prediction for one example as a sum over features.

    examples : as the application of the model has read them; row : which of them, from 0
    against : the output to compare with, in the words of the application; by default the truth,
        or where that is unknown or predicted the runner-up, if the application can find it

    Raises LssvmError if the application does not know the features of outputs.
    """
    one: Any = alone(examples, row)
    linear, own = prepared(model, one)
    application = linear.application
    with arithmetic():
        predictions = application.predict(linear.w, own)
        record = next(iter(application.records(own, predictions)))
        names, w, inner = _by_rows(model, one) if _kernel(model) else (None, linear.w, own)
        plane = application.prediction_plane(w, inner, predictions)
        if plane is None:
            name = application.options.name
            raise LssvmError(
                f"application {name!r} cannot explain example {record.get('id', row + 1)!r}: the "
                "features of its prediction are not known"
            )
        kind, rival, note = _rival(application, w, inner, (predictions, plane, record), against)
        shown = application.shown(own, predictions)
        weights = application.scoring_weights(w)
    other = rival.plane if rival else Plane(np.zeros(len(w)), 0.0)
    terms = _contributions(weights, plane, other, model.names if names is None else names)
    return Explanation(
        record,
        kind,
        rival.name if rival else "",
        note,
        plane.value(w),
        other.value(w),
        _entropy(weights, w, plane),
        _entropy(weights, w, other),
        terms,
        shown,
    )


def _rival(
    application: Any,
    w: np.ndarray,
    one: Any,
    found: tuple[Any, Plane, dict[str, Any]],
    against: str | None,
) -> tuple[str, Rival | None, str]:
    """What the prediction is compared with, and why it is not the truth if that was wanted."""
    predictions, plane, record = found
    if against is not None:
        return GIVEN, application.rival(w, one, predictions, against), ""
    note = ""
    known = labelled_part(one)
    if known is not None:
        try:
            truth = application.truth_plane(w, known)
        except DataError as error:
            note = f"the truth has no score: {error}"
        else:
            if not np.array_equal(truth.gradient, plane.gradient):
                return TRUTH, Rival(text_of(record.get("gold")), truth), ""
    rival = application.rival(w, one, predictions, None)
    return (SECOND, rival, note) if rival else ("", None, note)


def text_of(value: Any) -> str:
    """An output on one line."""
    if isinstance(value, list | tuple) and all(isinstance(one, str | int) for one in value):
        text = " ".join(map(str, value))
    elif isinstance(value, dict):
        text = " ".join(f"{key}={one}" for key, one in value.items())
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def _kernel(model: Model) -> bool:
    return isinstance(model.space, Support)


def _by_rows(model: Model, one: Any) -> tuple[Sequence[str], np.ndarray, Any]:
    """Names, weights and rows where the features are kernel values with training rows."""
    space: Any = model.space
    given = rows_of(one)
    rows = space.inner(given)
    columns, count = space.columns, space.rows.shape[0]
    linear = model.application.feature_names()
    first = [_column(linear[column]) for column in range(columns)]
    names = [f"training row {row + 1} × {column}" for row in range(count) for column in first]
    width = given.shape[1] * columns
    names += list(linear[width : width + len(model.w) - count * columns])
    return names, model.w, with_rows(one, rows)


def _column(name: str) -> str:
    """The column of a linear weight, behind the name of its feature."""
    for mark in (" × ", " : "):
        if mark in name:
            return name.rpartition(mark)[2]
    return name


def _contributions(
    weights: np.ndarray, plane: Plane, other: Plane, names: Sequence[str]
) -> list[Contribution]:
    """Those of features that either output has, largest differences first."""
    either = np.flatnonzero((plane.gradient != 0.0) | (other.gradient != 0.0))
    w, mine, their = weights[either], plane.gradient[either], other.gradient[either]
    sizes, common = np.abs(w * (mine - their)), np.abs(w * mine)
    order = np.lexsort((either, -common, -sizes))
    return [
        Contribution(names[int(either[k])], float(w[k]), float(mine[k]), float(their[k]))
        for k in order.tolist()
    ]


def _entropy(weights: np.ndarray, w: np.ndarray, plane: Plane) -> float:
    """What the value of a plane has beside Σ w_j Φ_j; 0 where that is rounding."""
    left = plane.value(w) - float(weights @ plane.gradient)
    size = plane.size(w) + float(np.abs(weights) @ np.abs(plane.gradient))
    return 0.0 if abs(left) <= 1e-12 * size else left


def _row(one: Contribution, beside: bool) -> dict[str, Any]:
    row = {
        "feature": one.feature,
        "weight": one.weight,
        "value": one.value,
        "contribution": one.score,
    }
    if beside:
        row |= {
            "against_value": one.other_value,
            "against_contribution": one.other,
            "difference": one.difference,
        }
    return row
