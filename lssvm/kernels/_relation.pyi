import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.relation_arrays import BagArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bytes = NDArray[np.uint8]

def best(
    bags: BagArrays,
    gains: Reals,
    chosen: Longs,
    most: int,
    labels: Ints,
    values: Reals,
    excess: Reals,
) -> Longs: ...
def complete(
    bags: BagArrays, chosen: Longs, label_places: Longs, truth: Ints, labels: Ints, values: Reals
) -> None: ...
def complete_chosen(
    bags: BagArrays, sets: Bytes, chosen: Longs, labels: Ints, values: Reals
) -> Longs: ...
def evidence(bags: BagArrays, labels: Ints, margins: Reals, mentions: Ints) -> None: ...
def used(bags: BagArrays, labels: Ints) -> Bytes: ...
def sums(bags: BagArrays, labels: Ints, truth: Bytes) -> Reals: ...
