"""Feature scaling: the scales are learnt from the training data and applied to all data.

    max_abs    x / max |x|                       within −1 … 1
    standard   (x − mean) / standard deviation
    range      (x − min) / (max − min)           within 0 … 1

Zeros that files leave out count like any other value. From sparse rows nothing is subtracted, so
that omitted values stay 0: there, ``standard`` and ``range`` only divide. A constant feature is not
divided.

Features are scaled when files are read, and the weights of a model are those of scaled features:
the objective, the norm and the gap in the model's record refer to them, and training can continue
from them. The scales are part of the model's state. An appended constant feature is never scaled.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from lssvm import checked, sparse
from lssvm.errors import ModelError

Scaling = Literal["none", "max_abs", "standard", "range"]
NONE, MAX_ABS, STANDARD = "none", "max_abs", "standard"
BY_DATA = (MAX_ABS, STANDARD, "range")
DESCRIPTION = (
    "scaling of the features, learnt from the training data; max_abs: divided by "
    "the largest absolute value; standard: to mean 0 (not if rows are sparse) and standard "
    "deviation 1; range: to 0 … 1 (sparse rows: to a range of width 1)"
)
STATE = ("scaling_features", "scaling_shifts", "scaling_factors")
UNEVEN = 1e4  # training may be slow if the ratio of two scales is larger
_AT_ONCE = 10_000  # rows that are processed together
_MOST = 10_000_000  # features at most, if their number is not known
_SMALLEST = 5e-324  # the smallest positive float


class Facts(NamedTuple):
    """Statistics of the values of k features, (k,) float64 each."""

    least: np.ndarray
    most: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest absolute value of each feature."""
        return np.maximum(np.abs(self.least), np.abs(self.most))


class Scales(NamedTuple):
    """The numbers that k features are shifted by (subtracted) and then divided by, (k,) each."""

    shifts: np.ndarray
    factors: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of an application's state, for the features that scaling changes."""
        changed = np.flatnonzero((self.shifts != 0.0) | (self.factors != 1.0))
        parts = (changed.astype(np.int64), self.shifts[changed], self.factors[changed])
        return dict(zip(STATE, parts, strict=True))

    def resized(self, count: int) -> "Scales":
        """The scales of the first ``count`` features; features without scales stay unchanged."""
        extra = max(0, count - len(self.factors))
        return Scales(
            np.append(self.shifts[:count], np.zeros(extra)),
            np.append(self.factors[:count], np.ones(extra)),
        )

    def applied(self, inputs: Any) -> Any:
        """Scaled rows (n, k): a dense array is changed in place, a csr_array is copied.

        Sparse rows become dense if any feature has a shift.
        """
        if sparse.issparse(inputs) and not np.any(self.shifts):
            values = divided(inputs.data, self.factors[inputs.indices])
            return sparse.csr_array((values, inputs.indices, inputs.indptr), shape=inputs.shape)
        dense = inputs.toarray() if sparse.issparse(inputs) else inputs
        for first in range(0, len(dense), _AT_ONCE):
            part = dense[first : first + _AT_ONCE]
            with np.errstate(over="ignore"):
                part -= self.shifts
                part /= self.factors
        return dense


def divided(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """values / factors; quotients that are too large for a float become infinite."""
    with np.errstate(over="ignore"):
        return values / factors


def facts_of(inputs: Any) -> Facts:
    """The statistics of the columns of rows (n, k), n > 0, dense or a csr_array."""
    if sparse.issparse(inputs):
        counts = np.full(inputs.shape[1], inputs.shape[0])
        return facts_by_code(inputs.indices, inputs.data, counts)
    return facts_of_blocks(
        [inputs[first : first + _AT_ONCE] for first in range(0, len(inputs), _AT_ONCE)]
    )


def facts_of_blocks(blocks: Sequence[np.ndarray]) -> Facts:
    """The statistics of the columns of dense rows that come in several blocks (rows, k)."""
    rows = sum(map(len, blocks))
    least = np.min([block.min(axis=0) for block in blocks], axis=0)
    most = np.max([block.max(axis=0) for block in blocks], axis=0)
    peak = _divisors(np.maximum(np.abs(least), np.abs(most)))
    mean = sum(np.sum(block / peak, axis=0) for block in blocks) / rows
    squares = sum(np.sum((block / peak - mean) ** 2, axis=0) for block in blocks)
    return _facts(least, most, mean * peak, np.sqrt(squares / rows) * peak)


def facts_by_code(codes: np.ndarray, values: np.ndarray, counts: np.ndarray) -> Facts:
    """The statistics of k features from the values that are stored; omitted values are 0.

    codes : (values,) the feature of each value
    counts : (k,) the number of values of each feature, omitted zeros included
    """
    k = len(counts)
    least, most = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(least, codes, values)
    np.maximum.at(most, codes, values)
    given = np.bincount(codes, minlength=k)
    gaps = given < counts
    least[gaps], most[gaps] = np.minimum(least[gaps], 0.0), np.maximum(most[gaps], 0.0)
    peak = _divisors(np.maximum(np.abs(least), np.abs(most)))
    shares = values / peak[codes]
    mean = np.bincount(codes, weights=shares, minlength=k) / counts
    squares = np.bincount(codes, weights=(shares - mean[codes]) ** 2, minlength=k)
    squares = squares + (counts - given) * mean**2  # integers if there are no values
    return _facts(least, most, mean * peak, np.sqrt(squares / counts) * peak)


def _facts(least: np.ndarray, most: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> Facts:
    """The statistics, with the exact mean and a deviation of 0 for constant features."""
    constant = least == most
    return Facts(least, most, np.where(constant, least, mean), np.where(constant, 0.0, deviation))


def scales_of(kind: str, facts: Facts, centred: bool) -> Scales:
    """The scales of features of these statistics.

    centred : whether ``standard`` and ``range`` subtract the mean or the least value
    """
    nothing = np.zeros(len(facts.least))
    if kind == MAX_ABS:
        return Scales(nothing, _divisors(facts.largest))
    if kind == STANDARD:
        return Scales(facts.mean if centred else nothing, _divisors(facts.deviation))
    widths = np.minimum(facts.most / 2 - facts.least / 2, np.finfo(float).max / 2) * 2
    return Scales(facts.least if centred else nothing, _divisors(widths))


def learnt(kind: str, inputs: Any) -> Scales:
    """The scales of the columns of training rows, (n, k), dense or a csr_array."""
    return scales_of(kind, facts_of(inputs), not sparse.issparse(inputs))


def _divisors(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0.0, sizes, 1.0)


class Scaler:
    """The scales of an application's features, learnt from the first examples.

    kind : the value of the option ``scaling``
    scales : None before they are known, and always with ``none``
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.scales: Scales | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays of the state."""
        return STATE if self.kind in BY_DATA else ()

    def scaled(self, examples: Any, count: int) -> Any:
        """Examples with scaled features. Raises DataError for a value that overflows.

        examples : have the attribute ``inputs`` and the method ``scaled``
        count : number of features to scale, which are the first columns
        """
        if self.kind == NONE or not len(examples):
            return examples
        if self.scales is None:
            self.scales = learnt(self.kind, examples.inputs[:, :count])
        return examples.scaled(self.scales)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that a model keeps."""
        return {} if self.scales is None else self.scales.arrays()

    def restore(self, state: Mapping[str, np.ndarray], count: int | None) -> None:
        """Restore the scales of a model. Raises ModelError for impossible scales.

        count : the number of features; None: any number is accepted
        """
        if self.names:
            most = (_MOST if count is None else count) - 1
            changed = checked.array(state, STATE[0], np.int64, (None,), least=0, most=most)
            if np.any(np.diff(changed) <= 0):
                raise ModelError(f"array {STATE[0]!r} does not rise; expected each feature once")
            k = (len(changed),)
            size = int(changed[-1]) + 1 if count is None and len(changed) else count or 0
            self.scales = Scales(np.zeros(size), np.ones(size))
            self.scales.shifts[changed] = checked.array(state, STATE[1], np.float64, k)
            factors = checked.array(state, STATE[2], np.float64, k, least=_SMALLEST)
            self.scales.factors[changed] = factors

    def warnings(self, examples: Any) -> list[str]:
        """A warning if ``standard`` is asked for and sparse rows prevent centring."""
        return not_centred(self.kind, examples.is_sparse)


def not_centred(kind: str, is_sparse: bool) -> list[str]:
    """A warning if ``standard`` is asked for and sparse rows prevent centring."""
    if kind.removeprefix("query_") != STANDARD or not is_sparse:
        return []
    return [
        f"application.scaling: {kind} divides features by their standard deviations, but does not "
        "centre them, as rows are sparse"
    ]


def uneven(largest: np.ndarray, names: Sequence[str], scaling: Sequence[str]) -> list[str]:
    """A warning if the scales of features differ by more than a factor of UNEVEN.

    largest : (k,) the largest absolute value of each feature; names : the k names
    scaling : values of the option ``scaling`` that the warning recommends
    """
    used = np.flatnonzero(largest > 0.0)
    if not len(used):
        return []
    low, high = used[np.argmin(largest[used])], used[np.argmax(largest[used])]
    if largest[high] / UNEVEN <= largest[low]:
        return []
    advice = f"{', '.join(scaling[:-1])} or {scaling[-1]}"
    return [
        f"the scales of features differ much, and training may be slow: {names[high]} is up to "
        f"{largest[high]:.3g}, {names[low]} up to {largest[low]:.3g}; "
        f"expected application.scaling: {advice}"
    ]
