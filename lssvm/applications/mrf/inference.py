"""Which task asks what of inference, and which graphs get it exactly.

Labels that are not known are hidden values like any other, but they are predicted.
"""

import numpy as np

from lssvm.applications.mrf.elimination import Elimination, Found, Temperatures
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.plans import CLAMPED, FIRST, SECOND
from lssvm.applications.mrf.propagation import Propagation, node_states
from lssvm.applications.packing import cumulated, gathered
from lssvm.formats.mrf_text import HIDDEN

AUGMENTED, COMPLETED, PREDICTED, SUMMED = "augmented", "completed", "predicted", "summed"


class Inference:
    """Exact inference, belief propagation, or (``auto``) the one where the other is too wide."""

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
    ) -> Found:
        """Values, losses and expected features, and marginals where asked for.

        charged : whether Δ is added to the score
        Raises DataError for a graph that is too wide if all inference is to be exact.
        """
        groups = _groups(task, examples.labels[examples.nodes], temperatures.apart)
        fits = np.full(len(examples), self.kind == "exact")
        if self.kind == "auto":
            fits = self.exact.fits(examples, groups)
        if np.all(fits):
            return self.exact.infer(
                w, examples, groups, temperatures, charged=charged, marginals=marginals
            )
        if not np.any(fits):
            return self.approximate.infer(w, examples, groups, temperatures, charged=charged)
        return self._both(w, examples, groups, temperatures, fits, charged)

    def _both(
        self,
        w: np.ndarray,
        examples: Graphs,
        groups: np.ndarray,
        temperatures: Temperatures,
        fits: np.ndarray,
        charged: bool,
    ) -> Found:
        """Exact where it fits, approximate elsewhere."""
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
        return Found(
            np.concatenate([exact.values, rough.values])[order],
            np.concatenate([exact.losses, rough.losses])[order],
            exact.gradient + rough.gradient,
            np.concatenate([exact.marginals, rough.marginals])[entries],
            exact=False,
            converged=np.concatenate([exact.converged, rough.converged])[order],
        )


def _groups(task: str, labels: np.ndarray, apart: bool) -> np.ndarray:
    """CLAMPED, FIRST or SECOND for each node, (nodes,) int8.

    Where the temperatures are equal their order does not matter, and any may be taken.
    """
    groups = np.full(len(labels), FIRST, dtype=np.int8)
    if task == COMPLETED:
        groups[labels >= 0] = CLAMPED
    elif apart:
        groups[labels >= 0 if task == AUGMENTED else labels != HIDDEN] = SECOND
    return groups
