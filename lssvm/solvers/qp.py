"""The quadratic program of the bundle method, over the unit simplex.

    maximise  o · β − ½ β' G β   over  β ≥ 0, Σ β = 1

No solver's own word is taken for the accuracy: every answer is put back on the simplex and
its gap max(o − G β) − β · (o − G β), which bounds the distance to the maximum, is computed
here. The exact steps come from ``lssvm.kernels._simplex``; this module alone imports OSQP.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lssvm import sparse
from lssvm.kernels import _simplex

OSQP_SETTINGS = {
    "polishing": True,  # without it OSQP says "solved" at relative gaps of 6e-2
    "scaling": 10,
    "adaptive_rho": True,
    "adaptive_rho_interval": 50,  # counted in iterations: a rule by time is not repeatable
    "max_iter": 4000,
    "check_termination": 25,
    "warm_starting": True,
    "verbose": False,
}
OSQP_EPSILONS = (1e-6, 1e-8)
EXACT_STEPS = 5000
PAIRWISE_STEPS = 2000


@dataclass
class Solved:
    """Multipliers and what is known of them.

    beta : (k,) on the simplex
    gap : proved bound on the distance to the maximum, in units of the objective
    osqp_calls : how often OSQP was called
    """

    beta: np.ndarray
    gap: float
    osqp_calls: int = 0


@dataclass
class SimplexQP:
    """Solves the QPs of a growing bundle one after another, each from the last answer.

    method : ``auto`` tries warm active-set steps first, then OSQP, then pairwise and
        active-set steps from the best point; ``osqp`` is OSQP alone; ``exact`` is never OSQP
    dual : the multipliers y of OSQP's constraints at its last answer
    """

    method: str = "auto"
    dual: np.ndarray = field(default_factory=lambda: np.empty(0))
    osqp_calls: int = 0

    def solve(
        self, gram: np.ndarray, offsets: np.ndarray, start: np.ndarray, tolerance: float
    ) -> Solved:
        """Multipliers whose gap is at most ``tolerance``, or the best that was found.

        gram : (k, k), offsets : (k,), start : (k,) on the simplex, all float64
        """
        gram, offsets = np.ascontiguousarray(gram), np.ascontiguousarray(offsets)
        best = Solved(start, _gap(gram, offsets, start))
        if self.method != "osqp":
            best = _better(best, _exact(gram, offsets, best.beta, tolerance))
            if best.gap > tolerance:
                tolerance = max(tolerance, _rounding(gram, best.beta))
        if self.method != "exact":
            for epsilon in OSQP_EPSILONS:
                if best.gap <= tolerance:
                    return best
                best = _better(best, self._osqp(gram, offsets, best.beta, epsilon))
        if self.method != "osqp" and best.gap > tolerance:
            beta = best.beta.copy()
            residual = np.empty_like(beta)
            _simplex.pairwise(gram, offsets, beta, residual, tolerance, PAIRWISE_STEPS)
            best = _better(best, _exact(gram, offsets, beta, tolerance))
        return best

    def keep(self, rows: np.ndarray) -> None:
        """Follow a bundle that dropped all multipliers but those in ``rows``."""
        places = np.concatenate([[0], rows + 1])
        self.dual = self.dual[places[places < len(self.dual)]]

    def _osqp(
        self, gram: np.ndarray, offsets: np.ndarray, start: np.ndarray, epsilon: float
    ) -> Solved:
        """OSQP's answer put back on the simplex; infinite gap where it gave none.

        The objective is divided by its largest offset, so that the tolerance means the same
        for every C and every loss.
        """
        import osqp  # here alone: to check a configuration must not cost what its import does

        k = len(offsets)
        scale = np.abs(offsets).max() or 1.0
        constraints = sparse.vstack([np.ones((1, k)), sparse.identity(k)], format="csc")
        lower = np.concatenate([[1.0], np.zeros(k)])
        upper = np.concatenate([[1.0], np.full(k, np.inf)])
        dual = np.zeros(k + 1)
        dual[: min(len(self.dual), k + 1)] = self.dual[: k + 1]
        while True:
            try:
                with _silenced():
                    problem = osqp.OSQP()
                    problem.setup(
                        _upper_triangle(gram / scale),
                        -offsets / scale,
                        constraints,
                        lower,
                        upper,
                        eps_abs=epsilon,
                        eps_rel=epsilon,
                        **OSQP_SETTINGS,
                    )
                    problem.warm_start(x=start, y=dual)
                    answer = problem.solve(raise_error=False)
            except osqp.OSQPException:  # its matrix could not be factored
                return Solved(start, np.inf, 1)
            self.osqp_calls += 1
            if answer.info.status_val != osqp.SolverStatus.OSQP_SIGINT:
                break
            # OSQP keeps the interrupt to itself. Hand it to our own handler and solve
            # again, so that an interrupted run takes the same path as one that was not.
            signal.raise_signal(signal.SIGINT)
        beta = _on_simplex(answer.x)
        if beta is None:
            return Solved(start, np.inf, 1)
        self.dual = np.nan_to_num(np.asarray(answer.y, dtype=np.float64))
        return Solved(beta, _gap(gram, offsets, beta), 1)


class _Muted:
    """Standard output without what some threads write to it.

    OSQP prints its errors and "Solver interrupted" whatever ``verbose`` says, by way of
    ``sys.stdout``, which other threads may be using at the same time.
    """

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.changing = threading.Lock()
        self.before: Any = None

    def write(self, text: str) -> int:
        if threading.get_ident() in self.threads or self.before is None:
            return len(text)
        return self.before.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)


_muted = _Muted()


@contextmanager
def _silenced() -> Iterator[None]:
    """Nothing that this thread prints within the block reaches standard output."""
    with _muted.changing:
        if not _muted.threads:
            _muted.before, sys.stdout = sys.stdout, _muted
        _muted.threads.add(threading.get_ident())
    try:
        yield
    finally:
        with _muted.changing:
            _muted.threads.discard(threading.get_ident())
            if not _muted.threads and sys.stdout is _muted:
                sys.stdout = _muted.before


def _better(old: Solved, new: Solved) -> Solved:
    best = new if new.gap < old.gap else old
    return Solved(best.beta, best.gap, old.osqp_calls + new.osqp_calls)


def _exact(gram: np.ndarray, offsets: np.ndarray, start: np.ndarray, tolerance: float) -> Solved:
    beta = start.copy()
    _simplex.active_set(gram, offsets, beta, np.empty_like(beta), tolerance, EXACT_STEPS)
    projected = _on_simplex(beta)
    if projected is None:
        return Solved(start, np.inf)
    return Solved(projected, _gap(gram, offsets, projected))


def _gap(gram: np.ndarray, offsets: np.ndarray, beta: np.ndarray) -> float:
    gap = _simplex.residual(gram, offsets, beta, np.empty_like(beta))
    return max(0.0, gap) if np.isfinite(gap) else np.inf


def _rounding(gram: np.ndarray, beta: np.ndarray) -> float:
    """The size of the rounding in o − G β: a gap of this size cannot be told from none."""
    return 8.0 * float(np.finfo(np.float64).eps * (np.abs(gram) @ beta).max())


def _on_simplex(beta: np.ndarray | None) -> np.ndarray | None:
    """Negative multipliers cut off and the rest scaled to sum 1; None if that is impossible."""
    if beta is None or not np.all(np.isfinite(beta)):
        return None
    clipped = np.maximum(np.asarray(beta, dtype=np.float64), 0.0)
    total = clipped.sum()
    return clipped / total if total > 0.0 else None


def _upper_triangle(gram: np.ndarray) -> "sparse.csc_matrix":
    """The upper triangle by columns, zeros kept: SciPy would drop them from the pattern."""
    k = len(gram)
    rows = np.concatenate([np.arange(j + 1) for j in range(k)])
    columns = np.repeat(np.arange(k), np.arange(1, k + 1))
    starts = np.concatenate([[0], np.cumsum(np.arange(1, k + 1))])
    return sparse.csc_matrix((gram[rows, columns], rows, starts), shape=(k, k))
