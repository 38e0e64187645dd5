"""Features of documents on like scales: over all training documents, or within each query.

``query_range`` is what LETOR calls QueryLevelNorm. Within a query nothing is learnt: the documents
of a query are scaled by themselves, in training and in prediction. What is subtracted is the same
for all documents of a query, and its order does not depend on it.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from lssvm.applications import scaling
from lssvm.applications.ranking.queries import Queries
from lssvm.applications.scaling import Scales

QueryScaling = Literal[
    "none",
    "max_abs",
    "standard",
    "range",
    "query_max_abs",
    "query_standard",
    "query_range",
]
WITHIN = "query_"
KINDS = (*scaling.BY_DATA, *(f"{WITHIN}{kind}" for kind in scaling.BY_DATA))
DESCRIPTION = (
    f"{scaling.DESCRIPTION}; query_max_abs, query_standard, query_range: the same, but within each "
    "query by its own documents"
)


class QueryScaler(scaling.Scaler):
    """The scales of the features of documents, or those of each query."""

    def scaled(self, examples: Queries, count: int = 0) -> Queries:
        """Queries with scaled features. Raises DataError for a value that overflows."""
        if self.kind == scaling.NONE or not len(examples):
            return examples
        if self.kind not in scaling.BY_DATA:
            return scaled_within(self.kind, examples)
        self.scales = self.scales or learnt(self.kind, examples)
        return scaled(self.scales, examples)


def learnt(kind: str, examples: Queries) -> Scales:
    """The scales of the features of all documents."""
    return scaling.scales_of(kind, _facts(examples), centred=not len(examples.starts))


def largest_values(examples: Queries) -> np.ndarray:
    """The largest absolute value of each feature, (d,)."""
    return _facts(examples).largest


def scaled(scales: Scales, examples: Queries) -> Queries:
    """With features on these scales; dense values change in place. Raises DataError.

    Sparse rows are divided, even if the training data were dense and something was subtracted:
    scores of documents then change by the same number, w · shifts / factors.
    """
    shifts, factors = scales.resized(examples.dimension)
    if len(examples.starts):
        values = scaling.divided(examples.values, factors[examples.indices])
        return _finite(replace(examples, values=values))
    for block in _blocks(examples):
        with np.errstate(over="ignore"):
            block -= shifts[:, None]
            block /= factors[:, None]
    return _finite(examples)


def scaled_within(kind: str, examples: Queries) -> Queries:
    """With the features of each query on their own scales; dense values change in place.

    kind : begins with ``query_``. Raises DataError.
    """
    kind = kind.removeprefix(WITHIN)
    if len(examples.starts):
        codes, counts = _codes(examples)
        facts = scaling.facts_by_code(codes, examples.values, counts)
        factors = scaling.scales_of(kind, facts, centred=False).factors
        return _finite(replace(examples, values=scaling.divided(examples.values, factors[codes])))
    for block in _blocks(examples):
        shifts, factors = scaling.scales_of(kind, scaling.facts_of(block.T), centred=True)
        block -= shifts[:, None]
        block /= factors[:, None]
    return _finite(examples)


def _facts(examples: Queries) -> scaling.Facts:
    if len(examples.starts):
        counts = np.full(examples.dimension, len(examples.labels))
        return scaling.facts_by_code(examples.indices, examples.values, counts)
    return scaling.facts_of_blocks([block.T for block in _blocks(examples)])


def _blocks(examples: Queries) -> list[np.ndarray]:
    """The values of each query as views, (d, documents)."""
    d = examples.dimension
    return [
        examples.dense[a * d : b * d].reshape(d, b - a)
        for a, b in pairwise(examples.offsets.tolist())
    ]


def _codes(examples: Queries) -> tuple[np.ndarray, np.ndarray]:
    """A number for the query and the feature of each value, and its query's documents by number."""
    query = np.repeat(examples.query_of, np.diff(examples.starts))
    pairs, codes = np.unique(query * examples.dimension + examples.indices, return_inverse=True)
    return codes, np.diff(examples.offsets)[pairs // examples.dimension]


def _finite(examples: Queries) -> Queries:
    """The same. Raises DataError for a query with a value that overflows."""
    lost = np.flatnonzero(~np.isfinite(examples.values if len(examples.starts) else examples.dense))
    if len(lost):
        document = lost[0] // examples.dimension
        if len(examples.starts):
            document = np.searchsorted(examples.starts, lost[0], side="right") - 1
        row = int(np.searchsorted(examples.offsets, document, side="right")) - 1
        raise examples.error(
            row, "has a value that overflows when it is scaled; expected smaller ones"
        )
    return examples
