"""Approximate inference by loopy belief propagation, and states by rounding its beliefs.

- If both temperatures are the same ε > 0, sum-product: value and expected features are the Bethe
  approximation (Yedidia, Freeman & Weiss, IEEE Transactions on Information Theory 51, 2005).
- If both are 0, max-product: every node takes the best state of its belief, the lowest of equal
  ones.
- If ε_y = 0 < ε_h, mixed-product (Liu & Ihler, JMLR 14, 2013): y is rounded in the same way.

Rounded states are then held fixed and the remaining variables are summed out exactly, so that value
and features are those of an actual state: a plane that bounds U⁺ from below. Only if the sum over h
given y is itself too wide, the Bethe approximation is used again. On a tree, sum-product and
max-product are exact once they have converged.
"""

from dataclasses import dataclass, replace

import numpy as np

from lssvm.applications.mrf.elimination import (
    Elimination,
    InferenceResult,
    Temperatures,
    potentials,
)
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.plans import CLAMPED, FIRST, SECOND
from lssvm.errors import LssvmError
from lssvm.kernels import _mrf, _mrf_bp
from lssvm.kernels.arrays import Schedule
from lssvm.offsets import cumulated


@dataclass(frozen=True)
class Propagation:
    """Belief propagation until no message changes by more than ``tolerance``, relatively.

    damping : share of the old message that is kept; sweeps : maximum number of updates of all
    messages
    parallel : whether all messages are updated at once, from those of the sweep before
    exact : sums over the remaining variables once states are rounded
    """

    exact: Elimination
    damping: float
    sweeps: int
    tolerance: float
    parallel: bool

    def infer(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        temperatures: Temperatures,
        *,
        charged: bool = False,
    ) -> InferenceResult:
        """As ``Elimination.infer``, approximately, with marginals.

        Raises LssvmError for temperatures that differ, unless that of y is 0.
        """
        labels = examples.labels[examples.nodes]
        if temperatures.apart and temperatures.second > 0.0:
            raise LssvmError(
                "belief propagation needs epsilon_y: 0, or epsilon_y equal to epsilon_h; "
                "expected such temperatures, or application.inference: exact or spanning-forests"
            )
        if temperatures.first == 0.0:
            groups = np.where(groups == CLAMPED, CLAMPED, SECOND).astype(np.int8)
        found = self._beliefs(w, examples, groups, labels, temperatures.first, charged)
        rounded = groups == SECOND
        if not temperatures.apart and temperatures.first > 0.0:
            return found
        states = np.where(rounded, modes(examples, found.marginals), labels).astype(np.int32)
        left = np.where(groups == FIRST, FIRST, CLAMPED).astype(np.int8)
        if np.all(self.exact.fits(examples, left)):
            rest = Temperatures(temperatures.first, temperatures.first)
            kept = self.exact.infer(
                w, examples, left, rest, states=states, charged=charged, marginals=True
            )
        else:
            kept = self._beliefs(w, examples, left, states, temperatures.first, charged)
        converged = found.converged & kept.converged
        return replace(kept, exact=False, converged=converged, propagated=len(examples))

    def _beliefs(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        states: np.ndarray,
        epsilon: float,
        charged: bool,
    ) -> InferenceResult:
        shares, values, _, changes = _mrf_bp.propagate(
            potentials(w, examples, charged),
            examples.arrays,
            np.ascontiguousarray(states, dtype=np.int32),
            groups.astype(np.uint8),
            examples.shapes(groups),
            Schedule(epsilon, self.damping, self.tolerance, self.sweeps, self.parallel),
        )
        gradient = _mrf.expected(shares, examples.arrays, len(w))
        marginals = shares[_of_nodes(examples)]
        return InferenceResult(
            values,
            _expected_losses(examples, marginals),
            gradient,
            marginals,
            exact=False,
            converged=changes <= self.tolerance,
            propagated=len(examples),
        )


def modes(examples: Graphs, marginals: np.ndarray) -> np.ndarray:
    """The most probable state of each node, the lowest of equal ones, (N,) int32."""
    counts = node_states(examples)
    starts = cumulated(counts)[:-1]
    best = np.repeat(np.maximum.reduceat(marginals, starts), counts)
    states = np.arange(len(marginals)) - np.repeat(starts, counts)
    outside = np.repeat(counts, counts)
    lowest = np.minimum.reduceat(np.where(marginals == best, states, outside), starts)
    return lowest.astype(np.int32)


def node_states(examples: Graphs) -> np.ndarray:
    """Number of states of each node of these graphs, (N,) int32."""
    return np.concatenate([examples.states(i) for i in range(len(examples))])


def _of_nodes(examples: Graphs) -> np.ndarray:
    """Whether each entry of the tables of these graphs is of a node."""
    counts = np.column_stack([np.diff(examples.node_offsets), np.diff(examples.edge_offsets)])
    items = np.repeat(np.tile([True, False], len(examples)), counts.ravel())
    own = slice(int(examples.item_offsets[0]), int(examples.item_offsets[-1]))
    return np.repeat(items, examples.tables[own])


def _expected_losses(examples: Graphs, marginals: np.ndarray) -> np.ndarray:
    """Expected number of wrong labels of each graph, (n,)."""
    labels = examples.labels[examples.nodes]
    starts = cumulated(node_states(examples))[:-1]
    known = labels >= 0
    wrong = np.zeros(len(labels))
    wrong[known] = 1.0 - marginals[starts[known] + labels[known]]
    return np.add.reduceat(wrong, examples.node_offsets[:-1] - examples.node_offsets[0])
