import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Reals = NDArray[np.float64]

def inner(row: Singles, vector: Reals) -> float: ...
def add(row: Singles, coefficient: float, vector: Reals) -> None: ...
