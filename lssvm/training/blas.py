"""BLAS with one thread: its threads collide with ours, and its sums depend on their number."""

from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[Any]:
    """Within the block BLAS works with one thread."""
    return threadpool_limits(1)
