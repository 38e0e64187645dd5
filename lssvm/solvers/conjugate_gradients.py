"""Conjugate gradients over the free multipliers of planes that are kept by example.

Block steps find out which multipliers are free, but they are slow along directions in which many
examples move together. Along such directions conjugate gradients are fast.
"""

from typing import Any

import numpy as np

from lssvm import sparse

CG_SHARE = 1e-3  # conjugate gradients stop at this share of the first gradient's norm
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)  # step lengths that are tried in turn
SUM_ROUNDING = 1e-12  # relative rounding error of a sum of multipliers
FLAT = 1e-12  # smaller curvature, relative to that of single planes, is taken as rounding error


def climb(sets: Any, most: int) -> None:
    """Raise the dual over the free multipliers, by conjugate gradients.

    Multipliers above 0 are free; where the multipliers of an example use up u_i, their sum stays
    fixed. Conjugate gradients ignore the bounds. The step that they find is then projected to the
    bounds, and shortened until the dual rises (gradient projection, Moré & Toraldo 1991).

    sets : the planes and multipliers, WorkingSets or KeptOutputs, which are changed
    most : the highest number of conjugate gradient steps
    """
    face = _Face(sets)
    if not len(face.planes):
        return
    slopes = face.projected(face.slopes())
    moves, residual = np.zeros(len(slopes)), slopes
    direction = residual
    square = first = float(residual @ residual)
    for _ in range(most):
        if square <= CG_SHARE**2 * first:
            break
        change = face.projected(face.curvature(direction))
        curve = float(direction @ change)
        if curve <= FLAT * face.scale * float(direction @ direction):
            # Without bounds the dual rises for ever in this direction: go as far as they allow.
            moves = direction * (sets.limits.max() / np.abs(direction).max())
            break
        step = square / curve
        moves = moves + step * direction
        residual = residual - step * change
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    for share in SHARES:
        if face.follow(share * moves):
            return


class _Face:
    """The multipliers of working sets that are free to move together.

    planes : (k,) their planes; owner : (k,) the example of each plane
    tight : (k,) whether the sum of that example is fixed
    left : (n,) by how much each sum may grow; scale : the largest ‖δ‖²
    active, gram : with a kernel function, the rows δ, (k, fewer than d), and the Gram matrix, both
        without the coordinates that no δ has, so that products are cheap; else None and empty
    """

    def __init__(self, sets: Any) -> None:
        self.sets = sets
        alpha, owner = sets.alpha, sets.owner
        free = alpha > 0.0
        n = len(sets.limits)
        left = sets.limits - sets.sums() if sets.norm == 1 else np.full(n, np.inf)
        tight = left <= SUM_ROUNDING * sets.limits
        alone = np.bincount(owner[free], minlength=n) == 1
        self.planes = np.flatnonzero(free & ~(tight & alone)[owner]).astype(np.int32)
        self.owner = owner[self.planes]
        self.tight = tight[self.owner]
        self.left = np.where(tight, 0.0, left)
        self.active: sparse.csr_array | None = None
        self.gram = sets.gram
        if len(sets.gram):
            matrix = sets.matrix(self.planes)
            self.active, self.gram = _without_idle_rows(matrix, sets.gram, sets.labels)
        self.counts = np.maximum(np.bincount(self.owner, minlength=n), 1)
        self.scale = float(sets.column("squares")[self.planes].max(initial=0.0))

    def _summed(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.owner, values, minlength=len(self.counts))

    def projected(self, values: np.ndarray) -> np.ndarray:
        """The projection of values (k,) to those that leave the sums of tight examples fixed."""
        means = (self._summed(values) / self.counts)[self.owner]
        return np.where(self.tight, values - means, values)

    def slopes(self) -> np.ndarray:
        """The gradient ∂D/∂α, (k,)."""
        sets = self.sets
        slopes = sets.losses[self.planes] + sets.dots(self.planes, sets.kernel_scores())
        if sets.norm == 2:
            slopes = slopes - sets.shares(sets.sums())[self.owner]
        return slopes

    def curvature(self, direction: np.ndarray) -> np.ndarray:
        """The product of −∂²D/∂α² with a direction, (k,)."""
        change = self._dots(self._kernel_scores(self._combined(direction)))
        if self.sets.norm == 2:
            change = change + self.sets.shares(self._summed(direction))[self.owner]
        return change

    def follow(self, moves: np.ndarray) -> bool:
        """Add moves (k,) to the multipliers, within their bounds, if that raises the dual.

        Returns whether it does; w changes with the multipliers.
        """
        sets = self.sets
        own = sets.alpha[self.planes]
        alpha = np.maximum(0.0, own + moves)
        sums, most = self._summed(alpha), self._summed(own) + self.left
        over = sums > most
        factors = np.where(over, most / np.where(over, sums, 1.0), 1.0)
        alpha *= factors[self.owner]
        change = alpha - own
        w = self._combined(change)
        rise = float(change @ self.slopes()) - 0.5 * float(w @ self._kernel_scores(w))
        if sets.norm == 2:
            rise -= 0.5 * float(np.sum(sets.shares(self._summed(change) ** 2)))
        if not rise > 0.0:
            return False
        sets.alpha[self.planes] = alpha
        sets.refresh()
        return True

    def _combined(self, coefficients: np.ndarray) -> np.ndarray:
        if self.active is None:
            return self.sets.combined(self.planes, coefficients)
        return self.active.T @ coefficients

    def _dots(self, kernel_scores: np.ndarray) -> np.ndarray:
        if self.active is None:
            return self.sets.dots(self.planes, kernel_scores)
        return self.active @ kernel_scores

    def _kernel_scores(self, w: np.ndarray) -> np.ndarray:
        return kernel_scores_of(w, self.gram, self.sets.labels)


def kernel_scores_of(w: np.ndarray, gram: np.ndarray, labels: int) -> np.ndarray:
    """The product of coefficients, (d,), with the unit vector of every coordinate."""
    rows = len(gram)
    if not rows:
        return w
    inner = gram @ w[: rows * labels].reshape(rows, labels)
    return np.concatenate([inner.ravel(), w[rows * labels :]])


def _without_idle_rows(
    matrix: "sparse.csr_array", gram: np.ndarray, labels: int
) -> "tuple[sparse.csr_array, np.ndarray]":
    """The planes and the Gram matrix without those of its rows in which no plane has an entry."""
    size, columns = len(gram) * labels, matrix.indices
    rows = np.unique(columns[columns < size] // labels)
    place = np.cumsum(np.isin(np.arange(len(gram)), rows)) - 1
    linear = columns - size + len(rows) * labels
    kernel = place[np.minimum(columns, size - 1) // labels] * labels + columns % labels
    indices = np.where(columns < size, kernel, linear)
    shape = matrix.shape[0], matrix.shape[1] - size + len(rows) * labels
    compact = sparse.csr_array((matrix.data, indices, matrix.indptr), shape=shape)
    return compact, gram[np.ix_(rows, rows)]
