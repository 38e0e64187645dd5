"""Inner products of coefficients: of rows through their Gram matrix, of all else as they are."""

import numpy as np
from scipy import sparse


def images(w: np.ndarray, gram: np.ndarray, labels: int) -> np.ndarray:
    """The product of coefficients, (d,), with the unit vector of every coordinate."""
    rows = len(gram)
    if not rows:
        return w
    inner = gram @ w[: rows * labels].reshape(rows, labels)
    return np.concatenate([inner.ravel(), w[rows * labels :]])


def without_idle_rows(
    matrix: sparse.csr_array, gram: np.ndarray, labels: int
) -> tuple[sparse.csr_array, np.ndarray]:
    """Planes and Gram matrix without the rows of the latter that no plane has a coordinate of."""
    size, columns = len(gram) * labels, matrix.indices
    rows = np.unique(columns[columns < size] // labels)
    place = np.cumsum(np.isin(np.arange(len(gram)), rows)) - 1
    linear = columns - size + len(rows) * labels
    kernel = place[np.minimum(columns, size - 1) // labels] * labels + columns % labels
    indices = np.where(columns < size, kernel, linear)
    shape = matrix.shape[0], matrix.shape[1] - size + len(rows) * labels
    compact = sparse.csr_array((matrix.data, indices, matrix.indptr), shape=shape)
    return compact, gram[np.ix_(rows, rows)]
