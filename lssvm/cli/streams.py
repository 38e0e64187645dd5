"""Standard streams as commands use them, whatever they are: closed, full, or not of UTF-8.

Results go to standard output: if they cannot be written, the command fails in one line. What
goes to standard error is told where that is possible; it never ends a run.
"""

import codecs
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from lssvm.cli.messages import message, printable, printable_lines
from lssvm.errors import LssvmError

PLAIN = "lssvm-plain"  # a codec's error handler: letters that an encoding lacks, in others
_PLAIN_LETTERS = str.maketrans(
    {
        **{"‖": "||", "½": "1/2", "²": "^2", "⁺": "+", "⁻": "-", "−": "-", "–": "-", "·": "*"},
        **{"Σ": "sum", "Φ": "Phi", "Δ": "Delta", "ξ": "xi", "ε": "epsilon", "…": "...", "→": "->"},
        **{"±": "+-", "ŷ": "y^", "∞": "inf", "ᵢ": "_i", "≥": ">=", "≤": "<=", "×": "x"},
        **{"━": "-", "╸": "-", "╺": "-", "─": "-"},
    }
)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN_LETTERS)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(PLAIN, _plain)


class OutputError(LssvmError):
    """Standard output cannot be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: cannot be written: {error.strerror or error}")


class PipeClosedError(BrokenPipeError):
    """Whoever reads standard output has seen enough."""


def _unwritten(error: OSError) -> Exception:
    return PipeClosedError() if isinstance(error, BrokenPipeError) else OutputError(error)


class _Stream:
    """A standard stream for text: what its encoding lacks is written in plain letters."""

    encoding = "utf-8"  # what it takes; so nobody thinks that letters have to be left out
    errors = "strict"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _failed(self, error: OSError) -> None:
        raise NotImplementedError

    def write(self, text: str) -> int:
        """Write text. Raises TypeError if it is something else."""
        if isinstance(text, str):
            encoding = getattr(self._stream, "encoding", None) or "utf-8"
            text = text.encode(encoding, PLAIN).decode(encoding)
        try:
            self._stream.write(text)
        except OSError as error:
            self._failed(error)
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._stream.flush()
        except OSError as error:
            self._failed(error)


class _Results(_Stream):
    def _failed(self, error: OSError) -> None:
        raise _unwritten(error) from None


class _Telling(_Stream):
    def _failed(self, error: OSError) -> None:
        """Go on: there is nobody left to tell."""

    def finish(self) -> None:
        """Write what waits, or drop it: it would fail once more when Python ends."""
        try:
            self._stream.flush()
        except OSError:
            _drop(self._stream)


@contextmanager
def standing() -> Iterator[None]:
    """Standard streams that are there and behave as this module says; afterwards as before."""
    _fill()
    before = sys.stdout, sys.stderr
    telling = _Telling(sys.stderr)
    sys.stdout, sys.stderr = cast(TextIO, _Results(sys.stdout)), cast(TextIO, telling)
    try:
        yield
    finally:
        telling.finish()
        sys.stdout, sys.stderr = before


def _fill() -> None:
    """Put something in the place of closed streams, or the next file opened would be there.

    Standard input then cannot be read, standard output cannot be written, as if they were closed;
    standard error takes everything.
    """
    closed = {
        "stdin": (os.O_WRONLY, "r"),
        "stdout": (os.O_RDONLY, "w"),
        "stderr": (os.O_WRONLY, "w"),
    }
    for name, (flags, mode) in closed.items():
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            os.set_inheritable(descriptor, True)
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def abandon_output() -> None:
    """Drop what waits for standard output, which would fail once more when Python ends."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def tell(text: str) -> None:
    """A line on standard error; control characters are written out."""
    print(printable(text), file=sys.stderr, flush=True)


def tell_error(error: LssvmError, names: Iterable[str] = ()) -> None:
    """An error on standard error, a line for each of its faults.

    names : of files that messages quote, beside those that the error knows
    """
    known = [*error.files, *names]
    for fault in error.faults:
        tell(f"error: {message(fault, known)}")


def show(lines: Iterable[str]) -> None:
    """Lines for people on standard output; control characters are written out."""
    for line in lines:
        print(printable(line))


@contextmanager
def results() -> Iterator[TextIO]:
    """Standard output as a file of text in UTF-8, whatever the terminal's encoding is.

    A terminal itself gets what it can show, control characters written out.
    Raises OutputError or PipeClosedError if it cannot be written.
    """
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None or sys.stdout.isatty():
        yield cast(TextIO, _Shown(sys.stdout))
        return
    sys.stdout.flush()
    file = io.TextIOWrapper(buffer, "utf-8", "backslashreplace", newline="\n")
    try:
        yield file
        file.flush()
    except OSError as error:
        raise _unwritten(error) from None
    finally:
        with suppress(OSError):
            file.detach()


class _Shown(_Stream):
    def write(self, text: str) -> int:
        return self._stream.write(printable_lines(text))
