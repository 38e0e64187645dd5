"""What a model's header says of its training. Nothing here depends on the clock."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lssvm.training.cccp import Run
from lssvm.training.held_out import Scores
from lssvm.training.problem import Problem

Metrics = Mapping[str, float | None]


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
        **({"stalled": True} if run.solver.stalled and not run.converged else {}),
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


def of_training(restarts: Sequence[dict[str, Any]], seed: int) -> dict[str, Any]:
    """The best restart, the sums and the spread over all of them."""
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
        **({"stalled": True} if best.get("stalled") else {}),
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
    }


def of_zero_weights(hidden: bool) -> str:
    """A warning that all weights are zero. hidden : whether F may have several minima"""
    told = "all weights are zero: no w with a lower objective was found; try a larger objective.C"
    if hidden:
        return f"{told} or more cccp.restarts"
    return f"{told} or a smaller solver.epsilon, and look whether the inputs tell the outputs apart"


def keeps_earlier(record: Mapping[str, Any]) -> bool:
    """Whether the weights are not the last ones, but those that were best on held-out data."""
    held = record.get("held_out")
    return held is not None and bool(held["stopped"] or held["best"] < len(held["looks"]) - 1)


def whose_gap(gap: float, earlier: bool) -> str:
    """What a gap is that of. earlier : see ``keeps_earlier``"""
    if not earlier:
        return "of the last convex problem"
    bound = "; no bound above 0 is known there" if gap == 1.0 else ""
    return f"of the kept weights, the best on held-out data{bound}"


def of_data(problem: Problem, training: Metrics, validation: Metrics | None) -> dict[str, Any]:
    """What was trained on, and the model's scores there and on held-out data if there are any."""
    return {
        "training": dict(training),
        "validation": None if validation is None else dict(validation),
        "data_sha256": problem.fingerprint,
        "n_examples": len(problem.data.examples),
    }
