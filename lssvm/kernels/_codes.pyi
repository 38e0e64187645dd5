import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.text_arrays import DistinctWords, GrowingCodes

def intern(
    block: bytes | bytearray,
    spans: NDArray[np.int32],
    done: int,
    codes: NDArray[np.int32],
    words: DistinctWords,
) -> int: ...
def spread(hashes: NDArray[np.uint32], count: int, table: NDArray[np.int32]) -> None: ...
def relabel(
    codes: NDArray[np.int32], number: NDArray[np.int32], firsts: NDArray[np.int64]
) -> int: ...
def renumber(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    done: int,
    found: NDArray[np.int32],
    distinct: GrowingCodes,
    table: NDArray[np.int32],
) -> int: ...
def scatter(codes: NDArray[np.int64], table: NDArray[np.int32]) -> None: ...
