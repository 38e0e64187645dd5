"""Files and folders that are written whole or not at all."""

import io
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lssvm.errors import LssvmError
from lssvm.formats.descriptors import descriptor_of, place_of


@contextmanager
def replacing(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """A file that takes the place of ``path`` when the block ends without an exception.

    mode : "w" for UTF-8 text with unix line ends, "wb" for bytes; bytes of file names that are
        not UTF-8 are written out in text
    What was at ``path`` stays as it is until then, and for good if the block raises. A
    device or a pipe is written directly; of a symbolic link, the target is replaced.
    Raises LssvmError if the file cannot be written.
    """
    target = os.path.realpath(path)
    utf8 = {"encoding": "utf-8", "errors": "backslashreplace", "newline": "\n"}
    text = {} if "b" in mode else utf8
    if not _replaceable(path):
        with _explaining(path), open(place_of(path), mode, **text) as file:  # type: ignore[call-overload]
            content = io.BytesIO() if "b" in mode else file
            yield content  # in memory, as a device says what it likes of where its end is
            if content is not file:
                file.write(content.getbuffer())
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
    if descriptor_of(path) is not None:
        return
    with _explaining(path):
        if os.path.isdir(target):
            raise LssvmError(f"{path}: is a directory; expected a file name")
        _check_parent(path, target)
        with suppress(FileNotFoundError):
            os.stat(target)
        if os.path.isfile(target) or not os.path.exists(target):
            os.unlink(_beside(target))


def write_folder(path: str | Path, files: Iterable[tuple[str, bytes]]) -> None:
    """A new folder of files, or one in place of an empty folder: all of them, or nothing.

    files : name and content of each; a name may lead through folders, which are made
    Raises LssvmError if the folder cannot be written; what ``files`` raises goes on.
    """
    target = os.path.realpath(path)
    with _explaining(path):
        temporary = _folder_beside(target)
        try:
            for name, content in files:
                place = os.path.join(temporary, name)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync_folder(os.path.dirname(target))


def check_folder(path: str | Path) -> None:
    """Raise LssvmError if a folder could not be put at ``path``; nothing is left behind."""
    target = os.path.realpath(path)
    with _explaining(path):
        if os.path.exists(target) and not os.path.isdir(target):
            raise LssvmError(f"{path}: is no folder; expected a new or an empty one")
        if os.path.isdir(target) and os.listdir(target):
            raise LssvmError(f"{path}: the folder is not empty; expected a new or an empty one")
        _check_parent(path, target)
        os.rmdir(_folder_beside(target))


def _replaceable(path: str | Path) -> bool:
    """Whether what is written takes the place of a file; devices and pipes are written directly."""
    if descriptor_of(path) is not None:
        return False
    target = os.path.realpath(path)
    return os.path.isfile(target) or os.path.isdir(target) or not os.path.exists(target)


@contextmanager
def _explaining(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LssvmError(f"{path}: cannot be written: {error.strerror or error}") from None


def _check_parent(path: str | Path, target: str) -> None:
    if not os.path.isdir(os.path.dirname(target)):
        folder = os.path.dirname(os.path.normpath(path)) or "."
        raise LssvmError(f"{path}: the folder {folder!r} does not exist")


def _beside(target: str) -> str:
    """A new empty file in the folder of ``target``, with the permissions of the user's umask."""
    path = _part(target)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return path


def _folder_beside(target: str) -> str:
    path = _part(target)
    os.mkdir(path)
    return path


def _part(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")


def _sync_folder(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
