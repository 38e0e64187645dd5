"""Keys and values of a configuration that had other names before, and what they are called now.

A configuration that uses a former name is refused with the present one; what an older model stores
is translated. An application lists the former names of its own options in its Options.
"""

from typing import Any

from lssvm.applications.base import Options
from lssvm.config.yaml12 import Document, Place

RENAMED = {
    "solver.block": "solver.batch_size",
    "solver.rate": "solver.learning_rate",
    "cccp.looseness": "cccp.inexactness",
}
RENAMED_VALUES = {"solver.method": {"bcfw": "dual-coordinate"}}


def refuse_former_names(kind: type[Options] | None, document: Document) -> list[tuple[Place, str]]:
    """A fault for every former name, which is taken out of the document.

    kind : the options of the application, None if it is not known
    """
    faults = []
    for former, present in _renamed(kind).items():
        section, key = _found(document, former)
        if section is not None:
            place = document.place(tuple(former.split(".")))
            faults.append((place, f"{former}: renamed; expected {present}"))
            del section[key]
    for name, values in _renamed_values(kind).items():
        section, key = _found(document, name)
        if section is not None and isinstance(section[key], str) and section[key] in values:
            place, former = document.place(tuple(name.split("."))), section[key]
            faults.append((place, f"{name}: {former!r} was renamed; expected {values[former]!r}"))
            del section[key]
    return faults


def translate_former_names(kind: type[Options] | None, document: Document) -> None:
    """Put the present names in the place of former ones, unless those are there as well."""
    for former, present in _renamed(kind).items():
        section, key = _found(document, former)
        name = present.partition(".")[2]
        if section is not None and name not in section:
            section[name] = section.pop(key)
    for name, values in _renamed_values(kind).items():
        section, key = _found(document, name)
        if section is not None and isinstance(section[key], str):
            section[key] = values.get(section[key], section[key])


def _renamed(kind: type[Options] | None) -> dict[str, str]:
    own = {} if kind is None else kind.renamed
    return RENAMED | {f"application.{key}": f"application.{name}" for key, name in own.items()}


def _renamed_values(kind: type[Options] | None) -> dict[str, dict[str, str]]:
    own = {} if kind is None else kind.renamed_values
    return RENAMED_VALUES | {f"application.{key}": dict(values) for key, values in own.items()}


def _found(document: Document, name: str) -> tuple[dict[str, Any] | None, str]:
    """The section that holds the key of a dotted name, None if it does not, and the key."""
    section, _, key = name.partition(".")
    values = document.value.get(section)
    return (values if isinstance(values, dict) and key in values else None), key
