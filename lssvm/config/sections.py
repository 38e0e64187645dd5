"""The sections of a configuration: every key with its type, its default and what it means.

The descriptions below are the documentation: ``lssvm config --schema``, ``lssvm init``
and the tables of keys are made from them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from lssvm.applications.base import Formulation
from lssvm.config.checks import DEFAULT_MODEL
from lssvm.formats.limit import DEFAULT_MAX_MB, Limit
from lssvm.solvers.table import AUTO, Method


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

    path: str = Field(
        min_length=1,
        description="name of the file; - is standard input; a pattern such as part-*.txt stands "
        "for all files that it matches, in the order of their names",
    )
    label: Annotated[str | None, BeforeValidator(_as_label)] = Field(
        default=None,
        description="label of all examples of the file, if the file itself has no labels",
    )
    cost: float = Field(
        default=1.0, gt=0, description="factor of the loss of each example of the file"
    )


Entries = Annotated[list[Annotated[Entry, BeforeValidator(_as_entry)]], BeforeValidator(_as_list)]


class Data(Section):
    """The files of each split; relative paths are relative to the folder of the configuration."""

    train: Entries = Field(
        default=[], description="files to train on, or patterns such as part-*.txt"
    )
    validate_: Entries = Field(
        default=[],
        alias="validate",
        description="labelled files on which the model is scored, to choose settings by",
    )
    test: Entries = Field(
        default=[], description="held-out files, which lssvm-classify and lssvm check read"
    )
    max_mb: float = Field(
        default=DEFAULT_MAX_MB,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="largest size in megabytes of one decompressed file, and of the weights that "
        "the data need; what is larger is refused",
    )

    skip_bad: int = Field(
        default=0,
        ge=0,
        description="largest number of bad examples of data.train, and of data.validate, that are "
        "skipped, each with a warning; 0: the first one ends the run (all text formats where the "
        "end of a bad example is known, and lists of images; each example skipped means that the "
        "files are read once more)",
    )

    @property
    def limit(self) -> Limit:
        """How large a file may be."""
        return Limit(self.max_mb, "data.max_mb")


class Objective(Section):
    """What is minimised: ½‖w‖² + C Σ c_i (U⁺_i − U⁻_i)."""

    model: str = Field(
        default=DEFAULT_MODEL, description="kind of model; the application says which ones it has"
    )
    C: float = Field(default=1.0, gt=0, description="weight of the loss relative to ½‖w‖²")
    c_scaling: Literal["sum", "mean"] = Field(
        default="sum",
        description="sum: C multiplies the sum of the losses, as in the papers; "
        "mean: C multiplies their mean, as in svm_struct",
    )
    rescaling: Literal["margin", "slack"] = Field(
        default="margin",
        description="margin: the margin of a wrong output is its loss (margin rescaling); slack: "
        "the margin is 1, and the slack is multiplied by the loss (slack rescaling; only for "
        "models without hidden values)",
    )
    slack_norm: Literal[0, 1, 2] = Field(
        default=1,
        description="1: C Σ ξ; 2: C/2 Σ ξ², with the square root of the loss as the margin; 0: "
        "hard margin, without slack (0 needs the solver n-slack; 2 that one, "
        "working-set or dual-coordinate)",
    )

    epsilon_y: float | None = Field(
        default=None,
        ge=0,
        description="model epsilon: temperature of the outputs; 0: the maximum is taken",
    )
    epsilon_h: float | None = Field(
        default=None,
        ge=0,
        description="model epsilon: temperature of the hidden values; 0: the maximum is taken",
    )

    def formulation(self) -> Formulation:
        """What of it an application's inference depends on."""
        return Formulation(
            self.model, self.rescaling, self.slack_norm, self.epsilon_y, self.epsilon_h
        )


class SolverOptions(Section):
    """How each convex problem is solved.

    A key that the method does not use is refused, unless it has its default value.
    """

    method: Method = Field(
        default=AUTO,
        description="auto: one of the following, chosen by the objective and counts of the data; "
        "bundle: bundle method, whose cutting planes are computed between the best "
        "iterate and the minimiser of the cutting-plane model (in-out); bundle-newton: bundle "
        "method whose cuts are computed at the points of Newton's method on the smoothed "
        "objective, for few weights; proximal: proximal bundle "
        "method; cutting-plane: cutting planes without stabilisation (1-slack); n-slack: cutting "
        "planes for each example, which needs the fewest passes; working-set: the "
        "algorithm of Tsochantaridis et al. (2004) to the letter, for comparison: a plane of one "
        "example at a time; dual-coordinate: exact steps in "
        "the dual for one example at a time, for many examples, many weights or expensive "
        "inference; lbfgs: limited-memory BFGS, for smooth "
        "models such as crf; gradient: (sub)gradient descent; sgd: stochastic (sub)gradient "
        "descent on F itself, for which no gap is known",
    )
    epsilon: float = Field(
        default=1e-3,
        gt=0,
        lt=1,
        description="relative duality gap at which the last convex problem is solved",
    )
    step: float = Field(
        default=0.08,
        gt=0,
        le=1,
        description="bundle and bundle-newton: step from the best iterate towards the minimiser of "
        "the cutting-plane model; 1: no stabilisation",
    )
    max_passes: int = Field(
        default=10000,
        ge=1,
        description="largest number of passes over the data for one convex problem, certificates "
        "included; two or three are made in any case, since w would stay 0 without them (sgd: "
        "largest number of epochs)",
    )
    max_planes: int = Field(
        default=300,
        ge=10,
        description="bundle methods and cutting-plane: largest number of cutting planes kept",
    )
    qp: Literal["auto", "osqp", "exact"] = Field(
        default="auto",
        description="bundle methods and cutting-plane: solver of the quadratic programs; auto: a "
        "warm-started active-set method, then OSQP if that is not precise enough; osqp: OSQP "
        "alone; exact: the active-set method alone",
    )
    cache: int = Field(
        default=0,
        ge=0,
        description="bundle and cutting-plane: number of planes cached for each example; cuts are "
        "built from the cache without an oracle call, which is worthwhile if inference is "
        "expensive (only without hidden values); 0: no cache",
    )
    max_cache_mb: float = Field(
        default=4000.0,
        gt=0,
        description="bundle, cutting-plane, n-slack and dual-coordinate: largest size in megabytes "
        "of the planes that are kept for single examples; bundle-newton: of the second derivatives",
    )
    sweeps: int = Field(
        default=20,
        ge=1,
        description="n-slack: largest number of sweeps over the planes between two passes",
    )
    violation: float = Field(
        default=0.1,
        gt=0,
        description="working-set: by how much an output must violate its margin, beyond the slack, "
        "to be added; training ends when no output does",
    )
    batch_size: int = Field(
        default=8,
        ge=1,
        description="sgd, and dual-coordinate without compiled inference by example: mini-batch "
        "size (examples per oracle call)",
    )
    learning_rate: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="gradient and sgd: first step size; null: chosen at every step (gradient), or "
        "found by trial (sgd)",
    )
    decay: Literal["inverse", "constant"] = Field(
        default="inverse",
        description="gradient and sgd: inverse: step t has the size r / (1 + r·t), where r is the "
        "learning rate; constant: every step has the size r",
    )
    gradient_norm: float | None = Field(
        default=None,
        gt=0,
        description="gradient: a convex problem ends when the norm of its (sub)gradient is at most "
        "this, as in Algorithm 2 of Ping, Liu & Ihler (2014); null: it ends by the duality gap",
    )
    epochs: int = Field(default=100, ge=1, description="sgd: number of epochs")
    average: bool = Field(
        default=True,
        description="sgd: use the average of the iterates, weighted towards the last ones",
    )


class Cccp(Section):
    """The outer loop: complete the hidden values, solve the convex problem, repeat."""

    tolerance: float = Field(
        default=1e-3,
        gt=0,
        description="stop when the objective falls by less than C Σ c_i times this",
    )
    max_iterations: int = Field(
        default=100, ge=1, description="largest number of CCCP iterations of a restart"
    )
    restarts: int = Field(
        default=1,
        ge=1,
        description="number of restarts, each from another random initialisation; the lowest "
        "objective wins",
    )
    inexactness: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="inexact early subproblems: stop when the gap is this fraction of the possible "
        "decrease",
    )


class HeldOutOptions(Section):
    """Scores of ``data.validate`` during training; the best iterate becomes the model."""

    every: int = Field(default=0, ge=0, description="evaluate every N passes; 0: never")
    patience: int = Field(
        default=5,
        ge=1,
        description="evaluations without improvement before training stops; counted once the "
        "relative gap is below 0.5",
    )
    metric: str = Field(
        default="",
        description="metric to evaluate; if left out, the first metric of the application",
    )


class SearchOptions(Section):
    """What ``lssvm cv`` tries."""

    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, description="values to try, by dotted key, such as objective.C: [0.1, 1, 10]"
    )
    folds: Annotated[int, Field(ge=3)] | Annotated[list[str], Field(min_length=3)] = Field(
        default=10,
        description="number of folds, at least 3: one to test on, the next one to select the "
        "setting on, the others to train on; or the files of data.train, each of which is a fold",
    )
    seeds: int = Field(default=1, ge=1, description="number of seeds with which a setting is run")

    @field_validator("folds", mode="before")
    @classmethod
    def _enough(cls, value: Any) -> Any:
        """Raises ValueError that says why there are three at least."""
        count = len(value) if isinstance(value, list) else value
        if isinstance(count, int) and not isinstance(count, bool) and count < 3:
            raise ValueError(
                "expected at least 3 folds (one to test on, one to select the setting on, one to "
                f"train on), got {count}"
            )
        return value

    @property
    def fold_count(self) -> int:
        """The number of folds."""
        return self.folds if isinstance(self.folds, int) else len(self.folds)
