import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

def ordered(
    starts: Longs, neighbours: Ints, groups: NDArray[np.uint8], sizes: Longs, limit: int
) -> tuple[Ints, Ints, Longs, bool]: ...
