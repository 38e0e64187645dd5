"""The one family of errors that a user can cause; each ends in one clear line, most in code 2."""

from collections.abc import Iterable, Sequence
from pathlib import Path

TRACEBACK = "LSSVM_TRACEBACK"  # of the environment; not empty: commands show an application's
LONGEST_WORD = 100  # characters of a word that a known one is looked for


def likest(word: object, known: Iterable[str]) -> str | None:
    """The known word that differs from ``word`` in its case alone, or else is most like it, if any.

    Of a word of more than ``LONGEST_WORD`` characters, none.
    """
    text, words = str(word), list(known)
    if len(text) > LONGEST_WORD:
        return None
    import difflib  # for a fault only

    near = [each for each in words if each.lower() == text.lower()]
    near += difflib.get_close_matches(text, words, n=1)
    return near[0] if near else None


def nearest(word: object, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the known word that is most like ``word``; empty without one."""
    near = likest(word, known)
    return "" if near is None else f"; did you mean {near!r}?"


def counted(count: int, word: str, words: str = "") -> str:
    """``1 plane``, ``2,000 planes``; ``words`` is the plural if it is not formed with s."""
    return f"{count:,d} {word if count == 1 else words or word + 's'}"


class LssvmError(Exception):
    """Bad usage, configuration or data: the message is complete, no traceback is shown.

    files : names of files that the message quotes, which are never shortened
    exit_code : of a command that ends with it
    traced : whether the traceback of an application's own error is to be shown as well
    """

    files: tuple[str, ...] = ()
    exit_code = 2
    traced: bool = False

    @property
    def faults(self) -> list[str]:
        """What is to be told, a line each: one, but for the faults of a configuration."""
        return [str(self)]


class DataError(LssvmError):
    """A data file that cannot be used: ``path:line: what is wrong; what was expected``.

    named : file and line that name this file, if it holds a part of an example
    """

    named: tuple[str, int] | None = None

    def __init__(self, path: str | Path, line: int | None, message: object) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")
        self.place, self.path, self.line, self.text = where, str(path), line, str(message)
        self.files = (str(path),)


class ConfigError(LssvmError):
    """Every fault of a configuration at once, one line each."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = list(messages)
        super().__init__("\n".join(self.messages))

    @property
    def faults(self) -> list[str]:
        """Every fault."""
        return self.messages


class ModelError(LssvmError):
    """A model or checkpoint file that cannot be read or does not fit."""


class ApplicationError(LssvmError):
    """An application's answers cannot be right: nothing that follows from them can be certified."""


class ApplicationCrashError(LssvmError):
    """An application raised an error of another kind, which is the cause of this one."""

    exit_code = 1


class SchedulerLostError(LssvmError):
    """The scheduler of the workers does not answer any more, which is no fault of the user."""

    exit_code = 1


class ContractError(LssvmError):
    """What an application does not keep of what training relies on, one line each."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = list(findings)
        super().__init__("\n".join(self.findings))

    @property
    def faults(self) -> list[str]:
        """Every finding."""
        return self.findings


class MissingExtraError(LssvmError):
    """An optional package is not installed: names what needs it and the extra that brings it."""

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {package}; install it with: pip install 'lssvm[{extra}]'"
        )


class StoppedError(Exception):
    """A signal stopped the training after its checkpoint was written.

    exit_code : 128 + the signal's number, as shells have it
    """

    def __init__(self, signal_number: int, message: str) -> None:
        self.exit_code = 128 + signal_number
        super().__init__(message)
