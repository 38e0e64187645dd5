"""The model: weights, the settings that they belong to, and how they were found."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import lssvm
from lssvm import applications, checked
from lssvm.applications.base import Application, FeatureRows
from lssvm.applications.feature_space import Linear, Space
from lssvm.config import Config, stored_config
from lssvm.errors import ConfigError, LssvmError, ModelError
from lssvm.model import space as stored_space
from lssvm.model.container import MisfitError, read_container, refused_as_damaged, write_container
from lssvm.model.record import checked_record
from lssvm.model.space import restored
from lssvm.output.plain import finite

MODEL = "lssvm-model"
STATE = "state."  # begins the names of arrays that are the application's state
SPACE = "space."  # and of those that belong to a kernel
MOST_NAMES = 100_000  # beyond that the header has the number of features only


@dataclass(frozen=True)
class Model:
    """Weights, the settings that they belong to, and how they were found.

    application : the application with its options
    config : the effective configuration, plain JSON values
    w : (d,) float64, finite
    record : how it was trained, plain JSON values (objective, gap, seed, data hash, …)
    arrays : what the application keeps of its training data, by name
    space : what is done to rows of features before they meet w
    """

    application: Application
    config: dict[str, Any]
    w: np.ndarray
    record: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    space: Space = field(default_factory=Linear)

    def save(self, path: str | Path) -> None:
        """Write the model to ``path``, whole or not at all.

        Numbers of the record that are not finite (a bound that is not known) become null.
        Raises ModelError if a weight is not finite, LssvmError if the file cannot be written.
        """
        bad = np.flatnonzero(~(np.abs(self.w) <= checked.LARGEST))
        if len(bad):
            raise ModelError(
                f"{path}: weight {bad[0]} is {self.w[bad[0]]}; expected finite weights"
            )
        state = {STATE + name: array for name, array in self.application.state().items()}
        state |= {SPACE + name: array for name, array in self.space.arrays().items()}
        if {"w", *state} & self.arrays.keys():
            raise ModelError(f"{path}: two arrays of the model have one name")
        header = {
            "lssvm_version": lssvm.__version__,
            "application": self._provenance(),
            "dimension": len(self.w),
            **self._features(),
            "config": self.config,
            "record": finite(self.record),
        }
        write_container(path, MODEL, header, {"w": self.w, **state, **self.arrays})

    @classmethod
    def load(cls, path: str | Path) -> "Model":
        """Read a model. Raises ModelError, one line, if it is damaged or does not fit.

        The application is looked up among those installed; nothing is run from the file.
        """
        header, arrays = read_container(path, MODEL)
        with refused_as_damaged(path):
            return cls._restored(header, arrays)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Model":
        """The model of a container. Raises LssvmError, without the file's name."""
        values = checked.mapping(header, "config")
        record = checked_record(checked.mapping(header, "record"))
        config = _config(checked.mapping(header, "application").get("name"), values)
        dimension = checked.whole(header, "dimension")
        w = checked.array(
            arrays,
            "w",
            np.float64,
            (dimension,),
            least=-checked.LARGEST,
            most=checked.LARGEST,
        )
        state, parts = _taken(arrays, STATE), _taken(arrays, SPACE)
        del arrays["w"]
        application = config.create_application()
        application.restore(state)
        inputs = application.known_inputs() if isinstance(application, FeatureRows) else None
        space = restored(config.kernel, parts, inputs)
        expected = stored_space.dimension(space, application.known_dimension())
        if dimension != (dimension if expected is None else expected):
            raise ModelError(f"there are {dimension:,d} weights; expected {expected:,d}")
        if not dimension and isinstance(space, Linear):
            raise ModelError("there are no weights; expected some")
        application.check_summary(w, arrays)
        _check_features(header, dimension)
        return cls(application, config.to_dict(), w, record, arrays, space)

    def feature_names(self) -> list[str]:
        """A readable name for each coordinate of w; none if they are coefficients of rows."""
        return list(self.names[: len(self.w)])

    @property
    def names(self) -> Sequence[str]:
        """The same, made when they are asked for."""
        return self.space.names(self.application.feature_names())

    def described(self) -> dict[str, Any]:
        """What the application says of the weights in the field's own terms, if anything.

        Raises ModelError if an array is missing that it needs.
        """
        try:
            return self.application.describe(self.w, self.arrays)
        except KeyError as error:
            raise ModelError(f"the model lacks the array {error} of its application") from None

    def _provenance(self) -> dict[str, Any]:
        name = self.application.options.name
        entry = applications.entry_of(name)
        package = entry.dist if entry else None
        return {
            "name": name,
            "distribution": package.name if package else None,
            "version": package.version if package else None,
        }

    def _features(self) -> dict[str, Any]:
        if len(self.w) > MOST_NAMES or not self.names:
            return {"feature_count": len(self.w)}
        return {"feature_names": self.feature_names()}


def _taken(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, taken out of the others, by the rest of their names."""
    names = [key for key in arrays if key.startswith(prefix)]
    return {key.removeprefix(prefix): arrays.pop(key) for key in names}


def _config(name: Any, values: dict[str, Any]) -> Config:
    """The configuration of a model, whose application must be installed."""
    section = checked.mapping(values, "application")
    if not isinstance(name, str) or section.get("name") != name:
        raise ModelError("the header gives two names of its application; expected one")
    kind = f"a model of application {checked.shown(name)}"
    try:
        applications.load(name)
    except LssvmError as error:
        raise MisfitError(f"{kind}: {error}") from None
    try:
        return stored_config(values, kind)
    except ConfigError as error:
        raise MisfitError(error.messages[0]) from None


def _check_features(header: dict[str, Any], dimension: int) -> None:
    """Refuse names of features that are not as many as the weights; they are made anew."""
    if "feature_names" not in header:
        checked.same(header, "feature_count", dimension)
        return
    names = checked.sequence(header, "feature_names")
    if len(names) != dimension or not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"feature_names has not {dimension:,d} names; expected one for each weight"
        )
