"""The inference that each task needs, and the graphs for which it is exact.

With ``spanning-forests``, graphs that are too wide are decomposed into forests for loss-augmented
inference; prediction is the same as with ``auto``, and completion is exact.

Unknown labels are hidden values like any other, except that they are predicted.
"""

from dataclasses import replace

import numpy as np

from lssvm.applications.mrf.elimination import Elimination, InferenceResult, Temperatures
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.plans import CLAMPED, FIRST, SECOND, Plans
from lssvm.applications.mrf.propagation import Propagation, node_states
from lssvm.applications.mrf.spanning import spread
from lssvm.formats.mrf_text import HIDDEN
from lssvm.offsets import cumulated, gathered

AUGMENTED, COMPLETED, PREDICTED, SUMMED = "augmented", "completed", "predicted", "summed"


class Inference:
    """Exact inference, approximate inference, or (``auto``) the latter for wide graphs only."""

    def __init__(self, kind: str, exact: Elimination, approximate: Propagation) -> None:
        self.kind = kind
        self.exact = exact
        self.approximate = approximate

    def infer(
        self,
        task: str,
        w: np.ndarray,
        examples: Graphs,
        temperatures: Temperatures,
        *,
        charged: bool = False,
        marginals: bool = False,
    ) -> InferenceResult:
        """Values, losses and expected features, and marginals if requested.

        charged : whether Δ is added to the score
        Raises DataError for a graph that is too wide if all inference is to be exact.
        """
        groups = _groups(task, examples.labels[examples.nodes], temperatures.apart)
        kind = self.kind
        if kind == "spanning-forests":
            if task == AUGMENTED:
                return self._bound(w, examples, groups, temperatures, charged)
            kind = "exact" if task == COMPLETED else "auto"
        fits = np.full(len(examples), kind == "exact")
        if kind == "auto":
            fits = self.exact.fits(examples, groups)
        if np.all(fits):
            return self.exact.infer(
                w, examples, groups, temperatures, charged=charged, marginals=marginals
            )
        if not np.any(fits):
            return self.approximate.infer(w, examples, groups, temperatures, charged=charged)
        return self._both(w, examples, groups, temperatures, fits, charged)

    def approximated(self, examples: Graphs, temperatures: Temperatures) -> np.ndarray:
        """The graphs whose prediction is approximate, (n,) bool."""
        if self.kind in ("exact", "bp"):
            return np.full(len(examples), self.kind == "bp")
        groups = _groups(PREDICTED, examples.labels[examples.nodes], temperatures.apart)
        return ~self.exact.fits(examples, groups)

    def fits(self, examples: Graphs) -> bool:
        """Whether inference is exact for all of these graphs at equal temperatures."""
        groups = _groups(AUGMENTED, examples.labels[examples.nodes], apart=False)
        return self.kind != "bp" and bool(np.all(self.exact.fits(examples, groups)))

    def plans(self, task: str, examples: Graphs) -> Plans:
        """How nodes are eliminated at equal temperatures. Raises DataError for a wide graph."""
        groups = _groups(task, examples.labels[examples.nodes], apart=False)
        return self.exact.planned(examples, groups, apart=False)

    def _bound(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        temperatures: Temperatures,
        charged: bool,
    ) -> InferenceResult:
        """The bound by forests, which replaces the value."""
        key = ("forests", groups.tobytes())
        if key not in examples.cache:
            examples.cache[key] = spread(examples, self.exact.fits(examples, groups))
        parts, counts = examples.cache[key]
        own = _groups(AUGMENTED, parts.labels, temperatures.apart)
        found = self.exact.infer(w, parts, own, temperatures, charged=charged)
        starts = cumulated(counts)[:-1]
        return replace(
            found,
            values=np.add.reduceat(found.values, starts) / counts,
            losses=np.add.reduceat(found.losses, starts) / counts,
            converged=np.ones(len(examples), dtype=bool),
        )

    def _both(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        temperatures: Temperatures,
        fits: np.ndarray,
        charged: bool,
    ) -> InferenceResult:
        """Exact inference for graphs that are not too wide, approximate for the others."""
        key = ("parts", fits.tobytes())
        if key not in examples.cache:
            rows = (np.flatnonzero(fits), np.flatnonzero(~fits))
            examples.cache[key] = [(own, examples.take(own)) for own in rows]
        (narrow, first), (wide, second) = examples.cache[key]
        offsets = examples.node_offsets - examples.node_offsets[0]
        parts = [groups[gathered(offsets, rows)[0]] for rows in (narrow, wide)]
        exact = self.exact.infer(w, first, parts[0], temperatures, charged=charged, marginals=True)
        rough = self.approximate.infer(w, second, parts[1], temperatures, charged=charged)
        order = np.argsort(np.concatenate([narrow, wide]))
        edges = cumulated(np.concatenate([node_states(first), node_states(second)]))
        both = cumulated(
            np.concatenate([np.diff(first.node_offsets), np.diff(second.node_offsets)])
        )
        entries, _ = gathered(edges[both], order)
        return InferenceResult(
            np.concatenate([exact.values, rough.values])[order],
            np.concatenate([exact.losses, rough.losses])[order],
            exact.gradient + rough.gradient,
            np.concatenate([exact.marginals, rough.marginals])[entries],
            exact=False,
            converged=np.concatenate([exact.converged, rough.converged])[order],
            propagated=rough.propagated,
        )


def _groups(task: str, labels: np.ndarray, apart: bool) -> np.ndarray:
    """CLAMPED, FIRST or SECOND for each node, (nodes,) int8.

    If the temperatures are equal, the order of the two groups does not matter.
    """
    groups = np.full(len(labels), FIRST, dtype=np.int8)
    if task == COMPLETED:
        groups[labels >= 0] = CLAMPED
    elif apart:
        groups[labels >= 0 if task == AUGMENTED else labels != HIDDEN] = SECOND
    return groups
