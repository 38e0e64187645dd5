import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

def columns(
    starts: Longs, indices: Ints, values: Reals, places: Longs, rows: Ints, turned: Reals
) -> None: ...
def total(indices: Ints, values: Reals, out: Reals) -> None: ...
def gather(places: Longs, rows: Ints, values: Reals, coefficients: Reals, out: Reals) -> None: ...
