"""SciPy's sparse arrays, imported when one is first made.

Importing ``scipy.sparse`` takes longer than importing NumPy, and dense data need none of it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_array, hstack, identity, vstack

__all__ = ["csc_matrix", "csr_array", "hstack", "identity", "issparse", "vstack"]


def issparse(found: Any) -> bool:
    """Whether this is a sparse array or matrix; nothing is imported to tell a NumPy array."""
    if isinstance(found, np.ndarray):
        return False
    import scipy.sparse

    return bool(scipy.sparse.issparse(found))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import scipy.sparse

    globals()[name] = getattr(scipy.sparse, name)
    return globals()[name]
