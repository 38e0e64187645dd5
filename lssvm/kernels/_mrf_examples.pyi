from typing import Any

import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import GraphArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

class ExampleOracle:
    capsule: Any
    truth: Ints
    places: Longs
    values: int
    size: int
    squares: Reals
    multiply_adds: float
    square: float
    slack: bool
    exact: bool
    def __init__(
        self,
        graphs: GraphArrays,
        size: int,
        known: NDArray[np.uint8],
        augmented: Any,
        completed: Any = None,
    ) -> None: ...
    def load(self, w: Reals) -> Reals: ...
    def unload(self, w: Reals) -> Reals: ...
