"""What an application answers: data, joint feature map, loss and the argmax problems.

Notation as in Yu & Joachims (ICML 2009): examples (x_i, y_i), hidden values h, joint
feature map Φ(x, y, h) of dimension d, loss Δ(y_i, y, h), costs c_i.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TextIO

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationInfo
from scipy import sparse

from lssvm.applications import guard
from lssvm.checked import known
from lssvm.errors import LssvmError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.plane import Plane


class Options(BaseModel):
    """Base of an application's section of the configuration; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str


def named_file(value: str, info: ValidationInfo) -> Path:
    """The file that an option names, for validators that put its contents in the option's place.

    Relative paths count from the folder of the configuration. Raises ValueError for the options of
    a model: a model holds the contents, and opens no other file.
    """
    if is_stored(info):
        raise ValueError("names a file; expected its contents, which a model holds itself")
    return Path((info.context or {}).get("base", ".")) / value


def is_stored(info: ValidationInfo) -> bool:
    """Whether a model's options are validated, and not those of a configuration."""
    return (info.context or {}).get("base", ".") is None


TEMPERATURES = {  # (ε_y, ε_h) of the models that have no choice
    "ssvm": (0.0, 0.0),
    "lssvm": (0.0, 0.0),
    "mssvm": (0.0, 1.0),
    "hcrf": (1.0, 1.0),
    "loss_augmented_likelihood": (1.0, 1.0),
}
ANNEALED = "epsilon"
JSON = "json"  # the name of that format, beside an application's own
SMOOTH = frozenset({"hcrf", "loss_augmented_likelihood", ANNEALED})


@dataclass(frozen=True)
class Formulation:
    """What is minimised, as far as inference depends on it (Tsochantaridis et al. 2004, section 2).

    model : ``ssvm``, ``lssvm``, ``crf`` …, one of the application's ``models``
    rescaling : ``margin``, U⁺ = max over ŷ of L + w · Φ(ŷ); or ``slack``,
        U⁺ = max over ŷ of L (1 + w · Φ(ŷ) − w · Φ(y)) + w · Φ(y), without hidden values only
    slack_norm : 1, linear slack, L = Δ; 2, quadratic slack, L = √Δ; 0, no slack (hard margin)
    epsilon_y, epsilon_h : temperatures of y and h of the model ``epsilon`` (Ping, Liu & Ihler,
        ICML 2014), 0 for a maximum; None with all others
    """

    model: str = "lssvm"
    rescaling: str = "margin"
    slack_norm: int = 1
    epsilon_y: float | None = None
    epsilon_h: float | None = None

    @property
    def temperatures(self) -> tuple[float, float]:
        """ε_y and ε_h: those of the model, or as they are given."""
        given = (self.epsilon_y or 0.0, self.epsilon_h or 0.0)
        return TEMPERATURES.get(self.model, given)

    @property
    def hard(self) -> bool:
        """Whether U⁺ and U⁻ are maxima over y and h, of which planes' loss parts are losses."""
        return self.model in ("ssvm", "lssvm")

    @property
    def charged(self) -> bool:
        """Whether Δ counts in U⁺."""
        return self.model != "hcrf"

    def margin(self, losses: np.ndarray) -> np.ndarray:
        """L for these losses Δ, same shape.

        Raises LssvmError if a loss between 0 and 1 is to be separated without slack.
        """
        if self.slack_norm == 0 and np.any((losses > 0.0) & (losses < 1.0)):
            raise LssvmError(
                "without slack (objective.slack_norm: 0) every loss must be 0 or at least 1"
            )
        return np.sqrt(losses) if self.slack_norm == 2 else losses


@dataclass(frozen=True)
class Maxima:
    """What inference found for each of m examples, costs left out.

    values : (m,) float64, U⁺_i or U⁻_i at w
    losses : (m,) float64, the loss part: value = loss + w · gradient
    uppers : (m,) float64, proved upper bounds of U⁺_i at w; ``values`` where inference is exact
    outputs : what was found, packed as the application likes; only it looks inside
    """

    values: np.ndarray
    losses: np.ndarray
    uppers: np.ndarray
    outputs: Any


@dataclass(frozen=True)
class Source:
    """One file of a data set, as the configuration gives it.

    path : file to read, ``-`` for standard input
    label : the label of all its examples, or None if the file itself has labels
    cost : the cost c_i of its examples where the file gives none
    limit : how large it may be, which readers keep to
    """

    path: str
    label: str | None = None
    cost: float = 1.0
    limit: Limit = DEFAULT


class Examples(Protocol):
    """A data set packed in flat arrays.

    costs : (n,) float64, c_i
    sizes : (n,) int64, the work that each example is (for blocks of equal work)
    names : n names for messages and output
    labelled : whether every example has its true output

    Where a kernel works on several examples at a time, ``together`` says how many. Where an output
    may be missing, ``known``, (n,) bool, says whose is there.
    """

    costs: np.ndarray
    sizes: np.ndarray
    names: Sequence[str]
    labelled: bool

    def __len__(self) -> int: ...

    def slice(self, start: int, stop: int) -> Self:
        """Examples start..stop-1 as views of the same arrays."""
        ...

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen examples, in the order of ``rows``."""
        ...

    def fingerprint(self) -> str:
        """SHA-256 of everything that training reads, in hexadecimal."""
        ...


def labelled_part(examples: Any) -> Any:
    """The examples whose true outputs are known, as labelled ones; None if there are none.

    An example without its output, ``?`` in files, has a prediction like any other and no score.
    """
    if examples.labelled:
        return examples
    known = np.flatnonzero(getattr(examples, "known", ()))
    if not len(known):
        return None
    part = examples.take(known)
    return part if part.labelled else replace(part, labelled=True)


@dataclass(frozen=True)
class FolderFormat:
    """Predictions as a folder of files.

    names : of the files for these examples, a path below the folder each, all different;
        raises LssvmError for examples that cannot be written so
    contents : of the files, in that order, for examples and predictions
    """

    names: Callable[[Any], Sequence[str]]
    contents: Callable[[Any, Any], Iterator[bytes]]


# Writes a model's weights and summary arrays to a path.
Export = Callable[[np.ndarray, Mapping[str, np.ndarray], Any], None]


@dataclass(frozen=True)
class FirstProblem:
    """A convex problem whose solution is the first w of another one.

    application : has ``start``, ``augmented``, ``completed``, ``feature_names`` and ``decomposes``
        as an application has them, for ``examples``; its weights have the same coordinates
    """

    application: Any
    examples: Any


class Application(ABC):
    """A structured problem with score w · Φ(x, y, h), answered for whole data sets.

    Every maximum is exact unless ``augmented`` says otherwise through ``upper``; ties go
    to the lowest index. Methods take any contiguous block of examples and must be safe
    to call from several threads at once. w is float64 of shape (d,).

    An error that a method raises, if it is not an LssvmError, becomes an ApplicationCrash.
    """

    Options: ClassVar[type[Options]]
    models: ClassVar[frozenset[str]]  # the values of objective.model that it supports
    rescalings: ClassVar[frozenset[str]] = frozenset({"margin"})
    slack_norms: ClassVar[frozenset[int]] = frozenset({1})
    smooth: ClassVar[frozenset[str]] = frozenset()  # those models whose U⁺ has a gradient
    hidden: bool = True  # False: U⁻ is linear, one CCCP iteration solves the problem
    # Whether the hidden values can be exchanged: then w = 0 is a stationary point, and so nearly is
    # what a small C leads to, from where a larger one would not get away.
    exchangeable: ClassVar[bool] = False
    each: ClassVar[bool] = False  # whether it answers augmented_each, completed_each and gradients
    decomposes: ClassVar[bool] = True  # False for a loss over the whole data set
    kernels: ClassVar[bool] = False  # whether it answers columns_per_row
    # What ``lssvm init`` writes under ``data``: entries by split.
    starter_files: ClassVar[Mapping[str, Sequence[Any]]] = {
        "train": ["train.txt"],
        "test": ["test.txt"],
    }

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        guard.protect(cls)

    def __init__(self, options: Any, formulation: Formulation | None = None) -> None:
        self.options = options
        self.formulation = formulation or Formulation(min(self.models))

    @abstractmethod
    def read(self, sources: Sequence[Source]) -> Any:
        """The examples of the sources, in order. Raises DataError.

        The first data that an application reads are those to train on: what it learns from them
        for good (names of labels and of features) is its ``state``.
        """

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        """Files that reading ``path`` opens besides, such as images that it names.

        Of a folder, where folders can be read, the files in it. None by default. Nothing is
        raised: what is wrong with a file, ``read`` tells.
        """
        return ()

    def state(self) -> dict[str, np.ndarray]:
        """What the first ``read`` fixed, as arrays that the model keeps (nothing by default)."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over the ``state`` of a model, before anything is read.

        Raises ModelError (see ``checked``) for any array that :meth:`state` would not have given:
        what a kernel is handed is checked here or nowhere.
        """
        known(state)

    def check_summary(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        """Check a model's weights and the arrays that :meth:`summary` gave, after :meth:`restore`.

        Raises ModelError. By default there are no arrays, unless ``summary`` gives some.
        """
        if type(self).summary is Application.summary:
            known(arrays)

    def known_dimension(self) -> int | None:
        """d as options and state fix it; None where only examples do."""
        return None

    def known_inputs(self) -> tuple[int, int] | None:
        """m and K of :meth:`columns_per_row` as options and state fix them, or None."""
        return None

    @abstractmethod
    def dimension(self, examples: Any) -> int:
        """Length d of w and Φ."""

    @abstractmethod
    def start(self, examples: Any, rng: np.random.Generator) -> Plane | FirstProblem | np.ndarray:
        """Where training begins.

        Either Σ c_i Φ(x_i, y_i, h_i) for a first completion h, with loss 0, or a problem
        without hidden values whose solution, with the same C and solver, is the first w, or the
        first w itself.
        """

    @abstractmethod
    def augmented(self, w: np.ndarray, examples: Any) -> tuple[Plane, float]:
        """Loss-augmented inference: a plane of Σ c_i U⁺_i, and an upper bound of it at w.

        The plane is a lower bound for every w. The upper bound is the plane's own value
        at w where inference is exact, infinity where none is known.
        """

    @abstractmethod
    def completed(self, w: np.ndarray, examples: Any) -> Plane:
        """Latent completion: Σ c_i U⁻_i as a plane that touches it at w."""

    def augmented_each(self, w: np.ndarray, examples: Any) -> Maxima:
        """Loss-augmented inference for each example, for solvers that keep planes by example."""
        raise NotImplementedError

    def start_each(
        self, examples: Any, rng: np.random.Generator
    ) -> Maxima | FirstProblem | np.ndarray:
        """As ``start``, the first completion of every example apart; by default the truth."""
        return self.completed_each(np.zeros(self.dimension(examples)), examples)

    def completed_each(self, w: np.ndarray, examples: Any) -> Maxima:
        """Latent completion for each example; without hidden values the truth, whatever w."""
        raise NotImplementedError

    def gradients(self, examples: Any, found: Maxima, rows: np.ndarray) -> sparse.csr_array:
        """The gradients of the planes that were found, (len(rows), d), sparse, without costs.

        examples : those that ``found`` is of; rows : which of them, increasing
        """
        raise NotImplementedError

    def columns_per_row(self, examples: Any) -> int:
        """K, where w begins with weights (m, K) that rows of m features are scored against.

        For applications that kernels can be used with: its examples have ``inputs``, (rows, m),
        dense or csr_array, and ``with_inputs``, a copy with other rows and another m; w · Φ
        depends on the rows through these scores alone.
        """
        raise NotImplementedError

    @abstractmethod
    def predict(self, w: np.ndarray, examples: Any, top: int = 1) -> Any:
        """argmax over (y, h) of w · Φ for each example, with the ``top`` best h of it."""

    @abstractmethod
    def score(self, examples: Any, predictions: Any) -> dict[str, float | None]:
        """The field's metrics by their usual names; None where one is not defined."""

    @abstractmethod
    def write(self, examples: Any, predictions: Any, file: TextIO) -> None:
        """Write predictions in the field's own format."""

    @abstractmethod
    def records(self, examples: Any, predictions: Any) -> Iterator[dict[str, Any]]:
        """One dictionary an example: id, y, h, score and, where known, gold and loss."""

    @abstractmethod
    def feature_names(self) -> Sequence[str]:
        """A readable name for each coordinate of w; more where only the data say how many."""

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """What predictions can be written as, by name: functions like ``write``, the first one."""
        return {"default": self.write}

    @property
    def folder_formats(self) -> Mapping[str, FolderFormat]:
        """What else they can be written as, by other names: several files in a folder."""
        return {}

    def for_training(self, examples: Any) -> Any:
        """The examples as they are trained on, by default as they are.

        What training alone does to them: costs by class, examples that it leaves out.
        """
        return examples

    def groups(self, examples: Any) -> np.ndarray | None:
        """The class of each example, (n,) int, by which folds are stratified; or None."""
        return None

    def group_name(self, examples: Any, group: int) -> str:
        """What a class of :meth:`groups` is called."""
        return str(group)

    def summary(self, w: np.ndarray, examples: Any) -> dict[str, np.ndarray]:
        """Arrays besides w that the model keeps of its training data (none by default)."""
        return {}

    def warnings(self, examples: Any) -> list[str]:
        """What looks wrong with a data set, one sentence each."""
        return []

    def unsettled(self) -> dict[str, tuple[int, int]]:
        """How often iterative inference did not settle, and of how many times, by its name.

        Of loss-augmented inference and latent completion since the last call; nothing by default.
        """
        return {}

    def training_warnings(self, examples: Any, predictions: Any) -> list[str]:
        """What looks wrong with the predictions for the training data, one sentence each."""
        return []

    def output_warnings(self, examples: Any, name: str) -> list[str]:
        """What is doubtful about predictions for examples, one sentence each.

        name : of the format that they are written in, or :data:`JSON`
        """
        return []

    def training_losses(self, examples: Any, predictions: Any) -> np.ndarray | None:
        """Δ of the predictions for the training data, (n,), by which F is checked; or None."""
        return None

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What a person wants to know of a model, by name (nothing by default).

        arrays : what :meth:`summary` kept
        """
        return {}

    @property
    def exports(self) -> Mapping[str, Export]:
        """What ``lssvm show`` can write of a model besides its weights, by kind."""
        return {}
