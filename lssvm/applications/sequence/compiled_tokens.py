"""What inference by example in C asks of the rows of tokens, without importing SciPy for it."""

import numpy as np

from lssvm.applications import base
from lssvm.applications.sequence.examples import SequenceExamples, is_one
from lssvm.kernels import _columns
from lssvm.problem import RowSums, squares_fit


class CompiledTokens(base.CompiledByExample[SequenceExamples]):
    """Sequences for which inference by example may run in C."""

    def has_example_oracle(self, examples: SequenceExamples) -> bool:
        """Whether squared lengths of rows are finite."""
        rows = examples.own_rows
        return squares_fit(rows.values if examples.is_sparse else rows.dense, examples.width)

    def row_sums(self, examples: SequenceExamples) -> RowSums:
        """Over the rows of tokens."""
        if not examples.is_sparse:
            return super().row_sums(examples)
        rows = examples.own_rows
        sums, values = np.zeros(examples.width), rows.values
        _columns.total(rows.indices, values[:0] if is_one(values) else values, sums)
        return RowSums(len(examples.labels), sums)
