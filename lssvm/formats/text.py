"""Text files line by line, for all readers.

``-`` is standard input. gzip, bzip2 and xz are recognised by their first bytes, not by the name of
the file. Lines may end in LF or CRLF; the last line may have no line end; a byte order mark is
dropped. All errors of the file itself become a DataError. A file is decompressed piece by piece,
and not beyond its limit.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit

Line = bytes | bytearray
# Of the numbered lines of a file, those of the example that has the line of a number. Raises
# ValueError that says why they cannot be told.
Owns = Callable[[Iterable[tuple[int, Line]], int], list[range]]
STDIN = "-"
LONGEST = 32_000_000  # bytes of a line: its words take some thirty times as much memory
_PIECE = 1 << 18
_OPENERS: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError)


@contextmanager
def open_text(
    path: str | Path,
    limit: Limit = DEFAULT,
    longest: int | None = LONGEST,
    *,
    ends: bool = False,
    owns: Owns | None = None,
) -> Iterator[Iterator[tuple[int, str]]]:
    """The lines of a UTF-8 text file as pairs (number from 1, line without its end).

    limit : of the decompressed bytes
    longest : largest number of bytes of a line; None if lines may have any length
    ends : each line with its end, to write it again
    owns : as of :func:`open_blocks`

    Raises DataError if the file is missing, is a directory or a device, cannot be read, is
    not UTF-8, is larger than allowed or is a compressed file that is cut short or damaged.
    """
    with open_blocks(path, limit, longest, owns) as blocks:
        numbered = _lines(path, blocks, ends)
        yield numbered if ends else ((number, line.rstrip("\r\n")) for number, line in numbered)


@contextmanager
def open_blocks(
    path: str | Path,
    limit: Limit = DEFAULT,
    longest: int | None = LONGEST,
    owns: Owns | None = None,
) -> Iterator[Iterator[tuple[int, bytearray]]]:
    """A text file as blocks of whole lines, each with the number of its first line.

    owns : which lines an example has, if bad ones can be left out (``limit.skipped``)

    Every line but perhaps the last one of the file ends in LF. They are not checked for
    UTF-8, see :func:`decoded`. Parameters and other errors are those of :func:`open_text`.
    """
    with contextlib.ExitStack() as stack:
        try:
            raw = _opened(path, stack)
            _check_kind(path, raw, limit)
            kind, stream = _decompressed(raw, stack)
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}; expected a file"
            raise DataError(path, None, message) from None
        blocks = _blocks(path, kind, stream, limit, longest)
        yield blocks if limit.skipped is None else limit.skipped.kept(path, blocks, owns)


def decoded(path: str | Path, number: int, raw: bytes | bytearray) -> str:
    """The text of a line. Raises DataError if it is not UTF-8 or contains a null byte."""
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(path, number, f"byte 0x{byte:02x} is not UTF-8; expected text") from None
    if "\0" in line:
        raise DataError(path, number, "byte 0x00 is not text; expected text")
    return line.removeprefix("\ufeff") if number == 1 else line


def _opened(path: str | Path, stack: contextlib.ExitStack) -> BinaryIO:
    return sys.stdin.buffer if str(path) == STDIN else stack.enter_context(open(path, "rb"))


def _check_kind(path: str | Path, raw: BinaryIO, limit: Limit) -> None:
    """Raise DataError for a device that is not a terminal, and for a file that is too large."""
    try:
        found = os.fstat(raw.fileno())
    except io.UnsupportedOperation:  # standard input that is no file of the system
        return
    named = str(path) != STDIN  # a standard input that is closed cannot be read, and says so
    device = named and stat.S_ISCHR(found.st_mode) and not raw.isatty()
    if device or stat.S_ISBLK(found.st_mode):
        raise DataError(path, None, "is a device; expected a file")
    if stat.S_ISREG(found.st_mode):
        limit.check(path, found.st_size)


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were already read; it is not repositioned, so it may be a pipe."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = io.BytesIO(start), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._start.readinto(buffer) or self._rest.readinto(buffer)  # type: ignore[attr-defined]


def _decompressed(raw: BinaryIO, stack: contextlib.ExitStack) -> tuple[str | None, BinaryIO]:
    """The stream to read from, and its compression."""
    start = raw.read(max(map(len, _OPENERS)))
    whole = io.BufferedReader(_Rejoined(start, raw), _PIECE)
    for magic, (kind, opener) in _OPENERS.items():
        if start.startswith(magic):
            return kind, stack.enter_context(opener(whole, "rb"))
    return None, whole


def _blocks(
    path: str | Path, kind: str | None, stream: BinaryIO, limit: Limit, longest: int | None
) -> Iterator[tuple[int, bytearray]]:
    """The blocks of a stream. Raises DataError beyond the limits and for read errors."""
    size, number, begun = 0, 1, bytearray()
    with _told(path):
        while piece := _piece(path, kind, stream, number):
            size += len(piece)
            if size > limit.bytes:
                raise limit.exceeded(path)
            end = piece.rfind(b"\n") + 1
            begun += piece[:end]
            if end:
                yield number, begun
                number += begun.count(b"\n")
                begun = bytearray()
            begun += piece[end:]
            if longest is not None and len(begun) > longest:
                message = f"the line is longer than {longest / 1e6:,g} MB; expected a shorter line"
                raise DataError(path, number, message)
        if begun:
            yield number, begun


def _piece(path: str | Path, kind: str | None, stream: BinaryIO, number: int) -> bytes:
    """The next piece of a stream; ``number`` is the line that was not read to its end."""
    try:
        return stream.read(_PIECE)
    except _CORRUPT as error:
        if kind is None:
            reason = getattr(error, "strerror", None) or error
            raise DataError(path, number, f"cannot be read: {reason}; expected text") from None
        message = f"the {kind} stream is cut short or damaged; expected a complete {kind} file"
        raise DataError(path, None, message) from None


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """Within the block a MemoryError becomes a DataError."""
    try:
        yield
    except MemoryError:
        raise DataError(path, None, "needs more memory than is available; expected less") from None


def _lines(
    path: str | Path, blocks: Iterator[tuple[int, bytearray]], ends: bool
) -> Iterator[tuple[int, str]]:
    """The lines of blocks, with the LF of each if ``ends``."""
    with _told(path):
        for first, block in blocks:
            parts = block.split(b"\n")
            rest = parts.pop()  # of a last line that has no LF
            for number, raw in enumerate(parts, first):
                yield number, decoded(path, number, raw + b"\n" if ends else raw)
            if rest:
                yield first + len(parts), decoded(path, first + len(parts), rest)
