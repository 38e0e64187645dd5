"""The sections of a configuration: every key with its type, its default and what it means.

The descriptions below are the documentation: ``lssvm config --schema``, ``lssvm init``
and the README are made from them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from lssvm.applications.base import Formulation
from lssvm.config.checks import DEFAULT_MODEL
from lssvm.formats.limit import MEGABYTES, Limit
from lssvm.solvers.table import DEFAULT, Method


class Section(BaseModel):
    """Base of the sections: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_entry(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _as_label(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Entry(Section):
    """One file of a split."""

    path: str = Field(min_length=1, description="file to read, - for standard input")
    label: Annotated[str | None, BeforeValidator(_as_label)] = Field(
        default=None, description="label of all its examples, if the file itself has none"
    )
    cost: float = Field(default=1.0, gt=0, description="weight of each of its examples")


Entries = Annotated[list[Annotated[Entry, BeforeValidator(_as_entry)]], BeforeValidator(_as_list)]


class Data(Section):
    """Files by split; a relative path counts from the folder of the configuration."""

    train: Entries = Field(default=[], description="files to train on")
    validate_: Entries = Field(
        default=[],
        alias="validate",
        description="labelled files to choose settings by: the model is scored on them",
    )
    test: Entries = Field(default=[], description="held-out files, for lssvm-classify and check")
    max_mb: float = Field(
        default=MEGABYTES,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="most megabytes that one file may take once it is decompressed, or the weights "
        "that the data ask for: larger ones are refused",
    )

    @property
    def limit(self) -> Limit:
        """How large a file may be."""
        return Limit(self.max_mb, "data.max_mb")


class Objective(Section):
    """What is minimised: ½‖w‖² + C Σ c_i (U⁺_i − U⁻_i)."""

    model: str = Field(
        default=DEFAULT_MODEL, description="kind of model, among those of the application"
    )
    C: float = Field(default=1.0, gt=0, description="weight of the loss against ½‖w‖²")
    c_scaling: Literal["sum", "mean"] = Field(
        default="sum",
        description="sum: C multiplies the summed loss, as in the papers; "
        "mean: the mean loss, as in svm_struct",
    )
    rescaling: Literal["margin", "slack"] = Field(
        default="margin",
        description="margin: a wrong output must score lower by its loss; slack: by 1, and what is "
        "missing counts times its loss (models without hidden values)",
    )
    slack_norm: Literal[0, 1, 2] = Field(
        default=1,
        description="1: C Σ ξ; 2: C/2 Σ ξ², the loss then being its square root; 0: no slack, "
        "every output must be separated (2 and 0: solver n-slack)",
    )

    epsilon_y: float | None = Field(
        default=None, ge=0, description="model epsilon: temperature of outputs; 0: the maximum"
    )
    epsilon_h: float | None = Field(
        default=None, ge=0, description="model epsilon: temperature of hidden values; 0: maximum"
    )

    def formulation(self) -> Formulation:
        """What of it an application's inference depends on."""
        return Formulation(
            self.model, self.rescaling, self.slack_norm, self.epsilon_y, self.epsilon_h
        )


class Solver(Section):
    """How each convex problem is solved."""

    method: Method = Field(
        default=DEFAULT,
        description="bundle: cutting planes, kept and stabilised around the best point; "
        "proximal: cutting planes, stabilised by a proximal term around the best point; "
        "cutting-plane: the same without stabilising (1-slack); n-slack: planes of every example, "
        "fewest passes; bcfw: block-coordinate Frank-Wolfe; dual-coordinate: steps for one example "
        "at a time in a compiled loop, for many examples and weights; lbfgs: quasi-Newton steps, "
        "for smooth models such as crf; gradient: (sub)gradient descent; sgd: the same on F "
        "itself, after every few examples, no gap is known",
    )
    epsilon: float = Field(
        default=1e-3, gt=0, lt=1, description="relative duality gap that ends the last problem"
    )
    step: float = Field(
        default=0.08,
        gt=0,
        le=1,
        description="bundle: where inference is asked, this far from the best point to the model's",
    )
    max_passes: int = Field(
        default=10000, ge=1, description="most passes over the data for one convex problem"
    )
    max_planes: int = Field(default=300, ge=10, description="most cutting planes kept")
    qp: Literal["auto", "osqp", "exact"] = Field(
        default="auto",
        description="auto: warm exact steps, then OSQP where they fall short; "
        "osqp: OSQP alone; exact: never OSQP",
    )
    cache: int = Field(
        default=0,
        ge=0,
        description="bundle and cutting-plane: planes kept of each example, of which cuts are made "
        "without asking for inference; for dear inference and no hidden values",
    )
    max_cache_mb: float = Field(
        default=4000.0, gt=0, description="most megabytes of planes kept by example"
    )
    sweeps: int = Field(
        default=20, ge=1, description="n-slack: most sweeps over the planes between two passes"
    )
    block: int = Field(
        default=8,
        ge=1,
        description="bcfw and sgd: examples that are asked together, then stepped over",
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="gradient and sgd: first step size; if left out, chosen at every step "
        "(gradient) or found by trial (sgd)",
    )
    decay: Literal["inverse", "constant"] = Field(
        default="inverse",
        description="gradient and sgd: step t is rate / (1 + rate·t), or always rate",
    )
    epochs: int = Field(
        default=100, ge=1, description="sgd: times that all examples are stepped over"
    )
    average: bool = Field(
        default=True, description="sgd: keep the mean of the points, weighted towards the last"
    )


class Cccp(Section):
    """The outer loop: complete the hidden values, solve, repeat."""

    tolerance: float = Field(
        default=1e-3,
        gt=0,
        description="stop when the objective falls by less than C Σ c_i times this",
    )
    max_iterations: int = Field(default=100, ge=1, description="most iterations of a start")
    restarts: int = Field(
        default=1, ge=1, description="starts from other hidden values; the lowest objective is kept"
    )
    looseness: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of what a convex problem can lower F by that early ones leave undone",
    )


class HeldOut(Section):
    """Scores of ``data.validate`` while training goes on; the best point becomes the model."""

    every: int = Field(default=0, ge=0, description="passes between two scores; 0: none are made")
    patience: int = Field(
        default=5,
        ge=1,
        description="stop after so many scores, once the gap is 0.5, without a better",
    )
    metric: str = Field(default="", description="metric of the scores; the first one if left out")


class Search(Section):
    """What ``lssvm cv`` tries."""

    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, description="values to try, by dotted key, such as objective.C: [0.1, 1, 10]"
    )
    folds: int = Field(default=10, ge=3, description="parts that the data are cut into")
    seeds: int = Field(default=1, ge=1, description="runs of each setting, from different seeds")
