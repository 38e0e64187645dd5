import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.alignment_arrays import AlignmentArrays

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]

GLOBAL: int
FREE: int
LOCAL: int

def best(
    arrays: AlignmentArrays,
    scores: Reals,
    model: tuple[float, float, int],
    losses: tuple[Integers, Reals, int] | None = ...,
    traced: bool = ...,
    kind: int = ...,
) -> tuple[Reals, Integers]: ...
def sums(
    arrays: AlignmentArrays,
    scores: Reals,
    model: tuple[float, float, int],
    weights: Reals | None = ...,
) -> tuple[Reals, Reals, Reals]: ...
