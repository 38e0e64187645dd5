"""An error in an application's code becomes one line that says where it happened.

Applications may come from other packages. The user of an application cannot read the traceback of
an error in its code, so every method that is called from outside passes through here.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from lssvm.errors import TRACEBACK, ApplicationCrashError, ApplicationError, DataError, LssvmError

LONGEST = 200  # characters of an error's own message
ANSWERS = (
    "__init__",
    "read",
    "taught",
    "learn_from",
    "read_share",
    "start_apart",
    "summary_apart",
    "kept",
    "joined",
    "state",
    "dimension",
    "feature_names",
    "start",
    "start_each",
    "augmented",
    "augmented_each",
    "completed",
    "completed_each",
    "gradients",
    "coefficients",
    "gathered",
    "augmented_from",
    "curvature",
    "columns_per_row",
    "work",
    "predict",
    "scoring_weights",
    "as_truth",
    "truth_plane",
    "prediction_plane",
    "rival",
    "shown",
    "written",
    "score",
    "groups",
    "summary",
    "warnings",
    "training_warnings",
    "scale_warnings",
    "not_converged",
)
ITERATORS = (
    "examples",
    "records",
    "read_parts",
    "model_figures",
    "data_figures",
)  # methods that yield one piece after the other
READERS = ("read", "taught", "read_share", "examples", "read_parts")  # an OSError is that of a file
WRITERS = ("write", "records")  # an OSError is that of the output
PASSED = (LssvmError, MemoryError)


def protect(kind: type) -> None:
    """Replace the methods that a class defines by ones that raise LssvmErrors only."""
    for name in {*ANSWERS, *ITERATORS, *WRITERS} & kind.__dict__.keys():
        function = kind.__dict__[name]
        if callable(function):
            passed = (*PASSED, OSError) if name in WRITERS else PASSED
            wrap = _iterating if name in ITERATORS else _answering
            setattr(kind, name, wrap(function, name, passed))


def crash(application: object, where: str, error: BaseException) -> ApplicationCrashError:
    """The line for an error in an application's code; where : method and examples."""
    lines = str(error).splitlines()
    told = "".join(c if c.isprintable() else "?" for c in lines[0][:LONGEST]) if lines else ""
    text = f"{type(error).__name__}: {told}" if told else type(error).__name__
    if isinstance(error, SystemExit):
        text = f"called sys.exit({told})"
    return ApplicationCrashError(
        f"{named(application)}{where}: {text} ({TRACEBACK}=1 shows the traceback)"
    )


def fault(application: object, text: str) -> ApplicationError:
    """The line for an answer that cannot be right."""
    return ApplicationError(f"{named(application)}{text}")


def named(application: object) -> str:
    """The application's name as the beginning of a message."""
    return f"application {_name(application)!r}: "


def _name(application: object) -> str:
    """The name of an application, or the name in its options if it could not be made."""
    options = getattr(application, "options", application)
    return str(getattr(options, "name", type(application).__name__))


def _answering(
    function: Callable[..., Any], name: str, passed: tuple[type[BaseException], ...]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def answer(self: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return function(self, *arguments, **keywords)
        except passed:
            raise
        except (Exception, SystemExit) as error:
            named = arguments[0] if name == "__init__" and arguments else self
            raise _told(named, name, arguments, error) from error

    return answer


def _iterating(
    function: Callable[..., Any], name: str, passed: tuple[type[BaseException], ...]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def answers(self: Any, *arguments: Any, **keywords: Any) -> Iterator[Any]:
        try:
            yield from function(self, *arguments, **keywords)
        except passed:
            raise
        except (Exception, SystemExit) as error:
            raise _told(self, name, arguments, error) from error

    return answers


def _told(
    application: object, name: str, arguments: tuple[Any, ...], error: BaseException
) -> LssvmError:
    """The line for an error of a method: about the file that was read, or about its code."""
    if name in READERS and isinstance(error, OSError) and isinstance(error.filename, str):
        wrong = f"cannot be read: {error.strerror or error}; expected a file"
        found = DataError(error.filename, None, wrong)
        found.files = (error.filename,)
        return found
    return crash(application, f"{name}{_of(arguments)}", error)


def _of(arguments: tuple[Any, ...]) -> str:
    """The examples or the file that a method was called for."""
    for value in arguments:
        if hasattr(value, "path"):
            return f" of {value.path}"
        names = getattr(value, "names", None)
        if isinstance(names, list | tuple) and names:
            first, last = str(names[0]), str(names[-1])
            return (
                f" of example {first!r}" if len(names) == 1 else f" of examples {first!r}–{last!r}"
            )
    return ""
