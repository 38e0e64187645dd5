import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

TRUTH: int
PREDICT: int
ADDITIVE: int
ZERO_ONE: int
BOUNDED: int

def search(
    grammar: GrammarArrays,
    sentences: SentenceArrays,
    weights: Reals,
    spans: Reals,
    emissions: Reals,
    task: int,
    loss: tuple[int, int, int, int],
) -> tuple[Reals, Reals, Reals, Ints, Longs]: ...
def spans_of(grammar: GrammarArrays, rules: Ints, offsets: Longs) -> Ints: ...
def span_rows(sentences: SentenceArrays, sentence: Longs, starts: Ints, widths: Ints) -> Ints: ...
def charts(
    grammar: GrammarArrays,
    sentences: SentenceArrays,
    i: int,
    weights: Reals,
    spans: Reals,
    emissions: Reals,
) -> tuple[Reals, Reals, Reals]: ...
