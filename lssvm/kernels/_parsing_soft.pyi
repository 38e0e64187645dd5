import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

ALL: int
LOGS: int
TRUE: int

def expected(
    grammar: GrammarArrays,
    sentences: SentenceArrays,
    weights: Reals,
    spans: Reals,
    emissions: Reals,
    costs: Reals,
    over: int,
) -> tuple[Reals, Reals, Reals, Reals]: ...
def by_rules(
    grammar: GrammarArrays,
    sentences: SentenceArrays,
    weights: Reals,
    spans: Reals,
    emissions: Reals,
) -> tuple[Reals, Ints, Longs]: ...
