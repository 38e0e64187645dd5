"""The rule by which ``solver.method: auto`` chooses a solver.

The rule uses what is known before training: the objective, and the sizes of the data. It never uses
clocks, threads or the executor, so that a configuration and its data always give the same model.
All values of C of a path are solved by one solver, the one chosen for the largest C.
"""

import math
from typing import NamedTuple

from lssvm.solvers.needs import Asked

CANDIDATES = ("bundle", "bundle-newton", "dual-coordinate", "lbfgs", "n-slack")  # of the rule
WEIGHTS = 100  # vectors of length d that the bundle reads in one pass
LARGE = 200_000  # with fewer weights, the bundle is never slow without compiled inference
HARD = 150.0  # above this C times squared length of an example's features, many steps are needed
# The same for outputs of several places, whose inference takes longer than steps. The passes of
# both solvers grow about as the root of that number, but those of the bundle no further than a few
# times the number of weights. With this many weights for each unit of the root they still grow.
SPREAD = 4.0
NARROW = 300  # with at most so many weights, second derivatives cost no more than a few passes
COMMON = 0.99  # above this value of Sizes.common, many steps are needed


class Sizes(NamedTuple):
    """The sizes of a training set.

    dimension : d; multiply_adds : the approximate number for one pass over the data
    square : C times the mean of c_i ‖Φ‖², which bounds how far an example can move w
    exact : whether the kernel solves for all outputs of an example at once
    places : the mean length of an output: 1 for a class, the number of labels for a sequence
    common : n ‖mean of x‖² / Σ ‖x‖² over the n rows of features, from 0 to 1; it is near 1 if a
        constant feature is much larger than the others, and then the steps for single examples
        partly undo each other
    """

    dimension: int
    multiply_adds: float
    square: float = 0.0
    exact: bool = False
    common: float = 0.0
    places: float = 1.0


def chosen(asked: Asked, sizes: Sizes, *, kernel: bool, cache: bool) -> tuple[str, str]:
    """The name of the solver, and the reason, as a clause that can follow "because".

    kernel : whether the model uses a kernel; cache : whether ``solver.cache`` is set
    """
    if kernel:
        return "n-slack", "it works on rows of a kernel"
    if asked.slack_norm == 0:
        return "n-slack", "it can do without slack"
    if asked.model in asked.smooth and not asked.sharp:
        return "lbfgs", "the objective is smooth"
    if cache:
        return "bundle", "solver.cache is set"
    if asked.curved and sizes.dimension <= NARROW:
        return "bundle-newton", "there are few weights, and the maxima can be smoothed"
    many = WEIGHTS * sizes.dimension > sizes.multiply_adds
    if not asked.compiled:
        many = many and sizes.dimension >= LARGE and asked.each and asked.decomposes
        if asked.slack_norm == 2 or many:
            why = "there are many weights" if many else "the slack is squared"
            return "dual-coordinate", why
        return "bundle", "it needs nothing but sums over the examples"
    if sizes.common > COMMON and asked.slack_norm == 1:
        return "bundle", "a constant feature, such as the bias, is much larger than the others"
    few = sizes.square <= HARD
    if sizes.places > 1.0:
        few = SPREAD * math.sqrt(sizes.square) <= sizes.dimension
    if asked.slack_norm == 2 or sizes.exact or many or few:
        return "dual-coordinate", "the application answers for single examples in compiled code"
    return "bundle", "there are few weights and C is large for features of this size"
