"""Queries in files that are read apart, wherever they lie."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications import scaling
from lssvm.applications.apart import Ask, ReadsApart, Taught
from lssvm.applications.index_base import IndexBase
from lssvm.applications.names import NumberedNames
from lssvm.applications.ranking.queries import (
    DENSE_FROM,
    MOST_FEATURES,
    Plan,
    Queries,
    no_label,
    packed,
    read_file,
)
from lssvm.applications.ranking.query_scaling import KINDS, QueryScaler, largest_values
from lssvm.applications.reading import Source
from lssvm.errors import DataError, counted


class QueryFacts(NamedTuple):
    """What a file of queries teaches.

    documents : how many; unknown : how many have no label; line : of the first of these
    base : the first index that the file can have; dimension : columns up to its highest index
    values : how many are given
    """

    documents: int
    unknown: int
    line: int
    base: int
    dimension: int
    values: int

    def columns(self, base: int) -> int:
        """Columns up to the highest index, counted from ``base``."""
        return self.dimension + self.base - base if self.dimension else 0


class QueriesApart(ReadsApart[Queries]):
    """A ranking of documents whose files are read one by one."""

    options: Any
    k: int
    indices: IndexBase
    scaler: QueryScaler

    def why_together(self) -> str:
        """Scales are learnt from all documents, but for those within a query."""
        kind = self.options.scaling
        return f"application.scaling: {kind}" if kind in scaling.BY_DATA else ""

    def taught(self, source: Source) -> Taught:
        """Widths and counts of a file. Raises DataError."""
        file = read_file(source, self.indices.known, self.indices.why)
        unknown = np.flatnonzero(np.isnan(file.labels))
        line = int(file.lines[unknown[0]]) if len(unknown) else 0
        n, values = len(file.labels), len(file.values)
        facts = QueryFacts(n, len(unknown), line, file.base, file.dimension, values)
        return Taught(len(file.names), facts)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> Plan:
        """The first index. Raises DataError if only some labels are known."""
        facts: list[QueryFacts] = [each.facts for each in taught]
        documents, unknown = sum(fact.documents for fact in facts), [f.unknown for f in facts]
        if 0 < sum(unknown) < documents:
            first = next(number for number, count in enumerate(unknown) if count)
            raise no_label(sources[first], facts[first].line)
        if self.indices.known is None:
            self.indices.known = min(fact.base for fact in facts)
        dimension = max(1, *(fact.columns(self.indices.base) for fact in facts))
        values = sum(fact.values for fact in facts)
        return Plan(dimension, values >= DENSE_FROM * documents * dimension)

    def read_share(self, sources: Sequence[Source], plan: Plan, before: int) -> Queries:
        """The queries of neighbouring files. Raises DataError."""
        files = self.indices.read(sources, read_file)
        return self.scaler.scaled(packed(files, sources, self.options.relevant_from, plan))

    def start_facts(self, examples: Queries) -> tuple[bool, bool, bool, int, str]:
        """Whether a query is trained on, has relevant documents, and has labels; documents, file.

        The file is the first one.
        """
        positives, sizes = examples.relevant_counts, np.diff(examples.offsets)
        trained = (positives > 0) & (positives < sizes) & (sizes > self.k)
        told = bool(positives.any())
        documents = int(examples.offsets[-1] - examples.offsets[0])
        return bool(trained.any()), told, bool(examples.labelled), documents, examples.paths[0]

    def check_start(self, ask: Ask) -> list[int]:
        """The documents of each share. Raises DataError if there is no query to train on."""
        trained, told, labelled, documents, paths = zip(*ask("start_facts"), strict=True)
        if not any(trained):
            problem = "no query has a relevant document"
            if not all(labelled):
                problem = "labels are not known ('?')"
            elif any(told):
                least = counted(self.k + 1, "document")
                problem = f"no query has {least} or more, relevant and other ones"
            wrong = f"{problem}; expected at least one such query for training"
            raise DataError(paths[0], None, wrong)
        return list(documents)

    def largest_of(self, examples: Queries) -> np.ndarray:
        """The largest absolute value of each feature."""
        return largest_values(examples)

    def scale_warnings_of(self, largest: np.ndarray) -> list[str]:
        """A warning if the scales of features differ much."""
        names = NumberedNames(MOST_FEATURES, self.indices.base)
        return scaling.uneven(largest, names, KINDS)
