"""The configuration: how it is read, checked and made into an application and its files.

What its sections hold is in :mod:`lssvm.config.sections`. The section ``application`` is
validated by the application's own Options, so a plug-in brings its own keys.
"""

import glob
import json
import math
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    field_validator,
)

from lssvm import applications
from lssvm.applications.base import Application, Options, Source
from lssvm.applications.feature_space import Kernel
from lssvm.applications.feature_space import unfit as unfit_kernel
from lssvm.config import yaml12
from lssvm.config.checks import default_model, kernel_solvers, unfit, unstoppable
from lssvm.config.faults import explained, shown, told
from lssvm.config.kernel_keys import forget_unused_of_kernel, unused_of_kernel
from lssvm.config.option_files import named_files
from lssvm.config.renamed import refuse_former_names, translate_former_names
from lssvm.config.sections import (
    Cccp,
    Data,
    Entry,
    HeldOutOptions,
    Objective,
    SearchOptions,
    Section,
    SolverOptions,
)
from lssvm.config.solver_keys import forget_unused, unused
from lssvm.config.yaml12 import DEEPEST, Document, KeyPath, NotAMappingError, Place, dotted, is_text
from lssvm.errors import ConfigError, LssvmError
from lssvm.solvers.table import AUTO

SEARCHABLE = ("application", "kernel", "objective", "solver", "cccp")
MOST_SETTINGS = 10_000  # of a search, each of which is trained many times over
SPLITS = ("train", "validate", "test")


PLACES = "threads, dask or dask:ADDRESS"


def is_place(value: str) -> bool:
    """Whether a text is a value of ``executor``."""
    kind, _, address = value.partition(":")
    return value in ("threads", "dask") or (kind == "dask" and bool(address))


class Config(Section):
    """Everything that a run depends on, except the data themselves."""

    version: Literal[1] = Field(default=1, description="version of the configuration format")
    application: SerializeAsAny[Options] = Field(description="what is learnt")
    data: Data = Field(default=Data(), description="files of each split")
    kernel: Kernel = Field(default=Kernel(), description="inner products of features")
    objective: Objective = Field(default=Objective(), description="what is minimised")
    solver: SolverOptions = Field(
        default=SolverOptions(), description="how each convex problem is solved"
    )
    cccp: Cccp = Field(default=Cccp(), description="the outer loop (CCCP)")
    held_out: HeldOutOptions = Field(
        default=HeldOutOptions(),
        description="evaluation on data.validate during training, and early stopping",
    )
    search: SearchOptions = Field(default=SearchOptions(), description="what lssvm cv tries")
    seed: int = Field(default=0, ge=0, description="seed of the one random generator")
    # Where a model is trained is no part of it: neither of these is stored or hashed.
    executor: str = Field(
        default="threads",
        exclude=True,
        description="where training computes; threads: of this process; dask: processes of this "
        "machine; dask:ADDRESS: the workers of a scheduler of Dask, by its address, such as "
        "dask:tcp://host:8786, or by its scheduler file; the model is the same",
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        exclude=True,
        description="number of workers of executor dask; null: one for each core, or all that the "
        "scheduler has",
    )

    @field_validator("executor")
    @classmethod
    def _is_place(cls, value: str) -> str:
        if not is_place(value):
            raise ValueError(f"expected {PLACES}, got {shown(value)}")
        return value

    _origin: str = PrivateAttr(default="configuration")
    _bases: dict[str, Path] = PrivateAttr(default_factory=dict)
    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

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

    def files(self, split: str) -> list[Entry]:
        """The same with every pattern replaced by the files that it matches, by their names.

        Raises ConfigError if it matches none.
        """
        base = self._bases.get(split, Path())
        found: list[Entry] = []
        for entry in self.entries(split):
            names = _matching(entry.path, base)
            if not names:
                wrong = f"{entry.path!r} matches no file; expected at least one"
                raise ConfigError([f"{self.origin}: data.{split}: {wrong}"])
            found += [entry.model_copy(update={"path": name}) for name in names]
        return found

    def sources(self, split: str) -> list[Source]:
        """The files of ``train``, ``validate`` or ``test`` with paths that can be opened.

        Raises ConfigError if the split names none.
        """
        entries = self.files(split)
        if not entries:
            raise ConfigError([f"{self.origin}: data.{split}: no files; expected at least one"])
        return [
            Source(
                resolved(entry.path, self._bases[split]), entry.label, entry.cost, self.data.limit
            )
            for entry in entries
        ]

    def application_files(self) -> list[tuple[str, str]]:
        """Files that the application's section, or the grid for it, names: (dotted key, path)."""
        options = applications.load(self.application.name).Options
        section = self._written.get("application", {})
        return list(named_files(section, self.search.grid, options, self.base))

    def create_application(self) -> Application:
        """The application with its options. Raises LssvmError if it cannot be loaded."""
        return applications.load(self.application.name)(
            self.application, self.objective.formulation()
        )


def _matching(path: str, base: Path) -> list[str]:
    """The files that a pattern with ``*``, ``?``, ``[…]`` or ``**`` matches, in a fixed order.

    Any other path, and that of a file that exists, stands for itself.
    """
    # Those of os.path answer for names that no file can have, too.
    if not glob.has_magic(path) or os.path.exists(base / path):
        return [path]
    found = glob.glob(path, root_dir=base, recursive=True)
    return sorted(name for name in found if os.path.isfile(base / name))


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
    """A copy of ``config`` with the values at dotted keys replaced. Raises ConfigError.

    If ``solver.method`` is among them, keys that the new method does not use are left out; likewise
    for ``kernel.type``.
    """
    document = _replaced(config, values)
    if "kernel.type" in values:
        forget_unused_of_kernel(document)
    if "solver.method" in values:
        forget_unused(document)
    return _validated(Config, document, config.origin, config._bases)


def stored_config(values: Mapping[str, Any], origin: str) -> Config:
    """The configuration that a model holds; it names data, but no file is opened.

    Keys that had other names when the model was made are translated.

    Raises ConfigError if an option holds a path in the place of contents, as for all other faults.
    """
    document = Document(deepcopy(dict(values)), {(): Place((0, 0, 0), origin)})
    kind, _ = _application(document)
    translate_former_names(kind.Options if kind else None, document)
    config, faults = _checked(Config, document, None)
    if config is None or faults:
        raise ConfigError(told(faults))
    return config


def _replaced(config: Config, values: Mapping[str, Any]) -> Document:
    place = Place((0, 0, 0), config.origin)
    settings = config.to_dict()
    written = config._written.get("application", {})
    if isinstance(written, Mapping):  # names of files as they were written: they are read again
        settings["application"] |= deepcopy(dict(written))
    document = Document(settings, {(): place})
    for key, value in values.items():
        try:
            document.put(tuple(key.split(".")), value)
        except NotAMappingError as error:
            document.faults.append((place, f"{key}: {error}"))
    return document


def _override(document: Document, override: str, number: int, bases: dict[str, Path]) -> None:
    key, equals, text = override.partition("=")
    key = key.strip()
    path: KeyPath = tuple(key.split("."))
    place = Place((1, number, 0), f"--set {dotted(path)}")
    if not equals or not all(path) or len(path) > DEEPEST or not is_text(key):
        start = dotted((override,))
        wrong = f"--set {start}: expected KEY=VALUE, such as solver.epsilon=1e-4"
        document.faults.append((Place((1, number, 0), wrong), ""))
        return
    try:
        value, faults = yaml12.parse_value(text, place.text)
        if path[0] == "application" and _is_file(value):
            value = os.path.relpath(value, bases["application"])
        document.put(path, value)
    except ConfigError as error:
        document.faults += [(Place(place.order, message), "") for message in error.messages]
        return
    except NotAMappingError as error:
        document.faults.append((place, str(error)))
        return
    document.faults += [(place, fault) for fault in faults]
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
    config._origin, config._bases, config._written = origin, dict(bases), document.value
    faults = unstoppable(config, document) + unused(config, document)
    faults += unused_of_kernel(config, document) + _unsearchable(config, document)
    if faults:
        raise ConfigError(told(faults))
    return config


def _checked(
    cls: type[Config], document: Document, base: Path | None
) -> tuple[Config | None, list[tuple[Place, str]]]:
    """The configuration, and what is wrong with it but for the grid of ``search``.

    base : from which paths of the application's options count; None: there may be none
    """
    kind, faults = _application(document)
    faults += refuse_former_names(kind.Options if kind else None, document)
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
        able = [] if config.kernel.type == "linear" else [AUTO, *kernel_solvers()]
        for key, text in unfit_kernel(config.kernel, kind, name, method, able):
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
    place = document.place(("application",))
    if isinstance(section, str):
        document.value["application"] = section = {"name": section}
    if section is not None and not isinstance(section, dict):
        return None, [(place, f"application: expected a mapping, got {shown(section)}")]
    name = None if section is None else section.get("name")
    if not isinstance(name, str):
        names = ", ".join(applications.registered())
        if section is None:
            wrong = f"application: missing; expected {{name: …}} with one of {names}"
            return None, [(place, wrong)]
        wrong = f"missing; expected one of {names}"
        if name is not None:
            wrong = f"expected one of {names}, got {shown(name)}"
        return None, [(document.place(("application", "name")), f"application.name: {wrong}")]
    place = document.place(("application", "name"))
    try:
        return applications.load(name), []
    except LssvmError as error:
        return None, [(place, f"application.name: {error}")]


def _options(
    kind: type[Application], document: Document, base: Path | None, faults: list[tuple[Place, str]]
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
    faults: list[tuple[Place, str]] = []
    grid = config.search.grid
    settings = math.prod(map(len, grid.values()))
    if max(settings, sum(map(len, grid.values()))) > MOST_SETTINGS:
        wrong = f"more than {MOST_SETTINGS:,} settings to try; expected fewer"
        return [(document.place(("search", "grid")), f"search.grid: {wrong}")]
    for key, values in grid.items():
        place, where = document.place(("search", "grid", key)), dotted(("search", "grid", key))
        if key.partition(".")[0] not in SEARCHABLE or key.count(".") != 1 or key.endswith(".name"):
            sections = ", ".join(f"{name}.*" for name in SEARCHABLE)
            faults.append((place, f"{where}: cannot be searched; expected a key of {sections}"))
            continue
        plain = config.model_copy(update={"search": SearchOptions()})
        for value in values:
            found = _checked(Config, _replaced(plain, {key: value}), config.base)[1]
            faults += [(place, f"{where}: {fault.partition(': ')[2]}") for _, fault in found]
    return list(dict.fromkeys(faults))
