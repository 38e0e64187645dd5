import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import MotifArrays

Reals = NDArray[np.float64]
Longs = NDArray[np.int64]
Signs = NDArray[np.int8]
Letters = NDArray[np.uint8]

COMPLETE: int
AUGMENT: int
PREDICT: int
PADDING: int

def index(letters: Letters, offsets: Longs, order: int) -> tuple[Letters, NDArray[np.uint16]]: ...
def canonical(letters: Letters, offsets: Longs) -> tuple[Letters, NDArray[np.bool_]]: ...
def search(
    task: int, sequences: MotifArrays, w: Reals, length: int, top: int
) -> tuple[Reals, float, Signs, Longs, Signs, Reals]: ...
def joint_features(
    sequences: MotifArrays,
    y: Signs,
    starts: Longs,
    strands: Signs,
    costs: Reals,
    length: int,
    dimension: int,
) -> Reals: ...
