"""How numbers are worked out: by BLAS in one thread, and without NumPy's warnings.

The threads of BLAS collide with ours, and its sums depend on their number. What is not finite is
refused where it matters, by the example's name.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from lssvm.executor import ignore_overflow


@contextmanager
def arithmetic() -> Iterator[None]:
    """Within the block BLAS works with one thread, and NumPy warns of no number."""
    with threadpool_limits(1), np.errstate():
        ignore_overflow()
        yield
