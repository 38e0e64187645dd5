"""One run at a time for each output, and no remains of runs that were killed.

The lock is an advisory one (``flock``) on a small file beside the output. The system frees it
when its holder ends, however it ends; the file itself is removed by the holder, or by the next
one if the holder was killed.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lssvm.errors import LssvmError
from lssvm.output.stopping import at_stop, held_back
from lssvm.output.whole import beside, check_parent, explaining, remove_parts, replaceable

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


@contextmanager
def owned(*paths: str | Path | None) -> Iterator[list[str]]:
    """Keep other runs away from these outputs within the block.

    paths : files or folders; None, ``-``, devices and pipes have no owner
    What killed runs left of the same outputs is removed. Yields the paths whose file system
    knows no locks: for them neither is done.
    Raises LssvmError if another run has one of them, or if no file can be put beside it.
    """
    with ExitStack() as stack:
        unlocked = []
        for path in paths:
            if path is None or str(path) == "-" or not replaceable(path):
                continue
            if not stack.enter_context(_lock(path)):
                unlocked.append(str(path))
        yield unlocked


@contextmanager
def _lock(path: str | Path) -> Iterator[bool]:
    check_parent(path)
    target = os.path.realpath(path)
    place = beside(target, "lock")
    with ExitStack() as stack:
        with explaining(path), held_back():
            descriptor = _taken(path, place)
            if descriptor is not None:
                stack.callback(_release, descriptor, place)
                stack.enter_context(at_stop(lambda: os.unlink(place)))
        if descriptor is not None:
            remove_parts(target)
        yield descriptor is not None


def _release(descriptor: int, place: str) -> None:
    with suppress(OSError):
        os.unlink(place)
    os.close(descriptor)


def _taken(path: str | Path, place: str) -> int | None:
    """The descriptor of the locked file; None where the file system knows no locks.

    Whoever had the lock has removed the file: then the lock of the removed one is worth nothing.
    """
    while True:
        descriptor = _opened(place)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(place)):
                    _sign(descriptor)
                    return descriptor
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode("ascii", "replace")
            os.close(descriptor)
            raise LssvmError(
                f"{path}: {_told(holder)} is writing it; expected one at a time"
            ) from None
        except OSError as error:
            os.close(descriptor)
            if error.errno not in NO_LOCKS:
                raise
            with suppress(OSError):
                os.unlink(place)
            return None
        os.close(descriptor)


def _opened(place: str) -> int:
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(place, os.O_RDWR | flags, 0o666)
    except PermissionError:  # another user's, left by a run that was killed
        if not os.path.exists(place):
            raise
        return os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _sign(descriptor: int) -> None:
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} {socket.gethostname()}".encode("ascii", "replace"))


def _told(holder: str) -> str:
    number, _, host = holder.partition(" ")
    if not number.isdigit() or not host.isprintable():
        return "another run"
    where = f" on {host[:64]}" if host != socket.gethostname() else ""
    return f"another run, process {number}{where},"
