"""The command line: ``lssvm-learn``, ``lssvm-classify`` and the group ``lssvm``.

Nothing is imported before a command is asked for: signals are to be answered first, and help and
completion are to be quick.
"""

from typing import Any

_HOMES = {"learn": "learn_command", "classify": "classify_command", "main": "group"}
__all__ = ["classify", "learn", "main"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
