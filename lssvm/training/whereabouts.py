"""Where the training examples are: what a session needs of them, here or on workers.

A session asks a ``Whereabouts`` for everything that is more than costs, sizes and names.
``InMemory`` has the examples in this process; ``distributed.sent.Sent`` has them too, and workers
compute with copies of them; ``distributed.spread.AtWorkers`` stands for examples that only workers
have.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications import feature_space
from lssvm.applications.base import Application, Examples
from lssvm.applications.feature_space import Kernel, Training
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import BlockSums, Sums
from lssvm.problem import compiled_by_example
from lssvm.training.distributed.traffic import Traffic


class Offer(NamedTuple):
    """What inference by example in C says of all examples, for the choice of a solver.

    squares : Σ ‖x‖²; common : as ``CompiledByExample.common_share``; the others as in
    ``problem.ExampleOracle``, ``places`` of all examples
    """

    squares: float
    multiply_adds: float
    exact: bool
    places: float
    common: float


class Ended(NamedTuple):
    """What the end of training asks: what scores need, and losses if they are known."""

    examples: Any
    predictions: Any
    losses: np.ndarray | None


class Whereabouts(ABC):
    """Where the training examples are, and what is asked of them there.

    The ``examples`` that methods take are those of training, as far as they are known here.

    crew : a ``Crew`` of the workers that take part; None: there are none
    """

    crew: Any = None

    @property
    @abstractmethod
    def asked(self) -> Any:
        """The ``Problem`` that solvers ask."""

    @abstractmethod
    def sums(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> Sums:
        """What adds up answers over blocks of the examples."""

    @property
    def traffic(self) -> Traffic | None:
        """What went through the network so far; None without workers."""
        return None if self.crew is None else self.crew.traffic

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard; empty if there is none, or if it is off."""
        return "" if self.crew is None else self.crew.dashboard

    @abstractmethod
    def for_training(self, examples: Any) -> Any:
        """The examples as training takes them. Raises DataError."""

    @abstractmethod
    def training(self, examples: Any, kernel: Kernel) -> Training:
        """What a solver is given."""

    @abstractmethod
    def linear_dimension(self, examples: Any) -> int | None:
        """The number of weights of a model without a kernel, no feature left out."""

    @abstractmethod
    def offer(self, oracle: DataOracle[Any], model: str) -> Offer | None:
        """What inference by example in C says of the examples; None if there is none."""

    @abstractmethod
    def summary(self, w: np.ndarray, examples: Any) -> dict[str, np.ndarray]:
        """As that of the application."""

    @abstractmethod
    def ended(self, w: np.ndarray, examples: Any, predicted: Callable[[], Any]) -> Ended:
        """What the end of training asks of the predictions at w.

        predicted : what the model predicts for the examples, if they are here
        """

    @abstractmethod
    def scale_warnings(self, examples: Any) -> list[str]:
        """A warning about features whose scales differ much."""


class InMemory(Whereabouts):
    """The examples are in this process."""

    def __init__(self, application: Application) -> None:
        self._application = application

    @property
    def asked(self) -> Application:
        """The application."""
        return self._application

    def sums(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> Sums:
        """Sums by threads."""
        return BlockSums(answers, blocks, executor)

    def for_training(self, examples: Examples) -> Examples:
        """The examples as training takes them. Raises DataError."""
        return self._application.for_training(examples)

    def training(self, examples: Examples, kernel: Kernel) -> Training:
        """What a solver is given."""
        return feature_space.training(kernel, self._application, examples)

    def linear_dimension(self, examples: Examples) -> int:
        """The number of weights of a model without a kernel, no feature left out."""
        return self._application.dimension(examples)

    def offer(self, oracle: DataOracle[Any], model: str) -> Offer | None:
        """What inference by example in C says of the examples; None if there is none."""
        offering = compiled_by_example(oracle.application, oracle.examples, model)
        if offering is None:
            return None
        kernel = oracle.compiled
        squares = float(kernel.squares.sum())
        common = offering.common_share(oracle.examples, squares)
        return Offer(squares, kernel.multiply_adds, kernel.exact, float(kernel.places[-1]), common)

    def summary(self, w: np.ndarray, examples: Examples) -> dict[str, np.ndarray]:
        """As that of the application."""
        return self._application.summary(w, examples)

    def ended(self, w: np.ndarray, examples: Examples, predicted: Callable[[], Any]) -> Ended:
        """What the end of training asks of the predictions at w."""
        predictions = predicted()
        losses = self._application.training_losses(examples, predictions)
        return Ended(examples, predictions, losses)

    def scale_warnings(self, examples: Examples) -> list[str]:
        """A warning about features whose scales differ much."""
        return self._application.scale_warnings(examples)
