"""The QP of the bundle method: certified relative gap and CPU time, by method and size.

Natural duals come from real runs (tests/data/bundle_duals.npz, written by harvest_duals.py).
Synthetic duals have mixed norms, near duplicates or low rank, for C up to 1e4.

Usage: python -m experiments.benchmarks.qp_solvers
"""

import sys
import time
from pathlib import Path

import numpy as np

from lssvm.solvers.qp import SimplexQP

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from test_qp import natural, synthetic, value, vertex

KINDS = ("plain", "mixed norms", "near duplicates", "low rank")


def hard():
    """The name, Gram matrix and offsets of each synthetic dual."""
    for kind in KINDS:
        for C in (1e-2, 1.0, 1e2, 1e4):
            for k in (20, 100, 300):
                yield f"{kind} C={C:g} k={k}", *synthetic(kind, k, C)


def measured(method, gram, offsets):
    """The certified relative gap, CPU milliseconds (the best of three) and the calls of OSQP."""
    tolerance = 0.0 if method == "exact" else 1e-8 * np.abs(offsets).max()
    times = []
    for _ in range(3):
        solver = SimplexQP(method)
        began = time.process_time()
        solved = solver.solve(gram, offsets, vertex(len(offsets)), tolerance)
        times.append(1e3 * (time.process_time() - began))
    reached = value(gram, offsets, solved.beta)
    relative = solved.gap / reached if reached > 0.0 else np.inf
    return relative, min(times), max(solver.osqp_calls, 1)


def main():
    """Print one line for each kind of dual, size and method."""
    print("duals      method    cuts  worst relative gap  ms per call: median     max")
    for name, problems in (("natural", list(natural())), ("synthetic", list(hard()))):
        for method in ("exact", "osqp"):
            rows = {}
            for _, gram, offsets in problems:
                size = round(len(offsets), -1)
                gap, milliseconds, calls = measured(method, gram, offsets)
                rows.setdefault(size, []).append((gap, milliseconds / calls))
            for size, found in sorted(rows.items()):
                gaps, times = np.array(found).T
                print(
                    f"{name:10} {method:8} {size:5}  {gaps.max():18.1e}"
                    f"{np.median(times):19.2f}{times.max():8.2f}"
                )


if __name__ == "__main__":
    main()
