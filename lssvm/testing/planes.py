"""Checks of planes: they are lower bounds of their function, touch it and add up."""

import hashlib
from contextlib import suppress
from typing import Any

import numpy as np

from lssvm.applications.base import Application
from lssvm.executor import Executor
from lssvm.oracle import INEXACT
from lssvm.plane import Plane, total
from lssvm.problem import FirstProblem
from lssvm.testing.asking import FaultyAnswerError, Findings, Stack, Weights, weights

MOST_NAMES = 10_000  # that are compared with each other
THREADS = 4


class Planes(Findings):
    """The checks of planes, on a few examples."""

    def __init__(
        self, application: Application[Any, Any], examples: Any, rows: np.ndarray, seed: int
    ) -> None:
        super().__init__()
        self.application = application
        self.hard = application.formulation.hard
        self.margin = application.formulation.rescaling == "margin"
        self.whole, self.rows, self.seed = examples, rows, seed
        self.weights: list[Weights] = []

    def prepare(self) -> None:
        """Take a few examples, and choose the w where inference is called."""
        app, whole = self.application, self.whole
        self.few = self.ask("take", lambda: whole.take(self.rows))
        self.parts = [self.few]
        self.names = ["the data set"]
        if app.decomposes:
            count = len(self.few)
            self.parts = self.ask("slice", lambda: [self.few.slice(i, i + 1) for i in range(count)])
            self.names = [f"example {str(name)!r}" for name in self.few.names]
        self.d = self.ask("dimension", app.dimension, self.few)
        if not isinstance(self.d, int) or self.d < 1:
            self.tell("dimension", f"dimension is {self.d!r}; expected a whole number above 0")
            raise FaultyAnswerError
        self.weights = weights(self.d, np.random.default_rng(self.seed))
        self.W = np.array([each.w for each in self.weights])

    # examples

    def examples(self) -> None:
        """``take``, ``slice`` and fingerprints."""
        few, whole, names = self.few, self.whole, self.whole.names
        for what, got, expected in (
            ("names", list(map(str, few.names)), [str(names[i]) for i in self.rows]),
            ("costs", few.costs.tolist(), whole.costs[self.rows].tolist()),
        ):
            if got != expected:
                self.tell("take", f"{what} of the examples taken are {got}; expected {expected}")
        for i, part in enumerate(self.parts if self.application.decomposes else []):
            alone = few.take(np.array([i]))
            if len(part) != 1 or len(alone) != 1:
                self.tell("slice", f"{self.names[i]}: a slice of one has {len(part)} examples")
            elif part.fingerprint() != alone.fingerprint():
                self.tell(
                    "fingerprint",
                    f"{self.names[i]}: its slice has the fingerprint {part.fingerprint()[:8]}…, "
                    f"but take gives {alone.fingerprint()[:8]}…; expected the same",
                )
        if few.fingerprint() != few.fingerprint():
            self.tell("fingerprint", "two fingerprints of the same examples differ")
        if len(few) > 1 and few.fingerprint() == few.slice(0, 1).fingerprint():
            self.tell(
                "fingerprint", "all examples and the first one alone have the same fingerprint"
            )

    def feature_names(self) -> None:
        """As many names as weights, all different."""
        names = self.ask("feature_names", self.application.feature_names)
        known = self.ask("known_dimension", self.application.known_dimension)
        if len(names) < self.d or known not in (None, self.d):
            told = f"{len(names)} names of features, known_dimension {known}"
            self.tell("names", f"there are {self.d} weights, but {told}; expected as many")
            return
        first = list(names[: min(self.d, MOST_NAMES)])
        if not all(isinstance(name, str) for name in first) or len(set(first)) < len(first):
            self.tell("names", "two weights have the same name, or a name is not text")

    # planes

    def start(self) -> None:
        """Check the initial plane of training."""
        starts = [
            self.ask("start", self.application.start, self.few, np.random.default_rng(0))
            for _ in range(2)
        ]
        first = starts[0]
        if isinstance(first, FirstProblem):
            return
        if isinstance(first, Plane):
            self.check_shape("start", "all examples", first)
            if self.hard and abs(first.loss) > INEXACT * first.size(np.ones(self.d)):
                self.tell("start", f"start has the loss {first.loss:.6g}; expected 0")
            for name, w in self.weights:
                found = self.ask("completed", self.application.completed, w, self.few)
                self._less("start", "all examples", name, first, found.value(w), w)
            if isinstance(starts[1], Plane) and _bytes(first) != _bytes(starts[1]):
                self.tell(
                    "start",
                    "start gave two different results with the same seed; expected the same",
                )
        elif np.shape(first) != (self.d,) or not np.all(np.isfinite(first)):
            self.tell("start", f"start gave {first!r:.60}; expected {self.d} finite weights")

    def _less(
        self, what: str, name: str, at: str, plane: Plane, value: float, w: np.ndarray
    ) -> None:
        if plane.value(w) > value + INEXACT * plane.size(w):
            self.tell(
                what,
                f"{name}: latent completion at {at} has value {value:.6g}, but the plane of {what} "
                f"has {plane.value(w):.6g} there; expected a maximum",
            )

    def check_shape(self, what: str, name: str, plane: Any) -> None:
        """Raises FaultyAnswerError if the answer is not a plane of d finite numbers."""
        shape = np.shape(plane.gradient) if isinstance(plane, Plane) else type(plane).__name__
        if shape != (self.d,):
            self.tell(what, f"{name}: {what} gave {shape}; expected a plane of shape ({self.d},)")
            raise FaultyAnswerError
        bad = np.flatnonzero(~np.isfinite(np.append(plane.gradient, plane.loss)))
        if len(bad):
            place = int(bad[0])
            part = self.application.feature_names()[place] if place < self.d else "loss"
            value = plane.gradient[place] if place < self.d else plane.loss
            self.tell(what, f"{name}: {what} gave {value} for {part!r}; expected a finite number")
            raise FaultyAnswerError

    def found(self, i: int, w: np.ndarray) -> tuple[Plane, float, Plane]:
        """Both planes of a part, and the upper bound. Raises FaultyAnswerError."""
        app, part, name = self.application, self.parts[i], self.names[i]
        found = self.ask(f"{name}: augmented", app.augmented, w, part)
        if not isinstance(found, tuple) or len(found) != 2:
            self.tell("augmented", f"{name}: augmented did not return a plane and a bound")
            raise FaultyAnswerError
        completed = self.ask(f"{name}: completed", app.completed, w, part)
        self.check_shape("augmented", name, found[0])
        self.check_shape("completed", name, completed)
        return found[0], float(found[1]), completed

    def sums(self) -> None:
        """Planes of single examples, of their sum, again, and by threads."""
        self.augmented: dict[int, Stack] = {}
        self.completed: dict[int, Stack] = {}
        sums: list[list[Plane]] = [[] for _ in self.weights]
        digests: dict[tuple[int, int], bytes] = {}
        for i in range(len(self.parts)):
            found = []
            for k, w in enumerate(self.W):
                with suppress(FaultyAnswerError):
                    found.append(self.found(i, w))
                    digests[i, k] = _digest(found[-1])
            if len(found) == len(self.weights):
                self._bounds(i, found)
                for k, (plane, _, other) in enumerate(found):
                    sums[k] = [total([*sums[k][:1], plane]), total([*sums[k][1:], other])]
        self._again(digests)
        if len(self.augmented) < len(self.parts):
            return
        for (at, w), (above, below) in zip(self.weights, sums, strict=True):
            one = self.ask("augmented", self.application.augmented, w, self.few)[0]
            other = self.ask("completed", self.application.completed, w, self.few)
            self.near(f"augmented of all examples at {at}", one, above, w)
            self.near(f"completed of all examples at {at}", other, below, w)

    def near(self, what: str, plane: Plane, parts: Plane, w: np.ndarray) -> None:
        """Report two planes that should be equal and are not, up to rounding."""
        size = plane.size(w) + parts.size(w) + abs(plane.loss) + abs(parts.loss)
        gaps = np.abs(plane.gradient - parts.gradient)
        sizes = np.abs(plane.gradient) + np.abs(parts.gradient) + 1.0
        if abs(plane.value(w) - parts.value(w)) > INEXACT * size or np.any(gaps > 1e-6 * sizes):
            self.tell(
                "sums",
                f"{what} has value {plane.value(w):.6g}, but the sum of single examples has "
                f"{parts.value(w):.6g}, and the gradients differ by up to {gaps.max():.6g}; "
                "expected the same",
            )

    def _again(self, digests: dict[tuple[int, int], bytes]) -> None:
        """The same calls in sequence and in parallel: the same bytes."""
        asked = list(digests)
        for threads, how in ((1, "again"), (THREADS, "by threads")):
            with Executor(threads) as executor:
                answers = executor.map(self._digest_of, asked)
            for (i, k), answer in zip(asked, answers, strict=True):
                if answer != digests[i, k]:
                    self.tell(
                        "determinism",
                        f"{self.names[i]}: inference at {self.weights[k].name} gave other bytes "
                        f"when called {how} ({_shown(digests[i, k])}, then {_shown(answer)}); "
                        "expected the same answer",
                    )

    def _digest_of(self, place: tuple[int, int]) -> bytes | None:
        with suppress(FaultyAnswerError):
            return _digest(self.found(place[0], self.W[place[1]]))
        return None

    def _bounds(self, i: int, found: list[tuple[Plane, float, Plane]]) -> None:
        """Planes are lower bounds of their function at every w, and touch it at their own w."""
        name = self.names[i]
        above = self.augmented[i] = Stack([plane for plane, _, _ in found], self.W, self.hard)
        below = self.completed[i] = Stack([plane for _, _, plane in found], self.W, self.hard)
        uppers = np.array([upper for _, upper, _ in found])
        own = np.diag(above.values)
        for k in np.flatnonzero(uppers < own - np.diag(above.rounding))[:1]:
            self.tell(
                "upper",
                f"{name}: the upper bound at {self.weights[k].name} is {uppers[k]:.6g}, but the "
                f"value of the plane is {own[k]:.6g}; expected at least that",
            )
        if not np.all(np.isfinite(uppers)):
            return  # inference is not exact, and says so
        inference, completion = "loss-augmented inference", "latent completion"
        self._below(name, inference, uppers, above, f"the output of {inference}")
        self._below(name, inference, uppers, below, f"the output of {completion}")
        self._below(name, completion, np.diag(below.values), below, f"the output of {completion}")
        if self.hard:
            for what, losses, most in (
                (inference, above.losses, np.inf),
                (completion, below.losses, 0.0),
            ):
                wrong = np.flatnonzero((losses < -1e-9) | (losses > most + 1e-9))[:1]
                for k in wrong:
                    expected = "0" if most == 0.0 else "at least 0"
                    self.tell(
                        f"loss of {what}",
                        f"{name}: the loss of the output of {what} at {self.weights[k].name} is "
                        f"{losses[k]:.6g}; expected {expected}",
                    )

    def _below(self, name: str, what: str, values: np.ndarray, other: Stack, whose: str) -> None:
        """No plane of ``other`` may be above ``values``, (K,), at any w."""
        excess = other.values - values - other.rounding - INEXACT * np.abs(values)
        j, k = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[j, k] > 0.0:
            self.tell(
                f"{what} beside {whose}",
                f"{name}: {what} at {self.weights[k].name} has value {values[k]:.6g}, but {whose} "
                f"at {self.weights[j].name} has {other.values[j, k]:.6g} there; expected a maximum",
            )


def _bytes(plane: Plane) -> bytes:
    return np.append(plane.gradient, plane.loss).tobytes()


def _digest(found: tuple[Plane, float, Plane]) -> bytes:
    augmented, upper, completed = found
    parts = _bytes(augmented), np.float64(upper).tobytes(), _bytes(completed)
    return parts[1] + hashlib.sha256(b"".join(parts)).digest()


def _shown(digest: bytes | None) -> str:
    return "an error" if digest is None else f"value {np.frombuffer(digest[:8])[0]:.6g}"
