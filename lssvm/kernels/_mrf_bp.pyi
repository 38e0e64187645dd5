import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import GraphArrays, Schedule

Reals = NDArray[np.float64]
Longs = NDArray[np.int64]

def propagate(
    tables: Reals,
    graphs: GraphArrays,
    labels: NDArray[np.int32],
    groups: NDArray[np.uint8],
    shapes: Longs,
    schedule: Schedule,
) -> tuple[Reals, Reals, Longs, Reals]: ...
