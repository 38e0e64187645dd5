import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import MentionArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

COMPLETE: int
AUGMENT: int
PREDICT: int

def search(
    task: int, clusters: Ints, documents: MentionArrays, w: Reals, sweeps: int
) -> tuple[Reals, float, Ints, Reals]: ...
