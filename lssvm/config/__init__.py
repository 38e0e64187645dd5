"""The configuration: its sections, how it is read and checked, and what is made from it."""

from lssvm.config.config import (
    SPLITS,
    Config,
    load_config,
    set_values,
    stored_config,
)
from lssvm.config.sections import Data, Objective

__all__ = [
    "SPLITS",
    "Config",
    "Data",
    "Objective",
    "load_config",
    "set_values",
    "stored_config",
]
