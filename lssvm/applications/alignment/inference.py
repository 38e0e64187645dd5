"""Inference for candidates: best alignments, sums over them, and their features."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.partners import counted
from lssvm.applications.alignment.scoring import Scoring
from lssvm.kernels import _alignment
from lssvm.kernels.alignment_arrays import AlignmentArrays


@dataclass(frozen=True)
class Alignments:
    """Alignments of pairs of sequences.

    partners : (letters of every x,) int32, of one pair after another
    model : scores of gaps and ends where they were found
    given : (p,) or one for all, whether they are those of files
    """

    arrays: AlignmentArrays
    partners: np.ndarray
    model: tuple[float, float, int]
    given: np.ndarray | bool

    def gradients(self, scoring: Scoring) -> sparse.csr_array:
        """Φ of each, (p, d)."""
        found = counted(self.arrays, self.partners, self.model, scoring.codes, self.given)
        return scoring.gradients(found.rows, found.pairs, found.gaps)

    def scores(self, scoring: Scoring, w: np.ndarray) -> np.ndarray:
        """(w + w₀) · Φ of each, (p,)."""
        table, model = scoring.scores(w)
        found = counted(self.arrays, self.partners, self.model, scoring.codes, self.given)
        pairs = np.bincount(found.rows, table.ravel()[found.pairs], len(found.gaps))
        return pairs + found.gaps @ np.array(model[:2])

    def gradient(self, scoring: Scoring, weights: np.ndarray) -> np.ndarray:
        """Σ weights · Φ, (d,)."""
        found = counted(self.arrays, self.partners, self.model, scoring.codes, self.given)
        pairs = np.bincount(found.pairs, weights[found.rows], scoring.codes**2)
        return scoring.gradient(pairs, weights @ found.gaps)


def truth(examples: AlignmentExamples, scoring: Scoring) -> Alignments:
    """The alignments of the files."""
    arrays = examples.pairs(examples.true_places)
    return Alignments(arrays, examples.true_partners(arrays), (0.0, 0.0, scoring.ends), True)


def values(w: np.ndarray, arrays: AlignmentArrays, scoring: Scoring, epsilon: float) -> np.ndarray:
    """ε log Σ exp(w · Φ / ε) over the alignments of each pair, their maximum if ε is 0."""
    table, model = scoring.scores(w)
    if epsilon == 0.0:
        return _alignment.best(arrays, table, model, traced=False)[0]
    return epsilon * _alignment.sums(arrays, table / epsilon, scaled(model, epsilon))[0]


def expected(
    w: np.ndarray,
    examples: AlignmentExamples,
    weights: np.ndarray,
    scoring: Scoring,
    epsilon: float,
) -> np.ndarray:
    """Σ weights · E[Φ] over the alignments of candidates, (d,); of the best ones if ε is 0.

    weights : of every candidate, (candidates,)
    """
    chosen = np.flatnonzero(weights)
    if epsilon == 0.0:
        return best(w, examples.pairs(chosen), scoring).gradient(scoring, weights[chosen])
    own = np.ascontiguousarray(weights[chosen])
    return summed(w, examples.pairs(chosen), own, scoring, epsilon)[1]


def summed(
    w: np.ndarray,
    arrays: AlignmentArrays,
    weights: np.ndarray,
    scoring: Scoring,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The sums of :func:`values` of each pair, and Σ weights · E[Φ], (d,), in one pass; ε > 0."""
    table, model = scoring.scores(w)
    found = _alignment.sums(arrays, table / epsilon, scaled(model, epsilon), weights)
    return epsilon * found[0], scoring.gradient(found[1].ravel(), found[2])


def best(w: np.ndarray, arrays: AlignmentArrays, scoring: Scoring) -> Alignments:
    """The best alignment of each pair."""
    table, model = scoring.scores(w)
    _, partners = _alignment.best(arrays, table, model)
    return Alignments(arrays, partners, model, False)


def scaled(model: tuple[float, float, int], epsilon: float) -> tuple[float, float, int]:
    """The scores of gaps divided by a temperature."""
    return model[0] / epsilon, model[1] / epsilon, model[2]


def highest(scores: np.ndarray, starts: np.ndarray, *, last: bool = False) -> np.ndarray:
    """Where each group of scores is highest, (n,) flat places; the first one, or the last one.

    starts : (n + 1,) offsets; no group is empty
    """
    tops = np.maximum.reduceat(scores, starts[:-1])
    equal = np.flatnonzero(scores == np.repeat(tops, np.diff(starts)))
    if last:
        return equal[np.searchsorted(equal, starts[1:]) - 1]
    return equal[np.searchsorted(equal, starts[:-1])]
