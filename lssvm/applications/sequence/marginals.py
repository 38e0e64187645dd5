"""Expected features of a conditional random field on sparse rows; see ``problem.Gathering``."""

from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.row_sums import summed
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.kernels import _sequence_soft
from lssvm.offsets import cumulated
from lssvm.problem import Each

_PIECE = 1 << 14  # tokens whose variances are computed at a time


class Marginals(NamedTuple):
    """Marginal probabilities and expectations of a block of sequences.

    rows : (tokens, L) the marginal probabilities of labels, times the cost of the sequence
    others : the part of Σ c_i E[Φ(x_i, y)] that does not belong to features of tokens
    value : Σ c_i log Z_i
    """

    rows: np.ndarray
    others: np.ndarray
    value: float


def marginals_of(examples: SequenceExamples, weights: Any) -> Marginals:
    """The marginals and expectations under the distribution exp(w · Φ) / Z."""
    costs = examples.costs
    rows, logz, others = _sequence_soft.moments(examples.arrays, costs, weights)
    if np.any(costs != 1.0):
        rows *= np.repeat(costs, np.diff(examples.offsets))[:, None]
    return Marginals(rows, others, float(np.sum(costs * logz)))


def gradient(examples: SequenceExamples, whole: Marginals, each: Each) -> np.ndarray:
    """Σ c_i E[Φ(x_i, y)], (d,), from the marginals of all examples."""
    return _in_all(examples, whole.rows, whole.others, each)


def curvature(examples: SequenceExamples, whole: Marginals, each: Each) -> np.ndarray:
    """An estimate of the Hessian's diagonal, (d,); the marginals of all examples are overwritten.

    For features of tokens it is their variance as if tokens were independent, c p (1 − p) times the
    square of the value; for transitions it is their expected count.
    """
    rows, others, _ = whole
    costs = np.repeat(examples.costs, np.diff(examples.offsets))[:, None]

    def vary(first: int) -> None:
        piece = slice(first, first + _PIECE)
        own, cost = rows[piece], costs[piece]
        shares = np.divide(own, cost, out=np.zeros_like(own), where=cost > 0.0)
        np.subtract(1.0, shares, out=shares)
        own *= np.maximum(shares, 0.0, out=shares)

    each(vary, range(0, len(rows), _PIECE))
    return _in_all(examples, rows, others, each, power=2)


def joined(parts: list[Marginals], each: Each) -> Marginals:
    """The marginals of all blocks; those of a block leave ``parts`` as soon as they are copied.

    A single block is not copied. At the end ``parts`` holds nothing but the result.
    """
    if len(parts) > 1:
        others = parts[0].others.copy()
        for part in parts[1:]:
            others += part.others
        ends = cumulated([len(part.rows) for part in parts])
        rows, value = np.empty((int(ends[-1]), parts[0].rows.shape[1])), sum(p.value for p in parts)
        none = parts[0]._replace(rows=rows[:0])

        def copy(place: int) -> None:
            rows[ends[place] : ends[place + 1]] = parts[place].rows
            parts[place] = none

        each(copy, range(len(parts)))
        parts[:] = [Marginals(rows, others, value)]
    return parts[0]


def _in_all(
    examples: SequenceExamples,
    rows: np.ndarray,
    others: np.ndarray,
    each: Each,
    power: int = 1,
) -> np.ndarray:
    """The sum over tokens of their values, to a power, times rows; then ``others``, summed. (d,)"""
    emissions = examples.width * examples.label_count
    found = np.empty(emissions + len(others))
    found[emissions:] = others
    columns = examples.columns
    if power != 1:
        columns = columns._replace(values=columns.values**power)
    summed(columns, rows, found[:emissions].reshape(examples.width, -1), each)
    return found
