"""What training asks of an application: examples, planes of their sum, planes of each.

Notation as in Yu & Joachims (ICML 2009): examples (x_i, y_i), hidden values h, joint
feature map Φ(x, y, h) of dimension d, loss Δ(y_i, y, h), costs c_i. U⁺_i is the value of
loss-augmented inference, U⁻_i that of latent completion.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeGuard, TypeVar

import numpy as np

from lssvm import sparse
from lssvm.errors import LssvmError
from lssvm.plane import Plane


class Examples(Protocol):
    """A data set packed in flat arrays.

    Where a kernel works on several examples at a time, ``together`` says how many. Where an output
    may be missing, ``known``, (n,) bool, says whose is there.
    """

    @property
    def costs(self) -> np.ndarray:
        """c_i, (n,) float64."""
        ...

    @property
    def sizes(self) -> np.ndarray:
        """The work that each example is, (n,) int64, for blocks of equal work."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """n names for messages and output."""
        ...

    @property
    def labelled(self) -> bool:
        """Whether every example has its true output."""
        ...

    def __len__(self) -> int: ...

    def slice(self, start: int, stop: int) -> Self:
        """Examples start..stop-1 as views of the same arrays."""
        ...

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen examples, in the order of ``rows``."""
        ...

    def fingerprint(self) -> str:
        """SHA-256 of everything that training reads, in hexadecimal."""
        ...


LARGEST = float(np.finfo(np.float64).max) ** 0.5  # value whose square is finite

E = TypeVar("E", bound=Examples)  # the examples of an application
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]  # maps a function over parts


@dataclass(frozen=True)
class Maxima:
    """What inference found for each of m examples, costs left out.

    values : (m,) float64, U⁺_i or U⁻_i at w
    losses : (m,) float64, the loss part: value = loss + w · gradient
    uppers : (m,) float64, proved upper bounds of U⁺_i at w; ``values`` where inference is exact
    outputs : what was found, packed as the application likes; only it looks inside
    """

    values: np.ndarray
    losses: np.ndarray
    uppers: np.ndarray
    outputs: Any


class Problem(ABC, Generic[E]):
    """The convex functions Σ c_i U⁺_i and Σ c_i U⁻_i of w, by their planes.

    Every maximum is exact unless ``augmented`` says otherwise through its upper bound; ties go
    to the lowest index. Methods take any contiguous block of examples and must be safe
    to call from several threads at once. w is float64 of shape (d,).
    """

    decomposes: bool = True  # False for a loss over the whole data set

    @classmethod
    def decomposes_with(cls, options: Mapping[str, Any]) -> bool:
        """Whether the loss is a sum over the examples with these options; default ``decomposes``.

        options : of a configuration, which may not have been checked yet
        """
        return cls.decomposes

    @abstractmethod
    def dimension(self, examples: E) -> int:
        """Length d of w and Φ."""

    @abstractmethod
    def feature_names(self) -> Sequence[str]:
        """A readable name for each coordinate of w; more where only the data say how many."""

    @abstractmethod
    def start(
        self, examples: E, rng: np.random.Generator
    ) -> "Plane | FirstProblem[Any] | np.ndarray":
        """Where training begins.

        Either Σ c_i Φ(x_i, y_i, h_i) for a first completion h, with loss 0, or a problem
        without hidden values whose solution, with the same C and solver, is the first w, or the
        first w itself.
        """

    @abstractmethod
    def augmented(self, w: np.ndarray, examples: E) -> tuple[Plane, float]:
        """Loss-augmented inference: a plane of Σ c_i U⁺_i, and an upper bound of it at w.

        The plane is a lower bound for every w, and its gradient a new array, which solvers keep.
        The upper bound is the plane's own value at w where inference is exact, infinity where none
        is known.
        """

    @abstractmethod
    def completed(self, w: np.ndarray, examples: E) -> Plane:
        """Latent completion: Σ c_i U⁻_i as a plane that touches it at w."""

    def work(self, examples: E) -> np.ndarray:
        """The approximate time of loss-augmented inference for each example, (n,), in ns.

        Blocks of examples are cut so that each takes at least 0.1 ms. The default is the sizes of
        the examples.
        """
        return examples.sizes

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """How often iterative inference did not converge, and of how many times, by its name.

        Of loss-augmented inference, latent completion and marginals since the last call; nothing by
        default.
        """
        return {}


class ConvexProblem(Problem[E]):
    """A problem without hidden values."""

    @abstractmethod
    def start(self, examples: E, rng: np.random.Generator) -> Plane:
        """Σ c_i U⁻_i, which is linear."""


@dataclass(frozen=True)
class FirstProblem(Generic[E]):
    """A convex problem whose solution is the first w of another one.

    application : the problem, whose weights have the same coordinates
    """

    application: ConvexProblem[E]
    examples: E


class ByExample(ABC, Generic[E]):
    """The planes of every example apart, for solvers that keep them."""

    @abstractmethod
    def dimension(self, examples: E) -> int:
        """Length d of w and Φ."""

    @abstractmethod
    def augmented_each(self, w: np.ndarray, examples: E) -> Maxima:
        """Loss-augmented inference for each example."""

    @abstractmethod
    def completed_each(self, w: np.ndarray, examples: E) -> Maxima:
        """Latent completion for each example; without hidden values the truth, whatever w."""

    @abstractmethod
    def gradients(self, examples: E, found: Maxima, rows: np.ndarray) -> "sparse.csr_array":
        """The gradients of the planes that were found, (len(rows), d), sparse, without costs.

        examples : those that ``found`` is of; rows : which of them, increasing
        """

    def start_each(
        self, examples: E, rng: np.random.Generator
    ) -> Maxima | FirstProblem[Any] | np.ndarray:
        """As ``start``, the first completion of every example apart; by default the truth."""
        return self.completed_each(np.zeros(self.dimension(examples)), examples)


class ExampleOracle(Protocol):
    """Inference for one example at a time in C, see ``cython_ext/_examples.pxd``.

    capsule : what the C functions are found by
    truth : (k,) int32 the true outputs, one after another; places : (n + 1,) int64 where that of
        each example begins; values : all of an output are below it
    size : of the weights as the kernel keeps them
    squares : (rows,) ‖x‖²; multiply_adds : of one pass over all examples, about
    square : an upper bound of Σ ‖x‖² over the rows of an example
    slack : whether losses multiply differences
    exact : whether the kernel solves for the multipliers of all outputs of an example at once
    """

    capsule: Any
    truth: np.ndarray
    places: np.ndarray
    values: int
    size: int
    squares: np.ndarray
    multiply_adds: float
    square: float
    slack: bool
    exact: bool

    def load(self, w: np.ndarray) -> np.ndarray:
        """Weights (d,) as the kernel keeps them, (size,), a copy."""
        ...

    def unload(self, w: np.ndarray) -> np.ndarray:
        """The same the other way, a copy."""
        ...


class RowSums(NamedTuple):
    """Sums over rows of features.

    counts : how many rows there are, or (d,) how many have each feature; sums : (d,) Σ x
    """

    counts: Any
    sums: np.ndarray

    def share(self, squares: float) -> float:
        """Σ counts · mean² / Σ ‖x‖² over the features; 0 if all are 0. squares : Σ ‖x‖²"""
        if squares <= 0.0:
            return 0.0
        return float(np.sum(self.sums**2 / np.maximum(self.counts, 1))) / squares


class CompiledByExample(ByExample[E]):
    """Planes by example that a compiled loop asks for.

    Its examples have ``inputs``, (rows, m), dense or csr_array, as those of :class:`KernelRows`;
    others have their own ``row_sums``.

    compiled_models : the values of objective.model for which there is such an oracle
    """

    compiled_models: ClassVar[frozenset[str]] = frozenset({"ssvm", "lssvm"})

    def has_example_oracle(self, examples: Any) -> bool:
        """Whether there is such an oracle for these examples.

        There is none where squared lengths of rows overflow, because steps are divided by them.
        """
        inputs = examples.inputs
        values = inputs.data if sparse.issparse(inputs) else inputs
        return squares_fit(values, inputs.shape[1])

    def common_share(self, examples: Any, squares: float) -> float:
        """n ‖mean of x‖² / Σ ‖x‖² over the n rows of features, from 0 to 1; 0 if all are 0.

        squares : Σ ‖x‖²
        """
        return self.row_sums(examples).share(squares)

    def row_sums(self, examples: Any) -> RowSums:
        """What ``common_share`` needs, which adds up over examples."""
        inputs = examples.inputs
        return RowSums(inputs.shape[0], np.asarray(inputs.sum(axis=0)).ravel())

    @abstractmethod
    def example_oracle(self, examples: E) -> ExampleOracle:
        """Inference for these examples, which must not change while it is in use.

        Raises LssvmError where there is none.
        """


class Gathering(ABC, Generic[E]):
    """A problem with sparse rows: blocks of examples give coefficients, and all have one sum.

    If w is long, one sum of its length for each block would take more time than inference. Here
    there is a single sum, whose columns are shared among the threads, see
    ``applications.row_sums``.
    """

    @abstractmethod
    def gathers(self, examples: E) -> bool:
        """Whether these examples are summed in this way."""

    @abstractmethod
    def coefficients(self, w: np.ndarray, examples: E) -> Any:
        """Loss-augmented inference for a block: the coefficients that ``gathered`` reads."""

    @abstractmethod
    def gathered(
        self, w: np.ndarray, examples: E, parts: list[Any], each: Each
    ) -> tuple[Plane, float]:
        """The same as ``augmented``, from the coefficients of all blocks in their order.

        These may be joined in the list, which ``curvature`` then gets.

        each(function, parts) maps a function over parts, perhaps in threads
        """

    def curvature(
        self, w: np.ndarray, examples: E, parts: list[Any], each: Each
    ) -> np.ndarray | None:
        """An approximate diagonal of the Hessian of Σ c_i U⁺_i at w, (d,), nonnegative.

        parts : those of ``gathered`` at this w, which it may overwrite

        None if it is not known. It only affects the speed of solvers for smooth models.
        """
        return None


class Continuing(ABC, Generic[E]):
    """A problem whose loss-augmented inference is iterative and begins where it ended last.

    What it begins with belongs to the run, not to the application: the same call with the same
    beginning gives the same bytes, and checkpoints hold it.
    """

    @abstractmethod
    def continues(self, examples: E) -> bool:
        """Whether inference for these examples, which are one block, is of this kind."""

    @abstractmethod
    def carried_shape(self, examples: E) -> tuple[int, ...]:
        """The shape of what is carried from one call to the next."""

    @abstractmethod
    def augmented_from(
        self, w: np.ndarray, examples: E, carried: np.ndarray | None, each: Each
    ) -> tuple[Plane, float, np.ndarray]:
        """As ``augmented``, and what the next call may begin with, float64.

        carried : from the last call, None in the first one
        each(function, parts) maps a function over parts, perhaps in threads
        """


def add_counts(total: dict[str, tuple[int, int]], latest: Mapping[str, tuple[int, int]]) -> None:
    """Add what ``not_converged`` told to a total of the same form, in place."""
    for name, (failed, runs) in latest.items():
        before = total.get(name, (0, 0))
        total[name] = before[0] + failed, before[1] + runs


def squares_fit(values: np.ndarray, width: int) -> bool:
    """Whether the squared lengths of rows of ``width`` features with these values are finite."""
    if not values.size:
        return True
    largest = max(float(values.max()), -float(values.min()))
    return largest <= LARGEST / max(1, width) ** 0.5


def answers_in_c(kind: type) -> "TypeGuard[type[CompiledByExample[Any]]]":
    """Whether a class of applications offers inference by example in C, for its own inference.

    A subclass that changes inference in Python does not: the inherited C code does not know of it.
    """
    methods = ("augmented", "completed", "augmented_each", "completed_each", "gradients")
    return issubclass(kind, CompiledByExample) and _follows(kind, "example_oracle", methods)


def compiled_by_example(
    application: Problem[E], examples: E, model: str
) -> CompiledByExample[E] | None:
    """The application, if it offers inference by example in C for these examples and this model."""
    kind = type(application)
    if not isinstance(application, CompiledByExample) or not answers_in_c(kind):
        return None
    able = model in kind.compiled_models and application.has_example_oracle(examples)
    return application if able else None


def sums_in_c(kind: type) -> bool:
    """Whether a class of applications has its inference summed by ``Gathering``, likewise."""
    return issubclass(kind, Gathering) and _follows(kind, "coefficients", ("augmented",))


def _follows(kind: type, name: str, methods: Sequence[str]) -> bool:
    """Whether no subclass of the class that defines ``name`` defines one of the methods."""
    definers = [own for own in kind.__mro__ if name in vars(own)]
    later = kind.__mro__[: kind.__mro__.index(definers[0])]
    return not any(method in vars(own) for own in later for method in methods)


def by_example(problem: Problem[E]) -> ByExample[E]:
    """The problem, once it is sure that it gives planes by example. Raises LssvmError."""
    if isinstance(problem, ByExample):
        return problem
    name = type(problem).__name__
    raise LssvmError(f"{name} gives no planes by example; expected solver.method: bundle")


class FeatureRows(ABC, Generic[E]):
    """Rows of features, of which training may leave out some and merge others.

    w begins with weights (m, K) that rows of m features are scored against. The examples have
    ``inputs``, (rows, m), dense or csr_array, and ``with_inputs``, a copy with other rows and
    another m; w · Φ depends on the rows through these scores alone.

    merges : whether features that are equal in all training examples are trained as one. To find
        them takes about 0.15 µs a value, which pays if passes are short beside the work on vectors
        as long as w.
    """

    merges: ClassVar[bool] = False

    @abstractmethod
    def columns_per_row(self, examples: E) -> int:
        """K, the number of columns of weights."""

    def features_of_values(self, examples: E) -> tuple[np.ndarray, int] | None:
        """The feature of each value of sparse rows, and m; None if the rows are dense."""
        inputs = examples.inputs  # type: ignore[attr-defined]
        return (inputs.indices, inputs.shape[1]) if sparse.issparse(inputs) else None

    @abstractmethod
    def known_inputs(self) -> tuple[int, int] | None:
        """m and K as options and state fix them, or None."""


class KernelRows(FeatureRows[E]):
    """Rows of features that a kernel may take the inner products of.

    If the last columns of the rows are no features, the examples say how many they are as
    ``marked_columns``: a kernel leaves them as they are, they stay the last ones, and m does not
    count them.
    """


def why_not_finite(
    names: Sequence[str], w: np.ndarray, examples: E, inference: Callable[[E], Plane]
) -> str:
    """What makes the planes of ``inference`` at w infinite or NaN: a weight, or an example.

    names : of features, (d,)
    """
    if not np.all(np.isfinite(w)):
        feature = names[int(np.flatnonzero(~np.isfinite(w))[0])]
        return f"the weight of feature {feature!r} is not finite"
    for i, example in enumerate(examples.names):
        single = inference(examples.slice(i, i + 1))
        bad = np.flatnonzero(~np.isfinite(single.gradient))
        if len(bad):
            return f"example {example!r}: feature {names[int(bad[0])]!r} is not finite"
        if not np.isfinite(single.loss):
            return f"example {example!r}: its loss is not finite"
    return "the sums over the examples are too large for float64; rescale the features"
