"""What runs on a worker: an application and some blocks of examples, which answer questions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

import lssvm
from lssvm import applications
from lssvm.applications.base import Application, Formulation
from lssvm.errors import ApplicationCrashError, LssvmError
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import summed
from lssvm.training.arithmetic import arithmetic


class Recipe(NamedTuple):
    """What an application is made from anywhere: plain values and arrays.

    name : in the entry points; options : in JSON; formulation : its fields; state : what it has
    learnt from the training data
    version : of lssvm; package : name and version of the package that the application is from
    """

    name: str
    options: str
    formulation: Mapping[str, Any]
    state: Mapping[str, np.ndarray]
    version: str
    package: tuple[str, str] | None

    @classmethod
    def of(cls, application: Application) -> "Recipe":
        """The recipe of an application that has read its training data."""
        name, options = application.options.name, application.options.model_dump_json(by_alias=True)
        formulation = asdict(application.formulation)
        state = application.state()
        return cls(name, options, formulation, state, lssvm.__version__, _package(name))

    def made(self) -> Application:
        """The application. Raises LssvmError where it is not installed."""
        kind = applications.load(self.name)
        options = kind.Options.model_validate_json(
            self.options, strict=True, context={"base": None}
        )
        application = kind(options, Formulation(**self.formulation))
        application.restore(self.state)
        return application


class Reply(NamedTuple):
    """The answer to a question about some blocks.

    error : name of the class and text of what was raised, None if nothing was
    found : nodes of the tree, or the answer for each block
    not_converged : of iterative inference; seconds : that the answer took
    """

    error: tuple[str, str] | None = None
    found: Sequence[Any] = ()
    not_converged: Mapping[str, tuple[int, int]] = {}
    seconds: float = 0.0


class Blocks:
    """Blocks of data sets by their numbers, and the application that knows them."""

    def __init__(self, recipe: Recipe, threads: int) -> None:
        """Raises nothing for what users can cause: that is answered to the first question."""
        self._executor = Executor(threads)
        self._blocks: dict[int, dict[int, Any]] = {}
        self._made = _answer(lambda: [Answers(recipe.made())])

    def ready(self) -> Reply:
        """Whether the application could be made."""
        return Reply(self._made.error)

    def hold(self, data: int, number: int, block: Any) -> Reply:
        """Keep a block of a data set."""
        self._blocks.setdefault(data, {})[number] = block
        return Reply()

    def drop(self, data: int, numbers: Sequence[int] | None = None) -> None:
        """Forget blocks of a data set, or all of it."""
        if numbers is None:
            self._blocks.pop(data, None)
        for number in numbers or ():
            self._blocks.get(data, {}).pop(number, None)

    def ask(self, data: int, numbers: Sequence[int], ask: str, w: np.ndarray) -> Reply:
        """The answers for blocks of a data set at w: sums, or that of each if they have none."""
        blocks = [(number, self._blocks[data][number]) for number in numbers]
        answers: Answers[Any] = self._made.found[0]
        application = answers.application

        def found() -> Sequence[Any]:
            if ask in ("augmented", "completed"):
                return summed(answers, ask, w, blocks, self._executor).nodes
            answer = getattr(application, ask)
            return self._executor.map(lambda each: (each[0], answer(w, each[1])), blocks)

        with arithmetic():
            reply = _answer(found)
        return reply._replace(not_converged=application.not_converged())


def versions(name: str) -> tuple[str, tuple[str, str] | None]:
    """The version of lssvm here, and the package of an application with its version."""
    return lssvm.__version__, _package(name)


def _package(name: str) -> tuple[str, str] | None:
    entry = applications.entry_of(name)
    package = entry.dist if entry else None
    return (package.name, package.version) if package else None


def _answer(function: Callable[[], Sequence[Any]]) -> Reply:
    """What a function finds, or what it raises if users can cause that."""
    began = time.perf_counter()
    try:
        return Reply(None, function(), {}, time.perf_counter() - began)
    except LssvmError as error:
        return Reply((type(error).__name__, str(error)))
    except MemoryError:
        return Reply((MemoryError.__name__, ""))
    except SystemExit as error:
        return Reply((ApplicationCrashError.__name__, applications.of_exit(error)))
