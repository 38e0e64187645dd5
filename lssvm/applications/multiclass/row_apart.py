"""Rows of features in files that are read apart, wherever they lie."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications import scaling
from lssvm.applications.apart import ReadsApart, Taught
from lssvm.applications.class_costs import BALANCED, factors_of, listed
from lssvm.applications.index_base import IndexBase
from lssvm.applications.multiclass.labelled_rows import (
    DENSE_FROM,
    UNKNOWN,
    LabelledRows,
    alike,
    first_lines,
    in_order,
    packed,
    read_file,
    with_labels_alike,
)
from lssvm.applications.names import NumberedNames
from lssvm.applications.reading import Source
from lssvm.applications.scaling import Scaler
from lssvm.errors import DataError

_WEIGHT = 8  # bytes


class RowFacts(NamedTuple):
    """What a file of rows teaches.

    words : its labels in the order of their first rows; counts : rows of each, lines : its first
    base : the first index that the file can have; dimension : columns up to its highest index
    widest : the line of that index, 0 without any; values : how many are given
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]
    lines: tuple[int, ...]
    base: int
    dimension: int
    widest: int
    values: int

    def columns(self, base: int) -> int:
        """Columns up to the highest index, counted from ``base``."""
        return self.dimension + self.base - base if self.dimension else 0


class Plan(NamedTuple):
    """What rows are packed with, beside the state.

    dense : whether all of them are; factors : of the costs by label
    """

    dense: bool
    factors: Mapping[str, float]


class RowsApart(ReadsApart[LabelledRows]):
    """A classifier of rows whose files are read one by one."""

    options: Any
    indices: IndexBase
    scaler: Scaler
    classes: tuple[str, ...]
    features: int
    columns: Any
    decomposes: bool
    columns_of: Callable[..., Any]
    losses_of: Callable[..., Any]

    @abstractmethod
    def fix(self, classes: Sequence[str], features: int) -> None:
        """Set the classes and the number of features. Raises ValueError."""

    def why_together(self) -> str:
        """Scales are learnt from all rows."""
        kind = self.options.scaling
        return "" if kind == scaling.NONE else f"application.scaling: {kind}"

    def taught(self, source: Source) -> Taught:
        """Labels, widths and counts of a file. Raises DataError."""
        file = read_file(source, self.indices.known, self.indices.why)
        counts = np.bincount(file.labels, minlength=len(file.words))
        widest = file.widest_line if file.dimension else 0
        facts = RowFacts(
            file.words,
            tuple(counts.tolist()),
            tuple(first_lines(file).values()),
            file.base,
            file.dimension,
            widest,
            len(file.values),
        )
        return Taught(len(file.labels), facts)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> Plan:
        """Classes, features and the first index. Raises DataError as ``read`` would."""
        facts: list[RowFacts] = [each.facts for each in taught]
        if self.indices.known is None:
            self.indices.known = min(fact.base for fact in facts)
        counts = _counted(facts)
        classes = in_order(counts)
        check_class_costs(self.options.class_costs, classes, sources)
        try:
            self._check_dimensions(facts, sources, len(self.columns_of(classes)))
            base = self.indices.base
            self.fix(classes, max(fact.columns(base) for fact in facts))
        except ValueError as error:
            lines = [dict(zip(fact.words, fact.lines, strict=True)) for fact in facts]
            raise self._placed(error, lines, sources, classes) from None
        rows, values = sum(each.examples for each in taught), sum(fact.values for fact in facts)
        found = np.array([counts[name] for name in classes])
        costs = self.options.class_costs
        factors = factors_of(costs, found, classes) if costs else np.ones(len(classes))
        dense = values >= DENSE_FROM * rows * self.features
        return Plan(dense, dict(zip(classes, factors.tolist(), strict=True)))

    def read_share(self, sources: Sequence[Source], plan: Plan, before: int) -> LabelledRows:
        """The rows of neighbouring files, their costs those of training. Raises DataError."""
        files = with_labels_alike(self.indices.read(sources, read_file), self.classes)
        bias, columns = self.options.bias, len(self.columns)
        found = packed(files, sources, self.classes, self.features, bias, columns, dense=plan.dense)
        if self.options.class_costs and found.labelled:
            factors = np.array([plan.factors[name] for name in self.classes])
            found = replace(found, costs=found.costs * factors[found.labels])
        return replace(found, numbers=found.numbers + before)

    def largest_of(self, examples: LabelledRows) -> np.ndarray:
        """The largest absolute value of each feature, the constant one left out."""
        bias = self.options.bias > 0.0
        return scaling.facts_of(examples.inputs[:, : examples.width - bias]).largest

    def scale_warnings_of(self, largest: np.ndarray) -> list[str]:
        """A warning if the scales of features differ much."""
        names = NumberedNames(self.features, self.indices.base)
        return scaling.uneven(largest, names, scaling.BY_DATA)

    def _check_dimensions(
        self, facts: Sequence[RowFacts], sources: Sequence[Source], columns: int
    ) -> None:
        """Raise DataError for a feature with which the weights take more memory than allowed."""
        base = self.indices.base
        for fact, source in zip(facts, sources, strict=True):
            check_width(source, fact.columns(base), fact.widest, columns, base)

    def _placed(
        self,
        error: ValueError,
        lines: Sequence[Mapping[str, int]],
        sources: Sequence[Source],
        classes: Sequence[str],
    ) -> DataError:
        """The error with the place of the first row whose label causes it by itself.

        lines : of each file, the line of the first row with each label
        """
        for name in classes:
            try:
                self.columns_of([name])
                self.losses_of([name], [name])
            except ValueError as own:
                for file, source in zip(lines, sources, strict=True):
                    if name in file:
                        return DataError(source.path, file[name], own)
        return DataError(sources[0].path, None, error)


def check_class_costs(
    given: str | Mapping[str, float], labels: Sequence[str], sources: Sequence[Source]
) -> None:
    """Raise DataError without labels, or for the cost of a label that there is not."""
    if not labels:
        raise DataError(sources[0].path, None, "no labels; expected labels for training")
    unknown = [name for name in ([] if given == BALANCED else given) if name not in labels]
    if unknown:
        message = f"class_costs: no example has label {unknown[0]!r}; expected one"
        raise DataError(sources[0].path, None, f"{message} of {listed(labels)}")


def check_width(source: Source, width: int, line: int, columns: int, base: int) -> None:
    """Raise DataError for a feature with which the weights take more memory than allowed.

    line : the first one with that feature
    """
    if width * columns * _WEIGHT > source.limit.bytes:
        what = f"feature {width - 1 + base:,d}: a model of {columns:,d} columns so wide"
        raise source.limit.exceeded(source.path, line, what)


def _counted(facts: Sequence[RowFacts]) -> dict[str, int]:
    """The rows of each label, labels written as they first occur."""
    found: dict[str, int] = {}
    first: dict[str, str] = {}
    for fact in facts:
        for word, own in zip(alike(fact.words, first), fact.counts, strict=True):
            if word != UNKNOWN:
                found[word] = found.get(word, 0) + own
    return found
