"""What fits together in a configuration: models, formulations, solvers and applications.

Each function gives what is wrong as pairs of a place in the document and a message.
"""

from collections.abc import Mapping
from typing import Any

from lssvm.applications.base import Application, ByExample
from lssvm.config.faults import nearest, shown
from lssvm.config.yaml12 import Document, Place

DEFAULT_MODEL = "lssvm"
ANNEALED = "epsilon"  # the model whose temperatures are settings
TEMPERATURES = ("epsilon_y", "epsilon_h")
USUAL_MODELS = (DEFAULT_MODEL, "ssvm")  # the first of them that an application has is its default
ONE_SLACK = {"bundle", "cutting-plane"}
BY_EXAMPLE = {"n-slack", "bcfw"}  # solvers that need planes of single examples
DESCENT = {"lbfgs", "sgd"}  # solvers that work on F itself


def default_model(kind: type[Application]) -> str:
    """The model that an application is trained with unless the configuration names one."""
    return next((name for name in USUAL_MODELS if name in kind.models), min(kind.models))


def meaningful(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for a reader: temperatures are left out where the model has none to set."""
    objective = settings.get("objective")
    if not isinstance(objective, Mapping):
        return dict(settings)
    unset = {key for key in TEMPERATURES if objective.get(key) is None}
    kept = {key: value for key, value in objective.items() if key not in unset}
    return {**settings, "objective": kept}


def unfit(kind: type[Application], document: Document) -> list[tuple[Place, str]]:
    """A model or formulation of the objective that the application does not have."""
    objective = document.value.get("objective", {})
    if not isinstance(objective, dict):
        return []
    known = {"model": kind.models, "rescaling": kind.rescalings, "slack_norm": kind.slack_norms}
    name, faults = document.value["application"]["name"], []
    for key, values in known.items():
        value, choices = objective.get(key), sorted(values, key=str)
        if type(value) is not type(choices[0]) or value in values:
            continue
        has = ", ".join(map(str, choices))
        near = nearest(value, map(str, choices))
        wrong = f"application {name!r} has no {key} {shown(value)}{near}"
        place = document.place(("objective", key))
        faults.append((place, f"objective.{key}: {wrong} (known: {has})"))
    return faults + _temperatures(kind, document) + _unsolvable(kind, document)


def _temperatures(kind: type[Application], document: Document) -> list[tuple[Place, str]]:
    """Temperatures that are missing, or given for a model that fixes them."""
    objective = document.value.get("objective", {})
    annealed = objective.get("model", default_model(kind)) == ANNEALED
    faults = []
    for key in TEMPERATURES:
        if (objective.get(key) is not None) != annealed:
            wrong = (
                "missing; expected a number" if annealed else "expected objective.model: epsilon"
            )
            faults.append((document.place(("objective", key)), f"objective.{key}: {wrong}"))
    return faults


def _unsolvable(kind: type[Application], document: Document) -> list[tuple[Place, str]]:
    """A solver that cannot solve what the objective asks for."""
    objective, solver = document.value.get("objective", {}), document.value.get("solver", {})
    if not isinstance(objective, dict) or not isinstance(solver, dict):
        return []
    method, norm = solver.get("method", "bundle"), objective.get("slack_norm", 1)
    model = objective.get("model", default_model(kind))
    if not isinstance(method, str) or not isinstance(model, str):
        return []  # the schema refuses them
    place = document.place(("solver", "method"))
    if method in BY_EXAMPLE and not issubclass(kind, ByExample):
        name = document.value["application"]["name"]
        wrong = f"{method} needs planes by example, which application {name!r} does not give"
        return [(place, f"solver.method: {wrong}; expected bundle or cutting-plane")]
    if method == "lbfgs" and model not in kind.smooth:
        smooth = ", ".join(sorted(kind.smooth)) or "none here"
        wrong = f"lbfgs needs a smooth objective.model ({smooth})"
        return [(place, f"solver.method: {wrong}; expected bundle or n-slack")]
    if method == "lbfgs" and any(objective.get(key) == 0 for key in TEMPERATURES):
        wrong = "lbfgs needs objective.epsilon_y and epsilon_h above 0"
        return [(place, f"solver.method: {wrong}; expected bundle")]
    if method == "sgd" and not kind.decomposes:
        name = document.value["application"]["name"]
        wrong = f"sgd needs a loss of each example, which application {name!r} does not have"
        return [(place, f"solver.method: {wrong}; expected bundle or gradient")]
    cached = issubclass(kind, ByExample) and not kind.hidden
    if solver.get("cache") and (method not in ONE_SLACK or not cached):
        wrong = "a cache is for bundle and cutting-plane, and applications without hidden values"
        return [(document.place(("solver", "cache")), f"solver.cache: {wrong}; expected 0")]
    if norm in (0, 2) and norm in kind.slack_norms and method != "n-slack":
        wrong = f"{method} cannot solve objective.slack_norm: {norm}"
        return [(place, f"solver.method: {wrong}; expected n-slack")]
    return []


def unstoppable(config: Any, document: Document) -> list[tuple[Place, str]]:
    """Held-out scores without what they need."""
    if not config.held_out.every:
        return []
    place = document.place(("held_out", "every"))
    if not config.data.validate_:
        return [(place, "held_out.every: there are no files under data.validate; expected some")]
    if config.cccp.restarts > 1:
        return [(place, "held_out.every: expected cccp.restarts: 1, as F alone compares restarts")]
    if config.kernel.type != "linear" and not config.kernel.explicit:
        return [(place, "held_out.every: expected kernel.type: linear, or kernel.explicit: true")]
    if config.objective.slack_norm == 0:
        return [(place, "held_out.every: expected objective.slack_norm: 1 or 2")]
    return []
