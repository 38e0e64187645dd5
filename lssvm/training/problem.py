"""What training works on, checked before the first pass."""

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.apart import slices
from lssvm.applications.base import Application, Examples
from lssvm.applications.equal_features import Merged
from lssvm.applications.feature_space import Linear, Training
from lssvm.applications.occurring import Occurring
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.model import Model
from lssvm.training.cccp import Rules
from lssvm.training.checkpoint import Progress, identity
from lssvm.training.setup import InnerProduct
from lssvm.training.whereabouts import InMemory, Whereabouts

_WEIGHT = 8  # bytes


class TrainingData(NamedTuple):
    """An application and the examples that it has read.

    held : labelled examples that the model is scored on; None if there are none
    """

    application: Application
    examples: Examples
    held: Examples | None = None


class Problem(NamedTuple):
    """The data as training takes them, and where it begins.

    data : the examples of training are those that can be trained on
    where : these are
    w0 : (d,) first weights that are given, or None
    training : the same examples in the space of the kernel
    fingerprint : of the examples; held_fingerprint : of the held-out ones, empty if there are none
    """

    data: TrainingData
    where: Whereabouts
    w0: np.ndarray | None
    training: Training
    fingerprint: str
    held_fingerprint: str = ""

    def key(self, config: Config) -> str:
        """A hash of everything that decides the bytes of the model."""
        data = " ".join(filter(None, (self.fingerprint, self.held_fingerprint)))
        return identity(config.to_dict(), data, self.w0)

    @property
    def inner_product(self) -> InnerProduct:
        """The inner products of the coordinates."""
        return self.training.gram, self.training.labels

    @property
    def dimension(self) -> int:
        """The number of weights that the solver looks for, d."""
        return self.asked.dimension(self.training.examples)

    @property
    def asked(self) -> Any:
        """What solvers ask: the application, or what asks the workers that have the examples."""
        return self.where.asked


@dataclass
class Stage:
    """One value of C on a path of them.

    rules : when its runs stop; progress : how far its restarts have come
    """

    config: Config
    rules: Rules
    progress: Progress


def problem_of(
    data: TrainingData,
    config: Config,
    initial: Model | None = None,
    where: Whereabouts | None = None,
) -> Problem:
    """Check everything about the data that can be checked before the first pass.

    initial : a model of the same application whose weights training begins with
    where : the examples of training are; None: here

    Raises LssvmError if nothing can be trained on these data, or not from these weights.
    """
    where = where or InMemory(data.application)
    data = data._replace(examples=_trainable(data, where))
    if data.held is not None and not data.held.labelled:
        raise LssvmError("data.validate: examples without labels; expected labelled ones")
    w0 = _initial_weights(data, where, config, initial)
    training = where.training(data.examples, config.kernel)
    if w0 is not None and isinstance(training.space, Occurring | Merged):
        w0 = training.space.restricted(w0)
    held = "" if data.held is None else data.held.fingerprint()
    problem = Problem(data, where, w0, training, _fingerprint(data.examples), held)
    if config.kernel.type == "linear":
        more = training.space.saved if isinstance(training.space, Merged) else 0
        _check_weights(problem.dimension + more, config)
    return problem


def _fingerprint(examples: Examples) -> str:
    """That of the examples; of several shares, which may be in several places, that of theirs."""
    parts = slices(examples)
    if len(parts) == 1:
        return examples.fingerprint()
    return hashlib.sha256(" ".join(part.fingerprint() for part in parts).encode()).hexdigest()


def _trainable(data: TrainingData, where: Whereabouts) -> Examples:
    """The examples as training takes them. Raises LssvmError if it cannot."""
    application, examples = data.application, where.for_training(data.examples)
    if len(examples) == 0:
        raise LssvmError("there are no examples to train on; expected at least one")
    if not np.any(examples.costs > 0):
        raise LssvmError("the cost of every example is 0; expected one that is greater")
    if not application.decomposes and np.any(examples.costs != examples.costs[0]):
        name = application.options.name
        raise LssvmError(
            f"the loss of application {name!r} is that of the whole data set: "
            "examples cannot have costs of their own"
        )
    return examples


def _check_weights(dimension: int, config: Config) -> None:
    """Raise LssvmError if so many weights take more memory than the configuration allows."""
    what = f"a model of {dimension:,d} weights"
    config.data.limit.check(f"{config.origin}: data.train", dimension * _WEIGHT, what)


def _initial_weights(
    data: TrainingData, where: Whereabouts, config: Config, initial: Model | None
) -> np.ndarray | None:
    """The weights of a first model, (d,). Raises LssvmError if they do not fit the data."""
    if initial is None:
        return None
    space = initial.space
    w = space.linear(initial.w) if isinstance(space, Occurring) else initial.w
    if config.kernel.type != "linear" or not isinstance(space, Linear | Occurring):
        raise LssvmError("--init does not support kernel models; expected kernel.type: linear")
    application = data.application
    expected = where.linear_dimension(data.examples)
    if len(w) != expected or type(initial.application) is not type(application):
        raise LssvmError(
            f"the initial model has {len(w)} weights of application "
            f"{initial.config['application']['name']!r}; expected {expected} weights of "
            f"{application.options.name!r}"
        )
    mine, theirs = application.state(), initial.application.state()
    for name in mine.keys() | theirs.keys():
        if not np.array_equal(mine.get(name, ()), theirs.get(name, ())):
            raise LssvmError(
                f"{name} of the initial model and of the training data differ; expected the same"
            )
    return w
