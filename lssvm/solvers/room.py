"""The limit on the memory for the planes of all examples."""

from lssvm.errors import LssvmError, counted
from lssvm.plane import MEGABYTE


def check_room(count: int, nbytes: float, most: float) -> None:
    """Raise LssvmError if the planes of ``count`` examples take more than ``most`` bytes."""
    if nbytes > most:
        raise LssvmError(
            f"the planes of {counted(count, 'example')} take {nbytes / MEGABYTE:,.3g} MB, more "
            "than solver.max_cache_mb; raise it, or use solver.method: bundle"
        )
