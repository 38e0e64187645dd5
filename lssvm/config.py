"""The configuration: its schema, the one home of every default, and how it is read.

The descriptions below are the documentation: ``lssvm config --schema``, ``lssvm init``
and the README are made from them. The section ``application`` is validated by the
application's own Options, so a plug-in brings its own keys.
"""

import json
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
)

from lssvm import applications
from lssvm.applications.base import Application, Formulation, Options, Source
from lssvm.compatibility import DEFAULT_MODEL, default_model, unfit, unstoppable
from lssvm.errors import ConfigError, LssvmError
from lssvm.feature_space import Kernel
from lssvm.feature_space import unfit as unfit_kernel
from lssvm.formats import yaml12
from lssvm.formats.yaml12 import Document, KeyPath, NotAMapping, Place
from lssvm.validation import explained, shown, told

SEARCHABLE = ("application", "kernel", "objective", "solver", "cccp")
SPLITS = ("train", "validate", "test")
Method = Literal["bundle", "proximal", "cutting-plane", "n-slack", "bcfw", "lbfgs", "gradient", "sgd"]


class Section(BaseModel):
    """Base of the sections: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
        default="bundle",
        description="bundle: cutting planes, kept and stabilised around the best point; "
        "cutting-plane: the same without stabilising (1-slack); n-slack: planes of every example, "
        "fewest passes; bcfw: block-coordinate Frank-Wolfe; lbfgs: quasi-Newton steps, for smooth "
        "models such as crf; gradient: (sub)gradient descent; sgd: the same on F itself, after "
        "every few examples, no gap is known",
    )
    epsilon: float = Field(
        default=1e-3, gt=0, lt=1, description="relative duality gap that ends the last problem"
    )
    step: float = Field(
        default=0.08,
        gt=0,
        le=1,
        description="where inference is asked: this far from the best point to the bundle's own",
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


class Config(Section):
    """Everything that a run depends on, besides the data themselves."""

    version: Literal[1] = Field(default=1, description="version of this format")
    application: SerializeAsAny[Options] = Field(description="what is learnt")
    data: Data = Field(default=Data(), description="files")
    kernel: Kernel = Field(default=Kernel(), description="inner products of features")
    objective: Objective = Field(default=Objective(), description="what is minimised")
    solver: Solver = Field(default=Solver(), description="how each convex problem is solved")
    cccp: Cccp = Field(default=Cccp(), description="the outer loop")
    held_out: HeldOut = Field(
        default=HeldOut(), description="scores of data.validate during training, early stopping"
    )
    search: Search = Field(default=Search(), description="what lssvm cv tries")
    seed: int = Field(default=0, ge=0, description="seed of the one random generator")

    _origin: str = PrivateAttr(default="configuration")
    _bases: dict[str, Path] = PrivateAttr(default_factory=dict)

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], *, base: Path | str = ".", origin: str = "configuration"
    ) -> Self:
        """A configuration from plain values, as :meth:`to_dict` gives them.

        Relative paths count from ``base``; faults begin with ``origin``. Raises ConfigError.
        """
        document = Document(deepcopy(dict(values)), {(): Place((0, 0, 0), origin)})
        return _validated(
            cls, document, origin, dict.fromkeys((*SPLITS, "application"), Path(base))
        )

    def to_dict(self) -> dict[str, Any]:
        """The effective settings as plain JSON values, paths as they were written."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def origin(self) -> str:
        """The file that the settings came from, for messages."""
        return self._origin

    @property
    def base(self) -> Path:
        """The folder from which relative paths of the application's section count."""
        return self._bases["application"]

    def entries(self, split: str) -> list[Entry]:
        """The files of a split as they were written; empty if none are named."""
        return {"train": self.data.train, "validate": self.data.validate_, "test": self.data.test}[
            split
        ]

    def sources(self, split: str) -> list[Source]:
        """The files of ``train``, ``validate`` or ``test`` with paths that can be opened.

        Raises ConfigError if the split names none.
        """
        entries = self.entries(split)
        if not entries:
            raise ConfigError([f"{self.origin}: data.{split}: no files; expected at least one"])
        return [
            Source(resolved(entry.path, self._bases[split]), entry.label, entry.cost)
            for entry in entries
        ]

    def create_application(self) -> Application:
        """The application with its options. Raises LssvmError if it cannot be loaded."""
        return applications.load(self.application.name)(
            self.application, self.objective.formulation()
        )


def resolved(path: str, base: Path) -> str:
    """``path`` counted from ``base``; ``-`` and absolute paths stay as they are."""
    return path if path == "-" else str(base / path)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a configuration and apply overrides ``key=value`` (the value is YAML).

    Relative paths count from the file's folder, those of overrides from the working
    directory. Raises ConfigError with every fault found, each on a line of its own.
    """
    document = yaml12.load(path)
    bases = dict.fromkeys((*SPLITS, "application"), Path(path).parent)
    for number, override in enumerate(overrides):
        _override(document, override, number, bases)
    return _validated(Config, document, str(path), bases)


def set_values(config: Config, values: Mapping[str, Any]) -> Config:
    """A copy of ``config`` with the values at dotted keys replaced. Raises ConfigError."""
    return _validated(Config, _replaced(config, values), config.origin, config._bases)


def validate_options(section: Mapping[str, Any], origin: str = "application") -> Options:
    """The options of a stored application section. Raises ConfigError or LssvmError."""
    document = Document({"application": dict(section)}, {(): Place((0, 0, 0), origin)})
    kind, faults = _application(document)
    options = _options(kind, document, Path(), faults) if kind else None
    if options is None or faults:
        raise ConfigError(told(faults))
    return options


def _replaced(config: Config, values: Mapping[str, Any]) -> Document:
    place = Place((0, 0, 0), config.origin)
    document = Document(config.to_dict(), {(): place})
    for key, value in values.items():
        try:
            document.put(tuple(key.split(".")), value)
        except NotAMapping as error:
            document.faults.append((place, f"{key}: {error}"))
    return document


def _override(document: Document, override: str, number: int, bases: dict[str, Path]) -> None:
    key, equals, text = override.partition("=")
    key = key.strip()
    place = Place((1, number, 0), f"--set {key}")
    if not equals or not key or not all(key.split(".")):
        wrong = f"--set {override}: expected KEY=VALUE, such as solver.epsilon=1e-4"
        document.faults.append((Place((1, number, 0), wrong), ""))
        return
    path: KeyPath = tuple(key.split("."))
    try:
        value, faults = yaml12.parse_value(text, place.text)
        if path[0] == "application" and _is_file(value):
            value = os.path.relpath(value, bases["application"])
        document.put(path, value)
    except ConfigError as error:
        document.faults += [(Place(place.order, message), "") for message in error.messages]
        return
    except NotAMapping as error:
        document.faults.append((place, str(error)))
        return
    document.faults += [(place, fault) for fault in faults]
    for stale in [known for known in document.places if known[: len(path)] == path]:
        del document.places[stale]
    for depth in range(1, len(path)):
        document.places.setdefault(path[:depth], place)
    document.places[path] = place
    if path[0] == "data":
        touched = SPLITS if len(path) == 1 else path[1:2]
        bases.update({split: Path() for split in SPLITS if split in touched})


def _is_file(value: Any) -> bool:
    """Whether an option's value is a path from the working directory, and not a bare word."""
    return isinstance(value, str) and bool({".", os.sep} & set(value)) and os.path.isfile(value)


def _validated(
    cls: type[Config], document: Document, origin: str, bases: Mapping[str, Path]
) -> Any:
    """The configuration of a document. Raises ConfigError with all faults, in file order."""
    config, faults = _checked(cls, document, bases["application"])
    if config is None or faults:
        raise ConfigError(told(faults))
    config._origin, config._bases = origin, dict(bases)
    faults = unstoppable(config, document) + _unsearchable(config, document)
    if faults:
        raise ConfigError(told(faults))
    return config


def _checked(
    cls: type[Config], document: Document, base: Path
) -> tuple[Config | None, list[tuple[Place, str]]]:
    """The configuration, and what is wrong with it but for the grid of ``search``."""
    kind, faults = _application(document)
    options = _options(kind, document, base, faults) if kind else None
    if kind is not None:
        _choose_model(kind, document)
    others = {key: value for key, value in document.value.items() if key != "application"}
    stand_in = {"application": {"name": ""}}
    config = None
    try:
        config = cls.model_validate_json(json.dumps({**others, **stand_in}), strict=True)
    except ValidationError as error:
        faults += explained(error, cls, document, ())
    if kind is not None:
        faults += unfit(kind, document)
    if kind is not None and config is not None:
        name, method = document.value["application"]["name"], config.solver.method
        for key, text in unfit_kernel(config.kernel, kind, name, method):
            faults.append((document.place(("kernel", key)), f"kernel.{key}: {text}"))
    if config is not None and options is not None:
        config = config.model_copy(update={"application": options})
    known = {place for place, _ in document.faults} - {document.place(())}
    return config, document.faults + [fault for fault in faults if fault[0] not in known]


def _application(
    document: Document,
) -> tuple[type[Application] | None, list[tuple[Place, str]]]:
    """The application that a document names, or what is wrong with the name."""
    section = document.value.get("application")
    place, names = document.place(("application",)), ", ".join(applications.registered())
    if isinstance(section, str):
        document.value["application"] = section = {"name": section}
    if section is None:
        return None, [(place, f"application: missing; expected {{name: …}} with one of {names}")]
    if not isinstance(section, dict):
        return None, [(place, f"application: expected a mapping, got {shown(section)}")]
    name, place = section.get("name"), document.place(("application", "name"))
    if name is None:
        return None, [(place, f"application.name: missing; expected one of {names}")]
    if not isinstance(name, str):
        wrong = f"application.name: expected one of {names}, got {shown(name)}"
        return None, [(place, wrong)]
    try:
        return applications.load(name), []
    except LssvmError as error:
        return None, [(place, f"application.name: {error}")]


def _options(
    kind: type[Application], document: Document, base: Path, faults: list[tuple[Place, str]]
) -> Options | None:
    """The application's options, or None once what is wrong with them is added to ``faults``.

    Validators of the options find ``base``, from which their paths count, in their context.
    """
    text = json.dumps(document.value["application"])
    try:
        return kind.Options.model_validate_json(text, strict=True, context={"base": base})
    except ValidationError as error:
        faults += explained(error, kind.Options, document, ("application",))
        return None


def _choose_model(kind: type[Application], document: Document) -> None:
    """Fill in objective.model where it is left out."""
    objective = document.value.setdefault("objective", {})
    if isinstance(objective, dict):
        objective.setdefault("model", default_model(kind))


def _unsearchable(config: Config, document: Document) -> list[tuple[Place, str]]:
    """Grid entries whose key or values the schema refuses."""
    faults = []
    for key, values in config.search.grid.items():
        place, where = document.place(("search", "grid", key)), f"search.grid.{key}"
        if key.partition(".")[0] not in SEARCHABLE or key.count(".") != 1 or key.endswith(".name"):
            sections = ", ".join(f"{name}.*" for name in SEARCHABLE)
            faults.append((place, f"{where}: cannot be searched; expected a key of {sections}"))
            continue
        plain = config.model_copy(update={"search": Search()})
        for value in values:
            found = _checked(Config, _replaced(plain, {key: value}), config.base)[1]
            faults += [(place, f"{where}: {fault.partition(': ')[2]}") for _, fault in found]
    return faults
