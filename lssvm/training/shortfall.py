"""Why a run did not reach the precision that was asked for, and what may help."""

from lssvm.model import Model
from lssvm.solvers.table import solver_class

STALLED = "the solver stalled: its passes no longer narrow the gap"


def shortfall(model: Model) -> tuple[str, str]:
    """The reason why a run that fell short did, and advice; its record tells both."""
    record = model.record
    if not record["certified"]:
        if record["converged"]:
            advice = "no bound is known where inference is approximate, whatever the settings"
            return "the gap is not certified", advice
        return "the gap is not certified", _longer(model)
    stalled = record.get("stalled", False)
    why = STALLED if stalled else f"{_spent(model)} ran out"
    if record.get("uneven"):
        return why, "set application.scaling, as the scales of features differ much"
    if stalled:
        return why, f"raise {_goal(model)}; more passes would not help"
    return why, _longer(model)


def _outer(model: Model) -> bool:
    """Whether it was CCCP, and not the solver of a convex problem, that ended the run."""
    config, most = model.config, model.config["cccp"]["max_iterations"]
    single = solver_class(config["solver"]["method"]).single_problem
    hidden = model.application.hidden and not single
    return hidden and model.record["cccp_iterations"] >= most


def _spent(model: Model) -> str:
    return "the CCCP iterations" if _outer(model) else "the passes"


def _goal(model: Model) -> str:
    """The key that sets the precision which the last convex problem was short of."""
    near = model.record["gap"] <= model.config["solver"]["epsilon"]
    return "cccp.tolerance" if near and model.application.hidden else "solver.epsilon"


def _longer(model: Model) -> str:
    if not _outer(model):
        return f"raise solver.max_passes or {_goal(model)}"
    near = _goal(model) == "cccp.tolerance"
    return f"raise cccp.max_iterations or cccp.tolerance{'' if near else ', or solver.epsilon'}"
