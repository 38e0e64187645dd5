import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

def residual(gram: Reals, offsets: Reals, beta: Reals, r: Reals) -> float: ...
def pairwise(
    gram: Reals, offsets: Reals, beta: Reals, r: Reals, tolerance: float, max_steps: int
) -> float: ...
def active_set(
    gram: Reals, offsets: Reals, beta: Reals, r: Reals, tolerance: float, max_steps: int
) -> float: ...
