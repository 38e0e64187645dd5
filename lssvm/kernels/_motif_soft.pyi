import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import MotifArrays

Reals = NDArray[np.float64]

def expectations(
    task: int,
    sequences: MotifArrays,
    w: Reals,
    length: int,
    charged: bool,
    epsilon_y: float,
    epsilon_h: float,
) -> tuple[Reals, Reals]: ...
