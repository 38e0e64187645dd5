"""What a session says at its end: it depends on the clock, so it is printed and never stored."""

import resource
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lssvm.plane import MEGABYTE
from lssvm.solvers.table import solver_class
from lssvm.training.cccp import Summary
from lssvm.training.distributed.traffic import Traffic
from lssvm.training.record import keeps_earlier


class Spent(NamedTuple):
    """What the runs of a session took in this process.

    inference : seconds in the oracle; solver : seconds in solvers, outside of it
    osqp : quadratic programs that OSQP solved
    """

    inference: float = 0.0
    solver: float = 0.0
    osqp: int = 0


def summary(
    record: Mapping[str, Any],
    method: str,
    spent: Spent,
    seconds: float,
    traffic: Traffic | None = None,
) -> Summary:
    """The summary of a run with this ``solver.method`` that took so many seconds in all.

    traffic : with workers; None without any
    """
    network = traffic or Traffic()
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
        osqp=spent.osqp,
        restarts=len(record["restarts"]),
        objective_mean=record["objective_mean"],
        objective_std=record["objective_std"],
        seconds_inference=spent.inference,
        seconds_qp=spent.solver,
        seconds_rest=max(0.0, seconds - spent.inference - spent.solver),
        peak_mb=peak / (1 << 20 if sys.platform == "darwin" else 1 << 10),
        workers=network.workers,
        sent_mb=network.sent / MEGABYTE,
        received_mb=network.received / MEGABYTE,
        communication=network.share,
        workers_lost=network.lost,
        earlier=keeps_earlier(record),
    )
