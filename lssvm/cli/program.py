"""The doors of the installed commands.

Signals are answered before anything else is imported, as imports take longer than many runs.
"""

from lssvm.output import stopping


def learn() -> None:
    """Run ``lssvm-learn``."""
    stopping.arm()
    from lssvm.cli import learn as command

    command()


def classify() -> None:
    """Run ``lssvm-classify``."""
    stopping.arm()
    from lssvm.cli import classify as command

    command()


def main() -> None:
    """Run ``lssvm``."""
    stopping.arm()
    from lssvm.cli import main as command

    command()
