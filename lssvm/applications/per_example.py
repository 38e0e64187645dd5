"""Write an application one example at a time; the adapter answers for whole data sets.

Subclass :class:`PerExample` with svm_struct's five functions (joint feature map, loss,
loss-augmented inference, latent completion, prediction), a reader and the names of the
features. x, y and h are any Python values.
"""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TextIO

import numpy as np
from scipy import sparse

from lssvm.applications import guard
from lssvm.applications.base import Application, Maxima, Source
from lssvm.errors import LssvmError
from lssvm.plane import Plane

ROUNDING = 1e-9  # share of the sizes of summed terms: 10^4 terms of float64 stay far below it
LOOKS = 2, 16  # examples that a pass compares with their truth: so many, or one in so many


@dataclass
class Kept:
    """Hidden values that an application gave for the true outputs, to compare others with.

    owner : the application; hidden, rivals : (n,) of the last completion, and of loss-augmented
        inference where it found the true output; None: none yet
    turns : (n,) passes over the block that begins with each example
    """

    count: int
    owner: Any = None
    hidden: list[Any] = field(default_factory=list)
    rivals: list[Any] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    def of(self, application: Any) -> "Kept":
        """The same, emptied if they are those of another application."""
        if self.owner is not application:
            self.hidden, self.rivals = [None] * self.count, [None] * self.count
            self.turns = [0] * self.count
            self.owner = application
        return self

    def __reduce__(self) -> Any:
        return Kept, (self.count,)


@dataclass(frozen=True)
class Pairs:
    """Inputs and true outputs (None where unknown) as they are, with names and costs.

    kept, places : what is remembered of the data set that these are a part of, and where there
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    names: tuple[str, ...]
    costs: np.ndarray
    kept: Any = field(default=None, compare=False, repr=False)
    places: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kept is None:
            object.__setattr__(self, "kept", Kept(len(self.inputs)))
            object.__setattr__(self, "places", np.arange(len(self.inputs)))

    @property
    def sizes(self) -> np.ndarray:
        """Every example counts as the same work."""
        return np.full(len(self.inputs), 10_000, dtype=np.int64)

    @property
    def labelled(self) -> bool:
        """Whether every true output is known."""
        return bool(np.all(self.known))

    @property
    def known(self) -> np.ndarray:
        """Whether each true output is known, (n,) bool."""
        return np.array([output is not None for output in self.outputs], dtype=bool)

    def __len__(self) -> int:
        return len(self.inputs)

    def slice(self, start: int, stop: int) -> "Pairs":
        """Examples start..stop-1."""
        return self.take(np.arange(start, stop))

    def take(self, rows: np.ndarray) -> "Pairs":
        """The chosen examples, in the order of ``rows``."""
        inputs, outputs, names = (
            tuple(column[i] for i in rows) for column in (self.inputs, self.outputs, self.names)
        )
        return Pairs(inputs, outputs, names, self.costs[rows], self.kept, self.places[rows])

    def fingerprint(self) -> str:
        """SHA-256 of inputs, outputs and costs; LssvmError for values without a ``__repr__``."""
        digest = hashlib.sha256()
        _hash((self.inputs, self.outputs, self.costs), digest.update)
        return digest.hexdigest()


def _hash(value: Any, update: Callable[[bytes], None]) -> None:
    """Feed a value to a hash: arrays by their bytes, containers by their members."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        update(f"{value.dtype.str}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple | np.ndarray):
        update(f"{type(value).__name__}{len(value)}".encode())
        for member in value:
            _hash(member, update)
    elif isinstance(value, dict):
        _hash(list(value.items()), update)
    elif type(value).__repr__ is object.__repr__:
        kind = type(value).__name__
        raise LssvmError(f"values of type {kind!r} cannot be told apart; give {kind} a __repr__")
    else:
        update(repr(value).encode() + b"\0")


class PerExample(Application):
    """Five functions of one example, made into the batched interface.

    w and the joint features are float64 of shape (d,). Every maximum must be exact: a gap
    is certified on the strength of it.
    """

    models: ClassVar[frozenset[str]] = frozenset({"lssvm"})
    each = True

    @abstractmethod
    def examples(self, source: Source) -> Iterator[tuple[str, Any, Any]]:
        """(name, x, y) for each example of a file. Raises DataError."""

    @abstractmethod
    def joint_feature(self, x: Any, y: Any, h: Any) -> np.ndarray:
        """Φ(x, y, h)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any, h_hat: Any) -> float:
        """Δ(y, ŷ, ĥ) ≥ 0; 0 when ŷ is y."""

    @abstractmethod
    def loss_augmented_inference(self, w: np.ndarray, x: Any, y: Any) -> tuple[Any, Any]:
        """(ŷ, ĥ) maximising w · Φ(x, ŷ, ĥ) + Δ(y, ŷ, ĥ)."""

    @abstractmethod
    def complete_latent(self, w: np.ndarray, x: Any, y: Any) -> Any:
        """The h that maximises w · Φ(x, y, h)."""

    @abstractmethod
    def predict_one(self, w: np.ndarray, x: Any) -> tuple[Any, Any]:
        """(y, h) maximising w · Φ(x, y, h)."""

    @abstractmethod
    def first_completion(self, x: Any, y: Any, rng: np.random.Generator) -> Any:
        """The h that training starts from."""

    def read(self, sources: Sequence[Source]) -> Pairs:
        """The examples of all sources, in order."""
        rows = [(*row, source.cost) for source in sources for row in self.examples(source)]
        names, inputs, outputs, costs = zip(*rows, strict=True) if rows else ((), (), (), ())
        return Pairs(inputs, outputs, names, np.array(costs, dtype=np.float64))

    def start(self, examples: Pairs, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i, h_i) with the first completion. Raises LssvmError without y_i."""
        return self._completion_plane(examples, self._first(examples, rng))

    def augmented(self, w: np.ndarray, examples: Pairs) -> tuple[Plane, float]:
        """Loss-augmented inference, one example after the other."""
        gradient, loss = np.zeros(len(w)), 0.0
        watched = self._watched(examples)
        for i, cost in enumerate(examples.costs):
            y_hat, h_hat = self._found(w, examples, i)
            features = self._features(len(w), examples, i, y_hat, h_hat)
            own = self._loss(examples, i, y_hat, h_hat)
            if i in watched:
                self._compare_with_truth(w, examples, i, features, own)
            gradient += cost * features
            loss += cost * own
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Pairs) -> Plane:
        """Latent completion, one example after the other."""
        return self._completion_plane(examples, self._completions(w, examples))

    def augmented_each(self, w: np.ndarray, examples: Pairs) -> Maxima:
        """Loss-augmented inference, what was found for each example apart."""
        found = [self._found(w, examples, i) for i in range(len(examples))]
        return self._maxima(w, examples, found)

    def completed_each(self, w: np.ndarray, examples: Pairs) -> Maxima:
        """Latent completion, what was found for each example apart."""
        hidden = self._completions(w, examples)
        return self._maxima(w, examples, list(zip(examples.outputs, hidden, strict=True)))

    def start_each(self, examples: Pairs, rng: np.random.Generator) -> Maxima:
        """The first completion of each example. Raises LssvmError without y_i."""
        found = list(zip(examples.outputs, self._first(examples, rng), strict=True))
        return self._maxima(np.zeros(self.dimension(examples)), examples, found)

    def _maxima(self, w: np.ndarray, examples: Pairs, found: list[tuple[Any, Any]]) -> Maxima:
        rows = range(len(examples))
        losses = np.array([self._loss(examples, i, *found[i]) for i in rows])
        scores = np.array([w @ self._features(len(w), examples, i, *found[i]) for i in rows])
        return Maxima(losses + scores, losses, losses + scores, found)

    def _first(self, examples: Pairs, rng: np.random.Generator) -> list[Any]:
        """The first completions. Raises LssvmError for an example whose output is not known."""
        kept, hidden = examples.kept.of(self), []
        for i, (x, y) in enumerate(zip(examples.inputs, examples.outputs, strict=True)):
            if y is None:
                raise LssvmError(
                    f"example {examples.names[i]!r} has no true output; expected one to train on"
                )
            h = self._asked("first_completion", examples, i, x, y, rng)
            self._check_truth(examples, i, h)
            kept.hidden[examples.places[i]] = h
            hidden.append(h)
        return hidden

    def _completions(self, w: np.ndarray, examples: Pairs) -> list[Any]:
        """The completions, each no lower than those that were seen before."""
        kept, hidden = examples.kept.of(self), []
        for i, (x, y) in enumerate(zip(examples.inputs, examples.outputs, strict=True)):
            h = self._asked("complete_latent", examples, i, w, x, y)
            self._check_truth(examples, i, h)
            place = int(examples.places[i])
            for other in (kept.hidden[place], kept.rivals[place]):
                if other is not None and other is not h:
                    self._compare_completions(w, examples, i, h, other)
            kept.hidden[place], kept.rivals[place] = h, None
            hidden.append(h)
        return hidden

    def _completion_plane(self, examples: Pairs, hidden: Sequence[Any]) -> Plane:
        gradient = np.zeros(self.dimension(examples))
        for i, (y, h, cost) in enumerate(
            zip(examples.outputs, hidden, examples.costs, strict=True)
        ):
            gradient += cost * self._features(len(gradient), examples, i, y, h)
        return Plane(gradient, 0.0)

    def _asked(self, method: str, examples: Pairs, i: int, *arguments: Any) -> Any:
        """What one of the five functions answers for example i; its errors name the example."""
        try:
            return getattr(self, method)(*arguments)
        except (LssvmError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            where = f"{method} of example {examples.names[i]!r}"
            raise guard.crash(self, where, error) from error

    def _wrong(self, examples: Pairs, i: int, text: str) -> NoReturn:
        raise guard.fault(self, f"example {examples.names[i]!r}: {text}")

    def _pair(self, method: str, examples: Pairs, i: int, found: Any) -> tuple[Any, Any]:
        if not isinstance(found, tuple | list) or len(found) != 2:
            kind = type(found).__name__
            self._wrong(examples, i, f"{method} gave a {kind}; expected (y, h)")
        return found[0], found[1]

    def _found(self, w: np.ndarray, examples: Pairs, i: int) -> tuple[Any, Any]:
        """(ŷ, ĥ) of loss-augmented inference; ĥ is remembered where ŷ is y."""
        x, y, method = examples.inputs[i], examples.outputs[i], "loss_augmented_inference"
        found = self._asked(method, examples, i, w, x, y)
        y_hat, h_hat = self._pair(method, examples, i, found)
        if _same(y, y_hat):
            examples.kept.of(self).rivals[examples.places[i]] = h_hat
        return y_hat, h_hat

    def _features(self, size: int, examples: Pairs, i: int, y: Any, h: Any) -> np.ndarray:
        """Φ(x_i, y, h), of the right shape and finite."""
        found = self._asked("joint_feature", examples, i, examples.inputs[i], y, h)
        try:
            features = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            kind = type(found).__name__
            self._wrong(examples, i, f"joint_feature gave a {kind}; expected an array of numbers")
        if features.shape != (size,):
            wrong = f"joint_feature has shape {features.shape}; expected {(size,)}"
            self._wrong(examples, i, wrong)
        if not math.isfinite(features @ features):
            bad = np.flatnonzero(~np.isfinite(features))
            if len(bad):
                name = self.feature_names()[int(bad[0])]
                self._wrong(examples, i, f"feature {name!r} is not finite")
        return features

    def _loss(self, examples: Pairs, i: int, y_hat: Any, h_hat: Any) -> float:
        """Δ(y_i, ŷ, ĥ), a number of at least 0."""
        found = self._asked("loss", examples, i, examples.outputs[i], y_hat, h_hat)
        try:
            loss = float(found)
        except (TypeError, ValueError):
            self._wrong(examples, i, f"loss gave a {type(found).__name__}; expected a number")
        if not math.isfinite(loss):
            self._wrong(examples, i, "its loss is not finite")
        if loss < -ROUNDING:
            self._wrong(examples, i, f"its loss is {loss:.6g}; expected at least 0")
        return loss

    def _check_truth(self, examples: Pairs, i: int, h: Any) -> None:
        loss = self._loss(examples, i, examples.outputs[i], h)
        if loss > ROUNDING:
            self._wrong(examples, i, f"the loss of its true output is {loss:.6g}; expected 0")

    def _watched(self, examples: Pairs) -> set[int]:
        """The examples that are compared with their truth at this pass: each has its turn."""
        n, kept = len(examples), examples.kept.of(self)
        if not n:
            return set()
        first, count = int(examples.places[0]), max(LOOKS[0], n // LOOKS[1])
        begin = kept.turns[first] * count
        kept.turns[first] += 1
        return {(begin + k) % n for k in range(count)}

    def _compare_with_truth(
        self, w: np.ndarray, examples: Pairs, i: int, features: np.ndarray, loss: float
    ) -> None:
        """Refuse what was found if the true output with a hidden value once given has more."""
        h = examples.kept.of(self).hidden[examples.places[i]]
        if h is None:
            return
        truth = self._features(len(w), examples, i, examples.outputs[i], h)
        value, least = loss + float(features @ w), float(truth @ w)
        if value < least - ROUNDING * (loss + _terms(w, features, truth)):
            self._wrong(
                examples,
                i,
                f"loss-augmented inference has value {value:.6g}, the true output {least:.6g}; "
                "expected a maximum of w · joint_feature + loss",
            )

    def _compare_completions(
        self, w: np.ndarray, examples: Pairs, i: int, h: Any, other: Any
    ) -> None:
        y = examples.outputs[i]
        if self._loss(examples, i, y, other) > ROUNDING:
            return
        here, there = (self._features(len(w), examples, i, y, each) for each in (h, other))
        value, least = float(here @ w), float(there @ w)
        if value < least - ROUNDING * _terms(w, here, there):
            self._wrong(
                examples,
                i,
                f"complete_latent has value {value:.6g}, another hidden value {least:.6g}; "
                "expected a maximum of w · joint_feature",
            )

    def gradients(self, examples: Pairs, found: Maxima, rows: np.ndarray) -> sparse.csr_array:
        """Φ of what was found, (len(rows), d)."""
        dimension = self.dimension(examples)
        features = [self._features(dimension, examples, i, *found.outputs[i]) for i in rows]
        return sparse.csr_array(np.array(features).reshape(len(features), dimension))

    def predict(self, w: np.ndarray, examples: Pairs, top: int = 1) -> list[tuple[Any, Any, float]]:
        """(y, h, w · Φ) for each example; ``top`` has no meaning here."""
        predictions = []
        for i, x in enumerate(examples.inputs):
            found = self._asked("predict_one", examples, i, w, x)
            y, h = self._pair("predict_one", examples, i, found)
            features = self._features(len(w), examples, i, y, h)
            predictions.append((y, h, float(w @ features)))
        return predictions

    def score(
        self, examples: Pairs, predictions: list[tuple[Any, Any, float]]
    ) -> dict[str, float | None]:
        """Mean loss, and the share of outputs that are wrong in percent."""
        losses = self.training_losses(examples, predictions)
        wrong = [y != y_hat for y, (y_hat, _, _) in zip(examples.outputs, predictions, strict=True)]
        return {"error": 100.0 * float(np.mean(wrong)), "loss": float(np.mean(losses))}

    def training_losses(
        self, examples: Pairs, predictions: list[tuple[Any, Any, float]]
    ) -> np.ndarray:
        """Δ of the predictions, (n,)."""
        return np.array([self._loss(examples, i, y, h) for i, (y, h, _) in enumerate(predictions)])

    def write(
        self, examples: Pairs, predictions: list[tuple[Any, Any, float]], file: TextIO
    ) -> None:
        """One line an example: name, y, h and score, separated by tabs."""
        for name, (y, h, score) in zip(examples.names, predictions, strict=True):
            file.write(f"{name}\t{y}\t{h}\t{score:.10g}\n")

    def records(
        self, examples: Pairs, predictions: list[tuple[Any, Any, float]]
    ) -> Iterator[dict[str, Any]]:
        """One dictionary an example."""
        for i, (gold, (y, h, score)) in enumerate(zip(examples.outputs, predictions, strict=True)):
            known = {} if gold is None else {"gold": gold, "loss": self._loss(examples, i, y, h)}
            yield {"id": examples.names[i], "y": y, "h": h, "score": score, **known}


def _same(y: Any, y_hat: Any) -> bool:
    """Whether both are one output; False where that cannot be told, as for arrays."""
    try:
        return y is y_hat or bool(y == y_hat)
    except ValueError:
        return False


def _terms(w: np.ndarray, *features: np.ndarray) -> float:
    """The size of what inner products with w sum up."""
    sizes = np.abs(w)
    return float(sum(np.abs(each) @ sizes for each in features))
