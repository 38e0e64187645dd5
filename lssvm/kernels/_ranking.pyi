import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import QueryArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

COMPLETE: int
AUGMENT: int
PREDICT: int

def search(
    task: int, queries: QueryArrays, relevant: NDArray[np.uint8], costs: Reals, w: Reals, k: int
) -> tuple[Reals, float, Ints]: ...
def scores(queries: QueryArrays, w: Reals) -> Reals: ...
def combination(queries: QueryArrays, coefficients: Reals) -> Reals: ...
def pairs(queries: QueryArrays, levels: Ints, costs: Reals, w: Reals) -> tuple[Reals, float]: ...
