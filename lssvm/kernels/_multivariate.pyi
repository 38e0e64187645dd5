import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Longs = NDArray[np.int64]
Bytes = NDArray[np.uint8]

def split(prices: Reals, truth: Bytes) -> tuple[Reals, Longs, Longs]: ...
def worst(
    prices: Reals,
    truth: Bytes,
    values: Reals,
    ends: Longs,
    begins: Longs,
    square: float,
    scales: Reals,
) -> tuple[Bytes, float]: ...
def counts(chosen: Bytes, truth: Bytes) -> Reals: ...
def highest_counts(
    cuts: Reals, positives: int, others: int, most: int, square: float, scale: float
) -> tuple[int, int, float]: ...
