"""Write an application for one example at a time; this class applies it to whole data sets.

Subclass :class:`PerExample` and write six functions: a reader (``examples``), the joint feature
map, the loss, loss-augmented inference, latent completion and prediction. Without hidden values
(``hidden = False``) there is no completion, and h is None everywhere. If every (y, h) of an input
can be listed, use :class:`lssvm.applications.enumeration.Enumerated`, which has exact inference. x,
y and h may be any Python values.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NoReturn, TextIO

import numpy as np

from lssvm import sparse
from lssvm.applications import guard
from lssvm.applications.base import Application, ByExample, Maxima, Source
from lssvm.applications.given import costs_of
from lssvm.applications.names import NumberedNames
from lssvm.applications.pairs import UNSEEN, H, Pairs, X, Y, same
from lssvm.errors import LssvmError, counted
from lssvm.plane import Plane

__all__ = ["Pairs", "PerExample", "WrongAnswerError", "same"]

ROUNDING = 1e-9  # relative to the size of the summed terms: 10^4 terms of float64 stay far below it
LOOKS = 2, 16  # examples that a pass compares with their truth: so many, or one in so many
MOST_FEATURES = 2**31 - 1


class WrongAnswerError(Exception):
    """The result of a function cannot be right; the example is not known yet."""


class PerExample(
    Application[Pairs[X, Y], list[tuple[Y, H, float]]],
    ByExample[Pairs[X, Y]],
    Generic[X, Y, H],
):
    """Functions of one example, adapted to the interface for whole data sets.

    w and the joint features are float64 of shape (d,). Every maximum must be exact: the proof of
    the gap depends on it.
    """

    models: ClassVar[frozenset[str]] = frozenset({"lssvm"})
    # The attributes of a class if ``hidden`` is False. Quadratic slack and slack rescaling need
    # another maximum than that of w · Φ + Δ.
    OBSERVED: ClassVar[Mapping[str, frozenset[Any]]] = {
        "models": frozenset({"ssvm"}),
        "rescalings": frozenset({"margin"}),
        "slack_norms": frozenset({0, 1}),
    }
    _length: int | None = None  # d, once it is known

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Adapt a class without hidden values: its models, and no completion."""
        own = "loss_augmented_inference" in cls.__dict__
        if not cls.hidden and (own or "hidden" in cls.__dict__):
            for name, values in (PerExample.OBSERVED if own else cls.OBSERVED).items():
                if name not in cls.__dict__:
                    setattr(cls, name, values)
            ours = cls.complete_latent.__module__.partition(".")[0] == "lssvm"
            if ours:  # nobody wrote a completion, neither this class nor one that it derives from
                cls.complete_latent = PerExample._nothing  # type: ignore[method-assign]
        super().__init_subclass__(**keywords)

    @abstractmethod
    def examples(self, source: Source) -> Iterator[tuple[str, X, Y]]:
        """(name, x, y) for each example of a file; y is None if unknown. Raises DataError."""

    @abstractmethod
    def joint_feature(self, x: X, y: Y, h: H) -> np.ndarray:
        """Φ(x, y, h)."""

    @abstractmethod
    def loss(self, y: Y, y_hat: Y, h_hat: H) -> float:
        """Δ(y, ŷ, ĥ) ≥ 0; 0 when ŷ is y."""

    @abstractmethod
    def loss_augmented_inference(self, w: np.ndarray, x: X, y: Y) -> tuple[Y, H]:
        """(ŷ, ĥ) maximising w · Φ(x, ŷ, ĥ) + Δ(y, ŷ, ĥ)."""

    @abstractmethod
    def complete_latent(self, w: np.ndarray, x: X, y: Y) -> H:
        """The h that maximises w · Φ(x, y, h)."""

    @abstractmethod
    def predict_one(self, w: np.ndarray, x: X) -> tuple[Y, H]:
        """(y, h) maximising w · Φ(x, y, h)."""

    def first_completion(self, x: X, y: Y, rng: np.random.Generator) -> H:
        """The h that training starts from, by default the completion at w = 0."""
        return self.complete_latent(np.zeros(self._length or 0), x, y)

    def _nothing(self, w: np.ndarray, x: X, y: Y) -> Any:
        """The hidden value if there is none."""
        return None

    def dimension(self, examples: Pairs[X, Y]) -> int:
        """Length d of w and Φ, by default the length of the first features.

        Raises LssvmError if no example has features.
        """
        if self._length is None:
            features = self._first_features(examples)
            if features.ndim != 1:
                self._wrong(examples, 0, f"joint_feature has shape {features.shape}; expected (d,)")
            self._length = len(features)
        return self._length

    def _first_features(self, examples: Pairs[X, Y]) -> np.ndarray:
        """Φ of some output of the first example. Raises LssvmError."""
        if not len(examples) or examples.outputs[0] is None:
            raise LssvmError(f"{guard.named(self)}no example with a true output; expected one")
        x, y = examples.inputs[0], examples.outputs[0]
        h: Any = None
        if self.hidden:
            if type(self).first_completion is PerExample.first_completion:
                raise LssvmError(
                    f"{guard.named(self)}the number of weights is not known; "
                    "expected the method dimension or first_completion"
                )
            h = self._asked("first_completion", examples, 0, x, y, np.random.default_rng(0))
        return self._array(examples, 0, self._asked("joint_feature", examples, 0, x, y, h))

    def feature_names(self) -> Sequence[str]:
        """A readable name for each coordinate of w, by default ``feature 1``, ``feature 2`` …"""
        return NumberedNames(self._length or MOST_FEATURES)

    def read(self, sources: Sequence[Source]) -> Pairs[X, Y]:
        """The examples of all sources, in order."""
        rows = [(*row, source.cost) for source in sources for row in self.examples(source)]
        names, inputs, outputs, costs = zip(*rows, strict=True) if rows else ((), (), (), ())
        return Pairs(inputs, outputs, names, np.array(costs, dtype=np.float64))

    def examples_from(
        self, X: Sequence[Any], y: Sequence[Any] | None = None, *, costs: Any = None
    ) -> Pairs[Any, Any]:
        """The examples that are given in memory.

        X : n inputs; y : n true outputs, None, in it or instead of it, where they are not known;
        costs : (n,) the costs c_i of the examples, 1 by default. Raises LssvmError if the numbers
        of them differ.
        """
        outputs = (None,) * len(X) if y is None else tuple(y)
        if len(outputs) != len(X):
            raise LssvmError(
                f"{counted(len(outputs), 'output')} for {counted(len(X), 'input')}; expected as "
                "many"
            )
        names = tuple(str(number) for number in range(1, len(X) + 1))
        return Pairs(tuple(X), outputs, names, costs_of(costs, len(X)))

    def start(self, examples: Pairs[X, Y], rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i, h_i) with the first completion. Raises LssvmError without y_i."""
        return self._completion_plane(examples, self._first(examples, rng))

    def augmented(self, w: np.ndarray, examples: Pairs[X, Y]) -> tuple[Plane, float]:
        """Loss-augmented inference, one example after the other."""
        gradient, loss = np.zeros(len(w)), 0.0
        watched = self._watched(examples)
        for i, cost in enumerate(examples.costs):
            features, own = self._plane(len(w), examples, i, *self._found(w, examples, i))
            if i in watched:
                self._compare_with_truth(w, examples, i, features, own)
            gradient += cost * features
            loss += cost * own
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Pairs[X, Y]) -> Plane:
        """Latent completion, one example after the other."""
        return self._completion_plane(examples, self._completions(w, examples))

    def augmented_each(self, w: np.ndarray, examples: Pairs[X, Y]) -> Maxima:
        """Loss-augmented inference, with a result for each example."""
        found = [self._found(w, examples, i) for i in range(len(examples))]
        return self._maxima(w, examples, found)

    def completed_each(self, w: np.ndarray, examples: Pairs[X, Y]) -> Maxima:
        """Latent completion, with a result for each example."""
        hidden = self._completions(w, examples)
        return self._maxima(w, examples, list(zip(examples.outputs, hidden, strict=True)))

    def start_each(self, examples: Pairs[X, Y], rng: np.random.Generator) -> Maxima:
        """The first completion of each example. Raises LssvmError without y_i."""
        found = list(zip(examples.outputs, self._first(examples, rng), strict=True))
        return self._maxima(np.zeros(self.dimension(examples)), examples, found)

    def _maxima(self, w: np.ndarray, examples: Pairs[X, Y], found: list[tuple[Y, H]]) -> Maxima:
        planes = [self._plane(len(w), examples, i, *found[i]) for i in range(len(examples))]
        losses = np.array([loss for _, loss in planes])
        scores = np.array([w @ gradient for gradient, _ in planes])
        return Maxima(losses + scores, losses, losses + scores, found)

    def _plane(
        self, size: int, examples: Pairs[X, Y], i: int, y: Y, h: H
    ) -> tuple[np.ndarray, float]:
        """Gradient and loss part of the plane of example i that an output gives."""
        loss = self._loss(examples, i, y, h)
        features = self._features(size, examples, i, y, h)
        form = self.formulation
        if form.slack_norm != 1:
            loss = float(form.margin(np.array([loss]))[0])
        if form.rescaling == "slack":
            truth = self._features(size, examples, i, examples.outputs[i], None)
            features = loss * (features - truth) + truth
        return features, loss

    def _first(self, examples: Pairs[X, Y], rng: np.random.Generator) -> list[H]:
        """The first completions. Raises LssvmError for an example whose output is not known."""
        kept, hidden = examples.kept.of(self), []
        if len(examples) and examples.outputs[0] is not None:
            self._length = self.dimension(examples)
        for i, (x, y) in enumerate(zip(examples.inputs, examples.outputs, strict=True)):
            if y is None:
                raise LssvmError(
                    f"example {examples.names[i]!r} has no true output; expected one for training"
                )
            h = self._asked("first_completion", examples, i, x, y, rng)
            self._check_truth(examples, i, h)
            kept.hidden[examples.places[i]] = h
            hidden.append(h)
        return hidden

    def _completions(self, w: np.ndarray, examples: Pairs[X, Y]) -> list[H]:
        """The completions; each must have at least the value of those seen before."""
        kept, hidden = examples.kept.of(self), []
        for i, (x, y) in enumerate(zip(examples.inputs, examples.outputs, strict=True)):
            h = self._asked("complete_latent", examples, i, w, x, y)
            self._check_truth(examples, i, h)
            place = int(examples.places[i])
            for other in (kept.hidden[place], kept.rivals[place]):
                if other is not UNSEEN and other is not h:
                    self._compare_completions(w, examples, i, h, other)
            kept.hidden[place], kept.rivals[place] = h, UNSEEN
            hidden.append(h)
        return hidden

    def _completion_plane(self, examples: Pairs[X, Y], hidden: Sequence[H]) -> Plane:
        gradient = np.zeros(self.dimension(examples))
        for i, (y, h, cost) in enumerate(
            zip(examples.outputs, hidden, examples.costs, strict=True)
        ):
            gradient += cost * self._features(len(gradient), examples, i, y, h)
        return Plane(gradient, 0.0)

    def _asked(self, method: str, examples: Pairs[X, Y], i: int, *arguments: Any) -> Any:
        """The result of a function for example i; errors name the example."""
        try:
            return getattr(self, method)(*arguments)
        except WrongAnswerError as error:
            self._wrong(examples, i, str(error))
        except (LssvmError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            where = f"{method} of example {examples.names[i]!r}"
            raise guard.crash(self, where, error) from error

    def _wrong(self, examples: Pairs[X, Y], i: int, text: str) -> NoReturn:
        raise guard.fault(self, f"example {examples.names[i]!r}: {text}")

    def _pair(self, method: str, examples: Pairs[X, Y], i: int, found: object) -> tuple[Any, Any]:
        if not isinstance(found, tuple | list) or len(found) != 2:
            kind = type(found).__name__
            self._wrong(examples, i, f"{method} gave a {kind}; expected (y, h)")
        return found[0], found[1]

    def _found(self, w: np.ndarray, examples: Pairs[X, Y], i: int) -> tuple[Y, H]:
        """(ŷ, ĥ) of loss-augmented inference; ĥ is remembered where ŷ is y."""
        x, y, method = examples.inputs[i], examples.outputs[i], "loss_augmented_inference"
        found = self._asked(method, examples, i, w, x, y)
        y_hat, h_hat = self._pair(method, examples, i, found)
        if same(y, y_hat):
            examples.kept.of(self).rivals[examples.places[i]] = h_hat
        return y_hat, h_hat

    def _array(self, examples: Pairs[X, Y], i: int, found: object) -> np.ndarray:
        """The result of joint_feature as an array of numbers."""
        try:
            return np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            kind = type(found).__name__
            self._wrong(examples, i, f"joint_feature gave a {kind}; expected an array of numbers")

    def _features(self, size: int, examples: Pairs[X, Y], i: int, y: Y, h: Any) -> np.ndarray:
        """Φ(x_i, y, h), of the right shape and finite."""
        found = self._asked("joint_feature", examples, i, examples.inputs[i], y, h)
        features = self._array(examples, i, found)
        if features.shape != (size,):
            wrong = f"joint_feature has shape {features.shape}; expected {(size,)}"
            self._wrong(examples, i, wrong)
        if not math.isfinite(features @ features):
            bad = np.flatnonzero(~np.isfinite(features))
            if len(bad):
                name = self.feature_names()[int(bad[0])]
                self._wrong(examples, i, f"feature {name!r} is not finite")
        return features

    def _loss(self, examples: Pairs[X, Y], i: int, y_hat: Y, h_hat: H) -> float:
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

    def _check_truth(self, examples: Pairs[X, Y], i: int, h: H) -> None:
        loss = self._loss(examples, i, examples.outputs[i], h)
        if loss > ROUNDING:
            self._wrong(examples, i, f"the loss of its true output is {loss:.6g}; expected 0")

    def _watched(self, examples: Pairs[X, Y]) -> set[int]:
        """The examples that are compared with their truth in this pass, in rotation."""
        n, kept = len(examples), examples.kept.of(self)
        if not n:
            return set()
        first, count = int(examples.places[0]), max(LOOKS[0], n // LOOKS[1])
        begin = kept.turns[first] * count
        kept.turns[first] += 1
        return {(begin + k) % n for k in range(count)}

    def _compare_with_truth(
        self, w: np.ndarray, examples: Pairs[X, Y], i: int, features: np.ndarray, loss: float
    ) -> None:
        """Refuse a maximum below the value of the true output with a hidden value seen before."""
        h = examples.kept.of(self).hidden[examples.places[i]]
        if h is UNSEEN:
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
        self, w: np.ndarray, examples: Pairs[X, Y], i: int, h: H, other: H
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

    def gradients(
        self, examples: Pairs[X, Y], found: Maxima, rows: np.ndarray
    ) -> "sparse.csr_array":
        """Φ of the outputs found, rescaled with the slack, (len(rows), d)."""
        dimension = self.dimension(examples)
        features = [self._plane(dimension, examples, i, *found.outputs[i])[0] for i in rows]
        return sparse.csr_array(np.array(features).reshape(len(features), dimension))

    def predict(
        self, w: np.ndarray, examples: Pairs[X, Y], top: int = 1
    ) -> list[tuple[Y, H, float]]:
        """(y, h, w · Φ) for each example; ``top`` has no meaning here."""
        predictions = []
        for i, x in enumerate(examples.inputs):
            found = self._asked("predict_one", examples, i, w, x)
            y, h = self._pair("predict_one", examples, i, found)
            features = self._features(len(w), examples, i, y, h)
            predictions.append((y, h, float(w @ features)))
        return predictions

    def as_truth(
        self, w: np.ndarray, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]]
    ) -> Pairs[X, Y]:
        """The examples with the predictions as their true outputs."""
        return Pairs(
            examples.inputs, tuple(y for y, _, _ in predictions), examples.names, examples.costs
        )

    def score(
        self, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]]
    ) -> dict[str, float | None]:
        """Mean loss, and the share of outputs that are wrong in percent."""
        losses = self.training_losses(examples, predictions)
        wrong = [
            not same(y, y_hat)
            for y, (y_hat, _, _) in zip(examples.outputs, predictions, strict=True)
        ]
        return {"error": 100.0 * float(np.mean(wrong)), "loss": float(np.mean(losses))}

    def prediction_values(
        self, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]]
    ) -> np.ndarray:
        """w · Φ of the predictions, (n,)."""
        return np.array([score for _, _, score in predictions])

    def training_losses(
        self, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]]
    ) -> np.ndarray:
        """Δ of the predictions, (n,)."""
        return np.array([self._loss(examples, i, y, h) for i, (y, h, _) in enumerate(predictions)])

    def write(
        self, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]], file: TextIO
    ) -> None:
        """One line per example: name, y, h if there is one, and score, separated by tabs."""
        for name, (y, h, score) in zip(examples.names, predictions, strict=True):
            shown = f"{y}\t{h}" if self.hidden else f"{y}"
            file.write(f"{name}\t{shown}\t{score:.10g}\n")

    def records(
        self, examples: Pairs[X, Y], predictions: list[tuple[Y, H, float]]
    ) -> Iterator[dict[str, Any]]:
        """One dictionary per example."""
        for i, (gold, (y, h, score)) in enumerate(zip(examples.outputs, predictions, strict=True)):
            known = {} if gold is None else {"gold": gold, "loss": self._loss(examples, i, y, h)}
            yield {"id": examples.names[i], "y": y, "h": h, "score": score, **known}


def _terms(w: np.ndarray, *features: np.ndarray) -> float:
    """The sum of the sizes of the terms of inner products with w."""
    sizes = np.abs(w)
    return float(sum(np.abs(each) @ sizes for each in features))
