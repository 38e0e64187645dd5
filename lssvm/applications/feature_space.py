"""The feature space of the rows: the rows themselves, a kernel, or explicit products.

An application with ``KernelRows`` scores a row x of features against K columns of weights, so that
w · Φ depends on x only through inner products: Φ = x ⊗ Λ(y) ⊕ the rest, such as transitions, which
stays linear. A kernel may then replace the inner products of rows (Schölkopf & Smola 2002, section
2). Kernels have the names of scikit-learn:

    linear   x · x'
    poly     (gamma x · x' + coef0)^degree
    rbf      exp(−gamma ‖x − x'‖²)

Training in the dual needs only w · Φ from inference. With R distinct training rows, the weights of
a column are Σ_r a_r φ(x_r), so the R · K coefficients a are trained as if row r were the unit
vector e_r; the metric of these coordinates is the Gram matrix, once for each column. A model keeps
the rows whose coefficients are not all 0, and scores new rows by Σ_r K(x, x_r) a_r: these scores
then replace the features of the new rows.

For poly of degree 2 and sparse rows, the space is small enough for explicit features: the products
gamma √2 x_a x_b of two features, without √2 if a = b, where √(coef0 / gamma) is added as a constant
feature. Products that do not occur in training would get the weight 0 and are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lssvm import sparse
from lssvm.applications import equal_features
from lssvm.applications.base import Application, FeatureRows, KernelRows
from lssvm.applications.equal_features import Merged
from lssvm.applications.names import LazyNames
from lssvm.applications.occurring import LEAST, Occurring
from lssvm.checked import LARGEST, MOST_WEIGHTS
from lssvm.errors import LssvmError
from lssvm.plane import MEGABYTE

CHUNK = 8_000_000  # numbers that are computed at a time


class Kernel(BaseModel):
    """Inner products of features; for multiclass, taxonomy, sequence and latent_sequence.

    A key that the type does not use is refused, unless it has its default value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    type: Literal["linear", "poly", "rbf"] = Field(
        default="linear",
        description="linear: x · x'; poly: (gamma x · x' + coef0)^degree; "
        "rbf: exp(−gamma ‖x − x'‖²); poly and rbf need the solver n-slack, unless explicit is true",
    )
    degree: int = Field(default=3, ge=1, le=1000, description="poly: degree of the polynomial")
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] | Literal["scale"] = Field(
        default="scale",
        description="poly and rbf: factor γ; scale: 1 / (number of features · variance of all "
        "training values)",
    )
    coef0: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="poly: constant term")
    explicit: bool = Field(
        default=False,
        description="use the explicit feature map of poly with degree 2, which every solver can "
        "train",
    )
    max_mb: float = Field(
        default=2000.0,
        gt=0,
        description="largest size in megabytes of the Gram matrix, or of the explicit features",
    )


def unfit(
    settings: Kernel, kind: type[Application], name: str, method: str, able: Sequence[str]
) -> list[tuple[str, str]]:
    """Settings that do not fit together: keys of the section, and what is wrong with their values.

    method : the name of the solver; able : the names of the solvers that support kernels
    """
    faults = []
    if settings.explicit and (settings.type, settings.degree) != ("poly", 2):
        given = f"type: {settings.type}, degree: {settings.degree}"
        faults.append(
            ("explicit", f"there are no explicit features for {given}; expected poly of degree 2")
        )
    elif settings.type != "linear" and not issubclass(kind, KernelRows):
        faults.append(("type", f"application {name!r} has no kernels; expected linear"))
    elif settings.type != "linear" and not settings.explicit and method not in able:
        wrong = f"{settings.type} cannot be trained by solver.method: {method}"
        faults.append(
            ("type", f"{wrong}; expected {', '.join(able)}, or explicit: true with degree: 2")
        )
    return faults


class Space(Protocol):
    """The map that a model applies to rows of features before it scores them."""

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The examples with other rows, and the weights that score these."""
        ...

    def reduced(self, w: np.ndarray) -> tuple["Space", np.ndarray]:
        """The space of the finished model, and its weights."""
        ...

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖²."""
        ...

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """The name of each weight, given those of linear weights; empty if there are none."""
        ...

    def facts(self) -> dict[str, Any]:
        """A summary for people."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that the model keeps of it."""
        ...


def rows_of(examples: Any) -> Any:
    """The rows that a kernel maps, (rows, m): without the marked columns behind them."""
    marked = getattr(examples, "marked_columns", 0)
    return examples.inputs[:, : examples.inputs.shape[1] - marked] if marked else examples.inputs


def with_rows(examples: Any, rows: Any) -> Any:
    """The examples with other rows, and the marked columns behind these."""
    marked = getattr(examples, "marked_columns", 0)
    if not marked:
        return examples.with_inputs(rows)
    marks = examples.inputs[:, examples.inputs.shape[1] - marked :]
    if sparse.issparse(rows):
        return examples.with_inputs(sparse.hstack([rows, sparse.csr_array(marks)], format="csr"))
    dense = marks.toarray() if sparse.issparse(marks) else marks
    return examples.with_inputs(np.hstack([rows, dense]))


class Training(NamedTuple):
    """What a solver is given.

    examples : with the rows that are trained on; space : the map of the model for other rows
    gram, labels : (R, R) inner products of the first R · labels coordinates; (0, 0) if they are
        orthonormal
    """

    examples: Any
    space: Space
    gram: np.ndarray
    labels: int


def training(settings: Kernel, application: Application, examples: Any) -> Training:
    """The examples in the space of the settings.

    Raises LssvmError if this takes more than ``max_mb``, or if numbers become too large.
    """
    if settings.type == "linear":
        return _linear(application, examples)
    if not isinstance(application, KernelRows):
        raise LssvmError(f"kernel.type: {settings.type}: the application has no rows for kernels")
    columns = application.columns_per_row(examples)
    rows = rows_of(examples)
    gamma = _gamma(settings, rows)
    if settings.explicit:
        products = Products.of(rows, columns, gamma, settings)
        mapped, _ = products.prepared(examples, np.empty(0))
        return Training(mapped, products, np.zeros((0, 0)), 0)
    function = KernelFunction(settings.type, settings.degree, gamma, settings.coef0)
    first, places = _distinct(rows)
    needed = 8.0 * len(first) ** 2 / MEGABYTE
    if needed > settings.max_mb:
        raise LssvmError(
            f"kernel.max_mb: the Gram matrix of {len(first):,d} distinct rows takes {needed:,.0f} "
            f"MB; expected at most {settings.max_mb:,.0f}"
        )
    support = Support(function, rows[first], columns)
    units = sparse.csr_array(
        (np.ones(len(places)), places, np.arange(len(places) + 1)), (len(places), len(first))
    )
    gram = support.inner(support.rows)
    return Training(with_rows(examples, units), support, gram, columns)


def _linear(application: Application, examples: Any) -> Training:
    """The rows as they are, or with fewer features."""
    space: Linear | Occurring | Merged = Linear()
    if isinstance(application, FeatureRows):
        columns = application.columns_per_row(examples)
        found = application.features_of_values(examples)
        if found is not None and found[1] * columns >= LEAST:
            features, sums = equal_features.found_in(application.merges, examples, *found)
            space = fewer_of(features, sums, found[1], columns)
    shown, _ = space.prepared(examples, np.empty(0))
    return Training(shown, space, np.zeros((0, 0)), 0)


def fewer_of(
    features: np.ndarray, sums: np.ndarray | None, width: int, columns: int
) -> "Linear | Occurring | Merged":
    """The space of linear weights with few features: those that occur, equal ones merged.

    features, sums : of ``equal_features.found_in``, of one or several shares of the examples
    width : of a row; columns : K
    """
    whole = Occurring.of(features, width, columns) or Linear()
    if sums is None:
        return whole
    return Merged.of(features, sums, width, columns, whole) or whole


@dataclass(frozen=True)
class KernelFunction:
    """A kernel with all its numbers; see the module."""

    type: str
    degree: int
    gamma: float
    coef0: float

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        """K(x, x') of every row of left (m, d) and of right (k, d), (m, k)."""
        inner = left @ right.T
        inner = inner.toarray() if sparse.issparse(inner) else np.asarray(inner)
        if self.type == "poly":
            return (self.gamma * inner + self.coef0) ** self.degree
        squares = _squares(left)[:, None] + _squares(right)[None, :] - 2.0 * inner
        return np.exp(-self.gamma * np.maximum(squares, 0.0))


class Linear:
    """The rows as they are."""

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """Both as they are."""
        return examples, w

    def reduced(self, w: np.ndarray) -> tuple["Linear", np.ndarray]:
        """Both as they are."""
        return self, w

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ w)

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """As they are."""
        return names

    def facts(self) -> dict[str, Any]:
        """None."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """None."""
        return {}


@dataclass(frozen=True)
class Support:
    """Training rows; the features of a row are its kernel values with them.

    rows : (R, d), dense or csr_array; columns : K. w is (R · K) coefficients, and linear weights
    """

    function: KernelFunction
    rows: Any
    columns: int

    def inner(self, inputs: Any) -> np.ndarray:
        """Kernel values of inputs (m, d) with the rows, (m, R). Raises LssvmError if too large."""
        found = np.empty((inputs.shape[0], self.rows.shape[0]))
        for first, last in _chunks(inputs.shape[0], self.rows.shape[0]):
            found[first:last] = self.function(inputs[first:last], self.rows)
        if not np.all(np.abs(found) < LARGEST):
            raise LssvmError("kernel: values are too large; rescale the features, or lower gamma")
        return found

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The scores of the rows in each column as their features, and weights that select them."""
        inputs, size = rows_of(examples), self.rows.shape[0] * self.columns
        coefficients = w[:size].reshape(-1, self.columns)
        scores = np.empty((inputs.shape[0], self.columns))
        for first, last in _chunks(inputs.shape[0], self.rows.shape[0]):
            scores[first:last] = self.inner(inputs[first:last]) @ coefficients
        return with_rows(examples, scores), np.append(np.eye(self.columns), w[size:])

    def reduced(self, w: np.ndarray) -> tuple["Support", np.ndarray]:
        """The rows whose coefficients are not all 0."""
        size = self.rows.shape[0] * self.columns
        coefficients = w[:size].reshape(-1, self.columns)
        kept = np.flatnonzero(np.any(coefficients != 0.0, axis=1))
        return replace(self, rows=self.rows[kept]), np.append(coefficients[kept], w[size:])

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖², the kernel's part Σ_columns a · Gram a."""
        size = self.rows.shape[0] * self.columns
        coefficients, rest = w[:size].reshape(-1, self.columns), w[size:]
        total = float(rest @ rest)
        for first, last in _chunks(self.rows.shape[0], self.rows.shape[0]):
            values = self.inner(self.rows[first:last]) @ coefficients
            total += float(np.sum(values * coefficients[first:last]))
        return max(0.0, total)  # below 0 by rounding alone

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """None: coefficients belong to rows."""
        return ()

    def facts(self) -> dict[str, Any]:
        """How many rows there are."""
        return {"support rows": self.rows.shape[0], "gamma": self.function.gamma}

    def arrays(self) -> dict[str, np.ndarray]:
        """The rows, sparse or dense, and gamma."""
        shape = np.array([*self.rows.shape, self.columns], dtype=np.int64)
        kept = {"gamma": np.array([self.function.gamma]), "shape": shape}
        if not sparse.issparse(self.rows):
            return kept | {"rows": np.ascontiguousarray(self.rows)}
        parts = {name: getattr(self.rows, name) for name in ("data", "indices", "indptr")}
        return kept | {name: np.ascontiguousarray(part) for name, part in parts.items()}


@dataclass(frozen=True)
class Products:
    """Products of two features.

    pairs : (P,) int64, a · (width + 1) + b of features a ≤ b, increasing; feature ``width`` is
        the constant √(coef0 / gamma)
    width, columns : features of a row, and K. w is (P · K) weights of products, and the others
    """

    pairs: np.ndarray
    width: int
    columns: int
    gamma: float
    coef0: float

    @classmethod
    def of(cls, inputs: Any, columns: int, gamma: float, settings: Kernel) -> "Products":
        """All products that occur in the rows. Raises LssvmError if they are too many."""
        none = cls(np.empty(0, dtype=np.int64), inputs.shape[1], columns, gamma, settings.coef0)
        rows = none.extended(inputs)
        counts = np.diff(rows.indptr).astype(np.int64)
        needed = 12.0 * float(np.sum(counts * (counts + 1) // 2)) / MEGABYTE
        if needed > settings.max_mb:
            raise LssvmError(
                f"kernel.max_mb: the products of two features of {len(counts):,d} rows take "
                f"{needed:,.0f} MB; expected at most {settings.max_mb:,.0f}"
            )
        marks = _marks(counts * (counts + 1) // 2)
        found = [np.unique(none.expanded(rows[a:b])[1]) for a, b in pairwise(marks)]
        pairs = np.unique(np.concatenate([none.pairs, *found]))
        if len(pairs) * columns > MOST_WEIGHTS:
            raise LssvmError(
                f"kernel.explicit: {len(pairs):,d} products times {columns:,d} columns are too "
                f"many weights; expected at most {MOST_WEIGHTS:,d}"
            )
        return replace(none, pairs=pairs)

    def extended(self, inputs: Any) -> "sparse.csr_array":
        """The rows with the constant feature behind the others, zeros left out."""
        rows = sparse.csr_array(inputs)
        if self.coef0 > 0.0:
            constant = np.full((rows.shape[0], 1), np.sqrt(self.coef0 / self.gamma))
            rows = sparse.csr_array(sparse.hstack([rows, sparse.csr_array(constant)], "csr"))
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return rows

    def expanded(self, rows: "sparse.csr_array") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, pair and value of every product of extended rows, in the order of the pairs."""
        ends = np.repeat(rows.indptr[1:], np.diff(rows.indptr)).astype(np.int64)
        places = np.arange(len(rows.data))
        counts = ends - places
        left = np.repeat(places, counts)
        right = left + np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
        a, b = rows.indices[left].astype(np.int64), rows.indices[right].astype(np.int64)
        values = self.gamma * rows.data[left] * rows.data[right]
        values *= np.where(a == b, 1.0, np.sqrt(2.0))
        if not np.all(np.abs(values) < LARGEST):
            raise LssvmError("kernel: products are too large; rescale the features")
        owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        return owner[left], a * (self.width + 1) + b, values

    def prepared(self, examples: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """The products as features; weights stay as they are."""
        rows = self.extended(rows_of(examples))
        counts = np.diff(rows.indptr).astype(np.int64)
        parts = [self._mapped(rows[a:b]) for a, b in pairwise(_marks(counts * (counts + 1) // 2))]
        matrix = sparse.csr_array(parts[0] if len(parts) == 1 else sparse.vstack(parts, "csr"))
        return with_rows(examples, matrix), w

    def _mapped(self, rows: "sparse.csr_array") -> "sparse.csr_array":
        owner, pairs, values = self.expanded(rows)
        places = np.searchsorted(self.pairs, pairs)
        known = np.append(self.pairs, -1)[places] == pairs
        bounds = np.append(0, np.cumsum(np.bincount(owner[known], minlength=rows.shape[0])))
        shape = (rows.shape[0], len(self.pairs))
        return sparse.csr_array((values[known], places[known].astype(np.int32), bounds), shape)

    def reduced(self, w: np.ndarray) -> tuple["Products", np.ndarray]:
        """Both as they are."""
        return self, w

    def squared_norm(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ w)

    def names(self, names: Sequence[str]) -> "ProductNames":
        """The names of both features, as for linear weights."""
        return ProductNames(self, names)

    def facts(self) -> dict[str, Any]:
        """How many products there are."""
        return {"products of features": len(self.pairs), "gamma": self.gamma}

    def arrays(self) -> dict[str, np.ndarray]:
        """The pairs, and the numbers."""
        shape = np.array([self.width, self.columns], dtype=np.int64)
        return {"pairs": self.pairs, "gamma": np.array([self.gamma]), "shape": shape}


class ProductNames(LazyNames):
    """``word=a : X · word=b : X`` and so on, made on demand, because there may be millions."""

    def __init__(self, products: Products, names: Sequence[str]) -> None:
        self._products, self._names = products, names
        self._size = len(products.pairs) * products.columns
        self._linear = products.width * products.columns

    def __len__(self) -> int:
        return self._size + len(self._names) - self._linear

    def name(self, place: int) -> str:
        """The name at a place."""
        if place >= self._size:
            return self._names[place - self._size + self._linear]
        width, columns = self._products.width, self._products.columns
        pair, column = divmod(place, columns)
        parts = divmod(int(self._products.pairs[pair]), width + 1)
        shown = [self._names[part * columns + column] for part in parts if part < width]
        return " · ".join(shown) if shown else f"constant, column {column + 1}"


def _gamma(settings: Kernel, inputs: Any) -> float:
    """gamma, ``scale`` as scikit-learn defines it: over all values, zeros included."""
    if settings.gamma != "scale":
        return float(settings.gamma)
    count = inputs.shape[0] * inputs.shape[1]
    values = inputs.data if sparse.issparse(inputs) else inputs
    variance = np.sum(values * values) / count - np.square(np.sum(values) / count)
    if not np.isfinite(variance):
        raise LssvmError("kernel.gamma: the features are too large for 'scale'; rescale them")
    return 1.0 / (inputs.shape[1] * float(variance)) if variance > 0.0 else 1.0


def _distinct(inputs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of equal rows, (R,), and the number of its kind for each row, (n,)."""
    rows = sparse.csr_array(inputs, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    known: dict[bytes, int] = {}
    first: list[int] = []
    places = np.empty(rows.shape[0], dtype=np.int32)
    for row, (a, b) in enumerate(pairwise(rows.indptr.tolist())):
        key = rows.indices[a:b].tobytes() + rows.data[a:b].tobytes()
        places[row] = known.setdefault(key, len(known))
        if len(known) > len(first):
            first.append(row)
    return np.array(first, dtype=np.int64), places


def _squares(rows: Any) -> np.ndarray:
    """‖x‖² of each row, (n,)."""
    return np.asarray((rows * rows).sum(axis=1)).ravel()


def _chunks(count: int, width: int) -> list[tuple[int, int]]:
    """Ranges of rows, of which a block of this width is computed at a time."""
    size = max(1, CHUNK // max(1, width))
    return [(first, min(first + size, count)) for first in range(0, count, size)]


def _marks(work: np.ndarray) -> list[int]:
    """Bounds of ranges of rows, each of about CHUNK / 8 of work and at least one row."""
    total = np.cumsum(work)
    most = int(total[-1] // (CHUNK // 8)) if len(total) else 0
    inner = np.searchsorted(total, (CHUNK // 8) * np.arange(1, most + 1)) + 1
    return np.unique(np.concatenate([[0], inner, [len(work)]])).tolist()
