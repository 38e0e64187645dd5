"""Which solver ``solver.method: auto`` stands for.

The rule reads what is known before training: the objective, and counts of the data. It never reads
clocks, threads or the executor, so that a configuration and its data always give the same model. A
path of several C takes one solver, that of its largest C.
"""

from typing import NamedTuple

from lssvm.solvers.needs import Asked

WEIGHTS = 100  # vectors of length d that a pass of the bundle goes through
LARGE = 200_000  # weights below which the bundle is never slow for want of compiled inference
HARD = 150.0  # C times the squared length of an example's features, from which steps are many
NARROW = 300  # weights up to which their second derivatives cost no more than a few passes
COMMON = 0.99  # share of the squared lengths of rows in their mean, above which steps are many


class Sizes(NamedTuple):
    """Counts of a training set.

    dimension : d; multiply_adds : of one pass over the data, about
    square : C times the mean of c_i ‖Φ‖², which bounds how far an example can move w
    exact : whether the kernel solves for all outputs of an example at once
    common : n ‖mean of x‖² / Σ ‖x‖² over the n rows of features, from 0 to 1; near 1 if a constant
        feature is much larger than the others. Steps for single examples then undo each other
    """

    dimension: int
    multiply_adds: float
    square: float = 0.0
    exact: bool = False
    common: float = 0.0


def chosen(asked: Asked, sizes: Sizes, *, kernel: bool, cache: bool) -> tuple[str, str]:
    """The name of the solver, and why, as a clause that follows it.

    kernel : whether inner products are those of a kernel; cache : whether ``solver.cache`` is set
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
            return "n-slack", "there are many weights" if many else "the slack is squared"
        return "bundle", "it needs nothing but sums over the examples"
    if sizes.common > COMMON and asked.slack_norm == 1:
        return "bundle", "a constant feature, such as the bias, is much larger than the others"
    if asked.slack_norm == 2 or sizes.exact or many or sizes.square <= HARD:
        return "dual-coordinate", "the application answers for single examples in compiled code"
    return "bundle", "there are few weights and C is large for features of this size"
