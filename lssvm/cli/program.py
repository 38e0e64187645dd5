"""The doors of the installed commands.

Signals are answered before anything else is imported, as imports take longer than many runs.
Imports make a hundred thousand objects and no garbage: looking for cycles among them every 700
objects, as Python does, would be a tenth of a short run, and looking once more among all of them at
the very end, when the process gives back its memory anyway, as long again. Plug-ins of pydantic
watch how models are validated; to look for them in all installed distributions would take as long.
The threads of BLAS, which is held to one thread, would wait for work in a busy loop once numpy is
imported.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from lssvm.output import stopping

SELDOM = 200_000  # objects between two looks for garbage in cycles


def learn() -> None:
    """Run ``lssvm-learn``."""
    with _process():
        from lssvm.cli import learn as command

        command()


def classify() -> None:
    """Run ``lssvm-classify``."""
    with _process():
        from lssvm.cli import classify as command

        command()


def main() -> None:
    """Run ``lssvm``."""
    with _process():
        from lssvm.cli import main as command

        command()


@contextmanager
def _process() -> Iterator[None]:
    """Set up the process of a command; see above."""
    gc.set_threshold(SELDOM)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    stopping.arm()
    try:
        yield
    finally:
        gc.freeze()
