from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lssvm.kernels.arrays import GraphArrays

Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]

LARGE: int

class Plans(Protocol):
    """The arrays of a plan, see ``lssvm.applications.mrf.plans.Plans``."""

    @property
    def chosen(self) -> NDArray[np.int64]: ...
    @property
    def order(self) -> NDArray[np.int64]: ...

def infer(
    w: Reals,
    graphs: GraphArrays,
    charged: Bytes,
    states: NDArray[np.int32],
    plan: Plans,
    temperatures: tuple[float, float],
    keep: bool,
) -> tuple[Reals, Reals, Reals, Reals]: ...
def potentials(w: Reals, graphs: GraphArrays, charged: Bytes) -> Reals: ...
def expected(shares: Reals, graphs: GraphArrays, dimension: int) -> Reals: ...
