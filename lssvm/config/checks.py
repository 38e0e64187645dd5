"""What fits together in a configuration: models, formulations, solvers and applications.

Each function gives what is wrong as pairs of a place in the document and a message.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lssvm.applications.base import ANNEALED, Application, ByExample, answers_in_c
from lssvm.config.faults import shown
from lssvm.config.yaml12 import Document, Place
from lssvm.errors import nearest
from lssvm.smoothing import Smoothed
from lssvm.solvers.needs import Asked
from lssvm.solvers.table import AUTO, CLASSES, solver_class

DEFAULT_MODEL = "lssvm"
TEMPERATURE_KEYS = ("epsilon_y", "epsilon_h")
USUAL_MODELS = (DEFAULT_MODEL, "ssvm")  # the first of them that an application has is its default


def default_model(kind: type[Application]) -> str:
    """The model that an application is trained with unless the configuration names one."""
    return next((name for name in USUAL_MODELS if name in kind.models), min(kind.models))


def meaningful(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for a reader: temperatures are left out where the model has none to set."""
    objective = settings.get("objective")
    if not isinstance(objective, Mapping):
        return dict(settings)
    unset = {key for key in TEMPERATURE_KEYS if objective.get(key) is None}
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
        why = kind.refused_models.get(str(value)) if key == "model" else None
        wrong = f"application {name!r} has no {key} {shown(value)}{f': {why}' if why else near}"
        place = document.place(("objective", key))
        faults.append((place, f"objective.{key}: {wrong} (known: {has})"))
    return faults + _temperatures(kind, document) + _unsolvable(kind, document)


def _temperatures(kind: type[Application], document: Document) -> list[tuple[Place, str]]:
    """Temperatures that are missing, or given for a model that fixes them."""
    objective = document.value.get("objective", {})
    annealed = objective.get("model", default_model(kind)) == ANNEALED
    faults = []
    for key in TEMPERATURE_KEYS:
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
    method, model = solver.get("method", AUTO), objective.get("model", "")
    if not isinstance(method, str) or method not in CLASSES or not isinstance(model, str):
        return []  # the schema refuses them, or the choice is made when the data are known
    section = document.value["application"]
    asked = asked_of(kind, section["name"], objective, section)
    needs = solver_class(method).needs
    unmet = needs.unmet(asked)
    if unmet:
        able = [name for name in CLASSES if not solver_class(name).needs.unmet(asked)]
        expected = either(able) if able else "another objective or loss, as no solver can do this"
        place = document.place(("solver", "method"))
        return [(place, f"solver.method: {method} {unmet}; expected {expected}")]
    if solver.get("cache") and not (needs.cache and gives_each(kind) and not kind.hidden):
        caching = either(name for name in CLASSES if solver_class(name).needs.cache)
        wrong = f"a cache needs the solver {caching}, and an application without hidden values"
        return [(document.place(("solver", "cache")), f"solver.cache: {wrong}; expected 0")]
    return []


def gives_each(kind: type[Application]) -> bool:
    """Whether an application gives planes of single examples."""
    return issubclass(kind, ByExample)


def kernel_solvers() -> list[str]:
    """The names of the solvers that can work on rows of a kernel."""
    return [name for name in CLASSES if solver_class(name).needs.kernels]


def asked_of(
    kind: type[Application],
    name: str,
    objective: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> Asked:
    """What the section ``objective`` asks the solver of an application with this name to do.

    options : of the application
    """
    norm, model = objective.get("slack_norm", 1), objective.get("model", default_model(kind))
    return Asked(
        application=name,
        each=gives_each(kind),
        compiled=answers_in_c(kind) and model in kind.compiled_models,
        decomposes=kind.decomposes_with(options or {}),
        smooth=frozenset(kind.smooth),
        model=model,
        sharp=any(objective.get(key) == 0 for key in TEMPERATURE_KEYS),
        curved=issubclass(kind, Smoothed),
        slack_norm=norm if norm in (0, 2) and norm in kind.slack_norms else 1,
    )


def either(names: Iterable[str]) -> str:
    """``a, b or c``."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def unstoppable(config: Any, document: Document) -> list[tuple[Place, str]]:
    """Held-out scores without what they need."""
    if not config.held_out.every:
        return []
    place = document.place(("held_out", "every"))
    if not config.data.validate_:
        return [(place, "held_out.every: there are no files under data.validate; expected some")]
    restarts = config.cccp.restarts
    if restarts > 1:
        wrong = f"the {restarts:,d} restarts are compared by F alone, not by held-out scores"
        expected = "expected cccp.restarts: 1 (--set cccp.restarts=1), or held_out.every: 0"
        return [(place, f"held_out.every: {wrong}; {expected}")]
    if config.kernel.type != "linear" and not config.kernel.explicit:
        return [(place, "held_out.every: expected kernel.type: linear, or kernel.explicit: true")]
    if config.objective.slack_norm == 0:
        return [(place, "held_out.every: expected objective.slack_norm: 1 or 2")]
    return []
