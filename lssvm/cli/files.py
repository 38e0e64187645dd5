"""The files of a run: what it reads and what it writes, so that no output is another file of it.

A command declares every file by the name that its user knows, as soon as it knows the file.
Two are one where they lead to the same place, be it by symbolic or hard links.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from lssvm.errors import LssvmError
from lssvm.output.descriptors import descriptor_of
from lssvm.output.whole import check_writable

if TYPE_CHECKING:
    from lssvm.applications.base import Application
    from lssvm.config import Config

STREAM = "-"
Identity = tuple[int | str, ...]


class _File(NamedTuple):
    name: str
    path: str
    output: bool


class Files:
    """What a run reads and writes.

    Of a device, a pipe or a terminal any number of names may be read or written.
    """

    def __init__(self) -> None:
        self._known: dict[Identity, _File] = {}
        self._folders: dict[Identity, _File] = {}
        self._checks: list[tuple[Callable[[str], None], str]] = []

    def reads(self, name: str, path: str | None, folder: bool = False) -> None:
        """Declare an input, ``-`` for standard input; None for none.

        folder : whether it is a folder whose files are read
        Raises LssvmError if it is an output, lies in a folder that is one, or holds one.
        """
        if path:
            self._declare(_File(name, path, output=False), sys.stdin, folder)

    def writes(
        self,
        name: str,
        path: str | None,
        check: Callable[[str], None] | None = check_writable,
        folder: bool = False,
    ) -> None:
        """Declare an output; None for none.

        check : called by :meth:`check_outputs`, to find out whether it can be written
        folder : whether it is a folder of files
        Raises LssvmError for ``-``, and if it is another file of the run, or lies in a folder
        that the run reads or writes.
        """
        if not path:
            return
        if path == STREAM:
            kind = "the name of a folder" if folder else "a file name"
            raise LssvmError(f"{name}: expected {kind}, got '-'")
        self._declare(_File(name, path, output=True), None, folder)
        if check is not None:
            self._checks.append((check, path))

    def prints(self) -> None:
        """Declare that standard output is written. Raises LssvmError if it is another file."""
        self._declare(_File("standard output", STREAM, output=True), sys.stdout)

    def reads_config(self, name: str, path: str, config: "Config") -> None:
        """Declare a configuration, the files of its data and those of its application's section.

        Also what the application reads besides a file of data, such as images that it names.
        """
        from lssvm import applications
        from lssvm.config import SPLITS

        self.reads(name, path)
        for key, file in config.application_files():
            self.reads(f"{key} of {path}", file)
        kind = applications.load(config.application.name)
        for split in SPLITS:
            for source in config.sources(split) if config.entries(split) else ():
                self.reads_data(f"data.{split} of {path}", source.path, kind)

    def reads_data(self, name: str, path: str, kind: "type[Application] | Application") -> None:
        """Declare a file of data and what an application reads besides it."""
        inside = os.path.isdir(path)
        others = list(kind.companions(path)) if inside or os.path.isfile(path) else []
        self.reads(name, path, folder=inside and bool(others))
        for other in others:
            self.reads(f"a file that {path} {'holds' if inside else 'names'}", str(other))

    def check_outputs(self) -> None:
        """Raise LssvmError if an output cannot be written; nothing is left behind."""
        for check, path in self._checks:
            try:
                check(path)
            except LssvmError as error:
                error.files = (*error.files, path)
                raise

    def _declare(self, file: _File, stream: TextIO | None, folder: bool = False) -> None:
        if file.output and descriptor_of(file.path) is not None:
            return
        status = _status(file.path, stream)
        identity = _identity(file.path, status)
        if identity is None:
            return
        other = self._known.get(identity)
        if other is not None and (file.output or other.output):
            raise _taken(file, other)
        if other is None:
            self._known[identity] = file
        if folder:
            self._check_folder(identity, file)
        if self._folders and file.path != STREAM:
            for place in _folders_above(file.path):
                around = self._folders.get(place)
                if around is not None and (file.output or around.output):
                    raise _within(file, around)

    def _check_folder(self, identity: Identity, folder: _File) -> None:
        """Keep a folder in mind, after a look at what is known to lie in it."""
        self._folders.setdefault(identity, folder)
        for file in self._known.values():
            told = file.output or folder.output
            if told and file.path != STREAM and identity in _folders_above(file.path):
                raise _within(file, folder)


def _status(path: str, stream: TextIO | None) -> os.stat_result | None:
    """What is at a path, or what a standard stream leads to; None if there is nothing."""
    try:
        if path == STREAM:
            return None if stream is None else os.fstat(stream.fileno())
        return os.stat(path)
    except (OSError, ValueError):  # ValueError: a stream that stands in for one
        return None


def _identity(path: str, status: os.stat_result | None) -> Identity | None:
    """What two names of one place have in common; None for what is no file or folder.

    Of a file that does not exist yet: its folder, and its name there.
    """
    if status is not None:
        kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        return (status.st_dev, status.st_ino) if kept else None
    if path == STREAM or "\0" in path:  # no file has such a name, whatever a list of files says
        return None
    if os.path.islink(path):
        path = os.path.realpath(path)
    folder, name = os.path.split(path.rstrip(os.sep))
    above = _status(folder or os.curdir, None)
    if above is None:
        return (os.path.realpath(path),)
    return (above.st_dev, above.st_ino, name)


def _folders_above(path: str) -> Iterator[Identity]:
    """The folders around a file, from the nearest on."""
    for folder in Path(os.path.realpath(path)).parents:
        identity = _identity(str(folder), _status(str(folder), None))
        if identity is not None:
            yield identity


def _taken(file: _File, other: _File) -> LssvmError:
    first, second = (other, file) if other.output else (file, other)
    shown = first.path if first.path != STREAM else second.path
    differs = os.path.abspath(second.path) != os.path.abspath(shown)
    link = f" ({second.path})" if differs and second.path != STREAM else ""
    return _refused(
        f"{shown}: is given as {first.name} and as {second.name}{link}; expected two files",
        first,
        second,
    )


def _within(file: _File, folder: _File) -> LssvmError:
    text = f"{file.path}: {file.name} lies in the folder {folder.path}, which is {folder.name}"
    return _refused(f"{text}; expected a place outside of it", file, folder)


def _refused(text: str, *files: _File) -> LssvmError:
    error = LssvmError(text)
    error.files = tuple(file.path for file in files)
    return error
