"""Rows of features with labels, given in memory."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.given import MEMORY, GivenRows, costs_of, numbered, rows_of, words_of
from lssvm.applications.index_base import IndexBase
from lssvm.applications.multiclass.labelled_rows import LabelledRows
from lssvm.applications.reading import Source
from lssvm.formats.svmlight import SvmLight


class FromArrays:
    """Examples from arrays, packed as the rows of a file are."""

    indices: IndexBase

    @abstractmethod
    def _of_files(self, files: list[SvmLight], sources: Sequence[Source]) -> LabelledRows:
        """The examples of files that were read. Raises DataError."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> LabelledRows:
        """Examples from arrays; the first ones determine the classes and the features.

        X : (n, features) numbers: an array, a table (pandas, polars) or a sparse matrix of SciPy
        y : (n,) labels, numbers or words; None, in it or instead of it: not known
        costs : (n,) the costs c_i of the examples, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "multiclass"}).create_application()
        >>> examples = application.examples_from([[1.0, 0.0], [0.0, 2.0]], ["a", "b"])
        >>> examples.dense  # a constant feature is appended
        array([[1., 0., 1.],
               [0., 2., 1.]])
        >>> examples.labels, application.classes
        (array([0, 1], dtype=int32), ('a', 'b'))
        """
        given = rows_of(X)
        n = len(given.offsets) - 1
        labels, words = words_of(y, n)
        if self.indices.known is None:
            self.indices.known = 1
        rows = GivenRows(
            labels=labels,
            queries=np.full(n, -1, dtype=np.int32),
            names=(),
            offsets=given.offsets,
            indices=given.indices,
            values=given.values,
            comments=("",) * n,
            lines=numbered(n),
            words=words,
            base=self.indices.base,
            columns=given.width,
        )
        examples = self._of_files([rows], [MEMORY])
        return replace(examples, costs=costs_of(costs, n))
