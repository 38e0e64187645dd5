"""What solvers need of a problem, and what is asked of them."""

from typing import NamedTuple


class Asked(NamedTuple):
    """What a configuration asks a solver to do.

    application : its name; each : whether it gives planes of single examples; compiled : whether
        also in C, for this model
    decomposes : whether its loss is a sum over the examples
    smooth : its models that are smooth; model : the one to train
    sharp : whether one of the temperatures is set to 0; slack_norm : of the objective
    curved : whether its maxima can be smoothed
    """

    application: str
    each: bool
    compiled: bool
    decomposes: bool
    smooth: frozenset[str]
    model: str
    sharp: bool
    slack_norm: int
    curved: bool = False


class Needs(NamedTuple):
    """What a solver needs of a problem, and what it can do.

    each : planes of single examples, and so a loss of each
    decomposes : a loss of each example
    smooth : an objective with a gradient
    slack_norms : those that it can solve
    kernels : whether it can work on rows of a kernel; cache : on planes that were kept
    curved : smoothed maxima
    steps : answers about a few examples at a time, many of them for each pass
    """

    each: bool = False
    decomposes: bool = False
    smooth: bool = False
    slack_norms: frozenset[int] = frozenset({1})
    kernels: bool = False
    cache: bool = False
    curved: bool = False
    steps: bool = False

    @property
    def sums_alone(self) -> bool:
        """Whether sums over many examples are all, which workers can add up."""
        return not (self.each or self.curved or self.steps)

    def unmet(self, asked: Asked) -> str:
        """What of this the problem does not have, to follow the solver's name; empty if nothing."""
        if self.each and not asked.each:
            return f"needs planes by example, which application {asked.application!r} does not give"
        if self.curved and not asked.curved:
            return f"needs smoothed maxima, which application {asked.application!r} does not give"
        if self.smooth and asked.model not in asked.smooth:
            smooth = ", ".join(sorted(asked.smooth)) or "the application has none"
            return f"needs a smooth objective.model ({smooth})"
        if self.smooth and asked.sharp:
            return "needs objective.epsilon_y and epsilon_h above 0"
        if (self.decomposes or self.each) and not asked.decomposes:
            wrong = f"which application {asked.application!r} does not have"
            return f"needs a loss of each example, {wrong}"
        if asked.slack_norm not in self.slack_norms:
            return f"cannot solve objective.slack_norm: {asked.slack_norm}"
        return ""
