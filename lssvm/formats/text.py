"""Text files line by line: the one way in for every reader.

``-`` is standard input. gzip, bzip2 and xz are recognised by their first bytes, whatever
the file is called. Lines may end in LF or CRLF; the last one need not end at all; a byte
order mark is dropped. Whatever is wrong with the file itself becomes a DataError.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lssvm.errors import DataError

STDIN = "-"
_OPENERS: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError)


@contextmanager
def open_text(path: str | Path, *, ends: bool = False) -> Iterator[Iterator[tuple[int, str]]]:
    """The lines of a UTF-8 text file as pairs (number from 1, line without its end).

    ends : with its end, to write the line again

    Raises DataError if the file is missing, is a directory, cannot be read, is not UTF-8
    or is a compressed file that is cut short or damaged.
    """
    with contextlib.ExitStack() as stack:
        try:
            raw = _opened(path, stack)
            kind, stream = _decompressed(raw, stack)
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}; expected a file"
            raise DataError(path, None, message) from None
        numbered = _lines(path, kind, stream)
        yield numbered if ends else ((number, line.rstrip("\r\n")) for number, line in numbered)


def _opened(path: str | Path, stack: contextlib.ExitStack) -> BinaryIO:
    if str(path) == STDIN:
        return io.BytesIO(sys.stdin.buffer.read())
    return stack.enter_context(open(path, "rb"))


def _decompressed(raw: BinaryIO, stack: contextlib.ExitStack) -> tuple[str | None, BinaryIO]:
    """The stream to read lines from, and what it is compressed with."""
    start = raw.read(max(map(len, _OPENERS)))
    rest: BinaryIO = raw
    if raw.seekable():
        raw.seek(0)
    else:
        rest = stack.enter_context(io.BytesIO(start + raw.read()))
    for magic, (kind, opener) in _OPENERS.items():
        if start.startswith(magic):
            return kind, stack.enter_context(opener(rest, "rb"))
    return None, rest


def _lines(path: str | Path, kind: str | None, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, raw in enumerate(stream, 1):
            line = raw.decode("utf-8")
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield number, line
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(path, number, f"byte 0x{byte:02x} is not UTF-8; expected text") from None
    except _CORRUPT as error:
        if kind is None:
            reason = getattr(error, "strerror", None) or error
            raise DataError(path, number + 1, f"cannot be read: {reason}; expected text") from None
        message = f"the {kind} stream is cut short or damaged; expected a whole {kind} file"
        raise DataError(path, None, message) from None
