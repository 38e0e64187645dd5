import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

def numbers(grammar: GrammarArrays, sentences: SentenceArrays, i: int) -> int: ...
def search(
    grammar: GrammarArrays,
    sentences: SentenceArrays,
    i: int,
    weights: Reals,
    spans: Reals,
    emissions: Reals,
    loss: tuple[int, int, int, float],
) -> tuple[float, float, Ints]: ...
