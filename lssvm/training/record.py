"""What a model's header says of its training, and what a run says at its end.

Nothing here depends on the clock but the summary, which is printed and never stored.
"""

import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lssvm.solvers.table import solver_class
from lssvm.training.cccp import Run, Summary
from lssvm.training.held_out import Scores

ALL_ZERO = (
    "all weights are zero: no w was found that is better than none; "
    "try a larger objective.C or more cccp.restarts"
)


def of_restart(run: Run, seed: int, restart: int, scores: Scores | None = None) -> dict[str, Any]:
    """How one restart ended; gap and lower bound are None where the solver knows none.

    scores : of held-out examples; where there are any, the objective is that of the best of them
    """
    held_out = None
    if scores is not None and scores.best >= 0:
        held_out = {"looks": scores.looks, "best": scores.best, "stopped": scores.stopped}
    bounded = bool(np.isfinite(run.lower))
    return {
        "seed": [seed, restart],
        "objective": run.objective,
        "concave": run.concave,
        "lower_bound": run.lower if bounded else None,
        "gap": run.gap if bounded else None,
        "certified": run.certified,
        "converged": run.converged,
        "iterations": run.iteration,
        "passes": round(run.passes),
        "passes_saved": run.solver.passes_saved,
        "completions": round(run.completions),
        "planes": run.solver.planes_kept,
        "history": [[objective, passes] for objective, passes in run.history],
        "held_out": held_out,
    }


def is_best(run: Run, finished: Sequence[Mapping[str, Any]]) -> bool:
    """Whether F is lower than after every earlier restart."""
    return all(run.objective < record["objective"] for record in finished)


def of_training(
    restarts: Sequence[dict[str, Any]],
    seed: int,
    w: np.ndarray,
    examples: Any,
    metrics: Mapping[str, float | None],
    validation: Mapping[str, float | None] | None,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """The record of a run: its best restart, the sums and the spread over all of them.

    metrics, validation : of the model on its training data, and on held-out data if there are any
    """
    objectives = np.array([restart["objective"] for restart in restarts])
    best = restarts[int(np.argmin(objectives))]
    return {
        "objective": best["objective"],
        "convex": best["objective"] - best["concave"],
        "concave": best["concave"],
        "lower_bound": best["lower_bound"],
        "gap": best["gap"],
        "certified": best["certified"],
        "converged": best["converged"],
        "cccp_iterations": best["iterations"],
        "passes": sum(restart["passes"] for restart in restarts),
        "passes_saved": sum(restart["passes_saved"] for restart in restarts),
        "completions": sum(restart["completions"] for restart in restarts),
        "planes": best["planes"],
        "seed": seed,
        "best_restart": int(np.argmin(objectives)),
        "held_out": best["held_out"],
        "restarts": list(restarts),
        "objective_mean": float(objectives.mean()),
        "objective_std": float(objectives.std(ddof=1)) if len(objectives) > 1 else 0.0,
        "training": dict(metrics),
        "validation": None if validation is None else dict(validation),
        "data_sha256": examples.fingerprint(),
        "n_examples": len(examples),
        "warnings": [*warnings, *([] if np.any(w) else [ALL_ZERO])],
    }


def summary(
    record: Mapping[str, Any],
    method: str,
    osqp_calls: int,
    seconds_inference: float,
    seconds_qp: float,
    seconds: float,
) -> Summary:
    """The summary of a run with this ``solver.method`` that took so many seconds in all."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Summary(
        objective=record["objective"],
        convex=record["convex"],
        concave=record["concave"],
        gap=np.inf if record["gap"] is None else record["gap"],
        certified=record["certified"],
        descent=solver_class(method).on_objective,
        iterations=record["cccp_iterations"],
        passes=record["passes"],
        passes_saved=record["passes_saved"],
        planes=record["planes"],
        osqp=osqp_calls,
        restarts=len(record["restarts"]),
        objective_mean=record["objective_mean"],
        objective_std=record["objective_std"],
        seconds_inference=seconds_inference,
        seconds_qp=seconds_qp,
        seconds_rest=max(0.0, seconds - seconds_inference - seconds_qp),
        peak_mb=peak / (1 << 20 if sys.platform == "darwin" else 1 << 10),
    )
