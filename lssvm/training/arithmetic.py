"""How numbers are worked out: by BLAS in one thread, and without NumPy's warnings.

The threads of BLAS collide with ours, and its sums depend on their number. What is not finite is
refused where it matters, by the example's name.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

from lssvm.executor import ignore_overflow


@contextmanager
def arithmetic() -> Iterator[None]:
    """Within the block BLAS works with one thread, and NumPy warns of no number."""
    with _libraries(len(sys.modules)).limit(limits=1), np.errstate():
        ignore_overflow()
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """The libraries of linear algebra that are loaded.

    Looking for them takes longer than many a prediction: they are looked for again only when the
    number of imported modules has changed, since an import is what loads another one.
    """
    return ThreadpoolController()
