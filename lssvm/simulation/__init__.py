"""Simulated data for each application, with the best possible error where it is known.

Each simulation is one module, which describes itself in ``SIMULATION`` and is imported when it is
needed.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lssvm.simulation.base import Simulation

MODULES = {
    "motif": "lssvm.simulation.motif",
    "classes": "lssvm.simulation.classes",
    "sequences": "lssvm.simulation.sequences",
    "ranking": "lssvm.simulation.ranking",
    "mrf": "lssvm.simulation.mrf",
    "coreference": "lssvm.simulation.coreference",
    "parsing": "lssvm.simulation.parsing",
    "alignment": "lssvm.simulation.alignment",
    "relation": "lssvm.simulation.relation",
}


def load(name: str) -> "Simulation":
    """The simulation of that name, one of ``MODULES``."""
    return importlib.import_module(MODULES[name]).SIMULATION
