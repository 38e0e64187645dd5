"""A small application for tests of what surrounds applications: lines ``label 1.5 2``."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, TextIO

import numpy as np
from pydantic import Field

from lssvm.applications import base
from lssvm.errors import DataError
from lssvm.plane import Plane


class LinesOptions(base.Options):
    name: Literal["lines"] = "lines"
    length: int = Field(ge=1, le=50, examples=[2], description="numbers on a line")
    scale: float = Field(default=1.0, gt=0, description="factor of every number")
    kind: Literal["plain", "fancy"] = Field(default="plain", description="only plain works")
    widths: Annotated[tuple[int, ...], Field(max_length=3)] = Field(
        default=(), description="unused"
    )
    bias: bool = Field(default=True, description="whether a constant feature is added")


class LinesExamples:
    def __init__(self, features: np.ndarray, labels: np.ndarray, costs: np.ndarray) -> None:
        self.features, self.labels, self.costs = features, labels, costs
        self.sizes = np.ones(len(labels), dtype=np.int64)
        self.names = [str(number) for number in range(1, len(labels) + 1)]
        self.labelled = bool(np.all(labels != 0))

    def __len__(self) -> int:
        return len(self.labels)

    def slice(self, start: int, stop: int) -> "LinesExamples":
        return self.take(np.arange(start, stop))

    def take(self, rows: np.ndarray) -> "LinesExamples":
        return LinesExamples(self.features[rows], self.labels[rows], self.costs[rows])

    def fingerprint(self) -> str:
        parts = (self.features, self.labels, self.costs)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


class Lines(base.Application):
    """An example is a label and numbers; nothing is hidden."""

    Options: ClassVar[type[base.Options]] = LinesOptions
    models: ClassVar[frozenset[str]] = frozenset({"lssvm", "ssvm"})

    def read(self, sources: Sequence[base.Source]) -> LinesExamples:
        rows, labels, costs = [], [], []
        for source in sources:
            try:
                with open(source.path, encoding="utf-8") as file:
                    lines = file.read().splitlines()
            except OSError as error:
                raise DataError(source.path, None, f"cannot be read: {error.strerror}") from None
            for number, line in enumerate(lines, 1):
                label, *values = line.split()
                if len(values) != self.options.length:
                    wrong = f"expected {self.options.length} numbers, got {len(values)}"
                    raise DataError(source.path, number, wrong)
                rows.append([float(value) for value in values])
                labels.append(int(label if source.label is None else source.label))
                costs.append(source.cost)
        features = np.array(rows) * self.options.scale
        if self.options.bias:
            features = np.hstack([features, np.ones((len(rows), 1))])
        return LinesExamples(features, np.array(labels), np.array(costs))

    def dimension(self, examples: LinesExamples) -> int:
        return self.options.length + self.options.bias

    def start(self, examples: LinesExamples, rng: np.random.Generator) -> Plane:
        return self.completed(np.zeros(self.dimension(examples)), examples)

    def augmented(self, w: np.ndarray, examples: LinesExamples) -> tuple[Plane, float]:
        side = examples.labels * (examples.features @ w)
        wrong = 1.0 - side > side
        output = np.where(wrong, -examples.labels, examples.labels)
        plane = Plane((output * examples.costs) @ examples.features, float(examples.costs @ wrong))
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: LinesExamples) -> Plane:
        return Plane((examples.labels * examples.costs) @ examples.features, 0.0)

    def predict(self, w: np.ndarray, examples: LinesExamples, top: int = 1) -> Any:
        return examples.features @ w

    def score(self, examples: LinesExamples, predictions: Any) -> dict[str, float | None]:
        wrong = np.where(predictions > 0, 1, -1) != examples.labels
        return {"error": 100 * float(wrong.mean()), "examples": len(examples), "auc": None}

    def write(self, examples: LinesExamples, predictions: Any, file: TextIO) -> None:
        for name, score in zip(examples.names, predictions, strict=True):
            file.write(f"{name}\t{score:.6g}\n")

    def records(self, examples: LinesExamples, predictions: Any) -> Iterator[dict[str, Any]]:
        for name, score in zip(examples.names, predictions, strict=True):
            yield {"id": name, "y": 1 if score > 0 else -1, "score": float(score)}

    def summary(self, w: np.ndarray, examples: LinesExamples) -> dict[str, np.ndarray]:
        return {}

    def feature_names(self) -> list[str]:
        names = [f"number_{j}" for j in range(1, self.options.length + 1)]
        return names + ["bias"] * self.options.bias

    def warnings(self, examples: LinesExamples) -> list[str]:
        return ["all examples have one label"] if len(set(examples.labels)) == 1 else []
