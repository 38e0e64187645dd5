"""Structural support vector machines with hidden variables.

The names below are the Python interface; the command line (``lssvm-learn``, ``lssvm-classify``,
``lssvm``) is built from the same functions. Each is loaded when it is first asked for, so that
``import lssvm`` and the help of the commands are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lssvm.applications.base import Application
    from lssvm.applications.per_example import PerExample
    from lssvm.config import Config, load_config
    from lssvm.model import Model
    from lssvm.training.charts import plot
    from lssvm.training.cross_validation import cross_validate
    from lssvm.training.explaining import explain
    from lssvm.training.prediction import classify
    from lssvm.training.reporting import report
    from lssvm.training.session import learn, learn_on

__version__ = "0.1.0"
__all__ = [
    "Application",
    "Config",
    "Model",
    "PerExample",
    "classify",
    "cross_validate",
    "explain",
    "learn",
    "learn_on",
    "load_config",
    "plot",
    "report",
]

_HOMES = {
    "Application": "applications.base",
    "Config": "config",
    "Model": "model",
    "PerExample": "applications.per_example",
    "classify": "training.prediction",
    "cross_validate": "training.cross_validation",
    "explain": "training.explaining",
    "learn": "training.session",
    "learn_on": "training.session",
    "load_config": "config",
    "plot": "training.charts",
    "report": "training.reporting",
}


def __getattr__(name: str) -> Any:
    if name == "estimators":  # a package of its own, which needs an extra
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
