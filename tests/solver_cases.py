"""Settings of solvers for tests that run several of them."""

from typing import Any

from lssvm.config.solver_keys import uses


def solving(method: str, **settings: Any) -> dict[str, Any]:
    """The section ``solver``: the method, and those of the settings that it uses."""
    return {"method": method, **{key: settings[key] for key in settings if uses(method, key)}}
