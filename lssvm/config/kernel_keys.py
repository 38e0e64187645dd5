"""Keys of the section ``kernel`` that some kernels use and others do not."""

from typing import Any

from lssvm.config.checks import either
from lssvm.config.solver_keys import changed
from lssvm.config.yaml12 import Document, Place

USED = {"linear": (), "poly": ("degree", "gamma", "coef0"), "rbf": ("gamma",)}  # by type


def unused_of_kernel(config: Any, document: Document) -> list[tuple[Place, str]]:
    """Keys that no kernel of the configuration uses; those with the default value may stay.

    The kernels are the one that is named, and those that the grid of a search names.
    """
    grid, kernel = config.search.grid, config.kernel.type
    types = [kernel, *(name for name in grid.get("kernel.type", []) if name in USED)]
    paths: list[tuple[str, ...]] = [("kernel", key) for key in changed(config.kernel)]
    paths += [("search", "grid", key) for key in grid if key.startswith("kernel.")]
    faults = []
    for path in paths:
        users = _users(path[-1].rpartition(".")[2])
        if users and not set(users) & set(types):
            key = ".".join(path)
            expected = f"no such key, or kernel.type: {either(users)}"
            faults.append(
                (document.place(path), f"{key}: {kernel} does not use it; expected {expected}")
            )
    return faults


def forget_unused_of_kernel(document: Document) -> None:
    """Take the keys that the document's own kernel does not use out of it."""
    section = document.value.get("kernel")
    kernel = section.get("type") if isinstance(section, dict) else None
    if isinstance(section, dict) and kernel in USED:
        for key in [key for key in section if _users(key) and key not in USED[kernel]]:
            del section[key]


def _users(key: str) -> list[str]:
    """The kernels that use a key; none for a key of all of them."""
    return [name for name, keys in USED.items() if key in keys]
