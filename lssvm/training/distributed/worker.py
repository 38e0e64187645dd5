"""What runs on a worker: an application and some blocks of examples, which answer questions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

import lssvm
from lssvm import applications
from lssvm.applications.base import Application, Formulation
from lssvm.applications.equal_features import Merged
from lssvm.applications.occurring import Occurring
from lssvm.applications.reading import Source
from lssvm.errors import ApplicationCrashError, LssvmError
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import summed
from lssvm.training.arithmetic import arithmetic
from lssvm.training.distributed.held import Held, Reading, Span, taught, unreadable
from lssvm.training.distributed.portions import Portion, Readers, Reads, brief, received


class Recipe(NamedTuple):
    """What an application is made from anywhere: plain values and arrays.

    name : in the entry points; options : in JSON; formulation : its fields; state : what it has
    learnt from the training data, None if it has not read any
    """

    name: str
    options: str
    formulation: Mapping[str, Any]
    state: Mapping[str, np.ndarray] | None

    @classmethod
    def of(cls, application: Application, read: bool = True) -> "Recipe":
        """The recipe of an application. read : whether it has read its training data"""
        name, options = application.options.name, application.options.model_dump_json(by_alias=True)
        formulation = asdict(application.formulation)
        state = application.state() if read else None
        return cls(name, options, formulation, state)

    def made(self) -> Application:
        """The application. Raises LssvmError where it is not installed."""
        kind = applications.load(self.name)
        options = kind.Options.model_validate_json(
            self.options, strict=True, context={"base": None}
        )
        application = kind(options, Formulation(**self.formulation))
        if self.state is not None:
            application.restore(self.state)
        return application


class Reply(NamedTuple):
    """The answer to a question about some blocks.

    error : name of the class and text of what was raised, None if nothing was
    own : whether that concerns this worker alone, such as a file that it cannot open
    found : nodes of the tree, or the answer for each block
    not_converged : of iterative inference; seconds : that the answer took
    """

    error: tuple[str, str] | None = None
    found: Sequence[Any] = ()
    not_converged: Mapping[str, tuple[int, int]] = {}
    seconds: float = 0.0
    own: bool = False


class Blocks:
    """Blocks of data sets by their numbers, or shares of files, and the application for them."""

    def __init__(self, threads: int) -> None:
        self._executor = Executor(threads)
        self._blocks: dict[int, dict[int, Any]] = {}
        self._readers: dict[int, Readers] = {}
        self._made = Reply()
        self._held: Held | None = None
        self._kept: dict[str, Any] = {}
        self._w: np.ndarray | None = None

    def know(
        self, recipe: Recipe, reading: Reading | None = None, w: np.ndarray | None = None
    ) -> Reply:
        """Make the application, and read shares of files by it if there is a ``reading``.

        w : the weights of a model, for :meth:`predict`
        """
        self._w = w
        self._made = _answer(lambda: [Answers(recipe.made())])
        self._held = None
        if self._made.error is None and reading is not None:
            self._held = Held(self._made.found[0].application, reading, self._kept)
        return Reply(self._made.error)

    def predict(self, numbered: Sequence[tuple[int, Any]], top: int) -> Reply:
        """What the model predicts for examples in parts, with the numbers of these."""
        application = self._made.found[0].application
        with arithmetic():
            return _answer(
                lambda: [
                    (number, application.predict(self._w, own, top)) for number, own in numbered
                ]
            )

    def taught(self, numbered: Sequence[tuple[int, Source]]) -> Reply:
        """What files teach, with their numbers."""
        with arithmetic():
            reply = _answer(lambda: taught(self._made.found[0].application, numbered, self._kept))
        return _placed(reply, [source for _, source in numbered])

    def prepare(self, fewer: Occurring | Merged | None) -> Reply:
        """Have the features that are left of all shares."""
        return _answer(lambda: self._shares.prepare(fewer))

    def leave(self, share: int) -> None:
        """Forget a share, if any are here."""
        if self._held is not None:
            self._held.leave(share)

    def shares(self, ask: str, numbers: Sequence[int], *arguments: Any) -> Reply:
        """An answer for each of some shares, with their numbers; see ``Held``."""
        answer = getattr(self._shares, ask)
        with arithmetic():
            reply = _answer(lambda: [(number, answer(number, *arguments)) for number in numbers])
        return _placed(reply, [each for number in numbers for each in self._shares.sources(number)])

    def sums(
        self, spans: Sequence[Span], ask: str, weights: np.ndarray | Portion, initial: bool
    ) -> Reply:
        """Sums over blocks of shares at w, or over the shares themselves if ``ask`` is theirs.

        weights : w, or those that the shares read
        initial : of the problem whose solution is the first w
        """
        answers, held, pool = self._made.found[0], self._shares, self._executor
        if initial:
            answers = Answers(answers.application.first_problem())

        def found() -> Sequence[Any]:
            w = received(weights, held.readers, sorted({share for _, share, *_ in spans}))
            if ask in ("gathered", "curvature"):
                return brief(getattr(held, ask)(answers, w, spans, pool))
            return brief(held.sums(answers, ask, w, spans, pool))

        with arithmetic():
            reply = _answer(found)
        reply = reply._replace(not_converged=answers.application.not_converged())
        return _placed(reply, [each for span in spans for each in held.sources(span[1])])

    @property
    def _shares(self) -> Held:
        if self._held is None:
            raise RuntimeError("no shares to read")
        return self._held

    def hold(self, data: int, number: int, block: Any) -> Reply:
        """Keep a block of a data set."""
        own = self._blocks.setdefault(data, {})
        own[number] = block
        if data not in self._readers:
            made = self._made.found[0].application
            self._readers[data] = Readers(lambda number: Reads.of(made, own[number]))
        self._readers[data].forget(number)
        return Reply()

    def drop(self, data: int, numbers: Sequence[int] | None = None) -> None:
        """Forget blocks of a data set, or all of it."""
        if numbers is None:
            self._blocks.pop(data, None)
            self._readers.pop(data, None)
        for number in numbers or ():
            self._blocks.get(data, {}).pop(number, None)

    def ask(
        self, data: int, numbers: Sequence[int], ask: str, weights: np.ndarray | Portion
    ) -> Reply:
        """The answers for blocks of a data set at w: sums, or that of each if they have none.

        weights : w, or those that the blocks read
        """
        blocks = [(number, self._blocks[data][number]) for number in numbers]
        answers: Answers[Any] = self._made.found[0]
        application = answers.application

        def found() -> Sequence[Any]:
            w = received(weights, self._readers[data], numbers)
            if ask in ("augmented", "completed"):
                return brief(summed(answers, ask, w, blocks, self._executor).nodes)
            answer = getattr(application, ask)
            return self._executor.map(lambda each: (each[0], answer(w, each[1])), blocks)

        with arithmetic():
            reply = _answer(found)
        return reply._replace(not_converged=application.not_converged())


def versions(application: str | None, *imported: Any) -> tuple[str, tuple[str, str] | None]:
    """The version of lssvm here, and the package of an application with its version, if it has one.

    imported : what can only be sent to a process that can import it
    """
    return lssvm.__version__, None if application is None else _package(application)


def _package(name: str) -> tuple[str, str] | None:
    entry = applications.entry_of(name)
    package = entry.dist if entry else None
    return (package.name, package.version) if package else None


def _placed(reply: Reply, sources: Sequence[Source]) -> Reply:
    """The reply, marked if there is an error, and a file cannot be opened here."""
    return reply if reply.error is None else reply._replace(own=unreadable(sources))


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
