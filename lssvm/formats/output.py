"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lssvm.errors import LssvmError


@contextmanager
def replacing(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """A file that takes the place of ``path`` when the block ends without an exception.

    mode : "w" for UTF-8 text with unix line ends, "wb" for bytes
    What was at ``path`` stays as it is until then, and for good if the block raises. A
    device or a pipe is written directly; of a symbolic link, the target is replaced.
    Raises LssvmError if the file cannot be written.
    """
    target = os.path.realpath(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
        with _explaining(path), open(target, mode, **text) as file:  # type: ignore[call-overload]
            yield file
        return
    with _explaining(path):
        temporary = _beside(target)
        try:
            with open(temporary, mode, **text) as file:  # type: ignore[call-overload]
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        _sync_folder(os.path.dirname(target))


def check_writable(path: str | Path) -> None:
    """Raise LssvmError if a file could not be put at ``path``; nothing is left behind."""
    target = os.path.realpath(path)
    with _explaining(path):
        if os.path.isdir(target):
            raise LssvmError(f"{path}: is a directory; expected a file name")
        if not os.path.isdir(os.path.dirname(target)):
            raise LssvmError(f"{path}: the folder {os.path.dirname(path) or '.'!r} does not exist")
        with suppress(FileNotFoundError):
            os.stat(target)
        if os.path.isfile(target) or not os.path.exists(target):
            os.unlink(_beside(target))


@contextmanager
def _explaining(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LssvmError(f"{path}: cannot be written: {error.strerror or error}") from None


def _beside(target: str) -> str:
    """A new empty file in the folder of ``target``, with the permissions of the user's umask."""
    folder, name = os.path.split(target)
    path = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return path


def _sync_folder(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
