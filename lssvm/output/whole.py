"""Files and folders that are written whole or not at all.

Until it is whole, what is written lies beside its target, as ``.NAME.HASH.RANDOM.part``. The
hash is that of the target's whole name, so that the parts of two targets are told apart where
the name had to be cut.
"""

import errno
import hashlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from lssvm.errors import LssvmError
from lssvm.output.descriptors import descriptor_of, place_of
from lssvm.output.stopping import at_stop

M = TypeVar("M")
SHOWN = 100  # bytes of the target's name that a part's begins with


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
    if not replaceable(path):
        with explaining(path), open(place_of(path), mode, **text) as file:  # type: ignore[call-overload]
            content = io.BytesIO() if "b" in mode else file
            yield content  # in memory, as a device says what it likes of where its end is
            if content is not file:
                file.write(content.getbuffer())
        return
    temporary = _part(target)
    with explaining(path), at_stop(lambda: os.unlink(temporary)):
        _create(temporary)
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
    with explaining(path):
        if os.path.isdir(target):
            raise LssvmError(f"{path}: is a directory; expected a file name")
        check_parent(path)
        with suppress(FileNotFoundError):
            os.stat(target)
        if replaceable(path):
            temporary = _part(target)
            with at_stop(lambda: os.unlink(temporary)):
                _create(temporary)
                with suppress(FileNotFoundError):  # removed by who has the lock of the target
                    os.unlink(temporary)


def write_folder(
    path: str | Path,
    files: Iterable[tuple[M, bytes]],
    names: Callable[[Sequence[Any]], Iterable[str]] = tuple,
) -> None:
    """A new folder of files, or one in place of an empty folder: all of them, or nothing.

    files : of each a mark, which is its name by default, and the content
    names : gives the names for all marks; a name may lead through folders, which are made

    Raises LssvmError if the folder cannot be written; what ``files`` or ``names`` raises goes on.
    """
    target = os.path.realpath(path)
    temporary = _part(target)
    written, whole = os.path.join(temporary, "written"), os.path.join(temporary, "whole")
    marks: list[M] = []
    with explaining(path), at_stop(lambda: shutil.rmtree(temporary)):
        os.mkdir(temporary)
        try:
            os.mkdir(written)
            for mark, content in files:
                with open(os.path.join(written, str(len(marks))), "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                marks.append(mark)
            for number, name in enumerate(names(marks)):
                place = os.path.join(whole, name)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                if os.path.lexists(place):
                    raise FileExistsError(errno.EEXIST, f"{name!r} is the name of two files")
                os.replace(os.path.join(written, str(number)), place)
            os.makedirs(whole, exist_ok=True)
            os.replace(whole, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        shutil.rmtree(temporary, ignore_errors=True)
        _sync_folder(os.path.dirname(target))


def check_folder(path: str | Path) -> None:
    """Raise LssvmError if a folder could not be put at ``path``; nothing is left behind."""
    target = os.path.realpath(path)
    with explaining(path):
        if os.path.exists(target) and not os.path.isdir(target):
            raise LssvmError(f"{path}: is not a folder; expected a new or an empty one")
        if os.path.isdir(target) and os.listdir(target):
            raise LssvmError(f"{path}: the folder is not empty; expected a new or an empty one")
        check_parent(path)
        temporary = _part(target)
        with at_stop(lambda: os.rmdir(temporary)):
            os.mkdir(temporary)
            with suppress(FileNotFoundError):
                os.rmdir(temporary)


def replaceable(path: str | Path) -> bool:
    """Whether what is written to ``path`` takes the place of a file or folder, or makes one.

    Devices and pipes are written directly.
    """
    if descriptor_of(path) is not None:
        return False
    target = os.path.realpath(path)
    return os.path.isfile(target) or os.path.isdir(target) or not os.path.exists(target)


def remove_parts(target: str) -> None:
    """Remove what runs that were killed left of ``target``, a real path, and of no other.

    Only for who knows that nobody is writing it (:func:`lssvm.output.locks.owned`).
    """
    folder, start = os.path.split(beside(target, ""))
    name = re.compile(re.escape(start) + r"[0-9a-f]{8}\.part")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not name.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)


def beside(target: str, ending: str) -> str:
    """``.NAME.HASH.ENDING`` in the folder of ``target``, for this target alone.

    The name is cut so that the whole has less than 255 bytes.
    """
    folder, name = os.path.split(target)
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
    while len(os.fsencode(name)) > SHOWN:
        name = name[:-1]
    return os.path.join(folder, f".{name}.{mark}.{ending}")


@contextmanager
def explaining(path: str | Path) -> Iterator[None]:
    """Errors of the file system as LssvmError, but for a pipe that nobody reads."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LssvmError(f"{path}: cannot be written: {error.strerror or error}") from None


def check_parent(path: str | Path) -> None:
    """Raise LssvmError if the folder of ``path`` does not exist."""
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        folder = os.path.dirname(os.path.normpath(path)) or "."
        raise LssvmError(f"{path}: the folder {folder!r} does not exist")


def _part(target: str) -> str:
    return beside(target, f"{secrets.token_hex(4)}.part")


def _create(path: str) -> None:
    """A new empty file with the permissions of the user's umask."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _sync_folder(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
