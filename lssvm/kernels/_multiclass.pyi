import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import ClassArrays, RowArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

def search(
    rows: RowArrays, labels: Ints, costs: Reals, w: Reals, classes: ClassArrays, summed: bool
) -> tuple[Reals, float, Ints, Reals]: ...
def scores(rows: RowArrays, w: Reals, classes: ClassArrays) -> Reals: ...
def combination(
    rows: RowArrays, labels: Ints, coefficients: Reals, classes: ClassArrays
) -> Reals: ...
def gradients(
    rows: RowArrays, labels: Ints, found: Ints, chosen: Longs, classes: ClassArrays
) -> tuple[Reals, Ints, Ints]: ...
