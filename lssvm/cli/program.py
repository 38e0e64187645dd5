"""The doors of the installed commands.

Signals are answered before anything else is imported, as imports take longer than many runs.
Imports make a hundred thousand objects and no garbage: looking for cycles among them every 700
objects, as Python does, would be a tenth of a short run. Plug-ins of pydantic watch how models are
validated; to look for them in all installed distributions would take as long.
"""

import gc
import os

from lssvm.output import stopping

SELDOM = 200_000  # objects between two looks for garbage in cycles


def learn() -> None:
    """Run ``lssvm-learn``."""
    _begin()
    from lssvm.cli import learn as command

    command()


def classify() -> None:
    """Run ``lssvm-classify``."""
    _begin()
    from lssvm.cli import classify as command

    command()


def main() -> None:
    """Run ``lssvm``."""
    _begin()
    from lssvm.cli import main as command

    command()


def _begin() -> None:
    gc.set_threshold(SELDOM)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    stopping.arm()
