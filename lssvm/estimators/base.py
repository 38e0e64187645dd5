"""What all estimators share: settings, training, what is known afterwards, and pickling.

An estimator's parameters are a configuration; ``fit`` makes the application's examples of its
arguments with ``examples_from``, and trains on them as the commands do. Parameters are those of
the configuration under the names of scikit-learn; ``settings`` reaches every other key.
"""

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lssvm.applications.feature_space import Linear
from lssvm.applications.occurring import Occurring
from lssvm.config import Config
from lssvm.errors import LssvmError, StoppedError
from lssvm.estimators.watching import Callback, Pass, Watcher
from lssvm.model import Model
from lssvm.training.prediction import classify, prepared
from lssvm.training.session import learn_on
from lssvm.training.shortfall import shortfall

_LARGEST_SEED = 2**31 - 1
_FILE = "estimator.model"
_INTERRUPTED = 130  # exit code after Ctrl-C


@contextmanager
def refused_as_value_error() -> Iterator[None]:
    """Make a ValueError of what lssvm refuses, as callers of scikit-learn expect."""
    try:
        yield
    except LssvmError as error:
        raise ValueError(str(error)) from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make of a signal that ended training what Python makes of it."""
    try:
        yield
    except StoppedError as stop:
        if stop.exit_code == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise SystemExit(stop.exit_code) from None


@dataclass(kw_only=True, eq=False, repr=False)
class Structured(BaseEstimator):
    """The base of all estimators.

    Parameters
    ----------
    C : weight of the summed loss relative to ½‖w‖² (``objective.C``)
    c_scaling : sum: C multiplies the sum of the losses; mean: their mean, as in svm_struct
    solver : method of each convex problem (``solver.method``); auto chooses by counts of the data
    epsilon : relative duality gap at which the last convex problem is solved
    max_passes : largest number of passes over the examples for one convex problem
    n_jobs : threads; None: one; -1: all cores. Results do not depend on it
    random_state : seed of the one random generator: a whole number, or as scikit-learn has it
    verbose : 0: silent; 1: a line for each CCCP iteration; 2: a line for each pass
    settings : any other key of the configuration by its dotted name, such as
        ``{"solver.step": 0.1}``; they win over the parameters

    Attributes
    ----------
    model_ : the ``lssvm.Model``; ``model_.save(path)`` writes the file that the commands read
    objective_, lower_bound_, gap_ : objective, its proved lower bound and the relative gap; NaN
        where none is known. certified_ : whether the gap is proved
    converged_ : whether the asked precision was reached
    n_passes_, n_iter_ : passes over the examples; CCCP iterations of the best restart
    history_ : a ``Pass`` for each pass and for the end of each CCCP iteration
    notes_, warnings_ : what training had to say
    """

    C: float = 1.0
    c_scaling: str = "sum"
    solver: str = "auto"
    epsilon: float = 1e-3
    max_passes: int = 10_000
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    settings: Mapping[str, Any] | None = None

    _application: ClassVar[str]
    _own: ClassVar[tuple[str, ...]] = ()  # parameters that are options of the application

    def _options(self) -> dict[str, Any]:
        """The section ``application`` of the configuration, but for its name."""
        return {name: getattr(self, name) for name in self._own}

    def _sections(self) -> dict[str, dict[str, Any]]:
        """What the other sections have beside the common parameters."""
        return {}

    def _config(self) -> Config:
        """The configuration that the parameters make. Raises LssvmError."""
        values: dict[str, Any] = {
            "application": {"name": self._application, **self._options()},
            "objective": {"C": self.C, "c_scaling": self.c_scaling},
            "solver": {
                "method": self.solver,
                "epsilon": self.epsilon,
                "max_passes": self.max_passes,
            },
            "seed": self._seed(),
        }
        for name, section in self._sections().items():
            values.setdefault(name, {}).update(section)
        for key, value in (self.settings or {}).items():
            name, _, inner = key.partition(".")
            if inner:
                values.setdefault(name, {})[inner] = value
            else:
                values[name] = value
        return Config.from_dict(_plain(values), origin=type(self).__name__)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(_LARGEST_SEED))

    def _threads(self) -> int:
        jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        if jobs == 0:
            raise ValueError("n_jobs is 0; expected a number of threads, or -1 for all cores")
        if jobs > 0:
            return jobs
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
        return max(1, (cores or os.cpu_count() or 1) + 1 + jobs)

    def _train(self, callback: Callback | None, *data: Any, **keywords: Any) -> None:
        """Train on what the application makes of ``data``, and keep what is known afterwards.

        data, keywords : the arguments of the application's ``examples_from``

        Raises ValueError for parameters and data that cannot be used.
        """
        watcher = Watcher(self.verbose, callback)
        with refused_as_value_error(), _interruptible():
            config = self._config()
            application = config.create_application()
            examples = application.examples_from(*data, **keywords)
            self._keep(
                learn_on(application, examples, config, threads=self._threads(), observer=watcher)
            )
        self.history_: list[Pass] = watcher.history
        self.notes_, self.warnings_ = watcher.notes, watcher.warnings
        for text in self.warnings_:
            warnings.warn(text, UserWarning, stacklevel=3)
        if not self.converged_ and not watcher.stops():
            why, advice = shortfall(self.model_)
            warnings.warn(
                f"training ended at a relative gap of {self.gap_:.2g}, before the precision that "
                f"was asked for ({why}); {_of_parameters(advice)}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _keep(self, model: Model) -> None:
        """Keep a model and what its record says."""
        record = model.record
        self.model_ = model
        self.objective_: float = record["objective"]
        self.lower_bound_: float = _number(record["lower_bound"])
        self.gap_: float = _number(record["gap"])
        self.certified_: bool = record["certified"]
        self.converged_: bool = record["converged"]
        self.n_passes_: int = record["passes"]
        self.n_iter_: int = record["cccp_iterations"]

    @property
    def _fitted(self) -> Any:
        """The application with what it has learnt. Raises NotFittedError."""
        check_is_fitted(self, "model_")
        return self.model_.application

    def _examples(self, *data: Any, **keywords: Any) -> Any:
        """What the application makes of data that are to be predicted. Raises ValueError."""
        with refused_as_value_error():
            return self._fitted.examples_from(*data, **keywords)

    def _classified(self, examples: Any, top: int = 1) -> Any:
        """The predictions of the application for examples. Raises ValueError."""
        with refused_as_value_error():
            return classify(self.model_, examples, top=top)

    def _weighed(self, examples: Any) -> tuple[np.ndarray, Any]:
        """The weights and the examples as they meet, for scores: w · Φ."""
        model, shown = prepared(self.model_, examples)
        return model.w, shown

    @property
    def _linear(self) -> np.ndarray:
        """The weights of all coordinates of Φ, (d,). Raises AttributeError with a kernel."""
        space = self.model_.space
        if isinstance(space, Occurring):
            return space.linear(self.model_.w)
        if not isinstance(space, Linear):
            raise AttributeError("a model with a kernel has no weights of features")
        return self.model_.w

    def __getstate__(self) -> dict[str, Any]:
        """The state with the model as the bytes of its file: no code is pickled."""
        state = dict(super().__getstate__())
        if isinstance(state.get("model_"), Model):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / _FILE
                state["model_"].save(path)
                state["model_"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`__getstate__` gave. Raises ModelError for a damaged model."""
        state = dict(state)
        if isinstance(state.get("model_"), bytes):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / _FILE
                path.write_bytes(state["model_"])
                state["model_"] = Model.load(path)
        super().__setstate__(state)


@dataclass(kw_only=True, eq=False, repr=False)
class Hidden(Structured):
    """The base of estimators with hidden values, which are trained by CCCP.

    Parameters
    ----------
    model : objective.model, such as lssvm or hcrf
    restarts : how often training begins anew, if its beginning is random; the lowest objective wins
    tolerance : stop when the objective falls by less than C Σ c_i times this
    max_iter : largest number of CCCP iterations of a restart
    """

    model: str = "lssvm"
    restarts: int = 1
    tolerance: float = 1e-3
    max_iter: int = 100

    def _sections(self) -> dict[str, dict[str, Any]]:
        cccp = {
            "restarts": self.restarts,
            "tolerance": self.tolerance,
            "max_iterations": self.max_iter,
        }
        return {"objective": {"model": self.model}, "cccp": cccp}


def _of_parameters(advice: str) -> str:
    """Advice about keys of the configuration, for those who know the parameters."""
    for key in ("application.", "solver.", "cccp."):
        advice = advice.replace(key, "")
    return advice.replace("max_iterations", "max_iter")


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _plain(value: Any) -> Any:
    """Plain JSON values of NumPy's numbers and arrays, in any mapping or list."""
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
