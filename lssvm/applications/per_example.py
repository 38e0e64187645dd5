"""Write an application one example at a time; the adapter answers for whole data sets.

Subclass :class:`PerExample` with svm_struct's five functions (joint feature map, loss,
loss-augmented inference, latent completion, prediction), a reader and the names of the
features. x, y and h are any Python values.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
from scipy import sparse

from lssvm.applications.base import Application, Maxima, Source
from lssvm.errors import LssvmError
from lssvm.plane import Plane


@dataclass(frozen=True)
class Pairs:
    """Inputs and true outputs (None where unknown) as they are, with names and costs."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    names: tuple[str, ...]
    costs: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Every example counts as the same work."""
        return np.full(len(self.inputs), 10_000, dtype=np.int64)

    @property
    def labelled(self) -> bool:
        """Whether every true output is known."""
        return all(output is not None for output in self.outputs)

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
        return Pairs(inputs, outputs, names, self.costs[rows])

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
        """Σ c_i Φ(x_i, y_i, h_i) with the first completion."""
        hidden = [
            self.first_completion(x, y, rng)
            for x, y in zip(examples.inputs, examples.outputs, strict=True)
        ]
        return self._completion_plane(examples, hidden)

    def augmented(self, w: np.ndarray, examples: Pairs) -> tuple[Plane, float]:
        """Loss-augmented inference, one example after the other."""
        gradient, loss = np.zeros(len(w)), 0.0
        for x, y, cost in zip(examples.inputs, examples.outputs, examples.costs, strict=True):
            y_hat, h_hat = self.loss_augmented_inference(w, x, y)
            gradient += cost * self.joint_feature(x, y_hat, h_hat)
            loss += cost * self.loss(y, y_hat, h_hat)
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Pairs) -> Plane:
        """Latent completion, one example after the other."""
        hidden = [
            self.complete_latent(w, x, y)
            for x, y in zip(examples.inputs, examples.outputs, strict=True)
        ]
        return self._completion_plane(examples, hidden)

    def _completion_plane(self, examples: Pairs, hidden: Sequence[Any]) -> Plane:
        features = [
            cost * self.joint_feature(x, y, h)
            for x, y, h, cost in zip(
                examples.inputs, examples.outputs, hidden, examples.costs, strict=True
            )
        ]
        return Plane(np.sum(features, axis=0), 0.0)

    def augmented_each(self, w: np.ndarray, examples: Pairs) -> Maxima:
        """Loss-augmented inference, what was found for each example apart."""
        found = [
            self.loss_augmented_inference(w, x, y)
            for x, y in zip(examples.inputs, examples.outputs, strict=True)
        ]
        return self._maxima(w, examples, found)

    def completed_each(self, w: np.ndarray, examples: Pairs) -> Maxima:
        """Latent completion, what was found for each example apart."""
        found = [
            (y, self.complete_latent(w, x, y))
            for x, y in zip(examples.inputs, examples.outputs, strict=True)
        ]
        return self._maxima(w, examples, found)

    def start_each(self, examples: Pairs, rng: np.random.Generator) -> Maxima:
        """The first completion of each example."""
        found = [
            (y, self.first_completion(x, y, rng))
            for x, y in zip(examples.inputs, examples.outputs, strict=True)
        ]
        return self._maxima(np.zeros(self.dimension(examples)), examples, found)

    def _maxima(self, w: np.ndarray, examples: Pairs, found: list[tuple[Any, Any]]) -> Maxima:
        losses = np.array(
            [self.loss(y, *pair) for y, pair in zip(examples.outputs, found, strict=True)]
        )
        scores = np.array(
            [
                w @ self.joint_feature(x, *pair)
                for x, pair in zip(examples.inputs, found, strict=True)
            ]
        )
        return Maxima(losses + scores, losses, losses + scores, found)

    def gradients(self, examples: Pairs, found: Maxima, rows: np.ndarray) -> sparse.csr_array:
        """Φ of what was found, (len(rows), d)."""
        features = [self.joint_feature(examples.inputs[i], *found.outputs[i]) for i in rows]
        dimension = self.dimension(examples)
        return sparse.csr_array(np.array(features).reshape(len(features), dimension))

    def predict(self, w: np.ndarray, examples: Pairs, top: int = 1) -> list[tuple[Any, Any, float]]:
        """(y, h, w · Φ) for each example; ``top`` has no meaning here."""
        predictions = []
        for x in examples.inputs:
            y, h = self.predict_one(w, x)
            predictions.append((y, h, float(w @ self.joint_feature(x, y, h))))
        return predictions

    def score(
        self, examples: Pairs, predictions: list[tuple[Any, Any, float]]
    ) -> dict[str, float | None]:
        """Mean loss, and the share of outputs that are wrong in percent."""
        losses = [
            self.loss(y, y_hat, h_hat)
            for y, (y_hat, h_hat, _) in zip(examples.outputs, predictions, strict=True)
        ]
        wrong = [y != y_hat for y, (y_hat, _, _) in zip(examples.outputs, predictions, strict=True)]
        return {"error": 100.0 * float(np.mean(wrong)), "loss": float(np.mean(losses))}

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
        for name, gold, (y, h, score) in zip(
            examples.names, examples.outputs, predictions, strict=True
        ):
            known = {} if gold is None else {"gold": gold, "loss": self.loss(gold, y, h)}
            yield {"id": name, "y": y, "h": h, "score": score, **known}
