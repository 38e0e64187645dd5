import numpy as np
from numpy.typing import NDArray

from lssvm.kernels._sequence import Weights
from lssvm.kernels.arrays import TokenArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

def moments(tokens: TokenArrays, costs: Reals, weights: Weights) -> tuple[Reals, Reals, Reals]: ...
def expected_rows(tokens: TokenArrays, costs: Reals, marginals: Reals) -> Reals: ...
def expectations(
    tokens: TokenArrays, costs: Reals, weights: Weights
) -> tuple[Reals, Reals, Reals]: ...
def best_paths(tokens: TokenArrays, weights: Weights, top: int) -> tuple[Ints, Reals]: ...
