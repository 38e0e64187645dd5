from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]

DONE: int
PAUSED: int
FULL: int

def epoch(
    capsule: Any,
    planes: Any,
    order: Ints,
    place: int,
    small: float,
    seconds: float,
    cached: bool,
) -> tuple[int, int, int, float]: ...
def help_out(capsule: Any, planes: Any, cached: bool) -> None: ...
def let_go(team: Places) -> None: ...
def heights(
    capsule: Any, planes: Any, truth: Ints, w: Reals, first: int, last: int, out: Reals
) -> None: ...
def completed(
    capsule: Any, planes: Any, w: Reals, first: int, last: int, out: Ints, scores: Reals
) -> None: ...
def combine(
    capsule: Any,
    planes: Any,
    truth: Ints,
    coefficients: Reals,
    examples: Ints,
    first: Places,
    w: Reals,
) -> None: ...
def dots(
    capsule: Any,
    planes: Any,
    truth: Ints,
    w: Reals,
    examples: Ints,
    first: Places,
    out: Reals,
) -> None: ...
def shift(capsule: Any, planes: Any, before: Ints, after: Ints) -> None: ...
def shuffle(order: Ints, state: Words) -> None: ...
