import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import QueryArrays

Reals = NDArray[np.float64]

def smoothed(
    queries: QueryArrays,
    relevant: NDArray[np.uint8],
    costs: Reals,
    w: Reals,
    k: int,
    width: float,
) -> tuple[Reals, float, float, float, Reals]: ...
def hinges(
    queries: QueryArrays, signs: NDArray[np.int8], costs: Reals, w: Reals, width: float
) -> tuple[Reals, float, float, float, Reals]: ...
