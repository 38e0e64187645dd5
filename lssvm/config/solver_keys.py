"""Keys of the section ``solver`` that some methods use and others do not.

Each solver says which keys it reads (``Solver.keys``).
"""

from collections.abc import Iterable
from typing import Any

from lssvm.config.checks import either
from lssvm.config.sections import SolverOptions
from lssvm.config.yaml12 import Document, Place
from lssvm.solvers.choice import CANDIDATES
from lssvm.solvers.table import AUTO, CLASSES, keys_of

COMMON = frozenset({"method", "epsilon", "max_passes"})  # for all solvers


def unused(config: Any, document: Document) -> list[tuple[Place, str]]:
    """Keys that no method of the configuration uses; those with the default value may stay.

    The methods are the one that is named, or with ``auto`` those that it can choose, and those that
    the grid of a search names.
    """
    grid, method = config.search.grid, config.solver.method
    tried = [name for name in grid.get("solver.method", []) if name in (AUTO, *CLASSES)]
    paths: list[tuple[str, ...]] = [("solver", key) for key in changed(config.solver)]
    paths += [("search", "grid", key) for key in grid if key.startswith("solver.")]
    faults = []
    for path in paths:
        users = _unmet(path[-1].rpartition(".")[2], [method, *tried])
        if users:
            auto = f"{AUTO} never chooses a method that uses it"
            wrong = auto if method == AUTO else f"{method} does not use it"
            expected = f"no such key, or solver.method: {either(users)}"
            key = ".".join(path)
            faults.append((document.place(path), f"{key}: {wrong}; expected {expected}"))
    return faults


def forget_unused(document: Document) -> None:
    """Take the keys that the document's own method does not use out of it.

    Those with the default value may stay: so no other solver is imported for them.
    """
    section = document.value.get("solver")
    method = section.get("method", AUTO) if isinstance(section, dict) else None
    if not isinstance(section, dict) or method not in (AUTO, *CLASSES):
        return  # the schema refuses them
    fields = SolverOptions.model_fields
    for key in [key for key in section if key not in fields or section[key] != fields[key].default]:
        if not uses(method, key):
            del section[key]


def changed(section: Any) -> list[str]:
    """The keys of a section whose values are not the defaults."""
    fields = type(section).model_fields.items()
    return [key for key, field in fields if getattr(section, key) != field.default]


def uses(method: str, key: str) -> bool:
    """Whether a solver uses a key of the section ``solver``."""
    able = CANDIDATES if method == AUTO else [method]
    return key in COMMON or any(key in keys_of(name) for name in able)


def _unmet(key: str, methods: Iterable[str]) -> list[str]:
    """The solvers that use a key, if none of these methods does and it is not for all."""
    if any(uses(method, key) for method in methods):
        return []
    return [name for name in CLASSES if key in keys_of(name)]
