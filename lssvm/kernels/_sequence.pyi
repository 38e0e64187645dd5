import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import ChainLoss, ChainShape, TokenArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

PREDICT: int
TRUTH: int
HAMMING: int
COUNTED: int
ZERO_ONE: int

class Weights:
    labels: int
    width: int
    order: int
    ends: bool
    emissions: Reals
    first: Reals
    second: Reals
    begin: Reals
    finish: Reals
    def __init__(self, w: Reals, shape: ChainShape, sparse: bool) -> None: ...

def dimension(width: int, labels: int, order: int, ends: bool) -> int: ...
def search(
    loss: ChainLoss,
    tokens: TokenArrays,
    labels: Ints,
    costs: Reals,
    weights: Weights,
    summed: bool,
) -> tuple[Reals, Reals, Reals, Ints]: ...
def gradients(
    tokens: TokenArrays, found: Ints, truth: Ints, shares: Reals, rows: Longs, shape: ChainShape
) -> tuple[Longs, Longs, Reals]: ...
