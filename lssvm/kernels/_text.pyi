import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.text_arrays import CellBuffers, RowBuffers

NODE: int
EDGE: int
OTHER: int
LABELS_ARE_NUMBERS: int
LABELS_ARE_WORDS: int
SEQUENCES: int

def rows(
    block: bytes | bytearray,
    at: int,
    form: int,
    utf8: bool,
    least: int,
    most: int,
    found: RowBuffers,
) -> tuple[int, int, int, int]: ...
def letters(
    block: bytes | bytearray,
    at: int,
    codes: NDArray[np.uint8],
    found: NDArray[np.uint8],
    headers: NDArray[np.int32],
) -> tuple[int, int, int, int]: ...
def cells(
    block: bytes | bytearray, at: int, columns: int, tabs: bool, found: CellBuffers
) -> tuple[int, int, int, int]: ...
def graph_lines(
    block: bytes | bytearray, at: int, most: int, found: RowBuffers
) -> tuple[int, int, int]: ...
