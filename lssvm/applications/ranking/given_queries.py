"""Documents of queries that are given in memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.given import MEMORY, GivenRows, costs_of, numbered, rows_of, words_of
from lssvm.applications.index_base import IndexBase
from lssvm.applications.ranking.queries import Queries, check, packed
from lssvm.applications.ranking.query_scaling import QueryScaler
from lssvm.errors import LssvmError, counted


class FromRows:
    """Examples from arrays, packed as the rows of a file are."""

    options: Any
    indices: IndexBase
    scaler: QueryScaler

    def examples_from(
        self, X: Any, y: Any = None, *, qid: Any = None, costs: Any = None
    ) -> Queries:
        """The documents of queries that are given in memory, packed as those of files are.

        X : (documents, features) numbers: an array, a table (pandas, polars) or a sparse matrix
        y : (documents,) relevance; None: not known
        qid : (documents,) the query of each document, in any order; None: all are of one query
        costs : (queries,) the costs c_i of the queries in the order of their first documents, 1 by
            default

        The first examples determine the scales of features. Raises LssvmError for what cannot be
        used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "precision_at_k"}).create_application()
        >>> X = [[0.5, 1.0], [0.0, 2.0], [1.0, 1.0]]
        >>> examples = application.examples_from(X, [1, 0, 1], qid=["a", "b", "a"])
        >>> examples.names, examples.offsets, examples.positions
        (['a', 'b'], array([0, 2, 3]), array([0, 2, 1]))
        >>> examples.matrix()
        array([[0.5, 1. ],
               [1. , 1. ],
               [0. , 2. ]])
        """
        given = rows_of(X)
        n = len(given.offsets) - 1
        if not n:
            raise LssvmError("X: no documents; expected at least one")
        queries, names = words_of(np.zeros(n, dtype=int) if qid is None else qid, n)
        if self.indices.known is None:
            self.indices.known = 1
        file = GivenRows(
            labels=_relevance(y, n),
            queries=queries,
            names=names,
            offsets=given.offsets,
            indices=given.indices,
            values=given.values,
            comments=("",) * n,
            lines=numbered(n),
            base=self.indices.base,
            columns=given.width,
        )
        check(MEMORY, file)
        examples = packed([file], [MEMORY], self.options.relevant_from)
        return self.scaler.scaled(replace(examples, costs=costs_of(costs, len(names))))


def _relevance(y: Any, n: int) -> np.ndarray:
    """The labels of documents, (n,) float64, NaN where they are not known. Raises LssvmError."""
    if y is None:
        return np.full(n, np.nan)
    try:
        found = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LssvmError(f"y: {error}; expected a number for each document") from None
    if found.shape != (n,):
        raise LssvmError(
            f"y has the shape {found.shape} for {counted(n, 'document')}; expected ({n},)"
        )
    if np.any(np.isinf(found)):
        raise LssvmError("y: an infinite label; expected finite numbers")
    return found
